//! The binary as scripts and people use it.

mod backups;
mod configuration;
mod databases;
mod erasures;
mod exports;
mod kafka;
mod keys;
mod metrics;
mod mirrors;
mod private_files;
mod process;
mod rehearsing;
mod seccomp;
mod service_unit;
mod serving;
mod tls;
mod verifying;
