// Reading QR codes with the camera, in browsers that can.

import { h } from "./dom.js";
import { t } from "./words.js";

const LOOK_MS = 200;
/** A ticket is read once, until it was out of sight for this long. */
const SAME_MS = 4000;

/** Whether this browser reads QR codes and has cameras to ask for. */
export async function canScan() {
  const Detector = /** @type {any} */ (globalThis)["BarcodeDetector"];
  if (!Detector || !navigator.mediaDevices?.getUserMedia) return false;
  return (await Detector.getSupportedFormats().catch(() => [])).includes("qr_code");
}

/**
 * A button that turns the camera on, and the picture below it. The camera is off unless the button says it is on.
 *
 * @param {(text: string) => void} onText @param {AbortSignal} signal
 */
export function scanner(onText, signal) {
  const video = h("video", { class: "camera", playsinline: true, muted: true, hidden: true, "aria-label": t("desk.camera.picture") });
  const note = h("p", { class: "note warn", role: "alert", hidden: true });
  const button = h(
    "button",
    { type: "button", "aria-pressed": "false", "data-camera": "", onclick: () => (stream ? stop() : start()) },
    t("desk.camera.on"),
  );
  /** @type {MediaStream | null} */
  let stream = null;
  let looking = 0;
  let last = { text: "", at: -Infinity };

  async function start() {
    note.hidden = true;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    } catch {
      note.textContent = t("desk.camera.no");
      note.hidden = false;
      return;
    }
    if (signal.aborted) return stop();
    video.srcObject = stream;
    video.hidden = false;
    button.textContent = t("desk.camera.off");
    button.setAttribute("aria-pressed", "true");
    await video.play().catch(() => undefined);
    look(new (/** @type {any} */ (globalThis)["BarcodeDetector"])({ formats: ["qr_code"] }));
  }

  /** @param {any} detector */
  async function look(detector) {
    if (!stream) return;
    // A picture that cannot be read is followed by one that can.
    const [found] = await detector.detect(video).catch(() => []);
    const text = found?.rawValue ?? "";
    if (text !== "") {
      const fresh = text !== last.text || performance.now() - last.at > SAME_MS;
      last = { text, at: performance.now() };
      if (fresh) onText(text);
    }
    looking = window.setTimeout(() => look(detector), LOOK_MS);
  }

  function stop() {
    clearTimeout(looking);
    for (const track of stream?.getTracks() ?? []) track.stop();
    stream = null;
    video.srcObject = null;
    video.hidden = true;
    button.textContent = t("desk.camera.on");
    button.setAttribute("aria-pressed", "false");
  }
  signal.addEventListener("abort", stop);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && stream && stop(), { signal });
  return { button, view: h("div", { class: "scanner" }, note, video), stop };
}
