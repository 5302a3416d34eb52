// A month of days to choose one from, each with what is left on it. Arrow keys go by day and week, Page Up and Down by month.

import { addDays, addMonths, firstDayOf, firstWeekday, lastDayOf, monthOf, weekdayOf } from "./dates.js";
import { announce, h, show } from "./dom.js";
import { day, number } from "./format.js";
import { isOpen } from "./slots.js";
import { language, t } from "./words.js";

/** @typedef {import("./slots.js").DaySummary} DaySummary */
/** @typedef {{date: string, cell: HTMLElement, button: HTMLButtonElement, said: HTMLElement, left: HTMLElement, bar: HTMLElement}} DayCell */

const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });

export class MonthCalendar {
  /** @type {string | null} */
  chosen = null;
  /** The day that the tab key comes to. */
  #current = "";
  #month = "";
  /** @type {DayCell[]} */
  #cells = [];
  #weekStart = firstWeekday();

  /**
   * @param {{
   *   summary: (date: string) => DaySummary, today: () => string, range: () => [first: string, last: string],
   *   onMonth: (month: string) => void, onChoose: (date: string) => void,
   * }} options
   */
  constructor({ summary, today, range, onMonth, onChoose }) {
    this.summary = summary;
    this.today = today;
    this.range = range;
    this.onMonth = onMonth;
    this.onChoose = onChoose;
    this.heading = h("h2", { id: "calendar-month", "aria-live": "polite" });
    this.earlier = this.#turner(-1, "calendar.earlier", "‹");
    this.later = this.#turner(1, "calendar.later", "›");
    this.rows = h("tbody");
    const names = Array.from({ length: 7 }, (_, index) => addDays("2024-01-01", this.#weekStart - 1 + index));
    const head = names.map((date) => h("th", { scope: "col", abbr: day(date, { weekday: "long" }) }, day(date, { weekday: "short" })));
    this.element = h(
      "div",
      { class: "calendar", "data-calendar": true },
      h("div", { class: "turn" }, this.earlier, this.heading, this.later),
      h("table", { role: "grid", "aria-labelledby": "calendar-month", onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event) },
        h("thead", {}, h("tr", {}, head)), this.rows),
      h("ul", { class: "legend small faint" }, ["AVAILABLE", "LIMITED", "FULL"].map((state) =>
        h("li", { "data-state": state }, h("span", { class: "gauge", "aria-hidden": "true" }, h("span")), t(`calendar.legend.${state}`)))),
    );
  }

  get month() {
    return this.#month;
  }

  /** @param {number} by @param {string} words @param {string} sign */
  #turner(by, words, sign) {
    const turn = () => {
      const month = addMonths(this.#month, by);
      if (this.#reaches(month)) this.show(month);
    };
    return h("button", { type: "button", class: "plain turner", "aria-label": t(words), "data-turn": by, onclick: turn }, sign);
  }

  /** @param {string} month */
  #reaches(month) {
    const [first, last] = this.range();
    return month >= monthOf(first) && month <= monthOf(last);
  }

  /** @param {string} date */
  choose(date) {
    this.chosen = date;
    // Whoever is in the calendar already is not taken elsewhere.
    if (this.element.contains(document.activeElement)) return this.refresh();
    this.#current = date;
    this.show(monthOf(date));
  }

  /** @param {string} month */
  show(month) {
    const other = month !== this.#month;
    this.#month = month;
    if (monthOf(this.#current) !== month) {
      const wanted = [this.chosen, this.today()].find((date) => date !== null && monthOf(date) === month);
      this.#current = wanted ?? firstDayOf(month);
    }
    if (other) {
      this.#build();
      this.onMonth(month);
    }
    this.refresh();
  }

  #build() {
    this.heading.textContent = day(firstDayOf(this.#month), { month: "long", year: "numeric" });
    const before = (weekdayOf(firstDayOf(this.#month)) - this.#weekStart + 7) % 7;
    const days = Number(lastDayOf(this.#month).slice(8));
    this.#cells = Array.from({ length: days }, (_, index) => this.#dayCell(addDays(firstDayOf(this.#month), index)));
    /** @type {HTMLElement[]} */
    const all = [...Array.from({ length: before }, () => h("td")), ...this.#cells.map((each) => each.cell)];
    // At least five weeks, so that what is below stays where it is from month to month, nearly always.
    while (all.length < 35 || all.length % 7 !== 0) all.push(h("td"));
    show(this.rows, Array.from({ length: all.length / 7 }, (_, week) => h("tr", {}, all.slice(week * 7, week * 7 + 7))));
  }

  /** @param {string} date @returns {DayCell} */
  #dayCell(date) {
    const said = h("span", { class: "unseen" });
    const left = h("span", { class: "left", "aria-hidden": "true" });
    const bar = h("span", { class: "gauge", "aria-hidden": "true" }, h("span"));
    const button = h("button", { type: "button", "data-date": date, onclick: () => this.#press(date) },
      said, h("span", { class: "date", "aria-hidden": "true" }, String(Number(date.slice(8)))), left, bar);
    return { date, cell: h("td", { role: "gridcell" }, button), button, said, left, bar };
  }

  /** @param {string} date */
  #press(date) {
    this.#current = date;
    const { state } = this.summary(date);
    if (state === "NONE" || state === "UNKNOWN") {
      this.refresh();
      return;
    }
    this.chosen = date;
    this.refresh();
    this.onChoose(date);
  }

  /** Shows what is so now, in the elements that are there: the focus stays. */
  refresh() {
    const today = this.today();
    for (const { date, cell, button, said, left, bar } of this.#cells) {
      const summary = this.summary(date);
      const { state, available, total } = summary;
      const none = state === "NONE" || state === "UNKNOWN";
      cell.setAttribute("aria-selected", String(date === this.chosen));
      button.tabIndex = date === this.#current ? 0 : -1;
      button.dataset["state"] = state;
      button.setAttribute("aria-disabled", String(none));
      if (date === today) button.setAttribute("aria-current", "date");
      else button.removeAttribute("aria-current");
      said.textContent = `${day(date)}${date === today ? `, ${t("calendar.today")}` : ""}: ${inWords(summary)}`;
      left.textContent = isOpen(state) ? compact.format(available) : none || state === "PAST" ? "" : t(`calendar.short.${state}`);
      bar.style.setProperty("--part", `${total === 0 ? 0 : (100 * available) / total}%`);
    }
    this.earlier.setAttribute("aria-disabled", String(!this.#reaches(addMonths(this.#month, -1))));
    this.later.setAttribute("aria-disabled", String(!this.#reaches(addMonths(this.#month, 1))));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const weekday = (weekdayOf(this.#current) - this.#weekStart + 7) % 7;
    /** @type {Record<string, () => string>} */
    const moves = {
      ArrowLeft: () => addDays(this.#current, -1),
      ArrowRight: () => addDays(this.#current, 1),
      ArrowUp: () => addDays(this.#current, -7),
      ArrowDown: () => addDays(this.#current, 7),
      Home: () => addDays(this.#current, -weekday),
      End: () => addDays(this.#current, 6 - weekday),
      PageUp: () => inMonth(this.#current, addMonths(this.#month, -1)),
      PageDown: () => inMonth(this.#current, addMonths(this.#month, 1)),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const date = move();
    if (!this.#reaches(monthOf(date))) {
      announce(t("calendar.end"));
      return;
    }
    this.#current = date;
    this.show(monthOf(date));
    this.#cells.find((each) => each.date === date)?.button.focus();
  }
}

/** The same day of another month, or its last. @param {string} date @param {string} month */
function inMonth(date, month) {
  const same = `${month}-${date.slice(8)}`;
  const last = lastDayOf(month);
  return same > last ? last : same;
}

/** @param {DaySummary} summary */
function inWords({ state, available, total }) {
  return isOpen(state) ? t(state === "LIMITED" ? "calendar.limited" : "calendar.left", { n: available, left: number(available), total }) : t(`calendar.${state}`);
}
