//! One writer per inventory: batches, durable commits, recovery, subscriptions. Never HTTP, SQL, Kafka or Redis.
