// What part of the hall is looked at, how near, and from which side.

import { wantsCalm } from "./dom.js";

/** @typedef {import("./hall-layout.js").Bounds} Bounds */
/** @typedef {{x: number, y: number, scale: number, turn: number}} View the middle, pixels for one seat, and the angle that is upright */

export const SCALE_MAX = 56;
const MARGIN_PIXELS = 14;
const WHOLE_ENOUGH = 1.02;
const GLIDE_MS = 320;

export class Camera {
  /** @type {View} */
  view = { x: 0, y: 0, scale: 1, turn: 0 };
  /** Nothing, until the page has told its size. */
  width = 0;
  height = 0;
  /** @type {Bounds} */
  #bounds;
  /** @type {{from: View, to: View, start: number} | null} */
  #glide = null;

  /** @param {Bounds} bounds */
  constructor(bounds) {
    this.#bounds = bounds;
  }

  /** @param {number} width @param {number} height in pixels */
  resize(width, height) {
    const whole = this.width === 0 || this.goesWhole();
    this.width = width;
    this.height = height;
    if (!whole) return;
    this.#glide = null;
    this.view = this.whole();
  }

  /** All of the hall. @returns {View} */
  whole() {
    const { left, right, top, bottom } = this.#bounds;
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale: this.scaleMin(), turn: 0 };
  }

  scaleMin() {
    const { left, right, top, bottom } = this.#bounds;
    const fit = Math.min((this.width - 2 * MARGIN_PIXELS) / (right - left), (this.height - 2 * MARGIN_PIXELS) / (bottom - top));
    return Math.min(SCALE_MAX, Math.max(0.05, fit));
  }

  isWhole() {
    return this.view.scale <= this.scaleMin() * WHOLE_ENOUGH;
  }

  /** Whether it will be the whole hall once it rests. */
  goesWhole() {
    return this.target.scale <= this.scaleMin() * WHOLE_ENOUGH;
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  toScreen(x, y) {
    const { scale, turn } = this.view;
    const [cos, sin] = [Math.cos(turn) * scale, Math.sin(turn) * scale];
    const [dx, dy] = [x - this.view.x, y - this.view.y];
    return [this.width / 2 + dx * cos - dy * sin, this.height / 2 + dx * sin + dy * cos];
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  toHall(x, y) {
    const { scale, turn } = this.view;
    const [cos, sin] = [Math.cos(turn) / scale, Math.sin(turn) / scale];
    const [dx, dy] = [x - this.width / 2, y - this.height / 2];
    return [this.view.x + dx * cos + dy * sin, this.view.y - dx * sin + dy * cos];
  }

  /** @param {number} dx @param {number} dy in pixels */
  panBy(dx, dy) {
    this.#glide = null;
    const [x, y] = this.toHall(this.width / 2 - dx, this.height / 2 - dy);
    this.#look({ ...this.view, x, y });
  }

  /** What is under the point stays there. @param {number} factor @param {number} x @param {number} y in pixels */
  zoomAt(factor, x, y) {
    this.#glide = null;
    const scale = Math.min(SCALE_MAX, Math.max(this.scaleMin(), this.view.scale * factor));
    const [fixedX, fixedY] = this.toHall(x, y);
    this.view = { ...this.view, scale };
    const [movedX, movedY] = this.toHall(x, y);
    this.#look({ ...this.view, x: this.view.x + fixedX - movedX, y: this.view.y + fixedY - movedY });
    if (this.isWhole() && factor < 1 && this.view.turn !== 0) this.glideTo(this.whole());
  }

  /** At once for those who asked for less motion. @param {View} view */
  glideTo(view) {
    const to = this.#bounded(view);
    const calm = wantsCalm();
    this.#glide = calm ? null : { from: this.view, to, start: performance.now() };
    if (calm) this.view = to;
  }

  /** Where this will come to rest. */
  get target() {
    return this.#glide?.to ?? this.view;
  }

  /** Moves on; whether there is more to come. @param {number} now */
  step(now) {
    if (!this.#glide) return false;
    const { from, to, start } = this.#glide;
    const part = Math.min(1, Math.max(0, (now - start) / GLIDE_MS));
    const eased = 1 - (1 - part) ** 3;
    const between = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * eased;
    this.view = { x: between(from.x, to.x), y: between(from.y, to.y), turn: between(from.turn, to.turn), scale: from.scale * (to.scale / from.scale) ** eased };
    if (part === 1) this.#glide = null;
    return part < 1;
  }

  /** @param {View} view */
  #look(view) {
    this.view = this.#bounded(view);
  }

  /** The whole hall stays in the middle; the nearer, the further one may go to its edges. @param {View} view @returns {View} */
  #bounded(view) {
    const { left, right, top, bottom } = this.#bounds;
    const kept = Math.max(0.4, 1 - 0.6 * (view.scale / this.scaleMin() - 1));
    const within = (/** @type {number} */ wanted, /** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ pixels) => {
      const slack = Math.max(0, (to - from - (kept * pixels) / view.scale) / 2);
      return Math.max((from + to) / 2 - slack, Math.min((from + to) / 2 + slack, wanted));
    };
    return { ...view, x: within(view.x, left, right, this.width), y: within(view.y, top, bottom, this.height) };
  }
}
