// How many: a number between one and a most, with a button on either side.

import { h } from "./dom.js";
import { number } from "./format.js";
import { t } from "./words.js";

export class QuantityStepper {
  /** @param {{label: string, most: number, onChange?: (value: number) => void}} options */
  constructor({ label, most, onChange }) {
    this.value = 1;
    this.most = most;
    this.onChange = onChange;
    this.fewer = h("button", { type: "button", "data-act": "fewer", "aria-label": t("fewer"), onclick: () => this.#step(-1) }, "−");
    this.more = h("button", { type: "button", "data-act": "more", "aria-label": t("more"), onclick: () => this.#step(1) }, "+");
    this.shown = h("output", { "aria-live": "polite" });
    this.element = h("div", { class: "stepper", role: "group", "aria-label": label }, this.fewer, this.shown, this.more);
    this.#draw();
  }

  /** @param {number} most */
  limit(most) {
    this.most = Math.max(1, most);
    this.value = Math.min(this.value, this.most);
    this.#draw();
  }

  /** @param {boolean} off */
  disable(off) {
    this.off = off;
    this.#draw();
  }

  /** @param {number} by */
  #step(by) {
    const wanted = this.value + by;
    if (this.off || wanted < 1 || wanted > this.most) return;
    this.value = wanted;
    this.#draw();
    this.onChange?.(this.value);
  }

  #draw() {
    const text = number(this.value);
    if (this.shown.textContent !== text) this.shown.textContent = text;
    // Not `disabled`: the focus must not fall off a button that was just pressed.
    this.fewer.setAttribute("aria-disabled", String(this.off === true || this.value <= 1));
    this.more.setAttribute("aria-disabled", String(this.off === true || this.value >= this.most));
  }
}
