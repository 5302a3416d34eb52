// `/`: what is on sale.

import { h, show } from "./dom.js";
import { dateTime, money, whyNot } from "./format.js";
import { api, title } from "./frame.js";
import { mine } from "./mine.js";
import { learn, t } from "./words.js";
import { words } from "./home.words.js";

/** @typedef {import("./types.d.ts").EventShown} EventShown */
/** @typedef {import("./types.d.ts").Schedule} Schedule */
/** @typedef {import("./types.d.ts").Shop} Shop */

learn(words);
title(t("home.title"));
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const body = h("div", {}, h("p", { class: "faint" }, t("loading")));
show(main, h("h1", {}, t("home.title")), body);
load();

async function load() {
  try {
    const [events, schedules, shops] = await Promise.all(["events", "schedules", "shops"].map((kind) => api.get(`/v1/${kind}`)));
    const own = mine();
    const empty = events.items.length + schedules.items.length + shops.items.length === 0;
    show(
      body,
      group("home.events", "events", events, eventCard),
      group("home.schedules", "schedules", schedules, scheduleCard),
      group("home.shops", "shops", shops, shopCard),
      empty && h("p", { class: "note" }, t("home.nothing"), " ", h("a", { href: "/docs" }, t("docs"))),
      own.length > 0 && h("section", { "aria-labelledby": "mine" }, h("h2", { id: "mine" }, t("home.mine")),
        h("ul", {}, own.map((booking) => h("li", {}, h("a", { href: `/bookings/${booking.id}` }, booking.name))))),
    );
  } catch (error) {
    show(body, h("p", { class: "note bad", role: "alert" }, whyNot(error)), h("button", { type: "button", onclick: load }, t("tryAgain")));
  }
}

/**
 * @template T
 * @param {string} heading @param {string} kind @param {{items: T[], next_cursor: string | null}} first @param {(item: T) => HTMLElement} card
 */
function group(heading, kind, first, card) {
  if (first.items.length === 0) return null;
  const list = h("ul", { class: "cards" }, first.items.map(card));
  let cursor = first.next_cursor;
  const more = h("button", { type: "button", hidden: cursor === null, onclick: async () => {
    const next = await api.get(`/v1/${kind}?cursor=${encodeURIComponent(cursor ?? "")}`);
    list.append(...next.items.map(card));
    cursor = next.next_cursor;
    more.hidden = cursor === null;
  } }, t("home.more"));
  return h("section", { "aria-labelledby": kind }, h("h2", { id: kind }, t(heading)), list, more);
}

/** @param {string} href @param {string} name @param {...(Node | string | null)} rest */
function card(href, name, ...rest) {
  return h("li", { class: "card" }, h("a", { href }, h("h3", {}, name), ...rest));
}

/** @param {EventShown} event */
function eventCard(event) {
  const { available, held, total } = event.stats;
  const prices = [...event.sections, ...event.areas].map((place) => place.price);
  const open = event.status === "open";
  const badge = !open ? h("span", { class: "badge" }, t("home.closed"))
    : available === 0 ? h("span", { class: "badge bad" }, t("home.soldOut"))
    : h("span", { class: `badge ${available * 5 < total ? "warn" : "good"}` }, t("home.left", { n: available, total }));
  return card(
    `/events/${event.id}`,
    event.name,
    h("span", { class: "faint" }, event.starts_at === null ? "" : dateTime(event.starts_at)),
    meter(total - available - held, held, total),
    h("div", { class: "spread foot" }, badge, h("span", {}, t("home.from", { price: money(Math.min(...prices), event.currency) }))),
  );
}

/** @param {number} sold @param {number} held @param {number} total */
function meter(sold, held, total) {
  const part = (/** @type {string} */ kind, /** @type {number} */ count) => {
    const bar = h("span", { class: kind });
    bar.style.setProperty("--part", `${(100 * count) / Math.max(1, total)}%`);
    return bar;
  };
  return h("div", { class: "meter", "aria-hidden": "true" }, part("sold", sold), part("held", held));
}

/** @param {Schedule} schedule */
function scheduleCard(schedule) {
  const price = schedule.windows.length === 0 ? null : money(Math.min(...schedule.windows.map((window) => window.price)), schedule.currency);
  return card(
    `/schedules/${schedule.id}`,
    schedule.name,
    h("span", { class: "faint" }, t("home.slots", { n: schedule.windows.length })),
    h("div", { class: "spread foot" }, h("span", { class: "badge" }, schedule.timezone), price && h("span", {}, price)),
  );
}

/** @param {Shop} shop */
function shopCard(shop) {
  return card(`/shops/${shop.id}`, shop.name, h("span", { class: "faint" }, t("home.shop")), h("div", { class: "foot" }, h("span", { class: "badge" }, shop.timezone)));
}
