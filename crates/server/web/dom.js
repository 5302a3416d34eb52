// Making elements without a framework, and minding how people use them.

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Attributes
 */

/**
 * An element. `on…` attributes are listeners, `true` an empty attribute; `false`, `null` and `undefined` leave it out.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/**
 * The same for pictures.
 *
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** @param {Element} element @param {Attributes} attributes @param {(Child | Child[])[]} children */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
}

/** @param {(Child | Child[])[]} children */
function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Puts these children in place of the old ones. @param {Element | ShadowRoot} element @param {...(Child | Child[])} children */
export function show(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/** Whether this reader asked for less motion. */
export function wantsCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** @type {HTMLElement | null} */
let voice = null;

/** Has a screen reader say it, without moving the focus. @param {string} words */
export function announce(words) {
  if (!voice) {
    voice = h("div", { role: "status", "aria-live": "polite" });
    // Not by class: on another site's page our style sheet is not there.
    Object.assign(voice.style, { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)", whiteSpace: "nowrap" });
    document.body.append(voice);
  }
  // The same words twice are said twice only if the element was empty in between.
  voice.textContent = "";
  const said = voice;
  requestAnimationFrame(() => (said.textContent = words));
}
