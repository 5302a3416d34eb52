//! The engine's seams on PostgreSQL and Kafka; Redis/Kvrocks is still to come. Never rules or HTTP handlers.

pub mod kafka;
pub mod postgres;
pub mod turns;
mod wait;
