// `/schedules/{id}`: a calendar, the times of a day, and booking one. With `?move={booking}` that booking is moved instead.

import { addDays, dateIn, monthOf, sameClock, zoneName } from "./dates.js";
import { announce, h, show } from "./dom.js";
import { dateTimeThere, day, whyNot } from "./format.js";
import { api, idInPath, title } from "./frame.js";
import { LiveBadge } from "./live-badge.js";
import { follow } from "./live.js";
import { tokenOf } from "./mine.js";
import { MonthCalendar } from "./month-calendar.js";
import { notShown } from "./not-shown.js";
import { onRecovery } from "./recovery.js";
import { now, setClock } from "./server-clock.js";
import { SlotChoice } from "./slot-choice.js";
import { Slots } from "./slots.js";
import { language, learn, t } from "./words.js";
import { words } from "./schedule.words.js";

/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {import("./types.d.ts").Schedule} Schedule */

/** Slots end without anybody telling: looked at again this often. */
const REDRAW_MS = 15_000;

learn(words);
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const id = idInPath();
const asked = new URLSearchParams(location.search);
load();

async function load() {
  show(main, h("p", { class: "faint" }, t("loading")));
  try {
    const [schedule] = await Promise.all([api.get(`/v1/schedules/${encodeURIComponent(id)}`), setClock(api)]);
    const move = asked.get("move");
    await page(schedule, move === null ? null : await movedBooking(schedule, move));
  } catch (error) {
    show(main, notShown(error, load));
  }
}

/**
 * The booking that is to be moved, or in words why it cannot be.
 *
 * @param {Schedule} schedule @param {string} move @returns {Promise<Booking | string>}
 */
async function movedBooking(schedule, move) {
  try {
    const booking = await api.get(`/v1/bookings/${encodeURIComponent(move)}`, { token: tokenOf(move) });
    const movable = booking.schedule === schedule.id && (booking.status === "on_hold" || booking.status === "confirmed");
    return movable ? booking : t("schedule.cannotMove");
  } catch (error) {
    return whyNot(error);
  }
}

/** @param {Schedule} schedule @param {Booking | string | null} moving */
async function page(schedule, moving) {
  title(schedule.name);
  const zone = schedule.timezone;
  const today = () => dateIn(now(), zone);
  const slots = new Slots(api, schedule.id);
  const badge = new LiveBadge();
  const movable = typeof moving === "string" ? null : moving;
  const choice = new SlotChoice({ schedule, slots, moving: movable, onDay: (date) => calendar.choose(date) });
  const calendar = new MonthCalendar({
    summary: (date) => slots.summary(date),
    today,
    range: () => [today(), slots.lastDate(addDays(today(), schedule.days - 1))],
    onMonth: (month) => fill(month),
    onChoose: (date) => chosen(date),
  });

  const fill = async (/** @type {string} */ month) => {
    try {
      choice.note.clear();
      await slots.load(month);
      redraw();
    } catch (error) {
      choice.note.say("MONTH", whyNot(error), h("button", { type: "button", onclick: () => fill(month) }, t("tryAgain")));
      onRecovery(api, error, choice.note.element, () => fill(month));
    }
  };
  const chosen = (/** @type {string} */ date) => {
    const address = new URL(location.href);
    address.searchParams.set("date", date);
    history.replaceState(null, "", address);
    choice.open(date);
    announce(t("schedule.times", { day: day(date), n: slots.on(date).length }));
    choice.comeIntoView();
  };
  const redraw = () => {
    calendar.refresh();
    choice.draw();
  };

  const zoneLine = h("p", { class: "faint zone" }, t(sameClock(zone, now()) ? "allTimes" : "allTimesOther", { zone: zoneName(zone, now(), language) }));
  show(
    main,
    h("div", { class: "top" }, h("div", {}, h("h1", {}, schedule.name), zoneLine), badge.element),
    salesNote(schedule),
    typeof moving === "string" && h("p", { class: "note bad", role: "alert" }, moving),
    movable !== null && movingNote(schedule, movable),
    h("div", { class: "columns" }, h("section", { class: "card", "aria-labelledby": "calendar-month" }, calendar.element), choice.element),
  );

  const wanted = asked.get("date") ?? movable?.slot?.slice(0, 10) ?? null;
  const first = wanted !== null && /^\d{4}-\d{2}-\d{2}$/.test(wanted) && wanted >= today() ? wanted : null;
  calendar.show(monthOf(first ?? today()));
  await slots.load(monthOf(first ?? today())).catch(() => null);
  const date = first ?? slots.firstOpen(today());
  if (date !== null) {
    calendar.choose(date);
    choice.open(date);
  }
  redraw();

  let waiting = false;
  follow(api, `/v1/schedules/${schedule.id}/stream`, {
    signal: new AbortController().signal,
    onConnection: (connection) => badge.set(connection),
    onMessage: (event, data) => {
      choice.heed(slots.take(event, data));
      if (calendar.chosen === null) {
        const open = slots.firstOpen(today());
        if (open !== null) {
          calendar.choose(open);
          choice.open(open);
        }
      }
      if (waiting) return;
      // In an on-sale there are more messages than pictures.
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        redraw();
      });
    },
  });
  setInterval(redraw, REDRAW_MS);
}

/** @param {Schedule} schedule */
function salesNote({ status, sales, timezone }) {
  const words = status === "closed" || (sales.closes_at !== null && Date.parse(sales.closes_at) <= now()) ? t("schedule.closed")
    : sales.opens_at !== null && Date.parse(sales.opens_at) > now() ? t("schedule.opens", { when: dateTimeThere(sales.opens_at, timezone) })
    : null;
  return words !== null && h("p", { class: "note warn" }, words);
}

/** @param {Schedule} schedule @param {Booking} booking */
function movingNote(schedule, booking) {
  const slot = `${schedule.name}, ${(booking.slot ?? "").replace("T", " ")}`;
  const what = t("schedule.movingWhat", { slot, places: t("unit.places", { n: booking.quantity }) });
  return h(
    "div",
    { class: "note moving", "data-moving": booking.id },
    h("div", {}, h("strong", {}, t("schedule.moving")), h("p", {}, what)),
    h("a", { class: "button", href: `/bookings/${booking.id}` }, t("schedule.keep")),
  );
}
