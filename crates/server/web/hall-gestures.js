// Dragging, pinching, turning the wheel, tapping: pointers on the map become calls.

/** A finger that moved less than this has tapped. */
const TAP_PIXELS_MAX = 8;

/**
 * @param {HTMLElement} surface
 * @param {{
 *   pan: (dx: number, dy: number) => void,
 *   zoom: (factor: number, x: number, y: number) => boolean,
 *   tap: (x: number, y: number, coarse: boolean) => void,
 *   hover: (x: number, y: number) => void,
 *   leave: () => void,
 * }} calls `zoom` says whether anything came of it.
 */
export function listenToGestures(surface, calls) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = 0;
  const place = (/** @type {MouseEvent} */ event) => {
    const box = surface.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  surface.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, place(event));
    surface.setPointerCapture(event.pointerId);
    calls.leave();
  });

  surface.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    const now = place(event);
    if (!before) {
      if (event.pointerType === "mouse") calls.hover(now.x, now.y);
      return;
    }
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, now);
    if (moved < TAP_PIXELS_MAX && !other) return;
    if (other) {
      const [wide, was] = [Math.hypot(now.x - other.x, now.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)];
      calls.zoom(Math.max(10, wide) / Math.max(10, was), (now.x + other.x) / 2, (now.y + other.y) / 2);
      calls.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    } else {
      calls.pan(now.x - before.x, now.y - before.y);
    }
  });

  const up = (/** @type {PointerEvent} */ event) => {
    const known = down.delete(event.pointerId);
    if (known && down.size === 0 && event.type === "pointerup" && moved < TAP_PIXELS_MAX) {
      const { x, y } = place(event);
      calls.tap(x, y, event.pointerType !== "mouse");
    }
  };
  surface.addEventListener("pointerup", up);
  surface.addEventListener("pointercancel", up);
  surface.addEventListener("pointerleave", () => calls.leave());

  surface.addEventListener(
    "wheel",
    (event) => {
      const { x, y } = place(event);
      const step = event.deltaMode === 1 ? 18 : 1;
      // Zooming out of what is whole already scrolls the page.
      if (calls.zoom(Math.exp(-Math.max(-160, Math.min(160, event.deltaY * step)) * 0.004), x, y)) event.preventDefault();
    },
    { passive: false },
  );
}
