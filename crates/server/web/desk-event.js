// An event at the desk: what is left, how fast it sells and when it will be sold out.

import { barChart, lineChart, ticks, timeTicks } from "./chart.js";
import { chartBox } from "./chart-box.js";
import { h, show } from "./dom.js";
import { dateTime, number, shownZone } from "./format.js";
import { language, t } from "./words.js";
import { cancelPart } from "./desk-cancel.js";
import { findPart } from "./desk-find.js";
import { moment } from "./desk-format.js";
import { holdsPart } from "./desk-holds.js";
import { paced } from "./desk-pace.js";
import { now as serverNow } from "./server-clock.js";
import { redeemPart } from "./desk-redeem.js";
import { Sales } from "./desk-sales.js";
import { seatsPart } from "./desk-seats.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./types.d.ts").Stats} Stats */

const COUNTERS = /** @type {const} */ (["available", "held", "sold", "blocked", "total"]);
const RANGES = /** @type {Record<string, number>} */ ({ quarter: 15 * 60_000, hour: 60 * 60_000, all: Infinity });
const MARKS_MAX = 240;
const BARS_MINUTES = 30;
/** A projection goes no further than this part of what is shown, so that the past stays readable. */
const AHEAD_MAX = 0.35;
/** The clock moves the charts on even when nothing is sold. */
const REDRAW_MS = 5000;

/** @param {Desk} desk */
export function eventTabs(desk) {
  return [
    { id: "sales", label: t("desk.tab.sales"), make: () => salesPart(desk) },
    { id: "door", label: t("desk.tab.door"), make: () => redeemPart(desk) },
    { id: "bookings", label: t("desk.tab.bookings"), make: () => findPart(desk) },
    { id: "seats", label: t("desk.tab.seats"), make: () => seatsPart(desk) },
  ];
}

/** @param {Desk} desk */
function salesPart(desk) {
  const counters = countersPart(desk);
  return h(
    "div",
    { class: "dashboard event" },
    counters,
    curvePart(desk),
    h("section", { class: "card ending", "aria-labelledby": "holds-title" }, holdsPart(desk)),
    sectionsPart(desk),
    desk.role === "admin" && cancelPart(desk),
  );
}

/** @param {Desk} desk */
function countersPart(desk) {
  const values = Object.fromEntries(COUNTERS.map((name) => [name, h("dd", { class: "number", "data-counter": name }, "–")]));
  desk.live.onDraw(() => {
    const stats = desk.live.stats;
    if (stats) for (const name of COUNTERS) /** @type {HTMLElement} */ (values[name]).textContent = number(stats[name]);
  });
  return h(
    "dl",
    { class: "counters", "aria-label": t("desk.counters") },
    COUNTERS.map((name) => h("div", { class: `counter ${name}` }, h("dt", {}, t(`desk.stat.${name}`)), values[name])),
  );
}

