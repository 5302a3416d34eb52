// What the buyer has picked so far and nobody holds yet.

/** @typedef {import("./hall.js").Hall} Hall */

export class Choice {
  /** @type {Set<number>} */
  seats = new Set();
  /** @type {Map<string, number>} */
  areas = new Map();
  #hall;

  /** @param {Hall} hall */
  constructor(hall) {
    this.#hall = hall;
  }

  get quantity() {
    return this.seats.size + this.standing;
  }

  get standing() {
    return [...this.areas.values()].reduce((sum, quantity) => sum + quantity, 0);
  }

  get price() {
    let price = 0;
    for (const index of this.seats) price += this.#hall.blockOf(index).price;
    for (const [name, quantity] of this.areas) price += (this.#hall.area(name)?.price ?? 0) * quantity;
    return price;
  }

  /** By section, row and seat. @returns {import("./hall.js").Seat[]} */
  get sortedSeats() {
    return [...this.seats].sort((a, b) => a - b).map((index) => this.#hall.seat(index));
  }

  /** @param {string} name @param {number} quantity */
  setArea(name, quantity) {
    if (quantity > 0) this.areas.set(name, quantity);
    else this.areas.delete(name);
  }

  clear() {
    this.seats.clear();
    this.areas.clear();
  }

  /** As a booking asks for them. */
  wantedSeats() {
    return bySection(this.sortedSeats);
  }

  wantedAreas() {
    return [...this.areas].map(([name, quantity]) => ({ name, quantity }));
  }
}

/** @param {{section: string, seat: string}[]} seats */
export function bySection(seats) {
  /** @type {Map<string, string[]>} */
  const ids = new Map();
  for (const { section, seat } of seats) ids.set(section, [...(ids.get(section) ?? []), seat]);
  return [...ids].map(([section, ids]) => ({ section, ids }));
}
