// How sales went: what was sold when, how fast it sells, and when nothing will be left.

import { now as serverNow } from "./server-clock.js";
import { eachBooking } from "./desk-bookings.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./desk-live.js").Inventory} Inventory */
/** @typedef {[number, number]} Point a time in milliseconds, and how much was sold by then */

/** 10,000 bookings: more than that is older than anyone watching a sale asks for. */
const PAGES_MAX = 20;
const POINTS_MAX = 40_000;
const LIVE_STEP_MS = 1000;
const RATE_WINDOW_MS = 5 * 60_000;
const RATE_WINDOW_MS_MIN = 20_000;

export class Sales {
  /** By time. @type {Point[]} */
  points = [];
  /** Whether the first sale is among them. */
  complete = false;

  /**
   * Sales that still stand, by when they were confirmed. What is sold at the first point and was not read stands below them.
   *
   * @param {Api} api @param {Inventory} inventory @param {number} soldNow @param {AbortSignal} signal
   */
  async readPast(api, inventory, soldNow, signal) {
    const now = serverNow();
    /** @type {Point[]} */
    const made = [];
    let complete = true;
    for (const status of ["confirmed", "redeemed"]) {
      const ended = await eachBooking(api, inventory, { status, pagesMax: PAGES_MAX, signal, onPage: (bookings) => {
        for (const booking of bookings) if (booking.confirmed_at !== null) made.push([Date.parse(booking.confirmed_at), booking.quantity]);
      } });
      complete &&= ended;
    }
    made.sort((a, b) => a[0] - b[0]);
    let sold = Math.max(0, soldNow - made.reduce((sum, [, quantity]) => sum + quantity, 0));
    /** @type {Point[]} */
    const past = made.length === 0 ? [] : [[/** @type {Point} */ (made[0])[0], sold]];
    for (const [at, quantity] of made) {
      sold = Math.min(soldNow, sold + quantity);
      past.push([Math.min(at, now), sold]);
    }
    const seen = this.points.filter(([at]) => at >= now);
    this.points = [...past, [now, soldNow], ...seen];
    this.complete = complete;
  }

  /** What is sold now. @param {number} at @param {number} sold */
  add(at, sold) {
    const before = this.points.at(-2);
    const last = this.points.at(-1);
    if (last && before && last[0] - before[0] < LIVE_STEP_MS && at - before[0] < LIVE_STEP_MS) this.points.pop();
    this.points.push([at, sold]);
    if (this.points.length > POINTS_MAX) this.points = thinned(this.points, POINTS_MAX / 2);
  }

  /** @param {number} at */
  soldAt(at) {
    let [low, high] = [0, this.points.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (/** @type {Point} */ (this.points[middle])[0] <= at) low = middle + 1;
      else high = middle;
    }
    return this.points[low - 1]?.[1] ?? this.points[0]?.[1] ?? 0;
  }

  /** Sold a minute of late; `null` while too little was seen. @param {number} now @returns {number | null} */
  rate(now) {
    const first = this.points[0]?.[0] ?? now;
    const span = Math.min(RATE_WINDOW_MS, now - first);
    return span < RATE_WINDOW_MS_MIN ? null : ((this.soldAt(now) - this.soldAt(now - span)) / span) * 60_000;
  }

  /** When the rest is sold, if it goes on like this. @param {number} now @param {number} left @returns {number | null} */
  soldOutAt(now, left) {
    const rate = this.rate(now);
    return rate === null || rate <= 0 || left <= 0 ? null : now + (left / rate) * 60_000;
  }

  /** Sold in each of the last minutes. @param {number} now @param {number} minutes @returns {{from: number, sold: number}[]} */
  perMinute(now, minutes) {
    const end = Math.ceil(now / 60_000) * 60_000;
    const first = this.points[0]?.[0] ?? now;
    return Array.from({ length: minutes }, (_, index) => {
      const from = end - (minutes - index) * 60_000;
      return { from, sold: from + 60_000 <= first ? 0 : this.soldAt(from + 60_000) - this.soldAt(from) };
    });
  }

  /** Those since then, beginning with how it was then, few enough to draw. @param {number} from @param {number} now @param {number} most @returns {Point[]} */
  since(from, now, most) {
    const begin = Math.max(from, this.points[0]?.[0] ?? now);
    const inside = this.points.filter(([at]) => at > begin && at < now);
    return [[begin, this.soldAt(begin)], ...thinned(inside, most), [now, this.soldAt(now)]];
  }
}

/** The last of each stretch of time, so that each kept point is true. @param {Point[]} points @param {number} most @returns {Point[]} */
function thinned(points, most) {
  if (points.length <= most) return points;
  const first = /** @type {Point} */ (points[0])[0];
  const stretch = (/** @type {Point} */ (points.at(-1))[0] - first + 1) / most;
  const number = (/** @type {Point | undefined} */ point) => (point ? Math.floor((point[0] - first) / stretch) : -1);
  return points.filter((point, index) => number(point) !== number(points[index + 1]));
}
