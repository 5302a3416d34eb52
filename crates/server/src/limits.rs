//! Every bound of the server, with its unit last and its reason.

use std::time::Duration;

/// A booking, an event with a few sections: far below this.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;
/// Ten thousand commands, two hundred thousand tickets, or a hall of many sections.
pub(crate) const LARGE_BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Commands in one `/v1/batch`.
pub(crate) const BATCH_COMMANDS_MAX: usize = 10_000;
/// Objects and lists inside each other; nothing sensible is deeper, and parsing recurses.
pub(crate) const NESTING_MAX: usize = 32;
/// The whole body must be here by then.
pub(crate) const BODY_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Items in a list if nothing is said.
pub(crate) const LIST_ITEMS_DEFAULT: usize = 50;
/// Items in a list at most.
pub(crate) const LIST_ITEMS_MAX: usize = 500;
/// A request id that a caller chose.
pub(crate) const REQUEST_ID_CHARACTERS_MAX: usize = 128;
/// An `Idempotency-Key`.
pub(crate) const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 255;
