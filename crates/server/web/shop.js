// `/shops/{id}`: boxes to pick up, with prices that fall while one looks.

import { BoxCard } from "./box-card.js";
import { boxAt } from "./box-price.js";
import { sameClock, zoneName } from "./dates.js";
import { announce, h, show } from "./dom.js";
import { money } from "./format.js";
import { api, idInPath, title } from "./frame.js";
import { HoldPlace } from "./hold-place.js";
import { LiveBadge } from "./live-badge.js";
import { follow } from "./live.js";
import { customer } from "./mine.js";
import { notShown } from "./not-shown.js";
import { RefusalNote } from "./refusal-note.js";
import { now, setClock } from "./server-clock.js";
import { language, learn, t } from "./words.js";
import { words } from "./shop.words.js";

/** @typedef {import("./types.d.ts").Box} Box */
/** @typedef {import("./types.d.ts").Shop} Shop */

learn(words);
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const id = idInPath();
load();

async function load() {
  show(main, h("p", { class: "faint" }, t("loading")));
  try {
    const [shop] = await Promise.all([api.get(`/v1/shops/${encodeURIComponent(id)}`), setClock(api)]);
    page(shop);
  } catch (error) {
    show(main, notShown(error, load));
  }
}

/** @param {Shop} shop */
function page(shop) {
  title(shop.name);
  /** In the shop's order. @type {Map<string, Box>} */
  let boxes = new Map();
  /** @type {Map<string, BoxCard>} */
  const cards = new Map();
  let known = false;
  let busy = false;
  const badge = new LiveBadge();
  const note = new RefusalNote();
  const hold = new HoldPlace({ onChange: () => draw() });
  const waits = h("p", { class: "note warn", hidden: true }, t("shop.hold"));
  const empty = h("p", { class: "faint" }, t("loading"));
  const list = h("ul", { class: "boxes" });
  const offer = () => ({
    zone: shop.timezone, currency: shop.currency, most: shop.rules.max_units_per_booking, blocked: busy || hold.busy || shop.status === "closed",
  });

  const draw = () => {
    waits.hidden = !hold.busy;
    empty.hidden = boxes.size > 0;
    if (known) empty.textContent = t("shop.none");
    for (const box of boxes.values()) {
      const shown = boxAt(box, now());
      const card = cards.get(box.id);
      if (card) card.draw(shown, offer());
      else cards.set(box.id, new BoxCard(shown, offer(), book));
    }
    const elements = [...boxes.keys()].map((box) => /** @type {BoxCard} */ (cards.get(box)).element);
    // Putting the same elements in again would take the focus from them.
    const there = list.children;
    if (elements.length !== there.length || elements.some((element, index) => there[index] !== element)) show(list, elements);
  };

  const tick = () => {
    for (const box of boxes.values()) {
      const card = cards.get(box.id);
      const shown = boxAt(box, now());
      if (!card) continue;
      const dropped = card.element.dataset["price"] !== String(shown.price);
      if (dropped) announce(t("box.dropped", { box: box.name, price: money(shown.price, shop.currency) }));
      if (dropped || card.element.dataset["status"] !== shown.status) card.draw(shown, offer());
      else card.tick(shown, offer());
    }
    // Just after the next full second there, which is where prices fall.
    setTimeout(tick, 1000 - (now() % 1000) + 5);
  };

  const book = async (/** @type {string} */ box, /** @type {number} */ quantity) => {
    busy = true;
    note.clear();
    draw();
    try {
      const booking = await api.post("/v1/bookings", { customer: customer(), shop: shop.id, box, quantity });
      const name = boxes.get(box)?.name ?? box;
      hold.open(booking, t("shop.booking", { name: shop.name, box: name }), name);
    } catch (error) {
      await note.explain(error, "shop", shop.id);
    } finally {
      busy = false;
      draw();
    }
  };

  const zoneLine = h("p", { class: "faint zone" }, t(sameClock(shop.timezone, now()) ? "allTimes" : "allTimesOther", { zone: zoneName(shop.timezone, now(), language) }));
  show(
    main,
    h("div", { class: "top" }, h("div", {}, h("h1", {}, shop.name), zoneLine), badge.element),
    shop.status === "closed" && h("p", { class: "note warn" }, t("shop.closed")),
    note.element,
    h("div", { class: "columns" }, h("div", { class: "aside" }, hold.element), h("div", { class: "offers" }, waits, empty, list)),
  );

  follow(api, `/v1/shops/${shop.id}/stream`, {
    signal: new AbortController().signal,
    onConnection: (connection) => badge.set(connection),
    onMessage: (event, /** @type {{boxes: Box[]}} */ data) => {
      known = true;
      if (event === "snapshot") boxes = new Map();
      for (const box of data.boxes) {
        const before = boxes.get(box.id);
        if (before?.status === "ACTIVE" && box.status === "SOLD_OUT") announce(t("box.soldOutNow", { box: box.name }));
        boxes.set(box.id, box);
      }
      draw();
    },
  });
  tick();
}
