// What a booking is now, as a badge.

import { h } from "./dom.js";
import { t } from "./words.js";

const LOOK = { on_hold: "warn", confirmed: "good", redeemed: "", cancelled: "", expired: "bad" };

/** @param {import("./types.d.ts").Booking["status"]} status */
export function statusBadge(status) {
  return h("span", { class: `badge ${LOOK[status]}`, "data-status": status }, t(`status.${status}`));
}
