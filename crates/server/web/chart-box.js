// `<chart-box>`: a chart on a page. Draws it as wide as there is room, lets people read it by pointer and by keyboard, and has its
// numbers as a table.

import { announce, h, show } from "./dom.js";
import { t } from "./words.js";

/** @typedef {import("./chart.js").Chart} Chart */
/** @typedef {import("./chart.js").Canvas} Canvas */

const WIDTH_PX_MIN = 240;
const TABLE_ROWS_MAX = 400;

export class ChartBox extends HTMLElement {
  /** @type {((canvas: Canvas) => Chart) | null} */
  #draw = null;
  /** @type {(() => {head: string[], rows: string[][]}) | null} */
  #table = null;
  #height = 220;
  /** @type {number | null} */
  #mark = null;
  /** @type {Chart | null} */
  #chart = null;
  #figure = h("div", { class: "figure", role: "img", tabindex: "0" });
  #details = h("details", {}, h("summary", {}, t("chart.table")), h("div", { class: "scroll", tabindex: "0", role: "group" }));
  #observer = new ResizeObserver(() => this.redraw());

  constructor() {
    super();
    this.#figure.addEventListener("pointermove", (event) => this.#point(event));
    this.#figure.addEventListener("pointerdown", (event) => this.#point(event));
    this.#figure.addEventListener("pointerleave", () => this.#read(null));
    this.#figure.addEventListener("blur", () => this.#read(null));
    this.#figure.addEventListener("keydown", (event) => this.#key(event));
    this.#details.addEventListener("toggle", () => this.#fillTable());
  }

  /**
   * @param {{label: string, height?: number, draw: (canvas: Canvas) => Chart, table: () => {head: string[], rows: string[][]}}} what
   */
  open({ label, height, draw, table }) {
    this.#draw = draw;
    this.#table = table;
    if (height !== undefined) this.#height = height;
    this.#figure.style.setProperty("min-height", `${this.#height}px`);
    this.#figure.setAttribute("aria-label", `${label}. ${t("chart.keys")}`);
    this.#details.querySelector(".scroll")?.setAttribute("aria-label", label);
    this.redraw();
    return this;
  }

  connectedCallback() {
    show(this, this.#figure, this.#details);
    this.#observer.observe(this);
    this.redraw();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
  }

  redraw() {
    const width = Math.floor(this.clientWidth);
    if (!this.#draw || width === 0) return;
    this.#chart = this.#draw({ width: Math.max(WIDTH_PX_MIN, width), height: this.#height, mark: this.#mark });
    show(this.#figure, this.#chart.svg);
    this.#fillTable();
  }

  #fillTable() {
    const place = this.#details.querySelector(".scroll");
    if (!this.#details.open || !this.#table || !place) return;
    const { head, rows } = this.#table();
    show(place, h("table", {},
      h("thead", {}, h("tr", {}, head.map((text, index) => h("th", { scope: "col", class: index === 0 ? "" : "number" }, text)))),
      h(
        "tbody",
        {},
        rows.slice(-TABLE_ROWS_MAX).map(
          (row) => h("tr", {}, row.map((text, index) => (index === 0 ? h("th", { scope: "row" }, text) : h("td", { class: "number" }, text)))),
        ),
      )));
  }

  /** @param {number | null} mark */
  #read(mark) {
    if (mark === this.#mark) return;
    this.#mark = mark;
    this.redraw();
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const chart = this.#chart;
    if (!chart || chart.marks.length === 0) return;
    const box = this.#figure.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const flat = chart.across === chart.marks.length;
    let best = 0;
    let distance = Infinity;
    chart.marks.forEach((mark, index) => {
      const far = (mark.x - x) ** 2 + (flat ? 0 : (mark.y - y) ** 2);
      if (far < distance) [best, distance] = [index, far];
    });
    this.#read(best);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const chart = this.#chart;
    if (!chart || chart.marks.length === 0) return;
    const last = chart.marks.length - 1;
    const steps = /** @type {Record<string, number>} */ ({
      ArrowLeft: -1, ArrowRight: 1, ArrowUp: -chart.across, ArrowDown: chart.across, PageUp: -10, PageDown: 10,
    });
    const step = steps[event.key];
    if (event.key === "Escape") return this.#read(null);
    const from = this.#mark ?? (step !== undefined && step < 0 ? last + 1 : -1);
    const wanted = event.key === "Home" ? 0 : event.key === "End" ? last : step === undefined ? null : from + step;
    if (wanted === null) return;
    event.preventDefault();
    if (wanted < 0 || wanted > last) return;
    this.#read(wanted);
    announce(/** @type {import("./chart.js").Mark} */ (chart.marks[wanted]).text.join(", "));
  }
}

customElements.define("chart-box", ChartBox);

/** @param {Parameters<ChartBox["open"]>[0]} what */
export function chartBox(what) {
  return /** @type {ChartBox} */ (document.createElement("chart-box")).open(what);
}
