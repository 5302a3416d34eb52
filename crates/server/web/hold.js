// `<hold-panel>`: what is held, how long it still is, and what can be done with it. Used wherever something is booked.

import { Refusal } from "./api.js";
import { announce, h, show } from "./dom.js";
import { countdown, money, whyNot } from "./format.js";
import { onRecovery } from "./recovery.js";
import { seatRows } from "./seat-words.js";
import { t } from "./words.js";

/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {import("./api.js").Api} Api */

export const EXTEND_SECONDS = 300;
/** Asked again until the server, whose clock decides, has ended the hold too. */
const ASK_AGAIN_MS = 250;
const ASK_AFTER_FAILURE_MS = 5_000;

export class HoldPanel extends HTMLElement {
  /** @type {Api | null} */
  #api = null;
  /** @type {Booking | null} */
  #booking = null;
  /** @type {string | null} */
  #token = null;
  /** Where the page that shows a booking is; no link without it. @type {string} */
  #bookings = "/bookings/";
  /** What people call the box. @type {string | null} */
  #box = null;
  #endsAt = 0;
  #told = Infinity;
  #ticking = 0;
  #limited = false;
  /** Whether there is something else to choose. */
  #open = true;
  #heading = h("h2", { tabindex: "-1" });
  #note = h("p", { class: "note", role: "alert", hidden: true });
  #left = h("span", { class: "number", role: "timer", "aria-label": t("hold.left") });

  /**
   * `boxoffice-booking` is dispatched with the booking whenever it changed, `boxoffice-again` when the buyer wants to choose anew.
   *
   * @param {Api} api @param {Booking} booking @param {string | null} token @param {{bookings?: string, box?: string}} [options]
   */
  open(api, booking, token, options = {}) {
    this.#api = api;
    this.#token = token;
    this.#bookings = options.bookings ?? "/bookings/";
    this.#box = options.box ?? null;
    this.#limited = false;
    this.#told = Infinity;
    this.#note.hidden = true;
    this.#take(booking);
  }

