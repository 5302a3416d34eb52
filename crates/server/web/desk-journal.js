// The journal of an event, read from its beginning and kept in a small form, so that any seat can be asked about.

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./desk-live.js").Inventory} Inventory */
/** @typedef {{at: string, by: string | null, type: string, data: any}} Change */
/** @typedef {{change: Change, booking: string | null, leaves: boolean}} Entry `leaves`: the booking moved away from the seat with this. */

/** 500 changes or a little more each. After so many the reader is asked whether to go on. */
const PAGES_AT_ONCE = 100;
const SEAT_CHANGES = ["seats_blocked", "seats_unblocked"];
const BOOKING_CHANGES = ["booked", "confirmed", "confirmed_late", "extended", "cancelled", "moved", "redeemed", "expired"];

export class Journal {
  #after = 0;
  /** @type {string | null} Where to go on in the middle of a sequence. */
  #cursor = null;
  /** @type {Change[]} */
  #changes = [];
  /** How many were read, kept or not. */
  read = 0;
  /** When the last one read was made. */
  through = "";
  /** Whether everything committed so far was read. */
  complete = false;
  /** Whether the first one read is the first there ever was. */
  fromStart = true;

  /** @param {Api} api @param {Inventory} inventory */
  constructor(api, inventory) {
    this.api = api;
    this.inventory = inventory;
  }

  /** Reads on from where it was. @param {AbortSignal} signal @param {() => void} onProgress */
  async readOn(signal, onProgress) {
    for (let page = 0; page < PAGES_AT_ONCE; page += 1) {
      /** @type {Record<string, string>} */
      const from = this.#cursor === null ? { after: String(this.#after) } : { cursor: this.#cursor };
      const asked = new URLSearchParams({ inventory: `${this.inventory.kind}:${this.inventory.id}`, ...from, limit: "500" });
      const { items, next_cursor, next_after } = await this.api.get(`/v1/journal?${asked}`, { signal });
      if (this.read === 0 && items.length > 0) this.fromStart = items[0].sequence === 1;
      for (const change of items) this.#take(change);
      this.read += items.length;
      this.through = items.at(-1)?.at ?? this.through;
      this.#after = next_after;
      this.#cursor = next_cursor;
      this.complete = next_cursor === null;
      onProgress();
      if (this.complete) return;
    }
  }

  /** @param {any} change */
  #take({ at, by, type, data }) {
    if (SEAT_CHANGES.includes(type) || BOOKING_CHANGES.includes(type)) this.#changes.push({ at, by, type, data });
    if (type !== "event_created") return;
    // Seats that were blocked from the beginning were never blocked later.
    const seats = data.sections.flatMap((/** @type {any} */ section) => section.subsections.flatMap((/** @type {any} */ sub) =>
      sub.blocked.map((/** @type {string} */ seat) => ({ section: `${section.name}-${sub.number}`, seat }))));
    if (seats.length > 0) this.#changes.push({ at, by, type: "seats_blocked", data: { seats } });
  }

  /** Everything that happened to a seat, in order. @param {string} section @param {string} seat @returns {Entry[]} */
  of(section, seat) {
    const here = (/** @type {any} */ units) => (units?.seats ?? []).some(
      (/** @type {any} */ taken) => taken.section === section && taken.seat === seat,
    );
    /** The bookings that have the seat. */
    const having = new Set();
    /** @type {Entry[]} */
    const entries = [];
    for (const change of this.#changes) {
      const { type, data } = change;
      const booking = data.booking ?? null;
      if (SEAT_CHANGES.includes(type)) {
        if (here(data)) entries.push({ change, booking: null, leaves: false });
        continue;
      }
      const before = having.has(booking);
      if (type === "booked" ? here(data.units) : (type === "moved" || type === "confirmed_late") ? here(data.to) : before) having.add(booking);
      else having.delete(booking);
      const has = having.has(booking);
      if (before || has) entries.push({ change, booking, leaves: before && !has });
      // A seat of an ended booking is someone else's to have; a late payment may bring it back.
      if (type === "cancelled" || type === "expired") having.delete(booking);
    }
    return entries;
  }
}
