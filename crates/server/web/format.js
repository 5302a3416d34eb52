// Money, times and refusals in the reader's language.

import { Refusal } from "./api.js";
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

/** @param {string} time RFC 3339 @param {string} [timeZone] */
export function dateTime(time, timeZone) {
  return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", timeZone }).format(new Date(time));
}

/** @param {string} time RFC 3339 @param {string} [timeZone] */
export function clock(time, timeZone) {
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
  try {
    return t(`refused.${error.code}`);
  } catch {
    return error.message;
  }
}
