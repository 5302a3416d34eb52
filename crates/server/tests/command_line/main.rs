//! The binary as scripts and people use it.

mod backups;
mod configuration;
mod databases;
mod exports;
mod kafka;
mod keys;
mod metrics;
mod mirrors;
mod process;
mod rehearsing;
mod serving;
mod verifying;
