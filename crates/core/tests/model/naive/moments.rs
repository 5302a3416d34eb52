//! When something happens by itself, or stops being allowed.

use boxoffice_core::booking::Status;
use boxoffice_core::time::{Date, Minute, Timestamp};

use super::calendar::moment_of;
use super::{Model, Stock};

impl Model {
    /// The first moment at which somebody must look after the inventory: a hold ends, a day's slots are to be made,
    /// an answer was kept long enough.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let kept = self.keys.values().map(|kept| kept.keep_until);
        self.holds_end().chain(kept).chain(self.next_roll()).min()
    }

    /// All moments worth being near, in order.
    pub(crate) fn moments(&self) -> Vec<Timestamp> {
        let mut moments: Vec<Timestamp> = self.holds_end().chain(self.next_roll()).collect();
        moments.extend(self.keys.values().map(|kept| kept.keep_until));
        let sales = self.terms.as_ref().map(|terms| terms.sales).unwrap_or_default();
        moments.extend(sales.opens_at);
        moments.extend(sales.closes_at);
        match &self.stock {
            Stock::Nothing => {}
            Stock::Event(hall) => {
                moments.extend(hall.info.doors_open_at.into_iter().chain(hall.info.ends_at));
            }
            Stock::Schedule(calendar) => {
                moments.extend(calendar.slots.values().map(|slot| slot.ends_at));
                moments.extend(calendar.tickets.values().filter_map(|ticket| ticket.expires_at));
            }
            Stock::Shop(shelves) => {
                for shelf in shelves {
                    moments.extend(
                        shelf.pickup.into_iter().flat_map(|pickup| [pickup.starts_at, pickup.ends_at]),
                    );
                    moments.extend(shelf.price_curve.iter().map(|step| step.at));
                }
            }
        }
        moments.sort();
        moments.dedup();
        moments
    }

    fn holds_end(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.bookings.values().filter_map(|booking| match booking.status {
            Status::OnHold { expires_at } => Some(expires_at),
            Status::Confirmed { .. }
            | Status::Redeemed { .. }
            | Status::Cancelled { .. }
            | Status::Expired { .. } => None,
        })
    }

    /// The first midnight after which fewer days are made than the pattern has.
    fn next_roll(&self) -> Option<Timestamp> {
        let Stock::Schedule(calendar) = &self.stock else { return None };
        let last_full_day = calendar.rolled_through.0 - (i32::from(calendar.pattern.days) - 1);
        Some(moment_of(Date(last_full_day + 1), Minute(0)))
    }
}
