//! `/v1/bookings`.

mod best_available;
mod cancel;
mod confirm;
mod create;
mod extend;
mod limits;
mod list;
mod move_booking;
mod redeem;
mod refusals;
mod stream;
