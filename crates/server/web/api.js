// The public API, as any client uses it.

/** @typedef {{status: number, code: string, title: string, detail: string, [more: string]: any}} Problem */

const TRIES_MAX = 4;
const RETRY_MS_MIN = 400;
const RETRY_MS_MAX = 10_000;

/** An answer that was no. `problem` is the body. */
export class Refusal extends Error {
  /** @param {Problem} problem @param {number | null} retryAfterSeconds */
  constructor(problem, retryAfterSeconds) {
    super(problem.detail || problem.title);
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The server could not be reached, or gave no answer of its own. */
export class Unreachable extends Error {}

export class Api {
  /** @param {{base?: string, key?: string | null}} [where] */
  constructor({ base = "", key = null } = {}) {
    this.base = base;
    this.key = key;
  }

  /** @param {string} path @param {{token?: string | null, signal?: AbortSignal}} [options] */
  get(path, options = {}) {
    return this.#ask("GET", path, undefined, options);
  }

  /** @param {string} path @param {object} body @param {{token?: string | null, signal?: AbortSignal}} [options] */
  post(path, body, options = {}) {
    return this.#ask("POST", path, body, options);
  }

  /** @param {string} path @param {object} body @param {{token?: string | null, signal?: AbortSignal}} [options] */
  patch(path, body, options = {}) {
    return this.#ask("PATCH", path, body, options);
  }

  /** @param {string | null | undefined} token */
  headers(token) {
    /** @type {Record<string, string>} */
    const headers = {};
    if (this.key) headers["Authorization"] = `Bearer ${this.key}`;
    if (token) headers["Hold-Token"] = token;
    return headers;
  }

  /**
   * A write carries one idempotency key through all its tries, so that trying again is safe.
   *
   * @param {string} method
   * @param {string} path
   * @param {object | undefined} body
   * @param {{token?: string | null, signal?: AbortSignal}} options
   * @returns {Promise<any>}
   */
  async #ask(method, path, body, { token, signal }) {
    const headers = this.headers(token);
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Idempotency-Key"] = randomId();
    }
    const request = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
    for (let tried = 1; ; tried += 1) {
      try {
        return await answered(await fetch(this.base + path, request));
      } catch (error) {
        const passing = error instanceof Unreachable || error instanceof TypeError || (error instanceof Refusal && error.status === 503);
        if (signal?.aborted || !passing) throw error;
        if (tried === TRIES_MAX) throw error instanceof Refusal ? error : new Unreachable();
        const asked = error instanceof Refusal ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
        await pause(Math.max(asked, RETRY_MS_MIN * 2 ** (tried - 1)));
      }
    }
  }
}

/** @param {Response} response */
async function answered(response) {
  if (response.status === 204) return null;
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  if (body === null || typeof body.code !== "string") throw new Unreachable();
  const after = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw new Refusal(body, Number.isNaN(after) ? null : after);
}

/** Half of the time given is chance, so that a crowd does not come back together. @param {number} milliseconds */
export function pause(milliseconds) {
  const bounded = Math.min(milliseconds, RETRY_MS_MAX);
  return new Promise((done) => setTimeout(done, bounded / 2 + (Math.random() * bounded) / 2));
}

/** 128 random bits. `crypto.randomUUID` is only there on secure origins. */
export function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
