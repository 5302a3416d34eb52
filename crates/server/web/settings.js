// Stands in for what the server writes at this address: the key that it gives to its own pages.

/** @type {string | null} */
export const key = null;
