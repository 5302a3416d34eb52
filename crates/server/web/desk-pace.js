// Doing something often asked for no more often than it should be, and asking twice before what cannot be undone.

import { announce, h } from "./dom.js";
import { t } from "./words.js";

/**
 * Runs soon after it was asked for, and never twice within `milliseconds`; what was asked in between is one run at the end.
 *
 * @param {number} milliseconds @param {AbortSignal} signal @param {() => void | Promise<void>} run
 * @returns {() => void}
 */
export function paced(milliseconds, signal, run) {
  let last = -Infinity;
  let waiting = 0;
  let running = false;
  let again = false;
  const go = async () => {
    waiting = 0;
    if (signal.aborted) return;
    // A page that nobody looks at asks for nothing.
    if (document.visibilityState === "hidden") {
      waiting = window.setTimeout(go, milliseconds);
      return;
    }
    running = true;
    again = false;
    try {
      await run();
    } finally {
      running = false;
      last = performance.now();
      if (again) ask();
    }
  };
  const ask = () => {
    if (running) again = true;
    else if (waiting === 0 && !signal.aborted) waiting = window.setTimeout(go, Math.max(0, last + milliseconds - performance.now()));
  };
  signal.addEventListener("abort", () => clearTimeout(waiting));
  return ask;
}

const SURE_MS = 5000;

/**
 * A button that acts on the second press.
 *
 * @param {string} label @param {() => void} act
 */
export function twice(label, act) {
  let asked = 0;
  const button = h("button", { class: "danger", type: "button", onclick: () => {
    if (asked === 0) {
      button.textContent = t("desk.sure");
      announce(t("desk.sure"));
      asked = window.setTimeout(calm, SURE_MS);
    } else {
      calm();
      act();
    }
  }, onblur: () => calm() }, label);
  const calm = () => {
    clearTimeout(asked);
    asked = 0;
    button.textContent = label;
  };
  return button;
}
