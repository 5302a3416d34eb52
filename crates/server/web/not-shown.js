// Instead of a page that could not be shown: why, and what next.

import { Refusal } from "./api.js";
import { h } from "./dom.js";
import { whyNot } from "./format.js";
import { api } from "./frame.js";
import { onRecovery } from "./recovery.js";
import { t } from "./words.js";

/** @param {unknown} error @param {() => void} again @returns {HTMLElement[]} */
export function notShown(error, again) {
  const missing = error instanceof Refusal && error.status === 404;
  const note = h("p", { class: "note bad", role: "alert" }, missing ? t("notFound") : whyNot(error));
  onRecovery(api, error, note, again);
  return [
    note,
    missing ? h("a", { class: "button", href: "/" }, t("onSale")) : h("button", { type: "button", onclick: again }, t("tryAgain")),
  ];
}
