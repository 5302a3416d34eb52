//! Commands through a real Kafka broker.

mod dead_letters;
mod outages;
mod owners;
mod redelivery;
mod scene;
