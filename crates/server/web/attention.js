// Whether anybody looks at this page. A browser has six connections to a server for all its tabs and for the pages it may go back to:
// a page that nobody looks at must not keep one, or the seventh page never loads.

/** Whoever only glances at another tab finds everything as it was. */
const HIDDEN_MS_MAX = 20_000;

const page = new EventTarget();
let away = false;
let hiding = 0;

function leave() {
  away = true;
  page.dispatchEvent(new Event("leave"));
}

function comeBack() {
  clearTimeout(hiding);
  away = false;
  page.dispatchEvent(new Event("back"));
}

addEventListener("pagehide", leave);
addEventListener("pageshow", comeBack);
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.visibilityState === "visible") comeBack();
  else hiding = window.setTimeout(leave, HIDDEN_MS_MAX);
});

/** @param {() => void} act @param {AbortSignal} signal */
export function onLeave(act, signal) {
  page.addEventListener("leave", act, { signal });
}

export function isAway() {
  return away;
}

/** When somebody looks again. @returns {Promise<unknown>} */
export function lookedAtAgain() {
  return new Promise((done) => page.addEventListener("back", done, { once: true }));
}
