// Finding bookings of the chosen inventory: by number, by code, by customer, or the newest ones; and what was not granted.

import { h, show } from "./dom.js";
import { Refusal } from "./api.js";
import { dateTime, exactMoney, whyNot } from "./format.js";
import { onRecovery } from "./recovery.js";
import { t } from "./words.js";
import { BOOKING_ID, readTicket } from "./desk-codes.js";
import { brief } from "./desk-words-of.js";
import { bookingView } from "./desk-booking.js";
import { attemptsPart } from "./desk-attempts.js";
import { statusBadge } from "./booking-status.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./types.d.ts").Booking} Booking */

const PAGE = 20;
const STATUSES = ["on_hold", "confirmed", "redeemed", "cancelled", "expired"];

/** @param {Desk} desk */
export function findPart(desk) {
  const { api, codes, inventory, signal } = desk;
  const input = h("input", { id: "find", type: "search", autocomplete: "off", spellcheck: "false", "data-find": "" });
  const status = h(
    "select",
    { id: "find-status", onchange: () => search() },
    h("option", { value: "" }, t("desk.find.any")),
    STATUSES.map((value) => h("option", { value }, t(`status.${value}`))),
  );
  const list = h("ul", { class: "found" });
  const note = h("p", { class: "faint", role: "status" });
  const more = h("button", { type: "button", hidden: true, onclick: () => readOn() }, t("desk.find.more"));
  const results = h("section", { class: "card stack", "aria-labelledby": "find-title" });
  const place = h("div", { class: "finder" });
  const attempts = attemptsPart(desk);
  let view = new AbortController();
  /** @type {URLSearchParams} */
  let asked = new URLSearchParams();
  let searches = 0;

  const fresh = (/** @type {Record<string, string>} */ extra) => {
    asked = new URLSearchParams({ [inventory.kind]: inventory.id, limit: String(PAGE), ...extra });
    if (status.value !== "") asked.set("status", status.value);
    show(list);
    return readOn();
  };
  const readOn = async () => {
    const mine = searches;
    // Pressed twice, it would bring the same ones twice.
    more.disabled = true;
    try {
      const { items, next_cursor } = await api.get(`/v1/bookings?${asked}`, { signal });
      if (mine !== searches) return 0;
      list.append(...items.map((/** @type {Booking} */ booking) => row(booking)));
      more.hidden = next_cursor === null;
      asked.set("cursor", next_cursor ?? "");
      return items.length;
    } catch (error) {
      if (!signal.aborted) note.textContent = whyNot(error);
      onRecovery(api, error, note, () => search());
      more.hidden = true;
      return 0;
    } finally {
      more.disabled = false;
    }
  };
  const search = async () => {
    const wanted = input.value.trim();
    searches += 1;
    const mine = searches;
    note.textContent = t("loading");
    attempts.search(wanted);
    const ticket = readTicket(wanted);
    const id = ticket?.id ?? (BOOKING_ID.test(wanted) ? wanted.toLowerCase() : null);
    if (id !== null) {
      try {
        await api.get(`/v1/bookings/${id}`, { signal });
        if (mine !== searches) return;
        note.textContent = "";
        desk.go("bookings", { booking: id });
      } catch (error) {
        if (mine === searches) note.textContent = error instanceof Refusal && error.status === 404 ? t("desk.find.none") : whyNot(error);
        onRecovery(api, error, note, () => search());
      }
      return;
    }
    if (ticket) {
      note.textContent = t("desk.find.reading");
      const id = await codes.find(ticket.code).catch(() => null);
      if (mine !== searches) return;
      if (id !== null) {
        note.textContent = "";
        desk.go("bookings", { booking: id });
        return;
      }
    }
    const count = await fresh(wanted === "" ? {} : { customer: wanted });
    if (mine === searches) note.textContent = count === 0 ? t("desk.find.none") : wanted === "" ? t("desk.find.newest") : "";
  };

  /** @param {Booking} booking */
  const row = (booking) => {
    const what = brief(booking);
    const known = [booking.reference, booking.contact?.email, booking.contact?.phone].filter(Boolean);
    return h("li", {}, h("button", {
      type: "button", class: "entry", "data-found": booking.id,
      onclick: () => desk.go("bookings", { booking: booking.id }),
    },
      h(
        "span",
        { class: "spread" },
        h("span", { class: "row" }, statusBadge(booking.status), h("code", {}, booking.redeem_code ?? "")),
        h("span", { class: "number" }, exactMoney(booking.total_price, booking.currency)),
      ),
      h("span", { class: "spread" }, h("span", {}, booking.customer), h("span", { class: "faint small" }, dateTime(booking.created_at))),
      known.length > 0 && h("span", { class: "small known" }, known.join(" · ")),
      h("span", { class: "faint small" }, what.slice(0, 4).join(", "), what.length > 4 ? ` +${what.length - 4}` : "")));
  };

  /** The list says what the opened booking is now. @param {Booking} booking */
  const renew = (booking) => list.querySelector(`[data-found="${booking.id}"]`)?.parentElement?.replaceWith(row(booking));

  show(results,
    h("h2", { id: "find-title" }, t("desk.find.title")),
    h("form", { class: "find-form", onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      search();
    } },
      h("div", {}, h("label", { for: "find" }, t("desk.find.label")), input),
      h("div", {}, h("label", { for: "find-status" }, t("desk.find.status")), status),
      h("button", { class: "main", type: "submit" }, t("desk.find.go"))),
    note, list, more, attempts.element);

  const openAsked = () => {
    const parameters = new URLSearchParams(location.search);
    const id = parameters.get("tab") === "bookings" ? parameters.get("booking") : null;
    view.abort();
    view = new AbortController();
    const back = () => {
      desk.go("bookings");
      input.focus();
    };
    show(
      place,
      results,
      id !== null && BOOKING_ID.test(id) && bookingView(desk, id, AbortSignal.any([view.signal, signal]), { onClose: back, onChange: renew }),
    );
    place.toggleAttribute("data-open", id !== null);
  };
  window.addEventListener("desk-detail", openAsked, { signal });
  signal.addEventListener("abort", () => view.abort());
  openAsked();
  search();
  return place;
}
