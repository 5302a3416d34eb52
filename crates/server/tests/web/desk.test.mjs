// The desk: the door, bookings, holds and house seats.

import assert from "node:assert/strict";
import test from "node:test";
import { fill, leave, press, read, reads, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { hold, LEFT, pickOnMap } from "./hall.mjs";
import { dateInTaipei, hall, museum } from "./house.mjs";

const here = opened();
const REFUSED = ["status of 409", "status of 404"];

/** What the door says to this. */
async function redeem(page, text) {
  await fill(page, "[data-code]", text);
  await page.keyboard.press("Enter");
  const result = await page.waitForSelector('[data-result]:not([data-result="busy"], [data-result=""])');
  const said = await result.evaluate((place) => place.dataset.result);
  await result.evaluate((place) => (place.dataset.result = ""));
  return said;
}

test("the door admits the right code once, and says of every other what is wrong with it", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("door", 5, 10));
  await house.ask("POST", "/v1/schedules", museum("other"));
  const book = (more) => house.book({ event: "door", best_available: { quantity: 2 }, ...more });
  const [paid, scanned, unpaid] = [await book({}), await book({}), await book({ confirm: false })];
  const elsewhere = await house.book({ schedule: "other", slot: `${dateInTaipei(2)}T09:00`, quantity: 1 });
  const page = await here.visit("/desk?event=door&tab=door", { allow: REFUSED });
  await reads(page, ".door", "3 codes");
  const late = await book({});
  const link = ({ id }, code) => `https://tickets.example/bookings/${id}?code=${code}`;
  const table = [
    ["as it is printed", paid.redeem_code, "admitted"],
    ["a second time", paid.redeem_code, "used"],
    ["a code that nobody has", "ZZZZZZ", "unknown"],
    ["no code at all", "good evening", "rubbish"],
    ["not paid yet", unpaid.redeem_code, "unpaid"],
    ["of another house", link(elsewhere, elsewhere.redeem_code), "elsewhere"],
    ["a ticket with another's code", link(scanned, paid.redeem_code), "code"],
    ["scanned from a ticket", link(scanned, scanned.redeem_code), "admitted"],
    ["typed as people type, of a booking made since", ` ${late.redeem_code.slice(0, 3)} ${late.redeem_code.slice(3).toLowerCase()}`, "admitted"],
  ];
  for (const [what, typed, said] of table) assert.equal(await redeem(page, typed), said, what);
  assert.equal(await read(page, "[data-admitted]"), "6 let in here");
  assert.equal((await house.ask("GET", `/v1/bookings/${paid.id}`)).status, "redeemed");

  await page.goto(`${house.url}/desk?schedule=other&tab=door`);
  assert.equal(await redeem(page, elsewhere.redeem_code), "date");
  const status = async () => (await house.ask("GET", `/v1/bookings/${elsewhere.id}`)).status;
  await press(page, "[data-force]");
  await page.waitForSelector('[data-result="admitted"]');
  assert.deepEqual([await status(), await read(page, "[data-admitted]")], ["redeemed", "1 let in here"]);
  await press(page, "[data-undo]");
  await page.waitForSelector('[data-result="undone"]');
  assert.deepEqual([await status(), await read(page, "[data-admitted]")], ["confirmed", "0 let in here"]);
  const focus = await page.evaluate(() => document.activeElement?.closest("#code, [data-result]") !== null);
  assert.ok(focus, "the focus stays at the door");
  await leave(page);
});

test("a buyer's hold is seen, confirmed and found again at the desk", async () => {
  await here.house.ask("POST", "/v1/events", hall("watched", 5, 10));
  const buyer = await here.visit("/events/watched");
  const desk = await here.visit("/desk?event=watched&tab=sales");
  await reads(desk, '[data-counter="available"]', "50");
  await pickOnMap(buyer, "A-1", ["1-1", "1-2"]);
  await hold(buyer);
  await reads(desk, '[data-counter="held"]', "2");
  await reads(desk, ".holds [data-hold]", "A-1, row 1, seats 1–2");
  await press(desk, ".holds [data-hold] [data-act=confirm]");
  await reads(desk, '[data-counter="sold"]', "2");
  const [booking] = (await here.house.ask("GET", "/v1/bookings?event=watched")).items;
  for (const wanted of [booking.redeem_code, booking.customer, booking.id]) {
    await press(desk, "[data-tab=door]");
    await press(desk, "[data-tab=bookings]");
    await fill(desk, "[data-find]", wanted);
    await desk.keyboard.press("Enter");
    if (wanted === booking.customer) await press(desk, `[data-found="${booking.id}"]`);
    await reads(desk, `[data-booking="${booking.id}"] .trail`, "Confirmed");
    // Closed, so that the next is not taken for this one.
    await press(desk, "[data-booking] .plain");
    await desk.waitForFunction(() => !document.querySelector("[data-booking]"));
  }
  await press(desk, `[data-found="${booking.id}"]`);
  await press(desk, "[data-booking] [data-act=redeem]");
  await desk.waitForSelector('[data-booking] [data-status="redeemed"]');
  await leave(buyer);
  await leave(desk);
});

