// A schedule at the desk: how well its slots are used, which ones are the fullest, and how fast they fill.

import { barChart, heatMap, ticks } from "./chart.js";
import { chartBox } from "./chart-box.js";
import { h, show } from "./dom.js";
import { day, number, whyNot } from "./format.js";
import { language, t } from "./words.js";
import { findPart } from "./desk-find.js";
import { dateIn } from "./dates.js";
import { now } from "./server-clock.js";
import { holdsPart } from "./desk-holds.js";
import { paced } from "./desk-pace.js";
import { redeemPart } from "./desk-redeem.js";
import { slotsPart } from "./desk-slots.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/**
 * @typedef {{id: string, date: string, start_time: string, total_capacity: number, booked_count: number}} SlotCount
 * @typedef {SlotCount & {utilization_rate: number, fill_rate: number, booking_velocity_net: number}} SlotUse
 * @typedef {{slots: SlotUse[], start_times: {start_time: string, utilization_rate: number}[]}} Analytics
 */

const SPANS = [7, 14, 30, 90];
const PEAKS = 6;
const READ_MS = 10_000;

/** @param {Desk} desk */
export function scheduleTabs(desk) {
  return [
    { id: "use", label: t("desk.tab.use"), make: () => usePart(desk) },
    { id: "slots", label: t("desk.tab.slots"), make: () => slotsPart(desk) },
    { id: "door", label: t("desk.tab.door"), make: () => redeemPart(desk) },
    { id: "bookings", label: t("desk.tab.bookings"), make: () => findPart(desk) },
  ];
}

