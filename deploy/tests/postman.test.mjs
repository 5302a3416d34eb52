// The Postman collection, run by newman against a server of its own.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import newman from "newman";
import { openHouse } from "../../crates/server/tests/web/house.mjs";

const COLLECTION = new URL("../postman/collection.json", import.meta.url).pathname;
let house;

before(async () => (house = await openHouse()));
after(() => house?.close());

/** Runs one folder; the names of its assertions that passed. An error names those that failed. */
async function run(folder) {
  const options = { collection: COLLECTION, folder, envVar: [{ key: "url", value: house.url }], timeout: 60_000 };
  const passed = [];
  const summary = await new Promise((done, failed) => {
    newman
      .run(options, (error, summary) => (error ? failed(error) : done(summary)))
      .on("assertion", (error, { assertion }) => error || passed.push(assertion));
  });
  assert.deepEqual(summary.run.failures.map(({ source, error }) => `${source?.name}: ${error.message}`), []);
  return passed;
}

test("newman: normal booking", async () => {
  const steps = ["the event is created", "the seat is on hold", "the booking is confirmed", "the booking is read back", "the seat is sold"];
  assert.deepEqual(await run("Normal booking"), steps);
});

test("newman: double click", async () => {
  const steps = ["the event is created", "the first click books", "the second click gets the first answer, byte for byte"];
  assert.deepEqual(await run("Double click"), [...steps, "another request under the same key is refused", "there is one booking"]);
});

test("newman: concurrent booking", async () => {
  const steps = ["the event is created", "one of 20 gets the seat, and 19 are refused", "one seat is held"];
  assert.deepEqual(await run("Concurrent booking"), steps);
});

test("newman: expired hold", async () => {
  const steps = ["the event is created", "the seat is on hold", "the hold has expired", "a late payment is told so", "another customer gets the seat"];
  assert.deepEqual(await run("Expired hold"), steps);
});
