// Which booking has this code? The API redeems by booking, so the desk keeps the codes of the chosen inventory and reads on when
// it meets one it does not know.

import { eachBooking } from "./desk-bookings.js";
import { parseTicket } from "./ticket.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./desk-live.js").Inventory} Inventory */
/** @typedef {import("./types.d.ts").Booking} Booking */

/** 50,000 bookings for each status. Beyond that a bare code of an old booking is not found, but its QR, which names the booking, is. */
const PAGES_MAX = 100;
/** Late payments give an old booking a new code; they are looked for again no more often than this. */
const READ_AGAIN_MS = 60_000;
/** A hold has its code already, so that it is known by the time it is paid. */
const STATUSES = ["confirmed", "redeemed", "on_hold"];

export const BOOKING_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Six characters of an alphabet without lookalikes: no 0, 1, I and O. */
const CODE = /^[2-9A-HJ-NP-Z]{6}$/;

/**
 * What was typed or scanned, if it can be a ticket: anything else is not worth looking for among all bookings.
 *
 * @param {string} text @returns {{id: string | null, code: string} | null}
 */
export function readTicket(text) {
  const ticket = parseTicket(text);
  if (!ticket || !CODE.test(ticket.code)) return null;
  if (!("id" in ticket)) return { id: null, code: ticket.code };
  return BOOKING_ID.test(ticket.id) ? { id: ticket.id.toLowerCase(), code: ticket.code } : null;
}

export class Codes {
  /** @type {Map<string, string>} */
  #idOf = new Map();
  /** Everything made before this was read. */
  #readThrough = "";
  #readAt = -Infinity;
  /** @type {Promise<void> | null} */
  #reading = null;
  /** Whether there are bookings that were not read. */
  partial = false;

  /** @type {((known: number) => void)[]} */
  #watching = [];

  /** @param {Api} api @param {Inventory} inventory @param {AbortSignal} signal */
  constructor(api, inventory, signal) {
    this.api = api;
    this.inventory = inventory;
    this.signal = signal;
  }

  /** Called with how many are known while it reads. @param {(known: number) => void} listener */
  watch(listener) {
    this.#watching.push(listener);
  }

  get size() {
    return this.#idOf.size;
  }

  /** @param {string} code @returns {Promise<string | null>} the booking */
  async find(code) {
    for (const read of [() => this.#reading, () => this.#readNew(), () => this.#readAll()]) {
      const id = this.#idOf.get(code);
      if (id !== undefined) return id;
      await read();
    }
    return this.#idOf.get(code) ?? null;
  }

  /** Reads ahead, so that the first guest does not wait. */
  async prepare() {
    if (this.#readThrough === "") await this.#readAll();
  }

  #readAll() {
    if (this.#reading) return this.#reading;
    if (performance.now() - this.#readAt < READ_AGAIN_MS) return Promise.resolve();
    this.#reading = this.#all().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #all() {
    this.partial = false;
    for (const status of STATUSES) {
      const whole = await eachBooking(
        this.api,
        this.inventory,
        { status, pagesMax: PAGES_MAX, signal: this.signal, onPage: (page) => this.#take(page) },
      );
      this.partial ||= !whole;
    }
    this.#readAt = performance.now();
    if (this.#readThrough === "") this.#readThrough = new Date(0).toISOString();
  }

  async #readNew() {
    if (this.#readThrough === "") return;
    const through = this.#readThrough;
    await eachBooking(this.api, this.inventory, { pagesMax: PAGES_MAX, limit: 100, signal: this.signal, onPage: (page) => {
      this.#take(page);
      return (page.at(-1)?.created_at ?? "") >= through;
    } });
  }

  /** @param {Booking[]} page */
  #take(page) {
    for (const booking of page) {
      if (booking.created_at > this.#readThrough) this.#readThrough = booking.created_at;
      const live = booking.status === "confirmed" || booking.status === "redeemed" || booking.status === "on_hold";
      // A code is one live booking's; an ended one may have had it before.
      if (booking.redeem_code !== null && (live || !this.#idOf.has(booking.redeem_code))) this.#idOf.set(booking.redeem_code, booking.id);
    }
    for (const listener of this.#watching) listener(this.#idOf.size);
  }
}
