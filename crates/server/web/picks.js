// What is picked and not held yet, kept for a reload of this tab.

/** @typedef {{seats: {section: string, seat: string}[], areas: {name: string, quantity: number}[]}} Picks */

/** @param {string} event */
const place = (event) => `boxoffice.picks.${event}`;

/** @param {string} event @param {Picks} picks */
export function keepPicks(event, { seats, areas }) {
  try {
    if (seats.length + areas.length === 0) sessionStorage.removeItem(place(event));
    else sessionStorage.setItem(place(event), JSON.stringify({ seats, areas }));
  } catch {
    // Then they are gone after a reload.
  }
}

/** @param {string} event @returns {Picks} */
export function keptPicks(event) {
  try {
    return { seats: [], areas: [], ...JSON.parse(sessionStorage.getItem(place(event)) ?? "{}") };
  } catch {
    return { seats: [], areas: [] };
  }
}
