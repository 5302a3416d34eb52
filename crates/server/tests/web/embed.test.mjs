// The picker on somebody else's site: another origin, a public key, and events for the page around it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test, { after } from "node:test";
import { findings, leave, press, reads, shows, visit } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { hold, LEFT, pickOnMap } from "./hall.mjs";
import { hall, openHouseWithKeys } from "./house.mjs";

let site;
const here = opened(async () => {
  const house = await openHouseWithKeys();
  await house.ask("POST", "/v1/events", hall("gala", 5, 10));
  site = createServer((request, response) => {
    const { searchParams } = new URL(request.url, "http://localhost");
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(somebodysPage(house.url, searchParams.get("key"), searchParams.get("more")));
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  return house;
});
after(() => site?.close());

const somebodysPage = (boxoffice, key, more) => `<!doctype html>
  <html lang="en"><head><title>A site</title><link rel="icon" href="data:,"></head>
  <body><main><h1>A site</h1><boxoffice-event id="gala" key="${key}" ${more}></boxoffice-event></main>
  <script>
    window.told = [];
    for (const name of ["boxoffice-loaded", "boxoffice-held", "boxoffice-booking"])
      document.addEventListener(name, ({ detail }) => told.push([name, detail.event?.id ?? detail.booking.status]));
  </script>
  <script type="module" src="${boxoffice}/embed.js"></script></body></html>`;

/** `localhost` is another origin than the house's 127.0.0.1. */
function open({ key = here.house.keys.public, more = "", ...options } = {}) {
  const address = `http://localhost:${site.address().port}/?${new URLSearchParams({ key, more })}`;
  return visit(here.browser, address, { hosts: [new URL(here.house.url).host], ...options });
}

test("a visitor of another site holds seats, and the page around is told", async () => {
  const [page, other] = [await open({ allow: ["status of 403"] }), await open()];
  for (const window of [page, other]) await reads(window, LEFT, "50 of 50 left");
  await pickOnMap(page, "A-1", ["3-3", "3-4"]);
  await hold(page);
  await reads(other, LEFT, "48 of 50 left");
  assert.deepEqual(await page.evaluate(() => globalThis.told), [["boxoffice-loaded", "gala"], ["boxoffice-held", "on_hold"]]);
  await press(page, ">>> [data-act=confirm]");
  const [booking] = (await here.house.ask("GET", "/v1/bookings?event=gala")).items;
  await shows(page, `Pay the seller before the time is up. Quote this booking: ${booking.id}`);
  await here.house.ask("POST", `/v1/bookings/${booking.id}/confirm`, { payment_reference: "pay-1" });
  assert.deepEqual(await findings(page), []);
  await leave(page);
  await leave(other);
});

test("it speaks the language and wears the colours that the site asks for", async () => {
  const page = await open({ more: 'lang="zh-TW" theme="dark"' });
  await shows(page, "自動選最佳連位");
  const dark = await page.$eval("boxoffice-event", (element) => getComputedStyle(element).colorScheme);
  assert.equal(dark, "dark");
  await leave(page);
});

test("without a key that the house knows, it says so and shows nothing", async () => {
  const page = await open({ key: "bo_nobody", allow: ["status of 401"] });
  await shows(page, "Online booking isn't set up yet.");
  assert.equal(await page.$(">>> canvas"), null);
  await leave(page);
});

test("another event can be put into it, and it can leave the page and come back", async () => {
  await here.house.ask("POST", "/v1/events", hall("second", 2, 3, { name: "Second night" }));
  const page = await open();
  await reads(page, LEFT, "of 50 left");
  await page.$eval("boxoffice-event", (element) => (element.id = "second"));
  await reads(page, ">>> .title", "Second night");
  await page.$eval("boxoffice-event", (element) => {
    const { parentElement } = element;
    element.remove();
    parentElement.append(element);
  });
  await reads(page, LEFT, "6 of 6 left");
  await leave(page);
});

test("an event that is cancelled while it is on the site says so, and nothing of it can be held", async () => {
  await here.house.ask("POST", "/v1/events", hall("storm", 5, 10));
  const page = await open();
  await page.$eval("boxoffice-event", (element) => (element.id = "storm"));
  await pickOnMap(page, "A-1", ["1-1"]);
  await here.house.cancel("storm");
  await reads(page, ">>> [data-sales]", "This event was cancelled.");
  assert.equal(await page.$(">>> canvas"), null);
  assert.equal(await page.$(">>> [data-hold]"), null);
  assert.deepEqual(await findings(page), []);
  await leave(page);
});
