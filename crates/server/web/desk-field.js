// A field that says what is wrong with it while one types.

import { h } from "./dom.js";
import { number } from "./format.js";
import { t } from "./words.js";
import { minorUnits } from "./desk-format.js";

/** In minor units, as in the API. */
const PRICE_MAX = 1_000_000_000_000;
/** Of places in a slot, and of boxes. */
export const COUNT_MAX = 1_000_000;

/**
 * @typedef {(text: string) => string} Problem what is wrong with the text, in words; empty if nothing is
 * @typedef {{element: HTMLElement, input: HTMLInputElement, text: () => string, set: (value: string | number) => void, check: () => boolean}} Field
 */

/** @param {string} label @param {import("./dom.js").Attributes & {id: string}} attributes @param {Problem} problem @returns {Field} */
export function field(label, attributes, problem) {
  const wrong = h("p", { class: "problem small", id: `${attributes.id}-problem`, "aria-live": "polite" });
  const text = () => input.value.trim();
  const check = () => {
    const words = problem(text());
    if (wrong.textContent !== words) wrong.textContent = words;
    input.setAttribute("aria-invalid", String(words !== ""));
    return words === "";
  };
  const input = h("input", { autocomplete: "off", ...attributes, "aria-describedby": wrong.id, oninput: check });
  const set = (/** @type {string | number} */ value) => {
    // What someone is typing is left alone.
    if (/** @type {Document} */ (input.ownerDocument).activeElement === input) return;
    input.value = String(value);
    check();
  };
  return { element: h("div", { class: "field" }, h("label", { for: attributes.id }, label), input, wrong), input, text, set, check };
}

/** Whether a form may be sent; if not, the first field that is wrong gets the focus. @param {Field[]} fields */
export function areRight(fields) {
  const wrong = fields.filter((one) => !one.check());
  wrong[0]?.input.focus();
  return wrong.length === 0;
}

/** @param {number} most characters @param {string} empty what to say if there is nothing @returns {Problem} */
export function textProblem(most, empty) {
  return (text) => (text === "" ? empty : [...text].length > most ? t("desk.problem.long", { n: most }) : "");
}

/** @type {Problem} */
export function countProblem(text) {
  const count = Number(text);
  return text !== "" && Number.isInteger(count) && count >= 1 && count <= COUNT_MAX ? "" : t("desk.problem.count", { most: COUNT_MAX });
}

/** @param {string} currency @returns {Problem} */
export function priceProblem(currency) {
  const most = PRICE_MAX / minorUnits(currency);
  const decimals = Math.round(Math.log10(minorUnits(currency)));
  return (text) => {
    const price = Number(text);
    const fine = text !== "" && price >= 0 && price <= most && (text.split(".")[1] ?? "").length <= decimals;
    return fine ? "" : t(decimals === 0 ? "desk.problem.wholePrice" : "desk.problem.price", { most: number(most), n: decimals });
  };
}

/** What was typed as a price, in minor units. @param {string} text @param {string} currency */
export function priceOf(text, currency) {
  return Math.round(Number(text) * minorUnits(currency));
}
