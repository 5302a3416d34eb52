// `/`: what is on sale.

import { cover } from "./cover.js";
import { dateIn } from "./dates.js";
import { h, show } from "./dom.js";
import { dateTimeThere, money, whyNot } from "./format.js";
import { api, title } from "./frame.js";
import { mine } from "./mine.js";
import { onRecovery } from "./recovery.js";
import { now as serverNow, setClock } from "./server-clock.js";
import { isOpen, stateOf } from "./slots.js";
import { statusBadge } from "./booking-status.js";
import { learn, t } from "./words.js";
import { words } from "./home.words.js";

/** @typedef {import("./types.d.ts").EventShown} EventShown */
/** @typedef {import("./types.d.ts").Schedule} Schedule */
/** @typedef {import("./types.d.ts").Shop} Shop */
/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {import("./cover.js").Kind} Kind */

/** Each costs a request. */
const OWN_SHOWN = 6;

learn(words);
title(t("home.title"));
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const body = h("div", {}, h("p", { class: "faint" }, t("loading")));
show(main, h("h1", {}, t("home.title")), body);
load();

async function load() {
  try {
    const [[events, schedules, shops]] = await Promise.all([
      Promise.all(["events", "schedules", "shops"].map((kind) => api.get(`/v1/${kind}`))),
      setClock(api),
    ]);
    const empty = events.items.length + schedules.items.length + shops.items.length === 0;
    show(
      body,
      own(),
      h("div", { class: "groups" },
        group("home.events", "events", events, eventCard),
        group("home.schedules", "schedules", schedules, scheduleCard),
        group("home.shops", "shops", shops, shopCard)),
      empty && h("p", { class: "note" }, t("home.nothing"), " ", h("a", { href: "/docs" }, t("docs"))),
    );
  } catch (error) {
    const note = h("p", { class: "note bad", role: "alert" }, whyNot(error));
    onRecovery(api, error, note, load);
    show(body, note, h("button", { type: "button", onclick: load }, t("tryAgain")));
  }
}

/** The bookings of this browser. */
function own() {
  const all = mine();
  if (all.length === 0) return null;
  const list = h("ul", { class: "own" }, all.slice(0, OWN_SHOWN).map(ownRow));
  const more = h("button", { type: "button", class: "plain", hidden: all.length <= OWN_SHOWN, onclick: () => {
    list.append(...all.slice(OWN_SHOWN).map(ownRow));
    more.hidden = true;
  } }, t("home.more"));
  return h("section", { "aria-labelledby": "mine" }, h("h2", { id: "mine" }, t("home.mine")), list, more);
}

/** @param {import("./mine.js").Mine} known */
function ownRow(known) {
  const badge = h("span", { class: "badge" }, "…");
  api.get(`/v1/bookings/${known.id}`, { token: known.token }).then(
    (/** @type {Booking} */ booking) => badge.replaceWith(statusBadge(booking.status)),
    () => (badge.hidden = true),
  );
  return h("li", { "data-mine": known.id }, h("a", { href: `/bookings/${known.id}` }, h("span", {}, known.name), badge));
}

/**
 * @template T
 * @param {string} heading @param {Kind} kind @param {{items: T[], next_cursor: string | null}} first @param {(item: T) => HTMLElement} card
 */
function group(heading, kind, first, card) {
  if (first.items.length === 0) return null;
  const list = h("ul", { class: "cards" }, first.items.map(card));
  let cursor = first.next_cursor;
  const more = h("button", { type: "button", hidden: cursor === null, onclick: async () => {
    // Pressed twice, it would bring the same ones twice.
    more.disabled = true;
    const next = await api.get(`/v1/${kind}?cursor=${encodeURIComponent(cursor ?? "")}`).catch(() => null);
    more.disabled = false;
    if (next === null) return;
    list.append(...next.items.map(card));
    cursor = next.next_cursor;
    more.hidden = cursor === null;
  } }, t("home.more"));
  // One alone stands beside the other groups.
  return h("section", { class: first.items.length === 1 ? "single" : "", "aria-labelledby": kind }, h("h2", { id: kind }, t(heading)), list, more);
}

/** @param {Kind} kind @param {{id: string, name: string}} item @param {SVGElement} picture @param {...(Node | string | null)} rest */
function card(kind, item, picture, ...rest) {
  const link = h("a", { href: `/${kind}/${item.id}` }, picture, h("h3", {}, item.name), ...rest);
  return h("li", { class: "card", [`data-${kind.slice(0, -1)}`]: item.id }, link);
}