test("a refused attempt is found at the desk by its customer and by its request id", async () => {
  await here.house.ask("POST", "/v1/events", hall("tried", 1, 2));
  const body = JSON.stringify({ customer: "late-buyer", event: "tried", seats: [{ section: "A-1", ids: ["9-9"] }] });
  const headers = { "Content-Type": "application/json", "X-Request-Id": "late-request" };
  const refused = await fetch(`${here.house.url}/v1/bookings`, { method: "POST", headers, body });
  assert.equal(refused.status, 404);
  const desk = await here.visit("/desk?event=tried&tab=bookings");
  for (const wanted of ["late-buyer", "late-request"]) {
    await fill(desk, "[data-find]", wanted);
    await desk.keyboard.press("Enter");
    await reads(desk, '[data-attempt="SEAT_NOT_FOUND"]', "late-buyer");
    await fill(desk, "[data-find]", "somebody else");
    await desk.keyboard.press("Enter");
    await desk.waitForFunction(() => document.querySelector("[data-attempt]")?.closest("[hidden]") !== null);
  }
  await leave(desk);
});

test("house seats are blocked and given back, for every buyer at once", async () => {
  await here.house.ask("POST", "/v1/events", hall("house", 5, 10));
  const buyer = await here.visit("/events/house");
  const desk = await here.visit("/desk?event=house&tab=seats");
  await press(desk, '[data-seat="2-1"]');
  await desk.keyboard.down("Shift");
  await press(desk, '[data-seat="2-4"]');
  await desk.keyboard.up("Shift");
  await reads(desk, "[data-summary]", "4 ");
  await press(desk, "[data-act=block]");
  await reads(buyer, LEFT, "46 of 50 left");
  // With its own answer the desk forgets what was chosen; buyers may know before that.
  await shows(desk, "4 seats of A-1 are blocked now.");
  assert.equal((await here.house.ask("GET", "/v1/events/house/seats?section=A-1")).seats[1], "xxxx......");
  await desk.waitForSelector('[data-seat="2-4"][data-state="blocked"]');
  await press(desk, '[data-seat="2-4"]');
  await press(desk, "[data-act=unblock]");
  await reads(buyer, LEFT, "47 of 50 left");
  await leave(buyer);
  await leave(desk);
});

test("a slot is closed, made larger but not smaller than what is booked, and priced anew", async () => {
  const { house } = here;
  const day = dateInTaipei(3);
  const [morning, afternoon] = [`${day}T09:00`, `${day}T13:00`];
  await house.ask("POST", "/v1/schedules", museum("slots"));
  await house.book({ schedule: "slots", slot: afternoon, quantity: 3 });
  const buyer = await here.visit(`/schedules/slots?date=${day}`);
  const desk = await here.visit(`/desk?schedule=slots&tab=slots&date=${day}`, { allow: REFUSED });
  await press(desk, `[data-toggle="${morning}"]`);
  await buyer.waitForSelector(`[data-slot="${morning}"][data-state="CLOSED"]`);
  for (const [places, said] of [["2", "3 places are booked already"], ["9", "Changed."]]) {
    await fill(desk, `[data-capacity="${afternoon}"]`, places);
    await desk.keyboard.press("Enter");
    await reads(desk, `[data-slot="${afternoon}"] .note:not([hidden])`, said);
  }
  await reads(buyer, `[data-slot="${afternoon}"]`, "6/9 available");
  const wrong = `[data-slot="${afternoon}"] .problem:not(:empty)`;
  for (const [field, typed, said] of [["capacity", "0", "whole number from 1"], ["price", "12.345", "at most 2 decimals"], ["price", "", "Enter a price from 0"]]) {
    await fill(desk, `[data-${field}="${afternoon}"]`, typed || "1\b");
    if (typed === "") await desk.keyboard.press("Backspace");
    await reads(desk, wrong, said);
    await desk.keyboard.press("Enter");
    await desk.waitForSelector(`[data-${field}="${afternoon}"]:focus`);
    await fill(desk, `[data-${field}="${afternoon}"]`, "9");
  }
  await fill(desk, `[data-price="${afternoon}"]`, "199.5");
  await desk.keyboard.press("Enter");
  await reads(buyer, `[data-slot="${afternoon}"] button`, "NT$199.50");
  await leave(buyer);
  await leave(desk);
});

