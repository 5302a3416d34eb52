// The hall of one event in memory: one byte for each seat, and what is left in every place. Nothing here draws.

/** @typedef {import("./types.d.ts").EventShown} EventShown */

export const FREE = 0;
export const HELD = 1;
export const SOLD = 2;
export const BLOCKED = 3;
export const STATE_NAMES = /** @type {const} */ (["available", "held", "sold", "blocked"]);

/** Seat strings have one character a seat. */
const STATE_OF_CHARACTER = new Uint8Array(128).fill(BLOCKED);
STATE_OF_CHARACTER[".".charCodeAt(0)] = FREE;
STATE_OF_CHARACTER["h".charCodeAt(0)] = HELD;
STATE_OF_CHARACTER["s".charCodeAt(0)] = SOLD;

/**
 * A subsection. Its seats are the numbers from `first` on, row after row.
 *
 * @typedef {{
 *   kind: "block", address: string, section: string, number: number, rows: number, cols: number, price: number, first: number, free: number, total: number,
 * }} Block
 * @typedef {{kind: "area", address: string, price: number, free: number, total: number}} Area
 * @typedef {{index: number, block: Block, section: string, seat: string, row: number, col: number, price: number, state: number}} Seat
 */

export class Hall {
  /** @type {Block[]} */
  blocks = [];
  /** @type {Area[]} */
  areas = [];
  /** The state of every seat, by its number. @type {Uint8Array} */
  states;
  /** Whether the seats were told already; before that only the counts are known. */
  seatsKnown = false;
  free = 0;
  total = 0;
  /** @type {Map<string, Block>} */
  #blockOfAddress = new Map();
  /** @type {Map<string, Area>} */
  #areaOfName = new Map();

  /** @param {EventShown} event */
  constructor(event) {
    let first = 0;
    for (const section of event.sections) {
      for (const { number, rows, cols, stats } of section.subsections) {
        const address = `${section.name}-${number}`;
        /** @type {Block} */
        const block = { kind: "block", address, section: section.name, number, rows, cols, price: section.price, first, free: stats.available, total: rows * cols };
        this.blocks.push(block);
        this.#blockOfAddress.set(address, block);
        first += rows * cols;
      }
    }
    for (const { name, price, capacity, stats } of event.areas) {
      /** @type {Area} */
      const area = { kind: "area", address: name, price, free: stats.available, total: capacity };
      this.areas.push(area);
      this.#areaOfName.set(name, area);
    }
    this.states = new Uint8Array(first);
    this.free = event.stats.available;
    this.total = event.stats.total;
  }

  /** @param {{stats: {available: number}, sections: {section: string, seats: string[]}[], areas: {name: string, stats: {available: number}}[]}} snapshot */
  takeSnapshot(snapshot) {
    for (const { section, seats } of snapshot.sections) {
      const block = this.#blockOfAddress.get(section);
      if (!block) continue;
      let index = block.first;
      let free = 0;
      for (const row of seats) {
        for (let col = 0; col < row.length; col += 1, index += 1) {
          const state = STATE_OF_CHARACTER[row.charCodeAt(col)] ?? BLOCKED;
          this.states[index] = state;
          if (state === FREE) free += 1;
        }
      }
      block.free = free;
    }
    this.#takeAreas(snapshot.areas);
    this.free = snapshot.stats.available;
    this.seatsKnown = true;
  }

  /**
   * @param {{stats: {available: number}, seats: {section: string, seat: string, state: typeof STATE_NAMES[number]}[], areas: {name: string, stats: {available: number}}[]}} change
   * @returns {number[]} the seats that are not what they were
   */
  takeChange(change) {
    const changed = [];
    for (const { section, seat, state } of change.seats) {
      const index = this.indexOf(section, seat);
      const after = STATE_NAMES.indexOf(state);
      if (index < 0 || after < 0) continue;
      const before = this.states[index];
      if (before === after) continue;
      const block = this.blockOf(index);
      if (before === FREE) block.free -= 1;
      if (after === FREE) block.free += 1;
      this.states[index] = after;
      changed.push(index);
    }
    this.#takeAreas(change.areas);
    this.free = change.stats.available;
    return changed;
  }

  /** @param {{name: string, stats: {available: number}}[]} areas */
  #takeAreas(areas) {
    for (const { name, stats } of areas) {
      const area = this.#areaOfName.get(name);
      if (area) area.free = stats.available;
    }
  }

  /** @param {string} address @returns {Block | undefined} */
  block(address) {
    return this.#blockOfAddress.get(address);
  }

  /** @param {string} name @returns {Area | undefined} */
  area(name) {
    return this.#areaOfName.get(name);
  }

  /** The number of a seat, or -1. @param {string} address "A-1" @param {string} seat "3-7": row and seat */
  indexOf(address, seat) {
    const block = this.#blockOfAddress.get(address);
    const [row = 0, col = 0] = seat.split("-").map(Number);
    if (!block || !(row >= 1 && row <= block.rows && col >= 1 && col <= block.cols)) return -1;
    return block.first + (row - 1) * block.cols + col - 1;
  }

  /** @param {number} index @returns {Block} */
  blockOf(index) {
    let low = 0;
    let high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (/** @type {Block} */ (this.blocks[middle]).first <= index) low = middle;
      else high = middle - 1;
    }
    return /** @type {Block} */ (this.blocks[low]);
  }

  /** @param {number} index @returns {Seat} */
  seat(index) {
    const block = this.blockOf(index);
    const row = Math.floor((index - block.first) / block.cols) + 1;
    const col = ((index - block.first) % block.cols) + 1;
    return { index, block, section: block.address, seat: `${row}-${col}`, row, col, price: block.price, state: this.states[index] ?? BLOCKED };
  }
}

/** Where to begin choosing: the leftmost two free seats side by side in the first row that has them, else the first free seat, else the first. @param {Hall} hall @param {Block} block @returns {number} */
export function bestSeat({ states }, block) {
  let single = -1;
  for (let index = block.first; index < block.first + block.total; index += 1) {
    if (states[index] !== FREE) continue;
    if (single < 0) single = index;
    const isLastOfRow = (index - block.first + 1) % block.cols === 0;
    if (!isLastOfRow && states[index + 1] === FREE) return index;
  }
  return Math.max(single, block.first);
}

/** How much is left: the words, the colour and the pattern all follow from it. @param {{free: number, total: number}} place @returns {"none" | "few" | "many"} */
export function left({ free, total }) {
  return free <= 0 ? "none" : free * 5 < total ? "few" : "many";
}