/** @param {EventShown} event */
function eventCard(event) {
  const { available, total } = event.stats;
  const prices = [...event.sections, ...event.areas].map((place) => place.price);
  const badge = event.status === "cancelled" ? tag("", t("home.cancelled"))
    : event.status !== "open" ? tag("", t("home.closed"))
    : available === 0 ? tag("bad", t("home.soldOut"))
    : tag(available * 5 < total ? "warn" : "good", t("home.left", { n: available, total }));
  return card(
    "events",
    event,
    cover("events", event.id, event.status === "cancelled" ? 0 : available / Math.max(1, total)),
    h("span", { class: "faint" }, event.starts_at === null ? "" : dateTimeThere(event.starts_at, event.timezone)),
    h("div", { class: "spread foot" }, badge, event.status !== "cancelled" && h("span", {}, t("home.from", { price: money(Math.min(...prices), event.currency) }))),
  );
}

/** @param {Schedule} schedule */
function scheduleCard(schedule) {
  const prices = schedule.windows.map((window) => window.price);
  const price = prices.length === 0 ? null : t("home.from", { price: money(Math.min(...prices), schedule.currency) });
  const badge = schedule.status === "open" ? tag("", "…") : tag("", t("home.closed"));
  if (schedule.status === "open") whenSeen(badge, () => slotsToday(schedule, badge));
  return card(
    "schedules",
    schedule,
    cover("schedules", schedule.id),
    h("span", { class: "faint" }, t("home.slots", { n: schedule.windows.length })),
    h("div", { class: "spread foot" }, badge, price && h("span", {}, price)),
  );
}

/** @param {Schedule} schedule @param {HTMLElement} badge */
async function slotsToday(schedule, badge) {
  const today = dateIn(serverNow(), schedule.timezone);
  /** @type {{items: import("./types.d.ts").Slot[]}} */
  const { items } = await api.get(`/v1/schedules/${schedule.id}/slots?from=${today}&to=${today}&limit=500`);
  const open = items.filter((slot) => isOpen(stateOf(slot)));
  const left = open.reduce((sum, slot) => sum + slot.available_count, 0);
  const plenty = open.some((slot) => slot.availability === "AVAILABLE");
  if (left > 0) retag(badge, plenty ? "good" : "warn", t("home.today", { n: left }));
  else if (items.some((slot) => stateOf(slot) === "FULL")) retag(badge, "bad", t("home.todayFull"));
  else retag(badge, "", t("home.notToday"));
}

/** @param {Shop} shop */
function shopCard(shop) {
  const badge = shop.status === "open" ? tag("", "…") : tag("", t("home.closed"));
  const price = h("span");
  if (shop.status === "open") whenSeen(badge, () => boxesNow(shop, badge, price));
  return card("shops", shop, cover("shops", shop.id), h("span", { class: "faint" }, t("home.shop")), h("div", { class: "spread foot" }, badge, price));
}

/** @param {Shop} shop @param {HTMLElement} badge @param {HTMLElement} price */
async function boxesNow(shop, badge, price) {
  /** @type {{items: import("./types.d.ts").Box[]}} */
  const { items } = await api.get(`/v1/shops/${shop.id}/boxes`);
  const open = items.filter((box) => box.status === "ACTIVE");
  const left = open.reduce((sum, box) => sum + box.remaining, 0);
  if (left > 0) {
    retag(badge, "good", t("home.boxes", { n: left }));
    price.textContent = t("home.from", { price: money(Math.min(...open.map((box) => box.price)), shop.currency) });
  } else if (items.some((box) => box.status === "SOLD_OUT")) retag(badge, "bad", t("home.soldOut"));
  else retag(badge, "", t("home.notToday"));
}

/** @param {string} kind @param {string} words */
function tag(kind, words) {
  return h("span", { class: `badge ${kind}` }, words);
}

/** @param {HTMLElement} badge @param {string} kind @param {string} words */
function retag(badge, kind, words) {
  badge.className = `badge ${kind}`;
  badge.textContent = words;
}

/** A request for each card is only worth it for those that are looked at. @param {HTMLElement} element @param {() => Promise<void>} ask */
function whenSeen(element, ask) {
  const watcher = new IntersectionObserver((seen) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    ask().catch(() => (element.hidden = true));
  });
  watcher.observe(element);
}
