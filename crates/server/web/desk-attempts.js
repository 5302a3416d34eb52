// Booking attempts that were not granted, by customer or by request id.

import { h, show } from "./dom.js";
import { dateTime, whyNot } from "./format.js";
import { t } from "./words.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {{at: string, request_id: string | null, inventory: string, customer: string, result: string, code: string | null}} Attempt */

const SHOWN = 20;

/** @param {Desk} desk @returns {{element: HTMLElement, search: (wanted: string) => Promise<number>}} */
export function attemptsPart(desk) {
  const { api, inventory, signal } = desk;
  const list = h("ul", { class: "found" });
  const note = h("p", { class: "faint", role: "status" });
  const title = h("h3", { id: "attempts-title" }, t("desk.attempts.title"));
  const element = h("section", { class: "stack", hidden: true, "aria-labelledby": "attempts-title" }, title, note, list);
  let searches = 0;

  const search = async (/** @type {string} */ wanted) => {
    searches += 1;
    const mine = searches;
    element.hidden = true;
    if (wanted === "") return 0;
    const ask = async (/** @type {string} */ by) => {
      const query = new URLSearchParams({ inventory: `${inventory.kind}:${inventory.id}`, limit: String(SHOWN), [by]: wanted });
      return (await api.get(`/v1/attempts?${query}`, { signal })).items;
    };
    try {
      /** @type {Attempt[]} */
      const found = (await Promise.all([ask("customer"), ask("request_id")])).flat();
      if (mine !== searches) return 0;
      const refused = found.filter(({ result }) => result !== "granted");
      note.textContent = "";
      show(list, ...refused.map(row));
      element.hidden = refused.length === 0;
      return refused.length;
    } catch (error) {
      if (signal.aborted || mine !== searches) return 0;
      note.textContent = whyNot(error);
      element.hidden = false;
      return 0;
    }
  };
  return { element, search };
}

/** @param {Attempt} attempt */
function row({ at, request_id, customer, result, code }) {
  return h("li", { "data-attempt": code ?? "" },
    h("span", { class: "spread" }, h("span", { class: "row" }, t(`desk.attempts.${result}`), h("code", {}, code ?? "")), h("span", { class: "faint small" }, dateTime(at))),
    h("span", { class: "spread" }, h("span", {}, customer), h("code", { class: "faint small" }, request_id ?? "")));
}
