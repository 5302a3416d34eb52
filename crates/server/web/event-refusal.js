// A refused booking of an event in words, with what can be done instead.

import { Refusal } from "./api.js";
import { money, whyNot } from "./format.js";
import { offerLetter } from "./hall-words.js";
import { seatListWords } from "./seat-words.js";
import { t } from "./words.js";

/** @typedef {{seats: {section: string, seat: string}[], adjacent: boolean, total_price: number}} Alternative */
/**
 * @typedef {{
 *   words: string,
 *   conflicts: {section: string, seat: string}[],
 *   alternatives: Alternative[],
 *   apart: boolean,
 *   anywhere: boolean,
 *   booking: string | null,
 *   reload: boolean,
 * }} Explained `apart`, `anywhere`: asking for that instead may help. `reload`: the event is not what it was.
 */

/** @param {unknown} error @param {{quantity: number, section: string | null}} asked @returns {Explained} */
export function explain(error, asked) {
  /** @type {Explained} */
  const nothing = { words: whyNot(error), conflicts: [], alternatives: [], apart: false, anywhere: false, booking: null, reload: false };
  if (!(error instanceof Refusal)) return nothing;
  const { problem } = error;
  const alternatives = /** @type {Alternative[]} */ (problem["alternatives"] ?? []);
  const elsewhere = asked.section !== null;
  switch (error.code) {
    case "SEAT_UNAVAILABLE": {
      const conflicts = problem["conflicts"] ?? [];
      const gone = t("event.conflict", { what: seatListWords(conflicts) });
      return { ...nothing, words: `${gone} ${t(alternatives.length > 0 ? "event.offers" : "event.noOffers")}`, conflicts, alternatives };
    }
    case "ORPHAN_SEAT":
      return { ...nothing, words: t("event.orphan"), alternatives };
    case "NOT_ENOUGH_SEATS":
      return { ...nothing, words: t("event.notEnough", { n: asked.quantity }), anywhere: elsewhere };
    case "NOT_ADJACENT":
      return { ...nothing, words: t("event.notAdjacent", { n: asked.quantity }), apart: true, anywhere: elsewhere };
    case "ACTIVE_RESERVATION_EXISTS":
    case "CUSTOMER_LIMIT_REACHED": {
      const { booking } = problem;
      return { ...nothing, booking: typeof booking === "string" ? booking : booking?.id ?? null };
    }
    case "SALES_NOT_OPEN":
    case "SALES_CLOSED":
    case "INVENTORY_CLOSED":
      return { ...nothing, reload: true };
    default:
      return nothing;
  }
}

/** @param {Alternative} alternative @param {number} place its number among the others @param {string} currency */
export function alternativeWords({ seats, adjacent, total_price }, place, currency) {
  const what = [seatListWords(seats), money(total_price, currency), !adjacent && seats.length > 1 && t("event.notTogether")].filter(Boolean).join(" · ");
  return t("event.offer", { letter: offerLetter(place), what });
}
