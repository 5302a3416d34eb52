//! `/v1/schedules`.

mod analytics;
mod create;
mod past;
mod slots;
mod stream;
mod tickets;

pub(crate) use past::museum_of_yesterday;
