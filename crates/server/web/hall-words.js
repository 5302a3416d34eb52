// Seats and places in words.

import { money } from "./format.js";
import { STATE_NAMES } from "./hall.js";
import { t } from "./words.js";

/** @typedef {import("./hall.js").Hall} Hall */

/** "Row 3 seat 7, free, NT$30". @param {import("./hall.js").Seat} seat @param {string} currency @param {{picked: Set<number>, yours: Set<number>}} marks */
export function seatWords(seat, currency, marks) {
  const state = marks.yours.has(seat.index) ? "yours" : marks.picked.has(seat.index) ? "picked" : STATE_NAMES[seat.state] ?? "blocked";
  return t("event.seatLabel", { row: seat.row, seat: seat.col, state: t(`event.state.${state}`), price: money(seat.price, currency) });
}

/** @param {import("./hall.js").Block | import("./hall.js").Area} place @param {string} currency */
export function placeWords(place, currency) {
  return t("event.placeLabel", { name: place.address, left: leftWords(place.free), price: money(place.price, currency) });
}

/** @param {number} free */
export function leftWords(free) {
  return free > 0 ? t("event.left", { n: free }) : t("event.none");
}

/** From the end of the alphabet: sections have the beginning. @param {number} place */
export function offerLetter(place) {
  return String.fromCharCode("X".charCodeAt(0) + place);
}
