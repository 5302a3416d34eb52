// The slots of a schedule as far as they are known: some months asked for, then all of them from the stream.

import { firstDayOf, lastDayOf } from "./dates.js";
import { now } from "./server-clock.js";

/** @typedef {import("./types.d.ts").Slot} Slot */
/** @typedef {"AVAILABLE" | "LIMITED" | "FULL" | "CLOSED" | "PAST"} SlotState */
/** @typedef {{state: SlotState | "NONE" | "UNKNOWN", available: number, total: number}} DaySummary */

const PAGE_LIMIT = 500;

/** @param {Slot} slot @returns {SlotState} */
export function stateOf(slot) {
  return Date.parse(slot.ends_at) <= now() ? "PAST" : slot.availability;
}

/** @param {SlotState | "NONE" | "UNKNOWN"} state */
export function isOpen(state) {
  return state === "AVAILABLE" || state === "LIMITED";
}

export class Slots {
  /** @type {Map<string, Slot>} */
  #known = new Map();
  /** @type {Map<string, Slot[]>} */
  #days = new Map();
  /** @type {Map<string, Promise<void>>} */
  #asked = new Map();
  /** @type {Set<string>} */
  #months = new Set();
  #complete = false;

  /** @param {import("./api.js").Api} api @param {string} schedule */
  constructor(api, schedule) {
    this.api = api;
    this.path = `/v1/schedules/${schedule}/slots`;
  }

  /** Asks for a month, unless it is known or asked for. @param {string} month @returns {Promise<void>} */
  load(month) {
    if (this.#complete) return Promise.resolve();
    const asked = this.#asked.get(month) ?? this.#ask(month);
    this.#asked.set(month, asked);
    asked.catch(() => this.#asked.delete(month));
    return asked;
  }

  /** @param {string} month */
  async #ask(month) {
    /** @type {Slot[]} */
    const items = [];
    let cursor = "";
    do {
      const page = await this.api.get(`${this.path}?from=${firstDayOf(month)}&to=${lastDayOf(month)}&limit=${PAGE_LIMIT}${cursor}`);
      items.push(...page.items);
      cursor = page.next_cursor === null ? "" : `&cursor=${encodeURIComponent(page.next_cursor)}`;
    } while (cursor !== "");
    // What the stream told meanwhile is newer.
    if (this.#complete) return;
    this.#months.add(month);
    this.#put(items);
  }

  /**
   * Takes a message of the stream.
   *
   * @param {string} event @param {{slots: Slot[], removed?: string[]}} data @returns {Slot[]} those that changed
   */
  take(event, data) {
    if (event === "snapshot") {
      this.#known.clear();
      this.#complete = true;
    }
    for (const id of data.removed ?? []) this.#known.delete(id);
    this.#put(data.slots);
    return data.slots;
  }

  /** @param {Slot[]} slots */
  #put(slots) {
    for (const slot of slots) this.#known.set(slot.id, slot);
    this.#days = new Map();
    for (const slot of [...this.#known.values()].sort((a, b) => (a.id < b.id ? -1 : 1))) {
      this.#days.set(slot.date, [...(this.#days.get(slot.date) ?? []), slot]);
    }
  }

  /** @param {string} id */
  get(id) {
    return this.#known.get(id);
  }

  /** In order. @param {string} date @returns {Slot[]} */
  on(date) {
    return this.#days.get(date) ?? [];
  }

  /** @param {string} month */
  knows(month) {
    return this.#complete || this.#months.has(month);
  }

  /** The last date with a slot. @param {string} least */
  lastDate(least) {
    return [...this.#days.keys()].reduce((last, date) => (date > last ? date : last), least);
  }

  /** The first date, from one on, on which something can be booked. @param {string} from */
  firstOpen(from) {
    return [...this.#days.keys()].sort().find((date) => date >= from && isOpen(this.summary(date).state)) ?? null;
  }

  /** All slots of a day together, by the same measure as the server's for one. @param {string} date @returns {DaySummary} */
  summary(date) {
    const slots = this.on(date);
    if (slots.length === 0) return { state: this.knows(date.slice(0, 7)) ? "NONE" : "UNKNOWN", available: 0, total: 0 };
    const coming = slots.filter((slot) => stateOf(slot) !== "PAST");
    if (coming.length === 0) return { state: "PAST", available: 0, total: 0 };
    const open = coming.filter((slot) => slot.availability !== "CLOSED");
    const available = open.reduce((sum, slot) => sum + slot.available_count, 0);
    const total = open.reduce((sum, slot) => sum + slot.total_capacity, 0);
    const state = open.length === 0 ? "CLOSED" : available === 0 ? "FULL" : available * 2 <= total ? "LIMITED" : "AVAILABLE";
    return { state, available, total };
  }
}
