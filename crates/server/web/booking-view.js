// A booking drawn as a ticket, with its hold while it is one.

import { Refusal } from "./api.js";
import { askCancel, askSeats } from "./booking-dialogs.js";
import { factsOf } from "./booking-facts.js";
import { calendarFile } from "./calendar-file.js";
import { announce, h, show } from "./dom.js";
import { dateTime, dateTimeThere, exactMoney, money, whyNot } from "./format.js";
import { api, title } from "./frame.js";
import { HoldPanel } from "./hold.js";
import { LiveBadge } from "./live-badge.js";
import { mine, remember } from "./mine.js";
import { takeMoved } from "./moved.js";
import { qrPicture } from "./qr.js";
import { onRecovery } from "./recovery.js";
import { seatListWords } from "./seat-words.js";
import { statusBadge } from "./booking-status.js";
import { ticketText } from "./ticket.js";
import { t } from "./words.js";

/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {import("./booking-facts.js").Facts} Facts */

export class BookingView {
  /** @type {Booking | null} */
  #booking = null;
  #panel = new HoldPanel();
  #note = h("div", { class: "note", role: "status", "data-note": true, hidden: true });
  #heading = h("h1", { tabindex: "-1" });

  /** @param {HTMLElement} main @param {string | null} token */
  constructor(main, token) {
    this.main = main;
    this.token = token;
    this.badge = new LiveBadge();
    this.#panel.addEventListener("boxoffice-booking", (event) => this.take(/** @type {CustomEvent} */ (event).detail.booking));
  }

  /** Messages come from the stream and from what is done here, in any order: the newer one counts. @param {Booking} booking */
  async take(booking) {
    const before = this.#booking;
    const same = before?.version === booking.version && before.status === booking.status && before.expires_at === booking.expires_at;
    if (same || (before && booking.version < before.version)) return;
    this.#booking = booking;
    const facts = await factsOf(booking);
    if (this.#booking !== booking) return;
    if (before === null) this.#first(booking, facts);
    else if (before.status !== booking.status) announce(t("booking.nowStatus", { status: t(`status.${booking.status}`) }));
    if (booking.status === "on_hold") this.#panel.open(api, booking, this.token, { bookings: "", box: facts.box });
    this.#draw(booking, facts);
  }

  /** @param {Booking} booking @param {Facts} facts */
  #first(booking, facts) {
    title(facts.name);
    const known = mine().find((other) => other.id === booking.id);
    if (known?.name === t("booking.title")) remember({ id: booking.id, hold_token: known.token, event: booking.event }, facts.name);
    const moved = takeMoved(booking.id);
    if (moved) this.#sayMoved(moved.from, (booking.slot ?? "").replace("T", " "), moved.difference, booking.currency);
  }

  /** @param {Booking} booking @param {Facts} facts */
  #draw(booking, facts) {
    const held = booking.status === "on_hold";
    this.#heading.textContent = facts.name;
    show(
      this.main,
      h("div", { class: "top" }, this.#heading, this.badge.element),
      this.#note,
      h("article", { class: "card ticket", "data-booking": booking.id, "data-status": booking.status },
        this.#body(booking, facts), held ? h("div", { class: "stub" }, this.#panel) : stub(booking)),
      this.#actions(booking, facts),
    );
    // What had the focus may be gone.
    if (document.activeElement === document.body) this.#heading.focus({ preventScroll: true });
  }

  /** @param {Booking} booking @param {Facts} facts */
  #body(booking, facts) {
    const moment = (/** @type {string} */ time) => (facts.timezone === null ? dateTime(time) : dateTimeThere(time, facts.timezone));
    const units = facts.what.map((line) => h("li", { class: "spread" }, h("span", {}, line.what), h("span", { class: "number" }, line.price)));
    return h(
      "div",
      { class: "body stack" },
      h("p", {}, statusBadge(booking.status)),
      facts.when !== null && h("p", { class: "when" }, facts.when, facts.zone !== null && h("span", { class: "faint small zone" }, facts.zone)),
      h("ul", { class: "units" }, units),
      h("p", { class: "spread sum" }, h("strong", {}, t("total")), h("strong", { class: "number" }, money(booking.total_price, booking.currency))),
      booking.status === "expired" && h("p", { class: "note bad" }, t("booking.expired")),
      (facts.cancelled || booking.status === "cancelled") && h("div", { class: "note bad" },
        facts.cancelled && h("p", {}, t("event.cancelled")),
        booking.status === "cancelled" && h("p", {}, t("booking.cancelled"))),
      booking.redeemed_at !== null && h("p", { class: "note" }, t("booking.redeemed", { when: moment(booking.redeemed_at) })),
      h("dl", { class: "facts small" },
        h("dt", {}, t("booking.made")), h("dd", {}, moment(booking.created_at)),
        h("dt", {}, t("booking.number")), h("dd", {}, h("code", {}, booking.id))),
    );
  }

