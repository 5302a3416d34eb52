// What is around every page: the header with language and colours, the footer, and the API that the page talks to.

import { Api } from "./api.js";
import { h, show } from "./dom.js";
import { key } from "./settings.js";
import { language, speak, t } from "./words.js";

const THEME = "boxoffice.theme";
const THEMES = ["auto", "light", "dark"];

/** With the key the server gives to its own pages, if it has one. */
export const api = new Api({ key });

/** The part of the path that names what this page shows: `/events/gala` gives `gala`. */
export function idInPath() {
  return decodeURIComponent(location.pathname.split("/")[2] ?? "");
}

/** @param {string} text */
export function title(text) {
  document.title = `${text} · Boxoffice`;
}

function theme() {
  try {
    return THEMES.find((known) => known === localStorage.getItem(THEME)) ?? "auto";
  } catch {
    return "auto";
  }
}

/** @param {string} wanted */
function paint(wanted) {
  if (wanted === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = wanted;
}

class PageHeader extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "banner");
    const link = (/** @type {string} */ path, /** @type {string} */ words) =>
      h("a", { href: path, "aria-current": location.pathname === path ? "page" : null }, words);
    const colours = h("button", { class: "plain", type: "button", onclick: () => turn() });
    const name = () => {
      colours.textContent = { auto: "◐", light: "☀", dark: "☾" }[theme()] ?? "◐";
      colours.setAttribute("aria-label", t("theme", { theme: t(`theme.${theme()}`) }));
      colours.title = t("theme", { theme: t(`theme.${theme()}`) });
    };
    const turn = () => {
      const next = /** @type {string} */ (THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
      localStorage.setItem(THEME, next);
      paint(next);
      name();
    };
    name();
    const other = language === "en" ? "zh-TW" : "en";
    show(
      this,
      h("a", { class: "skip", href: "#main" }, t("skip")),
      h(
        "div",
        { class: "bar" },
        h("a", { class: "brand", href: "/" }, h("img", { src: "/web/icon.svg", alt: "" }), h("span", {}, "Boxoffice")),
        h("nav", { "aria-label": "Boxoffice" }, link("/", t("onSale")), link("/desk", t("desk")), link("/docs", t("docs"))),
        h(
          "div",
          { class: "end" },
          h("button", { class: "plain", type: "button", lang: other, onclick: () => speak(other) }, t("otherLanguage")),
          colours,
        ),
      ),
    );
  }
}

class PageFooter extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "contentinfo");
    show(this, h("div", { class: "bar" }, h("span", {}, `Boxoffice · ${t("footer")}`)));
  }
}

document.documentElement.lang = language === "en" ? "en" : "zh-Hant-TW";
paint(theme());
customElements.define("page-header", PageHeader);
customElements.define("page-footer", PageFooter);
