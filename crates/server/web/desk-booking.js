// One booking at the desk: what it is, what happened to it, and what can be done with it.

import { h, show } from "./dom.js";
import { countdown, dateTime, exactMoney, money, whyNot } from "./format.js";
import { follow } from "./live.js";
import { EXTEND_SECONDS, lines, longer } from "./hold.js";
import { isOver, statusBadge } from "./booking-status.js";
import { t } from "./words.js";
import { onRecovery } from "./recovery.js";
import { copyable } from "./desk-copy.js";
import { exactTime } from "./desk-format.js";
import { deedWords } from "./desk-words-of.js";
import { twice } from "./desk-pace.js";

/** @typedef {import("./desk-live.js").Desk} Desk */
/** @typedef {import("./types.d.ts").Booking} Booking */

/**
 * Follows the booking until it ends or `signal` does.
 *
 * @param {Desk} desk @param {string} id @param {AbortSignal} signal @param {{onClose: () => void, onChange: (booking: Booking) => void}} tell
 */
export function bookingView(desk, id, signal, { onClose, onChange }) {
  const { api } = desk;
  const facts = h("div", { class: "stack" }, h("p", { class: "faint" }, t("loading")));
  const actions = h("div", { class: "stack" });
  const note = h("p", { class: "note", role: "alert", hidden: true });
  const trail = h("ol", { class: "trail" });
  const payment = h("input", { id: "payment", autocomplete: "off", maxlength: "500" });
  /** @type {Booking | null} */
  let booking = null;
  let endsAt = 0;
  const left = h("span", { class: "number", role: "timer" });

  /** @param {string} words @param {string} kind */
  const say = (words, kind) => {
    note.className = `note ${kind}`;
    note.textContent = words;
    note.hidden = words === "";
  };
  /** @param {Booking} now */
  const take = (now) => {
    // Messages come from the stream and from what is done here, in any order: the newer one counts.
    if (booking !== null && now.version < booking.version) return;
    const fresh = booking === null || booking.version !== now.version || booking.status !== now.status;
    const other = booking === null || booking.status !== now.status;
    booking = now;
    endsAt = performance.now() + (now.expires_in_seconds ?? 0) * 1000;
    if (!fresh) return;
    show(facts, ...factsOf(now, left));
    if (other) {
      const pressed = actions.contains(document.activeElement);
      show(actions, ...actionsOf(now));
      if (pressed) heading.focus();
    }
    onChange(now);
    tick();
    readTrail(id);
  };
  const tick = () => {
    if (booking?.status === "on_hold") left.textContent = countdown(endsAt - performance.now());
  };
  const clock = setInterval(tick, 1000);
  signal.addEventListener("abort", () => clearInterval(clock));

  /** @param {string} action @param {object} body @param {string} done */
  const act = async (action, body, done) => {
    for (const button of actions.querySelectorAll("button")) button.disabled = true;
    say("", "");
    try {
      take(await api.post(`/v1/bookings/${id}/${action}`, body));
      say(t(done), "good");
    } catch (error) {
      say(whyNot(error), "bad");
      onRecovery(api, error, note, () => say("", ""));
    }
    for (const button of actions.querySelectorAll("button")) button.disabled = false;
  };
  /** @param {Booking} now */
  const actionsOf = (now) => {
    const cancel = () => twice(t("desk.cancel"), () => act("cancel", { reason: "desk" }, "desk.done.cancelled"));
    if (now.status === "on_hold") {
      return [
        h("div", { class: "field" }, h("label", { for: "payment" }, t("desk.booking.payment")), payment),
        h("div", { class: "row" },
          h(
            "button",
            {
              class: "main", type: "button", "data-act": "confirm",
              onclick: () => act(
                "confirm",
                payment.value.trim() === "" ? {} : { payment_reference: payment.value.trim() },
                "desk.done.confirmed",
              ),
            },
            t("desk.confirm"),
          ),
          h(
            "button",
            { type: "button", "data-act": "extend", onclick: () => act("extend", { seconds: longer(endsAt) }, "desk.done.extended") },
            t("desk.extend", { n: EXTEND_SECONDS / 60 }),
          ),
          cancel()),
      ];
    }
    if (now.status === "confirmed") {
      return [h("div", { class: "row" },
        h(
          "button",
          {
            class: "main", type: "button", "data-act": "redeem",
            onclick: () => act("redeem", { redeem_code: now.redeem_code ?? "" }, "desk.done.redeemed"),
          },
          t(now.shop === null ? "desk.door.admit" : "desk.door.collect"),
        ),
        cancel())];
    }
    return [];
  };
  const readTrail = async (/** @type {string} */ of) => {
    try {
      const { items } = await api.get(`/v1/audit?booking=${of}`, { signal });
      show(trail, ...items.map((/** @type {any} */ deed) => h("li", {},
        h("time", { class: "number faint", datetime: deed.at }, exactTime(deed.at)),
        h(
          "span",
          {},
          deedWords(deed.action, deed.details),
          deed.by && h("span", { class: "faint" }, ` · ${t("desk.by", { name: deed.by.name ?? deed.by.id })}`),
        ))));
    } catch (error) {
      if (!signal.aborted) show(trail, h("li", { class: "faint" }, whyNot(error)));
    }
  };
  follow(api, `/v1/bookings/${id}/stream`, {
    signal, isLast: isOver,
    onMessage: (_event, data) => take(data),
    onRefusal: (refusal) => show(
      facts,
      h("p", { class: "note bad", role: "alert" }, refusal.status === 404 ? t("desk.find.none") : whyNot(refusal)),
    ),
  });
  const heading = h("h2", { tabindex: "-1" }, t("desk.booking"));
  requestAnimationFrame(() => heading.focus());
  return h("section", { class: "card stack booking", "data-booking": id },
    h("div", { class: "spread" }, heading, h("button", { class: "plain", type: "button", onclick: onClose }, t("desk.booking.back"))),
    facts, note, actions, h("h3", {}, t("desk.trail")), trail);
}

