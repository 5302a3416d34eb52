// A server of its own for each test file, on a free port and an empty store.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { once } from "node:events";

const BINARY = process.env.BOXOFFICE_BINARY;
if (!BINARY) throw new Error("BOXOFFICE_BINARY must name the server to test; `cargo xtask web` sets it");

/** Starts a server; `options` are flags of `boxoffice serve`. */
export async function openHouse(options = [], data = null) {
  const place = data ?? (await mkdtemp(join(tmpdir(), "boxoffice-web-")));
  const server = spawn(BINARY, ["serve", "--listen", "127.0.0.1:0", "--data", place, ...options], {
    env: { ...process.env, BOXOFFICE_LOG: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise((found, failed) => {
    server.once("exit", (code) => failed(new Error(`the server ended at once (${code})`)));
    createInterface({ input: server.stdout }).on("line", (line) => {
      const match = line.match(/open at (http:\S+)/);
      if (match) found(match[1]);
    });
  });
  return new House(server, url, place);
}

/** Runs a command of the binary and returns what it printed. */
export async function run(...words) {
  const child = spawn(BINARY, words, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (bytes) => (printed += bytes));
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
  return printed;
}

class House {
  constructor(server, url, place) {
    this.server = server;
    this.url = url;
    this.place = place;
    this.key = null;
  }

  /** Asks the API as somebody else would; an error unless it is granted. */
  async ask(method, path, body) {
    const { status, answer } = await this.tried(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  }

  async tried(method, path, body) {
    const headers = { "Content-Type": "application/json" };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    const response = await fetch(this.url + path, { method, headers, body: body && JSON.stringify(body) });
    return { status: response.status, answer: await response.json() };
  }

  async close() {
    this.server.removeAllListeners("exit");
    const ended = once(this.server, "exit");
    this.server.kill("SIGTERM");
    const [code] = await ended;
    await rm(this.place, { recursive: true, force: true });
    if (code !== 0) throw new Error(`the server ended with ${code}`);
  }
}

/** An event of one section with `rows` by `cols` seats. */
export function hall(id, rows, cols, more = {}) {
  return { id, name: "Summer Gala", currency: "TWD", sections: [{ name: "A", price: 300_000, subsections: [{ number: 1, rows, cols }] }], ...more };
}
