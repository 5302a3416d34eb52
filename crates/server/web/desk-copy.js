// Text that an operator takes somewhere else: selected as a whole, or copied with one press.

import { announce, h } from "./dom.js";
import { t } from "./words.js";

/** @param {string} name what it is, for people @param {string} text */
export function copyable(name, text) {
  const value = h("span", { class: "copyable" }, text);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = t("desk.copied");
      announce(t("desk.copied"));
    } catch {
      // The browser does not let this page copy; then the reader does.
      getSelection()?.selectAllChildren(value);
    }
  };
  const button = h("button", { type: "button", class: "plain small", "aria-label": t("desk.copy.what", { what: name }), onclick: copy }, t("desk.copy"));
  // Pages without TLS have no clipboard.
  return h("span", { class: "copy-row" }, value, navigator.clipboard && button);
}
