//! The hash map of the core.

/// A hash map whose order nobody may rely on: each is seeded differently, also against callers who choose their ids
/// to collide. Nothing that leaves the core is ever read from one in its own order.
pub type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::quality::RandomState>;
