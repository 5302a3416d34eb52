// The bookings this browser made: their hold tokens are what lets it act on them.

/** @typedef {{id: string, token: string | null, name: string, event: string | null}} Mine */

const BOOKINGS = "boxoffice.bookings";
const CUSTOMER = "boxoffice.customer";
const KEPT_MAX = 50;

/** Newest first. @returns {Mine[]} */
export function mine() {
  try {
    return JSON.parse(localStorage.getItem(BOOKINGS) ?? "[]");
  } catch {
    return [];
  }
}

/** @param {{id: string, hold_token: string | null, event: string | null}} booking @param {string} name what was booked, for people */
export function remember(booking, name) {
  const others = mine().filter((other) => other.id !== booking.id);
  keep(BOOKINGS, JSON.stringify([{ id: booking.id, token: booking.hold_token, name, event: booking.event }, ...others].slice(0, KEPT_MAX)));
}

/** @param {string} id @returns {string | null} */
export function tokenOf(id) {
  return mine().find((booking) => booking.id === id)?.token ?? null;
}

/** Who books in this browser: a name nobody else has, kept so that limits per customer hold. */
export function customer() {
  try {
    const known = localStorage.getItem(CUSTOMER);
    if (known) return known;
  } catch {
    // Nothing is kept in this browser.
  }
  const fresh = `guest-${Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  keep(CUSTOMER, fresh);
  return fresh;
}

/** @param {string} name @param {string} value */
function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Full, or forbidden: the booking is made all the same.
  }
}
