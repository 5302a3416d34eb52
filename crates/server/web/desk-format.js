// Times and money the way the desk needs them.

import { dateIn } from "./dates.js";
import { shownZone } from "./format.js";
import { language } from "./words.js";

/** To the second, with the date. @param {string} time RFC 3339 */
export function exactTime(time) {
  return new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "medium", timeZone: shownZone() }).format(new Date(time));
}

/** To the second. @param {string} time RFC 3339 */
export function exactClock(time) {
  return new Intl.DateTimeFormat(language, { timeStyle: "medium", timeZone: shownZone() }).format(new Date(time));
}

/** To the second, with the date unless it is today. @param {number} at */
export function moment(at) {
  const time = new Date(at).toISOString();
  const zone = shownZone() ?? "UTC";
  return dateIn(at, zone) === dateIn(Date.now(), zone) ? exactClock(time) : exactTime(time);
}

/** How many minor units one of this currency has. @param {string} currency */
export function minorUnits(currency) {
  return 10 ** (new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2);
}
