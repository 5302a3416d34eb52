//! The store on a real PostgreSQL, alone and shared by several engines.

mod contract;
mod cuts;
mod database;
mod nodes;
mod scene;
mod tables;
