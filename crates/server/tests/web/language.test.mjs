// The pages in Traditional Chinese, and the switch between the languages and the colours.

import assert from "node:assert/strict";
import test from "node:test";
import { leave, press, reads, shows, visit } from "./browser.mjs";
import { opened } from "./fixture.mjs";
import { pickOnMap } from "./hall.mjs";
import { dateInTaipei, hall, museum } from "./house.mjs";

const here = opened();
/** Letters of the Latin alphabet in a row: a word that was not translated. */
const ENGLISH = /[A-Za-z]{4,}/;

test("a visitor books in Chinese", async () => {
  await here.house.ask("POST", "/v1/events", hall("gala", 5, 10, { name: "夏日音樂會" }));
  const page = await here.visit("/events/gala", { language: "zh-TW" });
  assert.equal(await page.$eval("html", (root) => root.lang), "zh-Hant-TW");
  await pickOnMap(page, "A-1", ["2-3", "2-4"]);
  await reads(page, ">>> .order", "A-1 區 2 排 3 號");
  await press(page, ">>> .order [data-hold]");
  await shows(page, "已為您保留");
  await press(page, ">>> [data-act=confirm]");
  await shows(page, "訂購完成。");
  await leave(page);
});

test("no page has an English word left in it", async () => {
  const { house } = here;
  const day = dateInTaipei(2);
  await house.ask("POST", "/v1/schedules", museum("museum", { name: "海港博物館" }));
  await house.ask("POST", "/v1/shops", { id: "bakery", name: "麵包店", timezone: "Asia/Taipei", currency: "TWD" });
  await house.ask("POST", "/v1/shops/bakery/boxes", { id: "evening", name: "晚間驚喜包", quantity: 20, price: 30_000 });
  const table = [
    ["/", "text/夏日音樂會"],
    ["/events/gala", '>>> [data-connection="live"]'],
    [`/schedules/museum?date=${day}`, "[data-slot]"],
    ["/shops/bakery", "[data-box]"],
    ["/desk?event=gala&tab=sales", "[data-counter]"],
    ["/desk?event=gala&tab=seats", "[data-seat]"],
    [`/desk?schedule=museum&tab=slots&date=${day}`, "[data-slot]"],
    ["/desk?shop=bakery", "[data-box]"],
  ];
  const page = await here.visit("/", { language: "zh-TW" });
  for (const [path, ready] of table) {
    await page.goto(house.url + path);
    await page.waitForSelector(ready);
    const words = await page.evaluate(() => {
      const read = (root) => [...root.querySelectorAll("*")].flatMap((element) => [
        element.ariaLabel, element.title,
        ...[...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data),
        ...(element.shadowRoot ? read(element.shadowRoot) : []),
      ]);
      return read(document.body).filter(Boolean);
    });
    const left = words.filter((text) => ENGLISH.test(text.replaceAll(/Boxoffice|English|Shift|guest-\w+/g, "")));
    assert.deepEqual(left, [], path);
  }
  await leave(page);
});

test("the language and the colours that are chosen stay", async () => {
  const page = await visit(here.browser, `${here.house.url}/`, { language: null });
  await press(page, "text/中文");
  await shows(page, "販售中");
  await page.goto(`${here.house.url}/docs`);
  await page.goto(`${here.house.url}/`);
  await shows(page, "販售中");
  const colours = () => page.$eval("html", (root) => root.dataset.theme ?? "auto");
  for (const theme of ["light", "dark", "auto", "light"]) {
    await press(page, "page-header .end button:last-child");
    assert.equal(await colours(), theme);
  }
  await page.reload();
  assert.equal(await colours(), "light");
  await leave(page);
});
