// Server-sent events over fetch: `EventSource` cannot carry a key or a hold token.

import { Refusal, pause } from "./api.js";
import { isAway, lookedAtAgain, onLeave } from "./attention.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {"live" | "reconnecting" | "ended"} Connection */

/** Longer than two heartbeats: without a byte for this long the line is dead. */
const SILENCE_MS_MAX = 40_000;

/**
 * Follows a stream until it is aborted or refused: reconnects, resumes where it was, and calls `onMessage` for every message.
 *
 * @param {Api} api
 * @param {string} path
 * @param {{
 *   onMessage: (event: string, data: any) => void,
 *   onConnection?: (connection: Connection) => void,
 *   onRefusal?: (refusal: Refusal) => void,
 *   token?: string | null,
 *   signal: AbortSignal,
 *   isLast?: (data: any) => boolean,
 * }} options `isLast`: after such a message the server closes the stream, and nothing more can come. Any other end is a server that goes away.
 */
export async function follow(api, path, { onMessage, onConnection, onRefusal, token, signal, isLast }) {
  /** @type {string | null} */
  let last = null;
  let ended = false;
  for (let failures = 0; !signal.aborted; failures += 1) {
    const line = new AbortController();
    const hangUp = () => line.abort();
    signal.addEventListener("abort", hangUp);
    onLeave(hangUp, line.signal);
    let silence = setTimeout(hangUp, SILENCE_MS_MAX);
    try {
      const headers = api.headers(token);
      if (last !== null) headers["Last-Event-ID"] = last;
      const response = await fetch(api.base + path, { headers, signal: line.signal, cache: "no-store" });
      if (response.status >= 400 && response.status < 500 && response.status !== 429) {
        onRefusal?.(await refusalOf(response));
        return;
      }
      if (response.ok && response.body) {
        onConnection?.("live");
        for await (const message of messages(response.body, () => {
          clearTimeout(silence);
          silence = setTimeout(hangUp, SILENCE_MS_MAX);
        })) {
          failures = 0;
          if (message.id !== null) last = message.id;
          const data = JSON.parse(message.data);
          onMessage(message.event, data);
          ended = isLast?.(data) ?? false;
        }
        if (ended) {
          onConnection?.("ended");
          return;
        }
      }
    } catch (error) {
      if (!(error instanceof TypeError || (error instanceof DOMException && error.name === "AbortError"))) throw error;
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", hangUp);
    }
    if (isAway()) {
      onConnection?.("reconnecting");
      await lookedAtAgain();
      failures = 0;
    } else if (!signal.aborted) {
      onConnection?.("reconnecting");
      await pause(500 * 2 ** Math.min(failures, 5));
    }
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} onBytes
 * @returns {AsyncGenerator<{event: string, id: string | null, data: string}>}
 */
async function* messages(body, onBytes) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    const blocks = (rest + value).split("\n\n");
    rest = /** @type {string} */ (blocks.pop());
    for (const block of blocks) {
      const message = parsed(block);
      if (message) yield message;
    }
  }
}

/** @param {string} block @returns {{event: string, id: string | null, data: string} | null} */
function parsed(block) {
  let event = "message";
  let id = null;
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (line.startsWith("event:")) event = value;
    else if (line.startsWith("id:")) id = value;
    else if (line.startsWith("data:")) data.push(value);
  }
  return data.length === 0 ? null : { event, id, data: data.join("\n") };
}

/** A proxy in between may answer in words of its own. @param {Response} response */
async function refusalOf(response) {
  const unknown = { status: response.status, code: "UNKNOWN", title: response.statusText, detail: response.statusText };
  return new Refusal(await response.json().catch(() => unknown), null);
}