/** @param {Booking} booking @param {HTMLElement} left */
function factsOf(booking, left) {
  const fact = (/** @type {string} */ name, /** @type {any} */ value) => value !== null && value !== "" && [
    h("dt", {}, t(`desk.booking.${name}`)), h("dd", {}, value),
  ];
  const time = (/** @type {string | null} */ at) => (at === null ? null : dateTime(at));
  const copied = (/** @type {string} */ name, /** @type {string | null | undefined} */ text) =>
    fact(name, text ? copyable(t(`desk.booking.${name}`), text) : null);
  return [
    h(
      "div",
      { class: "row" },
      statusBadge(booking.status),
      booking.redeem_code !== null && h("span", { class: "code" }, booking.redeem_code),
      booking.status === "on_hold" && h("strong", {}, t("hold.left"), " ", left),
    ),
    h(
      "ul",
      { class: "held" },
      lines(booking).map((line) => h("li", { class: "spread" }, h("span", {}, line.what), h("span", { class: "number" }, line.price))),
    ),
    h(
      "p",
      { class: "spread" },
      h("strong", {}, t("total")),
      h(
        "strong",
        { class: "number" },
        booking.total_price === 0 ? money(0, booking.currency) : exactMoney(booking.total_price, booking.currency),
      ),
    ),
    h("dl", { class: "facts" },
      [
        fact("customer", booking.customer),
        copied("email", booking.contact?.email), copied("phone", booking.contact?.phone),
        fact("contact", booking.contact === null ? h("span", { class: "faint" }, t("desk.booking.noContact")) : null),
        copied("reference", booking.reference),
        fact("id", h("code", {}, booking.id)), fact("created", time(booking.created_at)),
        fact("confirmed", time(booking.confirmed_at)),
        fact("redeemed", time(booking.redeemed_at)), fact("cancelled", time(booking.cancelled_at)),
        fact("paid", booking.payment_reference), fact("tickets", booking.tickets.join(", ")),
        fact("metadata", booking.metadata === null ? null : h("code", {}, JSON.stringify(booking.metadata))),
      ].filter((entry) => entry !== false).flat()),
  ];
}
