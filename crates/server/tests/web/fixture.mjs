// What every test file of pages has: a house, a browser, and visits that end.

import { after, before } from "node:test";
import { openBrowser, visit } from "./browser.mjs";
import { openHouse } from "./house.mjs";

/** Opens both before the first test and closes them after the last. */
export function opened(makeHouse = openHouse) {
  const fixture = {
    /** Where `path` is shown to a new visitor. */
    visit: (path, options) => visit(fixture.browser, fixture.house.url + path, options),
  };
  before(async () => {
    [fixture.house, fixture.browser] = await Promise.all([makeHouse(), openBrowser()]);
  });
  after(async () => {
    await fixture.browser?.close();
    await fixture.house?.close();
  });
  return fixture;
}
