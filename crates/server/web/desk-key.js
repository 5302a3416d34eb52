// Signing in to the desk: without a key where the server is open, else with one that is kept for this tab only.

import { Api, Refusal } from "./api.js";
import { h } from "./dom.js";
import { whyNot } from "./format.js";
import { t } from "./words.js";

/** @typedef {"admin" | "operator"} Role */

const KEY = "boxoffice.desk.key";
const NO_BOOKING = "00000000-0000-0000-0000-000000000000";

/** Calls `signedOut` when the server stops knowing the key. */
class DeskApi extends Api {
  /** @param {string | null} key @param {() => void} signedOut */
  constructor(key, signedOut) {
    super({ key });
    this.signedOut = signedOut;
  }

  /** @override @param {string} path @param {{token?: string | null, signal?: AbortSignal}} [options] */
  get(path, options) {
    return this.#watched(super.get(path, options));
  }

  /** @override @param {string} path @param {object} body @param {{token?: string | null, signal?: AbortSignal}} [options] */
  post(path, body, options) {
    return this.#watched(super.post(path, body, options));
  }

  /** @override @param {string} path @param {object} body @param {{token?: string | null, signal?: AbortSignal}} [options] */
  patch(path, body, options) {
    return this.#watched(super.patch(path, body, options));
  }

  /** @param {Promise<any>} answer */
  async #watched(answer) {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) this.signedOut();
      throw error;
    }
  }
}

export function storedKey() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function forgetKey() {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Nothing was kept either.
  }
}

/** @param {string} key */
function keep(key) {
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // Then the key is asked for again after a reload.
  }
}

/**
 * Who this key is. Throws the refusal if it may not be at the desk.
 *
 * @param {string | null} key @param {() => void} signedOut called later, when the key stops working
 * @returns {Promise<{api: Api, role: Role}>}
 */
export async function enter(key, signedOut) {
  const asking = new Api({ key });
  const entered = (/** @type {Role} */ role) => ({ api: new DeskApi(key, signedOut), role });
  try {
    // Only an admin may list keys.
    await asking.get("/v1/keys?limit=1");
    return entered("admin");
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 403)) throw error;
  }
  try {
    // Of the others, only an operator may read the audit trail; whether there is such a booking does not matter.
    await asking.get(`/v1/audit?booking=${NO_BOOKING}`);
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 404)) throw error;
  }
  return entered("operator");
}

/**
 * The form that asks for a key.
 *
 * @param {(key: string) => Promise<void>} tryKey @param {string | null} reason
 */
export function keyForm(tryKey, reason) {
  const input = h(
    "input",
    { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "key-help", "data-key": "" },
  );
  const note = h("p", { class: "note bad", role: "alert", hidden: reason === null }, reason);
  const button = h("button", { class: "main wide", type: "submit" }, t("desk.signIn"));
  const form = h("form", { class: "card sign-in stack", "data-sign-in": "", onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    note.hidden = true;
    try {
      await tryKey(input.value.trim());
      keep(input.value.trim());
    } catch (error) {
      const refused = error instanceof Refusal && error.status === 403
        ? t("desk.key.notEnough")
        : error instanceof Refusal && error.status === 401
        ? t("desk.key.unknown")
        : whyNot(error);
      note.textContent = refused;
      note.hidden = false;
      button.disabled = false;
      input.select();
    }
  } },
    h("h2", {}, t("desk.key.title")),
    h(
      "div",
      { class: "field" },
      h("label", { for: "key" }, t("desk.key.label")),
      input,
      h("p", { id: "key-help", class: "faint small" }, t("desk.key.help")),
    ),
    note, button);
  return { form, input };
}
