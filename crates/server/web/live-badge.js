// Says whether what is shown is what is so.

import { h, show } from "./dom.js";
import { t } from "./words.js";

export class LiveBadge {
  constructor() {
    this.element = h("span", { class: "badge", "data-connection": "reconnecting", role: "status" });
    this.set("reconnecting", "loading");
  }

  /** @param {import("./live.js").Connection} connection @param {string} [word] */
  set(connection, word = connection === "live" ? "live" : "reconnecting") {
    this.element.dataset["connection"] = connection;
    this.element.hidden = connection === "ended";
    this.element.className = connection === "reconnecting" && word === "reconnecting" ? "badge warn" : "badge";
    show(this.element, h("span", { class: connection === "live" ? "dot live" : "dot", "aria-hidden": "true" }), t(word));
  }
}
