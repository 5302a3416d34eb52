// Booking without a mouse: only keys, from the load of the page to the hold.

import assert from "node:assert/strict";
import test from "node:test";
import { leave, read, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { dateInTaipei, hall, museum } from "./house.mjs";

const STOPS_MAX = 60;
const here = opened();

/** Presses Tab until `selector` has the focus. Everything on the way must be in sight and say what it is. */
async function tabTo(page, selector) {
  const passed = [];
  for (let stop = 0; stop < STOPS_MAX; stop += 1) {
    await page.keyboard.press("Tab");
    const { there, name, seen } = await page.evaluate((wanted) => {
      let focused = document.activeElement;
      while (focused.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
      const { top, bottom, left, right, width } = focused.getBoundingClientRect();
      const labelled = focused.labels?.[0]?.innerText ?? "";
      return {
        there: focused.matches(wanted),
        name: (focused.ariaLabel ?? (focused.innerText?.trim() || labelled)).slice(0, 40) || focused.outerHTML.slice(0, 80),
        seen: focused.matches(":focus-visible") && width > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth,
      };
    }, selector);
    passed.push(name);
    assert.ok(seen, `the focus is out of sight after ${passed.join(" → ")}`);
    if (there) return passed;
  }
  assert.fail(`${selector} cannot be reached: ${passed.join(" → ")}`);
}

test("seats are found, picked and held", async () => {
  await here.house.ask("POST", "/v1/events", hall("keys", 5, 10));
  await here.house.book({ event: "keys", seats: [{ section: "A-1", ids: ["1-1", "1-4"] }] });
  const page = await here.visit("/events/keys");
  await page.waitForSelector(">>> [data-block]");
  const passed = await tabTo(page, "[data-block]");
  assert.equal(passed[0], "Skip to the content");
  console.log(`    ${passed.length} stops to the first block of seats`);
  await page.keyboard.press("Enter");
  const focused = () => page.$eval(">>> [data-seat]:focus", (seat) => seat.ariaLabel);
  await page.waitForSelector(">>> [data-seat]:focus");
  assert.equal(await focused(), "Row 1 seat 2, free, NT$3,000");
  const table = [
    ["Enter", "Row 1 seat 2, picked by you, NT$3,000"],
    ["n", "Row 1 seat 3, free, NT$3,000"],
    ["Space", "Row 1 seat 3, picked by you, NT$3,000"],
    ["n", "Row 1 seat 5, free, NT$3,000"],
    ["ArrowLeft", "Row 1 seat 4, sold, NT$3,000"],
    ["ArrowDown", "Row 2 seat 4, free, NT$3,000"],
    ["End", "Row 2 seat 10, free, NT$3,000"],
    ["Home", "Row 2 seat 1, free, NT$3,000"],
    ["PageDown", "Row 5 seat 1, free, NT$3,000"],
  ];
  for (const [key, said] of table) {
    await page.keyboard.press(key);
    assert.equal(await focused(), said, key);
  }
  await page.keyboard.press("Escape");
  await page.waitForSelector(">>> [data-block]:focus");
  await tabTo(page, ".order [data-hold]");
  await page.keyboard.press("Enter");
  await shows(page, "Held for you");
  assert.equal(await read(page, ">>> hold-panel .held"), "A-1, row 1, seats 2–3 NT$6,000");
  assert.equal(await page.evaluate(() => document.activeElement.shadowRoot.activeElement.localName), "hold-panel", "the focus is on the hold");
  await tabTo(page, "[data-act=confirm]");
  await page.keyboard.press("Enter");
  await shows(page, "Booking confirmed.");
  assert.equal(await page.evaluate(() => document.activeElement.shadowRoot.activeElement.innerText), "Confirmed", "the focus is on the confirmation's heading");
  await leave(page);
});

test("a day and a time are chosen and held", async () => {
  await here.house.ask("POST", "/v1/schedules", museum("keys"));
  const page = await here.visit("/schedules/keys");
  const day = dateInTaipei(2);
  await page.waitForSelector("[data-date][tabindex='0']");
  await tabTo(page, "[data-date]");
  const from = await page.evaluate(() => document.activeElement.dataset.date);
  for (let left = (Date.parse(day) - Date.parse(from)) / 86_400_000; left > 0; left -= 1) await page.keyboard.press("ArrowRight");
  // It may be in another month, which is read when one comes there.
  await page.waitForSelector(`[data-date="${day}"][data-state="AVAILABLE"]:focus`);
  await page.keyboard.press("Enter");
  await page.waitForSelector(`[data-slot="${day}T13:00"]`);
  await tabTo(page, "[data-act=more]");
  await page.keyboard.press("Enter");
  await tabTo(page, `[data-slot="${day}T13:00"] button`);
  await page.keyboard.press("Enter");
  await shows(page, "Held for you");
  assert.equal(await read(page, "hold-panel .held"), `${day} 13:00 · 2 places NT$500`);
  await tabTo(page, "[data-act=confirm]");
  await page.keyboard.press("Enter");
  await shows(page, "Booking confirmed.");
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Confirmed", "the focus is on the confirmation's heading");
  await leave(page);
});

test("a dialog keeps the focus, Escape closes it, and the button that opened it has the focus again", async () => {
  await here.house.ask("POST", "/v1/events", hall("dialog", 5, 10));
  const booking = await here.house.book({ event: "dialog", best_available: { quantity: 1 } });
  const page = await here.visit(`/bookings/${booking.id}#token=${booking.hold_token}`);
  await page.waitForSelector("[data-act=cancel]");
  await tabTo(page, "[data-act=cancel]");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open] :focus");
  await page.keyboard.press("Escape");
  await page.waitForSelector("[data-act=cancel]:focus");
  await leave(page);
});

test("the desk's tabs go by arrow keys", async () => {
  await here.house.ask("POST", "/v1/events", hall("tabs", 5, 10));
  const page = await here.visit("/desk?event=tabs");
  await page.waitForSelector("[data-tab]");
  await tabTo(page, "[data-tab]");
  for (const [key, tab] of [["ArrowRight", "door"], ["End", "seats"], ["ArrowRight", "sales"], ["ArrowLeft", "seats"]]) {
    await page.keyboard.press(key);
    await page.waitForSelector(`[data-tab=${tab}]:focus[aria-selected=true]`);
    await page.waitForSelector(`#panel-${tab}:not([hidden])`);
  }
  await leave(page);
});