/** @param {Desk} desk */
function curvePart(desk) {
  const sales = new Sales();
  let range = "all";
  let now = serverNow();
  const rate = h("strong", { class: "number", "data-rate": "" }, "–");
  const until = h("strong", { "data-sold-out": "" }, "–");
  const note = h("p", { class: "faint small", role: "status" }, t("desk.curve.reading"));
  const curve = chartBox({
    label: t("desk.curve.label"),
    height: 260,
    draw: (canvas) => drawCurve(canvas, sales, desk.live.stats, now, /** @type {number} */ (RANGES[range])),
    table: () => ({
      head: [t("desk.curve.time"), t("desk.stat.sold")],
      rows: sales.since(now - /** @type {number} */ (RANGES[range]), now, 60).map(([at, sold]) => [moment(at), number(sold)]),
    }),
  });
  const bars = chartBox({
    label: t("desk.minutes.label"),
    height: 150,
    draw: (canvas) => drawMinutes(canvas, sales, now),
    table: () => ({
      head: [t("desk.curve.time"), t("desk.stat.sold")],
      rows: sales.perMinute(now, BARS_MINUTES).map(({ from, sold }) => [moment(from), number(sold)]),
    }),
  });
  const choose = (/** @type {string} */ name) => {
    range = name;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset["range"] === name));
    redraw();
  };
  const buttons = Object.keys(RANGES).map((name) => h(
    "button",
    { type: "button", "aria-pressed": String(name === range), "data-range": name, onclick: () => choose(name) },
    t(`desk.range.${name}`),
  ));
  const redraw = () => {
    now = serverNow();
    const stats = desk.live.stats;
    const perMinute = sales.rate(now);
    rate.textContent = perMinute === null
      ? t("desk.rate.soon")
      : t("desk.rate", { rate: perMinute.toLocaleString(language, { maximumFractionDigits: 1 }) });
    until.textContent = stats ? soldOutWords(sales, stats, now) : "–";
    curve.redraw();
    bars.redraw();
  };
  const soon = paced(1000, desk.signal, redraw);
  let begun = false;
  desk.live.onChange(() => {
    const stats = desk.live.stats;
    if (!stats) return;
    sales.add(serverNow(), stats.sold);
    soon();
    if (begun) return;
    begun = true;
    sales.readPast(desk.api, desk.inventory, stats.sold, desk.signal).then(
      () => {
        note.textContent = sales.complete ? t("desk.curve.whole") : t("desk.curve.part", { time: moment(sales.points[0]?.[0] ?? now) });
        redraw();
      },
      () => (note.textContent = t("desk.curve.now", { time: moment(now) })),
    );
  });
  const clock = setInterval(soon, REDRAW_MS);
  desk.signal.addEventListener("abort", () => clearInterval(clock));
  return h("section", { class: "card curve", "aria-labelledby": "curve-title" },
    h(
      "div",
      { class: "spread" },
      h("h2", { id: "curve-title" }, t("desk.curve.title")),
      h("div", { class: "choice", role: "group", "aria-label": t("desk.range") }, buttons),
    ),
    h(
      "dl",
      { class: "pair" },
      h("div", {}, h("dt", {}, t("desk.rate.title")), h("dd", {}, rate)),
      h("div", {}, h("dt", {}, t("desk.until.title")), h("dd", {}, until)),
    ),
    curve,
    h(
      "ul",
      { class: "legend small faint" },
      [["line", "desk.stat.sold"], ["dashed", "desk.curve.ahead"], ["limit", "desk.curve.limit"]].map(
        ([look, words = ""]) => h("li", {}, h("span", { class: `key ${look}`, "aria-hidden": "true" }), t(words)),
      ),
    ),
    note,
    h("h3", {}, t("desk.minutes.title")),
    bars);
}

/** @param {Sales} sales @param {Stats} stats @param {number} now */
function soldOutWords(sales, stats, now) {
  const left = stats.total - stats.blocked - stats.sold;
  if (left <= 0) return t("desk.until.now");
  const at = sales.soldOutAt(now, left);
  if (at === null) return sales.rate(now) === null ? t("desk.rate.soon") : t("desk.until.never");
  const minutes = Math.max(1, Math.round((at - now) / 60_000));
  const duration = minutes < 120
    ? t("desk.minutes", { n: minutes })
    : minutes < 48 * 60
    ? t("desk.hours", { n: Math.round(minutes / 60) })
    : t("desk.days", { n: Math.round(minutes / 1440) });
  return minutes > 365 * 1440 ? t("desk.until.never") : t("desk.until", { duration, time: dateTime(new Date(at).toISOString()) });
}

