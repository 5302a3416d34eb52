// How many: a number between a least and a most, with a button on either side.

import { h } from "./dom.js";
import { number } from "./format.js";
import { t } from "./words.js";

export class Stepper {
  /** @type {number} */
  value;
  #least;
  #most;
  #off = false;
  #fewer;
  #more;
  #shown = h("output", { "aria-live": "polite" });
  #onChange;

  /** @param {{label: string, least?: number, value?: number, most?: number, onChange: (value: number) => void}} options */
  constructor({ label, least = 1, value = least, most = Infinity, onChange }) {
    this.value = value;
    this.#least = least;
    this.#most = most;
    this.#onChange = onChange;
    const button = (/** @type {"fewer" | "more"} */ act, /** @type {string} */ sign, /** @type {number} */ by) =>
      h("button", { type: "button", "data-act": act, "aria-label": `${t(act)}: ${label}`, onclick: () => this.#step(by) }, sign);
    this.#fewer = button("fewer", "−", -1);
    this.#more = button("more", "+", 1);
    this.element = h("div", { class: "stepper", role: "group", "aria-label": label }, this.#fewer, this.#shown, this.#more);
    this.#draw();
  }

  /** @param {number} value @param {number} most */
  set(value, most) {
    this.value = value;
    this.#most = most;
    this.#draw();
  }

  /** What is more than that becomes that. @param {number} most */
  limit(most) {
    this.set(Math.max(this.#least, Math.min(this.value, most)), most);
  }

  /** @param {boolean} off */
  disable(off) {
    this.#off = off;
    this.#draw();
  }

  /** @param {number} by */
  #step(by) {
    const wanted = this.value + by;
    if (this.#off || wanted < this.#least || wanted > this.#most) return;
    this.value = wanted;
    this.#draw();
    this.#onChange(wanted);
  }

  #draw() {
    const text = number(this.value);
    // Put in again, the same number would be read out again.
    if (this.#shown.textContent !== text) this.#shown.textContent = text;
    // Not `disabled`: the focus must not fall off a button that was just pressed.
    this.#fewer.setAttribute("aria-disabled", String(this.#off || this.value <= this.#least));
    this.#more.setAttribute("aria-disabled", String(this.#off || this.value >= this.#most));
  }
}
