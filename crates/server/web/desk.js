// `/desk`: where an operator watches and runs a sale. Signs in, chooses an inventory, and shows its parts in tabs.

import { h, show } from "./dom.js";
import { Refusal } from "./api.js";
import { zoneName } from "./dates.js";
import { dateTime, showTimesIn, whyNot } from "./format.js";
import { api, title } from "./frame.js";
import { onRecovery } from "./recovery.js";
import { language, learn, t } from "./words.js";
import { words } from "./desk.words.js";
import { words as bookingWords } from "./desk-bookings.words.js";
import { enter, forgetKey, keyForm, storedKey } from "./desk-key.js";
import { Codes } from "./desk-codes.js";
import { Live } from "./desk-live.js";
import { LiveBadge } from "./live-badge.js";
import { now, setClock } from "./server-clock.js";
import { tabList } from "./desk-tabs.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./desk-live.js").Inventory} Inventory */

const KINDS = /** @type {const} */ (["event", "schedule", "shop"]);
/** More than anyone can find in a list. */
const PAGES_MAX = 4;

learn(words);
learn(bookingWords);
title(t("desk.title"));
// What draws with words is loaded once the words are known.
const parts = {
  event: (await import("./desk-event.js")).eventTabs,
  schedule: (await import("./desk-schedule.js")).scheduleTabs,
  shop: (await import("./desk-shop.js")).shopTabs,
};

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
/** Ends everything that the shown inventory has going on. */
let shown = new AbortController();
start();

async function start() {
  show(main, h("h1", {}, t("desk.title")), h("p", { class: "faint" }, t("loading")));
  try {
    await open(storedKey());
  } catch (error) {
    if (error instanceof Refusal && (error.status === 401 || error.status === 403)) ask(storedKey() === null ? null : t("desk.key.ended"));
    else {
      const note = h("p", { class: "note bad", role: "alert" }, whyNot(error));
      show(main, h("h1", {}, t("desk.title")), note, h("button", { type: "button", onclick: start }, t("tryAgain")));
      onRecovery(api, error, note, start);
    }
  }
}

/** @param {string | null} reason */
function ask(reason) {
  shown.abort();
  forgetKey();
  const { form, input } = keyForm((key) => open(key), reason);
  show(main, h("h1", {}, t("desk.title")), form);
  input.focus();
}

/** @param {string | null} key */
async function open(key) {
  const { api, role } = await enter(key, () => ask(t("desk.key.ended")));
  const [known] = await Promise.all([Promise.all(KINDS.map((kind) => all(api, kind))), setClock(api)]);
  draw(api, role, key !== null, known.flat());
}

