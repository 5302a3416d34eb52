//! The planted bugs of the cluster: one-line mistakes, what each would do to people, found by several nodes on one database.

use super::{PlantedBug, Suite};

const fn bug(
    name: &'static str,
    harm: &'static str,
    file: &'static str,
    find: &'static str,
    replace: &'static str,
) -> PlantedBug {
    PlantedBug { name, harm, suite: Suite::Cluster, file, find, replace }
}

/// In the order in which they are planted.
pub(crate) const PLANTED_BUGS: &[PlantedBug] = &[
    bug(
        "turns-trusted-instead-of-the-fence",
        "a node that was stopped in its turn sells seats that others have sold since",
        "postgres/commit.rs",
        "WHERE i.number = w.number AND i.head = w.previous",
        "WHERE i.number = w.number",
    ),
    bug(
        "committed-taken-for-lost",
        "a customer whose node lost its connection pays twice",
        "postgres/commit.rs",
        "&& is_in_journal(connection, earlier).await?",
        "&& !is_in_journal(connection, earlier).await?",
    ),
    bug(
        "others-not-followed",
        "a node refuses a seat that came free at another one",
        "postgres/mod.rs",
        "    fn is_shared(&self) -> bool {\n        true",
        "    fn is_shared(&self) -> bool {\n        false",
    ),
    bug(
        "seats-of-cancelled-bookings-claimed",
        "a seat that was given back cannot be sold again",
        "postgres/tables.rs",
        "\"DELETE FROM claim c USING UNNEST($1::uuid[], $2::bigint[]) AS r(booking, inventory)",
        "\"SELECT FROM claim c, UNNEST($1::uuid[], $2::bigint[]) AS r(booking, inventory)",
    ),
    bug(
        "sales-not-counted",
        "a report says that nothing was sold",
        "postgres/tables.rs",
        "sold = i.sold + d.sold",
        "sold = i.sold",
    ),
    bug(
        "chosen-id-of-two-inventories",
        "two events give the same id to two bookings",
        "postgres/commit.rs",
        "if owners.get(&(tenant, tables::uuid(id))) != Some(&number_of(number)) {",
        "if owners.get(&(tenant, tables::uuid(id))).is_none() {",
    ),
    bug(
        "log-position-not-checked",
        "a booking that was refused is made after all when Kafka delivers it again",
        "postgres/commit.rs",
        "OR (i.log_epoch, i.log_offset) < (w.epoch, w.first_offset))",
        "OR i.log_epoch <= w.epoch)",
    ),
    bug(
        "position-of-refusals-not-kept",
        "the same, if nothing else was decided since",
        "postgres/commit.rs",
        "log_offset = coalesce(w.last_offset, i.log_offset)",
        "log_offset = CASE WHEN w.head = i.head THEN i.log_offset ELSE coalesce(w.last_offset, i.log_offset) END",
    ),
    bug(
        "seats-in-the-wrong-bits",
        "whoever reads the mirror sends people to seats that others have",
        "redis/picture.rs",
        "code(state) << (6 - 2 * (seat % 4))",
        "code(state) << (2 * (seat % 4))",
    ),
    bug(
        "lock-released-by-anybody",
        "a server that was late lets a third one into the turn of a second",
        "redis/redlock.rs",
        "\"if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end\"",
        "\"return redis.call('DEL', KEYS[1])\"",
    ),
    bug(
        "drift-of-clocks-forgotten",
        "two servers think that a turn is theirs",
        "redis/redlock.rs",
        "began + lasts.saturating_sub(drift)",
        "began + lasts.max(drift)",
    ),
];
