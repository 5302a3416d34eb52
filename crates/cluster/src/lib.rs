//! The engine's seams on PostgreSQL, and what Redis or Kvrocks does beside it; Kafka is still to come. Never rules or HTTP
//! handlers.

pub mod postgres;
pub mod redis;
pub mod turns;