  /** @param {Booking} booking @param {Facts} facts */
  #actions(booking, facts) {
    const active = booking.status === "on_hold" || booking.status === "confirmed";
    const ahead = !facts.cancelled;
    const button = (/** @type {string} */ act, /** @type {() => void} */ onclick, kind = "") =>
      h("button", { type: "button", class: kind, "data-act": act, onclick }, t(`booking.${act}`));
    const elsewhere = `/schedules/${booking.schedule}?move=${booking.id}`;
    return h(
      "div",
      { class: "row actions" },
      ahead && booking.status === "confirmed" && facts.starts !== null && button("calendar", () => this.#download(booking, facts)),
      booking.status === "confirmed" && button("print", () => print()),
      active && booking.schedule !== null && h("a", { class: "button", "data-act": "move", href: elsewhere }, t("booking.move")),
      ahead && active && booking.seats.length > 0 && button("move", () => this.#moveSeats(booking)),
      booking.status === "confirmed" && button("cancel", () => this.#cancel(booking, facts), "danger"),
      !active && ahead && h("a", { class: "button main", href: facts.link }, t("booking.again")),
      !ahead && h("a", { class: "button", href: "/" }, t("onSale")),
    );
  }

  /** @param {Booking} booking @param {Facts} facts */
  async #cancel(booking, facts) {
    if (!(await askCancel(facts.name))) return;
    await this.#act(() => api.post(`/v1/bookings/${booking.id}/cancel`, {}, { token: this.token }));
  }

  /** @param {Booking} booking */
  async #moveSeats(booking) {
    const event = await api.get(`/v1/events/${booking.event}`).catch(() => null);
    const section = await askSeats(booking, event?.sections ?? []);
    if (section === null) return;
    const best = { quantity: booking.seats.length, section: section === "" ? null : section };
    const moved = await this.#act(() => api.post(`/v1/bookings/${booking.id}/move`, { best_available: best }, { token: this.token }));
    if (!moved) return;
    const [from, to] = [seatListWords(booking.seats), seatListWords(moved.seats)];
    if (from === to) this.#say("", t("booking.notMoved"));
    else this.#sayMoved(from, to, moved["price_difference"], moved.currency);
  }

  /** @param {() => Promise<any>} act @returns {Promise<(Booking & Record<string, any>) | null>} */
  async #act(act) {
    this.#note.hidden = true;
    for (const button of this.main.querySelectorAll("button")) button.disabled = true;
    try {
      const booking = await act();
      await this.take(booking);
      return booking;
    } catch (error) {
      const dearer = error instanceof Refusal && error.code === "FORBIDDEN";
      this.#say("bad", dearer ? t("booking.moveDearer") : whyNot(error));
      onRecovery(api, error, this.#note, () => (this.#note.hidden = true));
      return null;
    } finally {
      for (const button of this.main.querySelectorAll("button")) button.disabled = false;
    }
  }

  /** @param {string} from @param {string} to @param {number} difference @param {string} currency */
  #sayMoved(from, to, difference, currency) {
    const price = `${difference > 0 ? "+" : "−"}${exactMoney(Math.abs(difference), currency)}`;
    this.#say("good", t("booking.moved", { from, to }), difference === 0 ? t("booking.samePrice") : t("booking.difference", { price }));
  }

  /** @param {"good" | "bad" | ""} kind @param {...string} words */
  #say(kind, ...words) {
    this.#note.className = `note ${kind}`;
    this.#note.hidden = false;
    show(this.#note, words.map((sentence) => h("p", {}, sentence)));
    announce(words.join(" "));
  }

  /** @param {Booking} booking @param {Facts} facts */
  #download(booking, facts) {
    const what = facts.what.map((line) => line.what).join(", ");
    const address = `${location.origin}/bookings/${booking.id}`;
    const code = booking.redeem_code === null ? [] : [`${t("code")}: ${booking.redeem_code}`];
    const text = calendarFile({
      uid: `${booking.id}@${location.hostname}`,
      stamp: new Date(),
      starts: new Date(facts.starts ?? ""),
      ends: facts.ends === null ? null : new Date(facts.ends),
      summary: facts.name,
      description: [what, ...code, address].join("\n"),
      url: address,
      version: booking.version,
      status: "CONFIRMED",
    });
    const file = URL.createObjectURL(new Blob([text], { type: "text/calendar;charset=utf-8" }));
    h("a", { href: file, download: `boxoffice-${booking.redeem_code ?? booking.id}.ics` }).click();
    // The browser still reads it after the click.
    setTimeout(() => URL.revokeObjectURL(file), 10_000);
  }
}

/** What is torn off at the desk. @param {Booking} booking */
function stub(booking) {
  if (booking.redeem_code === null || (booking.status !== "confirmed" && booking.status !== "redeemed")) return null;
  const used = booking.status === "redeemed";
  const code = h("span", { class: "code", "data-code": booking.redeem_code }, used ? h("s", {}, booking.redeem_code) : booking.redeem_code);
  return h(
    "div",
    { class: "stub code-stub" },
    !used && h("div", { class: "qr", "data-qr": ticketText(booking) }, qrPicture(ticketText(booking), t("code"))),
    h("p", {}, h("span", { class: "faint small" }, t("code")), h("br"), code),
    !used && h("p", { class: "faint small" }, t("booking.showCode")),
  );
}
