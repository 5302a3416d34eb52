// Draws the hall: from afar every subsection with what is left in it, nearer its seats as dots, near enough each seat with its own shape.

import { SeatBitmaps } from "./hall-bitmaps.js";
import { inHall, inPlace } from "./hall-layout.js";
import { offerLetter } from "./hall-words.js";
import { BLOCKED, FREE, HELD, left } from "./hall.js";

/** @typedef {import("./hall.js").Hall} Hall */
/** @typedef {import("./hall.js").Block} Block */
/** @typedef {import("./hall-layout.js").Layout} Layout */
/** @typedef {import("./hall-layout.js").Place} Place */
/** @typedef {import("./hall-camera.js").Camera} Camera */
/** @typedef {import("./hall-colours.js").Colours} Colours */

/** Pixels for one seat from which on seats are dots, have shapes, have numbers. */
const DOTS_FROM = 3.2;
export const SHAPES_FROM = 11;
const NUMBERS_FROM = 25;
/** The numbers of the rows stay in sight at the edge of the picture. */
const ROW_STRIP_PIXELS = 24;
/** The sign that leads to the stage, and the corner that the map's buttons have. */
const SIGN_PIXELS = { halfWidth: 44, halfHeight: 13, edge: 6 };
const TOOLS_PIXELS = 170;
/** Room for the numbers of the rows, in seats; less than half an aisle. */
const ROW_NAMES_BESIDE = 1.15;
const NAME_PIXELS_MIN = 8;
const COUNT_PIXELS_MIN = 10;
const NAME_PIXELS_MAX = 15;
const FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans TC', 'PingFang TC', sans-serif";

/**
 * What is on the map beside the hall itself.
 *
 * @typedef {{picked: Set<number>, yours: Set<number>, offers: number[][], hover: number, pointed: Place | null}} Marks
 * `offers`: seats proposed instead of others, each with its number. `hover`: a seat, or -1.
 */

export class Painter {
  #hall;
  #layout;
  #colours;
  #bitmaps;
  #words;
  /** @type {CanvasPattern | null} */
  #hatch = null;
  /** @type {Map<string, number>} */
  #widths = new Map();

  /** @param {Hall} hall @param {Layout} layout @param {Colours} colours @param {{stage: string, left: (n: number) => string, soldOut: string}} words */
  constructor(hall, layout, colours, words) {
    this.#hall = hall;
    this.#layout = layout;
    this.#colours = colours;
    this.#words = words;
    this.#bitmaps = new SeatBitmaps(hall, colours);
  }

  /** @param {Iterable<number>} seats */
  changed(seats) {
    for (const index of seats) this.#bitmaps.repaint(index);
  }

