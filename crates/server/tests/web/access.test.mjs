// axe-core finds nothing serious on any page, in light and dark.

import assert from "node:assert/strict";
import test from "node:test";
import { fill, findings, leave, paint, press, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { hold, openBlock, pickOnMap } from "./hall.mjs";
import { dateInTaipei, hall, museum, openHouse } from "./house.mjs";

const here = opened(async () => {
  const house = await openHouse();
  await house.ask("POST", "/v1/events", hall("gala", 8, 12, { areas: [{ name: "Standing", price: 90_000, capacity: 30 }] }));
  await house.ask("POST", "/v1/schedules", museum("museum"));
  await house.ask("POST", "/v1/shops", { id: "bakery", name: "Bakery", timezone: "Asia/Taipei", currency: "TWD" });
  const steps = [{ at: new Date(Date.now() + 3_600_000).toISOString(), price: 10_000 }];
  await house.ask("POST", "/v1/shops/bakery/boxes", { id: "evening", name: "Evening box", quantity: 20, price: 30_000, price_curve: steps });
  await house.ask("POST", "/v1/events", hall("storm", 8, 12));
  await house.book({ event: "storm", best_available: { quantity: 2 }, contact: { email: "ann@example.com", phone: "+12025551234" }, reference: "order-77" });
  await house.cancel("storm");
  await house.book({ schedule: "museum", slot: `${dateInTaipei(2)}T09:00`, quantity: 2 });
  return house;
});
const day = dateInTaipei(2);
const REFUSED = ["status of 409", "status of 404"];

async function isAccessible(page) {
  for (const scheme of ["light", "dark"]) {
    await paint(page, scheme);
    assert.deepEqual(await findings(page), [], scheme);
  }
}

/** Somebody takes what is picked while the request is on its way. */
async function refuse(page) {
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    if (request.method() === "POST" && request.url().endsWith("/v1/bookings")) {
      const { seats } = JSON.parse(request.postData());
      await here.house.book({ event: "gala", seats });
    }
    await request.continue();
  });
  await press(page, ">>> .order [data-hold]");
  await shows(page, "These are free instead:");
}

const newest = async (event = "gala") => (await here.house.ask("GET", `/v1/bookings?limit=1&event=${event}`)).items[0];

/** The page, what is done there, and what shows that it is done. */
const PAGES = [
  ["the first page", () => "/", (page) => shows(page, "Summer Gala")],
  ["an event, the whole hall", () => "/events/gala", (page) => page.waitForSelector('>>> [data-connection="live"]')],
  ["an event, seats picked", () => "/events/gala", async (page) => {
    await pickOnMap(page, "A-1", ["1-1", "1-2"]);
    await shows(page, "Hold 2 for NT$6,000");
  }],
  ["an event, by keyboard", () => "/events/gala", (page) => openBlock(page, "A-1")],
  ["an event, refused", () => "/events/gala", async (page) => {
    await pickOnMap(page, "A-1", ["1-3", "1-4"]);
    await refuse(page);
  }],
  ["an event, held and paid", () => "/events/gala", async (page) => {
    await pickOnMap(page, "A-1", ["1-11"]);
    await hold(page);
    await isAccessible(page);
    await press(page, ">>> [data-act=confirm]");
    await shows(page, "Booking confirmed.");
  }],
  ["an event that is not there", () => "/events/nothing", (page) => shows(page, "This event is not here.")],
  ["an event that was cancelled", () => "/events/storm", (page) => shows(page, "This event was cancelled.")],
  ["a booking that was cancelled with its event", async () => `/bookings/${(await newest("storm")).id}`, (page) => shows(page, "This event was cancelled.")],
  ["a schedule", () => `/schedules/museum?date=${day}`, async (page) => {
    await page.waitForSelector('[data-state="FULL"] .badge.bad');
    await press(page, `[data-slot="${day}T13:00"] button`);
    await shows(page, "Held for you");
    await press(page, "hold-panel [data-act=cancel]");
    await shows(page, "Places released.");
  }],
  ["a shop", () => "/shops/bakery", async (page) => {
    await press(page, "[data-box=evening] [data-act=book]");
    await press(page, "hold-panel [data-act=confirm]");
    await shows(page, "Booking confirmed.");
  }],
  ["a booking", async () => `/bookings/${(await newest()).id}`, (page) => page.waitForSelector("[data-booking]")],
  ["a booking, asked whether to cancel it", async () => `/bookings/${(await newest()).id}`, async (page) => {
    await press(page, "[data-act=cancel]");
    await page.waitForSelector("dialog[open]");
  }],
  ["a booking that is not there", () => "/bookings/00000000-0000-0000-0000-000000000000", (page) => page.waitForSelector("[data-refusal]")],
  ["the desk, sales", () => "/desk?event=gala&tab=sales", (page) => page.waitForSelector(".chart path, .chart line")],
  ["the desk, door", () => "/desk?event=gala&tab=door", async (page) => {
    await fill(page, "[data-code]", (await newest()).redeem_code);
    await page.keyboard.press("Enter");
    await page.waitForSelector('[data-result]:not([data-result="busy"], [data-result=""])');
  }],
  ["the desk, bookings", async () => `/desk?event=gala&tab=bookings&booking=${(await newest()).id}`, (page) => page.waitForSelector("[data-booking] .trail li")],
  ["the desk, asked whether to cancel the event", () => "/desk?event=gala&tab=sales", async (page) => {
    await press(page, "[data-cancel-event] [type=submit]");
    await shows(page, "Enter a reason.");
    await isAccessible(page);
    await fill(page, "[data-reason]", "storm");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open]");
  }],
  ["the desk, a cancelled booking with its contact", async () => `/desk?event=storm&tab=bookings&booking=${(await newest("storm")).id}`, (page) => page.waitForSelector("[data-booking] .copy-row button")],
  ["the desk, seats", () => "/desk?event=gala&tab=seats", async (page) => {
    await press(page, '[data-seat="8-1"]');
    await press(page, "[data-act=history]");
    await page.waitForSelector("[data-seat-now] strong");
  }],
  ["the desk, a schedule", () => "/desk?schedule=museum", (page) => page.waitForSelector(".peaks li")],
  ["the desk, slots", () => `/desk?schedule=museum&tab=slots&date=${day}`, async (page) => {
    await fill(page, `[data-price="${day}T13:00"]`, "1.234");
    await page.waitForSelector(".problem:not(:empty)");
  }],
  ["the desk, boxes", () => "/desk?shop=bakery", (page) => page.waitForSelector("[data-box]")],
  ["the API", () => "/docs", (page) => page.waitForSelector("h2")],
];

for (const [name, address, ready] of PAGES) {
  test(name, async () => {
    const page = await here.visit(await address(), { allow: REFUSED });
    await ready(page);
    await isAccessible(page);
    await leave(page);
  });
}
