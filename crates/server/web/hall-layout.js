// Where everything stands. The API knows sections, rows and seats but no picture, so the hall is laid out as halls are:
// the stage in front, standing areas before it, and behind them the sections in rings that face it.

/** @typedef {import("./hall.js").Block} Block */
/** @typedef {import("./hall.js").Area} Area */
/** @typedef {import("./hall.js").Hall} Hall */

/**
 * The middle of the front edge is at `x`, `y`; the place reaches `width` along its rows and `depth` away from the stage, turned by `angle`. A seat is one unit wide.
 *
 * @typedef {{of: Block | Area, x: number, y: number, angle: number, width: number, depth: number}} Place
 * @typedef {{left: number, top: number, right: number, bottom: number}} Bounds
 * @typedef {{radius: number, half: number, top: number}} Stage its front edge is an arc around the middle of the rings
 * @typedef {{places: Place[], bounds: Bounds, stage: Stage}} Layout
 */

const AISLE = 2.4;
/** Between two rings: there the names stand. */
const WALK = 3.4;
/** How far a ring may reach around the stage, in radians; and how far one with few blocks should, so that they are not turned much. */
const SPAN_MAX = 2.7;
const SPAN_OF_BLOCK = 0.28;
/** A ring wider than so many times the side of a square hall is made two. */
const BREADTH_MAX = 2.2;
const RADIUS_MIN = 14;
const STAGE_HALF_MAX = 40;
/** A hall deeper than so many times its width gets its sections side by side. */
const DEPTH_TO_WIDTH_MAX = 1.1;

/** @typedef {{of: Block | Area, width: number, depth: number}} Size */

/** @param {Hall} hall @returns {Layout} */
export function layOut(hall) {
  /** @type {Map<string, Size[]>} */
  const sections = new Map();
  for (const of of hall.blocks) {
    const size = { of, width: of.cols, depth: of.rows };
    const section = sections.get(of.section);
    if (section) section.push(size);
    else sections.set(of.section, [size]);
  }
  const rings = gathered([...sections.values()]).flatMap((ring) => split(ring, BREADTH_MAX * Math.sqrt(hall.states.length)));
  const areas = areaSizes(hall, Math.max(0, ...rings.map(breadth)));
  if (areas.length > 0) rings.unshift(areas);

  let radius = firstRadius(rings);
  const stage = stageBefore(radius - WALK, rings[0] ? breadth(rings[0]) : radius);
  /** @type {Place[]} */
  const places = [];
  for (const ring of rings) {
    radius = Math.max(radius, breadth(ring) / SPAN_MAX);
    places.push(...onRing(ring, radius));
    radius = WALK + Math.max(...ring.map(({ width, depth }) => Math.hypot(radius + depth, width / 2)));
  }
  return { places, bounds: boundsOf(places, stage), stage };
}

/** @param {number} radius @param {number} firstWidth @returns {Stage} */
function stageBefore(radius, firstWidth) {
  const half = Math.min(Math.max(6, firstWidth * 0.42), radius * 0.8, STAGE_HALF_MAX);
  return { radius, half, top: Math.sqrt(radius ** 2 - half ** 2) - Math.max(2.5, half * 0.2) };
}

/** Sections in rings: one each, or several side by side if the hall would be a corridor. @param {Size[][]} sections @returns {Size[][]} */
function gathered(sections) {
  let rings = sections;
  let target = 0;
  while (rings.length > 1 && depthOf(rings) > DEPTH_TO_WIDTH_MAX * Math.max(...rings.map(breadth))) {
    target = Math.max(target * 1.3, ...rings.map(breadth)) + 1;
    /** @type {Size[][]} */
    const wider = [];
    for (const section of sections) {
      const last = wider.at(-1);
      if (last && breadth(last) + AISLE + breadth(section) <= target) last.push(...section);
      else wider.push([...section]);
    }
    rings = wider;
  }
  return rings;
}

/** @param {Size[]} ring */
function breadth(ring) {
  return ring.reduce((sum, { width }) => sum + width + AISLE, -AISLE);
}

/** @param {Size[][]} rings */
function depthOf(rings) {
  return rings.reduce((sum, ring) => sum + WALK + Math.max(...ring.map(({ depth }) => depth)), 0);
}

/** A standing place takes half of a seat's. @param {Hall} hall @param {number} seatsBreadth @returns {Size[]} */
function areaSizes(hall, seatsBreadth) {
  const most = seatsBreadth > 0 ? Math.max(16, seatsBreadth / (hall.areas.length + 1)) : 60;
  return hall.areas.map((of) => {
    const width = Math.min(most, Math.max(14, Math.sqrt(of.total)));
    return { of, width, depth: Math.max(7, Math.min(width * 0.6, of.total / 2 / width)) };
  });
}

/** @param {Size[]} ring @param {number} most @returns {Size[][]} */
function split(ring, most) {
  const count = Math.ceil(breadth(ring) / most);
  const each = Math.ceil(ring.length / count);
  return Array.from({ length: Math.ceil(ring.length / each) }, (_, part) => ring.slice(part * each, (part + 1) * each));
}

/** As near as no ring is bent too much, with those before it counted in. @param {Size[][]} rings */
function firstRadius(rings) {
  let radius = RADIUS_MIN;
  rings.forEach((ring, index) => {
    const gentle = ring.length === 1 ? 0 : breadth(ring) / Math.min(SPAN_MAX, SPAN_OF_BLOCK * (ring.length + 1));
    radius = Math.max(radius, gentle - depthOf(rings.slice(0, index)));
  });
  return radius;
}

/** @param {Size[]} ring @param {number} radius @returns {Place[]} */
function onRing(ring, radius) {
  // Measured at the front edge, where neighbours are nearest.
  const halves = ring.map(({ width }) => Math.atan((width + AISLE) / 2 / radius));
  let angle = -halves.reduce((sum, half) => sum + half, 0);
  return ring.map((size, index) => {
    const half = /** @type {number} */ (halves[index]);
    const middle = angle + half;
    angle += 2 * half;
    return { ...size, angle: middle, x: radius * Math.sin(middle), y: radius * Math.cos(middle) };
  });
}

/** From a place's own coordinates to the hall's. @param {Place} place @param {number} along @param {number} back @returns {[number, number]} */
export function inHall(place, along, back) {
  const [cos, sin] = [Math.cos(place.angle), Math.sin(place.angle)];
  return [place.x + along * cos + back * sin, place.y - along * sin + back * cos];
}

/** And back. @param {Place} place @param {number} x @param {number} y @returns {[number, number]} */
export function inPlace(place, x, y) {
  const [cos, sin] = [Math.cos(place.angle), Math.sin(place.angle)];
  const [dx, dy] = [x - place.x, y - place.y];
  return [dx * cos - dy * sin, dx * sin + dy * cos];
}

/** @param {Place[]} places @param {Stage} stage @returns {Bounds} */
function boundsOf(places, stage) {
  const xs = [-stage.half, stage.half];
  const ys = [stage.top, stage.radius];
  for (const place of places) {
    for (const along of [-place.width / 2, place.width / 2]) {
      for (const back of [-1.5, place.depth]) {
        const [x, y] = inHall(place, along, back);
        xs.push(x);
        ys.push(y);
      }
    }
  }
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}
