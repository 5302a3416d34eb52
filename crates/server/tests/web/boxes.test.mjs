// Boxes to pick up, at a price that falls.

import assert from "node:assert/strict";
import test from "node:test";
import { clicked, leave, note, noteClick, noted, press, read, reads, readQr, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";

const LIVE_MS_MAX = 1000;
const here = opened();
const later = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();

async function bakery(id, box, rules = {}) {
  await here.house.ask("POST", "/v1/shops", { id, name: "Bakery", timezone: "Asia/Taipei", currency: "TWD", rules });
  const pickup = { starts_at: later(600), ends_at: later(7200) };
  await here.house.ask("POST", `/v1/shops/${id}/boxes`, { id: "evening", name: "Evening box", quantity: 2, price: 30_000, pickup, ...box });
}

for (const scheme of ["light", "dark"]) {
  test(`a box is held and paid, the others see it at once, and its code can be read (${scheme})`, async () => {
    await bakery(`bakery-${scheme}`, {});
    const open = () => here.visit(`/shops/bakery-${scheme}`, { scheme });
    const [one, other] = [await open(), await open()];
    for (const page of [one, other]) await reads(page, "[data-box=evening] .badge", "Only 2 left");
    await press(one, "[data-box=evening] [data-act=more]");
    await note(other, "[data-box=evening] .badge", /Sold out/);
    await noteClick(one);
    await press(one, "[data-box=evening] [data-act=book]");
    const took = (await noted(other)) - (await clicked(one));
    assert.ok(took <= LIVE_MS_MAX, `${took} ms`);
    assert.equal(await read(one, "hold-panel .held"), "Evening box · 2 boxes NT$600");
    await press(one, "[data-act=confirm]");
    await shows(one, "Booking confirmed.");
    const code = await read(one, "hold-panel .code");
    assert.match(code, /^[2-9A-Z]{6}$/);
    assert.match(await readQr(one, ".hold-place .qr"), new RegExp(`^${here.house.url}/bookings/[0-9a-f-]{36}\\?code=${code}$`));
    await leave(one);
    await leave(other);
  });
}

test("the price falls while one looks, and what was held keeps its price", async () => {
  await bakery("falling", {});
  const page = await here.visit("/shops/falling");
  await reads(page, "[data-box=evening] .price", "NT$300");
  await press(page, "[data-box=evening] [data-act=book]");
  await shows(page, "Held for you");
  // Only now: a slow machine would come too late for the first price.
  await here.house.ask("PATCH", "/v1/shops/falling/boxes/evening", { price_curve: [{ at: later(2), price: 10_000 }] });
  await reads(page, "[data-box=evening] .price", "NT$100");
  await reads(page, "hold-panel .held", "NT$300");
  await leave(page);
});

const GONE = [
  ["sold_out", { quantity: 1 }, "This box is sold out.", "這個品項已售完。"],
  ["closed", { status: "CLOSED" }, "This box is not on sale right now.", "這個品項目前未開放販售。"],
];
for (const [reason, change, english, chinese] of GONE) {
  for (const [language, words] of [["en", english], ["zh-TW", chinese]]) {
    test(`a box that is ${reason} at the press says so (${language})`, async () => {
      const id = `gone-${reason.replace("_", "-")}-${language.toLowerCase()}`;
      await bakery(id, {});
      await here.house.book({ shop: id, box: "evening", quantity: 1 });
      const page = await here.visit(`/shops/${id}`, { language, allow: ["status of 409"] });
      await page.waitForSelector("[data-box=evening] [data-act=book]");
      await page.setRequestInterception(true);
      let changed = false;
      page.on("request", async (request) => {
        if (request.method() === "POST" && !changed) {
          changed = true;
          await here.house.ask("PATCH", `/v1/shops/${id}/boxes/evening`, change);
        }
        await request.continue();
      });
      await press(page, "[data-box=evening] [data-act=book]");
      await page.waitForSelector('[data-refusal="BOX_UNAVAILABLE"]');
      await shows(page, words);
      await leave(page);
    });
  }
}

test("who has one already is told so, and led to it", async () => {
  await bakery("once", {}, { max_active_bookings_per_customer: 1 });
  const page = await here.visit("/shops/once", { allow: ["status of 409"] });
  await press(page, "[data-box=evening] [data-act=book]");
  await press(page, "hold-panel [data-act=confirm]");
  await press(page, "text/Choose again");
  await press(page, "[data-box=evening] [data-act=book]");
  await shows(page, "You already have a booking here.");
  await press(page, "[data-existing]");
  await page.waitForSelector('[data-booking][data-status="confirmed"]');
  await leave(page);
});

test("a booking can be cancelled, after a question, and the other window says so too", async () => {
  await bakery("regret", {});
  const booking = await here.house.book({ shop: "regret", box: "evening", quantity: 1 });
  const address = `/bookings/${booking.id}#token=${booking.hold_token}`;
  const [page, twin] = [await here.visit(address), await here.visit(address)];
  assert.ok(!page.url().includes("token"), "the secret is out of the address");
  await press(page, "[data-act=cancel]");
  await press(page, "[data-act=cancel-no]");
  await press(page, "[data-act=cancel]");
  await press(page, "[data-act=cancel-yes]");
  for (const window of [page, twin]) await window.waitForSelector('[data-booking][data-status="cancelled"]');
  await leave(page);
  await leave(twin);
});
