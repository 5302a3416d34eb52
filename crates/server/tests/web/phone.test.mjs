// The pages on a phone: fingers, a narrow screen, and nothing that hangs over its edge.

import assert from "node:assert/strict";
import test from "node:test";
import { leave, PHONE, press, read, reads, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { drawn, pickOnMap } from "./hall.mjs";
import { dateInTaipei, hall, museum } from "./house.mjs";

/** A finger is about this wide. */
const TOUCH_PIXELS_MIN = 44;
const here = opened();
const day = dateInTaipei(2);

const fill = async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("gala", 8, 10, { areas: [{ name: "Standing", price: 90_000, capacity: 30 }] }));
  await house.ask("POST", "/v1/schedules", museum("museum"));
  await house.ask("POST", "/v1/shops", { id: "bakery", name: "Bakery", timezone: "Asia/Taipei", currency: "TWD" });
  await house.ask("POST", "/v1/shops/bakery/boxes", { id: "evening", name: "Evening box", quantity: 20, price: 30_000 });
  return house.book({ event: "gala", seats: [{ section: "A-1", ids: ["8-1"] }], contact: { email: "a-rather-long-name@a-rather-long-host.example.com" }, reference: "order-77" });
};

test("seats are picked with a finger, held and paid", async () => {
  await fill();
  const page = await here.visit("/events/gala", { viewport: PHONE });
  await pickOnMap(page, "A-1", ["2-3", "2-4", "2-5"]);
  await reads(page, ">>> .order", "Hold 3 for NT$9,000");
  // A second tap gives it back.
  await pickOnMap(page, "A-1", ["2-5"]);
  await reads(page, ">>> .order", "Hold 2 for NT$6,000");
  await press(page, ">>> .order [data-hold]");
  await shows(page, "Held for you");
  assert.equal(await read(page, ">>> hold-panel .held"), "A-1, row 2, seats 3–4 NT$6,000");
  await press(page, ">>> [data-act=confirm]");
  await shows(page, "Booking confirmed.");
  await leave(page);
});

test("a tap on seats too small for a finger goes nearer, and the next tap picks", async () => {
  await here.house.ask("POST", "/v1/events", hall("wide", 12, 24));
  const page = await here.visit("/events/wide", { viewport: PHONE });
  await drawn(page);
  const { x, y, width, height } = await (await page.waitForSelector(">>> canvas")).boundingBox();
  const tap = () => page.touchscreen.tap(x + width / 2, y + height / 2);
  await tap();
  await page.waitForSelector(">>> canvas.near");
  assert.equal(await read(page, ">>> .order [data-hold]"), "Hold");
  await tap();
  await reads(page, ">>> .order [data-hold]", "Hold 1 for NT$3,000");
  await leave(page);
});

test("a tapped section opens at its best free seats, with the names of the rows and the way to the stage", async () => {
  await here.house.ask("POST", "/v1/events", hall("corner", 20, 40, { rules: { max_units_per_booking: 300 } }));
  const row = (number, from, to) => Array.from({ length: to - from + 1 }, (_, index) => `${number}-${from + index}`);
  const sold = [row(1, 1, 40), row(2, 1, 20), row(2, 22, 40), row(3, 1, 24), ...[15, 16, 17, 18, 19, 20].map((number) => row(number, 21, 40))].flat();
  await here.house.book({ event: "corner", seats: [{ section: "A-1", ids: sold }] });
  const page = await here.visit("/", { viewport: PHONE });
  await page.evaluateOnNewDocument(watchText);
  await page.goto(`${here.house.url}/events/corner`);
  await drawn(page);
  const { x, y, width, height } = await (await page.waitForSelector(">>> canvas")).boundingBox();
  // Where the section's sold corner is on the map.
  await page.touchscreen.tap(x + width * 0.75, y + height * 0.6);
  await page.waitForSelector(">>> canvas.near");
  // The picture follows with the next frame.
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const texts = await page.evaluate(() => globalThis.texts);
  const inSight = (text, right = width) => texts.find((other) => other.text === text && other.x >= 0 && other.x <= right && other.y >= 0 && other.y <= height);
  assert.ok(inSight("STAGE"), "the way to the stage");
  const name = inSight("3", 30);
  assert.ok(name, "the name of row 3 at the left edge");
  const free = texts.filter((other) => Math.abs(other.y - name.y) < 3 && other.x > 30 && other.x <= width).map(({ text }) => text);
  assert.deepEqual(free.slice(0, 3), ["25", "26", "27"], "the first free seats of row 3 are in sight");
  await leave(page);
});

