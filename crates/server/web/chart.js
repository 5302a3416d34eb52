// Charts: pure functions of data that give an SVG picture, and the points in it that can be read out.

import { aheadOfUtc } from "./dates.js";
import { svg } from "./dom.js";

/**
 * A point that can be pointed at: where it is in the picture, and what it says.
 *
 * @typedef {{x: number, y: number, text: string[]}} Mark
 * @typedef {{svg: SVGSVGElement, marks: Mark[], across: number}} Chart `across`: how many marks stand side by side before the next row begins.
 * @typedef {{at: number, text: string}} Tick
 * @typedef {{from: number, to: number, ticks: Tick[], label: string}} Axis
 * @typedef {{width: number, height: number, mark: number | null}} Canvas `mark`: the one that is read right now.
 * @typedef {{left: number, right: number, top: number, bottom: number}} Plot
 */

const MARGIN = { top: 22, right: 14, bottom: 26 };
const LETTER_PX = 6.7;
const WIDE_LETTER_PX = 12.5;
const TIP_LINE_PX = 17;
const HEAT_LEVELS = 10;

/** How wide this text will be, near enough to leave room for it. @param {string} text */
function widthOf(text) {
  let width = 0;
  for (const letter of text) width += letter.charCodeAt(0) > 0x2e7f ? WIDE_LETTER_PX : LETTER_PX;
  return width;
}

/**
 * Round numbers between two ends, about `count` of them.
 *
 * @param {number} from @param {number} to @param {number} count @param {(value: number) => string} format
 * @param {number} [stepMin] 1 if only whole things are counted
 * @returns {Tick[]}
 */
export function ticks(from, to, count, format, stepMin = 0) {
  const rough = Math.max((to - from) / Math.max(1, count), stepMin, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(stepMin, (([1, 2, 5].find((times) => times * power >= rough * 0.999) ?? 10)) * power);
  const list = [];
  // Adding zero makes the zero below zero a plain one.
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to + step * 1e-9; index += 1) list.push({
    at: index * step, text: format(index * step + 0),
  });
  return list;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  1000, 5000, 10_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR,
  3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY,
];

/**
 * Round times of a zone's clock between two moments.
 *
 * @param {number} from @param {number} to @param {number} count @param {string} locale @param {string | undefined} timeZone
 * @returns {Tick[]}
 */
export function timeTicks(from, to, count, locale, timeZone) {
  const step = TIME_STEPS.find((candidate) => (to - from) / candidate <= count) ?? Math.ceil((to - from) / count / DAY) * DAY;
  const format = new Intl.DateTimeFormat(
    locale,
    { ...(step < MINUTE ? { timeStyle: "medium" } : step < DAY ? { timeStyle: "short" } : { month: "short", day: "numeric" }), timeZone },
  );
  const zone = -aheadOfUtc(timeZone, to);
  const list = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) list.push({ at, text: format.format(at) });
  return list;
}

/** @param {Canvas} canvas @param {Tick[]} sideTicks @returns {Plot} */
function plotOf(canvas, sideTicks) {
  const left = Math.max(...sideTicks.map((tick) => widthOf(tick.text)), 14) + 12;
  return { left, right: canvas.width - MARGIN.right, top: MARGIN.top, bottom: canvas.height - MARGIN.bottom };
}

/** @param {Canvas} canvas @param {string} kind */
function picture(canvas, kind) {
  return svg(
    "svg",
    {
      class: `chart ${kind}`, viewBox: `0 0 ${canvas.width} ${canvas.height}`, width: canvas.width,
      height: canvas.height, "aria-hidden": "true",
    },
  );
}

/** @param {Plot} plot @param {Axis} y @param {(value: number) => number} place */
function sideAxis(plot, y, place) {
  return svg("g", { class: "axis" },
    svg("text", { class: "unit", x: 0, y: 12 }, y.label),
    y.ticks.map((tick) => svg("line", { class: "grid", x1: plot.left, x2: plot.right, y1: place(tick.at), y2: place(tick.at) })),
    y.ticks.map((tick) => svg("text", { x: plot.left - 7, y: place(tick.at) + 4, "text-anchor": "end" }, tick.text)));
}

