// What the QR of a ticket says, and reading it back at the door.

/** @typedef {import("./types.d.ts").Booking} Booking */

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Six characters of an alphabet without lookalikes: no 0, 1, I and O. */
const CODE = /^[2-9A-HJ-NP-Z]{6}$/;

/** A link, so that a guest who scans it lands on the booking. @param {Pick<Booking, "id" | "redeem_code">} booking */
export function ticketText(booking) {
  return `${location.origin}/bookings/${booking.id}?code=${booking.redeem_code ?? ""}`;
}

/** A link as above or a bare code; `null` for anything else. @param {string} text @returns {{id: string, code: string} | {code: string} | null} */
export function parseTicket(text) {
  const trimmed = text.trim();
  const bare = trimmed.toUpperCase();
  if (CODE.test(bare)) return { code: bare };
  if (!URL.canParse(trimmed)) return null;
  const url = new URL(trimmed);
  const id = /^\/bookings\/([^/]+)\/?$/.exec(url.pathname)?.[1] ?? "";
  const code = (url.searchParams.get("code") ?? "").trim().toUpperCase();
  return ID.test(id) && CODE.test(code) ? { id: id.toLowerCase(), code } : null;
}