/** @param {Api} api @param {typeof KINDS[number]} kind @returns {Promise<Inventory[]>} */
async function all(api, kind) {
  /** @type {Inventory[]} */
  const known = [];
  for (let page = 0, cursor = ""; page < PAGES_MAX; page += 1) {
    const { items, next_cursor } = await api.get(`/v1/${kind}s?limit=500${cursor}`);
    known.push(
      ...items.map(
        (/** @type {any} */ item) => ({ kind, id: item.id, name: item.name, currency: item.currency, timezone: item.timezone, starts_at: item.starts_at ?? null }),
      ),
    );
    if (next_cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
  }
  return known;
}

/** The inventory in the address, if there is one of that name. @param {Inventory[]} known */
function inAddress(known) {
  const asked = new URLSearchParams(location.search);
  return known.find(({ kind, id }) => asked.get(kind) === id) ?? null;
}

/** @param {Api} api @param {"admin" | "operator"} role @param {boolean} signedIn @param {Inventory[]} known */
function draw(api, role, signedIn, known) {
  const body = h("div", { class: "desk-body" });
  const connection = new LiveBadge();
  const choice = h("select", { id: "inventory", "data-inventory": "", onchange: () => {
    const [kind, id] = /** @type {[string, string]} */ (choice.value.split(":"));
    history.pushState(null, "", `/desk?${new URLSearchParams({ [kind]: id })}`);
    choose();
  } }, h("option", { value: "", disabled: true }, t("desk.choose")), KINDS.map((kind) => {
    const of = known.filter((inventory) => inventory.kind === kind);
    return of.length > 0 && h(
      "optgroup",
      { label: t(`desk.kind.${kind}`) },
      of.map(({ id, name }) => h("option", { value: `${kind}:${id}` }, name)),
    );
  }));
  show(main,
    h("div", { class: "desk-head" },
      h("h1", {}, t("desk.title")),
      h("div", { class: "pick" }, h("label", { for: "inventory", class: "unseen" }, t("desk.choose")), choice),
      connection.element,
      h("div", { class: "row who" },
        h("span", { class: "faint small", "data-role": role }, signedIn ? t(`desk.role.${role}`) : t("desk.open")),
        signedIn && h("button", { type: "button", "data-sign-out": "", onclick: () => ask(null) }, t("desk.signOut")))),
    body);
  const choose = () => {
    const inventory = inAddress(known) ?? (location.search.match(/[?&](event|schedule|shop)=/) ? null : known[0] ?? null);
    shown.abort();
    shown = new AbortController();
    choice.value = inventory ? `${inventory.kind}:${inventory.id}` : "";
    connection.element.hidden = inventory === null;
    title(inventory ? `${inventory.name} · ${t("desk.title")}` : t("desk.title"));
    if (inventory) show(body, ...opened(api, role, inventory, connection));
    else show(body, h("p", { class: "note" }, t(known.length === 0 ? "desk.nothing" : "desk.unknown")));
  };
  window.onpopstate = choose;
  // A page kept for going back would keep its streams too, and a browser has few connections to one host.
  window.onpagehide = () => shown.abort();
  window.onpageshow = (event) => event.persisted && choose();
  choose();
}

/** @param {Api} api @param {"admin" | "operator"} role @param {Inventory} inventory @param {LiveBadge} connection */
function opened(api, role, inventory, connection) {
  const { signal } = shown;
  showTimesIn(inventory.timezone);
  const note = h("p", { class: "note bad", role: "status", "data-standing": "", hidden: true });
  const say = (/** @type {string} */ words) => {
    if (note.textContent !== words) note.textContent = words;
    note.hidden = false;
  };
  const live = new Live(api, inventory, signal, (refusal) => {
    if (refusal.status === 401) return ask(t("desk.key.ended"));
    // Nothing is live any more: it was deleted, or may not be seen.
    live.connection = "ended";
    connection.set("ended");
    say(whyNot(refusal));
  });
  connection.set("reconnecting", "loading");
  live.onDraw(() => connection.set(live.connection));
  const address = (/** @type {string} */ tab, /** @type {Record<string, string>} */ detail) =>
    history.replaceState(null, "", `/desk?${new URLSearchParams({ [inventory.kind]: inventory.id, tab, ...detail })}`);
  /** @type {Desk} */
  const desk = {
    api, role, inventory, live, signal,
    codes: new Codes(api, inventory, signal),
    go: (tab, detail = {}) => {
      tabs.choose(tab);
      address(tab, detail);
      window.dispatchEvent(new CustomEvent("desk-detail"));
    },
  };
  const tabs = tabList(inventory.name, parts[inventory.kind](desk), (tab) => {
    if (new URLSearchParams(location.search).get("tab") !== tab) address(tab, {});
  });
  tabs.choose(new URLSearchParams(location.search).get("tab") ?? "");
  live.onDraw(() => live.status === "cancelled" && say(t("event.cancelled")));
  return [zoneLine(inventory), note, tabs.list, ...tabs.panels];
}

/** When the event is, and what clocks the whole desk goes by. @param {Inventory} inventory */
function zoneLine({ timezone, starts_at }) {
  const zone = t("allTimes", { zone: zoneName(timezone, starts_at === null ? now() : Date.parse(starts_at), language) });
  return h("p", { class: "faint small", "data-zone": timezone }, starts_at !== null && `${t("desk.starts", { when: dateTime(starts_at) })} `, zone);
}
