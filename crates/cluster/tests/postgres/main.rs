//! The store on a real PostgreSQL, alone and shared by several engines, with real Redis servers beside it and a real Kafka before them.

mod beside;
mod commits;
mod contract;
mod cuts;
mod database;
mod documents;
mod fan_out;
mod kafka;
mod mirror;
mod nodes;
mod redis_gone;
mod redlock;
mod scene;
mod tables;
mod trouble;
