// A number between two buttons.

import { h } from "./dom.js";
import { t } from "./words.js";

/** @typedef {{element: HTMLElement, set: (value: number, most: number) => void}} Stepper */

/** @param {string} label @param {{least: number, value: number, changed: (value: number) => void}} options @returns {Stepper} */
export function stepper(label, { least, value, changed }) {
  let most = Infinity;
  const shown = h("output", { "aria-live": "polite" });
  const step = (/** @type {number} */ by) => {
    const next = Math.max(least, Math.min(most, value + by));
    if (next === value) return;
    value = next;
    draw();
    changed(value);
  };
  // Not `disabled`: that would drop the focus of whoever just came to the end.
  const button = (/** @type {string} */ sign, /** @type {string} */ words, /** @type {number} */ by) =>
    h("button", { type: "button", "aria-label": `${words}: ${label}`, onclick: () => step(by) }, sign);
  const fewer = button("−", t("fewer"), -1);
  const more = button("+", t("more"), 1);
  const draw = () => {
    shown.textContent = String(value);
    fewer.setAttribute("aria-disabled", String(value <= least));
    more.setAttribute("aria-disabled", String(value >= most));
  };
  draw();
  return {
    element: h("div", { class: "stepper", role: "group", "aria-label": label }, fewer, shown, more),
    set(next, limit) {
      value = next;
      most = limit;
      draw();
    },
  };
}
