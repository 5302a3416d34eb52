// Holds that are about to end, with their time left, and what an operator can do with them.

import { h, show } from "./dom.js";
import { countdown, exactMoney, number, whyNot } from "./format.js";
import { EXTEND_SECONDS, longer } from "./hold.js";
import { t } from "./words.js";
import { eachBooking } from "./desk-bookings.js";
import { brief } from "./desk-words-of.js";
import { paced, twice } from "./desk-pace.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {{booking: Booking, endsAt: number}} Hold */

/** 10,000 holds at once: beyond that only the newest are known. */
const PAGES_MAX = 20;
const SHOWN_MAX = 8;
const NEWEST_MS = 10_000;
const AGAIN_MS = 30_000;

/** @param {Desk} desk */
export function holdsPart(desk) {
  const { api, inventory, live, signal } = desk;
  /** @type {Map<string, Hold>} */
  let holds = new Map();
  /** Which hold has this seat: what the stream says about seats ends holds without asking. @type {Map<string, string>} */
  const bySeat = new Map();
  const list = h("ul", { class: "holds", tabindex: "-1", "aria-labelledby": "holds-title" });
  const summary = h("span", { class: "badge number", "data-hold-count": "" }, "–");
  const note = h("p", { class: "note bad", role: "alert", hidden: true });
  const nothing = h("p", { class: "faint", hidden: true }, t("desk.holds.none"));
  const partial = h("p", { class: "faint small", hidden: true }, t("desk.holds.part"));
  /** Rows are kept while their hold is, so that a press does not miss. @type {Map<string, {row: HTMLElement, left: HTMLElement}>} */
  const rows = new Map();
  /** For each reading that is under way, the holds and the seats that ended meanwhile: its answers may be older. @type {Set<Set<string>>} */
  const readings = new Set();

  /** @param {Hold} hold */
  const put = (hold) => {
    const { id, seats } = hold.booking;
    holds.set(id, hold);
    for (const { section, seat } of seats) bySeat.set(`${section} ${seat}`, id);
  };
  /** @param {Booking[]} bookings */
  const take = (bookings) => {
    for (const booking of bookings) put({ booking, endsAt: performance.now() + (booking.expires_in_seconds ?? 0) * 1000 });
  };
  /** @param {string} id */
  const drop = (id) => {
    for (const { section, seat } of holds.get(id)?.booking.seats ?? []) bySeat.delete(`${section} ${seat}`);
    holds.delete(id);
    for (const ended of readings) ended.add(id);
  };
  /** @param {(isHeld: (booking: Booking) => boolean) => Promise<void>} read */
  const reading = async (read) => {
    /** @type {Set<string>} */
    const ended = new Set();
    readings.add(ended);
    try {
      await read(({ id, seats }) => !ended.has(id) && !seats.some(({ section, seat }) => ended.has(`${section} ${seat}`)));
    } finally {
      readings.delete(ended);
    }
    draw();
  };
  const readAll = () => reading(async (isHeld) => {
    const before = new Set(holds.keys());
    /** @type {Booking[]} */
    const found = [];
    partial.hidden = await eachBooking(
      api,
      inventory,
      { status: "on_hold", pagesMax: PAGES_MAX, signal, onPage: (page) => void found.push(...page) },
    );
    const since = [...holds.values()].filter(({ booking }) => !before.has(booking.id));
    holds = new Map();
    bySeat.clear();
    take(found.filter(isHeld));
    since.forEach(put);
  });
  const readNewest = () => reading(async (isHeld) => {
    await eachBooking(api, inventory, { status: "on_hold", pagesMax: 4, limit: 50, signal, onPage: (page) => {
      const known = page.some(({ id }) => holds.has(id));
      take(page.filter(isHeld));
      return !known;
    } });
  });
  const quietly = (/** @type {() => Promise<void>} */ read) => () => read().catch((error) => say(signal.aborted ? null : error));
  const again = paced(AGAIN_MS, signal, quietly(readAll));
  const newest = paced(NEWEST_MS, signal, quietly(readNewest));

  /** @param {unknown} error */
  const say = (error) => {
    note.hidden = error === null;
    if (error !== null) note.textContent = whyNot(error);
  };

  /** @param {Hold} hold */
  const rowOf = (hold) => {
    const known = rows.get(hold.booking.id);
    if (known) return known;
    const { booking } = hold;
    const act = async (/** @type {string} */ action, /** @type {object} */ body) => {
      const buttons = row.querySelectorAll("button");
      const pressed = /** @type {HTMLElement | null} */ (row.contains(document.activeElement) ? document.activeElement : null);
      for (const button of buttons) button.disabled = true;
      say(null);
      try {
        const after = await api.post(`/v1/bookings/${booking.id}/${action}`, body);
        if (after.status === "on_hold") take([after]);
        else drop(booking.id);
      } catch (error) {
        say(error);
        // Whatever it is now, the row should say so.
        const after = await api.get(`/v1/bookings/${booking.id}`).catch(() => null);
        if (after && after.status !== "on_hold") drop(booking.id);
      }
      for (const button of buttons) button.disabled = false;
      draw();
      // Whoever went on meanwhile stays there.
      const waits = document.activeElement === document.body || document.activeElement === pressed;
      if (pressed && waits) (pressed.isConnected ? pressed : list).focus();
    };
    const left = h("strong", { class: "number left", role: "timer", "aria-label": t("hold.left") });
    const what = brief(booking);
    const row = h("li", { "data-hold": booking.id },
      h("div", { class: "what" },
        h("div", { class: "spread" }, left, h("span", { class: "number" }, exactMoney(booking.total_price, booking.currency))),
        h("div", {}, what.slice(0, 4).join(", "), what.length > 4 ? ` +${what.length - 4}` : ""),
        h("button", { type: "button", class: "plain link", onclick: () => desk.go("bookings", { booking: booking.id }) }, booking.customer)),
      h("div", { class: "row" },
        h("button", { type: "button", "data-act": "confirm", onclick: () => act("confirm", {}) }, t("desk.confirm")),
        h(
          "button",
          { type: "button", "data-act": "extend", onclick: () => act("extend", { seconds: longer(holds.get(booking.id)?.endsAt ?? 0) }) },
          t("desk.extend", { n: EXTEND_SECONDS / 60 }),
        ),
        twice(t("desk.cancel.short"), () => act("cancel", { reason: "desk" }))));
    const made = { row, left };
    rows.set(booking.id, made);
    return made;
  };

  const draw = () => {
    const soonest = [...holds.values()].sort((a, b) => a.endsAt - b.endsAt).slice(0, SHOWN_MAX);
    const shown = soonest.map((hold) => rowOf(hold));
    const wanted = new Set(soonest.map(({ booking }) => booking.id));
    for (const [id, { row }] of rows) {
      if (wanted.has(id)) continue;
      row.remove();
      rows.delete(id);
    }
    shown.forEach(({ row }, index) => {
      if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null);
    });
    summary.textContent = number(holds.size);
    nothing.hidden = holds.size > 0;
    tick();
  };
  const tick = () => {
    for (const [id, { left, row }] of rows) {
      const hold = holds.get(id);
      if (!hold) continue;
      const milliseconds = hold.endsAt - performance.now();
      left.textContent = countdown(milliseconds);
      row.toggleAttribute("data-soon", milliseconds < 60_000);
      // The server's clock decides; its stream says when. What the stream cannot name is read again.
      if (milliseconds < -2000) again();
    }
  };
  const clock = setInterval(tick, 1000);
  signal.addEventListener("abort", () => clearInterval(clock));

  const redraw = paced(1000, signal, draw);
  live.onChange((change) => {
    if (!change.seats && !change.slots && !change.boxes && !change.areas) return;
    for (const { section, seat, state } of change.seats ?? []) {
      const id = bySeat.get(`${section} ${seat}`);
      for (const ended of readings) ended[state === "held" ? "delete" : "add"](`${section} ${seat}`);
      if (state !== "held" && id !== undefined) {
        drop(id);
        redraw();
      } else if (state === "held" && id === undefined) {
        newest();
      }
    }
    if ((change.areas ?? []).length > 0 || change.slots || change.boxes) again();
  });
  show(list, h("li", { class: "faint" }, t("loading")));
  quietly(async () => {
    await readAll();
    list.querySelector(".faint")?.remove();
  })();
  return h(
    "div",
    { class: "stack" },
    h("div", { class: "spread" }, h("h2", { id: "holds-title" }, t("desk.holds.title")), summary),
    note,
    list,
    nothing,
    partial,
  );
}
