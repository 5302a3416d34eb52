// What the shapes on the map mean.

import { h, svg } from "./dom.js";
import { t } from "./words.js";

/** @type {[string, (picture: SVGElement) => void][]} */
const SHAPES = [
  ["available", (picture) => picture.append(svg("rect", { class: "free", x: 2, y: 2, width: 16, height: 16 }))],
  ["picked", (picture) => {
    picture.append(svg("rect", { class: "mine", x: 1, y: 1, width: 18, height: 18, rx: 5 }), svg("path", { class: "tick", d: "M5.5 10.5 9 14l6-7" }));
  }],
  ["held", (picture) => {
    picture.append(svg("rect", { class: "held", x: 3.5, y: 3.5, width: 13, height: 13 }), svg("path", { class: "held", d: "M6.5 10h7" }));
  }],
  ["sold", (picture) => picture.append(svg("rect", { class: "sold", x: 7.5, y: 7.5, width: 5, height: 5 }))],
  ["blocked", (picture) => picture.append(svg("path", { class: "blocked", d: "m6 6 8 8m0-8-8 8" }))],
];

export function legend() {
  return h("ul", { class: "legend small", "aria-label": t("event.legend") }, SHAPES.map(([state, draw]) => {
    const picture = svg("svg", { viewBox: "0 0 20 20", width: 18, height: 18, "aria-hidden": "true" });
    draw(picture);
    return h("li", {}, picture, t(`event.state.${state}`));
  }));
}
