//! The engine's seams on PostgreSQL and Kafka, and what Redis or Kvrocks does beside them. Never rules or HTTP handlers.

pub mod kafka;
pub mod postgres;
pub mod redis;
pub mod turns;
mod wait;
