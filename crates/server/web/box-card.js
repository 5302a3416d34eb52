// One box: what is left of it, its price now and next, when it is picked up, and the button.

import { stepsToCome } from "./box-price.js";
import { dateIn } from "./dates.js";
import { h, show } from "./dom.js";
import { clock, countdown, exactMoney, money } from "./format.js";
import { now } from "./server-clock.js";
import { Stepper } from "./stepper.js";
import { language, t } from "./words.js";

/** @typedef {import("./types.d.ts").Box} Box */
/** @typedef {{zone: string, currency: string, most: number, blocked: boolean}} Offer */

const LOOK = { ACTIVE: "good", SOLD_OUT: "bad", CLOSED: "", ENDED: "" };
const SIGN = { ACTIVE: "●", SOLD_OUT: "○", CLOSED: "✕", ENDED: "✕" };
/** Nearly gone. */
const FEW = 3;

export class BoxCard {
  #drawnSteps = "";
  /** @type {{box: Box, offer: Offer} | null} */
  #last = null;

  /** @param {Box} box @param {Offer} offer @param {(box: string, quantity: number) => void} onBook */
  constructor(box, offer, onBook) {
    this.name = h("h2");
    this.badge = h("span", { class: "badge number" });
    this.price = h("strong", { class: "price number" });
    this.next = h("span", { class: "next number" });
    this.steps = h("ol", { class: "steps", "aria-label": t("box.steps") });
    this.pickup = h("p", { class: "faint small pickup" });
    const again = () => this.#last && this.draw(this.#last.box, this.#last.offer);
    this.stepper = new Stepper({ label: t("box.quantity", { box: box.name }), most: 1, onChange: again });
    this.button = h("button", { type: "button", class: "main", "data-act": "book",
      onclick: () => this.button.getAttribute("aria-disabled") !== "true" && onBook(box.id, this.stepper.value) });
    this.element = h(
      "li",
      { class: "card box", "data-box": box.id },
      h("div", { class: "spread head" }, this.name, this.badge),
      h("div", { class: "spread prices" }, this.price, this.next),
      this.steps,
      this.pickup,
      h("div", { class: "spread foot" }, this.stepper.element, this.button),
    );
    this.draw(box, offer);
  }

  /** @param {Box} box as it is now @param {Offer} offer */
  draw(box, offer) {
    this.#last = { box, offer };
    const open = box.status === "ACTIVE";
    this.element.dataset["status"] = box.status;
    this.element.dataset["price"] = String(box.price);
    this.name.textContent = box.name;
    const few = open && box.remaining <= FEW;
    const state = open ? t(few ? "box.few" : "box.left", { n: box.remaining }) : t(`box.${box.status}`);
    this.badge.className = `badge number ${few ? "warn" : LOOK[box.status]}`;
    show(this.badge, h("span", { "aria-hidden": "true" }, few ? "◐" : SIGN[box.status]), state);
    this.price.textContent = money(box.price, offer.currency);
    this.tick(box, offer);
    this.#drawSteps(box, offer);
    this.pickup.textContent = box.pickup === null ? t("box.anytime") : t("box.pickup", { window: pickupWindow(box.pickup, offer.zone, false) });
    this.stepper.limit(Math.min(offer.most, Math.max(1, box.remaining)));
    this.stepper.disable(offer.blocked);
    this.stepper.element.hidden = !open;
    const total = box.price * this.stepper.value;
    this.button.textContent = !open ? state : total === 0 ? t("box.book") : t("box.bookFor", { price: money(total, offer.currency) });
    this.button.setAttribute("aria-label", `${this.button.textContent} – ${box.name}`);
    // Not `disabled`: the focus must not fall off a button because others book.
    this.button.setAttribute("aria-disabled", String(!open || offer.blocked));
  }

  /** The second hand of the next price. @param {Box} box @param {Offer} offer */
  tick(box, offer) {
    const next = box.status === "ACTIVE" || box.status === "SOLD_OUT" ? box.next_price : null;
    if (next === null) {
      this.next.textContent = "";
      return;
    }
    const values = { price: exactMoney(next.price, offer.currency), time: countdown(Date.parse(next.at) - now()) };
    this.next.textContent = t(next.price < box.price ? "box.drop" : "box.rise", values);
  }

  /** @param {Box} box @param {Offer} offer */
  #drawSteps(box, offer) {
    const steps = stepsToCome(box);
    const drawn = JSON.stringify(steps);
    if (drawn === this.#drawnSteps) return;
    this.#drawnSteps = drawn;
    const top = Math.max(...steps.map((step) => step.price), 1);
    show(this.steps, steps.map((step) => {
      const bar = h("span", { class: "column", "aria-hidden": "true" }, h("span"));
      bar.style.setProperty("--part", `${(100 * step.price) / top}%`);
      const when = h("span", { class: "faint" }, step.at === null ? t("box.now") : clock(step.at, offer.zone));
      return h("li", { class: step.at === null ? "now" : "" }, bar, h("span", { class: "cost" }, exactMoney(step.price, offer.currency)), when);
    }));
  }
}

/**
 * In the shop's time. Today's needs no date, but for what is kept or printed.
 *
 * @param {{starts_at: string, ends_at: string}} pickup @param {string} zone @param {boolean} dated
 */
export function pickupWindow(pickup, zone, dated) {
  const [from, to] = [Date.parse(pickup.starts_at), Date.parse(pickup.ends_at)];
  const today = !dated && dateIn(now(), zone) === dateIn(from, zone) && dateIn(from, zone) === dateIn(to, zone);
  /** @type {Intl.DateTimeFormatOptions} */
  const date = today ? {} : { month: "short", day: "numeric" };
  return new Intl.DateTimeFormat(language, { ...date, hour: "numeric", minute: "2-digit", timeZone: zone }).formatRange(from, to);
}
