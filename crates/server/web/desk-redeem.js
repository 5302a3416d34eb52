// The door: takes a code or a ticket's QR, admits the guest or says why not, and is ready for the next.

import { Refusal } from "./api.js";
import { announce, h, show } from "./dom.js";
import { clock, dateTime, day, whyNot } from "./format.js";
import { t } from "./words.js";
import { brief } from "./desk-words-of.js";
import { readTicket } from "./desk-codes.js";
import { canScan, scanner } from "./desk-camera.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./types.d.ts").Booking} Booking */
/** @typedef {{kind: "good" | "warn" | "bad", word: string, title: string, detail: string, booking: Booking | null, code: string, guests?: number, undoes?: string}} Result */
/* `guests` were let in by it, fewer than none if it was undone; `undoes` is the booking whose admission can be undone whole. */

const KEPT_MAX = 20;

/** @param {Desk} desk */
export function redeemPart(desk) {
  const { codes, inventory, signal } = desk;
  const known = h("p", { class: "faint small" });
  codes.watch((n) => (known.textContent = t("desk.door.known", { n })));
  const input = h("input", {
    id: "code", class: "code", type: "text", autocomplete: "off", autocapitalize: "characters", spellcheck: "false",
    inputmode: "text", enterkeyhint: "go", "data-code": "", "aria-describedby": "code-help",
  });
  const result = h("div", { class: "result", "data-result": "", tabindex: "-1" }, h("p", { class: "faint" }, t("desk.door.ready")));
  const past = h("ol", { class: "past", reversed: true });
  const earlier = h(
    "section",
    { class: "card earlier", "aria-labelledby": "past-title", hidden: true },
    h("h2", { id: "past-title" }, t("desk.door.past")),
    past,
  );
  const admitted = h("span", { class: "badge good number", "data-admitted": "" }, t(`desk.door.count.${inventory.kind}`, { n: 0 }));
  let count = 0;
  let asked = 0;

  // A button that goes leaves the focus to the next code, unless that opens a phone's keyboard.
  const hasMouse = () => matchMedia("(pointer: fine)").matches;
  /** @param {string} text @param {boolean} [typed] a scanned one leaves the focus, and with it a phone's keyboard, alone */
  const take = (text, typed = false) => answer(text, () => redeem(desk, text), typed);
  /** @param {string} text @param {Result} outcome */
  const actions = (text, outcome) => [
    (outcome.word === "date" || outcome.word === "time") && h("button", {
      class: "main", type: "button", "data-force": "", onclick: () => answer(text, () => redeem(desk, text, true), hasMouse()),
    }, t(`desk.door.${inventory.kind === "shop" ? "collect" : "admit"}.anyway`)),
    outcome.undoes !== undefined && h("button", {
      type: "button", "data-undo": "", onclick: () => answer(text, () => undo(desk, outcome), hasMouse()),
    }, t("desk.door.undo")),
  ];
  /** @param {string} text @param {() => Promise<Result>} ask @param {boolean} typed */
  const answer = async (text, ask, typed) => {
    if (text.trim() === "") return;
    asked += 1;
    const mine = asked;
    input.value = "";
    if (typed) input.focus({ preventScroll: true });
    result.className = "result busy";
    result.dataset["result"] = "busy";
    show(result, h("p", { class: "verdict" }, "…"), h("p", {}, t("desk.door.looking", { code: text.trim().slice(0, 60) })));
    const outcome = await ask().catch((error) => failed(error, text));
    if (signal.aborted) return;
    if (outcome.guests !== undefined) {
      count += outcome.guests;
      admitted.textContent = t(`desk.door.count.${inventory.kind}`, { n: count });
    }
    past.prepend(
      h(
        "li",
        { value: mine, "data-outcome": outcome.word },
        h("span", { class: "number faint" }, clock(new Date().toISOString())),
        h("span", { class: `badge ${outcome.kind}` }, outcome.title),
        h("code", {}, outcome.code),
      ),
    );
    earlier.hidden = false;
    while (past.children.length > KEPT_MAX) past.lastElementChild?.remove();
    // A later guest's answer is not painted over.
    if (mine !== asked) return;
    paint(result, outcome, desk, actions(text, outcome));
    // The button that was pressed is gone.
    if (document.activeElement === document.body) result.focus({ preventScroll: true });
    result.scrollIntoView({ block: "nearest" });
    announce(`${outcome.title}. ${outcome.detail}`);
  };
  const form = h("form", { class: "stack", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    take(input.value, true);
  } },
    h("label", { for: "code" }, t("desk.door.label")),
    h(
      "div",
      { class: "row code-row" },
      input,
      h("button", { class: "main", type: "submit", "data-redeem": "" }, t(`desk.door.${inventory.kind === "shop" ? "collect" : "admit"}`)),
    ),
    h("p", { id: "code-help", class: "faint small" }, t("desk.door.help")));
  const camera = h("div", { class: "stack" });
  canScan().then((can) => {
    if (!can || signal.aborted) return;
    const { button, view, stop } = scanner((text) => void take(text), signal);
    show(camera, button, view);
    // Leaving the tab turns the camera off.
    new IntersectionObserver(([entry]) => entry && !entry.isIntersecting && !camera.checkVisibility() && stop()).observe(camera);
  });
  codes.prepare().then(
    () => (known.textContent = codes.partial ? t("desk.door.partial", { n: codes.size }) : t("desk.door.known", { n: codes.size })),
    // The same reading is done again for the first guest, who is then told what is wrong.
    () => undefined,
  );
  const part = h("div", { class: "door" },
    h(
      "section",
      { class: "card stack", "aria-labelledby": "door-title" },
      h("div", { class: "spread" }, h("h2", { id: "door-title" }, t(`desk.door.title.${inventory.kind}`)), admitted),
      form,
      camera,
      known,
    ),
    h("section", { class: "card", "aria-label": t("desk.door.result") }, result),
    earlier);
  // Where there is no mouse, the focus would cover half of the page with a keyboard; and arrow keys are still to lead on to the next tab.
  const elsewhere = () => document.querySelector("[data-tab]:focus-visible") !== null;
  if (matchMedia("(pointer: fine)").matches) requestAnimationFrame(() => elsewhere() || input.focus({ preventScroll: true }));
  return part;
}

