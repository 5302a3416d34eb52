// Calendar dates as the API writes them: "2026-12-01", months "2026-12". No time, no zone.

const DAY_MS = 86_400_000;

/** @param {string} date */
const midnight = (date) => Date.parse(`${date}T00:00:00Z`);
/** @param {number} time */
const dateOf = (time) => new Date(time).toISOString().slice(0, 10);

/** @param {string} date @param {number} days */
export function addDays(date, days) {
  return dateOf(midnight(date) + days * DAY_MS);
}

/** @param {string} month @param {number} months */
export function addMonths(month, months) {
  const [year, number] = /** @type {[number, number]} */ (month.split("-").map(Number));
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 7);
}

/** @param {string} date */
export function monthOf(date) {
  return date.slice(0, 7);
}

/** @param {string} month */
export function firstDayOf(month) {
  return `${month}-01`;
}

/** @param {string} month */
export function lastDayOf(month) {
  return addDays(firstDayOf(addMonths(month, 1)), -1);
}

/** 1 is Monday, 7 Sunday. @param {string} date */
export function weekdayOf(date) {
  return new Date(midnight(date)).getUTCDay() || 7;
}

/** The day a week begins with where this reader lives. */
export function firstWeekday() {
  const locale = /** @type {any} */ (new Intl.Locale(navigator.language));
  return (locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay ?? 1;
}

/** The date it is in a zone. @param {number} time @param {string} timeZone */
export function dateIn(time, timeZone) {
  // Swedes write dates as the API does.
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(time);
}

/** Whether clocks there and here show the same. @param {string} timeZone @param {number} time */
export function sameClock(timeZone, time) {
  const shown = (/** @type {string | undefined} */ zone) =>
    new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" }).format(time);
  return shown(timeZone) === shown(undefined);
}

/** How far clocks there are ahead of UTC, in milliseconds. @param {string | undefined} timeZone @param {number} time */
export function aheadOfUtc(timeZone, time) {
  const shown = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" }).format(time);
  return Date.parse(`${shown.replace(" ", "T")}Z`) - Math.floor(time / 1000) * 1000;
}

/** What people there call their time: "Taipei Standard Time". @param {string} timeZone @param {number} time @param {string} language */
export function zoneName(timeZone, time, language) {
  const parts = new Intl.DateTimeFormat(language, { timeZone, timeZoneName: "long" }).formatToParts(time);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? timeZone;
}
