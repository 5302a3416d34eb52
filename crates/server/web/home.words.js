// Words of the first page.

/** @type {import("./words.js").Words} */
export const words = {
  en: {
    "home.title": "What is on sale",
    "home.events": "Events",
    "home.schedules": "Time slots",
    "home.shops": "Shops",
    "home.mine": "Your bookings",
    "home.left": "{n} of {total} left",
    "home.soldOut": "Sold out",
    "home.closed": "Closed",
    "home.from": "from {price}",
    "home.slots": { one: "{n} time a day", other: "{n} times a day" },
    "home.shop": "Boxes to pick up",
    "home.nothing": "Nothing is on sale yet. The API documentation shows how to create an event, a schedule or a shop.",
    "home.more": "Show more",
  },
  "zh-TW": {
    "home.title": "販售中",
    "home.events": "活動",
    "home.schedules": "時段預約",
    "home.shops": "商店",
    "home.mine": "您的訂單",
    "home.left": "剩 {n} / {total}",
    "home.soldOut": "已售完",
    "home.closed": "停止販售",
    "home.from": "{price} 起",
    "home.slots": "每日 {n} 個時段",
    "home.shop": "可取餐盒",
    "home.nothing": "目前沒有販售項目。API 文件說明如何建立活動、時段或商店。",
    "home.more": "顯示更多",
  },
};
