// `<boxoffice-event id="gala" key="pk_…">`: choosing seats and holding them, on the box office's own page and on any other site.
//
// It dispatches `boxoffice-loaded` {event}, `boxoffice-held` {booking} once something is held, and `boxoffice-booking` {booking} for every change after that.

import { Api, Refusal } from "./api.js";
import { h, show } from "./dom.js";
import { Picker } from "./event-picker.js";
import { words } from "./event.words.js";
import { whyNot } from "./format.js";
import { onRecovery } from "./recovery.js";
import { learn, t } from "./words.js";

learn(words);

const ORIGIN = new URL(import.meta.url).origin;

export class BoxofficeEvent extends HTMLElement {
  static observedAttributes = ["id", "event-id", "key"];

  /** Set before it is put into the page by whoever has an API of its own. @type {Api | null} */
  api = null;
  #root = this.attachShadow({ mode: "open" });
  #frame = h("div", { class: "frame", hidden: true });
  /** @type {Picker | null} */
  #picker = null;
  #opening = 0;

  constructor() {
    super();
    const sheets = ["base.css", "event-element.css"].map((file) => h("link", { rel: "stylesheet", href: new URL(file, import.meta.url).href }));
    this.#root.append(...sheets, this.#frame);
    const ready = sheets.map((sheet) => new Promise((done) => ["load", "error"].forEach((event) => sheet.addEventListener(event, done))));
    // Nothing is shown before it looks as it should.
    Promise.all(ready).then(() => (this.#frame.hidden = false));
  }

  /** How many pictures of the hall were drawn. */
  get framesDrawn() {
    return this.#picker?.map.framesDrawn ?? 0;
  }

  connectedCallback() {
    this.#open();
  }

  disconnectedCallback() {
    this.#picker?.close();
    this.#picker = null;
  }

  /** @param {string} _name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(_name, before, after) {
    // An element that was in the page before this module has all its attributes told first.
    if (this.#opening > 0 && this.isConnected && before !== after) this.#open();
  }

  async #open() {
    this.#picker?.close();
    this.#picker = null;
    const opening = (this.#opening += 1);
    const id = this.getAttribute("event-id") ?? this.id;
    if (id === "") return show(this.#frame, h("p", { class: "note bad", role: "alert" }, t("event.noId")));
    const api = this.api ?? new Api({ base: ORIGIN, key: this.getAttribute("key") });
    show(this.#frame, h("p", { class: "faint waiting" }, t("loading")));
    try {
      const event = await api.get(`/v1/events/${encodeURIComponent(id)}`);
      if (opening !== this.#opening || !this.isConnected) return;
      this.#picker = new Picker(this, this.#frame, api, event);
      this.dispatchEvent(new CustomEvent("boxoffice-loaded", { bubbles: true, composed: true, detail: { event } }));
    } catch (error) {
      if (opening !== this.#opening) return;
      const missing = error instanceof Refusal && error.status === 404;
      const note = h("p", { class: "note bad", role: "alert" }, missing ? t("event.missing") : whyNot(error));
      onRecovery(api, error, note, () => this.#open());
      show(this.#frame, note,
        h("button", { type: "button", "data-again": true, onclick: () => this.#open() }, t("tryAgain")));
    }
  }
}

customElements.define("boxoffice-event", BoxofficeEvent);
