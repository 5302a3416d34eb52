// The parts of the pages that need no page.

import assert from "node:assert/strict";
import test from "node:test";
import { boxAt, stepsToCome } from "../../web/box-price.js";
import { calendarFile, escaped, folded, utc } from "../../web/calendar-file.js";
import { bySection, Choice } from "../../web/choice.js";
import { addDays, addMonths, dateIn, lastDayOf, weekdayOf } from "../../web/dates.js";
import { inHall, inPlace, layOut } from "../../web/hall-layout.js";
import { BLOCKED, FREE, Hall, HELD, left, SOLD } from "../../web/hall.js";
import { parseTicket, ticketText } from "../../web/ticket.js";

test("a calendar file's lines are at most 75 octets, and no character is cut in two", () => {
  const long = `SUMMARY:${"港口燈塔🎭, a; b\\c ".repeat(12)}`;
  const lines = folded(long).split("\r\n");
  for (const line of lines) assert.ok(new TextEncoder().encode(line).length <= 75, line);
  assert.equal(folded(long).replaceAll("\r\n ", ""), long);
  assert.equal(folded("x".repeat(75)), "x".repeat(75));
  assert.equal(folded("x".repeat(76)), `${"x".repeat(75)}\r\n x`);
});

test("a calendar file has what it should, with what is special in it escaped", () => {
  assert.equal(escaped("a,b;c\\d\ne\r\nf"), "a\\,b\\;c\\\\d\\ne\\nf");
  assert.equal(utc(new Date("2026-11-18T01:00:00.123Z")), "20261118T010000Z");
  const entry = {
    uid: "1@here", stamp: new Date(0), starts: new Date("2026-11-18T01:00:00Z"), ends: null, summary: "Gala, the last", description: "A\nB",
    url: "https://here/?a=1,2", version: 3, status: "CONFIRMED",
  };
  const lines = calendarFile(entry).split("\r\n");
  for (const line of ["DTSTART:20261118T010000Z", "SUMMARY:Gala\\, the last", "DESCRIPTION:A\\nB", "URL:https://here/?a=1,2", "SEQUENCE:3"]) assert.ok(lines.includes(line), line);
  assert.ok(!lines.some((line) => line.startsWith("DTEND")));
  assert.deepEqual(lines.slice(-2), ["END:VCALENDAR", ""]);
  assert.ok(calendarFile({ ...entry, ends: new Date("2026-11-18T03:00:00Z") }).includes("DTEND:20261118T030000Z"));
});

test("dates go over the ends of months and years", () => {
  assert.equal(addDays("2026-12-31", 1), "2027-01-01");
  assert.equal(addDays("2028-03-01", -1), "2028-02-29");
  assert.equal(addMonths("2026-12", 1), "2027-01");
  assert.equal(addMonths("2026-01", -1), "2025-12");
  assert.equal(lastDayOf("2028-02"), "2028-02-29");
  assert.equal(weekdayOf("2026-11-15"), 7);
  assert.equal(weekdayOf("2026-11-16"), 1);
  assert.equal(dateIn(Date.parse("2026-11-15T16:00:00Z"), "Asia/Taipei"), "2026-11-16");
  assert.equal(dateIn(Date.parse("2026-11-15T16:00:00Z"), "America/New_York"), "2026-11-15");
});

test("a ticket is read as it was written, and as people type it", () => {
  const booking = { id: "01a1e37a-f139-7d2b-b92c-c6d500000003", redeem_code: "AVUNQK" };
  const table = [
    [ticketText(booking, "https://here"), { id: booking.id, code: "AVUNQK" }],
    [ticketText({ ...booking, redeem_code: null }, "https://here"), { id: booking.id, code: "" }],
    [" avu-nqk\n", { code: "AVUNQK" }],
    ["avu nqk", { code: "AVUNQK" }],
    ["https://elsewhere/", { code: "HTTPS://ELSEWHERE/" }],
  ];
  for (const [text, ticket] of table) assert.deepEqual(parseTicket(text), ticket, text);
});

test("a box's price and state follow the time", () => {
  const at = (minute) => new Date(minute * 60_000).toISOString();
  const box = {
    id: "b", name: "B", quantity: 5, remaining: 5, price: 300, next_price: { at: at(10), price: 200 }, status: "ACTIVE",
    price_curve: [{ at: at(10), price: 200 }, { at: at(20), price: 100 }], pickup: { starts_at: at(5), ends_at: at(30) },
  };
  const table = [
    [9, 300, 200, "ACTIVE", 3],
    [10, 200, 100, "ACTIVE", 2],
    [25, 100, undefined, "ACTIVE", 1],
    [30, 100, undefined, "ENDED", 1],
  ];
  for (const [minute, price, next, status, steps] of table) {
    const then = boxAt(box, minute * 60_000);
    assert.deepEqual([then.price, then.next_price?.price, then.status, stepsToCome(then).length], [price, next, status, steps], `minute ${minute}`);
  }
  assert.equal(boxAt({ ...box, status: "CLOSED" }, 31 * 60_000).status, "CLOSED");
});

