// The times of the chosen day: how many places, which slot, and what came of it.

import { Refusal } from "./api.js";
import { announce, h, show, wantsCalm } from "./dom.js";
import { day } from "./format.js";
import { api } from "./frame.js";
import { HoldPlace } from "./hold-place.js";
import { customer, tokenOf } from "./mine.js";
import { keepMoved } from "./moved.js";
import { RefusalNote } from "./refusal-note.js";
import { SlotCard } from "./slot-card.js";
import { Stepper } from "./stepper.js";
import { t } from "./words.js";

/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {import("./types.d.ts").Schedule} Schedule */
/** @typedef {import("./types.d.ts").Slot} Slot */
/** @typedef {{slot: string, starts_at: string, available_count: number}} Alternative */

export class SlotChoice {
  /** @type {string | null} */
  #date = null;
  /** @type {Map<string, SlotCard>} */
  #cards = new Map();
  #busy = false;

  /** @param {{schedule: Schedule, slots: import("./slots.js").Slots, moving: Booking | null, onDay: (date: string) => void}} options */
  constructor({ schedule, slots, moving, onDay }) {
    this.schedule = schedule;
    this.slots = slots;
    this.moving = moving;
    this.onDay = onDay;
    this.note = new RefusalNote();
    this.hold = new HoldPlace({ onChange: () => this.draw() });
    const most = schedule.rules.max_units_per_booking;
    this.stepper = new Stepper({ label: t("schedule.quantity"), most, onChange: () => this.draw() });
    const plain = { rows: "2", autocomplete: "off", spellcheck: "false" };
    this.tickets = h("textarea", { id: "tickets", ...plain, "aria-describedby": "tickets-help", oninput: () => this.draw() });
    this.heading = h("h2", { id: "day" }, t("schedule.choose"));
    this.waits = h("p", { class: "note warn", hidden: true }, t("schedule.hold"));
    this.empty = h("p", { class: "note", hidden: true }, t("schedule.noneAtAll"));
    this.list = h("ul", { class: "slots" });
    this.element = h("div", { class: "day" }, this.hold.element, h("section", { "aria-labelledby": "day" },
      this.heading, moving === null && this.#howMany(most), this.note.element, this.waits, this.list, this.empty));
  }

  get #registered() {
    return this.schedule.rules.tickets === "registered";
  }

  /** @param {number} most */
  #howMany(most) {
    if (!this.#registered) {
      return h("div", { class: "row how-many" }, h("span", { "aria-hidden": "true" }, t("schedule.quantity")), this.stepper.element);
    }
    return h("div", { class: "field how-many" }, h("label", { for: "tickets" }, t("schedule.tickets")), this.tickets,
      h("p", { id: "tickets-help", class: "small faint" }, t("schedule.ticketsHelp", { n: most })));
  }

