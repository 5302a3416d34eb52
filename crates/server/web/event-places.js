// The list of everything that can be chosen without the map: sections with their blocks, and areas with how many.

import { h, show } from "./dom.js";
import { money } from "./format.js";
import { leftWords } from "./hall-words.js";
import { left } from "./hall.js";
import { Stepper } from "./stepper.js";
import { t } from "./words.js";

/** @typedef {import("./hall.js").Hall} Hall */
/** @typedef {import("./hall.js").Block} Block */

export class Places {
  element = h("section", { class: "places", "aria-label": t("event.sections") });
  #hall;
  /** @type {Map<Block, {button: HTMLButtonElement, count: HTMLElement, shown: number}>} */
  #blocks = new Map();
  /** @type {{blocks: Block[], line: HTMLElement, price: string}[]} */
  #sections = [];
  /** @type {Map<string, {line: HTMLElement, price: string, stepper: Stepper}>} */
  #areas = new Map();

  /** @param {Hall} hall @param {string} currency @param {{enter: (block: Block) => void, area: (name: string, quantity: number) => void}} calls */
  constructor(hall, currency, calls) {
    this.#hall = hall;
    const sections = [...new Set(hall.blocks.map(({ section }) => section))].map((name) => {
      const blocks = hall.blocks.filter(({ section }) => section === name);
      const line = h("span", { class: "faint small number" });
      this.#sections.push({ blocks, line, price: money(/** @type {Block} */ (blocks[0]).price, currency) });
      return h("li", {},
        h("div", { class: "spread" }, h("h3", {}, t("event.section", { name })), line),
        h("div", { class: "blocks" }, blocks.map((block) => this.#button(block, calls.enter))));
    });
    const areas = hall.areas.map(({ address, price }) => {
      const many = new Stepper({ label: t("event.howMany", { name: address }), least: 0, onChange: (value) => calls.area(address, value) });
      many.element.dataset["area"] = address;
      const line = h("span", { class: "faint small number" });
      this.#areas.set(address, { line, price: money(price, currency), stepper: many });
      return h("li", { class: "area" }, h("div", {}, h("h3", {}, address), line), many.element);
    });
    show(this.element, h("h2", {}, t("event.sections")), h("ul", { class: "sections" }, areas, sections));
    this.refresh(new Map(), 0);
  }

  /** @param {Block} block @param {(block: Block) => void} enter */
  #button(block, enter) {
    const count = h("span", { class: "small number" });
    const button = h("button", { type: "button", "data-block": block.address, onclick: () => enter(block) }, h("strong", {}, block.address), " ", count);
    this.#blocks.set(block, { button, count, shown: -1 });
    return button;
  }

  /** The hall has changed. @param {Map<string, number>} chosen of each area @param {number} room units that may still be added */
  refresh(chosen, room) {
    for (const [block, known] of this.#blocks) {
      if (known.shown === block.free) continue;
      known.shown = block.free;
      known.count.textContent = leftWords(block.free);
      known.button.dataset["left"] = left(block);
    }
    for (const { blocks, line, price } of this.#sections) {
      const free = blocks.reduce((sum, block) => sum + block.free, 0);
      line.textContent = t("event.sectionLine", { price, left: leftWords(free) });
    }
    for (const area of this.#hall.areas) {
      const known = this.#areas.get(area.address);
      const value = chosen.get(area.address) ?? 0;
      if (!known) continue;
      known.line.textContent = t("event.sectionLine", { price: known.price, left: leftWords(area.free) });
      known.stepper.set(value, Math.min(area.free, value + room));
    }
  }

  /** @param {Block} block */
  focus(block) {
    this.#blocks.get(block)?.button.focus();
  }
}
