// `<hall-map>`: the picture of the hall, to look at, to move in and to pick from. It knows nothing of bookings.

import { h, show } from "./dom.js";
import { Camera, SCALE_MAX } from "./hall-camera.js";
import { readColours, watchColours } from "./hall-colours.js";
import { listenToGestures } from "./hall-gestures.js";
import { inHall, inPlace, layOut } from "./hall-layout.js";
import { Painter, SHAPES_FROM } from "./hall-paint.js";
import { bestSeat } from "./hall.js";
import { placeWords, seatWords } from "./hall-words.js";
import { SeatCursor } from "./seat-cursor.js";
import { t } from "./words.js";

/** @typedef {import("./hall.js").Hall} Hall */
/** @typedef {import("./hall.js").Block} Block */
/** @typedef {import("./hall-layout.js").Place} Place */
/** @typedef {{pickSeat: (index: number) => void, pickArea: (name: string) => void, leaveSeats: (block: Block) => void}} Choices */

const DENSITY_MAX = 2;
/** A mouse hits what is this large, a finger needs more; so large they are after zooming in for it. */
const MOUSE_SEAT_PIXELS = 9;
const FINGER_SEAT_PIXELS = 22;
const NEAR_SEAT_PIXELS = 30;
const BUTTON_FACTOR = 1.6;

export class HallMap extends HTMLElement {
  framesDrawn = 0;
  /** @type {import("./hall-paint.js").Marks} */
  #marks = { picked: new Set(), yours: new Set(), offers: [], hover: -1, pointed: null };
  #canvas = h("canvas", { role: "img" });
  #tip = h("div", { class: "tip", hidden: true });
  #probe = h("span", { hidden: true });
  #context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d", { alpha: false }));
  #density = 1;
  #waiting = 0;
  #marked = false;
  /** Where somebody wants to go as soon as its seats are known. @type {Block | null} */
  #entering = null;
  /** @type {AbortController | null} */
  #watching = null;
  /** @type {{hall: Hall, currency: string, places: Place[], camera: Camera, painter: Painter, cursor: SeatCursor, choices: Choices} | null} */
  #open = null;
  #layout = /** @type {import("./hall-layout.js").Layout | null} */ (null);
  #sizes = new ResizeObserver(() => this.#resize());

  /** @param {Hall} hall @param {string} currency @param {Choices} choices */
  open(hall, currency, choices) {
    const layout = layOut(hall);
    const cursor = new SeatCursor(hall, currency, this.#marks, {
      move: (index) => this.#keepInSight(index),
      pick: choices.pickSeat,
      leave: choices.leaveSeats,
    });
    this.#layout = layout;
    this.#canvas.setAttribute("aria-label", t("event.mapOf", { n: hall.blocks.length, areas: hall.areas.length }));
    show(this, this.#canvas, cursor.element, this.#tip, this.#tools(), this.#probe);
    this.#open = { hall, currency, places: layout.places, camera: new Camera(layout.bounds), painter: this.#painter(hall), cursor, choices };
    this.#resize();
  }

