//! The engine's seams on PostgreSQL; Redis/Kvrocks and Kafka are still to come. Never rules or HTTP handlers.

pub mod postgres;
pub mod turns;
