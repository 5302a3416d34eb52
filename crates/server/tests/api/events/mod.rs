//! `/v1/events`.

mod block;
mod cancel;
mod create;
mod delete;
mod patch;
mod seats;
mod show;
mod stream;