  #ticketIds() {
    return this.tickets.value.split(/[\s,，、;]+/).filter((ticket) => ticket !== "");
  }

  /** @param {string} date */
  open(date) {
    this.#date = date;
    this.note.clear();
    this.#cards.clear();
    this.heading.textContent = day(date);
    this.draw();
  }

  /** On a narrow page the times are below the calendar. */
  comeIntoView() {
    if (this.heading.getBoundingClientRect().top < innerHeight * 0.6) return;
    this.heading.scrollIntoView({ block: "start", behavior: wantsCalm() ? "auto" : "smooth" });
  }

  draw() {
    const { schedule, moving } = this;
    const offered = this.#date === null ? [] : this.slots.on(this.#date);
    this.waits.hidden = !this.hold.busy;
    this.empty.hidden = offered.length > 0;
    this.empty.textContent = this.#date === null ? t("schedule.noneAtAll") : t("schedule.none");
    /** @type {import("./slot-card.js").SlotOffer} */
    const offer = {
      act: moving === null ? "book" : "move",
      quantity: moving?.quantity ?? (this.#registered ? Math.max(1, this.#ticketIds().length) : this.stepper.value),
      currency: schedule.currency,
      paid: moving?.total_price ?? 0,
      current: moving?.slot ?? null,
      blocked: this.#busy || this.hold.busy || schedule.status === "closed",
    };
    for (const slot of offered) this.#card(slot.id).draw(slot, offer);
    const elements = offered.map((slot) => this.#card(slot.id).element);
    // Putting the same elements in again would take the focus from them.
    const shown = this.list.children;
    if (elements.length !== shown.length || elements.some((element, index) => shown[index] !== element)) show(this.list, elements);
  }

  /** @param {string} id */
  #card(id) {
    const card = this.#cards.get(id) ?? new SlotCard(id, () => this.#take(id));
    this.#cards.set(id, card);
    return card;
  }

  /** @param {string} slot */
  #take(slot) {
    return this.moving === null ? this.#book(slot) : this.#move(this.moving, slot);
  }

  /** Tells who cannot see it that a time on this page has filled up. @param {Slot[]} changed */
  heed(changed) {
    for (const slot of changed) {
      const shown = this.#cards.get(slot.id)?.element;
      if (slot.availability !== "FULL" || !shown?.isConnected || shown.dataset["state"] === "FULL") continue;
      announce(t("schedule.nowFull", { time: `${slot.start_time}–${slot.end_time}` }));
    }
  }

  /** @param {string} slot */
  async #book(slot) {
    const tickets = this.#ticketIds();
    const most = this.schedule.rules.max_units_per_booking;
    if (this.#registered && (tickets.length === 0 || tickets.length > most)) {
      this.note.say("TICKETS", tickets.length === 0 ? t("schedule.noTickets") : t("schedule.tooManyTickets", { n: most }));
      this.tickets.focus();
      return;
    }
    const units = this.#registered ? { tickets } : { quantity: this.stepper.value };
    await this.#attempt(slot, async () => {
      const booking = await api.post("/v1/bookings", { customer: customer(), schedule: this.schedule.id, slot, ...units });
      this.hold.open(booking, t("schedule.booking", { name: this.schedule.name, slot: slot.replace("T", " ") }));
    });
  }

  /** @param {Booking} booking @param {string} slot */
  async #move(booking, slot) {
    await this.#attempt(slot, async () => {
      const moved = await api.post(`/v1/bookings/${booking.id}/move`, { slot }, { token: tokenOf(booking.id) });
      keepMoved({ id: booking.id, from: (booking.slot ?? "").replace("T", " "), difference: moved.price_difference });
      location.assign(`/bookings/${booking.id}`);
    });
  }

  /** @param {string} slot @param {() => Promise<void>} act */
  async #attempt(slot, act) {
    this.#busy = true;
    this.note.clear();
    this.draw();
    try {
      await act();
    } catch (error) {
      await this.#refused(error, slot);
    } finally {
      this.#busy = false;
      this.draw();
    }
  }

  /** @param {unknown} error @param {string} slot */
  async #refused(error, slot) {
    const problem = error instanceof Refusal ? error.problem : null;
    if (problem && Array.isArray(problem["alternatives"])) {
      const left = Number(problem["available"] ?? 0);
      const full = left > 0 ? t("schedule.full", { n: left }) : t("schedule.fullNone");
      const words = problem.code === "NEW_SLOT_FULL" ? t("refused.NEW_SLOT_FULL") : full;
      this.note.say(problem.code, words, this.#instead(problem["alternatives"]));
    } else if (problem && typeof problem["ticket"] === "string") {
      this.note.say(problem.code, t(`refused.${problem.code}`, { ticket: problem["ticket"] }));
    } else if (problem?.code === "FORBIDDEN" && this.moving !== null) {
      this.note.say(problem.code, t("schedule.moveDearer"));
    } else {
      await this.note.explain(error, "schedule", this.schedule.id);
    }
    this.note.element.dataset["slot"] = slot;
  }

  /** @param {Alternative[]} offered */
  #instead(offered) {
    const alternatives = offered.filter((other) => other.slot !== this.moving?.slot);
    if (alternatives.length === 0) return null;
    const pick = (/** @type {string} */ slot) => {
      const date = slot.slice(0, 10);
      this.onDay(date);
      this.open(date);
      return this.#take(slot);
    };
    const buttons = alternatives.map((other) => {
      const when = `${day(other.slot.slice(0, 10), { month: "short", day: "numeric", weekday: "short" })} ${other.slot.slice(11)}`;
      const words = t("schedule.alternative", { when, left: other.available_count });
      return h("button", { type: "button", "data-alternative": other.slot, onclick: () => pick(other.slot) }, words);
    });
    return h("div", { class: "instead" }, h("p", {}, t("schedule.instead")), h("div", { class: "row" }, buttons));
  }
}
