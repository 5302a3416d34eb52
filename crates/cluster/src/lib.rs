//! The engine's seams on PostgreSQL, Redis/Kvrocks and Kafka. Never rules or HTTP handlers.