test("a box gets another price and name and is closed, before the eyes of who would buy it", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/shops", { id: "shop", name: "Bakery", timezone: "Asia/Taipei", currency: "TWD" });
  await house.ask("POST", "/v1/shops/shop/boxes", { id: "box", name: "Evening box", quantity: 2, price: 30_000 });
  const buyer = await here.visit("/shops/shop");
  const desk = await here.visit("/desk?shop=shop");
  await fill(desk, "[data-price=box]", "120");
  await desk.keyboard.press("Enter");
  await reads(buyer, "[data-box=box] .price", "NT$120");
  await reads(desk, "[data-box=box] .note", "Changed.");
  await fill(desk, "[data-name=box]", " ");
  await reads(desk, "[data-box=box] .problem:not(:empty)", "Enter a name.");
  await fill(desk, "[data-name=box]", "Morning box");
  await desk.keyboard.press("Enter");
  await reads(buyer, "[data-box=box] h2", "Morning box");
  await reads(desk, "[data-box=box] h3", "Morning box");
  await press(desk, "[data-toggle=box]");
  await buyer.waitForSelector('[data-box=box][data-status="CLOSED"]');
  await leave(buyer);
  await leave(desk);
});

test("contact and reference of a booking are shown and copied at the desk, until the contact is erased, and nowhere else", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("contact", 5, 10));
  const contact = { email: "ann@example.com", phone: "+12025551234" };
  const booking = await house.book({ event: "contact", customer: "ann", best_available: { quantity: 1 }, contact, reference: "order-77" });
  const desk = await here.visit("/desk?event=contact&tab=bookings");
  await desk.browserContext().overridePermissions(house.url, ["clipboard-read", "clipboard-sanitized-write"]);
  await reads(desk, `[data-found="${booking.id}"]`, "order-77 · ann@example.com · +12025551234");
  await press(desk, `[data-found="${booking.id}"]`);
  for (const text of ["ann@example.com", "+12025551234", "order-77"]) {
    await reads(desk, "[data-booking] .facts", text);
    const button = await desk.evaluateHandle((wanted) => [...document.querySelectorAll(".copy-row")].find((row) => row.innerText.includes(wanted)).querySelector("button"), text);
    await button.click();
    await desk.waitForFunction((pressed) => pressed.innerText === "Copied", {}, button);
    assert.equal(await desk.evaluate(() => navigator.clipboard.readText()), text);
  }
  const customer = await here.visit(`/bookings/${booking.id}#token=${booking.hold_token}`);
  await customer.waitForSelector("[data-booking]");
  const all = await customer.evaluate(() => document.body.innerText + JSON.stringify({ ...localStorage, ...sessionStorage }));
  for (const secret of ["ann@example.com", "12025551234", "order-77"]) assert.ok(!all.includes(secret), secret);

  await house.delete("/v1/customers/ann/contact");
  await desk.reload();
  await reads(desk, "[data-booking] .facts", "Contact none, or erased");
  const left = await read(desk, ".finder");
  assert.ok(!left.includes("ann@example.com") && left.includes("order-77"), left);
  await leave(customer);
  await leave(desk);
});

test("an event is cancelled at the desk with a reason, after its holds and bookings were counted", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("storm", 5, 10));
  const book = (more) => house.book({ event: "storm", best_available: { quantity: 1 }, ...more });
  const [paid] = [await book({}), await book({}), await book({ confirm: false })];
  const desk = await here.visit("/desk?event=storm&tab=sales");
  await press(desk, "[data-cancel-event] [type=submit]");
  await desk.waitForSelector("[data-reason]:focus");
  await reads(desk, "[data-cancel-event] .problem", "Enter a reason.");
  await desk.keyboard.type("hall flooded");
  await desk.waitForSelector("[data-reason][aria-invalid=false]");
  const status = async () => (await house.ask("GET", "/v1/events/storm")).status;
  for (const answer of ["no", "yes"]) {
    await press(desk, "[data-cancel-event] [type=submit]");
    await reads(desk, "dialog", "1 hold and 2 bookings will be cancelled. This cannot be undone.");
    assert.equal(await status(), "open");
    await press(desk, `[data-act=cancel-event-${answer}]`);
    await desk.waitForFunction(() => !document.querySelector("dialog"));
  }
  await reads(desk, "[data-cancel-event]", "Event cancelled, with 1 hold and 2 bookings.");
  await reads(desk, "[data-standing]", "This event was cancelled.");
  await desk.waitForSelector("#cancel-title:focus");
  assert.equal(await status(), "cancelled");
  await desk.goto(`${house.url}/desk?event=storm&tab=bookings&booking=${paid.id}`);
  await reads(desk, "[data-booking] .trail", "Cancelled (hall flooded)");
  await desk.waitForSelector("[data-standing]:not([hidden])");
  await leave(desk);
});
