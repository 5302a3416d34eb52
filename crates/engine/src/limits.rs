//! Every bound of the engine, with its unit last and its reason.

use std::time::Duration;

/// Commands waiting for one shard. At half a million a second they are served within a few hundred milliseconds; who
/// comes later is told to come back rather than kept waiting longer.
pub const QUEUE_COMMANDS_MAX: usize = 65_536;
/// Commands in one batch: bounds what a crash leaves unanswered and how long one commit takes.
pub const BATCH_COMMANDS_MAX: usize = 16_384;
/// Seats and tickets in the bookings of one batch, for the same reasons: each is a row where a store keeps tables. A batch
/// exceeds it by its last command at most, or by what has waited together for an inventory or for its turn.
pub const BATCH_UNITS_MAX: usize = 4 * BATCH_COMMANDS_MAX;
/// A batch of so many commands is sealed while the one before it is still being made durable. Smaller ones wait and grow: each
/// commit costs the same, whatever is in it. Larger ones need not wait: what they would save is less than what they keep waiting.
pub const SEAL_AHEAD_COMMANDS_MIN: usize = 256;
/// The same on a store that others share, where a commit costs more.
pub const SEAL_AHEAD_SHARED_COMMANDS_MIN: usize = 1_024;
/// Commands and questions that a shard takes before it looks whether a batch is through: what waits for the disk must not wait for what waits to
/// be decided.
pub const DECIDED_COMMANDS_MAX: usize = 256;
/// Commands that a shard looks ahead at, and bookings that whoever publishes them does: enough to keep the memory busy, few enough that what was fetched is still there.
pub const LOOK_AHEAD_COMMANDS: usize = 16;
/// Commands that wake a shard while its last batch is being made durable. Deciding so many takes a small part of a commit.
pub const GATHERED_COMMANDS: usize = 64;
/// A batch of at most so many commands is made durable by the shard that decided it, on a store that is its own: to wake a thread for
/// that would cost more than what the shard could decide meanwhile.
pub const COMMITTED_HERE_COMMANDS_MAX: usize = 256;
/// After a batch of at least so many commands, more are coming: those who were answered ask again, and others with them.
pub const BUSY_COMMANDS_MIN: usize = 8;
/// How long they are waited for then, unless half as many are there before: each commit costs the same, whatever is in it.
pub const GATHERED_FOR: Duration = Duration::from_micros(500);
/// A store that others share and that answers nothing for so long is away: commands are refused until it is back.
pub const STORE_ANSWER_MAX: Duration = Duration::from_secs(2);
/// So is one that takes longer than this for a commit, whatever else it answers: nobody should wait for it longer.
pub const COMMIT_ANSWER_MAX: Duration = Duration::from_secs(5);
/// What whoever asks while the store is away is asked to wait before the next try.
pub const UNAVAILABLE_RETRY_AFTER: Duration = Duration::from_secs(2);
/// What whoever met a full queue is asked to wait before the next try.
pub const OVERLOADED_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Commands that wait for one inventory while it is read from the store.
pub const WAITING_FOR_LOAD_COMMANDS_MAX: usize = QUEUE_COMMANDS_MAX;
/// An inventory's name: tenant, kind and slug with room to spare.
pub const NAME_BYTES_MAX: usize = 255;
/// The journal of an inventory grows at least this much between snapshots, and at least as much as the last one was large.
/// Then a snapshot is made as soon as nobody has used the inventory for a second.
pub const SNAPSHOT_JOURNAL_BYTES_MIN: u64 = 32 * 1024 * 1024;
/// While an inventory is in use all the time, its journal may grow to so many times more: an on-sale is not the moment for
/// snapshots, and reading what gathers in one takes seconds.
pub const SNAPSHOT_JOURNAL_FACTOR_MAX: u64 = 8;
/// A snapshot is written in pieces of this size, so that no commit waits for more than one of them; only the last write, which
/// removes what the snapshot replaces, takes longer.
pub const SNAPSHOT_CHUNK_BYTES: usize = 1024 * 1024;
/// Batches kept in memory for subscribers; who is further behind reads the journal.
pub const RECENT_BATCHES_MAX: usize = 1_024;
/// Changes in those batches, whatever their number.
pub const RECENT_CHANGES_MAX: usize = 16_384;
/// Bytes of the journal read at a time by subscribers and by `verify`.
pub const JOURNAL_READ_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of the journal that are replayed to tell what an inventory was some batches ago: that takes about a second. What
/// would take more is not told.
pub const HISTORY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The same to tell what some bookings were: about a tenth of a second, for which whoever is told of them by the thousand can wait.
pub const PAST_BOOKINGS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Answers to idempotency keys are forgotten in bulk: at most this often.
pub const FORGET_KEYS_EVERY_MS: i64 = 60_000;
/// How often a store that others write to is asked what they changed: so long a view may be behind.
pub const FOLLOW_EVERY: Duration = Duration::from_millis(100);
/// How often such a store is asked for all there is: however late something became visible there, it is noticed then. A list of
/// some thousand names costs it little.
pub const FOLLOW_ALL_EVERY: Duration = Duration::from_secs(60);
/// While somebody waits for what others wrote, it is asked for this often.
pub const FOLLOW_AT_ONCE_EVERY: Duration = Duration::from_millis(2);
/// How long whoever does not find a booking waits for what another process has committed already.
pub const CATCH_UP_MAX: Duration = Duration::from_secs(2);
/// On a store that others write to, what falls due in an inventory that is not in memory here is left to those who have it for
/// so long.
pub const OTHERS_FIRST_MS: i64 = 2_000;
/// Those who have it do not all begin at once.
pub const OTHERS_BESIDE_MS_MAX: i64 = 250;
/// An inventory that others write to as well counts as contended for so long after the last that came from them.
pub const CONTENDED_MS: i64 = 3_000;
/// How long more may be decided in one turn while others wait for theirs. What is on its way then is waited for.
pub const TURN_MS: i64 = 50;
/// How long whoever did not get its turn in time goes without before it asks again: whoever has it may have died.
pub const WITHOUT_TURN_MS: i64 = 1_000;
/// How often idle inventories are looked for.
pub const IDLE_SWEEP_MS: i64 = 1_000;
/// How far this machine's clock may be from that of a store that others share: by so much may holds be ended early or late.
/// Machines that are kept right by NTP are a hundred times nearer.
pub const CLOCKS_APART_MS_MAX: i64 = 5_000;
/// How often the two are compared.
pub const CLOCKS_COMPARED_EVERY: Duration = Duration::from_secs(1);
/// Wall and monotonic clock may drift apart this much before it counts as a jump.
pub const CLOCK_JUMP_MS: i64 = 60_000;
/// So much is gathered in one of the two files of the embedded store's log before it is moved: enough that many commits share
/// what that costs, little enough that the disk is not busy with it for long, and that a start reads it in no time.
pub const LOG_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// What is moved is made durable in pieces of about this size: a commit that comes meanwhile waits for one of them, and not for all.
pub const UNSYNCED_BYTES_MAX: u64 = 512 * 1024;
/// Refused and failed booking attempts that a store keeps; when there are more, the oldest are removed.
pub const ATTEMPTS_MAX: u64 = 1_000_000;
/// Attempts older than seven days are removed.
pub const ATTEMPTS_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Attempts that one transaction of the embedded store removes: commits wait for it.
pub const ATTEMPTS_PRUNED_AT_ONCE: usize = 2_000;
/// The scrubber skips inventories whose snapshot and journal together are larger: it holds them in memory.
pub const SCRUB_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Default pause of the scrubber between two passes.
pub const SCRUB_EVERY: Duration = Duration::from_secs(3_600);

/// Units whose bookings are entered into an index of seats or tickets under one lock: what is published meanwhile waits for a fraction of a
/// millisecond. One booking more, at most.
pub const UNITS_INDEXED_AT_ONCE: u32 = 512;

/// Attempts that one search of the embedded store looks at.
pub const ATTEMPTS_LOOKED_AT_MAX: usize = 50_000;