  /** @param {CanvasRenderingContext2D} context @param {Camera} camera @param {number} density canvas pixels for one of the page's @param {Marks} marks */
  draw(context, camera, density, marks) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.#colours.sunken;
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    this.#stage(context, camera, density);
    const seen = this.#layout.places.filter((place) => inSight(place, camera));
    for (const place of seen) {
      const shown = place.of.kind === "block" && this.#hall.seatsKnown ? camera.view.scale : 0;
      this.#into(context, camera, density, place);
      if (shown < DOTS_FROM) this.#whole(context, place, 1 / camera.view.scale, place === marks.pointed);
      else if (shown < SHAPES_FROM) this.#dots(context, place);
      else this.#seats(context, camera, place, marks);
    }
    context.setTransform(density, 0, 0, density, 0, 0);
    for (const place of seen) this.#name(context, camera, place);
    this.#marked(context, camera, marks);
    this.#wayToStage(context, camera);
  }

  /** From here on a place's own coordinates count. @param {CanvasRenderingContext2D} context @param {Camera} camera @param {number} density @param {Place} place */
  #into(context, camera, density, place) {
    const turn = camera.view.turn - place.angle;
    const [x, y] = camera.toScreen(place.x, place.y);
    const size = camera.view.scale * density;
    context.setTransform(size * Math.cos(turn), size * Math.sin(turn), -size * Math.sin(turn), size * Math.cos(turn), x * density, y * density);
  }

  /** @param {CanvasRenderingContext2D} context @param {Camera} camera @param {number} density */
  #stage(context, camera, density) {
    const { radius, half, top } = this.#layout.stage;
    const { scale, turn } = camera.view;
    const [x, y] = camera.toScreen(0, 0);
    const [cos, sin] = [Math.cos(turn) * scale * density, Math.sin(turn) * scale * density];
    context.setTransform(cos, sin, -sin, cos, x * density, y * density);
    context.fillStyle = this.#colours.line;
    const reach = Math.asin(half / radius);
    context.beginPath();
    context.moveTo(half * 0.86, top);
    context.arc(0, 0, radius, Math.PI / 2 - reach, Math.PI / 2 + reach);
    context.lineTo(-half * 0.86, top);
    context.fill();
    context.setTransform(density, 0, 0, density, 0, 0);
    const [middleX, middleY] = camera.toScreen(0, (top + radius) / 2);
    const size = Math.min(16, (radius - top) * scale * 0.6, half * scale * 0.4);
    if (size >= 6) this.#text(context, this.#words.stage, middleX, middleY, size, this.#colours.faint, 650);
  }

  /** Where the stage is, while it is out of sight. @param {CanvasRenderingContext2D} context @param {Camera} camera */
  #wayToStage(context, camera) {
    const { radius, top } = this.#layout.stage;
    const [stageX, stageY] = camera.toScreen(0, (top + radius) / 2);
    if (stageX >= 0 && stageY >= 0 && stageX <= camera.width && stageY <= camera.height) return;
    const { halfWidth, halfHeight, edge } = SIGN_PIXELS;
    const clamp = (/** @type {number} */ value, /** @type {number} */ low, /** @type {number} */ high) => Math.max(low, Math.min(high, value));
    const x = clamp(stageX, halfWidth + edge, Math.max(halfWidth + edge, camera.width - TOOLS_PIXELS - halfWidth));
    const y = clamp(stageY, halfHeight + edge, camera.height - halfHeight - edge);
    context.fillStyle = this.#colours.raised;
    context.strokeStyle = this.#colours.line;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x - halfWidth, y - halfHeight, 2 * halfWidth, 2 * halfHeight, halfHeight);
    context.fill();
    context.stroke();
    context.save();
    context.translate(x - halfWidth + 15, y);
    context.rotate(Math.atan2(stageY - y, stageX - x) + Math.PI / 2);
    context.fillStyle = this.#colours.text;
    context.beginPath();
    context.moveTo(0, -6);
    context.lineTo(5, 5);
    context.lineTo(-5, 5);
    context.fill();
    context.restore();
    this.#text(context, this.#words.stage, x + 9, y + 0.5, Math.min(12, this.#sizeFor(context, this.#words.stage, 2 * halfWidth - 32)), this.#colours.text, 650);
  }

  /** @param {CanvasRenderingContext2D} context @param {Place} place @param {number} pixel @param {boolean} pointed */
  #whole(context, place, pixel, pointed) {
    const { width, depth } = place;
    const much = left(place.of);
    context.fillStyle = { many: this.#colours["good-ground"], few: this.#colours["warn-ground"], none: this.#colours.ground }[much];
    context.strokeStyle = pointed ? this.#colours.accent : { many: this.#colours.good, few: this.#colours.warn, none: this.#colours.line }[much];
    context.lineWidth = (pointed ? 2.5 : much === "few" ? 1.6 : 1) * pixel;
    context.setLineDash(much === "few" ? [5 * pixel, 3 * pixel] : []);
    context.beginPath();
    context.roundRect(-width / 2, 0, width, depth, 4 * pixel);
    context.fill();
    if (much === "none") {
      context.fillStyle = this.#stripes(context);
      context.fill();
    }
    context.stroke();
    context.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} context @returns {CanvasPattern | string} */
  #stripes(context) {
    if (!this.#hatch) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 6;
      const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
      pen.strokeStyle = this.#colours.line;
      pen.lineWidth = 1.4;
      pen.beginPath();
      for (const shift of [-6, 0, 6]) {
        pen.moveTo(shift, 6);
        pen.lineTo(shift + 6, 0);
      }
      pen.stroke();
      this.#hatch = context.createPattern(tile, "repeat");
      this.#hatch?.setTransform(new DOMMatrix([0.4, 0, 0, 0.4, 0, 0]));
    }
    return this.#hatch ?? "transparent";
  }

  /** @param {CanvasRenderingContext2D} context @param {Place} place */
  #dots(context, place) {
    this.#ground(context, place, 0.5);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#bitmaps.of(/** @type {Block} */ (place.of)), -place.width / 2 + 0.125, 0.125, place.width, place.depth);
  }

  /** @param {CanvasRenderingContext2D} context @param {Place} place @param {number} beside */
  #ground(context, place, beside) {
    context.fillStyle = this.#colours.raised;
    context.fillRect(-place.width / 2 - beside, -0.5, place.width + 2 * beside, place.depth + 1);
  }

  /**
   * One path for each state, and only over the seats in sight.
   *
   * @param {CanvasRenderingContext2D} context @param {Camera} camera @param {Place} place @param {Marks} marks
   */
  #seats(context, camera, place, marks) {
    this.#ground(context, place, ROW_NAMES_BESIDE);
    const block = /** @type {Block} */ (place.of);
    const { firstRow, lastRow, firstCol, lastCol } = seatsInSight(place, camera);
    const [free, held, bars, sold, blocked] = [new Path2D(), new Path2D(), new Path2D(), new Path2D(), new Path2D()];
    for (let row = firstRow; row <= lastRow; row += 1) {
      for (let col = firstCol; col <= lastCol; col += 1) {
        const index = block.first + row * block.cols + col;
        if (marks.yours.has(index)) continue;
        const state = this.#hall.states[index];
        const x = col - place.width / 2;
        if (state === FREE) {
          free.rect(x + 0.1, row + 0.1, 0.8, 0.8);
        } else if (state === HELD) {
          held.rect(x + 0.16, row + 0.16, 0.68, 0.68);
          bars.rect(x + 0.3, row + 0.44, 0.4, 0.12);
        } else if (state === BLOCKED) {
          blocked.moveTo(x + 0.3, row + 0.3);
          blocked.lineTo(x + 0.7, row + 0.7);
          blocked.moveTo(x + 0.7, row + 0.3);
          blocked.lineTo(x + 0.3, row + 0.7);
        } else {
          sold.rect(x + 0.38, row + 0.38, 0.24, 0.24);
        }
      }
    }
    context.fillStyle = this.#colours.good;
    context.fill(free);
    context.strokeStyle = context.fillStyle = this.#colours.warn;
    context.lineWidth = 0.09;
    context.stroke(held);
    context.fill(bars);
    context.fillStyle = this.#colours.faint;
    context.fill(sold);
    context.strokeStyle = this.#colours.line;
    context.lineWidth = 0.1;
    context.stroke(blocked);
    if (camera.view.scale >= NUMBERS_FROM) this.#numbers(context, Math.min(0.4, 14 / camera.view.scale), place, { firstRow, lastRow, firstCol, lastCol });
    this.#rowNames(context, camera, place, firstRow, lastRow);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} size @param {Place} place @param {ReturnType<typeof seatsInSight>} range */
  #numbers(context, size, place, { firstRow, lastRow, firstCol, lastCol }) {
    const block = /** @type {Block} */ (place.of);
    context.fillStyle = this.#colours.raised;
    context.font = `600 ${size}px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let row = firstRow; row <= lastRow; row += 1) {
      for (let col = firstCol; col <= lastCol; col += 1) {
        if (this.#hall.states[block.first + row * block.cols + col] === FREE) context.fillText(String(col + 1), col - place.width / 2 + 0.5, row + 0.52);
      }
    }
  }

  /** Rows are numbered on both sides; on the left where it can be seen. @param {CanvasRenderingContext2D} context @param {Camera} camera @param {Place} place @param {number} firstRow @param {number} lastRow */
  #rowNames(context, camera, place, firstRow, lastRow) {
    const { scale, turn } = camera.view;
    const strip = ROW_STRIP_PIXELS / scale;
    const [edge] = inPlace(place, ...camera.toHall(0, camera.height / 2));
    // A block that is turned against the picture has no edge of it to keep to.
    const sticks = Math.abs(turn - place.angle) < 0.01 && edge + strip > -place.width / 2 && edge + strip < place.width / 2;
    if (sticks) {
      context.fillStyle = this.#colours.raised;
      context.fillRect(edge, firstRow, strip, lastRow - firstRow + 1);
    }
    const left = sticks ? edge + strip - 0.2 : -place.width / 2 - 0.2;
    context.fillStyle = this.#colours.faint;
    const size = Math.min(0.55, 12 / scale);
    context.font = `500 ${size}px ${FONT}`;
    context.textBaseline = "middle";
    for (let row = firstRow; row <= lastRow; row += 1) {
      context.textAlign = "right";
      context.fillText(String(row + 1), left, row + 0.52);
      context.textAlign = "left";
      context.fillText(String(row + 1), place.width / 2 + 0.2, row + 0.52);
    }
  }

  /** Its name and what is left: on it while it is seen as a whole, before its front row otherwise. @param {CanvasRenderingContext2D} context @param {Camera} camera @param {Place} place */
  #name(context, camera, place) {
    const { scale } = camera.view;
    const { of } = place;
    const from = of.kind === "area" ? Infinity : this.#hall.seatsKnown ? DOTS_FROM : Infinity;
    if (scale < from) {
      const [x, y] = camera.toScreen(...inHall(place, 0, place.depth / 2));
      // Whichever way it is turned: so blocks of one size have names of one size.
      const room = scale * (of.kind === "area" ? place.width * 0.9 : Math.min(place.width * 0.95, place.depth * 1.1));
      const size = this.#sizeFor(context, of.address, room);
      const name = size >= NAME_PIXELS_MIN || of.kind === "area" ? of.address : String(of.number);
      const inWords = of.free > 0 ? this.#words.left(of.free) : this.#words.soldOut;
      const count = this.#sizeFor(context, inWords, room) >= COUNT_PIXELS_MIN ? inWords : of.free.toLocaleString();
      const colour = of.free > 0 ? this.#colours.text : this.#colours.faint;
      const high = Math.min(place.width, place.depth) * scale;
      const large = Math.max(NAME_PIXELS_MIN, size);
      const small = Math.min(large * 0.9, this.#sizeFor(context, count, room));
      const two = small >= NAME_PIXELS_MIN && high > (large + small) * 1.2;
      if (high > large) this.#text(context, name, x, two ? y - small * 0.62 : y, large, colour, 700);
      if (two) this.#text(context, count, x, y + large * 0.58, small, colour, 500);
      return;
    }
    const [x, y] = camera.toScreen(...inHall(place, 0, -1.55));
    const size = Math.min(NAME_PIXELS_MAX, Math.max(NAME_PIXELS_MIN, scale * 1.4));
    const full = `${of.address} · ${this.#words.left(of.free)}`;
    const room = place.width * scale;
    const name = this.#sizeFor(context, full, room) >= size ? full : of.address;
    if (this.#sizeFor(context, name, room) < size) return;
    // Along the front row: upright it would stand on the neighbours' corners.
    const turn = camera.view.turn - place.angle;
    context.save();
    context.translate(x, y);
    context.rotate(Math.cos(turn) < 0 ? turn + Math.PI : turn);
    this.#text(context, name, 0, 0, size, this.#colours.text, 650);
    context.restore();
  }

  /** The largest that fits. @param {CanvasRenderingContext2D} context @param {string} words @param {number} room */
  #sizeFor(context, words, room) {
    let width = this.#widths.get(words);
    if (width === undefined) {
      context.font = `700 100px ${FONT}`;
      width = context.measureText(words).width / 100;
      this.#widths.set(words, width);
    }
    return Math.min(NAME_PIXELS_MAX, room / width);
  }

  /** @param {CanvasRenderingContext2D} context @param {string} words @param {number} x @param {number} y @param {number} size @param {string} colour @param {number} weight */
  #text(context, words, x, y, size, colour, weight) {
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = colour;
    context.fillText(words, x, y);
  }

  /** Picked, held and offered seats are seen from any distance. @param {CanvasRenderingContext2D} context @param {Camera} camera @param {Marks} marks */
  #marked(context, camera, marks) {
    const size = Math.max(camera.view.scale, 7);
    const { accent, raised, "accent-strong": strong, "on-accent": on } = this.#colours;
    marks.offers.forEach((seats, offer) => {
      for (const index of seats) {
        const [x, y] = this.seatOnScreen(camera, index);
        context.fillStyle = raised;
        context.strokeStyle = accent;
        context.lineWidth = 2;
        context.setLineDash([3, 2]);
        context.beginPath();
        context.arc(x, y, size * 0.55, 0, 7);
        context.fill();
        context.stroke();
        context.setLineDash([]);
        if (size > 9) this.#text(context, offerLetter(offer), x, y + 0.5, size * 0.55, accent, 700);
      }
    });
    for (const index of [...marks.picked, ...marks.yours]) {
      const [x, y] = this.seatOnScreen(camera, index);
      context.fillStyle = strong;
      context.strokeStyle = raised;
      context.lineWidth = 1.5;
      context.beginPath();
      context.roundRect(x - size * 0.48, y - size * 0.48, size * 0.96, size * 0.96, size * 0.25);
      context.fill();
      context.stroke();
      context.strokeStyle = on;
      context.lineWidth = Math.max(1.4, size * 0.1);
      context.beginPath();
      context.moveTo(x - size * 0.22, y + size * 0.02);
      context.lineTo(x - size * 0.05, y + size * 0.2);
      context.lineTo(x + size * 0.24, y - size * 0.18);
      context.stroke();
    }
    if (marks.hover >= 0) {
      const [x, y] = this.seatOnScreen(camera, marks.hover);
      context.strokeStyle = accent;
      context.lineWidth = 2.5;
      context.strokeRect(x - size * 0.55, y - size * 0.55, size * 1.1, size * 1.1);
    }
  }

  /** @param {Camera} camera @param {number} index @returns {[number, number]} its middle */
  seatOnScreen(camera, index) {
    const { block, row, col } = this.#hall.seat(index);
    const place = /** @type {Place} */ (this.#layout.places.find(({ of }) => of === block));
    return camera.toScreen(...inHall(place, col - 0.5 - place.width / 2, row - 0.5));
  }
}

/** @param {Place} place @param {Camera} camera */
function inSight(place, camera) {
  const [x, y] = camera.toScreen(...inHall(place, 0, place.depth / 2));
  const reach = (Math.hypot(place.width, place.depth) / 2 + 2) * camera.view.scale;
  return x + reach > 0 && y + reach > 0 && x - reach < camera.width && y - reach < camera.height;
}

/** @param {Place} place @param {Camera} camera */
function seatsInSight(place, camera) {
  const corners = [[0, 0], [camera.width, 0], [0, camera.height], [camera.width, camera.height]].map(([x = 0, y = 0]) => inPlace(place, ...camera.toHall(x, y)));
  const alongs = corners.map(([along]) => along + place.width / 2);
  const backs = corners.map(([, back]) => back);
  return {
    firstRow: Math.max(0, Math.floor(Math.min(...backs))),
    lastRow: Math.min(place.depth - 1, Math.floor(Math.max(...backs))),
    firstCol: Math.max(0, Math.floor(Math.min(...alongs))),
    lastCol: Math.min(place.width - 1, Math.floor(Math.max(...alongs))),
  };
}
