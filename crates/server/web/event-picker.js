// One event, opened: the parts of the picker, and what goes between them.

import { Choice, bySection } from "./choice.js";
import { announce, h, show, wantsCalm } from "./dom.js";
import { Best } from "./event-best.js";
import { Order } from "./event-order.js";
import { Places } from "./event-places.js";
import { alternativeWords, explain } from "./event-refusal.js";
import { Sales } from "./event-sales.js";
import { setClock } from "./server-clock.js";
import { dateTimeThere, money, whyNot } from "./format.js";
import { legend } from "./hall-legend.js";
import "./hall-map.js";
import { seatWords } from "./hall-words.js";
import { FREE, Hall } from "./hall.js";
import { outcomeWords } from "./hold.js";
import { LiveBadge } from "./live-badge.js";
import { follow } from "./live.js";
import { customer, mine, remember, tokenOf } from "./mine.js";
import { keepPicks, keptPicks } from "./picks.js";
import { seatListWords } from "./seat-words.js";
import { t } from "./words.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./types.d.ts").EventShown} EventShown */
/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {import("./hall.js").Block} Block */
/** @typedef {import("./hall-map.js").HallMap} HallMap */
/** @typedef {import("./hold.js").HoldPanel} HoldPanel */
/** @typedef {{seats?: object[], best_available?: object, areas?: object[]}} Wanted */

/** A live hold is among the newest that this browser remembers. */
const HOLDS_LOOKED_AT_MAX = 3;

export class Picker {
  map = /** @type {HallMap} */ (document.createElement("hall-map"));
  #host;
  #frame;
  #api;
  #event;
  #hall;
  #choice;
  #most;
  #sales;
  #places;
  #best;
  #order;
  #stop = new AbortController();
  #asking = false;
  #waiting = 0;
  /** @type {HoldPanel | null} */
  #panel = null;
  /** @type {Set<number>} */
  #yours = new Set();
  /** Whether what was picked before a reload is picked again. */
  #restored = false;
  #title;
  #room = h("div", { class: "room" });
  #side = h("div", { class: "side" });
  #badge = h("span", { class: "badge" });
  #connection = new LiveBadge();