/** @param {Desk} desk @param {string} text @param {boolean} [force] at a wrong date or time, too @returns {Promise<Result>} */
async function redeem(desk, text, force = false) {
  const { codes } = desk;
  const ticket = readTicket(text);
  if (ticket === null) return {
    kind: "bad", word: "rubbish", title: t("desk.door.rubbish"), detail: t("desk.door.rubbish.detail"), booking: null,
    code: text.trim().slice(0, 20),
  };
  const { code } = ticket;
  const id = ticket.id ?? (await codes.find(code));
  if (id === null) return {
    kind: "bad", word: "unknown", title: t("desk.door.unknown"),
    detail: t(codes.partial ? "desk.door.unknown.partial" : "desk.door.unknown.detail"), booking: null, code,
  };
  /** @type {Booking} */
  const booking = await desk.api.get(`/v1/bookings/${id}`);
  const { kind } = desk.inventory;
  if (booking[kind] !== desk.inventory.id) {
    const other = booking.event ?? booking.schedule ?? booking.shop ?? "";
    return {
      kind: "bad", word: "elsewhere", title: t("desk.door.elsewhere"),
      detail: t("desk.door.elsewhere.detail", { name: other }), booking, code,
    };
  }
  try {
    const after = await desk.api.post(`/v1/bookings/${id}/redeem`, { redeem_code: code, force });
    const guests = after.redeemed_quantity - booking.redeemed_quantity;
    return {
      kind: "good", word: "admitted", title: t(kind === "shop" ? "desk.door.collected" : "desk.door.admitted"),
      detail: units(guests, kind), booking: after, code, guests, ...(guests === after.quantity && { undoes: after.id }),
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refused(error, booking, code, kind);
  }
}

/** @param {Desk} desk @param {Result} admission @returns {Promise<Result>} */
async function undo(desk, { undoes, guests = 0, code }) {
  const { kind } = desk.inventory;
  const booking = await desk.api.post(`/v1/bookings/${undoes}/unredeem`, { reason: t("desk.door.undo.reason") });
  return {
    kind: "warn", word: "undone", title: t("desk.door.undone"), detail: units(guests, kind), booking, code: booking.redeem_code ?? code,
    guests: -guests,
  };
}

/** @param {number} n @param {string} kind */
function units(n, kind) {
  return t({ event: "desk.door.guests", schedule: "desk.door.guests", shop: "unit.boxes" }[kind] ?? "desk.door.guests", { n });
}

/** @param {Refusal} refusal @param {Booking} booking @param {string} code @param {string} kind @returns {Result} */
function refused(refusal, booking, code, kind) {
  const say = (
    /** @type {Result["kind"]} */ colour,
    /** @type {string} */ word,
    /** @type {string} */ title,
    /** @type {string} */ detail
  ) => ({ kind: colour, word, title, detail, booking, code });
  const at = refusal.problem["redeemed_at"] ?? booking.redeemed_at;
  if (refusal.code === "ALREADY_REDEEMED") return say(
    "bad",
    "used",
    at ? t("desk.door.used", { time: clock(at) }) : t("desk.door.used.sometime"),
    at ? dateTime(at) : "",
  );
  if (refusal.code === "WRONG_DATE") {
    const [date, time] = (booking.slot ?? "").split("T");
    return say(
      "warn",
      "date",
      t("desk.door.date"),
      date ? t("desk.door.date.detail", { day: day(date, { dateStyle: "full" }), time: time ?? "" }) : "",
    );
  }
  if (refusal.code === "WRONG_TIME") {
    const { opens_at, closes_at } = refusal.problem;
    const early = opens_at !== null && Date.parse(opens_at) > Date.now();
    return say(
      "warn",
      "time",
      t(early ? "desk.door.early" : "desk.door.late"),
      early ? t("desk.door.early.detail", { time: dateTime(opens_at) }) : t("desk.door.late.detail", { time: dateTime(closes_at ?? opens_at) }),
    );
  }
  if (refusal.code === "WRONG_CODE") return say("bad", "code", t("desk.door.wrong"), t("desk.door.wrong.detail"));
  if (refusal.code === "NOT_REDEEMABLE") {
    const word = booking.status === "on_hold" ? "unpaid" : "ended";
    return say(
      booking.status === "on_hold" ? "warn" : "bad",
      word,
      t(`desk.door.${word}`, { status: t(`status.${booking.status}`) }),
      t(`desk.door.${word}.detail`),
    );
  }
  return say("bad", "refused", t("desk.door.refused"), `${whyNot(refusal)} ${units(booking.quantity, kind)}`);
}

/** @param {unknown} error @param {string} text @returns {Result} */
function failed(error, text) {
  const gone = error instanceof Refusal && error.code === "BOOKING_NOT_FOUND";
  const code = readTicket(text)?.code ?? text.trim().slice(0, 20);
  return {
    kind: "bad", word: gone ? "unknown" : "failed", title: t(gone ? "desk.door.unknown" : "desk.door.failed"),
    detail: gone ? t("desk.door.unknown.detail") : whyNot(error), booking: null, code,
  };
}

/** @param {HTMLElement} place @param {Result} result @param {Desk} desk @param {(HTMLElement | false)[]} actions */
function paint(place, result, desk, actions) {
  const { kind, word, title, detail, booking, code } = result;
  place.className = `result ${kind}`;
  place.dataset["result"] = word;
  show(place,
    h(
      "p",
      { class: "verdict" },
      h("span", { class: "sign", "aria-hidden": "true" }, { good: "✓", warn: "!", bad: "✕" }[kind]),
      h("strong", {}, title),
    ),
    detail !== "" && h("p", { class: "detail" }, detail),
    booking && h("ul", {}, brief(booking).map((what) => h("li", {}, what))),
    h(
      "p",
      { class: "row" },
      h("code", {}, code),
      booking && h("span", {}, booking.customer),
      booking && h("button", { type: "button", onclick: () => desk.go("bookings", { booking: booking.id }) }, t("desk.door.open")),
      ...actions,
    ));
}
