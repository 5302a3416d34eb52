// The slots of a day at the desk: closing and opening them, changing how many fit, and adding one.

import { Refusal } from "./api.js";
import { h, show } from "./dom.js";
import { day, exactMoney, money, number, whyNot } from "./format.js";
import { onRecovery } from "./recovery.js";
import { spokenNote } from "./spoken-note.js";
import { t } from "./words.js";
import { dateIn } from "./dates.js";
import { now } from "./server-clock.js";
import { areRight, countProblem, field, priceOf, priceProblem } from "./desk-field.js";
import { minorUnits } from "./desk-format.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./types.d.ts").Slot} Slot */

const BADGES = /** @type {const} */ ({ AVAILABLE: "good", LIMITED: "warn", FULL: "bad", CLOSED: "" });

/** @param {Desk} desk */
export function slotsPart(desk) {
  const { live, inventory, signal } = desk;
  const today = dateIn(now(), inventory.timezone);
  const date = h("input", { id: "date", type: "date", value: asked() ?? today, "data-date": "", onchange: () => draw() });
  const heading = h("h3", {});
  const list = h("ul", { class: "slots" });
  const empty = h("p", { class: "faint", hidden: true }, t("desk.slots.none"));
  /** @type {Map<string, {row: HTMLElement, update: (slot: Slot) => void}>} */
  const rows = new Map();

  const draw = () => {
    const slots = [...live.slots.values()].filter((slot) => slot.date === date.value).sort((a, b) => a.id.localeCompare(b.id));
    heading.textContent = date.value === "" ? "" : day(date.value);
    for (const [id, { row }] of rows) {
      if (slots.some((slot) => slot.id === id)) continue;
      row.remove();
      rows.delete(id);
    }
    slots.forEach((slot, index) => {
      const known = rows.get(slot.id) ?? slotRow(desk, slot);
      rows.set(slot.id, known);
      known.update(slot);
      if (list.children[index] !== known.row) list.insertBefore(known.row, list.children[index] ?? null);
    });
    empty.hidden = slots.length > 0;
  };
  live.onDraw(draw);
  window.addEventListener("desk-detail", () => {
    const wanted = asked();
    if (wanted === null) return;
    date.value = wanted;
    draw();
  }, { signal });
  return h("div", { class: "slots-part" },
    h("section", { class: "card stack", "aria-labelledby": "slots-title" },
      h("h2", { id: "slots-title" }, t("desk.slots.title")),
      h("div", { class: "field date-field" }, h("label", { for: "date" }, t("desk.date")), date),
      heading, list, empty),
    addForm(desk, date));
}

function asked() {
  const wanted = new URLSearchParams(location.search).get("date");
  return wanted !== null && /^\d{4}-\d{2}-\d{2}$/.test(wanted) ? wanted : null;
}

