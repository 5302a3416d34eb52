// Committed changes in words, for the trail of a booking and the story of a seat.

import { lines } from "./hold.js";
import { t } from "./words.js";
import { exactClock } from "./desk-format.js";

/** Changes that have nothing more to say. */
const PLAIN = ["redeemed", "expired", "seats_blocked", "seats_unblocked", "contact_forgotten"];

/** What a booking has. @param {import("./types.d.ts").Booking} booking @returns {string[]} */
export function brief(booking) {
  return lines(booking).map((line) => line.what);
}

/** @param {any} units what was taken, in the journal's shape */
export function unitWords(units) {
  if (!units) return "";
  const seats = (units.seats ?? []).map((/** @type {any} */ seat) => `${seat.section} ${seat.seat}`);
  const areas = (units.areas ?? []).map((/** @type {any} */ area) => `${area.name} × ${area.quantity}`);
  const counted = units.slot ? [`${units.slot.replace("T", " ")} × ${units.quantity}`] : units.box ? [`${units.box} × ${units.quantity}`] : [];
  return [...seats, ...areas, ...counted].join(", ");
}

/** @param {string} type as in the journal @param {any} data */
export function deedWords(type, data) {
  if (type === "booked") {
    const units = unitWords(data.units);
    const words = data.expires_at === null
      ? t("deed.sold", { customer: data.customer })
      : t("deed.held", { customer: data.customer, time: exactClock(data.expires_at) });
    return units === "" ? words : `${words}: ${units}`;
  }
  if (type === "confirmed" || type === "confirmed_late") {
    const words = t(type === "confirmed" ? "deed.confirmed" : "deed.confirmed_late");
    return data.payment_reference ? `${words} (${data.payment_reference})` : words;
  }
  if (type === "extended") return t("deed.extended", { time: exactClock(data.expires_at) });
  if (type === "cancelled") return data.reason ? t("deed.cancelledFor", { reason: data.reason }) : t("deed.cancelled");
  if (type === "moved") return t("deed.moved", { from: unitWords(data.from), to: unitWords(data.to) });
  if (type === "redeemed" && data.forced) return t("deed.redeemed.forced");
  if (type === "redeemed_in_part") return `${t("deed.redeemed_in_part")}: ${unitWords(data.units)}`;
  if (type === "unredeemed") return `${t("deed.unredeemed")} (${data.reason})`;
  if (type === "contact_shared") return t("deed.contact_shared", { webhook: data.webhook });
  return PLAIN.includes(type) ? t(`deed.${type}`) : type;
}
