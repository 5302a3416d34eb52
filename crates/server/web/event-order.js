// The order panel: what is picked, what it costs, what went wrong, and the one button that matters.

import { h, show } from "./dom.js";
import { exactMoney, money } from "./format.js";
import { onRecovery } from "./recovery.js";
import { t } from "./words.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./hall.js").Hall} Hall */
/** @typedef {{words: string, does: () => void, offer?: boolean}} Action */

export class Order {
  element = h("section", { class: "order card", "aria-label": t("event.order") });
  #heading = h("h2", { tabindex: "-1" }, t("event.order"));
  #list = h("ul", { class: "picked" });
  #empty = h("p", { class: "faint empty" }, t("event.empty"));
  #note = h("div", { class: "note", role: "alert", hidden: true, "data-note": true });
  #total = h("strong", { class: "number" });
  #button;
  #clear;
  #hall;
  #currency;
  #calls;

  /**
   * @param {Hall} hall @param {string} currency @param {string} terms
   * @param {{hold: () => void, clear: () => void, seat: (index: number) => void, area: (name: string) => void}} calls
   */
  constructor(hall, currency, terms, calls) {
    this.#hall = hall;
    this.#currency = currency;
    this.#calls = calls;
    this.#button = h("button", { class: "main wide", type: "button", "data-hold": true, onclick: () => calls.hold() });
    this.#clear = h("button", { class: "plain small", type: "button", "data-clear": true, onclick: () => calls.clear() }, t("event.clear"));
    show(
      this.element,
      h("div", { class: "spread heading" }, this.#heading, this.#clear),
      this.#empty,
      this.#list,
      this.#note,
      h("div", { class: "pay" }, h("p", { class: "spread sum" }, h("span", {}, t("total")), this.#total), this.#button),
      h("p", { class: "faint small terms" }, terms),
    );
  }

  /** @param {Choice} choice @param {{open: boolean, asking: boolean}} now */
  refresh(choice, { open, asking }) {
    const lines = [
      ...choice.sortedSeats.map(({ index, section, row, col, price }) =>
        this.#line(t("seats", { section, row, seats: col, n: 1 }), price, () => this.#calls.seat(index))),
      ...[...choice.areas].map(([name, quantity]) =>
        this.#line(`${name} × ${quantity}`, (this.#hall.area(name)?.price ?? 0) * quantity, () => this.#calls.area(name))),
    ];
    show(this.#list, lines);
    this.element.toggleAttribute("data-empty", lines.length === 0);
    this.#list.hidden = lines.length === 0;
    this.#empty.hidden = lines.length > 0;
    this.#clear.hidden = lines.length === 0;
    const price = money(choice.price, this.#currency);
    this.#total.textContent = lines.length === 0 ? exactMoney(0, this.#currency) : price;
    this.#button.textContent = asking ? t("event.asking") : lines.length === 0 ? t("event.holdNone") : t("event.hold", { n: choice.quantity, price });
    // Kept focusable: a button that goes away under the finger loses the place.
    this.#button.setAttribute("aria-disabled", String(!open || asking || lines.length === 0));
    this.#button.toggleAttribute("aria-busy", asking);
  }

  /** @param {string} what @param {number} price @param {() => void} remove */
  #line(what, price, remove) {
    return h("li", {}, h("span", {}, what), h("span", { class: "number faint" }, money(price, this.#currency)),
      h("button", { class: "plain", type: "button", "aria-label": t("event.remove", { what }), onclick: () => {
        remove();
        this.focus();
      } }, "✕"));
  }

  /** @param {"good" | "warn" | "bad" | ""} kind @param {string} words @param {Action[]} [actions] */
  say(kind, words, actions = []) {
    this.#note.className = `note ${kind}`;
    this.#note.hidden = false;
    show(this.#note, h("p", {}, words), actions.length > 0 && h("div", { class: "actions" }, actions.map((action) =>
      h("button", { type: "button", "data-offer": action.offer ?? false, onclick: action.does }, action.words))));
  }

  /** While the server is away, and no longer. @param {import("./api.js").Api} api @param {unknown} error */
  hushOnRecovery(api, error) {
    onRecovery(api, error, this.#note, () => this.hush());
  }

  hush() {
    this.#note.hidden = true;
    show(this.#note);
  }

  focus() {
    this.#heading.focus({ preventScroll: true });
  }
}