/** In the page: from now on `texts` is what the last picture of the map says, and where. */
function watchText() {
  globalThis.texts = [];
  const { fillRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillRect = function (...place) {
    if (place[2] === this.canvas.width) globalThis.texts = [];
    return fillRect.apply(this, place);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const at = this.getTransform().transformPoint({ x, y });
    globalThis.texts.push({ text, x: at.x / devicePixelRatio, y: at.y / devicePixelRatio });
    return fillText.call(this, text, x, y);
  };
}

test("two fingers zoom the map, one moves it, and neither picks a seat", async () => {
  const page = await here.visit("/events/gala", { viewport: PHONE });
  await drawn(page);
  const canvas = await page.waitForSelector(">>> canvas");
  const { x, y, width, height } = await canvas.boundingBox();
  const [middle, centre] = [x + width / 2, y + height / 2];
  const before = await page.$eval("boxoffice-event", (element) => element.framesDrawn);
  const [left, right] = [await page.touchscreen.touchStart(middle - 20, centre), await page.touchscreen.touchStart(middle + 20, centre)];
  for (const apart of [60, 100, 140]) {
    await left.move(middle - apart, centre);
    await right.move(middle + apart, centre);
  }
  await left.end();
  await right.end();
  await page.waitForFunction(() => document.querySelector("boxoffice-event").shadowRoot.querySelector("canvas").classList.contains("near"));
  const finger = await page.touchscreen.touchStart(middle, centre);
  for (const far of [20, 40, 60]) await finger.move(middle + far, centre);
  await finger.end();
  await page.waitForFunction((seen) => document.querySelector("boxoffice-event").framesDrawn > seen, {}, before);
  assert.equal(await read(page, ">>> .order [data-hold]"), "Hold");
  await leave(page);
});

test("a place in a slot and a box are booked with a finger", async () => {
  for (const [path, button] of [[`/schedules/museum?date=${day}`, `[data-slot="${day}T13:00"] button`], ["/shops/bakery", "[data-box=evening] [data-act=book]"]]) {
    const page = await here.visit(path, { viewport: PHONE });
    await press(page, button);
    await shows(page, "Held for you");
    await press(page, "[data-act=confirm]");
    await shows(page, "Booking confirmed.");
    await leave(page);
  }
});

test("no page is wider than the screen, its header is one line, and its buttons are wide enough for a finger", async () => {
  const { items } = await here.house.ask("GET", "/v1/bookings?event=gala");
  const [booking, reachable] = [items[0], items.find(({ contact }) => contact !== null)];
  // The desk has a hold to show.
  await here.house.ask("POST", "/v1/bookings", { customer: "guest", event: "gala", best_available: { quantity: 1 } });
  const table = [
    ["/", "text/Summer Gala"],
    ["/events/gala", ">>> [data-block]"],
    [`/schedules/museum?date=${day}`, "[data-slot]"],
    ["/shops/bakery", "[data-box]"],
    [`/bookings/${booking.id}`, "[data-booking]"],
    ["/desk?event=gala&tab=sales", "[data-hold]"],
    ["/desk?event=gala&tab=door", "[data-code]"],
    ["/desk?event=gala&tab=bookings", "[data-found]"],
    [`/desk?event=gala&tab=bookings&booking=${reachable.id}`, ".copy-row button"],
    ["/desk?event=gala&tab=seats", "[data-seat]"],
    [`/desk?schedule=museum&tab=slots&date=${day}`, "[data-slot]"],
    ["/docs", "h2"],
  ];
  for (const language of ["en", "zh-TW"]) {
    const page = await here.visit("/", { viewport: PHONE, language });
    for (const [path, ready] of table) {
      await page.goto(here.house.url + path);
      await page.waitForSelector(ready, { visible: true });
      const { wide, header, small } = await page.evaluate(measured, TOUCH_PIXELS_MIN);
      assert.equal(wide, 0, `${path} is ${wide} pixels too wide`);
      assert.ok(header < 64, `the header of ${path} is ${header} pixels high`);
      // The seats of a hall are as many as they are.
      assert.deepEqual(path.includes("tab=seats") ? [] : small, [], path);
    }
    await leave(page);
  }
});

/** In the page. */
function measured(least) {
  const all = (root) => [...root.querySelectorAll("*")].flatMap((element) => [element, ...(element.shadowRoot ? all(element.shadowRoot) : [])]);
  const buttons = all(document).filter((element) => element.matches("button, .button, select, input:not([type=checkbox])") && element.checkVisibility());
  return {
    wide: document.documentElement.scrollWidth - innerWidth,
    header: document.querySelector("page-header")?.getBoundingClientRect().height ?? 0,
    small: buttons.filter((button) => button.getBoundingClientRect().height < least).map((button) => button.outerHTML.slice(0, 90)),
  };
}
