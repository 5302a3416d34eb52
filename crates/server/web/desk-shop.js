// A shop at the desk: its boxes, what is left of each, and changing how many there are, what they cost and whether they are sold.

import { Refusal } from "./api.js";
import { h } from "./dom.js";
import { clock, dateTime, exactMoney, whyNot } from "./format.js";
import { now } from "./server-clock.js";
import { onRecovery } from "./recovery.js";
import { spokenNote } from "./spoken-note.js";
import { t } from "./words.js";
import { findPart } from "./desk-find.js";
import { areRight, countProblem, field, priceOf, priceProblem, textProblem } from "./desk-field.js";
import { minorUnits } from "./desk-format.js";
import { holdsPart } from "./desk-holds.js";
import { redeemPart } from "./desk-redeem.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./types.d.ts").Box} Box */

const NAME_CHARACTERS_MAX = 200;
const BADGES = /** @type {const} */ ({ ACTIVE: "good", SOLD_OUT: "bad", CLOSED: "", ENDED: "warn" });

/** @param {Desk} desk */
export function shopTabs(desk) {
  return [
    { id: "boxes", label: t("desk.tab.boxes"), make: () => boxesPart(desk) },
    { id: "door", label: t("desk.tab.collect"), make: () => redeemPart(desk) },
    { id: "bookings", label: t("desk.tab.bookings"), make: () => findPart(desk) },
  ];
}

/** @param {Desk} desk */
function boxesPart(desk) {
  const list = h("ul", { class: "cards boxes" });
  const empty = h("p", { class: "faint" }, t("loading"));
  /** @type {Map<string, {card: HTMLElement, update: (box: Box) => void}>} */
  const cards = new Map();
  desk.live.onDraw(() => {
    for (const box of desk.live.boxes.values()) {
      const known = cards.get(box.id);
      if (known) known.update(box);
      else {
        const made = boxCard(desk, box);
        cards.set(box.id, made);
        list.append(made.card);
      }
    }
    if (desk.live.sequence > 0) empty.textContent = cards.size === 0 ? t("desk.boxes.none") : "";
  });
  return h(
    "div",
    { class: "stack" },
    h("h2", { class: "unseen" }, t("desk.tab.boxes")),
    empty,
    list,
    h("section", { class: "card", "aria-labelledby": "holds-title" }, holdsPart(desk)),
  );
}

/** @param {Desk} desk @param {Box} first */
function boxCard(desk, first) {
  const { api, inventory } = desk;
  const { currency, timezone } = inventory;
  const units = minorUnits(currency);
  const badge = h("span", { class: "badge" });
  const left = h("p", { class: "left" });
  const price = h("p", {});
  const bar = h("span", { class: "sold" });
  const { element: note, say } = spokenNote();
  const heading = h("h3");
  const name = field(
    t("desk.box.name"),
    { id: `name-${first.id}`, value: first.name, "data-name": first.id },
    textProblem(NAME_CHARACTERS_MAX, t("desk.box.noName")),
  );
  const quantity = field(
    t("desk.box.quantity"),
    { id: `quantity-${first.id}`, type: "number", step: 1, inputmode: "numeric", value: first.quantity, "data-quantity": first.id },
    countProblem,
  );
  const cost = field(
    t("desk.price", { currency, example: exactMoney(350 * units, currency) }),
    { id: `price-${first.id}`, type: "number", step: 1 / units, inputmode: "decimal", value: first.price / units, "data-price": first.id },
    priceProblem(currency),
  );
  const toggle = h(
    "button",
    {
      type: "button", "data-toggle": first.id,
      onclick: () => send(
        { status: box.status === "CLOSED" ? "ACTIVE" : "CLOSED" },
        box.status === "CLOSED" ? "desk.box.opened" : "desk.box.closed",
      ),
    },
  );
  let box = first;
  /** @param {object} body @param {string} done */
  const send = async (body, done) => {
    const buttons = card.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    try {
      const after = await api.patch(`/v1/shops/${encodeURIComponent(inventory.id)}/boxes/${encodeURIComponent(first.id)}`, body);
      desk.live.boxes.set(after.id, after);
      update(after);
      say(t(done), "good");
    } catch (error) {
      say(
        error instanceof Refusal && error.code === "CAPACITY_BELOW_BOOKED_COUNT"
          ? t("desk.box.tooFew", { n: error.problem["booked_count"] ?? box.quantity - box.remaining })
          : whyNot(error),
        "bad",
      );
      onRecovery(api, error, note, () => (note.hidden = true));
    }
    for (const button of buttons) button.disabled = false;
  };
  /** @param {Box} fresh */
  const update = (fresh) => {
    if (fresh.name !== box.name) name.set(fresh.name);
    if (fresh.quantity !== box.quantity) quantity.set(fresh.quantity);
    if (fresh.price !== box.price) cost.set(fresh.price / units);
    box = fresh;
    heading.textContent = fresh.name;
    badge.className = `badge ${BADGES[fresh.status]}`;
    badge.textContent = t(`desk.box.${fresh.status}`);
    left.textContent = t("desk.box.left", { n: fresh.remaining, total: fresh.quantity });
    bar.style.setProperty("--part", `${(100 * (fresh.quantity - fresh.remaining)) / Math.max(1, fresh.quantity)}%`);
    const next = fresh.next_price && {
      price: exactMoney(fresh.next_price.price, currency),
      time: clock(fresh.next_price.at, timezone),
    };
    price.textContent = [t("desk.box.now", { price: exactMoney(fresh.price, currency) }), next && t("desk.box.next", next)]
      .filter(Boolean)
      .join(" · ");
    toggle.textContent = t(fresh.status === "CLOSED" ? "desk.box.open" : "desk.box.close");
    card.dataset["status"] = fresh.status;
  };
  const card = h("li", { class: "card stack", "data-box": first.id },
    h("div", { class: "spread" }, heading, badge),
    h("div", { class: "meter", "aria-hidden": "true" }, bar), left, price,
    first.pickup && h(
      "p",
      { class: "faint small" },
      t(
        "desk.box.pickup",
        { from: dateTime(first.pickup.starts_at, timezone), to: dateTime(first.pickup.ends_at, timezone) },
      ),
    ),
    h("form", { class: "pair-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      if (!areRight([name, quantity, cost])) return;
      const wanted = priceOf(cost.text(), currency);
      // A step of the curve that has begun would stand above the new price; those to come stay.
      const steps = box.price_curve.filter((step) => Date.parse(step.at) > now());
      const price = wanted === box.price ? {} : { price: wanted, price_curve: steps };
      const renamed = name.text() === box.name ? {} : { name: name.text() };
      send({ quantity: Number(quantity.text()), ...price, ...renamed }, "desk.box.changed");
    } },
      name.element, quantity.element, cost.element,
      h("div", { class: "row" }, h("button", { type: "submit" }, t("desk.save")), toggle)),
    note);
  update(first);
  return { card, update };
}
