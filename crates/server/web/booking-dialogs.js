// Questions in a dialog: those of a booking's page (cancel it? move to which seats?), and the yes or no of others.

import { h } from "./dom.js";
import { exactMoney } from "./format.js";
import { t } from "./words.js";

/** @typedef {import("./types.d.ts").Booking} Booking */

/** @param {string} name @returns {Promise<boolean>} */
export function askCancel(name) {
  const body = [h("p", {}, t("booking.cancelWhat", { name }))];
  return askYesNo("cancel", t("booking.cancelAsk"), body, t("booking.cancelNo"), h("button", { class: "danger", value: "yes" }, t("booking.cancelYes")));
}

/**
 * Where the new seats shall be: a section, or "" for anywhere.
 *
 * @param {Booking} booking @param {import("./types.d.ts").Section[]} sections @returns {Promise<string | null>}
 */
export async function askSeats(booking, sections) {
  const options = sections.map((section) =>
    h("option", { value: section.name, disabled: section.stats.available === 0 },
      t("booking.section", { section: section.name, price: exactMoney(section.price, booking.currency), n: section.stats.available })));
  const choice = h("select", { id: "section", name: "section" }, h("option", { value: "" }, t("booking.anywhere")), options);
  const body = [
    h("p", {}, t("booking.moveSeats", { n: booking.seats.length })),
    h("div", { class: "field" }, h("label", { for: "section" }, t("booking.where")), choice),
  ];
  const move = h("button", { class: "main", value: "yes" }, t("booking.moveYes"));
  return (await askYesNo("move", t("booking.moveAsk"), body, t("booking.moveNo"), move)) ? choice.value : null;
}

/**
 * @param {string} kind @param {string} title @param {HTMLElement[]} body @param {string} no @param {HTMLButtonElement} yes
 * @returns {Promise<boolean>}
 */
export function askYesNo(kind, title, body, no, yes) {
  yes.dataset["act"] = `${kind}-yes`;
  const dialog = h("dialog", { "aria-labelledby": `${kind}-title`, "data-dialog": kind }, h("form", { method: "dialog", class: "stack" },
    h("h2", { id: `${kind}-title` }, title), ...body,
    h("div", { class: "row end" }, h("button", { value: "no", autofocus: true, "data-act": `${kind}-no` }, no), yes)));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => {
    dialog.remove();
    done(dialog.returnValue === "yes");
  }));
}
