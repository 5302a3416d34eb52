// What happened to a seat, told from the journal.

import { Refusal } from "./api.js";
import { h, show } from "./dom.js";
import { exactMoney, number, whyNot } from "./format.js";
import { t } from "./words.js";
import { exactTime } from "./desk-format.js";
import { Journal } from "./desk-journal.js";
import { deedWords } from "./desk-words-of.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./desk-journal.js").Entry} Entry */

/** "A-1 3-7": a subsection, and a row and seat in it. */
const SEAT = /^\s*(\S(?:.*\S)?-\d+)[\s,:·/]+(\d+-\d+)\s*$/u;

/** @param {Desk} desk @returns {{element: HTMLElement, ask: (section: string, seat: string) => void}} */
export function historyPart(desk) {
  const { api, inventory, role, signal } = desk;
  const input = h("input", { id: "seat", autocomplete: "off", spellcheck: "false", placeholder: "A-1 3-7", "data-seat-name": "" });
  const note = h("p", { class: "faint small", role: "status" });
  const now = h("p", { class: "now", "data-seat-now": "" });
  const story = h("ol", { class: "trail", "data-story": "" });
  const more = h("button", { type: "button", hidden: true, onclick: () => tell() }, t("desk.history.on"));
  const journal = new Journal(api, inventory);
  /** Names of keys, by their ids. @type {Map<string, string>} */
  const names = new Map();
  /** @type {[string, string] | null} */
  let asked = null;
  let reading = false;

  const tell = async () => {
    if (asked === null || reading) return;
    reading = true;
    more.hidden = true;
    try {
      if (names.size === 0) {
        const { items } = await api.get("/v1/keys?limit=500", { signal });
        for (const key of items) names.set(key.id, key.name ?? key.id);
      }
      await journal.readOn(signal, () => (note.textContent = t("desk.history.reading", { n: journal.read })));
      // Another may have been asked for meanwhile.
      const [section, seat] = asked;
      const entries = journal.of(section, seat);
      show(story, ...entries.map((entry) => line(desk, entry, names)));
      note.textContent = [
        entries.length === 0 ? t("desk.history.none", { seat: `${section} ${seat}` }) : t("desk.history.of", { seat: `${section} ${seat}` }),
        journal.complete
          ? t("desk.history.read", { n: journal.read })
          : t("desk.history.part", { n: number(journal.read), time: exactTime(journal.through) }),
        journal.fromStart ? "" : t("desk.history.late"),
      ].join(" ");
      more.hidden = journal.complete;
    } catch (error) {
      if (!signal.aborted) note.textContent = error instanceof Refusal && error.status === 403 ? t("desk.history.notAllowed") : whyNot(error);
    }
    reading = false;
  };
  const submit = async () => {
    const [, section, seat] = SEAT.exec(input.value) ?? [];
    for (const place of [now, story]) show(place);
    more.hidden = true;
    asked = null;
    if (section === undefined || seat === undefined) {
      note.textContent = t("desk.history.noSeat");
      return;
    }
    /** @type {[string, string]} */
    const wanted = [section, seat];
    asked = wanted;
    note.textContent = t("loading");
    try {
      const path = [inventory.id, "seats", section, seat].map(encodeURIComponent).join("/");
      const found = await api.get(`/v1/events/${path}`, { signal });
      if (asked !== wanted) return;
      show(now, ...standing(desk, found));
      note.textContent = "";
      if (allowed) tell();
    } catch (error) {
      if (signal.aborted || asked !== wanted) return;
      asked = null;
      const unknown = error instanceof Refusal && (error.status === 404 || error.status === 400);
      note.textContent = unknown ? t("desk.history.noSeat") : whyNot(error);
    }
  };
  const allowed = role === "admin";
  const element = h("section", { class: "card stack history", "aria-labelledby": "history-title" },
    h("h2", { id: "history-title" }, t("desk.history.title")),
    h("form", { class: "row code-row", onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      submit();
    } },
      h("div", { class: "grow" }, h("label", { for: "seat" }, t("desk.history.label")), input),
      h("button", { type: "submit" }, t("desk.history.ask"))),
    now, note, story, more,
    !allowed && h("p", { class: "note" }, t("desk.history.notAllowed")));
  return {
    element,
    ask: (section, seat) => {
      input.value = `${section} ${seat}`;
      element.scrollIntoView({ block: "nearest" });
      submit();
    },
  };
}

/** @param {Desk} desk @param {Entry} entry @param {Map<string, string>} names */
function line(desk, { change, booking, leaves }, names) {
  const words = leaves && change.type !== "cancelled" && change.type !== "expired"
    ? t("deed.left", { deed: deedWords(change.type, change.data) })
    : deedWords(change.type, short(change.data));
  return h("li", { "data-deed": change.type },
    h("time", { class: "number faint", datetime: change.at }, exactTime(change.at)),
    h("span", {}, words,
      change.by !== null && h("span", { class: "faint" }, ` · ${t("desk.by", { name: names.get(change.by) ?? change.by })}`),
      booking !== null && [" ", linkTo(desk, booking)]));
}

/** @param {Desk} desk @param {string} booking */
function linkTo(desk, booking) {
  const open = () => desk.go("bookings", { booking });
  return h("button", { type: "button", class: "plain link", "data-open": booking, onclick: open }, t("desk.history.booking", { id: booking.slice(0, 8) }));
}

/** What a seat is now. @param {Desk} desk @param {import("./types.d.ts").SeatShown} seat @returns {import("./dom.js").Child[]} */
function standing(desk, { section, seat, state, price, booking, hold_expires_at }) {
  const values = { seat: `${section} ${seat}`, state: t(`desk.seat.${state}`), price: exactMoney(price, desk.inventory.currency) };
  return [
    h("strong", {}, t("desk.history.now", values)),
    hold_expires_at !== null && ` ${t("desk.history.hold", { time: exactTime(hold_expires_at) })}`,
    booking !== null && [" ", linkTo(desk, booking)],
  ].flat();
}

/** The seat is known here; the other seats of the booking only crowd the line. @param {any} data */
function short(data) {
  return data.units ? { ...data, units: { seats: [], areas: [] } } : data;
}
