// The page of an address where there is nothing: what is missing, and the way to what is on sale.

import { h, show } from "./dom.js";
import { title } from "./frame.js";
import { learn, t } from "./words.js";
import { words } from "./not-found.words.js";

const KINDS = ["events", "schedules", "shops"];

learn(words);
title(t("notFound.title"));
const kind = KINDS.find((known) => location.pathname.startsWith(`/${known}/`)) ?? "page";
show(
  /** @type {HTMLElement} */ (document.querySelector("main")),
  h("h1", {}, t("notFound.title")),
  h("p", {}, t(`notFound.${kind}`)),
  h("p", {}, h("a", { class: "button main", href: "/" }, t("onSale"))),
);
