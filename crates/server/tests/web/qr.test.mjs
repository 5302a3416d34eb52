// QR codes are read by somebody else's reader, at every length.

import assert from "node:assert/strict";
import test from "node:test";
import jsQR from "jsqr";
import { qr } from "../../web/qr.js";

test("a reader reads what was written, from one byte to the longest", () => {
  for (let length = 1; length <= 213; length += 1) {
    const text = Array.from({ length }, (_, index) => String.fromCharCode(33 + ((index * 7 + length) % 90))).join("");
    assert.equal(read(qr(text)), text, `${length} bytes`);
  }
  assert.throws(() => qr("x".repeat(214)), /too long/);
});

/** Four pixels a module, four modules of margin. */
function read(grid) {
  const size = (grid.length + 8) * 4;
  const pixels = new Uint8ClampedArray(size * size * 4).fill(255);
  for (let y = 0; y < size; y += 1)
    for (let x = 0; x < size; x += 1)
      if (grid[(y >> 2) - 4]?.[(x >> 2) - 4]) pixels.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
  return jsQR(pixels, size, size)?.data;
}
