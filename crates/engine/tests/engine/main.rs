//! The engine as its users see it: submit, read, follow, stop and start again.

mod archiving;
mod documents;
mod expiry;
mod fencing;
mod following;
mod gate;
mod gated;
mod log;
mod memory;
mod scene;
mod shared;
mod stopping;
mod submitting;
mod verifying;
mod views;
