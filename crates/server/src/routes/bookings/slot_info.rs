//! When the slot of a booking is, and on request how full it is.

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::time::{Minute, SlotId};
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::view::{KindView, StockView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::time::{Clock, Day, Moment};

/// When the slot of a booking is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SlotInfo {
    date: Day,
    start_time: Clock,
    end_time: Clock,
    #[schema(value_type = String, format = DateTime)]
    starts_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    ends_at: Moment,
    /// Held and confirmed places as of the answer's `sequence`. Only with `?expand=slot`; `null` if that sequence is too long ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    booked_count: Option<Option<u32>>,
    /// Places that are left as of the answer's `sequence`. Only with `?expand=slot`; `null` if that sequence is too long ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    available_count: Option<Option<u32>>,
}

/// How full a slot is; `None` if that cannot be told any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SlotCounts {
    booked: Option<u32>,
    available: Option<u32>,
}

/// What else an answer shows.
#[derive(Debug, Clone, Copy, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Expansion {
    /// `slot` adds `booked_count` and `available_count` to `slot_info`.
    #[param(inline)]
    pub(crate) expand: Option<Expand>,
}

/// What can be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expand {
    Slot,
}

impl SlotInfo {
    /// Of a slot of a schedule, by the time at which it ended when it was booked: the slot may be gone, or another one may be in its
    /// place.
    pub(super) fn new(stock: &StockView, id: SlotId, end: Minute) -> Option<SlotInfo> {
        let KindView::Schedule(schedule) = &stock.kind else { return None };
        let slot = schedule.slots.get(&id).filter(|slot| slot.end == end);
        let (starts_at, ends_at) = match slot {
            Some(slot) => (slot.starts_at, slot.ends_at),
            None => (schedule.zone.moment(id.date, id.start), schedule.zone.moment(id.date, end)),
        };
        Some(SlotInfo {
            date: Day(id.date),
            start_time: Clock(id.start),
            end_time: Clock(end),
            starts_at: Moment(starts_at),
            ends_at: Moment(ends_at),
            booked_count: None,
            available_count: None,
        })
    }

    /// Says how full the slot is.
    pub(super) fn set_counts(&mut self, counts: SlotCounts) {
        self.booked_count = Some(counts.booked);
        self.available_count = Some(counts.available);
    }
}

impl SlotCounts {
    fn of(stock: &StockView, booking: &Booking) -> Option<SlotCounts> {
        let (KindView::Schedule(schedule), Units::Slot { slot, end, .. }) = (&stock.kind, &booking.units)
        else {
            return None;
        };
        let slot = schedule.slots.get(slot).filter(|slot| slot.end == *end)?;
        Some(SlotCounts { booked: Some(slot.pool.booked()), available: Some(slot.pool.available()) })
    }
}

impl Expansion {
    /// What is asked for, from the stock as of the answer's sequence.
    pub(crate) fn of(self, stock: Option<&StockView>, booking: &Booking) -> Option<SlotCounts> {
        self.expand
            .map(|Expand::Slot| stock.and_then(|stock| SlotCounts::of(stock, booking)).unwrap_or_default())
    }

    /// What is asked for, as of a sequence of the past.
    pub(crate) async fn as_of(
        self,
        app: &App,
        inventory: InventoryNumber,
        sequence: u64,
        booking: &Booking,
    ) -> Option<SlotCounts> {
        self.expand?;
        let stock = match booking.units {
            Units::Slot { .. } => app.engine.stock_at(inventory, sequence).await,
            Units::Event { .. } | Units::Box { .. } => None,
        };
        self.of(stock.as_deref(), booking)
    }
}
