// Pictures of every page of the demo, light and dark, on a desktop and on a phone, for people to look at. Not a test.
//
// BOXOFFICE_BINARY=../../../../target/debug/boxoffice node screenshots.mjs FOLDER [PART OF A NAME]

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DESKTOP, leave, openBrowser, PHONE, press, shows, visit } from "./browser.mjs";
import { pickOnMap } from "./hall.mjs";
import { dateInTaipei, hall, openDemo } from "./house.mjs";

const [folder, only = ""] = process.argv.slice(2);
if (!folder) throw new Error("where to? node screenshots.mjs FOLDER [PART OF A NAME]");
const PICTURE = { width: 1280, height: 800 };
const day = dateInTaipei(1);

/** A name, an address, and what is done there before the picture is taken. */
const PAGES = [
  ["home", () => "/", (page) => shows(page, "Arena")],
  ["event", () => "/events/arena", (page) => page.waitForSelector('>>> [data-connection="live"]')],
  ["event-picked", () => "/events/arena", pickFree],
  ["event-held", () => "/events/arena", async (page) => {
    await press(page, ">>> [data-best] [type=submit]");
    await page.waitForSelector(">>> hold-panel");
    await press(page, ">>> [data-act=extend]");
  }],
  ["schedule", () => `/schedules/museum?date=${day}`, (page) => page.waitForSelector("[data-slot]")],
  ["schedule-held", () => `/schedules/museum?date=${day}`, async (page) => {
    await press(page, '[data-state="AVAILABLE"] button.main, [data-state="LIMITED"] button.main');
    await page.waitForSelector("hold-panel [data-act=confirm]");
  }],
  ["shop", () => "/shops/bakery", (page) => page.waitForSelector("[data-box]")],
  ["booking", async (demo) => `/bookings/${(await demo.book({ event: "arena", best_available: { quantity: 3 } })).id}`, (page) => page.waitForSelector("[data-qr]")],
  ["desk-sales", () => "/desk?event=arena&tab=sales", (page) => page.waitForSelector(".holds [data-hold]")],
  ["desk-door", () => "/desk?event=arena&tab=door", async (page, demo) => {
    const { redeem_code } = await demo.book({ event: "arena", best_available: { quantity: 2 } });
    await page.waitForSelector("[data-code]");
    await page.type("[data-code]", redeem_code);
    await page.keyboard.press("Enter");
    await page.waitForSelector('[data-result="admitted"]');
  }],
  ["desk-bookings", () => "/desk?event=arena&tab=bookings", (page) => page.waitForSelector("[data-found]")],
  ["desk-seats", () => "/desk?event=arena&tab=seats", (page) => page.waitForSelector("[data-seat]")],
  ["desk-schedule", () => "/desk?schedule=museum", (page) => page.waitForSelector("[role=tabpanel]:not([hidden]) .card")],
  ["desk-slots", () => `/desk?schedule=museum&tab=slots&date=${day}`, (page) => page.waitForSelector("[data-slot]")],
  ["desk-shop", () => "/desk?shop=bakery", (page) => page.waitForSelector("[data-box]")],
  ["desk-booking", async (demo) => `/desk?event=arena&tab=bookings&booking=${(await demo.book({ event: "arena", best_available: { quantity: 3 }, contact: { email: "ann@example.com", phone: "+12025551234" }, reference: "order-77" })).id}`, (page) => page.waitForSelector("[data-booking] .trail li")],
  ["desk-seat", () => "/desk?event=arena&tab=seats", async (page) => {
    await press(page, '[data-seat="1-1"]');
    await press(page, "[data-act=history]");
    await page.waitForSelector("[data-seat-now] strong");
  }],
  ["desk-cancel", () => "/desk?event=arena&tab=sales", async (page) => {
    await page.waitForSelector(".holds [data-hold]");
    await page.type("[data-reason]", "storm");
    await press(page, "[data-cancel-event] [type=submit]");
    await page.waitForSelector("dialog[open]");
  }],
  ["docs", () => "/docs", (page) => page.waitForSelector("h2")],
  ["cancelled-event", cancelled("/events/storm"), (page) => page.waitForSelector(">>> [data-sales]:not([hidden])")],
  ["cancelled-booking", async (demo) => `/bookings/${await cancelled("")(demo)}`, (page) => page.waitForSelector("[data-booking]")],
  ["cancelled-desk", cancelled("/desk?event=storm"), (page) => page.waitForSelector("[data-standing]:not([hidden])")],
  ["cancelled-home", cancelled("/"), (page) => shows(page, "Storm")],
];
/** The booking that was cancelled with its event. */
let lost = null;

/** An address, or the booking's id, once an event was cancelled with a booking. */
function cancelled(address) {
  return async (demo) => {
    if (lost === null) {
      await demo.ask("POST", "/v1/events", hall("storm", 8, 12, { name: "Storm", starts_at: "2029-12-24T11:30:00.000Z", timezone: "Asia/Taipei" }));
      lost = (await demo.book({ event: "storm", best_available: { quantity: 2 } })).id;
      await demo.cancel("storm");
    }
    return address || lost;
  };
}

/** Four seats in the middle of the first row that is free there. */
async function pickFree(page, demo) {
  const { seats } = await demo.ask("GET", "/v1/events/arena/seats?section=Lower-3");
  const row = 1 + seats.findIndex((states) => states.slice(12, 16) === "....");
  await pickOnMap(page, "Lower-3", [13, 14, 15, 16].map((col) => `${row}-${col}`));
  await page.mouse.move(0, 0);
}

await mkdir(folder, { recursive: true });
const [demo, browser] = await Promise.all([openDemo(), openBrowser()]);
try {
  for (const [name, address, ready] of PAGES.filter(([known]) => known.includes(only))) {
    for (const [size, viewport] of [["desktop", DESKTOP], ["phone", PHONE]]) {
      for (const [scheme, language] of [["light", "en"], ["dark", size === "phone" ? "zh-TW" : "en"]]) {
        const page = await visit(browser, demo.url + (await address(demo)), { viewport, scheme, language });
        await ready(page, demo);
        // What is drawn by frames or filled in by requests comes to rest.
        await page.waitForNetworkIdle({ idleTime: 300, concurrency: 2 });
        await page.evaluate(() => scrollTo(0, 0));
        await page.screenshot({ path: join(folder, `${name}-${size}-${scheme}.png`), fullPage: name !== "docs" });
        await leave(page);
      }
    }
  }
  if ("picture".includes(only)) {
    const page = await visit(browser, `${demo.url}/events/arena`, { viewport: PICTURE });
    await pickFree(page, demo);
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: join(folder, "picture.png") });
    await leave(page);
  }
} finally {
  await browser.close();
  await demo.close();
}
