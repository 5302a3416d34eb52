// Choosing a day and a time, with others doing the same, and moving to another.

import assert from "node:assert/strict";
import test from "node:test";
import { clicked, fill, leave, note, noteClick, noted, press, read, reads, readQr, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { dateInTaipei, museum } from "./house.mjs";

const LIVE_MS_MAX = 1000;
const here = opened();
const day = dateInTaipei(2);
const [morning, afternoon] = [`${day}T09:00`, `${day}T13:00`];
const slot = (id, part = "") => `[data-slot="${id}"] ${part}`;

test("two book the same time: it turns red for the other at once, and one of them moves to another", async () => {
  await here.house.ask("POST", "/v1/schedules", museum("full"));
  const open = () => here.visit(`/schedules/full?date=${day}`);
  const [one, other] = [await open(), await open()];
  for (const page of [one, other]) await reads(page, slot(morning, ".badge"), "2/2 available");

  await press(one, ".how-many [data-act=more]");
  await reads(one, slot(morning, "button"), "NT$400");
  await note(other, slot(morning), /Full/);
  await noteClick(one);
  await press(one, slot(morning, "button"));
  const took = (await noted(other)) - (await clicked(one));
  console.log(`    the other visitor saw it full ${took} ms after the click`);
  assert.ok(took <= LIVE_MS_MAX, `${took} ms`);
  assert.ok(await other.$(slot(morning, ".badge.bad")), "it is red");
  assert.equal(await other.$eval(slot(morning), (card) => card.dataset.state), "FULL");
  assert.equal(await other.$eval(slot(morning, "button"), (button) => button.ariaDisabled), "true");

  await press(one, "[data-hold] [data-act=confirm]");
  await press(one, "text/Open the booking");
  await one.waitForSelector('[data-booking][data-status="confirmed"]');
  const code = await read(one, "[data-code]");
  assert.match(await readQr(one, "[data-qr]"), new RegExp(`^${here.house.url}/bookings/[0-9a-f-]{36}\\?code=${code}$`));

  await press(one, "[data-act=move]");
  // The name of the museum is on the page before, too.
  await one.waitForSelector("[data-moving]");
  await reads(one, slot(afternoon, "button"), "+NT$100");
  await press(one, slot(afternoon, "button"));
  await one.waitForSelector("[data-booking]");
  await reads(one, "[data-note]", `Moved: ${day} 09:00 → ${day} 13:00. Price difference: +NT$100.`);
  await reads(other, slot(morning, ".badge"), "2/2 available");
  await reads(other, slot(afternoon, ".badge"), "4/6 available");
  await leave(one);
  await leave(other);
});

test("a time and a day with at most half of their places left say so in words", async () => {
  await here.house.ask("POST", "/v1/schedules", museum("limited"));
  await here.house.book({ schedule: "limited", slot: morning, quantity: 2 });
  await here.house.book({ schedule: "limited", slot: afternoon, quantity: 3 });
  const page = await here.visit(`/schedules/limited?date=${day}`);
  await reads(page, slot(afternoon, ".badge"), "Limited · 3/6 available");
  assert.match(await page.$eval(`[data-date="${day}"] .unseen`, (said) => said.textContent), /limited, 3 of 8 places left$/);
  await leave(page);
});

test("a time that fills up while one presses is refused with others, and one of them can be had", async () => {
  await here.house.ask("POST", "/v1/schedules", museum("race"));
  const page = await here.visit(`/schedules/race?date=${day}`, { allow: ["status of 409"] });
  await page.waitForSelector(slot(morning));
  await page.setRequestInterception(true);
  let taken = null;
  page.on("request", async (request) => {
    if (request.method() === "POST" && !taken) taken = await here.house.book({ schedule: "race", slot: morning, quantity: 2 });
    await request.continue();
  });
  await press(page, slot(morning, "button"));
  await page.waitForSelector('[data-refusal="SLOT_FULL"]');
  const offered = await page.$$eval("[data-alternative]", (buttons) => buttons.map((button) => button.dataset.alternative));
  assert.ok(offered.includes(afternoon), offered.join(", "));
  await press(page, `[data-alternative="${afternoon}"]`);
  await shows(page, "Held for you");
  assert.equal(await read(page, "hold-panel .held"), `${day} 13:00 · 1 place NT$250`);
  await leave(page);
});

test("registered tickets: an unknown one is refused by name, a known one books", async () => {
  await here.house.ask("POST", "/v1/schedules", museum("tickets", { rules: { tickets: "registered" } }));
  await here.house.ask("PUT", "/v1/schedules/tickets/tickets", { tickets: [{ id: "T-1", status: "active" }] });
  const page = await here.visit(`/schedules/tickets?date=${day}`, { allow: ["status of 409"] });
  await page.waitForSelector(slot(morning));
  const table = [
    ["", "TICKETS"],
    ["T-9", "TICKET_NOT_FOUND"],
  ];
  for (const [typed, refusal] of table) {
    await fill(page, "#tickets", typed);
    await press(page, slot(morning, "button"));
    await page.waitForSelector(`[data-refusal="${refusal}"]`);
  }
  await shows(page, "T-9");
  await fill(page, "#tickets", "T-1");
  await press(page, slot(morning, "button"));
  await shows(page, "Held for you");
  await leave(page);
});

test("the calendar tells days apart in words, and the arrow keys walk through them", async () => {
  await here.house.ask("POST", "/v1/schedules", museum("calendar", { closed_dates: [dateInTaipei(4)] }));
  for (const id of [morning, afternoon]) await here.house.book({ schedule: "calendar", slot: id, quantity: id === morning ? 2 : 6 });
  const page = await here.visit(`/schedules/calendar?date=${day}`);
  const table = [
    [2, "full"],
    [3, "8 of 8 places left"],
    [4, "nothing to book"],
  ];
  await page.waitForSelector(`[data-date="${day}"][data-state="FULL"]`);
  await page.focus(`[data-date="${day}"]`);
  for (const [days, words] of table) {
    // Another month is read when one comes there.
    const focused = await page.waitForSelector(`[data-date="${dateInTaipei(days)}"]:focus:not([data-state="UNKNOWN"])`);
    const said = await focused.evaluate((button) => button.innerText.toLowerCase());
    assert.ok(said.includes(words), said);
    await page.keyboard.press("ArrowRight");
  }
  await page.waitForSelector(`[data-date="${dateInTaipei(5)}"]:focus:not([data-state="UNKNOWN"])`);
  await page.keyboard.press("Enter");
  await page.waitForSelector(slot(`${dateInTaipei(5)}T09:00`));
  await leave(page);
});
