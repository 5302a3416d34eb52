// Whether the event is on sale now, and the clock until it is.

import { announce, h, show } from "./dom.js";
import { countdown, dateTimeThere } from "./format.js";
import { now as serverNow } from "./server-clock.js";
import { t } from "./words.js";

/** @typedef {import("./types.d.ts").EventShown} EventShown */

/** The longest a timer can be set for is 24 days; far shorter ones also notice that the machine slept. */
const LOOK_AGAIN_MS_MAX = 60_000;

export class Sales {
  element = h("div", { class: "note sales", hidden: true, "data-sales": true });
  open = true;
  #clock = h("strong", { class: "number clock", role: "timer", "aria-label": t("event.opensClock") });
  #ticking = 0;
  #changed;
  /** @type {EventShown | null} */
  #event = null;

  /** @param {() => void} changed sales were opened or closed */
  constructor(changed) {
    this.#changed = changed;
  }

  /** @param {EventShown} event */
  follow(event) {
    this.#event = event;
    this.#look(true);
  }

  stop() {
    clearTimeout(this.#ticking);
  }

  /** @param {boolean} first */
  #look(first) {
    clearTimeout(this.#ticking);
    const { status, sales } = /** @type {EventShown} */ (this.#event);
    const now = serverNow();
    const opens = sales.opens_at === null ? 0 : Date.parse(sales.opens_at);
    const closes = sales.closes_at === null ? Infinity : Date.parse(sales.closes_at);
    const was = this.open;
    this.open = status === "open" && now >= opens && now < closes;
    if (status === "cancelled") this.say(t("event.cancelled"), "bad");
    else if (status !== "open") this.say(t("event.closedNote"));
    else if (now >= closes) this.say(t("event.endedNote"));
    else if (now < opens) this.#count(opens - now, /** @type {string} */ (sales.opens_at), first);
    else this.element.hidden = true;
    const next = now < opens ? Math.min(opens - now, (opens - now) % 1000 || 1000) : closes - now;
    if (status === "open" && next > 0 && next < Infinity) this.#ticking = window.setTimeout(() => this.#look(false), Math.min(next, LOOK_AGAIN_MS_MAX));
    if (was === this.open) return;
    if (this.open && !first) announce(t("event.isOpen"));
    this.#changed();
  }

  /** @param {string} words @param {"bad" | ""} [kind] */
  say(words, kind = "") {
    this.element.className = `note sales ${kind}`;
    show(this.element, h("p", {}, words));
    this.element.hidden = false;
  }

  /** @param {number} left @param {string} opensAt @param {boolean} first */
  #count(left, opensAt, first) {
    this.#clock.textContent = countdown(left);
    if (first || this.element.hidden) show(this.element, h("p", { class: "spread" }, h("span", {}, t("event.opensIn", { when: dateTimeThere(opensAt, /** @type {EventShown} */ (this.#event).timezone) })), this.#clock));
    this.element.hidden = false;
  }
}
