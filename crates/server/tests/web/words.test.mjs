// Both languages say the same things, and every word that a page asks for is there.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import test from "node:test";

const WEB = new URL("../../web/", import.meta.url);
const files = await readdir(WEB);
const dictionaries = await Promise.all(files.filter((file) => file.endsWith(".words.js")).map(async (file) => [file, (await import(new URL(file, WEB))).words]));

test("both languages have the same keys and the same values to put in", () => {
  assert.ok(dictionaries.length > 4);
  for (const [file, words] of dictionaries) {
    assert.deepEqual(Object.keys(words.en).sort(), Object.keys(words["zh-TW"]).sort(), file);
    for (const [key, sentence] of Object.entries(words.en)) {
      const values = (of) => [...new Set(JSON.stringify(of).match(/\{\w+\}/g) ?? [])].sort();
      assert.deepEqual(values(words["zh-TW"][key]), values(sentence), `${file}: ${key}`);
    }
  }
});

test("every word that a page asks for is known, and none is there for nothing", async () => {
  const known = new Set(dictionaries.flatMap(([, words]) => Object.keys(words.en)));
  const asked = new Set();
  const begun = new Set();
  for (const file of files.filter((name) => name.endsWith(".js") && !name.endsWith(".words.js"))) {
    const text = await readFile(new URL(file, WEB), "utf8");
    for (const [, key] of text.matchAll(/["'`]([a-z][\w]*(?:\.[\w]+)*)["'`]/gi)) asked.add(key);
    for (const [, start] of text.matchAll(/`([a-z][\w.]*\.)\$\{/gi)) begun.add(start);
    for (const [, key] of text.matchAll(/\bt\("([^"]+)"/g)) assert.ok(known.has(key), `${file} asks for "${key}"`);
  }
  const idle = [...known].filter((key) => !asked.has(key) && ![...begun].some((start) => key.startsWith(start)));
  assert.deepEqual(idle, [], "words that nobody asks for");
});