  /** There is nothing to choose any more: shows what became of the booking. */
  end() {
    this.#open = false;
    clearTimeout(this.#ticking);
    this.#draw();
    this.#ended();
  }

  disconnectedCallback() {
    clearTimeout(this.#ticking);
  }

  connectedCallback() {
    if (this.#booking) this.#take(this.#booking, this.#endsAt);
  }

  /** @param {Booking} booking @param {number} [endsAt] */
  #take(booking, endsAt) {
    this.#booking = booking;
    this.#endsAt = endsAt ?? performance.now() + (booking.expires_in_seconds ?? 0) * 1000;
    this.#draw();
    clearTimeout(this.#ticking);
    if (booking.status === "on_hold") this.#tick();
  }

  #draw() {
    const booking = /** @type {Booking} */ (this.#booking);
    const done = { confirmed: "good", redeemed: "good", cancelled: "", expired: "bad", on_hold: "" }[booking.status];
    const held = booking.status === "on_hold";
    this.setAttribute("data-status", booking.status);
    this.#heading.textContent = held ? t("hold.title") : t(`status.${booking.status}`);
    show(
      this,
      h("div", { class: "spread" }, this.#heading, held && h("strong", { class: "clock" }, this.#left)),
      h("ul", { class: "held" }, lines(booking, this.#box).map((line) => h("li", { class: "spread" }, h("span", {}, line.what), h("span", { class: "number" }, line.price)))),
      h("p", { class: "spread sum" }, h("strong", {}, t("total")), h("strong", { class: "number" }, money(booking.total_price, booking.currency))),
      this.#note,
      held && this.#buttons(booking),
      booking.status !== "on_hold" && h("p", { class: `note ${done}` }, outcomeWords(booking)),
      booking.redeem_code !== null && (booking.status === "confirmed" || booking.status === "redeemed") && h("p", {}, t("code"), h("br"), h("span", { class: "code" }, booking.redeem_code)),
      !held && h("div", { class: "row" },
        booking.status === "confirmed" && this.#bookings !== "" && h("a", { class: "button main", href: `${this.#bookings}${booking.id}` }, t("hold.open")),
        this.#open && h("button", { type: "button", onclick: () => this.dispatchEvent(new CustomEvent("boxoffice-again", { bubbles: true, composed: true })) }, t("hold.again"))),
    );
  }

  /** @param {Booking} booking */
  #buttons(booking) {
    const pay = booking.total_price === 0 ? t("hold.confirm") : t("hold.pay", { price: money(booking.total_price, booking.currency) });
    return h(
      "div",
      { class: "row" },
      h("button", { class: "main", type: "button", "data-act": "confirm", onclick: () => this.#act("confirm", { payment_reference: null }) }, pay),
      !this.#limited && h("button", { type: "button", "data-act": "extend", onclick: () => this.#act("extend", { seconds: longer(this.#endsAt) }) }, t("hold.extend")),
      h("button", { class: "danger", type: "button", "data-act": "cancel", onclick: () => this.#act("cancel", {}) }, t(`hold.cancel.${kindOf(booking)}`)),
    );
  }

  #tick() {
    const left = this.#endsAt - performance.now();
    this.#left.textContent = countdown(left);
    this.toggleAttribute("data-soon", left < 60_000);
    for (const [at, words] of /** @type {[number, string][]} */ ([[60_000, "hold.minute"], [10_000, "hold.seconds"]])) {
      if (left <= at && this.#told > at) {
        if (this.#told !== Infinity || left > at - 2_000) announce(t(words));
        this.#told = at;
      }
    }
    if (left > 0) {
      this.#told = Math.min(this.#told, left);
      this.#ticking = window.setTimeout(() => this.#tick(), left % 1000 || 1000);
    } else {
      this.#ended();
    }
  }

  async #ended() {
    const asked = /** @type {Booking} */ (this.#booking);
    try {
      const booking = await /** @type {Api} */ (this.#api).get(`/v1/bookings/${asked.id}`, { token: this.#token });
      if (this.#booking !== asked) return;
      if (booking.status === "on_hold" && (booking.expires_in_seconds ?? 0) <= 0) {
        this.#ticking = window.setTimeout(() => this.#ended(), ASK_AGAIN_MS);
        return;
      }
      this.#changed(booking);
    } catch (error) {
      this.#fail(error);
      if (this.#booking === asked) this.#ticking = window.setTimeout(() => this.#ended(), ASK_AFTER_FAILURE_MS);
    }
  }

  /** @param {Booking} booking */
  #changed(booking) {
    this.#note.hidden = true;
    this.#take(booking);
    if (booking.status !== "on_hold") announce(outcomeWords(booking));
    this.dispatchEvent(new CustomEvent("boxoffice-booking", { bubbles: true, composed: true, detail: { booking } }));
  }

  /** @param {"confirm" | "extend" | "cancel"} action @param {object} body */
  async #act(action, body) {
    const booking = /** @type {Booking} */ (this.#booking);
    const buttons = this.querySelectorAll("button");
    const focused = this.contains(/** @type {Document | ShadowRoot} */ (this.getRootNode()).activeElement);
    for (const button of buttons) button.disabled = true;
    this.#note.hidden = true;
    try {
      const after = await /** @type {Api} */ (this.#api).post(`/v1/bookings/${booking.id}/${action}`, body, { token: this.#token });
      this.#changed(after);
      // The button that was pressed is gone.
      if (focused && this.isConnected) this.#heading.focus({ preventScroll: true });
      if (action === "extend") this.#say(t("hold.extended"), "good");
    } catch (error) {
      this.#refused(error, action);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  /** @param {unknown} error @param {string} action */
  #refused(error, action) {
    const booking = /** @type {Booking} */ (this.#booking);
    if (error instanceof Refusal && error.code === "HOLD_EXPIRED") {
      this.#changed({ ...booking, status: "expired" });
    } else if (error instanceof Refusal && error.code === "HOLD_LIMIT_REACHED") {
      this.#limited = true;
      this.#draw();
      this.#say(t("hold.limit"), "warn");
    } else if (error instanceof Refusal && error.code === "FORBIDDEN" && action === "confirm") {
      // A public key cannot take money: the seller does.
      this.#say(`${t("hold.elsewhere")} ${booking.id}`, "warn");
    } else {
      this.#fail(error);
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#say(whyNot(error), "bad");
    onRecovery(/** @type {Api} */ (this.#api), error, this.#note, () => (this.#note.hidden = true));
  }

  /** @param {string} words @param {"good" | "warn" | "bad"} kind */
  #say(words, kind) {
    this.#note.className = `note ${kind}`;
    this.#note.textContent = words;
    this.#note.hidden = false;
  }
}

/** What to ask for so that a hold lasts that much longer than it would: the API counts from now. @param {number} endsAt of `performance.now()` */
export function longer(endsAt) {
  return Math.max(0, Math.ceil((endsAt - performance.now()) / 1000)) + EXTEND_SECONDS;
}

/** How a hold ended, in words. @param {Booking} booking */
export function outcomeWords(booking) {
  return booking.status === "cancelled" || booking.status === "expired" ? t(`hold.${booking.status}.${kindOf(booking)}`) : t("hold.confirmed");
}

/** @param {Booking} booking */
function kindOf(booking) {
  return booking.event !== null ? "event" : booking.schedule !== null ? "schedule" : "shop";
}

/** What was taken, a line for each row of seats, area, slot or box. @param {Booking} booking @param {string | null} [box] what people call the box */
export function lines(booking, box = null) {
  const lines = seatRows(booking.seats).map(({ what, price }) => ({ what, price: money(price, booking.currency) }));
  lines.push(...booking.areas.map((area) => ({ what: `${area.name} × ${area.quantity}`, price: money(area.price * area.quantity, booking.currency) })));
  const price = money(booking.total_price, booking.currency);
  if (booking.slot !== null) lines.push({ what: `${booking.slot.replace("T", " ")} · ${t("unit.places", { n: booking.quantity })}`, price });
  if (booking.box !== null) lines.push({ what: `${box ?? booking.box} · ${t("unit.boxes", { n: booking.quantity })}`, price });
  return lines;
}

customElements.define("hold-panel", HoldPanel);
