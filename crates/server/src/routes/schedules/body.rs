//! Schedules and slots as the API shows them.

use boxoffice_core::rules::Terms;
use boxoffice_core::schedule::{Pattern, Slot, SlotAvailability, SlotStatus};
use boxoffice_core::time::{SlotId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::rules::{RulesBody, SalesBody, StatusWord};
use crate::time::{Clock, Day, Moment};

/// A schedule, without its slots.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleBody {
    id: String,
    name: String,
    timezone: String,
    currency: String,
    status: StatusWord,
    sales: SalesBody,
    rules: RulesBody,
    windows: Vec<WindowBody>,
    days: u16,
    weekdays: Vec<u8>,
    closed_dates: Vec<Day>,
    keep_past_days: u16,
    sequence: u64,
}

/// One slot of every day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Window)]
struct WindowBody {
    start: Clock,
    end: Clock,
    capacity: u32,
    /// Of one place, in minor units of the currency (cents).
    price: i64,
}

impl ScheduleBody {
    pub(crate) fn new(terms: &Terms, timezone: &str, pattern: &Pattern, sequence: u64) -> ScheduleBody {
        let windows = pattern.windows.iter().map(|window| WindowBody {
            start: Clock(window.start),
            end: Clock(window.end),
            capacity: window.capacity,
            price: window.price.0,
        });
        ScheduleBody {
            id: terms.id.clone(),
            name: terms.name.clone(),
            timezone: timezone.to_owned(),
            currency: terms.currency.as_str().to_owned(),
            status: StatusWord::of(terms.status),
            sales: SalesBody::of(terms.sales),
            rules: RulesBody::of(&terms.rules),
            windows: windows.collect(),
            days: pattern.days,
            weekdays: pattern.weekdays.iter().copied().collect(),
            closed_dates: pattern.closed_dates.iter().copied().map(Day).collect(),
            keep_past_days: pattern.keep_past_days,
            sequence,
        }
    }
}

/// A slot, and what is left of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Slot)]
pub(crate) struct SlotBody {
    #[schema(example = "2026-12-01T09:00")]
    id: String,
    date: Day,
    start_time: Clock,
    end_time: Clock,
    #[schema(value_type = String, format = DateTime)]
    starts_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    ends_at: Moment,
    total_capacity: u32,
    /// Held and confirmed places.
    booked_count: u32,
    available_count: u32,
    /// Of one place, in minor units of the currency (cents).
    price: i64,
    status: SlotStatusWord,
    availability: AvailabilityWord,
    /// Only in the answer to a change of this slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sequence: Option<u64>,
}

/// What a slot is, whatever the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = SlotStatus)]
enum SlotStatusWord {
    Active,
    Full,
    Closed,
}

/// What to tell somebody who looks for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = SlotAvailability)]
enum AvailabilityWord {
    Available,
    Limited,
    Full,
    Closed,
}

impl SlotBody {
    pub(crate) fn new(id: SlotId, slot: &Slot, now: Timestamp) -> SlotBody {
        SlotBody {
            id: id.to_string(),
            date: Day(id.date),
            start_time: Clock(id.start),
            end_time: Clock(slot.end),
            starts_at: Moment(slot.starts_at),
            ends_at: Moment(slot.ends_at),
            total_capacity: slot.pool.capacity,
            booked_count: slot.pool.booked(),
            available_count: slot.pool.available(),
            price: slot.price.0,
            status: match slot.status() {
                SlotStatus::Active => SlotStatusWord::Active,
                SlotStatus::Full => SlotStatusWord::Full,
                SlotStatus::Closed => SlotStatusWord::Closed,
            },
            availability: match slot.availability(now) {
                SlotAvailability::Available => AvailabilityWord::Available,
                SlotAvailability::Limited => AvailabilityWord::Limited,
                SlotAvailability::Full => AvailabilityWord::Full,
                SlotAvailability::Closed => AvailabilityWord::Closed,
            },
            sequence: None,
        }
    }
}
