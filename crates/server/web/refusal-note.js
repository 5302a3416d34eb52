// Says why not, and what can be done instead.

import { Refusal } from "./api.js";
import { h, show } from "./dom.js";
import { whyNot } from "./format.js";
import { api } from "./frame.js";
import { mine } from "./mine.js";
import { onRecovery } from "./recovery.js";
import { t } from "./words.js";

/** Asked about one after the other, newest first. */
const OWN_ASKED_MAX = 10;

export class RefusalNote {
  constructor() {
    this.element = h("div", { class: "note bad", role: "alert", "data-refusal": "", hidden: true });
  }

  clear() {
    this.element.hidden = true;
    this.element.dataset["refusal"] = "";
    show(this.element);
  }

  /** @param {string} code @param {string} words @param {...(import("./dom.js").Child | import("./dom.js").Child[])} more */
  say(code, words, ...more) {
    this.element.dataset["refusal"] = code;
    this.element.hidden = false;
    show(this.element, h("p", {}, words), ...more);
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** @param {unknown} error @param {"schedule" | "shop"} kind @param {string} id where it was refused */
  async explain(error, kind, id) {
    const code = error instanceof Refusal ? error.code : "UNREACHABLE";
    this.say(code, whyNot(error));
    onRecovery(api, error, this.element, () => this.clear());
    if (!(error instanceof Refusal) || (code !== "ACTIVE_RESERVATION_EXISTS" && code !== "CUSTOMER_LIMIT_REACHED")) return;
    const existing = error.problem["booking"] ?? (await ownActive(kind, id));
    if (existing !== null && this.element.dataset["refusal"] === code) {
      this.element.append(h("p", {}, h("a", { class: "button", href: `/bookings/${existing}`, "data-existing": existing }, t("hold.open"))));
    }
  }
}

/**
 * Browsers share a key, so that the server does not tell them whose booking it is: this one knows its own.
 *
 * @param {"schedule" | "shop"} kind @param {string} id @returns {Promise<string | null>}
 */
async function ownActive(kind, id) {
  for (const known of mine().slice(0, OWN_ASKED_MAX)) {
    const booking = await api.get(`/v1/bookings/${known.id}`, { token: known.token }).catch(() => null);
    if (booking?.[kind] === id && (booking.status === "on_hold" || booking.status === "confirmed")) return booking.id;
  }
  return null;
}
