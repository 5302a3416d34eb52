// The server goes away and comes back: pages say so, and then they go on by themselves.

import test from "node:test";
import { leave, press, reads, shows } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { hold, LEFT, pickOnMap } from "./hall.mjs";
import { dateInTaipei, hall, museum } from "./house.mjs";

const here = opened();
/** What the browser calls a line that breaks depends on when it breaks. */
const BROKEN = ["net::ERR_"];

test("an event, a schedule, a shop, a booking and the desk reconnect, with what was sold meanwhile", async () => {
  const { house } = here;
  const day = dateInTaipei(2);
  await house.ask("POST", "/v1/events", hall("gala", 5, 10));
  await house.ask("POST", "/v1/schedules", museum("museum"));
  await house.ask("POST", "/v1/shops", { id: "bakery", name: "Bakery", timezone: "Asia/Taipei", currency: "TWD" });
  await house.ask("POST", "/v1/shops/bakery/boxes", { id: "evening", name: "Evening box", quantity: 20, price: 30_000 });
  const booking = await house.book({ event: "gala", best_available: { quantity: 1 } });
  const paths = ["/events/gala", `/schedules/museum?date=${day}`, "/shops/bakery", `/bookings/${booking.id}`, "/desk?event=gala"];
  const pages = [];
  for (const path of paths) pages.push(await here.visit(path, { allow: BROKEN }));
  const [event, schedule, shop, ticket, desk] = pages;
  const connection = (state) => pages.map((page) => page.waitForSelector(`>>> [data-connection="${state}"]`));
  await Promise.all(connection("live"));
  await pickOnMap(event, "A-1", ["2-2"]);
  await house.restart(() => Promise.all(connection("reconnecting")));
  await house.book({ event: "gala", best_available: { quantity: 4 } });
  await house.book({ schedule: "museum", slot: `${day}T13:00`, quantity: 2 });
  await house.book({ shop: "bakery", box: "evening", quantity: 5 });
  await house.ask("POST", `/v1/bookings/${booking.id}/redeem`, { redeem_code: booking.redeem_code });
  await reads(event, LEFT, "45 of 50 left");
  await reads(schedule, `[data-slot="${day}T13:00"]`, "4/6 available");
  await reads(shop, "[data-box=evening] .badge", "15 left");
  await ticket.waitForSelector('[data-booking][data-status="redeemed"]');
  await reads(desk, '[data-counter="sold"]', "5");
  await hold(event);
  for (const page of pages) await leave(page);
});

test("a hold that is asked for while the server is away is made once, when it is back", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("patient", 5, 10));
  const page = await here.visit("/events/patient", { allow: BROKEN });
  await pickOnMap(page, "A-1", ["1-1"]);
  await house.restart(async () => {
    await press(page, ">>> .order [data-hold]");
    await shows(page, "Holding…");
  });
  await shows(page, "Held for you");
  await reads(page, LEFT, "49 of 50 left");
  await leave(page);
});

test("a note that the connection is lost goes when the server answers again", async () => {
  const { house } = here;
  await house.ask("POST", "/v1/events", hall("lost", 5, 10));
  const page = await here.visit("/events/lost", { allow: BROKEN });
  await pickOnMap(page, "A-1", ["1-1"]);
  await house.restart(async () => {
    await press(page, ">>> .order [data-hold]");
    await shows(page, 'Connection lost. Check "Your bookings", then try again.');
  });
  await page.waitForFunction(() => document.querySelector("boxoffice-event").shadowRoot.querySelector("[data-note]").hidden);
  await hold(page);
  await leave(page);
});

test("a page that could not be shown shows itself when the server answers again", async () => {
  const page = await here.visit("/", { allow: BROKEN });
  await page.setRequestInterception(true);
  let away = true;
  page.on("request", (request) => (away && request.url().includes("/v1/") ? request.abort("connectionrefused") : request.continue()));
  await page.reload();
  await shows(page, "Connection lost.");
  away = false;
  await page.waitForSelector('[data-event="lost"]');
  await leave(page);
});
