// What other sites load, from /embed.js: it brings `<boxoffice-event>`, whose modules are under /web/ there.

// @ts-expect-error: here that directory is this one.
import "./web/event-element.js";
