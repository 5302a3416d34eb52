// The seats of one subsection by keyboard: a grid of which only the cell with the focus exists, laid over its seat on the map.
// Real focus on a real cell is what every screen reader reads out; a thousand others would only cost.

import { h, show } from "./dom.js";
import { seatWords } from "./hall-words.js";
import { FREE } from "./hall.js";
import { t } from "./words.js";

/** @typedef {import("./hall.js").Hall} Hall */
/** @typedef {import("./hall.js").Block} Block */

const ROWS_OF_A_PAGE = 5;

export class SeatCursor {
  element = h("div", { class: "cursor", role: "grid", "aria-multiselectable": "true", hidden: true });
  /** The seat with the focus, or -1. */
  seat = -1;
  #hall;
  #currency;
  #marks;
  #calls;
  /** @type {Block | null} */
  #block = null;
  /** @type {HTMLElement | null} */
  #cell = null;

  /**
   * @param {Hall} hall @param {string} currency @param {{picked: Set<number>, yours: Set<number>}} marks
   * @param {{move: (index: number) => void, pick: (index: number) => void, leave: (block: Block) => void}} calls
   */
  constructor(hall, currency, marks, calls) {
    this.#hall = hall;
    this.#currency = currency;
    this.#marks = marks;
    this.#calls = calls;
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focusout", () => queueMicrotask(() => this.#left()));
  }

  /** @param {Block} block @param {number} seat the one that gets the focus */
  enter(block, seat) {
    this.#block = block;
    this.element.hidden = false;
    this.element.setAttribute("aria-label", t("event.gridOf", { name: block.address }));
    this.element.setAttribute("aria-rowcount", String(block.rows));
    this.element.setAttribute("aria-colcount", String(block.cols));
    this.element.setAttribute("aria-description", t("event.gridKeys"));
    this.#focus(seat);
  }

  /** What is said of the seat may have changed. */
  refresh() {
    if (!this.#cell) return;
    this.#cell.setAttribute("aria-label", seatWords(this.#hall.seat(this.seat), this.#currency, this.#marks));
    this.#cell.setAttribute("aria-selected", String(this.#marks.picked.has(this.seat)));
  }

  /** @param {number} x @param {number} y @param {number} size in pixels */
  placeAt(x, y, size) {
    const edge = Math.max(size, 12);
    this.#cell?.style.setProperty("transform", `translate(${x - edge / 2}px, ${y - edge / 2}px)`);
    this.#cell?.style.setProperty("width", `${edge}px`);
    this.#cell?.style.setProperty("height", `${edge}px`);
  }

  /** @param {number} index */
  #focus(index) {
    const { row, col } = this.#hall.seat(index);
    this.seat = index;
    const cell = h("div", { role: "gridcell", tabindex: "0", "aria-colindex": col, "data-seat": `${row}-${col}` });
    this.#cell = cell;
    this.refresh();
    // The new cell gets the focus before the old one goes, so that the focus is never nowhere.
    const old = [...this.element.children];
    this.element.append(h("div", { role: "row", "aria-rowindex": row }, cell));
    cell.focus({ preventScroll: true });
    for (const line of old) line.remove();
    this.#calls.move(index);
  }

  #left() {
    const root = /** @type {ShadowRoot | Document} */ (this.element.getRootNode());
    if (this.element.contains(root.activeElement)) return;
    this.seat = -1;
    this.#cell = null;
    this.element.hidden = true;
    show(this.element);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const block = this.#block;
    if (!block || this.seat < 0 || event.altKey || event.metaKey) return;
    const from = this.seat - block.first;
    const [row, col] = [Math.floor(from / block.cols), from % block.cols];
    const go = (/** @type {number} */ toRow, /** @type {number} */ toCol) =>
      this.#focus(block.first + Math.max(0, Math.min(block.rows - 1, toRow)) * block.cols + Math.max(0, Math.min(block.cols - 1, toCol)));
    switch (event.key) {
      case "ArrowLeft": go(row, col - 1); break;
      case "ArrowRight": go(row, col + 1); break;
      case "ArrowUp": go(row - 1, col); break;
      case "ArrowDown": go(row + 1, col); break;
      case "PageUp": go(row - ROWS_OF_A_PAGE, col); break;
      case "PageDown": go(row + ROWS_OF_A_PAGE, col); break;
      case "Home": go(event.ctrlKey ? 0 : row, 0); break;
      case "End": go(event.ctrlKey ? block.rows - 1 : row, block.cols - 1); break;
      case "n": case "N": this.#nextFree(block); break;
      case " ": case "Enter": this.#calls.pick(this.seat); break;
      case "Escape": this.#calls.leave(block); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** After the last one comes the first again. @param {Block} block */
  #nextFree(block) {
    const end = block.first + block.total;
    for (let step = 1; step <= block.total; step += 1) {
      const index = this.seat + step < end ? this.seat + step : this.seat + step - block.total;
      if (this.#hall.states[index] === FREE && !this.#marks.picked.has(index)) return this.#focus(index);
    }
  }
}
