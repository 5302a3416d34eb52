//! The hash map of the core.

/// A hash map whose order nobody may rely on: each has a seed of its own, which also makes it hard to choose ids that
/// collide. Nothing that leaves the core is ever read from one in its own order.
pub type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::quality::RandomState>;
