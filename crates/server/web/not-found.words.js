// Words of the page for an address where there is nothing.

/** @type {import("./words.js").Words} */
export const words = {
  en: {
    "notFound.title": "Page not found",
    "notFound.events": "This event is not here. It may have been taken down, or the address is wrong.",
    "notFound.schedules": "This schedule is not here. It may have been taken down, or the address is wrong.",
    "notFound.shops": "This shop is not here. It may have been taken down, or the address is wrong.",
    "notFound.page": "There is no page at this address.",
  },
  "zh-TW": {
    "notFound.title": "找不到頁面",
    "notFound.events": "找不到這個活動，可能已下架，或網址有誤。",
    "notFound.schedules": "找不到這個時段預約，可能已下架，或網址有誤。",
    "notFound.shops": "找不到這家商店，可能已下架，或網址有誤。",
    "notFound.page": "這個網址沒有頁面。",
  },
};
