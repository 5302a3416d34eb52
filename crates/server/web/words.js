// English and Traditional Chinese. Every page brings its own words and teaches them here.

import { words as common } from "./common.words.js";

/**
 * A sentence, or one for "one" and one for all "other" numbers (by `n`). `{name}` is put in from the values.
 *
 * @typedef {string | {one: string, other: string}} Sentence
 * @typedef {{en: Record<string, Sentence>, "zh-TW": Record<string, Sentence>}} Words
 */

const CHOICE = "boxoffice.language";

/** @type {"en" | "zh-TW"} */
export const language = chosen();

/** @type {Record<string, Sentence>} */
const known = {};
const plural = new Intl.PluralRules(language);

/** @returns {"en" | "zh-TW"} */
function chosen() {
  // Another site that embeds the picker may say which language it speaks.
  const asked = document.querySelector("boxoffice-event[lang]")?.getAttribute("lang");
  const wanted = asked ?? stored() ?? navigator.language;
  return wanted.toLowerCase().startsWith("zh") ? "zh-TW" : "en";
}

function stored() {
  try {
    return localStorage.getItem(CHOICE);
  } catch {
    // A browser that keeps nothing still sells seats.
    return null;
  }
}

/** Takes effect with the reload that it makes. @param {"en" | "zh-TW"} wanted */
export function speak(wanted) {
  try {
    localStorage.setItem(CHOICE, wanted);
  } finally {
    location.reload();
  }
}

/** @param {Words} words */
export function learn(words) {
  Object.assign(known, words[language]);
}

/** @param {string} key @param {Record<string, string | number>} [values] @returns {string} */
export function t(key, values = {}) {
  const sentence = known[key];
  if (sentence === undefined) throw new Error(`no words for "${key}"`);
  const text = typeof sentence === "string" ? sentence : sentence[plural.select(Number(values["n"])) === "one" ? "one" : "other"];
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === "number" ? value.toLocaleString(language) : value;
  });
}

learn(common);
