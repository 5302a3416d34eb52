//! The planted bugs of the engine: one-line mistakes, what each would do to people, found by its own tests and the simulator's.

use super::{PlantedBug, Suite};

const fn bug(
    name: &'static str,
    harm: &'static str,
    file: &'static str,
    find: &'static str,
    replace: &'static str,
) -> PlantedBug {
    PlantedBug { name, harm, suite: Suite::Engine, file, find, replace }
}

/// In the order in which they are planted.
pub(crate) const PLANTED_BUGS: &[PlantedBug] = &[
    // Committing.
    bug(
        "acknowledged-although-not-committed",
        "a customer is told of seats that nobody wrote down",
        "commit.rs",
        ".for_each(Part::unknown);",
        ".for_each(Part::answer);",
    ),
    bug(
        "shown-before-commit",
        "a visitor sees a sale that a crash undoes",
        "shard.rs",
        "part.publication = Some(live.publication(sequence, Arc::clone(&changes)));",
        "part.publication = Some(live.publication(sequence, Arc::clone(&changes)));\n        if let (Some(entry), Some(state)) = (self.registry.of_number(number), State::of(&live.inventory)) {\n            entry.show(state);\n        }",
    ),
    bug(
        "commit-not-synced",
        "what was acknowledged is gone after a power cut",
        "store/log.rs",
        "file.write(self.offset, &self.frame)?;\n        file.sync_data()?;",
        "file.write(self.offset, &self.frame)?;",
    ),
    bug(
        "answers-of-keys-not-written",
        "who sends a payment again after a restart pays twice",
        "shard.rs",
        "let changes = std::mem::take(&mut live.changes);",
        "let mut changes = std::mem::take(&mut live.changes);\n        changes.retain(|change| !matches!(change, Change::Remembered { .. }));",
    ),
    bug(
        "decided-on-fenced-state-answered",
        "a caller is refused for a seat that nobody ever had",
        "commit.rs",
        "parts.iter().filter(|part| fenced.contains(&part.of().0))",
        "parts.iter().filter(|part| false && fenced.contains(&part.of().0))",
    ),
    bug(
        "fence-not-checked",
        "two nodes sell the same seat",
        "store/embedded.rs",
        "if standings[&number] != batch.previous || fenced.contains(&number) {",
        "if standings[&number] == Hash([1; 32]) {",
    ),
    bug(
        "inventories-not-counted",
        "an inventory that vanished is not missed, or a sound store is refused",
        "store/waiting.rs",
        "self.created += u64::from(creates);",
        "",
    ),
    bug(
        "chosen-ids-not-kept",
        "two inventories give the same id to two bookings",
        "store/tables.rs",
        "booking_ids.insert((&**tenant, *id), number.0)?;",
        "let _ = (&mut booking_ids, tenant, id, number);",
    ),
    bug(
        "chosen-ids-of-all-tenants",
        "a box office learns which booking ids another one has",
        "chosen_ids.rs",
        "let tenant = tenant_of_name(name);",
        "let tenant = \"\";",
    ),
    bug(
        "mark-not-raised",
        "a store that was put back to an older state opens without a word",
        "store/embedded.rs",
        "self.mark.raise(commit).map_err(|error| failed_write(\"the high-water mark\", &error))?;",
        "",
    ),
    bug(
        "torn-mark-refused",
        "a crash in the first commit keeps a sound store from ever opening again",
        "store/mark.rs",
        "return Some(0);",
        "return None;",
    ),
    // The log.
    bug(
        "log-written-over-before-it-was-moved",
        "what was acknowledged is written over before anything else has it",
        "store/embedded.rs",
        "                self.move_waiting()?;\n                self.waiting.write().turn();",
        "                self.waiting.write().moved();\n                self.waiting.write().turn();",
    ),
    bug(
        "frames-that-were-moved-come-back",
        "a start finds old commits behind new ones, and refuses a sound store or undoes sales",
        "store/log.rs",
        "if header[..8] != MAGIC || commit <= stored {",
        "if header[..8] != MAGIC || commit == 0 {",
    ),
    bug(
        "missing-frames-not-missed",
        "a flipped bit takes an acknowledged commit out of the middle without a word",
        "store/log.rs",
        "if frame.commit != expected {",
        "if frame.commit < expected {",
    ),
    bug(
        "frames-not-checked",
        "a torn write is taken for a commit",
        "store/log.rs",
        "if hash.get(..HASH_BYTES) != Some(blake3::keyed_hash(key, hashed).as_bytes().as_slice()) {",
        "if hash.len() < HASH_BYTES {",
    ),
    bug(
        "what-waits-not-seen",
        "whoever loads a hall finds it without its last sales",
        "store/embedded.rs",
        "let records = read_records(transaction, waiting, inventory, after, usize::MAX)?;",
        "drop(waiting);\n            let records = read_records(transaction, Vec::new(), inventory, after, usize::MAX)?;",
    ),
    // Deciding again.
    bug(
        "refused-id-not-remembered",
        "a booking that was refused is made when the same request comes again",
        "shard.rs",
        "boxoffice_core::refuse(&mut live.inventory, now, command, taken)",
        "{\n                            let forgetful = Command { idempotency: None, ..command.clone() };\n                            boxoffice_core::refuse(&mut live.inventory, now, &forgetful, taken)\n                        }",
    ),
    bug(
        "claims-of-fenced-commands-kept",
        "an id that nobody has is taken until the next restart",
        "shard/recalled.rs",
        "chosen_ids(number, &live.changes).for_each(|id| self.chosen_ids.let_go(id, &live.name));",
        "",
    ),
    bug(
        "fenced-state-kept",
        "a node that was overtaken goes on with what it believes",
        "shard.rs",
        "self.live.get(&number).is_some_and(|live| live.generation == generation)",
        "self.live.get(&number).is_some_and(|live| live.generation == generation + 1)",
    ),
    // Loading.
    bug(
        "chain-not-checked",
        "records in the wrong order are believed",
        "load.rs",
        "if !follows {",
        "if !follows && record.changes.is_empty() {",
    ),
    bug(
        "last-hash-not-checked",
        "a last record that somebody replaced is believed",
        "load.rs",
        "if chain.hash != head.hash {",
        "if chain.hash != head.hash && records.is_empty() {",
    ),
    bug(
        "first-record-after-snapshot-skipped",
        "the first sales after a snapshot are forgotten, or the inventory cannot be loaded",
        "store/embedded.rs",
        "map_or(0, |(manifest, _)| manifest.sequence);",
        "map_or(0, |(manifest, _)| manifest.sequence + 1);",
    ),
    bug(
        "snapshot-with-another-hash",
        "no inventory with a snapshot can be loaded",
        "snapshot.rs",
        "hash: loaded.head.hash,",
        "hash: record::hash_of(&contents),",
    ),
    bug(
        "snapshot-cuts-the-journal",
        "the books cannot be checked from the beginning any more",
        "snapshot.rs",
        "Retention::All => loaded.journal_from,",
        "Retention::All => sequence + 1,",
    ),
    // Waking.
    bug(
        "deadline-not-in-head",
        "holds of an inventory that nobody visits after a restart never end",
        "shard.rs",
        "next_deadline: [due.hold, due.roll].into_iter().flatten().min(),",
        "next_deadline: due.roll.filter(|_| due.hold.is_none()),",
    ),
    bug(
        "wake-forgets-holds",
        "holds of a quiet inventory never end",
        "shard.rs",
        "if is_due(due.hold) {",
        "if is_due(due.hold) && is_due(due.roll) {",
    ),
    bug(
        "idle-deadline-forgotten",
        "holds of an inventory that left memory never end",
        "shard.rs",
        "deadlines.leave(number, [due.hold, due.roll].into_iter().flatten().min());",
        "deadlines.leave(number, due.roll.filter(|_| due.hold.is_none()));",
    ),
    bug(
        "busy-inventory-dropped",
        "commands that were decided and not yet written are lost with their inventory",
        "shard.rs",
        "let busy = live.in_flight > 0 || live.snapshot_wanted || open.contains(&number);",
        "let busy = live.in_flight > 0 || live.snapshot_wanted || (open.contains(&number) && live.changes.is_empty());",
    ),
];
