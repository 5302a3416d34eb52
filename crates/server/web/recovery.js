// The server is away: asks until it answers again, so that what said so can go.

import { Refusal, pause } from "./api.js";

/** @typedef {import("./api.js").Api} Api */

const ASK_AGAIN_MS = 2_000;

/**
 * After an error that was not the server's own answer: calls `act` once it answers again, while `note` is still shown with the same words.
 *
 * @param {Api} api @param {unknown} error @param {HTMLElement} note what says that the connection is lost @param {() => void} act
 */
export async function onRecovery(api, error, note, act) {
  if (error instanceof Refusal) return;
  const words = note.textContent;
  const isStale = () => !note.isConnected || note.hidden || note.textContent !== words;
  do {
    await pause(ASK_AGAIN_MS);
    if (isStale()) return;
  } while (!(await answers(api)));
  if (!isStale()) act();
}

/** @param {Api} api */
async function answers(api) {
  try {
    // Pages of other sites may read this and, unlike /healthz, see that it was answered.
    await api.get("/v1/events?limit=1");
    return true;
  } catch (error) {
    return error instanceof Refusal && error.status < 500;
  }
}
