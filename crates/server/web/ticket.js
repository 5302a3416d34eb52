// What is in a ticket's QR code: the booking and its code in one link, so that a desk can scan it and a phone can open it.

/** @typedef {{id: string, redeem_code: string | null}} Ticketed */

/** @param {Ticketed} booking @param {string} [origin] @returns {string} */
export function ticketText(booking, origin = location.origin) {
  const address = `${origin}/bookings/${encodeURIComponent(booking.id)}`;
  return booking.redeem_code === null ? address : `${address}?code=${encodeURIComponent(booking.redeem_code)}`;
}

/**
 * What was scanned or typed. Somebody who types leaves out, adds or lowers what a code does not care about.
 *
 * @param {string} text @returns {{id: string, code: string} | {code: string}}
 */
export function parseTicket(text) {
  const trimmed = text.trim();
  const link = URL.canParse(trimmed) ? new URL(trimmed) : null;
  const id = link?.pathname.match(/\/bookings\/([^/]+)\/?$/)?.[1];
  if (!link || id === undefined) return { code: plain(trimmed) };
  return { id: decodeURIComponent(id), code: plain(link.searchParams.get("code") ?? "") };
}

/** @param {string} code */
function plain(code) {
  return code.replace(/[\s-]/g, "").toUpperCase();
}
