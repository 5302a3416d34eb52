// One slot of the chosen day: when, how much is left, the price, and the button.

import { h, show } from "./dom.js";
import { exactMoney, money } from "./format.js";
import { isOpen, stateOf } from "./slots.js";
import { t } from "./words.js";

/** @typedef {import("./types.d.ts").Slot} Slot */
/** @typedef {{act: "book" | "move", quantity: number, currency: string, paid: number, current: string | null, blocked: boolean}} SlotOffer */

const LOOK = {
  AVAILABLE: { kind: "good", sign: "●" },
  LIMITED: { kind: "warn", sign: "◐" },
  FULL: { kind: "bad", sign: "○" },
  CLOSED: { kind: "", sign: "✕" },
  PAST: { kind: "", sign: "✕" },
};

export class SlotCard {
  /** @param {string} id @param {(id: string) => void} onPress */
  constructor(id, onPress) {
    this.time = h("h3", { class: "number" });
    this.badge = h("span", { class: "badge number" });
    this.bar = h("span", { class: "available" });
    this.price = h("span");
    const press = () => this.button.getAttribute("aria-disabled") !== "true" && onPress(id);
    this.button = h("button", { type: "button", class: "main", onclick: press });
    this.element = h(
      "li",
      { class: "card slot", "data-slot": id },
      h("div", { class: "spread" }, this.time, this.badge),
      h("div", { class: "meter", "aria-hidden": "true" }, this.bar),
      h("div", { class: "spread foot" }, this.price, this.button),
    );
  }

  /** @param {Slot} slot @param {SlotOffer} offer */
  draw(slot, offer) {
    const state = stateOf(slot);
    const here = offer.current === slot.id;
    const look = LOOK[state];
    const time = `${slot.start_time}–${slot.end_time}`;
    this.element.dataset["state"] = state;
    this.time.textContent = time;
    const left = t(`slot.${state}`, { left: slot.available_count, total: slot.total_capacity });
    this.badge.className = `badge number ${here ? "" : look.kind}`;
    show(this.badge, h("span", { "aria-hidden": "true" }, here ? "★" : look.sign), here ? t("slot.here") : left);
    const part = state === "CLOSED" || state === "PAST" ? 0 : slot.available_count / Math.max(1, slot.total_capacity);
    this.bar.style.setProperty("--part", `${100 * part}%`);
    const each = money(slot.price, offer.currency);
    show(this.price, h("strong", {}, each), slot.price > 0 && h("span", { class: "faint" }, ` ${t("slot.each")}`));
    this.#drawButton(slot, offer, time, isOpen(state) && !here && !offer.blocked);
  }

  /** @param {Slot} slot @param {SlotOffer} offer @param {string} time @param {boolean} open */
  #drawButton(slot, offer, time, open) {
    const total = slot.price * offer.quantity;
    const difference = total - offer.paid;
    const signed = `${difference > 0 ? "+" : "−"}${exactMoney(Math.abs(difference), offer.currency)}`;
    const words = offer.act === "move"
      ? difference === 0 || !open ? t("slot.move") : t("slot.moveFor", { price: signed })
      : total === 0 ? t("slot.book") : t("slot.bookFor", { price: money(total, offer.currency) });
    this.button.textContent = words;
    this.button.dataset["act"] = offer.act;
    this.button.setAttribute("aria-label", `${words} – ${time}, ${t("unit.places", { n: offer.quantity })}`);
    // Not `disabled`: the focus must not fall off a button because others book.
    this.button.setAttribute("aria-disabled", String(!open));
  }
}