  connectedCallback() {
    this.#watching = new AbortController();
    watchColours(() => this.#repaint(), this.#watching.signal);
    this.#sizes.observe(this);
    this.#repaint();
  }

  disconnectedCallback() {
    this.#watching?.abort();
    this.#sizes.disconnect();
  }

  constructor() {
    super();
    this.addEventListener("keydown", (event) => this.#key(event));
    listenToGestures(this.#canvas, {
      pan: (dx, dy) => this.#move((camera) => camera.panBy(dx, dy)),
      zoom: (factor, x, y) => this.#zoom(factor, x, y),
      tap: (x, y, coarse) => this.#tap(x, y, coarse),
      hover: (x, y) => this.#hover(x, y),
      leave: () => this.#point(-1, null),
    });
  }

  /** @param {Hall} hall */
  #painter(hall) {
    const words = { stage: t("event.stage"), left: (/** @type {number} */ n) => t("event.left", { n }), soldOut: t("event.none") };
    return new Painter(hall, /** @type {import("./hall-layout.js").Layout} */ (this.#layout), readColours(this.#probe), words);
  }

  /** The colours are others. */
  #repaint() {
    if (!this.#open) return;
    this.#open.painter = this.#painter(this.#open.hall);
    this.redraw();
  }

  /** The hall has changed: these seats, or all of them. @param {number[] | null} seats */
  changed(seats) {
    if (!this.#open) return;
    if (seats) this.#open.painter.changed(seats);
    else this.#open.painter = this.#painter(this.#open.hall);
    this.#open.cursor.refresh();
    this.redraw();
    if (this.#entering && this.#open.hall.seatsKnown) {
      const block = this.#entering;
      this.#entering = null;
      this.enter(block);
    }
  }

  /** @param {Partial<import("./hall-paint.js").Marks>} marks */
  mark(marks) {
    Object.assign(this.#marks, marks);
    this.#open?.cursor.refresh();
    this.redraw();
  }

  /** Near enough to see the seats of it, and upright. @param {Block} block */
  showBlock(block) {
    const place = this.#open?.places.find(({ of }) => of === block);
    if (!this.#open || !place) return;
    const { camera } = this.#open;
    const scale = Math.min(camera.width / (place.width + 5), camera.height / (place.depth + 5), NEAR_SEAT_PIXELS);
    this.#glide(place, 0, place.depth / 2, Math.max(scale, SHAPES_FROM + 1));
  }

  /** All of a block if its seats are then large enough to hit, else its best free ones. @param {Block} block @param {boolean} coarse whether a finger is to hit them */
  #showForChoosing(block, coarse) {
    const place = this.#open?.places.find(({ of }) => of === block);
    if (!this.#open || !place) return;
    const { camera, hall } = this.#open;
    const least = coarse ? FINGER_SEAT_PIXELS : SHAPES_FROM + 1;
    const wide = camera.width / (place.width + 5);
    if (Math.min(wide, camera.height / (place.depth + 5)) >= least) return this.showBlock(block);
    const { row, col } = hall.seat(bestSeat(hall, block));
    const scale = coarse && wide < least ? NEAR_SEAT_PIXELS : Math.max(least, Math.min(wide, NEAR_SEAT_PIXELS));
    this.#glide(place, col - place.width / 2, row, scale);
  }

  /** @param {number[]} seats */
  showSeats(seats) {
    const [first] = seats;
    if (!this.#open || first === undefined) return;
    const { block, row, col } = this.#open.hall.seat(first);
    const place = /** @type {Place} */ (this.#open.places.find(({ of }) => of === block));
    this.#glide(place, col - place.width / 2 + Math.min(seats.length, 10) / 2 - 1, row, Math.max(this.#open.camera.view.scale, NEAR_SEAT_PIXELS - 6));
  }

  showAll() {
    this.#move((camera) => camera.glideTo(camera.whole()));
  }

  /** The list's way in: the best free seat of it gets the focus. @param {Block} block */
  enter(block) {
    this.#showForChoosing(block, matchMedia("(pointer: coarse)").matches);
    if (this.#open?.hall.seatsKnown) this.#open.cursor.enter(block, bestSeat(this.#open.hall, block));
    else this.#entering = block;
  }

  /** @param {Place} place @param {number} along @param {number} back @param {number} scale */
  #glide(place, along, back, scale) {
    this.#move((camera) => {
      // As much of the place as fits; nothing beside it while there is more of it to see.
      const centred = (/** @type {number} */ wanted, /** @type {number} */ size, /** @type {number} */ pixels, /** @type {number} */ beside) => {
        const slack = Math.max(0, (size - pixels / scale) / 2 + beside);
        return Math.max(-slack, Math.min(slack, wanted));
      };
      const middle = place.depth / 2;
      const [x, y] = inHall(place, centred(along, place.width, camera.width, 2), middle + centred(back - middle, place.depth, camera.height, 3));
      camera.glideTo({ x, y, scale, turn: place.angle });
    });
  }

  /** @param {number} index */
  #keepInSight(index) {
    if (!this.#open) return;
    const { camera, painter, hall } = this.#open;
    const near = camera.target;
    const [x, y] = painter.seatOnScreen(camera, index);
    const edge = 40;
    const inside = x > edge && y > edge && x < camera.width - edge && y < camera.height - edge;
    if (!inside || near.scale < SHAPES_FROM) {
      const { block, row, col } = hall.seat(index);
      const place = /** @type {Place} */ (this.#open.places.find(({ of }) => of === block));
      this.#glide(place, col - 0.5 - place.width / 2, row - 0.5, Math.max(near.scale, NEAR_SEAT_PIXELS - 6));
    }
    this.redraw();
  }

  #tools() {
    const button = (/** @type {string} */ sign, /** @type {string} */ act, /** @type {string} */ words, /** @type {() => void} */ does) =>
      h("button", { type: "button", "data-map": act, "aria-label": words, title: words, onclick: does }, sign);
    return h(
      "div",
      { class: "tools", role: "group", "aria-label": t("event.tools") },
      button("+", "nearer", t("event.nearer"), () => this.#zoomMiddle(BUTTON_FACTOR)),
      button("−", "farther", t("event.farther"), () => this.#zoomMiddle(1 / BUTTON_FACTOR)),
      button("⤢", "whole", t("event.whole"), () => this.showAll()),
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") this.#zoomMiddle(BUTTON_FACTOR);
    else if (event.key === "-") this.#zoomMiddle(1 / BUTTON_FACTOR);
    else if (event.key === "0") this.showAll();
    else return;
    event.preventDefault();
  }

  /** @param {number} factor */
  #zoomMiddle(factor) {
    this.#move((camera) => {
      const before = camera.target;
      const scale = Math.min(SCALE_MAX, before.scale * factor);
      camera.glideTo(scale <= camera.scaleMin() ? camera.whole() : { ...before, scale });
    });
  }

  /** @param {number} factor @param {number} x @param {number} y */
  #zoom(factor, x, y) {
    if (!this.#open || (factor < 1 && this.#open.camera.isWhole())) return false;
    this.#move((camera) => camera.zoomAt(factor, x, y));
    return true;
  }

  /** @param {(camera: Camera) => void} how */
  #move(how) {
    if (!this.#open) return;
    how(this.#open.camera);
    // A finger on the whole hall scrolls the page; in a part of it, it moves the hall.
    this.#canvas.classList.toggle("near", !this.#open.camera.goesWhole());
    this.#tip.hidden = true;
    this.redraw();
  }

  /** What is at a point of the picture. @param {number} x @param {number} y @returns {{place: Place, seat: number} | null} */
  #at(x, y) {
    if (!this.#open) return null;
    const { camera, places, hall } = this.#open;
    const [inX, inY] = camera.toHall(x, y);
    for (const place of places) {
      const [along, back] = inPlace(place, inX, inY);
      if (Math.abs(along) > place.width / 2 || back < 0 || back >= place.depth) continue;
      const { of } = place;
      if (of.kind === "area" || !hall.seatsKnown) return { place, seat: -1 };
      return { place, seat: of.first + Math.floor(back) * of.cols + Math.min(of.cols - 1, Math.floor(along + of.cols / 2)) };
    }
    return null;
  }

  /** @param {number} x @param {number} y @param {boolean} coarse */
  #tap(x, y, coarse) {
    const hit = this.#at(x, y);
    if (!this.#open || !hit) return;
    const { of } = hit.place;
    if (of.kind === "area") {
      this.#open.choices.pickArea(of.address);
    } else if (this.#open.camera.view.scale >= (coarse ? FINGER_SEAT_PIXELS : MOUSE_SEAT_PIXELS) && hit.seat >= 0) {
      this.#open.choices.pickSeat(hit.seat);
    } else {
      this.#showForChoosing(of, coarse);
    }
  }

  /** @param {number} x @param {number} y */
  #hover(x, y) {
    const hit = this.#at(x, y);
    if (!this.#open || !hit) return this.#point(-1, null);
    const { hall, currency, camera } = this.#open;
    const onSeat = hit.seat >= 0 && camera.view.scale >= MOUSE_SEAT_PIXELS;
    this.#point(onSeat ? hit.seat : -1, onSeat ? null : hit.place);
    this.#tip.textContent = onSeat ? seatWords(hall.seat(hit.seat), currency, this.#marks) : placeWords(hit.place.of, currency);
    this.#tip.hidden = false;
    const tip = this.#tip.getBoundingClientRect();
    this.#tip.style.setProperty("left", `${Math.max(4, Math.min(camera.width - tip.width - 4, x + 14))}px`);
    this.#tip.style.setProperty("top", `${y + tip.height + 24 > camera.height ? y - tip.height - 10 : y + 18}px`);
  }

  /** @param {number} seat @param {Place | null} place */
  #point(seat, place) {
    if (seat < 0 && !place) this.#tip.hidden = true;
    if (this.#marks.hover === seat && this.#marks.pointed === place) return;
    this.#marks.hover = seat;
    this.#marks.pointed = place;
    this.#canvas.classList.toggle("pointing", seat >= 0 || place !== null);
    this.redraw();
  }

  #resize() {
    if (!this.#open || this.clientWidth === 0) return;
    this.#density = Math.min(DENSITY_MAX, devicePixelRatio);
    this.#canvas.width = Math.round(this.clientWidth * this.#density);
    this.#canvas.height = Math.round(this.clientHeight * this.#density);
    this.#open.camera.resize(this.clientWidth, this.clientHeight);
    this.#frame(performance.now());
  }

  /** With the next frame, and only then. */
  redraw() {
    if (this.#waiting === 0 && this.isConnected) this.#waiting = requestAnimationFrame((now) => this.#frame(now));
  }

  /** @param {number} now */
  #frame(now) {
    this.#waiting = 0;
    if (!this.#open) return;
    const { camera, painter, hall, cursor } = this.#open;
    const more = camera.step(now);
    painter.draw(this.#context, camera, this.#density, this.#marks);
    if (cursor.seat >= 0) cursor.placeAt(...painter.seatOnScreen(camera, cursor.seat), camera.view.scale);
    this.framesDrawn += 1;
    if (hall.seatsKnown && !this.#marked) {
      this.#marked = true;
      performance.mark("boxoffice-first-map");
    }
    if (more) this.redraw();
  }
}

customElements.define("hall-map", HallMap);
