// What a box costs and is at a moment: between two messages of the stream the time changes both.

/** @typedef {import("./types.d.ts").Box} Box */
/** @typedef {{at: string, price: number}} Step */

/** The box as the server would show it then. @param {Box} box @param {number} time @returns {Box} */
export function boxAt(box, time) {
  const reached = box.price_curve.filter((step) => Date.parse(step.at) <= time);
  const price = reached.at(-1)?.price ?? box.price;
  const next_price = box.price_curve[reached.length] ?? null;
  const over = box.pickup !== null && Date.parse(box.pickup.ends_at) <= time;
  return { ...box, price, next_price, status: over && box.status !== "CLOSED" ? "ENDED" : box.status };
}

/** Now and all that is to come. @param {Box} box as it is now @returns {{at: string | null, price: number}[]} */
export function stepsToCome(box) {
  const next = box.next_price;
  const coming = next === null ? [] : box.price_curve.slice(box.price_curve.findIndex((step) => step.at === next.at));
  return [{ at: null, price: box.price }, ...coming];
}
