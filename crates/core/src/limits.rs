//! Every bound of the rules, with its unit last and its reason. Nothing in the core grows past one of these.

/// Seats are addressed by row and seat number; a row fits [`ROW_WORDS_MAX`] machine words.
pub const ROWS_MAX: u16 = 1_000;
/// See [`ROWS_MAX`].
pub const COLS_MAX: u16 = 1_000;
/// Sixteen words of 64 seats: the row buffer on the stack during a search.
pub const ROW_WORDS_MAX: usize = 16;
/// The largest stadiums have some 200,000 seats; five times that is a festival with numbered grass.
pub const SEATS_PER_EVENT_MAX: u32 = 1_000_000;
/// Subsections are addressed by a `u16`; a summary of the event lists all of them.
pub const SUBSECTIONS_PER_EVENT_MAX: usize = 10_000;
/// Areas are listed in every summary and searched by name in order.
pub const AREAS_PER_EVENT_MAX: usize = 1_000;
/// Same bound as the seats, so that totals of an event fit a `u32` with room to spare.
pub const POOL_CAPACITY_MAX: u32 = 1_000_000;
/// Section, area and box names on a ticket.
pub const SECTION_NAME_CHARACTERS_MAX: usize = 32;
/// A section's name, a dash and a subsection's number.
pub const ADDRESS_CHARACTERS_MAX: usize = SECTION_NAME_CHARACTERS_MAX + 6;
/// Names people read: inventories, boxes, areas.
pub const NAME_CHARACTERS_MAX: usize = 200;
/// A page of text about an event.
pub const DESCRIPTION_CHARACTERS_MAX: usize = 4_000;
/// A slug: one leading character and 62 more.
pub const SLUG_CHARACTERS_MAX: usize = 63;
/// The caller's reference for a customer.
pub const CUSTOMER_CHARACTERS_MAX: usize = 200;
/// A ticket's printed number.
pub const TICKET_CHARACTERS_MAX: usize = 100;
/// A payment provider's reference, and the reason of a cancellation.
pub const REFERENCE_CHARACTERS_MAX: usize = 500;
/// Bookings that one command of a cancelled event cancels. What is left takes another command, so that no batch is larger.
pub const EVENT_CANCELLATIONS_MAX: usize = 20_000;
/// The caller's own number or name for a booking.
pub const BOOKING_REFERENCE_CHARACTERS_MAX: usize = 64;
/// Metadata is carried, never read.
pub const METADATA_BYTES_MAX: usize = 4 * 1024;
/// A sealed contact: names, mail address and telephone number with room for the seal.
pub const CONTACT_BYTES_MAX: usize = 4 * 1024;
/// A day is the longest that goods may be kept from others without a payment.
pub const HOLD_SECONDS_MAX: u32 = 86_400;
/// Hard ceiling of `max_units_per_booking`; also bounds what one search may pick.
pub const UNITS_PER_BOOKING_MAX: u32 = 1_000;
/// What `max_units_per_booking` is if nobody says otherwise.
pub const UNITS_PER_BOOKING_DEFAULT: u32 = 10;
/// Two years of slots.
pub const SCHEDULE_DAYS_MAX: u16 = 730;
/// A slot every quarter of an hour.
pub const WINDOWS_PER_DAY_MAX: usize = 96;
/// Windows for every day of [`SCHEDULE_DAYS_MAX`] days, and as many past ones or added by hand. Rolling goes on beyond
/// it: past slots stay as long as they are booked, and a museum must not stop selling because it sold for years.
pub const SLOTS_PER_SCHEDULE_MAX: usize = 2 * SCHEDULE_DAYS_MAX as usize * WINDOWS_PER_DAY_MAX;
/// Closed dates of two years, every day named.
pub const CLOSED_DATES_MAX: usize = 1_000;
/// Past slots are kept at most as long as a schedule may look ahead.
pub const KEEP_PAST_DAYS_MAX: u16 = 730;
/// A merchant's boxes since the shop was opened: ten a day for over twenty years.
pub const BOXES_PER_SHOP_MAX: usize = 100_000;
/// Steps of a falling price: one an hour for a month.
pub const PRICE_CURVE_STEPS_MAX: usize = 750;
/// One import fits the 8 MiB body of the API.
pub const TICKETS_PER_IMPORT_MAX: usize = 200_000;
/// Registered tickets of one schedule.
pub const TICKETS_PER_SCHEDULE_MAX: usize = 5_000_000;
/// A price in minor units. A booking of the most units at the highest price stays far below `i64::MAX`.
pub const PRICE_MINOR_UNITS_MAX: i64 = 1_000_000_000_000;
/// Bookings ever made in one inventory, ended ones included.
pub const BOOKINGS_PER_INVENTORY_MAX: usize = 20_000_000;
/// Changes of one booking that a snapshot is believed: one a second for thirty years. Counting on stays far from the end.
pub const BOOKING_VERSION_MAX: u32 = 1_000_000_000;
/// Batches of one inventory that a snapshot is believed: a million a second for over a hundred thousand years.
pub const SEQUENCE_MAX: u64 = 1 << 62;
/// Answers remembered for idempotency keys at one time.
pub const KEYS_PER_INVENTORY_MAX: usize = 20_000_000;
/// Shortest and longest time an answer may be remembered for: see [`crate::command::Idempotency`].
pub const KEY_KEEP_SECONDS_MAX: u32 = 30 * 86_400;
/// Changes that are looked ahead at when a journal is replayed: those of some sixteen bookings, few enough that what was fetched
/// is still there when it is needed.
pub const LOOK_AHEAD_CHANGES: usize = 48;
/// Alternatives offered with a refusal: what a person looks at before asking again.
pub const ALTERNATIVES_MAX: usize = 3;
/// Subsections looked into, beyond the one asked for, for alternatives to seats that are gone.
pub const ALTERNATIVE_SUBSECTIONS_EXAMINED_MAX: usize = 10;
/// Slots looked at, in each direction in time, for alternatives to a full one.
pub const ALTERNATIVE_SLOTS_EXAMINED_MAX: usize = 1_000;
/// Of a customer's bookings, the newest that are looked at for one that is active, to be named in a refusal. Whoever cancels more
/// than that is refused without a name.
pub const OWN_BOOKINGS_EXAMINED_MAX: usize = 1_000;
const _: () = assert!(ROWS_MAX < u16::MAX && COLS_MAX < u16::MAX, "a seat name that is too large is no seat");

const _: () = assert!(COLS_MAX as usize <= ROW_WORDS_MAX * 64);
const _: () = assert!(SUBSECTIONS_PER_EVENT_MAX <= u16::MAX as usize);
const _: () = assert!(AREAS_PER_EVENT_MAX <= u16::MAX as usize);
const _: () = assert!(
    SEATS_PER_EVENT_MAX as u64 + AREAS_PER_EVENT_MAX as u64 * POOL_CAPACITY_MAX as u64 <= u32::MAX as u64
);
const _: () = assert!(UNITS_PER_BOOKING_DEFAULT <= UNITS_PER_BOOKING_MAX);
const _: () = assert!(PRICE_MINOR_UNITS_MAX <= i64::MAX / UNITS_PER_BOOKING_MAX as i64 / 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_computed_is_what_is_documented() {
        assert_eq!(ADDRESS_CHARACTERS_MAX, "-65535".len() + 32);
        assert_eq!(SLOTS_PER_SCHEDULE_MAX, 140_160);
        assert_eq!((METADATA_BYTES_MAX, CONTACT_BYTES_MAX), (4_096, 4_096));
        assert_eq!(KEY_KEEP_SECONDS_MAX, 2_592_000);
    }
}
