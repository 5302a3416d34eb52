// Cancelling an event for good: why, what is cancelled with it, and only then the confirmation.

import { h } from "./dom.js";
import { whyNot } from "./format.js";
import { onRecovery } from "./recovery.js";
import { spokenNote } from "./spoken-note.js";
import { t } from "./words.js";
import { askYesNo } from "./booking-dialogs.js";
import { areRight, field, textProblem } from "./desk-field.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {{holds_ended: number, bookings_cancelled: number}} Counts */

const REASON_CHARACTERS_MAX = 500;

/** @param {Desk} desk */
export function cancelPart(desk) {
  const { api, inventory, live } = desk;
  const reason = field(
    t("desk.event.reason"),
    { id: "cancel-reason", "data-reason": "" },
    textProblem(REASON_CHARACTERS_MAX, t("desk.event.noReason")),
  );
  const { element: note, say } = spokenNote();
  const button = h("button", { class: "danger", type: "submit" }, t("desk.event.cancel"));
  const heading = h("h2", { id: "cancel-title", tabindex: "-1" }, t("desk.event.title"));
  /** @param {boolean} dry_run @returns {Promise<Counts>} */
  const send = (dry_run) => api.post(`/v1/events/${encodeURIComponent(inventory.id)}/cancel`, { reason: reason.text(), dry_run });
  const cancel = async () => {
    if (!areRight([reason])) return;
    button.disabled = true;
    try {
      if (await isSure(inventory.name, await send(true))) {
        say(countWords("desk.event.done", await send(false)), "good");
        form.hidden = true;
        // The form had the focus.
        heading.focus();
      }
    } catch (error) {
      say(whyNot(error), "bad");
      onRecovery(api, error, note, () => (note.hidden = true));
    }
    button.disabled = false;
  };
  const form = h("form", { class: "stack", novalidate: true, onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    cancel();
  } }, h("p", { class: "faint small" }, t("desk.event.help")), reason.element, h("div", { class: "row" }, button));
  const part = h("section", { class: "card stack cancel-event", "aria-labelledby": "cancel-title", "data-cancel-event": "" }, heading, form, note);
  live.onDraw(() => {
    // What was done here stays to be read.
    part.hidden = live.status === "cancelled" && note.hidden;
    form.hidden = live.status === "cancelled";
  });
  return part;
}

/** @param {string} name @param {Counts} counts */
function isSure(name, counts) {
  const body = [h("p", {}, countWords("desk.event.what", counts)), h("p", {}, t("desk.event.final"))];
  const yes = h("button", { class: "danger", value: "yes" }, t("desk.event.yes"));
  return askYesNo("cancel-event", t("desk.event.ask", { name }), body, t("desk.event.no"), yes);
}

/** @param {string} key @param {Counts} counts */
function countWords(key, { holds_ended, bookings_cancelled }) {
  return t(key, { holds: t("desk.event.holds", { n: holds_ended }), bookings: t("desk.event.bookings", { n: bookings_cancelled }) });
}
