// An event that is cancelled or deleted, before and while somebody looks at it.

import assert from "node:assert/strict";
import test from "node:test";
import { leave, press, reads, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { hold, LEFT, pickOnMap } from "./hall.mjs";
import { hall } from "./house.mjs";

const here = opened();
const NOTE = ">>> [data-sales]";
const TICKET = "[data-booking]";

/** Nothing on the page can be picked or held. */
async function sellsNothing(page) {
  await page.waitForFunction(() => !document.querySelector("boxoffice-event").shadowRoot.querySelector("canvas"));
  const buttons = await page.$eval("boxoffice-event", ({ shadowRoot }) => [...shadowRoot.querySelectorAll("button")].map((button) => button.innerText));
  assert.deepEqual(buttons, []);
  assert.equal(await page.$eval(LEFT, (badge) => badge.hidden), true);
}

test("open pages of a cancelled event sell nothing, whatever was picked, held or paid on them", async () => {
  await here.house.ask("POST", "/v1/events", hall("storm", 5, 10));
  const enter = (options) => here.visit("/events/storm", options);
  const [picked, held, paid, chinese] = [await enter(), await enter(), await enter(), await enter({ language: "zh-TW" })];
  await pickOnMap(held, "A-1", ["1-1"]);
  await hold(held);
  await pickOnMap(paid, "A-1", ["2-1"]);
  await hold(paid);
  await press(paid, ">>> [data-act=confirm]");
  await shows(paid, "Booking confirmed.");
  await pickOnMap(picked, "A-1", ["3-3"]);
  await reads(picked, ">>> [data-hold]", "Hold 1 for NT$3,000");
  await (await picked.$(">>> .order [data-hold]")).focus();

  await here.house.cancel("storm");
  for (const page of [picked, held, paid]) await reads(page, NOTE, "This event was cancelled.");
  await reads(chinese, NOTE, "這個活動已取消。");
  for (const page of [picked, chinese]) await sellsNothing(page);
  const focus = (page, selector) => page.waitForFunction((wanted) => document.activeElement.shadowRoot?.activeElement?.matches(wanted), {}, selector);
  await focus(picked, ".title");
  for (const page of [held, paid]) {
    await focus(page, "hold-panel, hold-panel *");
    await page.waitForSelector('>>> hold-panel[data-status="cancelled"]');
    await sellsNothing(page);
  }
  await picked.reload();
  await reads(picked, NOTE, "This event was cancelled.");
  await sellsNothing(picked);
  for (const page of [picked, held, paid, chinese]) await leave(page);
});

test("a hold that is granted just before the event is cancelled is shown as cancelled", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("late", 5, 10));
  const page = await here.visit("/events/late");
  await pickOnMap(page, "A-1", ["1-1"]);
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    if (request.method() !== "POST") return request.continue();
    const granted = await fetch(request.url(), { method: "POST", headers: request.headers(), body: request.postData() });
    const body = await granted.text();
    await house.cancel("late");
    await reads(page, NOTE, "This event was cancelled.");
    await request.respond({ status: granted.status, contentType: "application/json", body });
  });
  await press(page, ">>> .order [data-hold]");
  await page.waitForSelector('>>> hold-panel[data-status="cancelled"]');
  await sellsNothing(page);
  await leave(page);
});

test("the first page and the customer's booking say that the event was cancelled", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("rain", 5, 10, { starts_at: "2029-12-24T19:00:00.000Z" }));
  const booking = await house.book({ event: "rain", best_available: { quantity: 2 } });
  const address = `/bookings/${booking.id}#token=${booking.hold_token}`;
  const [open, chinese] = [await here.visit(address), await here.visit(address, { language: "zh-TW" })];
  for (const page of [open, chinese]) await page.waitForSelector(`${TICKET}[data-status="confirmed"]`);
  await house.cancel("rain");
  for (const page of [open, chinese]) await page.waitForSelector(`${TICKET}[data-status="cancelled"]`);
  await reads(open, TICKET, "This event was cancelled. This booking is cancelled; it is no longer valid.");
  await reads(chinese, TICKET, "這個活動已取消。");
  assert.deepEqual(await open.$$eval("[data-act]", (actions) => actions.map((action) => action.dataset.act)), []);
  await open.goto(`${house.url}/`);
  await reads(open, '[data-event="rain"] .badge', "Cancelled");
  await leave(open);
  await leave(chinese);
});

test("an event that is deleted while somebody looks is not there any more, on its page and on the desk", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("mistake", 5, 10));
  const page = await here.visit("/events/mistake", { allow: ["status of 404"] });
  const desk = await here.visit("/desk?event=mistake", { allow: ["status of 404"] });
  await pickOnMap(page, "A-1", ["1-1"]);
  await reads(desk, '[data-counter="available"]', "50");
  await house.delete("/v1/events/mistake");
  await reads(page, NOTE, "This event is not here.");
  await sellsNothing(page);
  await reads(desk, "[data-standing]", "This event is not here.");
  await page.reload();
  await shows(page, "This event is not here.");
  await leave(page);
  await leave(desk);
});
