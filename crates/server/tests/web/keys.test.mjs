// A house with keys: its own pages have a public one, and the desk asks who is there.

import assert from "node:assert/strict";
import test from "node:test";
import { fill, leave, press, reads, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { hold, pickOnMap } from "./hall.mjs";
import { dateInTaipei, hall, museum, openHouseWithKeys } from "./house.mjs";

const here = opened(async () => {
  const house = await openHouseWithKeys({ pagesKey: true });
  await house.ask("POST", "/v1/events", hall("gala", 5, 10));
  await house.ask("POST", "/v1/schedules", museum("free", { windows: [{ start: "09:00", end: "17:00", capacity: 5, price: 0 }] }));
  return house;
});

test("buyers hold seats with the pages' key, and the house takes the money", async () => {
  const page = await here.visit("/events/gala", { allow: ["status of 403"] });
  await pickOnMap(page, "A-1", ["1-1"]);
  await hold(page);
  await press(page, ">>> [data-act=confirm]");
  await shows(page, "Pay the seller before the time is up.");
  const [booking] = (await here.house.ask("GET", "/v1/bookings?event=gala")).items;
  await page.goto(`${here.house.url}/bookings/${booking.id}`);
  await page.waitForSelector('[data-booking][data-status="on_hold"]');
  await here.house.ask("POST", `/v1/bookings/${booking.id}/confirm`, { payment_reference: "pay-1" });
  await page.waitForSelector('[data-booking][data-status="confirmed"] [data-code]');
  await page.goto(`${here.house.url}/`);
  await reads(page, `[data-mine="${booking.id}"]`, "Confirmed");
  await leave(page);
});

test("what costs nothing is confirmed at once, and only its own browser sees it", async () => {
  const day = dateInTaipei(2);
  const page = await here.visit(`/schedules/free?date=${day}`);
  await press(page, `[data-slot="${day}T09:00"] button`);
  await press(page, "hold-panel [data-act=confirm]");
  await shows(page, "Booking confirmed.");
  const [booking] = (await here.house.ask("GET", "/v1/bookings?schedule=free")).items;
  const stranger = await here.visit(`/bookings/${booking.id}`, { allow: ["status of 403"] });
  await stranger.waitForSelector('[data-refusal="HOLD_TOKEN_REQUIRED"]');
  await leave(stranger);
  await leave(page);
});

test("the desk lets in who may run it, by key, and shows what they may do", async () => {
  const { keys } = here.house;
  const page = await here.visit("/desk?event=gala&tab=door", { allow: ["status of 401", "status of 403", "status of 404"] });
  const table = [
    ["bo_nobody", null],
    [keys.public, null],
    [keys.operator, "operator"],
    [keys.admin, "admin"],
  ];
  for (const [key, role] of table) {
    await fill(page, "[data-key]", key);
    await page.keyboard.press("Enter");
    if (role === null) {
      await page.waitForSelector("[data-sign-in] .note:not([hidden])");
      continue;
    }
    await page.waitForSelector(`[data-role=${role}]`);
    await page.reload();
    await page.waitForSelector(`[data-role=${role}]`);
    await page.waitForSelector("[data-code]");
    await press(page, "[data-sign-out]");
  }
  await page.reload();
  await page.waitForSelector("[data-sign-in]");
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  for (const key of [keys.operator, keys.admin]) assert.ok(!kept.includes(key), "the key is forgotten");
  await leave(page);
});

test("an operator looks at a seat and its booking, and cannot cancel the event", async () => {
  const held = await here.house.book({ event: "gala", seats: [{ section: "A-1", ids: ["5-5"] }], confirm: false });
  const page = await here.visit("/desk?event=gala&tab=sales", { allow: ["status of 401", "status of 403", "status of 404"] });
  await fill(page, "[data-key]", here.house.keys.operator);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".by-section tbody th");
  assert.equal(await page.$("[data-cancel-event]"), null);
  await press(page, "[data-tab=seats]");
  await press(page, '[data-seat="5-5"]');
  await press(page, "[data-act=history]");
  await reads(page, "[data-seat-now]", "A-1 5-5 is held now, NT$3,000. The hold ends");
  await shows(page, "Only an admin key may read the journal.");
  await fill(page, "[data-seat-name]", "A-1 99-1");
  await page.keyboard.press("Enter");
  await shows(page, "There is no such seat.");
  await fill(page, "[data-seat-name]", "A-1 5-5");
  await page.keyboard.press("Enter");
  await press(page, `[data-open="${held.id}"]`);
  await page.waitForSelector(`[data-booking="${held.id}"] [data-status="on_hold"]`);
  await leave(page);
});

test("a key that is taken away ends the desk's session", async () => {
  const fresh = await here.house.ask("POST", "/v1/keys", { role: "operator", name: "door" });
  const page = await here.visit("/desk?event=gala&tab=door", { allow: ["status of 401", "status of 403", "status of 404"] });
  await fill(page, "[data-key]", fresh.key);
  await page.keyboard.press("Enter");
  await fill(page, "[data-code]", "ABCDEF");
  // From here on whatever the desk asks ends its session, be it the code or what it asks on its own.
  await here.house.delete(`/v1/keys/${fresh.id}`);
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-sign-in]");
  await leave(page);
});
