// One small picture for each subsection, with a few pixels a seat: what is drawn while seats are too small to have shapes.
// They are made when first seen, and afterwards only the seats that changed are painted again.

import { BLOCKED, FREE, HELD } from "./hall.js";

/** @typedef {import("./hall.js").Hall} Hall */
/** @typedef {import("./hall.js").Block} Block */
/** @typedef {import("./hall-colours.js").Colours} Colours */

/** Three for the seat and one between it and the next. */
export const SEAT_PIXELS = 4;

export class SeatBitmaps {
  /** @type {Map<Block, CanvasRenderingContext2D>} */
  #made = new Map();
  #hall;
  #colours;

  /** @param {Hall} hall @param {Colours} colours */
  constructor(hall, colours) {
    this.#hall = hall;
    this.#colours = colours;
  }

  /** @param {Block} block @returns {HTMLCanvasElement} */
  of(block) {
    const known = this.#made.get(block);
    if (known) return known.canvas;
    const canvas = document.createElement("canvas");
    canvas.width = block.cols * SEAT_PIXELS;
    canvas.height = block.rows * SEAT_PIXELS;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.#made.set(block, context);
    for (let index = block.first; index < block.first + block.total; index += 1) this.#paint(context, block, index);
    return canvas;
  }

  /** @param {number} index a seat that is not what it was */
  repaint(index) {
    const block = this.#hall.blockOf(index);
    const context = this.#made.get(block);
    if (!context) return;
    const [x, y] = [((index - block.first) % block.cols) * SEAT_PIXELS, Math.floor((index - block.first) / block.cols) * SEAT_PIXELS];
    context.clearRect(x, y, SEAT_PIXELS, SEAT_PIXELS);
    this.#paint(context, block, index);
  }

  /** The shapes of the large seats in small: full, hollow, a dot, nothing. @param {CanvasRenderingContext2D} context @param {Block} block @param {number} index */
  #paint(context, block, index) {
    const state = this.#hall.states[index] ?? BLOCKED;
    const [x, y] = [((index - block.first) % block.cols) * SEAT_PIXELS, Math.floor((index - block.first) / block.cols) * SEAT_PIXELS];
    if (state === FREE) {
      context.fillStyle = this.#colours.good;
      context.fillRect(x, y, 3, 3);
    } else if (state === HELD) {
      context.fillStyle = this.#colours.warn;
      context.fillRect(x, y, 3, 3);
      context.clearRect(x + 1, y + 1, 1, 1);
    } else if (state !== BLOCKED) {
      context.fillStyle = this.#colours.faint;
      context.fillRect(x + 1, y + 1, 1, 1);
    }
  }
}
