// A note that is also said to who cannot see it.

import { announce, h } from "./dom.js";

export function spokenNote() {
  const element = h("p", { class: "note", hidden: true });
  return {
    element,
    /** @param {string} words @param {"good" | "bad"} kind */
    say(words, kind) {
      element.className = `note ${kind}`;
      element.textContent = words;
      element.hidden = false;
      announce(words);
    },
  };
}