/** Labels that would run into the one before are left out. @param {Plot} plot @param {{x: number, text: string}[]} labels */
function footAxis(plot, labels) {
  let end = -Infinity;
  const kept = labels.filter(({ x, text }) => {
    const half = widthOf(text) / 2;
    if (x - half < end + 8 || x - half < plot.left - 30 || x + half > plot.right + MARGIN.right) return false;
    end = x + half;
    return true;
  });
  return svg("g", { class: "axis" },
    svg("line", { class: "base", x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom }),
    kept.map(({ x }) => svg("line", { class: "base", x1: x, x2: x, y1: plot.bottom, y2: plot.bottom + 4 })),
    kept.map(({ x, text }) => svg("text", { x, y: plot.bottom + 18, "text-anchor": "middle" }, text)));
}

/** What is read, beside the point it is about. @param {Mark | undefined} mark @param {Canvas} canvas */
function tip(mark, canvas) {
  if (!mark) return null;
  const width = Math.max(...mark.text.map(widthOf)) + 20;
  const height = mark.text.length * TIP_LINE_PX + 10;
  const x = mark.x + 12 + width > canvas.width ? Math.max(0, mark.x - 12 - width) : mark.x + 12;
  const y = Math.min(Math.max(0, mark.y - height - 8), canvas.height - height);
  return svg("g", { class: "tip" },
    svg("rect", { x, y, width, height, rx: 7 }),
    mark.text.map((line, index) => svg("text", { x: x + 10, y: y + 18 + index * TIP_LINE_PX, class: index === 0 ? "head" : "" }, line)));
}

/**
 * Values over a continuous axis. The marks are the points of the first line.
 *
 * @typedef {{look: "area" | "line" | "dashed" | "limit", points: [number, number][]}} Line
 * @param {Canvas & {x: Axis, y: Axis, lines: Line[], read: (x: number, y: number) => string[]}} chart
 * @returns {Chart}
 */
export function lineChart(chart) {
  const { x, y, lines, mark } = chart;
  const plot = plotOf(chart, y.ticks);
  const placeX = (/** @type {number} */ value) => plot.left + ((value - x.from) / (x.to - x.from || 1)) * (plot.right - plot.left);
  const placeY = (/** @type {number} */ value) => plot.bottom - ((value - y.from) / (y.to - y.from || 1)) * (plot.bottom - plot.top);
  const marks = (lines[0]?.points ?? []).map(([atX, atY]) => ({ x: placeX(atX), y: placeY(atY), text: chart.read(atX, atY) }));
  const root = picture(chart, "lines");
  root.append(sideAxis(plot, y, placeY), footAxis(plot, x.ticks.map((tick) => ({ x: placeX(tick.at), text: tick.text }))));
  for (const { look, points } of lines) {
    if (points.length === 0) continue;
    const way = points.map(([atX, atY], index) => `${index === 0 ? "M" : "L"}${placeX(atX).toFixed(1)} ${placeY(atY).toFixed(1)}`).join("");
    const [first, last] = [/** @type {[number, number]} */ (points[0]), /** @type {[number, number]} */ (points.at(-1))];
    if (look === "area") root.append(
      svg("path", { class: "fill", d: `${way}L${placeX(last[0]).toFixed(1)} ${plot.bottom}L${placeX(first[0]).toFixed(1)} ${plot.bottom}Z` }),
    );
    root.append(svg("path", { class: look === "area" ? "line" : look, d: way }));
  }
  const read = mark === null ? undefined : marks[mark];
  if (read) {
    root.append(
      svg("line", { class: "cross", x1: read.x, x2: read.x, y1: plot.top, y2: plot.bottom }),
      svg("line", { class: "cross", x1: plot.left, x2: plot.right, y1: read.y, y2: read.y }),
      svg("circle", { class: "spot", cx: read.x, cy: read.y, r: 4.5 }),
    );
  }
  const words = tip(read, chart);
  if (words) root.append(words);
  return { svg: root, marks, across: marks.length };
}

