// `/events/{id}`: the picker as a page of its own.

import { BoxofficeEvent } from "./event-element.js";
import { api, idInPath, title } from "./frame.js";
import { show } from "./dom.js";

const picker = new BoxofficeEvent();
picker.api = api;
picker.setAttribute("level", "1");
picker.setAttribute("event-id", idInPath());
picker.addEventListener("boxoffice-loaded", (loaded) => title(/** @type {CustomEvent} */ (loaded).detail.event.name));
show(/** @type {HTMLElement} */ (document.querySelector("main")), picker);
