// QR codes (ISO/IEC 18004): byte mode, error correction M, versions 1 to 10. That is up to 213 bytes: links and codes.

import { svg } from "./dom.js";

/** For each version: check bytes in a block, and the data bytes of each block. */
const BLOCKS = /** @type {[number, number[]][]} */ ([
  [10, [16]], [16, [28]], [26, [44]], [18, [32, 32]], [24, [43, 43]],
  [16, [27, 27, 27, 27]], [18, [31, 31, 31, 31]], [22, [38, 38, 39, 39]], [22, [36, 36, 36, 37, 37]], [26, [43, 43, 43, 43, 44]],
]);
/** For each version: the middles of the small squares. */
const MIDDLES = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]];

// Powers and logarithms in the field of 256 with x^8 + x^4 + x^3 + x^2 + 1.
const POWER = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let exponent = 0, value = 1; exponent < 255; exponent += 1) {
  POWER[exponent] = POWER[exponent + 255] = value;
  LOG[value] = exponent;
  value = (value << 1) ^ (value & 0x80 ? 0x11d : 0);
}

/** @param {number} a @param {number} b */
const times = (a, b) => (a === 0 || b === 0 ? 0 : at(POWER, at(LOG, a) + at(LOG, b)));

/** @param {ArrayLike<number>} list @param {number} index */
const at = (list, index) => /** @type {number} */ (list[index]);

/** The check bytes of a block. @param {number[]} data @param {number} count */
function checkBytes(data, count) {
  let divisor = [1];
  for (let root = 0; root < count; root += 1) {
    const next = [...divisor, 0];
    divisor.forEach((factor, index) => (next[index + 1] = at(next, index + 1) ^ times(factor, at(POWER, root))));
    divisor = next;
  }
  const rest = [...data, ...new Array(count).fill(0)];
  for (let index = 0; index < data.length; index += 1) {
    const factor = at(rest, index);
    divisor.forEach((part, offset) => (rest[index + offset] = at(rest, index + offset) ^ times(part, factor)));
  }
  return rest.slice(data.length);
}

/** All bytes of the symbol, blocks interleaved. @param {Uint8Array} text @param {number} version */
function codewords(text, version) {
  const [checks, sizes] = /** @type {[number, number[]]} */ (BLOCKS[version - 1]);
  const capacity = sizes.reduce((sum, size) => sum + size, 0);
  /** @type {number[]} */
  const bits = [];
  const put = (/** @type {number} */ value, /** @type {number} */ width) => {
    for (let bit = width - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1);
  };
  put(0b0100, 4);
  put(text.length, version < 10 ? 8 : 16);
  text.forEach((byte) => put(byte, 8));
  put(0, Math.min(4, capacity * 8 - bits.length));
  while (bits.length % 8 !== 0) bits.push(0);
  /** @type {number[]} */
  const bytes = [];
  for (let index = 0; index < bits.length; index += 8) bytes.push(bits.slice(index, index + 8).reduce((byte, bit) => (byte << 1) | bit, 0));
  for (let pad = 0; bytes.length < capacity; pad += 1) bytes.push(pad % 2 === 0 ? 0xec : 0x11);
  let from = 0;
  const data = sizes.map((size) => bytes.slice(from, (from += size)));
  const check = data.map((block) => checkBytes(block, checks));
  const out = [];
  for (let index = 0; index < Math.max(...sizes); index += 1) for (const block of data) if (index < block.length) out.push(at(block, index));
  for (let index = 0; index < checks; index += 1) for (const block of check) out.push(at(block, index));
  return out;
}

/** Appends the remainder of a division by `generator` of this degree. @param {number} value @param {number} generator @param {number} degree */
function withRemainder(value, generator, degree) {
  let rest = value << degree;
  for (let bit = 31; bit >= degree; bit -= 1) if ((rest >>> bit) & 1) rest ^= generator << (bit - degree);
  return (value << degree) | rest;
}

const MASKS = /** @type {((x: number, y: number) => boolean)[]} */ ([
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]);

