// The chosen inventory as it is right now: one stream for the whole desk, and what it has told so far.

import { follow } from "./live.js";
import { paced } from "./desk-pace.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./types.d.ts").Stats} Stats */
/** @typedef {import("./types.d.ts").Slot} Slot */
/** @typedef {import("./types.d.ts").Box} Box */
/** @typedef {import("./live.js").Connection} Connection */
/** @typedef {{kind: "event" | "schedule" | "shop", id: string, name: string, currency: string, timezone: string, starts_at: string | null}} Inventory */
/** @typedef {{section: string, seat: string, state: "available" | "held" | "sold" | "blocked"}} SeatChange */
/** @typedef {{section: string, rows: number, cols: number, seats: string[], stats: Stats}} LiveSection */
/** @typedef {{sequence: number, status?: import("./types.d.ts").EventShown["status"], seats?: SeatChange[], areas?: {name: string, stats: Stats}[], stats?: Stats, slots?: Slot[], boxes?: Box[]}} LiveChange */
/**
 * What every part of the desk works with.
 *
 * @typedef {import("./desk-codes.js").Codes} Codes
 * @typedef {(tab: string, detail?: Record<string, string>) => void} Go opens a tab, with something in it
 * @typedef {{api: Api, role: "admin" | "operator", inventory: Inventory, live: Live, codes: Codes, signal: AbortSignal, go: Go}} Desk
 */

/** Often enough to look live, seldom enough for any phone in the middle of an on-sale. */
const DRAW_MS = 400;

export const LETTERS = /** @type {const} */ ({ available: ".", held: "h", sold: "s", blocked: "x" });
const STATES = /** @type {Record<string, SeatChange["state"]>} */ ({ ".": "available", h: "held", s: "sold", x: "blocked" });

export class Live {
  /** @type {Connection} */
  connection = "reconnecting";
  sequence = 0;
  /** Of an event. @type {import("./types.d.ts").EventShown["status"] | null} */
  status = null;
  /** @type {Stats | null} */
  stats = null;
  /** @type {Map<string, LiveSection>} */
  sections = new Map();
  /** @type {Map<string, Stats>} */
  areas = new Map();
  /** @type {Map<string, Slot>} */
  slots = new Map();
  /** @type {Map<string, Box>} */
  boxes = new Map();
  /** @type {((change: LiveChange) => void)[]} */
  #onChange = [];
  /** @type {(() => void)[]} */
  #onDraw = [];
  #draw;

  /** @param {Api} api @param {Inventory} inventory @param {AbortSignal} signal @param {(refusal: import("./api.js").Refusal) => void} onRefusal */
  constructor(api, inventory, signal, onRefusal) {
    this.#draw = paced(DRAW_MS, signal, () => {
      for (const listener of this.#onDraw) listener();
    });
    follow(api, `/v1/${inventory.kind}s/${encodeURIComponent(inventory.id)}/stream`, {
      signal,
      onRefusal,
      onMessage: (event, data) => (event === "snapshot" ? this.#snapshot(data) : this.#change(data)),
      onConnection: (connection) => {
        this.connection = connection;
        this.#draw();
      },
    });
  }

  /** Called with every change, at once. A snapshot is a change without a list. @param {(change: LiveChange) => void} listener */
  onChange(listener) {
    this.#onChange.push(listener);
  }

  /** Called when there is something new to draw, but not more often than is good. @param {() => void} listener */
  onDraw(listener) {
    this.#onDraw.push(listener);
    if (this.sequence > 0) this.#draw();
  }

  /** @param {string} section @param {string} seat "3-7" @returns {SeatChange["state"] | null} */
  seat(section, seat) {
    const [row, col] = seat.split("-").map(Number);
    return STATES[this.sections.get(section)?.seats[(row ?? 0) - 1]?.[(col ?? 0) - 1] ?? ""] ?? null;
  }

  /** @param {any} data */
  #snapshot(data) {
    this.sequence = data.sequence;
    this.status = data.status ?? null;
    this.stats = data.stats ?? null;
    this.sections = new Map(
      (data.sections ?? []).map((/** @type {any} */ section) => [section.section, { ...section, stats: counted(section) }]),
    );
    this.areas = new Map((data.areas ?? []).map((/** @type {any} */ area) => [area.name, area.stats]));
    this.slots = new Map((data.slots ?? []).map((/** @type {Slot} */ slot) => [slot.id, slot]));
    this.boxes = new Map((data.boxes ?? []).map((/** @type {Box} */ box) => [box.id, box]));
    this.#tell({ sequence: data.sequence });
  }

  /** @param {LiveChange} change */
  #change(change) {
    this.sequence = change.sequence;
    if (change.status) this.status = change.status;
    if (change.stats) this.stats = change.stats;
    for (const seat of change.seats ?? []) this.#seat(seat);
    for (const area of change.areas ?? []) this.areas.set(area.name, area.stats);
    for (const slot of change.slots ?? []) this.slots.set(slot.id, slot);
    for (const box of change.boxes ?? []) this.boxes.set(box.id, box);
    this.#tell(change);
  }

  /** @param {SeatChange} change */
  #seat({ section: name, seat, state }) {
    const section = this.sections.get(name);
    const before = this.seat(name, seat);
    if (!section || before === null) return;
    const [row, col] = /** @type {[number, number]} */ (seat.split("-").map(Number));
    const line = /** @type {string} */ (section.seats[row - 1]);
    section.seats[row - 1] = line.slice(0, col - 1) + LETTERS[state] + line.slice(col);
    section.stats[before] -= 1;
    section.stats[state] += 1;
  }

  /** @param {LiveChange} change */
  #tell(change) {
    for (const listener of this.#onChange) listener(change);
    this.#draw();
  }
}

/** @param {{seats: string[]}} section @returns {Stats} */
function counted({ seats }) {
  const stats = { available: 0, held: 0, sold: 0, blocked: 0, total: 0 };
  for (const row of seats) {
    for (const letter of row) {
      stats[STATES[letter] ?? "blocked"] += 1;
      stats.total += 1;
    }
  }
  return stats;
}
