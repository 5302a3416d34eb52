// Reading many bookings of an inventory, a page at a time, within a bound.

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./desk-live.js").Inventory} Inventory */
/** @typedef {import("./types.d.ts").Booking} Booking */

const PAGE = 500;

/**
 * Newest first, page by page, until there are no more, `onPage` says `false`, or the bound is met.
 *
 * @param {Api} api @param {Inventory} inventory
 * @param {{status?: string, pagesMax: number, limit?: number, signal: AbortSignal, onPage: (bookings: Booking[]) => boolean | void}} how
 * @returns {Promise<boolean>} whether the end was reached
 */
export async function eachBooking(api, inventory, { status, pagesMax, limit = PAGE, signal, onPage }) {
  const asked = new URLSearchParams({ [inventory.kind]: inventory.id, limit: String(limit) });
  if (status !== undefined) asked.set("status", status);
  for (let page = 0; page < pagesMax; page += 1) {
    const { items, next_cursor } = await api.get(`/v1/bookings?${asked}`, { signal });
    if (onPage(items) === false) return false;
    if (next_cursor === null) return true;
    asked.set("cursor", next_cursor);
  }
  return false;
}