/** @param {Desk} desk @param {Slot} first */
function slotRow(desk, first) {
  const { api, inventory } = desk;
  const path = `/v1/schedules/${encodeURIComponent(inventory.id)}/slots/${first.id}`;
  let slot = first;
  const badge = h("span", { class: "badge" });
  const use = h("span", { class: "number" });
  const bar = h("span", { class: "sold" });
  const { element: note, say } = spokenNote();
  const { currency } = inventory;
  const units = minorUnits(currency);
  const capacity = field(
    t("desk.slot.capacity"),
    { id: `capacity-${first.id}`, type: "number", step: 1, inputmode: "numeric", value: first.total_capacity, "data-capacity": first.id },
    countProblem,
  );
  const price = field(
    t("desk.price", { currency, example: exactMoney(350 * units, currency) }),
    { id: `price-${first.id}`, type: "number", step: 1 / units, inputmode: "decimal", value: first.price / units, "data-price": first.id },
    priceProblem(currency),
  );
  const toggle = h(
    "button",
    {
      type: "button", "data-toggle": first.id,
      onclick: () => send(
        { status: slot.status === "CLOSED" ? "ACTIVE" : "CLOSED" },
        slot.status === "CLOSED" ? "desk.slot.opened" : "desk.slot.closed",
      ),
    },
  );
  /** @param {object} body @param {string} done */
  const send = async (body, done) => {
    const buttons = row.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    try {
      const after = await api.patch(path, body);
      update(after);
      say(t(done), "good");
    } catch (error) {
      say(
        error instanceof Refusal && error.code === "CAPACITY_BELOW_BOOKED_COUNT"
          ? t("desk.slot.tooSmall", { n: error.problem["booked_count"] ?? slot.booked_count })
          : whyNot(error),
        "bad",
      );
      onRecovery(api, error, note, () => (note.hidden = true));
    }
    for (const button of buttons) button.disabled = false;
  };
  /** @param {Slot} fresh */
  const update = (fresh) => {
    if (fresh.total_capacity !== slot.total_capacity) capacity.set(fresh.total_capacity);
    if (fresh.price !== slot.price) price.set(fresh.price / units);
    slot = fresh;
    badge.className = `badge ${BADGES[fresh.availability]}`;
    badge.textContent = t(`desk.slot.${fresh.availability}`);
    const counts = t("desk.slot.use", { booked: fresh.booked_count, total: fresh.total_capacity, left: fresh.available_count });
    use.textContent = `${counts} · ${money(fresh.price, currency)}`;
    bar.style.setProperty("--part", `${(100 * fresh.booked_count) / Math.max(1, fresh.total_capacity)}%`);
    toggle.textContent = t(fresh.status === "CLOSED" ? "desk.slot.open" : "desk.slot.close");
    row.dataset["status"] = fresh.status;
  };
  const row = h("li", { class: "slot", "data-slot": first.id },
    h("div", { class: "spread" }, h("strong", { class: "number" }, `${first.start_time}–${first.end_time}`), badge),
    h("div", { class: "meter", "aria-hidden": "true" }, bar), use,
    h("form", { class: "pair-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      if (!areRight([capacity, price])) return;
      const wanted = priceOf(price.text(), currency);
      send({ total_capacity: Number(capacity.text()), ...(wanted === slot.price ? {} : { price: wanted }) }, "desk.slot.changed");
    } },
      capacity.element, price.element, h("div", { class: "row" }, h("button", { type: "submit" }, t("desk.save")), toggle)),
    note);
  update(first);
  return { row, update };
}

/** @param {Desk} desk @param {HTMLInputElement} chosen */
function addForm(desk, chosen) {
  const { api, inventory, live } = desk;
  const input = (
    /** @type {string} */ name,
    /** @type {Record<string, any>} */ attributes
  ) => h("input", { id: `new-${name}`, name, required: true, ...attributes });
  const inputs = {
    date: input("date", { type: "date", value: chosen.value }), start: input("start", { type: "time", value: "18:00" }),
    end: input("end", { type: "time", value: "20:00" }),
    capacity: input("capacity", { type: "number", min: "1", max: "1000000", value: "50", inputmode: "numeric" }),
    price: input("price", { type: "number", min: "0", required: false, step: "any", inputmode: "decimal" }),
  };
  chosen.addEventListener("change", () => (inputs.date.value = chosen.value));
  const note = h("p", { class: "note", role: "status", hidden: true });
  const example = exactMoney(350 * minorUnits(inventory.currency), inventory.currency);
  const button = h("button", { class: "main", type: "submit" }, t("desk.add.do"));
  const refusals = /** @type {Record<string, string>} */ ({ SLOT_ALREADY_EXISTS: "desk.add.exists", CANNOT_CREATE_PAST_SLOT: "desk.add.past" });
  return h("form", { class: "card stack", "aria-labelledby": "add-title", "data-add-slot": "", onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    const price = inputs.price.value === "" ? {} : { price: Math.round(Number(inputs.price.value) * minorUnits(inventory.currency)) };
    try {
      const slot = await api.post(
        `/v1/schedules/${encodeURIComponent(inventory.id)}/slots`,
        { date: inputs.date.value, start: inputs.start.value, end: inputs.end.value, capacity: Number(inputs.capacity.value), ...price },
      );
      live.slots.set(slot.id, slot);
      show(note, t("desk.add.done", { slot: slot.id.replace("T", " "), capacity: number(slot.total_capacity) }));
      note.className = "note good";
      chosen.value = slot.date;
      chosen.dispatchEvent(new Event("change"));
    } catch (error) {
      const known = error instanceof Refusal ? refusals[error.code] : undefined;
      show(note, known ? t(known) : whyNot(error));
      note.className = "note bad";
      onRecovery(api, error, note, () => (note.hidden = true));
    }
    note.hidden = false;
    button.disabled = false;
  } },
    h("h2", { id: "add-title" }, t("desk.add.title")),
    Object.entries(inputs).map(
      ([name, input]) => h(
        "div",
        { class: "field" },
        h("label", { for: input.id }, t(`desk.add.${name}`, { currency: inventory.currency, example })),
        input,
      ),
    ),
    note, button);
}
