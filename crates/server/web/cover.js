// The picture on a card: rows of seats, days of a calendar, or boxes on a shelf, in a colour that belongs to the id.

import { svg } from "./dom.js";

/** @typedef {"events" | "schedules" | "shops"} Kind */

/** Round enough for a hue, and the same on every visit. @param {string} id */
function hueOf(id) {
  let hash = 7;
  for (const character of id) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return hash;
}

/** @param {Kind} kind @param {string} id @param {number} [left] the part that is left, 0 to 1 */
export function cover(kind, id, left = 1) {
  const draw = { events: seats, schedules: days, shops: boxes }[kind];
  const shape = { viewBox: "0 0 320 120", preserveAspectRatio: "xMidYMid slice" };
  const picture = svg("svg", { class: "cover", ...shape, "aria-hidden": "true" }, draw(left));
  picture.style.setProperty("--hue", String(hueOf(id)));
  return picture;
}

/** Bows around a stage; the front is gone first. @param {number} left */
function seats(left) {
  const spots = [];
  for (let row = 0; row < 5; row += 1) {
    const count = 13 + row * 4;
    for (let seat = 0; seat < count; seat += 1) {
      const angle = Math.PI * (0.12 + (0.76 * seat) / (count - 1));
      const radius = 62 + row * 21;
      spots.push({ x: 160 - Math.cos(angle) * radius * 1.15, y: -38 + Math.sin(angle) * radius });
    }
  }
  const taken = Math.round(spots.length * (1 - left));
  return [
    svg("rect", { class: "strong", x: 120, y: -8, width: 80, height: 18, rx: 6 }),
    ...spots.map(({ x, y }, index) => svg("circle", { class: index < taken ? "weak" : "strong", cx: x.toFixed(1), cy: y.toFixed(1), r: 3.6 })),
  ];
}

/** Three weeks. */
function days() {
  return Array.from({ length: 27 }, (_, index) => {
    const place = { x: 22 + (index % 9) * 32, y: 15 + Math.floor(index / 9) * 32 };
    return svg("rect", { class: index % 4 === 1 || index % 7 === 3 ? "strong" : "weak", ...place, width: 25, height: 25, rx: 6 });
  });
}

/** Five on a shelf, each with a ribbon. */
function boxes() {
  return [
    ...[44, 102, 160, 218, 276].map((x, index) => {
      const height = [46, 62, 38, 70, 52][index] ?? 46;
      const box = svg("rect", { class: index % 2 === 0 ? "strong" : "weak", x: x - 22, y: 98 - height, width: 44, height, rx: 6 });
      return svg("g", {}, box, svg("rect", { class: "ribbon", x: x - 3, y: 98 - height, width: 6, height }));
    }),
    svg("rect", { class: "strong", x: 0, y: 100, width: 320, height: 4 }),
  ];
}
