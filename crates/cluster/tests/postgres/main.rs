//! The store on a real PostgreSQL, alone and shared by several engines, and real Redis servers beside it.

mod beside;
mod contract;
mod cuts;
mod database;
mod fan_out;
mod mirror;
mod nodes;
mod redis_gone;
mod redlock;
mod scene;
mod tables;
