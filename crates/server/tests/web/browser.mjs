// A real Chromium, and what the tests do with it.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import puppeteer from "puppeteer-core";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const AXE = await readFile(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
/** Pages answer at once; this is for a machine that is busy with other things. */
export const PATIENCE_MS = 20_000;

export async function openBrowser() {
  const executablePath = process.env.CHROMIUM ?? PROGRAMS.find(existsSync);
  if (!executablePath) throw new Error(`no Chromium: install it (on Debian \`apt-get install chromium\`) or name it in CHROMIUM`);
  // Whoever is root has no sandbox; the pages are ours.
  return puppeteer.launch({ executablePath, args: ["--no-sandbox", "--lang=en-US", "--disable-dev-shm-usage"] });
}

/** A visitor with a profile of their own. Everything that goes wrong on their page is an error of the test. */
export async function visit(browser, url, { viewport = DESKTOP, scheme = "light", allow = [] } = {}) {
  const profile = await browser.createBrowserContext();
  const page = await profile.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !allow.some((known) => text.includes(known))) page.complaints.push(text);
  });
  await page.goto(url, { waitUntil: "load" });
  return page;
}

/** Ends the visit; nothing may have gone wrong on the page. */
export async function leave(page) {
  assert.deepEqual(page.complaints, []);
  await page.browserContext().close();
}

/** Waits until the page shows this text somewhere, shadow roots included. */
export function shows(page, text, { timeout = PATIENCE_MS } = {}) {
  return page.waitForFunction(
    (wanted) => {
      const read = (root) => [...root.querySelectorAll("*")].some((element) => element.shadowRoot && read(element.shadowRoot)) || (root.body ?? root.host ?? root).innerText?.includes(wanted) || (root instanceof ShadowRoot && [...root.children].some((child) => child.innerText?.includes(wanted)));
      return read(document);
    },
    { timeout, polling: 50 },
    text,
  );
}

/** Serious and critical findings of axe-core on the page as it is now. */
export async function findings(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations
    .filter((violation) => violation.impact === "serious" || violation.impact === "critical")
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.target.join(" ")).slice(0, 5).join(", ")}`);
}