/** @param {string} date @param {number} days */
function later(date, days) {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/** @param {number} rate */
function percent(rate) {
  return (rate / 100).toLocaleString(language, { style: "percent", maximumFractionDigits: 1 });
}

/** @param {Desk} desk */
function usePart(desk) {
  const { api, inventory, live, signal } = desk;
  /** @type {Analytics} */
  let use = { slots: [], start_times: [] };
  const note = h("p", { class: "note bad", role: "alert", hidden: true });
  const span = h(
    "select",
    { id: "span", "data-span": "", onchange: () => read() },
    SPANS.map((days) => h("option", { value: days, selected: days === 14 }, t("desk.days", { n: days }))),
  );
  const overall = h("dl", { class: "counters", "aria-label": t("desk.counters") });
  const heat = chartBox({
    label: t("desk.heat.label"), height: 190, draw: (canvas) => drawHeat(canvas, use, live),
    table: () => heatTable(use),
  });
  const velocity = chartBox({
    label: t("desk.velocity.label"), height: 200, draw: (canvas) => drawVelocity(canvas, use),
    table: () => ({
      head: [t("desk.date"), t("desk.velocity.unit")],
      rows: perDay(use).map(({ date, speed }) => [day(date, { dateStyle: "medium" }), speed.toFixed(2)]),
    }),
  });
  const times = chartBox({
    label: t("desk.times.label"), height: 200, draw: (canvas) => drawTimes(canvas, use),
    table: () => ({
      head: [t("desk.start"), t("desk.used")],
      rows: use.start_times.map((time) => [time.start_time, percent(time.utilization_rate)]),
    }),
  });
  const peaks = h("ol", { class: "peaks" });

  const read = async () => {
    const from = dateIn(now(), inventory.timezone);
    try {
      use = await api.get(
        `/v1/schedules/${encodeURIComponent(inventory.id)}/analytics?from=${from}&to=${later(from, Number(span.value) - 1)}`,
        { signal },
      );
      note.hidden = true;
    } catch (error) {
      if (signal.aborted) return;
      note.textContent = whyNot(error);
      note.hidden = false;
      return;
    }
    const [booked, capacity] = [
      use.slots.reduce((sum, slot) => sum + slot.booked_count, 0),
      use.slots.reduce((sum, slot) => sum + slot.total_capacity, 0),
    ];
    const counter = (/** @type {string} */ name, /** @type {string} */ value) => h(
      "div",
      { class: "counter" },
      h("dt", {}, t(name)),
      h("dd", { class: "number" }, value),
    );
    show(overall,
      counter("desk.slots.count", number(use.slots.length)), counter("desk.slots.places", number(capacity)),
      counter("desk.slots.booked", number(booked)),
      counter("desk.used", percent(capacity === 0 ? 0 : (100 * booked) / capacity)),
      counter("desk.slots.full", number(use.slots.filter((slot) => slot.fill_rate === 100).length)));
    const fullest = [...use.slots].sort((a, b) => b.utilization_rate - a.utilization_rate).slice(0, PEAKS);
    show(peaks, ...fullest.map((slot) => h("li", {},
      h(
        "button",
        { type: "button", class: "plain link", onclick: () => desk.go("slots", { date: slot.date }) },
        `${day(slot.date, { month: "short", day: "numeric", weekday: "short" })} ${slot.start_time}`,
      ),
      h("span", { class: "number" }, `${number(slot.booked_count)} / ${number(slot.total_capacity)}`),
      h("strong", { class: "number" }, percent(slot.utilization_rate)))));
    for (const chart of [heat, velocity, times]) chart.redraw();
  };
  const again = paced(READ_MS, signal, read);
  live.onChange(again);
  again();
  return h("div", { class: "stack" },
    h("div", { class: "row use-span" }, h("label", { for: "span" }, t("desk.span")), span), note,
    h("div", { class: "dashboard schedule" },
      overall,
      h(
        "section",
        { class: "card curve", "aria-labelledby": "heat-title" },
        h("h2", { id: "heat-title" }, t("desk.heat.title")),
        heat,
        heatLegend(),
      ),
      h("section", { class: "card", "aria-labelledby": "peaks-title" }, h("h2", { id: "peaks-title" }, t("desk.peaks.title")), peaks),
      h(
        "section",
        { class: "card", "aria-labelledby": "velocity-title" },
        h("h2", { id: "velocity-title" }, t("desk.velocity.title")),
        velocity,
      ),
      h("section", { class: "card", "aria-labelledby": "times-title" }, h("h2", { id: "times-title" }, t("desk.times.title")), times),
      h("section", { class: "card ending", "aria-labelledby": "holds-title" }, holdsPart(desk))));
}

function heatLegend() {
  return h(
    "p",
    { class: "legend small faint", "aria-hidden": "true" },
    "0 %",
    [0, 2, 4, 6, 8, 10].map((level) => h("span", { class: `swatch heat-${level}` })),
    "100 %",
  );
}

/** Dates and times as the two sides of a table. @param {Analytics} use */
function table(use) {
  const dates = [...new Set(use.slots.map((slot) => slot.date))].sort();
  const times = [...new Set(use.slots.map((slot) => slot.start_time))].sort();
  const at = new Map(use.slots.map((slot) => [slot.id, slot]));
  return { dates, times, slot: (/** @type {string} */ date, /** @type {string} */ time) => at.get(`${date}T${time}`) ?? null };
}

/** @param {import("./chart.js").Canvas} canvas @param {Analytics} use @param {import("./desk-live.js").Live} live */
function drawHeat(canvas, use, live) {
  const { dates, times, slot } = table(use);
  return heatMap({
    ...canvas,
    columns: dates.map((date) => day(date, { month: "numeric", day: "numeric" })),
    rows: times,
    cells: times.map((time) => dates.map((date) => {
      const found = slot(date, time);
      const closed = live.slots.get(`${date}T${time}`)?.status === "CLOSED";
      return found && {
        part: found.utilization_rate / 100,
        number: String(Math.round(found.utilization_rate)),
        struck: closed,
        text: [
          `${day(date, { weekday: "short", month: "short", day: "numeric" })} ${time}`,
          `${percent(found.utilization_rate)} · ${number(found.booked_count)} / ${number(found.total_capacity)}`,
          ...(closed ? [t("desk.slot.CLOSED")] : []),
        ],
      };
    })),
  });
}

/** @param {Analytics} use */
function heatTable(use) {
  const { dates, times, slot } = table(use);
  return {
    head: [t("desk.date"), ...times],
    rows: dates.map((date) => [
      day(date, { dateStyle: "medium" }),
      ...times.map((time) => percentOrNot(slot(date, time))),
    ]),
  };
}

/** @param {SlotUse | null} slot */
function percentOrNot(slot) {
  return slot ? percent(slot.utilization_rate) : "–";
}

/** @param {Analytics} use */
function perDay(use) {
  /** @type {Map<string, number>} */
  const speeds = new Map();
  for (const slot of use.slots) speeds.set(slot.date, (speeds.get(slot.date) ?? 0) + slot.booking_velocity_net);
  return [...speeds].map(([date, speed]) => ({ date, speed }));
}

/** @param {import("./chart.js").Canvas} canvas @param {Analytics} use */
function drawVelocity(canvas, use) {
  const days = perDay(use);
  const highest = Math.max(0.5, ...days.map(({ speed }) => speed));
  return barChart({
    ...canvas,
    bars: days.map(
      ({ date, speed }) => ({
        name: day(date, { month: "numeric", day: "numeric" }), value: speed,
        text: [
          day(date, { weekday: "short", month: "short", day: "numeric" }),
          t("desk.velocity.read", { speed: speed.toLocaleString(language, { maximumFractionDigits: 2 }) }),
        ],
      }),
    ),
    y: {
      from: 0, to: highest, label: t("desk.velocity.unit"),
      ticks: ticks(0, highest, 4, (value) => value.toLocaleString(language, { maximumFractionDigits: 2 })),
    },
  });
}

/** @param {import("./chart.js").Canvas} canvas @param {Analytics} use */
function drawTimes(canvas, use) {
  return barChart({
    ...canvas,
    bars: [...use.start_times].sort((a, b) => a.start_time.localeCompare(b.start_time)).map(
      (time) => ({ name: time.start_time, value: time.utilization_rate, text: [time.start_time, percent(time.utilization_rate)] }),
    ),
    y: { from: 0, to: 100, label: t("desk.unit.percent"), ticks: ticks(0, 100, 4, (value) => number(value)) },
  });
}
