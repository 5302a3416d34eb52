// A calendar file (RFC 5545) with one entry. No page is needed for it.

/**
 * @typedef {{
 *   uid: string, stamp: Date, starts: Date, ends: Date | null, summary: string, description: string, url: string,
 *   version: number, status: "CONFIRMED" | "TENTATIVE" | "CANCELLED",
 * }} Entry
 */

const LINE_OCTETS_MAX = 75;

/** @param {Entry} entry @returns {string} */
export function calendarFile(entry) {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Boxoffice//Boxoffice//EN",
    "CALSCALE:GREGORIAN",
    "METHOD:PUBLISH",
    "BEGIN:VEVENT",
    `UID:${escaped(entry.uid)}`,
    `DTSTAMP:${utc(entry.stamp)}`,
    `DTSTART:${utc(entry.starts)}`,
    ...(entry.ends === null ? [] : [`DTEND:${utc(entry.ends)}`]),
    `SEQUENCE:${entry.version}`,
    `STATUS:${entry.status}`,
    `SUMMARY:${escaped(entry.summary)}`,
    `DESCRIPTION:${escaped(entry.description)}`,
    // An address is not text: nothing in it is escaped.
    `URL:${entry.url}`,
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join("");
}

/** "20261118T010000Z". @param {Date} time */
export function utc(time) {
  return time.toISOString().replace(/[-:]|\.\d+/g, "");
}

/** @param {string} text */
export function escaped(text) {
  return text.replace(/[\\;,]/g, (sign) => `\\${sign}`).replace(/\r\n|\r|\n/g, "\\n");
}

/** Lines are at most 75 octets; what follows begins with a space. A character is never cut in two. @param {string} line */
export function folded(line) {
  const encoder = new TextEncoder();
  let text = "";
  let octets = 0;
  for (const character of line) {
    const size = encoder.encode(character).length;
    if (octets + size > LINE_OCTETS_MAX) {
      text += "\r\n ";
      octets = 1;
    }
    text += character;
    octets += size;
  }
  return text;
}
