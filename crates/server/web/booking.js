// `/bookings/{id}`: one booking as it is now, its ticket, and what can be done with it. `#token=` brings the hold token along.

import { Refusal } from "./api.js";
import { h, show } from "./dom.js";
import { isOver } from "./booking-status.js";
import { whyNot } from "./format.js";
import { api, idInPath, title } from "./frame.js";
import { BookingView } from "./booking-view.js";
import { follow } from "./live.js";
import { mine, remember, tokenOf } from "./mine.js";
import { onRecovery } from "./recovery.js";
import { setClock } from "./server-clock.js";
import { learn, t } from "./words.js";
import { words } from "./booking.words.js";

learn(words);
title(t("booking.title"));
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const id = idInPath();
load();

/** The token of a link, taken out of the address that people copy: it is a secret. */
function tokenOfLink() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

/**
 * The booking, and the token that opened it. A link's token is tried first and kept only if it is right: a wrong one must not take
 * the place of the one this browser was given.
 */
async function read() {
  const linked = tokenOfLink();
  const path = `/v1/bookings/${encodeURIComponent(id)}`;
  if (linked) {
    try {
      const booking = await api.get(path, { token: linked });
      const known = mine().find((other) => other.id === id);
      remember({ id, hold_token: linked, event: known?.event ?? booking.event }, known?.name ?? t("booking.title"));
      return { booking, token: linked };
    } catch (error) {
      if (!(error instanceof Refusal) || tokenOf(id) === null) throw error;
    }
  }
  const token = tokenOf(id);
  return { booking: await api.get(path, { token }), token };
}

async function load() {
  show(main, h("p", { class: "faint" }, t("loading")));
  try {
    const [{ booking, token }] = await Promise.all([read(), setClock(api)]);
    const view = new BookingView(main, token);
    await view.take(booking);
    follow(api, `/v1/bookings/${booking.id}/stream`, {
      token,
      isLast: isOver,
      signal: new AbortController().signal,
      onConnection: (connection) => view.badge.set(connection),
      onMessage: (_, message) => view.take(message),
    });
  } catch (error) {
    notShown(error);
  }
}

/** @param {unknown} error */
function notShown(error) {
  const code = error instanceof Refusal ? error.code : "UNREACHABLE";
  const [heading, why] = code === "HOLD_TOKEN_REQUIRED" ? [t("booking.secret"), t("booking.secretWhy")]
    : error instanceof Refusal && (error.status === 404 || error.status === 400) ? [t("booking.missing"), t("booking.missingWhy")]
    : [t("booking.title"), whyNot(error)];
  const again = !(error instanceof Refusal) && h("button", { class: "main", type: "button", onclick: load }, t("tryAgain"));
  const card = h("div", { class: "card not-shown", role: "alert", "data-refusal": code },
    h("h1", {}, heading), h("p", {}, why), h("div", { class: "row" }, again, h("a", { class: "button", href: "/" }, t("onSale"))));
  show(main, card);
  onRecovery(api, error, card, load);
}
