// What a booking is now.

import { h } from "./dom.js";
import { t } from "./words.js";

const LOOK = { on_hold: "warn", confirmed: "good", redeemed: "", cancelled: "", expired: "bad" };

/** Nothing can become of it any more. @param {import("./types.d.ts").Booking} booking */
export function isOver({ status }) {
  return status === "cancelled" || status === "expired" || status === "redeemed";
}

/** @param {import("./types.d.ts").Booking["status"]} status */
export function statusBadge(status) {
  return h("span", { class: `badge ${LOOK[status]}`, "data-status": status }, t(`status.${status}`));
}