/** The modules, row by row: `true` is dark. @param {string} text @returns {boolean[][]} */
export function qr(text) {
  const bytes = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex(([, sizes], index) => bytes.length + (index < 9 ? 2 : 3) <= sizes.reduce((sum, size) => sum + size, 0)) + 1;
  if (version === 0) throw new Error("too long for a QR code");
  const size = 17 + 4 * version;
  /** Fixed modules; the rest is `null`. @type {(boolean | null)[][]} */
  const fixed = Array.from({ length: size }, () => new Array(size).fill(null));
  const set = (/** @type {number} */ x, /** @type {number} */ y, /** @type {boolean} */ dark) => {
    if (x >= 0 && y >= 0 && x < size && y < size) /** @type {any} */ (fixed[y])[x] = dark;
  };
  for (let step = 0; step < size; step += 1) {
    set(6, step, step % 2 === 0);
    set(step, 6, step % 2 === 0);
  }
  const middles = /** @type {number[]} */ (MIDDLES[version - 1]);
  const last = middles.at(-1) ?? 6;
  for (const y of middles)
    for (const x of middles) {
      if ((x === 6 && y === 6) || (x === 6 && y === last) || (x === last && y === 6)) continue;
      for (let dy = -2; dy <= 2; dy += 1) for (let dx = -2; dx <= 2; dx += 1) set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }
  for (const [cx, cy] of /** @type {[number, number][]} */ ([[3, 3], [size - 4, 3], [3, size - 4]]))
    for (let dy = -4; dy <= 4; dy += 1)
      for (let dx = -4; dx <= 4; dx += 1) {
        const ring = Math.max(Math.abs(dx), Math.abs(dy));
        set(cx + dx, cy + dy, ring !== 2 && ring !== 4);
      }
  if (version >= 7) {
    const code = withRemainder(version, 0x1f25, 12);
    for (let bit = 0; bit < 18; bit += 1) {
      const dark = ((code >> bit) & 1) === 1;
      set(size - 11 + (bit % 3), Math.floor(bit / 3), dark);
      set(Math.floor(bit / 3), size - 11 + (bit % 3), dark);
    }
  }
  const drawn = MASKS.map((mask, number) => masked(fixed, codewords(bytes, version), mask, number));
  return drawn.reduce((best, next) => (penalty(next) < penalty(best) ? next : best));
}

/** @param {(boolean | null)[][]} fixed @param {number[]} words @param {(x: number, y: number) => boolean} mask @param {number} number */
function masked(fixed, words, mask, number) {
  const size = fixed.length;
  const grid = fixed.map((row) => [...row]);
  // Error correction M is 00; the mask's number follows.
  const format = withRemainder(number, 0x537, 10) ^ 0x5412;
  for (let bit = 0; bit < 15; bit += 1) {
    const dark = ((format >> bit) & 1) === 1;
    const set = (/** @type {number} */ x, /** @type {number} */ y) => (/** @type {any} */ (grid[y])[x] = dark);
    if (bit < 6) set(8, bit);
    else if (bit < 8) set(8, bit + 1);
    else if (bit < 9) set(7, 8);
    else set(14 - bit, 8);
    if (bit < 8) set(size - 1 - bit, 8);
    else set(8, size - 15 + bit);
  }
  /** @type {any} */ (grid[size - 8])[8] = true;
  let bit = 0;
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1)
      for (const x of [right, right - 1]) {
        const y = up ? size - 1 - step : step;
        const row = /** @type {(boolean | null)[]} */ (grid[y]);
        if (row[x] !== null) continue;
        const dark = bit < words.length * 8 && ((at(words, bit >> 3) >> (7 - (bit & 7))) & 1) === 1;
        row[x] = dark !== mask(x, y);
        bit += 1;
      }
  }
  return /** @type {boolean[][]} */ (grid);
}

/** How hard a symbol is to read; the mask with the least is taken. @param {boolean[][]} grid */
function penalty(grid) {
  const size = grid.length;
  const columns = grid.map((_, x) => grid.map((row) => row[x]));
  let sum = 0;
  for (const line of [...grid, ...columns]) {
    const text = line.map((dark) => (dark ? "1" : "0")).join("");
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
    sum += 40 * (text.split("00001011101").length - 1 + text.split("10111010000").length - 1);
  }
  let dark = 0;
  for (let y = 0; y < size; y += 1)
    for (let x = 0; x < size; x += 1) {
      const module = grid[y]?.[x];
      if (module) dark += 1;
      if (x + 1 < size && y + 1 < size && module === grid[y]?.[x + 1] && module === grid[y + 1]?.[x] && module === grid[y + 1]?.[x + 1]) sum += 3;
    }
  return sum + 10 * Math.floor(Math.abs((dark * 20) / (size * size) - 10));
}

/** A picture of it, four light modules around. @param {string} text @param {string} label for who cannot see it */
export function qrPicture(text, label) {
  const grid = qr(text);
  const path = grid.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
  const size = grid.length + 8;
  return svg("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label, "shape-rendering": "crispEdges" }, svg("path", { d: path, fill: "#000" }));
}
