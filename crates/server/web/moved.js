// What a move changed, carried to the booking's page.

const MOVED = "boxoffice.moved";

/** @typedef {{id: string, from: string, difference: number}} Moved `from`: what it was before, for people */

/** @param {Moved} moved */
export function keepMoved(moved) {
  try {
    sessionStorage.setItem(MOVED, JSON.stringify(moved));
  } catch {
    // The page shows the new place in any case.
  }
}

/** Once. @param {string} id @returns {Moved | null} */
export function takeMoved(id) {
  try {
    const moved = JSON.parse(sessionStorage.getItem(MOVED) ?? "null");
    sessionStorage.removeItem(MOVED);
    return moved?.id === id ? moved : null;
  } catch {
    return null;
  }
}
