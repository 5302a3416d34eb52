// Times are the place's own, and say whose they are, wherever the reader is.

import assert from "node:assert/strict";
import test from "node:test";
import { leave, read, reads } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { dateInTaipei, hall, museum } from "./house.mjs";

const here = opened();
// Older browsers call the zone "Taipei Standard Time", newer ones "Taiwan Standard Time".
const NEW_YORK = { zone: "America/New_York" };

test("an event's time is its zone's, and the zone is named, on its page, the first page, the ticket and the desk", async () => {
  const starts_at = "2029-12-24T11:30:00.000Z";
  await here.house.ask("POST", "/v1/events", hall("gala", 5, 10, { timezone: "Asia/Taipei", starts_at }));
  const booking = await here.house.book({ event: "gala", best_available: { quantity: 1 } });
  const table = [
    ["/events/gala", ">>> [data-starts]", "Dec 24, 2029, 7:30 PM (Tai"],
    ["/", '[data-event="gala"]', "Dec 24, 2029, 7:30 PM (Tai"],
    [`/bookings/${booking.id}#token=${booking.hold_token}`, ".when", "Monday, December 24, 2029 at 7:30 PM"],
    [`/bookings/${booking.id}`, ".when", "Standard Time; 6:30 AM on your clock"],
    ["/desk?event=gala", "[data-zone]", "Starts Dec 24, 2029, 7:30 PM. All times are Tai"],
  ];
  const page = await here.visit("/", NEW_YORK);
  for (const [path, selector, text] of table) {
    await page.goto(here.house.url + path);
    await reads(page, selector, text);
  }
  const labels = () => [...document.querySelectorAll("svg.bars .axis text")].map((label) => label.textContent.replace(/\s/g, " ")).filter((text) => / [AP]M$/.test(text));
  await page.waitForFunction(`(${labels})().length > 0`);
  const short = new Intl.DateTimeFormat("en", { timeStyle: "short", timeZone: "Asia/Taipei" });
  const lastHour = Array.from({ length: 60 }, (_, minutes) => short.format(Date.now() - minutes * 60_000).replace(/\s/g, " "));
  assert.deepEqual((await page.evaluate(labels)).filter((label) => !lastHour.includes(label)), [], "the minutes of the chart are the event's");
  await leave(page);
  const chinese = await here.visit("/events/gala", { ...NEW_YORK, language: "zh-TW" });
  await reads(chinese, ">>> [data-starts]", "7:30（台北標準時間）");
  await leave(chinese);
});

test("an event without a zone is on UTC, and says so", async () => {
  await here.house.ask("POST", "/v1/events", hall("plain", 5, 10, { starts_at: "2029-12-24T19:00:00.000Z" }));
  const page = await here.visit("/events/plain", NEW_YORK);
  await reads(page, ">>> [data-starts]", "Dec 24, 2029, 7:00 PM (Coordinated Universal Time)");
  await leave(page);
});

test("a schedule and a shop name their zone, to a reader on the same clock too", async () => {
  await here.house.ask("POST", "/v1/schedules", museum("museum"));
  await here.house.ask("POST", "/v1/shops", { id: "bakery", name: "Bakery", timezone: "Asia/Taipei", currency: "TWD" });
  const table = [
    ["Asia/Taipei", /^All times are Tai\w+ Standard Time\.$/],
    ["America/New_York", /^All times are Tai\w+ Standard Time\. Your clock shows another time\.$/],
  ];
  for (const [zone, text] of table) {
    for (const path of [`/schedules/museum?date=${dateInTaipei(2)}`, "/shops/bakery"]) {
      const page = await here.visit(path, { zone });
      await page.waitForSelector(".zone");
      assert.match(await read(page, ".zone"), text, `${path} in ${zone}`);
      await leave(page);
    }
  }
});
