// The colours of the page as a canvas understands them.

const NAMES = /** @type {const} */ ([
  "text", "faint", "ground", "raised", "sunken", "line", "accent", "accent-strong", "on-accent", "good", "good-ground", "warn", "warn-ground",
]);

/** @typedef {Record<typeof NAMES[number], string>} Colours */

/** @param {HTMLElement} probe an element of the page: its colour is set and read back, which resolves light and dark @returns {Colours} */
export function readColours(probe) {
  const colours = /** @type {Colours} */ ({});
  for (const name of NAMES) {
    probe.style.setProperty("color", `var(--${name})`);
    colours[name] = getComputedStyle(probe).color;
  }
  probe.style.removeProperty("color");
  return colours;
}

/** Calls back whenever the colours may have changed. @param {() => void} changed @param {AbortSignal} signal */
export function watchColours(changed, signal) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed, { signal });
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["class", "style", "data-theme"] });
  signal.addEventListener("abort", () => observer.disconnect());
}
