//! `/v1/shops`.

mod boxes;
mod create;
mod stream;
