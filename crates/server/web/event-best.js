// "The best N together": how many, where, and whether they must sit side by side. The server chooses.

import { h, show } from "./dom.js";
import { Stepper } from "./stepper.js";
import { t } from "./words.js";

/** @typedef {import("./hall.js").Hall} Hall */
/** @typedef {{quantity: number, section: string | null, adjacent: "required" | "preferred"}} Wanted */

/** With more blocks than this only whole sections are listed. */
const BLOCKS_LISTED_MAX = 60;
const QUANTITY_FIRST = 2;

export class Best {
  element = h("form", { class: "best card", "aria-label": t("event.best"), "data-best": true });
  #quantity;
  #picking = false;
  #most;
  #button = h("button", { type: "submit" });
  #where;
  #together = h("input", { type: "checkbox", name: "together", checked: true });
  #many;

  /** @param {Hall} hall @param {number} most @param {(wanted: Wanted) => void} find */
  constructor(hall, most, find) {
    this.#most = most;
    this.#quantity = Math.min(QUANTITY_FIRST, most);
    this.#many = new Stepper({ label: t("event.bestHow"), value: this.#quantity, onChange: (value) => {
      this.#quantity = value;
      this.#draw();
    } });
    this.#where = h("select", { name: "where" }, h("option", { value: "" }, t("event.anywhere")), options(hall));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      find({ quantity: this.#quantity, section: this.#where.value || null, adjacent: this.#together.checked ? "required" : "preferred" });
    });
    show(
      this.element,
      h("h2", {}, t("event.best")),
      h("div", { class: "fields" },
        this.#many.element,
        h("label", { class: "where" }, h("span", { class: "unseen" }, t("event.bestWhere")), this.#where),
        h("label", { class: "check" }, this.#together, t("event.together")),
        this.#button),
    );
    this.#draw();
  }

  /** @param {boolean} picking whether seats are picked, which these would replace @param {boolean} open whether anything can be held now @param {number} room */
  refresh(picking, open, room) {
    this.#picking = picking;
    this.#button.disabled = !open;
    this.#most = Math.max(1, room);
    this.#quantity = Math.min(this.#quantity, this.#most);
    this.#draw();
  }

  #draw() {
    this.#many.set(this.#quantity, this.#most);
    this.#button.textContent = t(this.#picking ? "event.bestInstead" : "event.bestHold", { n: this.#quantity });
  }
}

/** @param {Hall} hall */
function options(hall) {
  const sections = [...new Set(hall.blocks.map(({ section }) => section))];
  const few = hall.blocks.length <= BLOCKS_LISTED_MAX;
  return sections.flatMap((name) => {
    const whole = h("option", { value: name }, t("event.section", { name }));
    const blocks = hall.blocks.filter(({ section }) => section === name);
    return few && blocks.length > 1 ? [whole, ...blocks.map(({ address }) => h("option", { value: address }, `\u2003${address}`))] : [whole];
  });
}
