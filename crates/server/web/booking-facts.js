// What a booking is of: names and times from the event, schedule or shop it is in.

import { pickupWindow } from "./box-card.js";
import { day, money, zoneWords } from "./format.js";
import { api } from "./frame.js";
import { seatRows } from "./seat-words.js";
import { language, t } from "./words.js";

/** @typedef {import("./types.d.ts").Booking} Booking */
/**
 * `zone` says in words which clock `when` goes by; `timezone` is that of the place; `cancelled`: the event is.
 *
 * @typedef {{
 *   name: string, link: string, timezone: string | null, what: {what: string, price: string}[], when: string | null, zone: string | null,
 *   starts: string | null, ends: string | null, box?: string, cancelled?: boolean,
 * }} Facts
 */

/** @param {Booking} booking @returns {Promise<Facts>} */
export async function factsOf(booking) {
  if (booking.event !== null) return eventFacts(booking, booking.event);
  if (booking.schedule !== null) return slotFacts(booking, booking.schedule);
  return boxFacts(booking, booking.shop ?? "");
}

/** What cannot be had is left out: the booking is shown all the same. @param {string} path @returns {Promise<any>} */
function ask(path) {
  return api.get(path).catch(() => null);
}

/** @param {Booking} booking @param {string} id @returns {Promise<Facts>} */
async function eventFacts(booking, id) {
  /** @type {import("./types.d.ts").EventShown | null} */
  const event = await ask(`/v1/events/${id}`);
  const starts = event?.starts_at ?? null;
  const when = starts === null ? null : new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "short", timeZone: event?.timezone }).format(new Date(starts));
  const what = [
    ...seatRows(booking.seats).map(({ what, price }) => ({ what, price: money(price, booking.currency) })),
    ...booking.areas.map((area) => ({ what: `${area.name} × ${area.quantity}`, price: money(area.price * area.quantity, booking.currency) })),
  ];
  return { name: event?.name ?? id, link: `/events/${id}`, timezone: event?.timezone ?? null, what, when, zone: event && starts !== null ? zoneWords(event.timezone, starts) : null, starts, ends: event?.ends_at ?? null, cancelled: event?.status === "cancelled" };
}

/** @param {Booking} booking @param {string} id @returns {Promise<Facts>} */
async function slotFacts(booking, id) {
  const [date, time] = /** @type {[string, string]} */ ((booking.slot ?? "").split("T"));
  const [schedule, slots] = await Promise.all([ask(`/v1/schedules/${id}`), ask(`/v1/schedules/${id}/slots?from=${date}&to=${date}`)]);
  /** @type {import("./types.d.ts").Slot | undefined} */
  const slot = slots?.items.find((/** @type {{id: string}} */ other) => other.id === booking.slot);
  const price = money(booking.total_price, booking.currency);
  const tickets = booking.tickets.map((ticket) => ({ what: t("booking.ticket", { ticket }), price: "" }));
  return {
    name: schedule?.name ?? id,
    link: `/schedules/${id}?date=${date}`,
    timezone: schedule?.timezone ?? null,
    what: [{ what: t("unit.places", { n: booking.quantity }), price }, ...tickets],
    when: `${day(date)}, ${time}${slot ? `–${slot.end_time}` : ""}`,
    zone: schedule && slot ? zoneWords(schedule.timezone, slot.starts_at) : null,
    starts: slot?.starts_at ?? null,
    ends: slot?.ends_at ?? null,
  };
}

/** @param {Booking} booking @param {string} id @returns {Promise<Facts>} */
async function boxFacts(booking, id) {
  const [shop, boxes] = await Promise.all([ask(`/v1/shops/${id}`), ask(`/v1/shops/${id}/boxes?limit=500`)]);
  /** @type {import("./types.d.ts").Box | undefined} */
  const box = boxes?.items.find((/** @type {{id: string}} */ other) => other.id === booking.box);
  const pickup = box?.pickup ?? null;
  const price = money(booking.total_price, booking.currency);
  return {
    name: shop?.name ?? id,
    link: `/shops/${id}`,
    timezone: shop?.timezone ?? null,
    what: [{ what: `${box?.name ?? booking.box} × ${booking.quantity}`, price }],
    when: pickup && shop ? t("booking.pickup", { window: pickupWindow(pickup, shop.timezone, true) }) : null,
    zone: pickup && shop ? zoneWords(shop.timezone, pickup.starts_at) : null,
    starts: pickup?.starts_at ?? null,
    ends: pickup?.ends_at ?? null,
    box: box?.name,
  };
}
