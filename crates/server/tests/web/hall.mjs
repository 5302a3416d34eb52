// What visitors of an event's page do.

import { press, shows } from "./browser.mjs";

/** Waits until every seat is on the map as it is; before that a tap finds only blocks. */
export function drawn(page) {
  return page.waitForFunction(() => performance.getEntriesByName("boxoffice-first-map").length > 0);
}

/** Opens a block of seats from the list: the map goes there, and its first free seat has the focus. */
export async function openBlock(page, block) {
  await press(page, `>>> [data-block="${block}"]`);
  const seat = await page.waitForSelector(">>> [data-seat]:focus");
  // It is moved to its place with the next picture of the map.
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  return seat;
}

/** Picks seats of a block with the mouse or a finger, where they are on the map. */
export async function pickOnMap(page, block, seats) {
  const frame = await openBlock(page, block);
  const name = (seat) => seat.split("-").map(Number);
  const [row, col] = name(await frame.evaluate((cell) => cell.dataset.seat));
  const { x, y, width } = await frame.boundingBox();
  for (const [toRow, toCol] of seats.map(name)) {
    const place = [x + width / 2 + (toCol - col) * width, y + width / 2 + (toRow - row) * width];
    await (page.viewport().hasTouch ? page.touchscreen.tap(...place) : page.mouse.click(...place));
  }
}

/** Holds what is picked. */
export async function hold(page) {
  await press(page, ">>> .order [data-hold]");
  await shows(page, "Held for you");
}

/** What the page says that is left in the whole hall. */
export const LEFT = ">>> header .badge";