/** @param {import("./chart.js").Canvas} canvas @param {Sales} sales @param {Stats | null} stats @param {number} now @param {number} span */
function drawCurve(canvas, sales, stats, now, span) {
  const points = sales.since(now - span, now, MARKS_MAX);
  const [begin, last] = [/** @type {[number, number]} */ (points[0]), /** @type {[number, number]} */ (points.at(-1))];
  const limit = stats ? stats.total - stats.blocked : last[1];
  const shown = Math.max(now - begin[0], 60_000);
  const soldOut = sales.soldOutAt(now, limit - last[1]);
  const until = soldOut === null ? now : Math.min(soldOut, now + shown * AHEAD_MAX);
  const ahead = soldOut === null
    ? []
    : [last, /** @type {[number, number]} */ ([until, last[1] + ((limit - last[1]) * (until - now)) / (soldOut - now)])];
  const from = now - shown;
  const x = { from, to: until, label: "", ticks: timeTicks(from, until, canvas.width / 90, language, shownZone()) };
  // A short look back is about the change: the axis then begins near the lowest value.
  const values = [...points, ...ahead].map(([, sold]) => sold);
  const near = Number.isFinite(span);
  const [low, high] = near ? [Math.min(...values), Math.max(...values)] : [0, Math.max(stats?.total ?? 0, ...values)];
  const room = near ? Math.max(2, (high - low) * 0.15) : 0;
  const y = {
    from: Math.max(0, low - room), to: high + room || 1, label: t("desk.unit.sold"),
    ticks: ticks(Math.max(0, low - room), high + room || 1, 5, number, 1),
  };
  return lineChart({
    ...canvas, x, y,
    lines: [
      { look: near ? "line" : "area", points },
      { look: "dashed", points: ahead },
      { look: "limit", points: limit <= y.to ? [[from, limit], [until, limit]] : [] },
    ],
    read: (at, sold) => [moment(at), t("desk.curve.read", { n: sold, percent: Math.round((100 * sold) / Math.max(1, limit)) })],
  });
}

/** @param {import("./chart.js").Canvas} canvas @param {Sales} sales @param {number} now */
function drawMinutes(canvas, sales, now) {
  const minutes = sales.perMinute(now, BARS_MINUTES);
  const highest = Math.max(4, ...minutes.map(({ sold }) => sold));
  const lowest = Math.min(0, ...minutes.map(({ sold }) => sold));
  const time = new Intl.DateTimeFormat(language, { timeStyle: "short", timeZone: shownZone() });
  return barChart({
    ...canvas,
    bars: minutes.map(
      ({ from, sold }) => ({ name: time.format(from), value: sold, text: [time.format(from), t("desk.minutes.read", { n: sold })] }),
    ),
    y: { from: lowest, to: highest, label: t("desk.unit.perMinute"), ticks: ticks(lowest, highest, 3, number, 1) },
  });
}

/** @param {Desk} desk */
function sectionsPart(desk) {
  const body = h("tbody", {});
  desk.live.onDraw(paced(2000, desk.signal, () => {
    const rows = [...desk.live.sections.values()].map(({ section, stats }) => sectionRow(section, stats));
    rows.push(...[...desk.live.areas].map(([name, stats]) => sectionRow(name, stats)));
    show(body, ...rows);
  }));
  const columns = /** @type {const} */ (["available", "held", "sold", "blocked"]);
  return h("section", { class: "card by-section", "aria-labelledby": "sections-title" },
    h("h2", { id: "sections-title" }, t("desk.sections.title")),
    h("div", { class: "scroll tall", tabindex: "0", role: "group", "aria-labelledby": "sections-title" }, h("table", {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, t("desk.section")),
          columns.map((name) => h("th", { scope: "col", class: "number" }, t(`desk.stat.${name}`))),
        ),
      ),
      body)));
}

/** @param {string} name @param {Stats} stats */
function sectionRow(name, stats) {
  const part = (/** @type {string} */ kind, /** @type {number} */ count) => {
    const bar = h("span", { class: kind });
    bar.style.setProperty("--part", `${(100 * count) / Math.max(1, stats.total)}%`);
    return bar;
  };
  return h("tr", {},
    h("th", { scope: "row" }, name, h("div", { class: "meter", "aria-hidden": "true" }, part("sold", stats.sold), part("held", stats.held))),
    [stats.available, stats.held, stats.sold, stats.blocked].map((count) => h("td", { class: "number" }, number(count))));
}
