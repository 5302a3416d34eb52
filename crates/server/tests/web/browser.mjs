// A real Chromium, and what the tests do with it. Selectors that begin with `>>>` also look into shadow roots.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import jsQR from "jsqr";
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
  // The first start on a machine reads all of it from the disk.
  return puppeteer.launch({ executablePath, timeout: 6 * PATIENCE_MS, args: ["--no-sandbox", "--lang=en-US", "--disable-dev-shm-usage"] });
}

/**
 * A visitor with a profile of their own. Everything that goes wrong on their page is an error of the test, but for what `allow`
 * names: a script's error, a broken policy, a request to a host that is not in `hosts`. `language` is `null` for who has not chosen,
 * `zone` the time zone of their clock.
 */
export async function visit(browser, url, { viewport = DESKTOP, scheme = "light", language = "en", motion = "reduce", allow = [], hosts = [], zone = null } = {}) {
  const profile = await browser.createBrowserContext();
  const page = await profile.newPage();
  const wait = page.waitForSelector.bind(page);
  // Without `visible` puppeteer looks again when the document changes, and what happens in a shadow root does not change it.
  page.waitForSelector = (selector, options = {}) => wait(selector, { visible: selector.startsWith(">>>"), ...options });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.setViewport(viewport);
  if (zone !== null) await page.emulateTimezone(zone);
  await paint(page, scheme, motion);
  await page.evaluateOnNewDocument((wanted) => {
    if (wanted !== null && location.protocol !== "about:") localStorage.setItem("boxoffice.language", wanted);
  }, language);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !allow.some((known) => text.includes(known))) page.complaints.push(text);
  });
  const known = [new URL(url).host, ...hosts];
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol.startsWith("http") && !known.includes(host)) page.complaints.push(`asked ${request.url()}`);
  });
  await page.goto(url, { waitUntil: "load" });
  return page;
}

/** The colours and the motion that the visitor wants. */
export function paint(page, scheme, motion = "reduce") {
  return page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: scheme },
    { name: "prefers-reduced-motion", value: motion },
  ]);
}

/** Ends the visit; nothing may have gone wrong on the page. */
export async function leave(page) {
  assert.deepEqual(page.complaints, []);
  await page.browserContext().close();
}

/** Waits until the page shows this text somewhere. */
export function shows(page, text) {
  return page.waitForSelector(`text/${text}`, { visible: true });
}

/** Presses with the mouse, or on a phone with a finger, what is there or will be. */
export async function press(page, selector) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const element = await page.waitForSelector(selector, { visible: true });
    if (!(await element.evaluate(canBePressed))) continue;
    return page.viewport().hasTouch ? element.tap() : element.click();
  }
  throw new Error(`${selector} is grey, or moves all the time`);
}

/** In the page: whether it is still there, not grey, and in the same place from one picture to the next. */
async function canBePressed(found) {
  // Nobody presses what is behind something else: they scroll.
  found.scrollIntoView({ block: "center" });
  const next = () => new Promise(requestAnimationFrame);
  const place = () => JSON.stringify(found.getBoundingClientRect());
  await next();
  const before = place();
  await next();
  return found.isConnected && !found.closest(":disabled, [aria-disabled=true]") && place() === before;
}

/** Types into a field, in place of what is there. */
export async function fill(page, selector, text) {
  const field = await page.waitForSelector(selector, { visible: true });
  await field.evaluate((found) => (found.value = ""));
  await field.type(text);
}

/** What people read there. */
export async function read(page, selector) {
  const element = await page.waitForSelector(selector);
  return element.evaluate((found) => found.innerText.replace(/\s+/g, " ").trim());
}

/** Waits until people read this there. */
export async function reads(page, selector, text) {
  const element = await page.waitForSelector(selector);
  const look = (seen, wanted) => (!seen.isConnected ? "gone" : seen.innerText.replace(/\s+/g, " ").includes(wanted) && "read");
  const found = await page.waitForFunction(look, {}, element, text).catch(async (error) => {
    throw new Error(`"${text}" was not to be read, but "${await read(page, selector)}"`, { cause: error });
  });
  // Another was drawn in its place.
  if ((await found.jsonValue()) === "gone") await reads(page, selector, text);
}

/** From now on the page watches what `selector` reads: one pattern after the other. `noted` waits for the last, and tells when it was, by the page's clock. */
export async function note(page, selector, ...patterns) {
  const element = await page.waitForSelector(selector);
  await element.evaluate((found, sources) => {
    globalThis.noted = new Promise((done) => {
      const look = () => {
        while (sources.length > 0 && new RegExp(sources[0]).test(found.innerText)) sources.shift();
        if (sources.length > 0) return;
        watcher.disconnect();
        done(Date.now());
      };
      const watcher = new MutationObserver(look);
      watcher.observe(found, { subtree: true, childList: true, characterData: true, attributes: true });
      look();
    });
  }, patterns.map(({ source }) => source));
}

export function noted(page) {
  const late = (patience) => Promise.race([globalThis.noted, new Promise((_, give) => setTimeout(give, patience, new Error("it was not to be read")))]);
  return page.evaluate(late, PATIENCE_MS);
}

/** When the next click happens, by the page's own clock; `clicked` tells it. */
export function noteClick(page) {
  return page.evaluate(() => addEventListener("click", () => (globalThis.clicked = Date.now()), { capture: true, once: true }));
}

export const clicked = (page) => page.evaluate(() => globalThis.clicked);

/** Serious and critical findings of axe-core on the page as it is now. */
export async function findings(page) {
  const before = page.complaints.length;
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
  // It puts a style of its own into the page, which the page's policy forbids.
  page.complaints = page.complaints.filter((text, index) => index < before || !text.includes("style-src"));
  return violations
    .filter((violation) => violation.impact === "serious" || violation.impact === "critical")
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.target.join(" ")).slice(0, 5).join(", ")}`);
}

/** What somebody else's reader sees in the picture of a QR code, as it is on the screen. */
export async function readQr(page, selector) {
  const element = await page.waitForSelector(selector, { visible: true });
  const picture = await element.screenshot({ encoding: "base64" });
  const { data, width, height } = await page.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return { data: [...context.getImageData(0, 0, image.width, image.height).data], width: image.width, height: image.height };
  }, picture);
  return jsQR(Uint8ClampedArray.from(data), width, height)?.data;
}
