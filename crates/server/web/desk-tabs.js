// Tabs: a list of buttons and one panel at a time, each made when it is first looked at.

import { h } from "./dom.js";

/** @typedef {{id: string, label: string, make: () => HTMLElement}} Tab */

/**
 * @param {string} label @param {Tab[]} tabs @param {(id: string) => void} onChosen
 */
export function tabList(label, tabs, onChosen) {
  /** @type {Map<string, {button: HTMLButtonElement, panel: HTMLElement, made: boolean, tab: Tab}>} */
  const known = new Map();
  for (const tab of tabs) {
    const button = h(
      "button",
      {
        type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": `panel-${tab.id}`, "data-tab": tab.id,
        onclick: () => choose(tab.id),
      },
      tab.label,
    );
    const panel = h("div", { role: "tabpanel", id: `panel-${tab.id}`, "aria-labelledby": `tab-${tab.id}`, hidden: true });
    known.set(tab.id, { button, panel, made: false, tab });
  }
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown: (/** @type {KeyboardEvent} */ event) => {
    const ids = [...known.keys()];
    const now = ids.findIndex((id) => known.get(id)?.button === document.activeElement);
    const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: ids.length - 1 }[event.key];
    if (now < 0 || next === undefined) return;
    event.preventDefault();
    const id = /** @type {string} */ (ids[(next + ids.length) % ids.length]);
    choose(id);
    known.get(id)?.button.focus();
  } }, [...known.values()].map(({ button }) => button));

  /** @param {string} id */
  function choose(id) {
    const chosen = known.get(id) ?? /** @type {NonNullable<ReturnType<typeof known.get>>} */ (known.values().next().value);
    for (const entry of known.values()) {
      const on = entry === chosen;
      entry.button.setAttribute("aria-selected", String(on));
      entry.button.tabIndex = on ? 0 : -1;
      entry.panel.hidden = !on;
    }
    if (!chosen.made) {
      chosen.made = true;
      chosen.panel.append(chosen.tab.make());
    }
    chosen.button.scrollIntoView({ block: "nearest", inline: "nearest" });
    onChosen(chosen.tab.id);
  }
  return { list, panels: [...known.values()].map(({ panel }) => panel), choose };
}