/**
 * One bar for each thing.
 *
 * @param {Canvas & {bars: {name: string, value: number, text: string[]}[], y: Axis}} chart
 * @returns {Chart}
 */
export function barChart(chart) {
  const { bars, y, mark } = chart;
  const plot = plotOf(chart, y.ticks);
  const step = (plot.right - plot.left) / Math.max(1, bars.length);
  const placeY = (/** @type {number} */ value) => plot.bottom - ((value - y.from) / (y.to - y.from || 1)) * (plot.bottom - plot.top);
  const marks = bars.map((bar, index) => ({ x: plot.left + (index + 0.5) * step, y: placeY(Math.max(0, bar.value)), text: bar.text }));
  const root = picture(chart, "bars");
  root.append(sideAxis(plot, y, placeY));
  bars.forEach((bar, index) => {
    const [top, foot] = [placeY(Math.max(0, bar.value)), placeY(Math.min(0, bar.value))];
    const thick = Math.max(1, Math.min(step * 0.72, 44));
    root.append(svg("rect", {
      class: index === mark ? "bar read" : "bar", x: plot.left + (index + 0.5) * step - thick / 2, width: thick, y: top,
      height: Math.max(bar.value === 0 ? 0 : 1, foot - top), rx: Math.min(3, thick / 3),
    }));
  });
  root.append(footAxis(plot, marks.map((place, index) => ({ x: place.x, text: /** @type {{name: string}} */ (bars[index]).name }))));
  const words = tip(mark === null ? undefined : marks[mark], chart);
  if (words) root.append(words);
  return { svg: root, marks, across: marks.length };
}

/**
 * A table of shares between 0 and 1, darker for more, each with its number where there is room.
 *
 * @param {Canvas & {columns: string[], rows: string[], cells: ({part: number, text: string[], number: string, struck?: boolean} | null)[][]}} chart
 * @returns {Chart}
 */
export function heatMap(chart) {
  const { columns, rows, cells, mark } = chart;
  const plot = plotOf({ ...chart, height: chart.height }, rows.map((text) => ({ at: 0, text })));
  plot.top = 6;
  const [wide, high] = [(plot.right - plot.left) / Math.max(1, columns.length), (plot.bottom - plot.top) / Math.max(1, rows.length)];
  /** @type {Mark[]} */
  const marks = [];
  const root = picture(chart, "heat");
  const side = svg(
    "g",
    { class: "axis" },
    rows.map((text, row) => svg("text", { x: plot.left - 7, y: plot.top + (row + 0.5) * high + 4, "text-anchor": "end" }, text)),
  );
  root.append(side, footAxis({ ...plot }, columns.map((text, column) => ({ x: plot.left + (column + 0.5) * wide, text }))));
  cells.forEach((line, row) => line.forEach((cell, column) => {
    const [x, y] = [plot.left + column * wide, plot.top + row * high];
    const index = marks.push({ x: x + wide / 2, y: y + high / 2, text: cell?.text ?? [] }) - 1;
    if (!cell) return;
    const level = Math.min(HEAT_LEVELS, Math.max(0, Math.round(cell.part * HEAT_LEVELS)));
    root.append(
      svg(
        "rect",
        {
          class: `cell heat-${level}${index === mark ? " read" : ""}`, x: x + 1, y: y + 1, width: Math.max(1, wide - 2),
          height: Math.max(1, high - 2), rx: Math.min(5, wide / 4),
        },
      ),
    );
    if (cell.struck) root.append(svg("line", { class: `strike heat-${level}`, x1: x + 4, y1: y + high - 4, x2: x + wide - 4, y2: y + 4 }));
    else if (wide > widthOf(cell.number) + 4 && high > 16) root.append(
      svg("text", { class: `in heat-${level}`, x: x + wide / 2, y: y + high / 2 + 4, "text-anchor": "middle" }, cell.number),
    );
  }));
  const read = mark === null ? undefined : marks[mark];
  const words = read && read.text.length > 0 ? tip(read, chart) : null;
  if (words) root.append(words);
  return { svg: root, marks, across: columns.length };
}
