//! The store on a real PostgreSQL, alone, shared by several engines, and with a real Kafka before them.

mod contract;
mod cuts;
mod database;
mod kafka;
mod nodes;
mod scene;
mod tables;
