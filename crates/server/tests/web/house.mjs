// A server of its own for each test file, on a free port and an empty store.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const BINARY = process.env.BOXOFFICE_BINARY;
if (!BINARY) throw new Error("BOXOFFICE_BINARY must name the server to test; `cargo xtask web` sets it");

/** Starts a server; `options` are flags of `boxoffice serve`. */
export async function openHouse(options = [], place = null) {
  const house = new House(options, place ?? (await emptyPlace()));
  await house.open("127.0.0.1:0");
  return house;
}

/** The demo, with its arena, museum and bakery, and customers who come and go. */
export async function openDemo() {
  const house = new House([], null);
  await house.open("127.0.0.1:0");
  return house;
}

/** A house where every call needs a key; it has the admin's, and its own pages have a public one if they get one. */
export async function openHouseWithKeys({ pagesKey = false } = {}) {
  const place = await emptyPlace();
  const create = (role) => run("keys", "create", "--data", place, "--tenant", "default", "--role", role).then((printed) => printed.trim().split("\n").at(-1));
  const keys = { admin: await create("admin"), operator: await create("operator"), public: await create("public") };
  const house = await openHouse(pagesKey ? ["--pages-key", keys.public] : [], place);
  house.key = keys.admin;
  return Object.assign(house, { keys });
}

const emptyPlace = () => mkdtemp(join(tmpdir(), "boxoffice-web-"));

/** Runs a command of the binary and returns what it printed. */
async function run(...words) {
  const child = spawn(BINARY, words, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (bytes) => (printed += bytes));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
  return printed;
}

class House {
  key = null;

  /** Without a place it is the demo, which keeps nothing. */
  constructor(options, place) {
    this.options = options;
    this.place = place;
  }

  async open(listen) {
    const words = this.place === null ? ["demo", "--listen", listen] : ["serve", "--listen", listen, "--data", this.place, ...this.options];
    const server = spawn(BINARY, words, { env: { ...process.env, BOXOFFICE_LOG: "warn" }, stdio: ["ignore", "pipe", "inherit"] });
    this.server = server;
    this.url = await new Promise((found, failed) => {
      server.once("exit", (code) => failed(new Error(`the server ended at once (${code})`)));
      createInterface({ input: server.stdout }).on("line", (line) => {
        const match = line.match(/open at (http:\S+)/);
        if (match) found(match[1]);
      });
    });
  }

  /** The same store at the same address again, after `meanwhile`. */
  async restart(meanwhile) {
    const { host } = new URL(this.url);
    await this.#stop();
    await meanwhile();
    await this.open(host);
  }

  /** Asks the API as somebody else would; an error unless it is granted. */
  async ask(method, path, body) {
    const headers = { "Content-Type": "application/json" };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    const response = await fetch(this.url + path, { method, headers, body: body && JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Somebody else books, and pays at once unless `confirm` says otherwise. */
  book(wanted) {
    return this.ask("POST", "/v1/bookings", { customer: "somebody-else", confirm: true, ...wanted });
  }

  /** Cancels an event, with its bookings. */
  cancel(event) {
    return this.ask("POST", `/v1/events/${event}/cancel`, { reason: "storm" });
  }

  /** Deletes what is there. */
  async delete(path) {
    const headers = this.key ? { Authorization: `Bearer ${this.key}` } : {};
    const response = await fetch(this.url + path, { method: "DELETE", headers });
    if (!response.ok) throw new Error(`DELETE ${path}: ${response.status} ${await response.text()}`);
  }

  async close() {
    await this.#stop();
    if (this.place !== null) await rm(this.place, { recursive: true, force: true });
  }

  async #stop() {
    this.server.removeAllListeners("exit");
    const ended = once(this.server, "exit");
    this.server.kill("SIGTERM");
    const [code] = await ended;
    if (code !== 0) throw new Error(`the server ended with ${code}`);
  }
}

/** An event of one section with `rows` by `cols` seats. */
export function hall(id, rows, cols, more = {}) {
  return { id, name: "Summer Gala", currency: "TWD", sections: [{ name: "A", price: 300_000, subsections: [{ number: 1, rows, cols }] }], ...more };
}

/** Midnight may come between two tests; their days stay the same. */
const BEGAN = Date.now();

/** The date some days after the one on which the tests began in Taipei, where their houses are. */
export function dateInTaipei(days) {
  return new Intl.DateTimeFormat("sv-SE", { timeZone: "Asia/Taipei", dateStyle: "short" }).format(BEGAN + days * 86_400_000);
}

/** A schedule with a small morning and a large, dearer afternoon. */
export function museum(id, more = {}) {
  const windows = [{ start: "09:00", end: "12:00", capacity: 2, price: 20_000 }, { start: "13:00", end: "17:00", capacity: 6, price: 25_000 }];
  return { id, name: "Harbour Museum", timezone: "Asia/Taipei", currency: "TWD", windows, days: 40, ...more };
}
