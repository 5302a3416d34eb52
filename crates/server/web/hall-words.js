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

/** "A-1, row 3, seats 7–9", a part for each row. @param {{section: string, seat: string}[]} seats */
export function seatListWords(seats) {
  /** @type {Map<string, {section: string, row: string, numbers: number[]}>} */
  const rows = new Map();
  for (const { section, seat } of seats) {
    const [row = "", number = ""] = seat.split("-");
    const line = rows.get(`${section} ${row}`) ?? { section, row, numbers: [] };
    line.numbers.push(Number(number));
    rows.set(`${section} ${row}`, line);
  }
  return [...rows.values()].map(({ section, row, numbers }) => t("event.rowSeats", { section, row, seats: ranges(numbers), n: numbers.length })).join("; ");
}

/** "5–7, 9". @param {number[]} numbers in order */
function ranges(numbers) {
  /** @type {[number, number][]} */
  const runs = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, end]) => (first === end ? `${first}` : `${first}–${end}`)).join(", ");
}

/** From the end of the alphabet: sections have the beginning. @param {number} place */
export function offerLetter(place) {
  return String.fromCharCode("X".charCodeAt(0) + place);
}
