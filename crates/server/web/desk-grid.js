// A grid of seats for pointer and keyboard: one cell takes the focus, arrows move it, shift or dragging chooses a rectangle.

import { h, show } from "./dom.js";
import { t } from "./words.js";

/** @typedef {import("./desk-live.js").Live} Live */

/** As many cells as a phone draws without a pause; a larger subsection is shown in parts. */
const ROWS_MAX = 40;
const COLS_MAX = 60;
const SIGNS = /** @type {Record<string, string>} */ ({ held: "◔", sold: "●", blocked: "✕" });

export class SeatGrid {
  section = "";
  /** @type {Set<string>} */
  chosen = new Set();
  element = h("div", { class: "grid-part" });
  #live;
  #onChoice;
  #grid = h("div", { class: "seat-grid", role: "grid", "aria-multiselectable": "true", "aria-describedby": "seats-help" });
  #pager = h("div", { class: "row pager" });
  /** @type {Map<string, HTMLElement>} */
  #cells = new Map();
  #firstRow = 1;
  #firstCol = 1;
  /** Row and column of the cell that has the focus. @type {[number, number]} */
  #at = [1, 1];
  /** Where a rectangle begins. @type {[number, number]} */
  #anchor = [1, 1];
  /** What was chosen before the rectangle. @type {Set<string> | null} */
  #before = null;

