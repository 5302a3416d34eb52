// Money, times and refusals in the reader's language.

import { Refusal } from "./api.js";
import { dateIn, sameClock, zoneName } from "./dates.js";
import { language, t } from "./words.js";

/** @param {number} minor @param {string} currency in minor units @returns {string} */
export function money(minor, currency) {
  if (minor === 0) return t("free");
  return exactMoney(minor, currency);
}

/** Zero is a number here. @param {number} minor @param {string} currency @returns {string} */
export function exactMoney(minor, currency) {
  const format = new Intl.NumberFormat(language, { style: "currency", currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  const whole = minor % 10 ** digits === 0;
  const shown = whole ? new Intl.NumberFormat(language, { style: "currency", currency, maximumFractionDigits: 0 }) : format;
  return shown.format(minor / 10 ** digits);
}

/** @param {number} count */
export function number(count) {
  return count.toLocaleString(language);
}

/** What times are shown in where no zone is given: the reader's own, until a page is about one place. @type {string | undefined} */
let placeZone;

/** @param {string} timeZone */
export function showTimesIn(timeZone) {
  placeZone = timeZone;
}

/** @returns {string | undefined} */
export function shownZone() {
  return placeZone;
}

/** "Dec 24, 2026, 7:30 PM (Taipei Standard Time)". @param {string} time RFC 3339 @param {string} timeZone */
export function dateTimeThere(time, timeZone) {
  return t("timeInZone", { time: dateTime(time, timeZone), zone: zoneName(timeZone, Date.parse(time), language) });
}

/** The zone's name, and what the reader's own clock shows then if it is another time. @param {string} timeZone @param {string} time RFC 3339 */
export function zoneWords(timeZone, time) {
  const at = Date.parse(time);
  const zone = zoneName(timeZone, at, language);
  if (sameClock(timeZone, at)) return zone;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const sameDay = day(dateIn(at, timeZone)) === day(dateIn(at, own));
  return t("zoneAndHere", { zone, here: sameDay ? clock(time, own) : dateTime(time, own) });
}

/** @param {string} time RFC 3339 @param {string} [timeZone] */
export function dateTime(time, timeZone = placeZone) {
  return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", timeZone }).format(new Date(time));
}

/** @param {string} time RFC 3339 @param {string} [timeZone] */
export function clock(time, timeZone = placeZone) {
  return new Intl.DateTimeFormat(language, { timeStyle: "short", timeZone }).format(new Date(time));
}

/** A calendar date without a time. @param {string} date "2026-12-01" @param {Intl.DateTimeFormatOptions} [how] */
export function day(date, how = { dateStyle: "full" }) {
  return new Intl.DateTimeFormat(language, { ...how, timeZone: "UTC" }).format(new Date(`${date}T00:00:00Z`));
}

/** "4:05", "1:00:00". @param {number} milliseconds */
export function countdown(milliseconds) {
  const all = Math.max(0, Math.ceil(milliseconds / 1000));
  const [hours, minutes, seconds] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

/**
 * A sentence for whatever went wrong. A page that knows more of a code asks for it first.
 *
 * @param {unknown} error @returns {string}
 */
export function whyNot(error) {
  if (!(error instanceof Refusal)) return t("unreachable");
  if (error.code === "OVERLOADED" || error.code === "UNAVAILABLE") return t("tooBusy");
  const reason = error.problem["reason"];
  for (const key of [...(typeof reason === "string" ? [`${error.code}.${reason}`] : []), error.code]) {
    try {
      return t(`refused.${key}`);
    } catch {
      // This page has no words for it.
    }
  }
  return error.message;
}
