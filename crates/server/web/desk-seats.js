// The seats of a subsection at the desk: choosing some, blocking and unblocking them, and asking what happened to one.

import { Refusal } from "./api.js";
import { h, show } from "./dom.js";
import { number, whyNot } from "./format.js";
import { onRecovery } from "./recovery.js";
import { spokenNote } from "./spoken-note.js";
import { t } from "./words.js";
import { historyPart } from "./desk-history.js";
import { SeatGrid } from "./desk-grid.js";

/** @typedef {import("./desk-live.js").Desk} Desk */

/** A body holds 64 KiB. */
const SEATS_PER_REQUEST_MAX = 2000;
const STATES = /** @type {const} */ (["available", "held", "sold", "blocked"]);

/** @param {Desk} desk */
export function seatsPart(desk) {
  const { api, inventory, live, signal } = desk;
  const choice = h("select", { id: "section", "data-section": "", onchange: () => grid.open(choice.value) });
  const { element: note, say } = spokenNote();
  const summary = h("p", { class: "summary", "data-summary": "", role: "status" });
  const history = historyPart(desk);
  const grid = new SeatGrid(live, signal, () => sum());
  const act = (/** @type {"block" | "unblock"} */ verb) => h(
    "button",
    { type: "button", class: verb === "block" ? "main" : "", "data-act": verb, disabled: true, onclick: () => send(verb) },
  );
  const block = act("block");
  const unblock = act("unblock");
  const clear = h("button", { type: "button", disabled: true, onclick: () => grid.clear() }, t("desk.seats.clear"));
  const ask = h("button", { type: "button", "data-act": "history", disabled: true, onclick: () => {
    const [seat] = grid.chosen;
    if (seat !== undefined) history.ask(grid.section, seat);
  } }, t("desk.seats.history"));
  let busy = false;

  const chosenBy = () => {
    const by = /** @type {Record<typeof STATES[number], string[]>} */ ({ available: [], held: [], sold: [], blocked: [] });
    for (const seat of grid.chosen) by[live.seat(grid.section, seat) ?? "sold"].push(seat);
    return by;
  };
  const sum = () => {
    const by = chosenBy();
    const counts = STATES.filter((state) => by[state].length > 0).map((state) => `${number(by[state].length)} ${t(`desk.seat.${state}`)}`);
    const words = grid.chosen.size === 0 ? t("desk.seats.none") : t("desk.seats.chosen", { n: grid.chosen.size, counts: counts.join(", ") });
    if (summary.textContent !== words) summary.textContent = words;
    block.textContent = t("desk.seats.block", { n: by.available.length });
    unblock.textContent = t("desk.seats.unblock", { n: by.blocked.length });
    block.disabled = busy || by.available.length === 0;
    unblock.disabled = busy || by.blocked.length === 0;
    clear.disabled = grid.chosen.size === 0;
    ask.disabled = grid.chosen.size !== 1;
  };
  /** @param {"block" | "unblock"} verb */
  const send = async (verb) => {
    const { section } = grid;
    const chosen = [...grid.chosen];
    const seats = chosenBy()[verb === "block" ? "available" : "blocked"];
    busy = true;
    sum();
    try {
      for (let from = 0; from < seats.length; from += SEATS_PER_REQUEST_MAX) {
        await api.post(
          `/v1/events/${encodeURIComponent(inventory.id)}/${verb}`,
          { section, seats: seats.slice(from, from + SEATS_PER_REQUEST_MAX) },
        );
      }
      say(t(`desk.seats.${verb}ed`, { n: seats.length, section }), "good");
      // What was chosen meanwhile stays.
      if (grid.section === section) grid.drop(chosen);
    } catch (error) {
      const conflicts = error instanceof Refusal && error.code === "SEAT_UNAVAILABLE" ? (error.problem["conflicts"] ?? []) : null;
      const seats = (conflicts ?? []).map((/** @type {any} */ seat) => `${seat.seat} (${t(`desk.seat.${seat.reason}`)})`).join(", ");
      say(conflicts ? t("desk.seats.taken", { seats }) : whyNot(error), "bad");
      onRecovery(api, error, note, () => (note.hidden = true));
    }
    busy = false;
    sum();
    grid.focus();
  };

  const empty = h("p", { class: "faint" }, t("loading"));
  live.onDraw(() => {
    const names = [...live.sections.keys()];
    if (choice.options.length !== names.length) {
      show(choice, ...names.map((name) => h("option", { value: name }, name)));
      const asked = new URLSearchParams(location.search).get("section");
      if (asked !== null && live.sections.has(asked)) choice.value = asked;
      if (names.length > 0) grid.open(choice.value);
      empty.textContent = names.length === 0 ? t("desk.seats.noSections") : "";
    }
    grid.draw();
    sum();
  });
  sum();
  return h("div", { class: "seats-part" },
    h("section", { class: "card stack", "aria-labelledby": "seats-title" },
      h("h2", { id: "seats-title" }, t("desk.seats.title")),
      h("div", { class: "field section-field" }, h("label", { for: "section" }, t("desk.section")), choice),
      empty,
      h("p", { id: "seats-help", class: "faint small" }, t("desk.seats.help")),
      grid.element,
      h(
        "ul",
        { class: "legend small" },
        STATES.map(
          (state) => h(
            "li",
            {},
            h("span", { class: `seat ${state}`, "aria-hidden": "true" }, { available: "7", held: "◔", sold: "●", blocked: "✕" }[state]),
            t(`desk.stat.${state}`),
          ),
        ),
      ),
      summary,
      h("div", { class: "row" }, block, unblock, clear, ask),
      note),
    history.element);
}