  /** @param {HTMLElement} host @param {HTMLElement} frame @param {Api} api @param {EventShown} event */
  constructor(host, frame, api, event) {
    this.#host = host;
    this.#frame = frame;
    this.#api = api;
    this.#event = event;
    this.#title = h(host.getAttribute("level") === "1" ? "h1" : "h2", { class: "title", tabindex: "-1" }, event.name);
    this.#hall = new Hall(event);
    this.#choice = new Choice(this.#hall);
    this.#most = event.rules.max_units_per_booking;
    this.#sales = new Sales(() => this.#refresh());
    this.#places = new Places(this.#hall, event.currency, { enter: (block) => this.#enter(block), area: (name, quantity) => this.#setArea(name, quantity) });
    this.#best = new Best(this.#hall, this.#most, (wanted) => this.#holdBest(wanted));
    this.#order = new Order(this.#hall, event.currency, terms(event), {
      hold: () => this.#holdChosen(),
      clear: () => this.#clear(),
      seat: (index) => this.#unpick(index),
      area: (name) => this.#setArea(name, 0),
    });
    this.#draw();
    this.map.open(this.#hall, event.currency, {
      pickSeat: (index) => this.#pick(index),
      pickArea: (name) => this.#addToArea(name),
      leaveSeats: (block) => this.#leave(block),
    });
    this.map.mark({ picked: this.#choice.seats, yours: this.#yours });
    this.#sales.follow(event);
    setClock(api).then(() => this.#stop.signal.aborted || this.#sales.follow(this.#event));
    this.#refresh();
    if (event.status === "cancelled") {
      this.#end();
    } else {
      this.#follow();
      this.#resume();
    }
  }

  close() {
    this.#stop.abort();
    this.#sales.stop();
    cancelAnimationFrame(this.#waiting);
  }

  #draw() {
    const { starts_at, timezone, venue } = this.#event;
    const seated = this.#hall.blocks.length > 0;
    show(this.#side, this.#order.element);
    show(
      this.#room,
      h("section", { class: "hall", "aria-label": t("event.tools") }, this.map, seated && legend()),
      seated && this.#best.element,
      this.#places.element,
      this.#side,
    );
    show(
      this.#frame,
      h("header", {},
        this.#title,
        h("p", { class: "row" },
          starts_at !== null && h("span", { class: "faint", "data-starts": true }, dateTimeThere(starts_at, timezone)),
          venue !== null && h("span", { class: "faint" }, venue),
          this.#badge,
          this.#connection.element)),
      this.#sales.element,
      this.#room,
    );
  }

  #follow() {
    follow(this.#api, `/v1/events/${encodeURIComponent(this.#event.id)}/stream`, {
      signal: this.#stop.signal,
      onConnection: (connection) => this.#connection.set(connection),
      onRefusal: (refusal) => {
        if (refusal.status !== 404) return this.#order.say("bad", whyNot(refusal));
        // It was deleted while this page was open.
        this.#sales.say(t("event.missing"), "bad");
        this.#end();
      },
      onMessage: (kind, data) => {
        if (data.status !== undefined && data.status !== this.#event.status) this.#take({ ...this.#event, status: data.status });
        if (kind === "snapshot") this.#hall.takeSnapshot(data);
        const changed = kind === "change" ? this.#hall.takeChange(data) : null;
        this.map.changed(changed);
        this.#dropLost(changed);
        if (kind === "snapshot" && !this.#restored) this.#restore();
        this.#refreshSoon();
      },
    });
  }

  /** What the event is now: its sales may have been closed, or all of it cancelled. @param {EventShown} event */
  #take(event) {
    this.#event = event;
    this.#sales.follow(event);
    if (event.status === "cancelled" && !this.#stop.signal.aborted) {
      announce(t("event.cancelled"));
      this.#end();
    } else {
      this.#refresh();
    }
  }

  /** Nothing can be picked or held any more: there is only the note, and what this page has booked. */
  #end() {
    const focused = this.#room.contains(/** @type {Document | ShadowRoot} */ (this.#room.getRootNode()).activeElement);
    this.close();
    this.#choice.clear();
    keepPicks(this.#event.id, { seats: [], areas: [] });
    this.#badge.hidden = true;
    this.#connection.element.hidden = true;
    show(this.#side, this.#panel);
    show(this.#room, this.#side);
    this.#panel?.end();
    if (focused) (this.#panel ?? this.#title).focus({ preventScroll: true });
  }

  /** A crowd buys faster than anybody reads: the words follow once a frame. */
  #refreshSoon() {
    if (this.#waiting === 0) this.#waiting = requestAnimationFrame(() => this.#refresh());
  }

  #refresh() {
    this.#waiting = 0;
    const { free, total } = this.#hall;
    const picking = !this.#panel && !this.#asking;
    this.#badge.textContent = free === 0 ? t("event.soldOut") : t("event.leftOf", { n: free, total });
    this.#badge.className = `badge ${free === 0 ? "bad" : free * 5 < total ? "warn" : "good"}`;
    this.#places.refresh(this.#choice.areas, picking ? this.#most - this.#choice.quantity : 0);
    this.#best.refresh(this.#choice.seats.size > 0, this.#sales.open && picking, this.#most - this.#choice.standing);
    this.#order.refresh(this.#choice, { open: this.#sales.open, asking: this.#asking });
  }

  /** For a reload of the page. */
  #keepPicks() {
    if (!this.#restored) return;
    keepPicks(this.#event.id, { seats: this.#choice.sortedSeats.map(({ section, seat }) => ({ section, seat })), areas: this.#choice.wantedAreas() });
  }

  /** What was picked before a reload and is still free is picked again; the rest is named. */
  #restore() {
    this.#restored = true;
    if (this.#panel || this.#asking) return;
    const { seats, areas } = keptPicks(this.#event.id);
    const room = () => this.#most - this.#choice.quantity;
    /** @type {string[]} */
    const lost = [];
    const gone = seats.filter(({ section, seat }) => {
      const index = this.#hall.indexOf(section, seat);
      const free = index >= 0 && this.#hall.states[index] === FREE && (this.#choice.seats.has(index) || room() > 0);
      if (free) this.#choice.seats.add(index);
      return !free;
    });
    if (gone.length > 0) lost.push(seatListWords(gone));
    for (const { name, quantity } of areas) {
      const known = this.#choice.areas.get(name) ?? 0;
      const kept = Math.max(known, Math.min(quantity, this.#hall.area(name)?.free ?? 0, known + room()));
      this.#choice.setArea(name, kept);
      if (kept < quantity) lost.push(`${name} × ${quantity - kept}`);
    }
    this.map.mark({});
    if (lost.length > 0) this.#order.say("warn", t(this.#choice.quantity > 0 ? "event.notKept" : "event.noneKept", { what: lost.join(", ") }));
    this.#keepPicks();
  }

  /** What was picked or unpicked is to be seen and heard. @param {string} key @param {string} what */
  #chosen(key, what) {
    announce(t(key, { what, n: this.#choice.quantity, price: money(this.#choice.price, this.#event.currency) }));
    this.#order.hush();
    this.map.mark({ offers: [] });
    this.#keepPicks();
    this.#refresh();
  }

  /** @param {number} index */
  #pick(index) {
    if (this.#panel || this.#asking) return;
    const seat = this.#hall.seat(index);
    if (this.#choice.seats.has(index)) return this.#unpick(index);
    const words = seatWords(seat, this.#event.currency, { picked: this.#choice.seats, yours: this.#yours });
    if (seat.state !== FREE) return announce(words);
    if (this.#choice.quantity >= this.#most) return this.#order.say("warn", t("event.most", { n: this.#most }));
    this.#choice.seats.add(index);
    this.#chosen("event.picked", seatListWords([seat]));
  }

  /** @param {number} index */
  #unpick(index) {
    this.#choice.seats.delete(index);
    this.#chosen("event.unpicked", seatListWords([this.#hall.seat(index)]));
  }

  /** @param {string} name @param {number} quantity */
  #setArea(name, quantity) {
    const fewer = quantity < (this.#choice.areas.get(name) ?? 0);
    this.#choice.setArea(name, quantity);
    this.#chosen(fewer ? "event.unpicked" : "event.picked", `${name} × ${quantity}`);
  }

  /** @param {string} name */
  #addToArea(name) {
    if (this.#panel || this.#asking) return;
    const [now, free] = [this.#choice.areas.get(name) ?? 0, this.#hall.area(name)?.free ?? 0];
    if (now >= free) return announce(t("event.none"));
    if (this.#choice.quantity >= this.#most) return this.#order.say("warn", t("event.most", { n: this.#most }));
    this.#setArea(name, now + 1);
  }

  #clear() {
    this.#choice.clear();
    this.#keepPicks();
    this.map.mark({ offers: [] });
    this.#order.hush();
    this.#order.focus();
    this.#refresh();
  }

  /** @param {Block} block */
  #enter(block) {
    this.map.scrollIntoView({ block: "nearest", behavior: wantsCalm() ? "auto" : "smooth" });
    this.map.enter(block);
  }

  /** @param {Block} block */
  #leave(block) {
    this.map.showAll();
    this.#places.focus(block);
  }

  /** Seats that somebody else took are no longer picked. @param {number[] | null} changed all, if not said */
  #dropLost(changed) {
    // While a hold is asked for, its own seats come back as held.
    if (this.#asking || this.#choice.seats.size === 0) return;
    const lost = (changed ?? [...this.#choice.seats]).filter((index) => this.#choice.seats.has(index) && this.#hall.states[index] !== FREE);
    if (lost.length === 0) return;
    for (const index of lost) this.#choice.seats.delete(index);
    const what = seatListWords(lost.map((index) => this.#hall.seat(index)));
    this.#keepPicks();
    this.#order.say("warn", t(this.#choice.quantity > 0 ? "event.lost" : "event.lostAll", { what }));
    this.map.mark({});
  }

  #holdChosen() {
    if (this.#choice.quantity === 0) return;
    const seats = this.#choice.wantedSeats();
    const areas = this.#choice.wantedAreas();
    this.#hold({ ...(seats.length > 0 && { seats }), ...(areas.length > 0 && { areas }) }, { quantity: this.#choice.quantity, section: null });
  }

  /** @param {import("./event-best.js").Wanted} wanted */
  #holdBest(wanted) {
    const areas = this.#choice.wantedAreas();
    this.#hold({ best_available: wanted, ...(areas.length > 0 && { areas }) }, wanted);
  }

  /** @param {Wanted} wanted @param {{quantity: number, section: string | null}} asked */
  async #hold(wanted, asked) {
    if (this.#asking || this.#panel || !this.#sales.open) return;
    this.#asking = true;
    this.#order.hush();
    this.#refresh();
    try {
      const booking = await this.#api.post("/v1/bookings", { customer: customer(), event: this.#event.id, ...wanted });
      remember(booking, this.#event.name);
      this.#asking = false;
      this.#held(booking, booking.hold_token).focus({ preventScroll: true });
      announce(t("event.held", { n: booking.quantity }));
      this.#host.dispatchEvent(new CustomEvent("boxoffice-held", { bubbles: true, composed: true, detail: { booking } }));
    } catch (error) {
      this.#asking = false;
      if (this.#stop.signal.aborted) return;
      this.#refused(error, wanted, asked);
      this.#refresh();
    }
  }

  /** @param {unknown} error @param {Wanted} wanted @param {{quantity: number, section: string | null}} asked */
  #refused(error, wanted, asked) {
    const { words, conflicts, alternatives, apart, anywhere, booking, reload } = explain(error, asked);
    for (const { section, seat } of conflicts) this.#choice.seats.delete(this.#hall.indexOf(section, seat));
    // And those that the stream told of while the answer was on its way.
    for (const index of this.#choice.seats) if (this.#hall.states[index] !== FREE) this.#choice.seats.delete(index);
    this.#keepPicks();
    const areas = wanted.areas ? { areas: wanted.areas } : {};
    const best = wanted.best_available;
    const instead = (/** @type {object} */ change) => () => this.#holdBest(/** @type {import("./event-best.js").Wanted} */ ({ ...best, ...change }));
    /** @type {import("./event-order.js").Action[]} */
    const actions = alternatives.map((alternative, place) => ({
      offer: true,
      words: alternativeWords(alternative, place, this.#event.currency),
      does: () => this.#hold({ seats: bySection(alternative.seats), ...areas }, asked),
    }));
    if (apart && best) actions.push({ words: t("event.apart"), does: instead({ adjacent: "preferred" }) });
    if (anywhere && best) actions.push({ words: t("event.wholeHall"), does: instead({ section: null }) });
    if (booking !== null && tokenOf(booking) !== null) actions.push({ words: t("event.showBooking"), does: () => this.#show(booking) });
    this.#order.say("bad", words, actions);
    this.#order.hushOnRecovery(this.#api, error);
    const offers = alternatives.map(({ seats }) => seats.map(({ section, seat }) => this.#hall.indexOf(section, seat)).filter((index) => index >= 0));
    this.map.mark({ offers });
    this.map.showSeats(offers.flat().slice(0, 1));
    if (reload) this.#reload();
  }

  async #reload() {
    try {
      this.#take(await this.#api.get(`/v1/events/${encodeURIComponent(this.#event.id)}`, { signal: this.#stop.signal }));
    } catch {
      // The refusal is told already; this would only have said more.
    }
  }

  /** A hold outlives the page: it is looked for when the page comes back. */
  async #resume() {
    const known = mine().filter(({ event }) => event === this.#event.id).slice(0, HOLDS_LOOKED_AT_MAX);
    for (const { id } of known) if (await this.#show(id, true)) return;
  }

  /** @param {string} id @param {boolean} [onlyHeld] */
  async #show(id, onlyHeld = false) {
    const token = tokenOf(id);
    try {
      const booking = await this.#api.get(`/v1/bookings/${id}`, { token, signal: this.#stop.signal });
      if (this.#panel || this.#asking || (onlyHeld && booking.status !== "on_hold")) return false;
      this.#held(booking, token);
      return true;
    } catch (error) {
      if (!onlyHeld) {
        this.#order.say("bad", whyNot(error));
        this.#order.hushOnRecovery(this.#api, error);
      }
      return false;
    }
  }

  /** @param {Booking} booking @param {string | null} token */
  #held(booking, token) {
    this.#choice.clear();
    this.#restored = true;
    this.#keepPicks();
    this.#yours.clear();
    for (const { section, seat } of booking.seats) this.#yours.add(this.#hall.indexOf(section, seat));
    this.#yours.delete(-1);
    const panel = /** @type {HoldPanel} */ (document.createElement("hold-panel"));
    panel.className = "card order";
    panel.tabIndex = -1;
    panel.addEventListener("boxoffice-booking", (event) => this.#changed(/** @type {CustomEvent<{booking: Booking}>} */ (event).detail.booking));
    panel.addEventListener("boxoffice-again", () => this.#pickAgain());
    this.#panel = panel;
    panel.open(this.#api, booking, token, { bookings: `${this.#api.base}/bookings/` });
    show(this.#side, panel);
    this.#frame.setAttribute("data-held", "");
    this.map.mark({ offers: [] });
    this.map.showSeats([...this.#yours]);
    this.#refresh();
    // The hold was on its way when the event ended.
    if (this.#stop.signal.aborted) panel.end();
    return panel;
  }

  /** @param {Booking} booking */
  #changed(booking) {
    if (this.#stop.signal.aborted || (booking.status !== "cancelled" && booking.status !== "expired")) return;
    this.#pickAgain();
    const seats = booking.seats.map(({ section, seat }) => this.#hall.indexOf(section, seat)).filter((index) => index >= 0);
    const again = { words: t("event.again"), does: () => this.#pickThese(seats, booking.areas) };
    this.#order.say(booking.status === "expired" ? "warn" : "", outcomeWords(booking), booking.status === "expired" ? [again] : []);
  }

  /** @param {number[]} seats @param {{name: string, quantity: number}[]} areas */
  #pickThese(seats, areas) {
    for (const index of seats) if (this.#hall.states[index] === FREE) this.#choice.seats.add(index);
    for (const { name, quantity } of areas) this.#choice.setArea(name, Math.min(quantity, this.#hall.area(name)?.free ?? 0));
    this.#chosen("event.picked", seatListWords(this.#choice.sortedSeats));
  }

  #pickAgain() {
    this.#panel = null;
    this.#yours.clear();
    this.#frame.removeAttribute("data-held");
    this.#order.hush();
    show(this.#side, this.#order.element);
    this.#order.focus();
    this.map.mark({});
    this.#refresh();
  }
}

/** @param {EventShown} event */
function terms({ rules }) {
  const seconds = rules.hold_ttl_seconds;
  const time = seconds < 120 ? t("event.holdForSeconds", { n: seconds }) : t("event.holdFor", { n: Math.floor(seconds / 60) });
  return `${time} ${t("event.most", { n: rules.max_units_per_booking })}`;
}