  /** @param {Live} live @param {AbortSignal} signal @param {() => void} onChoice */
  constructor(live, signal, onChoice) {
    this.#live = live;
    this.#onChoice = onChoice;
    const grid = this.#grid;
    grid.addEventListener("pointerdown", (event) => this.#press(event));
    grid.addEventListener("pointerover", (event) => this.#drag(event));
    window.addEventListener("pointerup", () => (this.#before = null), { signal });
    grid.addEventListener("click", (event) => this.#click(event));
    grid.addEventListener("keydown", (event) => this.#key(event));
    show(this.element, h("div", { class: "scroll seat-scroll" }, grid), this.#pager);
  }

  /** @param {string} section */
  open(section) {
    this.section = section;
    this.chosen.clear();
    [this.#firstRow, this.#firstCol] = [1, 1];
    this.#at = this.#anchor = [1, 1];
    this.#build();
    this.#onChoice();
  }

  clear() {
    this.drop([...this.chosen]);
  }

  /** These are no longer chosen. @param {string[]} seats */
  drop(seats) {
    for (const seat of seats) this.chosen.delete(seat);
    this.draw();
    this.#onChoice();
  }

  focus() {
    this.#cells.get(this.#at.join("-"))?.focus();
  }

  /** Brings the cells up to what the stream says. */
  draw() {
    for (const [seat, cell] of this.#cells) {
      const state = this.#live.seat(this.section, seat) ?? "sold";
      const on = this.chosen.has(seat);
      if (cell.dataset["state"] === state && (cell.getAttribute("aria-selected") === "true") === on) continue;
      cell.dataset["state"] = state;
      cell.className = `seat ${state}`;
      cell.setAttribute("aria-selected", String(on));
      const [row, col] = seat.split("-");
      cell.setAttribute("aria-label", t("desk.seat.label", { row: row ?? "", col: col ?? "", state: t(`desk.seat.${state}`) }));
      cell.textContent = SIGNS[state] ?? col ?? "";
    }
  }

  #build() {
    const section = this.#live.sections.get(this.section);
    this.#cells.clear();
    if (!section) return show(this.#grid);
    const lastRow = Math.min(section.rows, this.#firstRow + ROWS_MAX - 1);
    const lastCol = Math.min(section.cols, this.#firstCol + COLS_MAX - 1);
    const rows = [];
    for (let row = this.#firstRow; row <= lastRow; row += 1) {
      const cells = [];
      for (let col = this.#firstCol; col <= lastCol; col += 1) {
        const cell = h(
          "div",
          { role: "gridcell", "data-seat": `${row}-${col}`, tabindex: row === this.#at[0] && col === this.#at[1] ? "0" : "-1" },
        );
        this.#cells.set(`${row}-${col}`, cell);
        cells.push(cell);
      }
      rows.push(h("div", { role: "row" }, h("div", { role: "rowheader", class: "row-name" }, row), cells));
    }
    this.#grid.setAttribute("aria-label", t("desk.seats.grid", { section: this.section }));
    show(this.#grid, ...rows);
    this.draw();
    const part = (
      /** @type {string} */ words,
      /** @type {number} */ first,
      /** @type {number} */ last,
      /** @type {number} */ all,
      /** @type {number} */ most,
      /** @type {(to: number) => void} */ go
    ) => all > most && [
      h(
        "button",
        { type: "button", disabled: first === 1, "aria-label": t("desk.seats.back", { what: t(words) }), onclick: () => go(first - most) },
        "‹",
      ),
      h("span", { class: "number" }, `${t(words)} ${first}–${last} / ${all}`),
      h(
        "button",
        { type: "button", disabled: last === all, "aria-label": t("desk.seats.on", { what: t(words) }), onclick: () => go(first + most) },
        "›",
      ),
    ];
    show(this.#pager,
      part("desk.seats.rows", this.#firstRow, lastRow, section.rows, ROWS_MAX, (to) => this.#page(to, this.#firstCol)) || null,
      part("desk.seats.cols", this.#firstCol, lastCol, section.cols, COLS_MAX, (to) => this.#page(this.#firstRow, to)) || null);
  }

  /** @param {number} row @param {number} col */
  #page(row, col) {
    [this.#firstRow, this.#firstCol] = [Math.max(1, row), Math.max(1, col)];
    this.#at = [this.#firstRow, this.#firstCol];
    this.#build();
  }

  /** @param {Event} event @returns {[number, number] | null} */
  #cellOf(event) {
    const seat = /** @type {HTMLElement} */ (event.target).closest?.("[data-seat]");
    return seat instanceof HTMLElement
      ? /** @type {[number, number]} */ (/** @type {string} */ (seat.dataset["seat"]).split("-").map(Number))
      : null;
  }

  /** @param {PointerEvent} event */
  #press(event) {
    const place = this.#cellOf(event);
    // A finger that drags scrolls.
    if (!place || event.pointerType !== "mouse" || event.button !== 0 || event.shiftKey) return;
    this.#anchor = place;
    this.#before = new Set(this.chosen);
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    const place = this.#cellOf(event);
    if (!place || !this.#before || event.buttons !== 1 || place.join() === this.#anchor.join()) return;
    this.#rectangle(place, this.#before);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const place = this.#cellOf(event);
    // The click that ends a drag is on the grid or on another cell than the press.
    if (!place) return;
    this.#move(place);
    if (event.shiftKey) return this.#rectangle(place, this.chosen);
    this.#anchor = place;
    this.#toggle(place);
  }

  /** @param {[number, number]} place */
  #toggle(place) {
    const seat = place.join("-");
    if (!this.chosen.delete(seat)) this.chosen.add(seat);
    this.draw();
    this.#onChoice();
  }

  /** Everything between the anchor and here, added to what was chosen. @param {[number, number]} place @param {Set<string>} before */
  #rectangle(place, before) {
    const chosen = new Set(before);
    const [rows, cols] = [[place[0], this.#anchor[0]], [place[1], this.#anchor[1]]];
    for (let row = Math.min(...rows); row <= Math.max(...rows); row += 1) {
      for (let col = Math.min(...cols); col <= Math.max(...cols); col += 1) chosen.add(`${row}-${col}`);
    }
    this.chosen = chosen;
    this.draw();
    this.#onChoice();
  }

  /** @param {[number, number]} place */
  #move(place) {
    this.#cells.get(this.#at.join("-"))?.setAttribute("tabindex", "-1");
    this.#at = place;
    const cell = this.#cells.get(place.join("-"));
    cell?.setAttribute("tabindex", "0");
    cell?.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const [row, col] = this.#at;
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      this.#anchor = this.#at;
      return this.#toggle(this.#at);
    }
    if (event.key === "Escape") return this.clear();
    const section = this.#live.sections.get(this.section);
    const moves = /** @type {Record<string, [number, number]>} */ ({
      ArrowUp: [row - 1, col], ArrowDown: [row + 1, col], ArrowLeft: [row, col - 1], ArrowRight: [row, col + 1], Home: [row, 1],
      End: [row, section?.cols ?? col], PageUp: [Math.max(1, row - 10), col],
      PageDown: [Math.min(section?.rows ?? row, row + 10), col],
    });
    const place = moves[event.key];
    if (!place || !section || place[0] < 1 || place[1] < 1 || place[0] > section.rows || place[1] > section.cols) return;
    event.preventDefault();
    if (!this.#cells.has(place.join("-"))) {
      this.#firstRow = Math.floor((place[0] - 1) / ROWS_MAX) * ROWS_MAX + 1;
      this.#firstCol = Math.floor((place[1] - 1) / COLS_MAX) * COLS_MAX + 1;
      this.#build();
    }
    if (event.shiftKey) {
      if (this.chosen.size === 0) this.#anchor = this.#at;
      this.#rectangle(place, new Set());
    }
    this.#move(place);
  }
}
