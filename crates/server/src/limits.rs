//! Every bound of the server, with its unit last and its reason.

use std::time::Duration;

/// A booking, an event with a few sections: far below this.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;
/// Ten thousand commands, two hundred thousand tickets, or a hall of many sections.
pub(crate) const LARGE_BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A batch of a `public` key, which every visitor of a page has: a family's bookings are far below this.
pub(crate) const PUBLIC_BATCH_BYTES_MAX: usize = 256 * 1024;
/// All bodies that are in memory at one time, read or being read.
pub(crate) const BODIES_BYTES_MAX: usize = 256 * 1024 * 1024;
/// The batches of `public` keys have this much beside it: visitors who leave them unfinished take nothing from the house.
pub(crate) const PUBLIC_BATCHES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What is read and dropped of a body that is too large, before the answer, so that a client that is still sending hears it.
pub(crate) const DISCARDED_BYTES_MAX: usize = 2 * LARGE_BODY_BYTES_MAX;
/// Of a body that the handler did not read, at most this much is read and discarded to keep the connection.
pub(crate) const DRAINED_BODY_BYTES_MAX: u64 = 64 * 1024;
/// How long that may take; the response waits for it.
pub(crate) const DRAIN_BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// A closing connection reads and discards at most this much, so that a client that is still sending receives the response and not a reset.
pub(crate) const LINGER_BYTES_MAX: usize = DISCARDED_BYTES_MAX;
/// How long a closing connection waits for that.
pub(crate) const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// Commands in one `/v1/batch`.
pub(crate) const BATCH_COMMANDS_MAX: usize = 10_000;
/// The same for a `public` key: all visitors share its rate limit, and a family's bookings are far below this.
pub(crate) const PUBLIC_BATCH_COMMANDS_MAX: usize = 100;
/// Objects and lists inside each other; nothing sensible is deeper, and parsing recurses.
pub(crate) const NESTING_MAX: usize = 32;
/// The whole body must be here by then.
pub(crate) const BODY_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// So must a large one: its 8 MiB over a little more than a megabit a second. A stop does not wait that long for what is still on its way.
pub(crate) const LARGE_BODY_READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Items in a list by default.
pub(crate) const LIST_ITEMS_DEFAULT: usize = 50;
/// Items in a list at most.
pub(crate) const LIST_ITEMS_MAX: usize = 500;
/// A request id that a caller chose.
pub(crate) const REQUEST_ID_CHARACTERS_MAX: usize = 128;
/// An `Idempotency-Key`.
pub(crate) const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 255;
/// A request's head, once begun, must be complete by then: slow senders do not pile up.
pub(crate) const HEAD_READ_TIMEOUT: Duration = Duration::from_secs(8);
/// A connection without a request is closed after this time; longer than load balancers keep theirs.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// A client that takes nothing of its answer for this time is gone or means harm.
pub(crate) const WRITE_STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// A connection on which nothing moves for this time is closed, also if hyper has forgotten it: longer than each of the deadlines above.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(90);
/// What was taken is answered within this time after the server was asked to stop.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// A TLS handshake must be complete by then.
pub(crate) const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that wait to be accepted while sales open.
pub(crate) const ACCEPT_BACKLOG_CONNECTIONS: u32 = 4_096;
/// Connections at one time by default: each costs some ten kilobytes.
pub(crate) const CONNECTIONS_DEFAULT: usize = 20_000;
/// Connections above the limit that may wait for evicted ones to end: usually that takes microseconds.
pub(crate) const EVICTED_CONNECTIONS_MAX: usize = 256;
/// Connections that are told at one time that there are too many; more are dropped without a word.
pub(crate) const TURNED_AWAY_CONNECTIONS_MAX: usize = 256;
/// How long the server waits for such a client.
pub(crate) const TURN_AWAY_TIMEOUT: Duration = Duration::from_secs(1);
/// Of them, connections of one client network by default: an office behind one address fits.
pub(crate) const CONNECTIONS_PER_ADDRESS_DEFAULT: usize = 1_000;
/// Header fields of a request.
pub(crate) const HEADERS_MAX: usize = 64;
/// Bytes of a request's head.
pub(crate) const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bytes of an answer that wait in the system for the client to take them.
pub(crate) const UNSENT_BYTES_MAX: u32 = 64 * 1024;
/// How often a server asks for the keys that other servers on the same database made or revoked.
pub(crate) const KEYS_REFRESHED_EVERY: Duration = Duration::from_secs(1);
/// How often what was measured is summed up: until then every request of an on-sale is eight bytes of memory.
pub(crate) const MEASURES_SUMMED_UP_EVERY: Duration = Duration::from_secs(5);
