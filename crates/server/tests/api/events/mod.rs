//! `/v1/events`.

mod block;
mod create;
mod patch;
mod seats;
mod show;
mod stream;
