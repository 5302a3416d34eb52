// Where a booking is once it is made: the hold, and after it the ticket.

import { h, show } from "./dom.js";
import { api } from "./frame.js";
import { HoldPanel } from "./hold.js";
import { remember } from "./mine.js";
import { qrPicture } from "./qr.js";
import { ticketText } from "./ticket.js";
import { t } from "./words.js";

/** @typedef {import("./types.d.ts").Booking} Booking */

export class HoldPlace {
  /** @type {Booking | null} */
  booking = null;
  #panel = new HoldPanel();
  #picture = h("div", { class: "qr", hidden: true });

  /** @param {{onChange: () => void}} options called when a hold began or ended, or the buyer wants to choose again */
  constructor({ onChange }) {
    this.onChange = onChange;
    const named = { "data-hold": true, "aria-label": t("hold.title"), tabindex: "-1" };
    this.element = h("section", { class: "card hold-place", ...named, hidden: true }, this.#panel, this.#picture);
    this.#panel.addEventListener("boxoffice-booking", (event) => this.#changed(/** @type {CustomEvent} */ (event).detail.booking));
    this.#panel.addEventListener("boxoffice-again", () => this.#close());
  }

  /** Whether something is on hold now, and waits to be confirmed or given back. */
  get busy() {
    return this.booking?.status === "on_hold";
  }

  /** @param {Booking} booking @param {string} name what it is, for people @param {string} [box] what they call the box */
  open(booking, name, box) {
    remember(booking, name);
    this.#panel.open(api, booking, booking.hold_token, { box });
    this.#changed(booking);
    this.element.hidden = false;
    this.element.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** @param {Booking} booking */
  #changed(booking) {
    this.booking = booking;
    const ticket = booking.status === "confirmed" ? ticketText(booking) : null;
    this.#picture.hidden = ticket === null;
    show(this.#picture, ticket !== null && qrPicture(ticket, t("code")));
    // The button that was pressed is gone.
    if (document.activeElement === document.body) this.element.focus({ preventScroll: true });
    this.onChange();
  }

  #close() {
    this.booking = null;
    this.element.hidden = true;
    this.onChange();
  }
}
