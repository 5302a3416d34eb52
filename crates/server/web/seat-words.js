// Seats in words: those of one row together.

import { t } from "./words.js";

/** "A-1, row 3, seats 7–9", an entry for each row. @param {{section: string, seat: string, price?: number}[]} seats @returns {{what: string, price: number}[]} */
export function seatRows(seats) {
  /** @type {Map<string, {section: string, row: string, numbers: number[], price: number}>} */
  const rows = new Map();
  for (const { section, seat, price = 0 } of seats) {
    const [row = "", number = ""] = seat.split("-");
    const line = rows.get(`${section} ${row}`) ?? { section, row, numbers: [], price: 0 };
    line.numbers.push(Number(number));
    line.price += price;
    rows.set(`${section} ${row}`, line);
  }
  return [...rows.values()].map(({ section, row, numbers, price }) =>
    ({ what: t("seats", { section, row, seats: ranges(numbers), n: numbers.length }), price }));
}

/** @param {{section: string, seat: string}[]} seats */
export function seatListWords(seats) {
  return seatRows(seats).map(({ what }) => what).join("; ");
}

/** "5–7, 9". @param {number[]} numbers */
function ranges(numbers) {
  /** @type {[number, number][]} */
  const runs = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, end]) => (first === end ? `${first}` : `${first}–${end}`)).join(", ");
}