const stats = (available, total) => ({ available, held: 0, sold: total - available, blocked: 0, total });
const event = () => ({
  sections: [
    { name: "A", price: 300, stats: stats(12, 12), subsections: [{ number: 1, rows: 2, cols: 3, stats: stats(6, 6) }, { number: 2, rows: 2, cols: 3, stats: stats(6, 6) }] },
    { name: "B", price: 100, stats: stats(4, 4), subsections: [{ number: 1, rows: 1, cols: 4, stats: stats(4, 4) }] },
  ],
  areas: [{ name: "Floor", price: 50, capacity: 10, stats: stats(10, 10) }],
  stats: stats(26, 26),
});

test("a hall takes a snapshot and then changes, and counts what is left", () => {
  const hall = new Hall(event());
  assert.equal(hall.states.length, 16);
  hall.takeSnapshot({
    stats: stats(19, 26), areas: [{ name: "Floor", stats: stats(8, 10) }],
    sections: [{ section: "A-1", seats: [".hs", "x.."] }, { section: "A-2", seats: ["...", "..."] }, { section: "B-1", seats: ["...s"] }, { section: "C-1", seats: ["."] }],
  });
  assert.deepEqual([...hall.states.slice(0, 6)], [FREE, HELD, SOLD, BLOCKED, FREE, FREE]);
  assert.deepEqual([hall.block("A-1").free, hall.block("B-1").free, hall.area("Floor").free, hall.free], [3, 3, 8, 19]);
  const changed = hall.takeChange({
    stats: stats(19, 26), areas: [],
    seats: [{ section: "A-1", seat: "1-1", state: "held" }, { section: "A-1", seat: "1-2", state: "available" }, { section: "A-1", seat: "1-3", state: "sold" }, { section: "Z-9", seat: "1-1", state: "sold" }],
  });
  assert.deepEqual(changed, [0, 1]);
  assert.equal(hall.block("A-1").free, 3);
  const table = [["A-2", "2-3", 11], ["B-1", "1-1", 12], ["A-1", "3-1", -1], ["A-1", "1-4", -1], ["A-1", "0-1", -1], ["C-1", "1-1", -1]];
  for (const [section, seat, index] of table) {
    assert.equal(hall.indexOf(section, seat), index, `${section} ${seat}`);
    if (index >= 0) assert.deepEqual([hall.seat(index).section, hall.seat(index).seat], [section, seat]);
  }
  for (const [free, total, much] of [[0, 10, "none"], [1, 10, "few"], [2, 10, "many"]]) assert.equal(left({ free, total }), much);
});

test("a choice is counted, priced and asked for by section", () => {
  const choice = new Choice(new Hall(event()));
  for (const index of [12, 1, 0]) choice.seats.add(index);
  choice.setArea("Floor", 2);
  assert.deepEqual([choice.quantity, choice.standing, choice.price], [5, 2, 800]);
  assert.deepEqual(choice.wantedSeats(), [{ section: "A-1", ids: ["1-1", "1-2"] }, { section: "B-1", ids: ["1-1"] }]);
  choice.setArea("Floor", 0);
  assert.deepEqual(choice.wantedAreas(), []);
  assert.deepEqual(bySection([]), []);
});

test("every place of a hall has room of its own, and what is in it is found there again", () => {
  const sections = (count, blocks, rows, cols) => Array.from({ length: count }, (_, index) => ({
    name: `S${index}`, price: 1, stats: stats(1, 1), subsections: Array.from({ length: blocks }, (_, number) => ({ number: number + 1, rows, cols, stats: stats(1, 1) })),
  }));
  const table = [
    ["one block", sections(1, 1, 5, 10), []],
    ["an arena", [...sections(1, 4, 20, 25), ...sections(1, 8, 25, 30), ...sections(1, 12, 25, 40)].map((section, index) => ({ ...section, name: `R${index}` })), event().areas],
    ["40 blocks", sections(4, 10, 25, 50), []],
    ["only an area", [], event().areas],
  ];
  for (const [name, of, areas] of table) {
    const { places, bounds } = layOut(new Hall({ sections: of, areas, stats: stats(1, 1) }));
    assert.equal(places.length, of.flatMap(({ subsections }) => subsections).length + areas.length, name);
    for (const place of places) {
      for (const [along, back] of [[0, place.depth / 2], [place.width / 2 - 0.5, 0.5], [0.5 - place.width / 2, place.depth - 0.5]]) {
        const [x, y] = inHall(place, along, back);
        assert.ok(x > bounds.left && x < bounds.right && y > bounds.top && y < bounds.bottom, `${name}: ${place.of.address} is outside`);
        const again = inPlace(place, x, y);
        assert.ok(Math.hypot(again[0] - along, again[1] - back) < 1e-6, `${name}: ${place.of.address} is elsewhere`);
        const others = places.filter((other) => {
          const [beside, behind] = inPlace(other, x, y);
          return other !== place && Math.abs(beside) < other.width / 2 && behind > 0 && behind < other.depth;
        });
        assert.deepEqual(others.map(({ of: { address } }) => address), [], `${name}: ${place.of.address} is covered`);
      }
    }
  }
});
