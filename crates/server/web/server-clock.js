// The server's clock: it decides when a price falls and when a slot is over, and this browser's may be wrong.

/** The server tells whole seconds, and an answer takes time: a smaller difference means nothing. */
const DIFFERENCE_MS_MIN = 2_000;

let ahead = 0;

/** Milliseconds since 1970, there. */
export function now() {
  return Date.now() + ahead;
}

/** Without an answer this browser's clock is believed; so it is on other sites, to which no server tells the time. @param {import("./api.js").Api} api */
export async function setClock(api) {
  if (new URL(api.base, location.href).origin !== location.origin) return;
  const asked = Date.now();
  const response = await fetch(`${api.base}/healthz`, { cache: "no-store" }).catch(() => null);
  const told = Date.parse(response?.headers.get("Date") ?? "");
  if (Number.isNaN(told)) return;
  const difference = told + 500 - (asked + Date.now()) / 2;
  ahead = Math.abs(difference) < DIFFERENCE_MS_MIN ? 0 : difference;
}
