// `/bookings/{id}`: one booking as it is now, its ticket, and what can be done with it. `#token=` brings the hold token along.

import { Refusal } from "./api.js";
import { h, show } from "./dom.js";
import { isOver } from "./booking-status.js";
import { whyNot } from "./format.js";
import { api, idInPath, title } from "./frame.js";
import { BookingView } from "./booking-view.js";
import { follow } from "./live.js";
import { mine, remember, tokenOf } from "./mine.js";
import { setClock } from "./server-clock.js";
import { learn, t } from "./words.js";
import { words } from "./booking.words.js";

learn(words);
title(t("booking.title"));
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const id = idInPath();
takeToken();
load();

/** The token is a secret: kept, and then taken out of the address that people copy. */
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  const known = mine().find((other) => other.id === id);
  remember({ id, hold_token: token, event: known?.event ?? null }, known?.name ?? t("booking.title"));
  history.replaceState(null, "", location.pathname + location.search);
}

async function load() {
  show(main, h("p", { class: "faint" }, t("loading")));
  const token = tokenOf(id);
  try {
    const [booking] = await Promise.all([api.get(`/v1/bookings/${encodeURIComponent(id)}`, { token }), setClock(api)]);
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
  show(main, h("div", { class: "card not-shown", role: "alert", "data-refusal": code },
    h("h1", {}, heading), h("p", {}, why), h("div", { class: "row" }, again, h("a", { class: "button", href: "/" }, t("onSale")))));
}
