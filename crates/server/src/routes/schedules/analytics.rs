//! `GET /v1/schedules/{id}/analytics`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::limits::SLOTS_PER_SCHEDULE_MAX;
use boxoffice_core::pool::Pool;
use boxoffice_core::schedule::Slot;
use boxoffice_core::time::{Date, Minute, SlotId, Timestamp};
use boxoffice_engine::InventoryNumber;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::slots::between;
use super::{KIND, schedule_of};
use crate::app::App;
use crate::caller::RunsSales;
use crate::ids::find_inventory;
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;
use crate::time::{Clock, Day};

/// Of which days, both included.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    #[param(inline)]
    from: Option<Day>,
    #[param(inline)]
    to: Option<Day>,
}

/// How well slots are used; rates in percent, rounded half up to two digits from the exact fraction.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Analytics {
    slots: Vec<SlotUse>,
    days: Vec<DayUse>,
    /// Highest first.
    start_times: Vec<StartUse>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SlotUse {
    id: String,
    date: Day,
    start_time: Clock,
    total_capacity: u32,
    booked_count: u32,
    utilization_rate: f64,
    /// 100 if full, else 0.
    fill_rate: f64,
    /// Places or tickets booked an hour over the last 24, whatever became of their bookings.
    booking_velocity: f64,
    /// The same without bookings that are cancelled by now.
    booking_velocity_net: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct DayUse {
    date: Day,
    utilization_rate: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct StartUse {
    start_time: Clock,
    /// The mean of its slots' rates, whatever their capacities.
    utilization_rate: f64,
}

/// Units booked in one slot during the last [`VELOCITY_HOURS`].
#[derive(Debug, Clone, Copy, Default)]
struct BookedLately {
    units: u32,
    /// Of these, the units of bookings that are cancelled by now.
    cancelled: u32,
}

const VELOCITY_HOURS: u16 = 24;
const HOUR_MS: i64 = 3_600_000;
const READ_AT_ONCE: usize = 1_000;

/// Shows how well slots are used: by slot, by day and by time of day.
///
/// For `admin` and `operator`.
#[utoipa::path(
    get,
    path = "/v1/schedules/{id}/analytics",
    tag = "schedules",
    operation_id = "schedule_analytics",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        Wanted,
    ),
    responses(
        (status = 200, description = "Rates in percent.", body = Analytics),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
    ),
)]
pub(crate) async fn analytics(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let stock = app.engine.view(number).await?;
    let booked = booked_lately(&app, number).await?;
    let slots: Vec<(SlotId, &Slot)> = between(schedule_of(&stock, &id)?, wanted.from, wanted.to)?.collect();
    Ok(json(StatusCode::OK, &Analytics::of(&slots, &booked), false))
}

/// Units booked in the last hours, by slot.
async fn booked_lately(app: &App, number: InventoryNumber) -> Result<HashMap<SlotId, BookedLately>, Problem> {
    let since = Timestamp(app.engine.now().0 - i64::from(VELOCITY_HOURS) * HOUR_MS);
    let mut booked: HashMap<SlotId, BookedLately> = HashMap::new();
    let mut before = usize::MAX;
    loop {
        let older = |place: usize, _: &Booking| place < before;
        let page = app.engine.bookings_before(number, READ_AT_ONCE, older).await?;
        for (place, booking) in &page {
            if booking.created_at < since {
                return Ok(booked);
            }
            if let Units::Slot { slot, quantity, .. } = &booking.units {
                booked.entry(*slot).or_default().add(*quantity, booking.status);
            }
            before = *place;
        }
        if page.len() < READ_AT_ONCE {
            return Ok(booked);
        }
    }
}

impl BookedLately {
    fn add(&mut self, quantity: u32, status: Status) {
        self.units += quantity;
        if let Status::Cancelled { .. } = status {
            self.cancelled += quantity;
        }
    }
}

impl Analytics {
    fn of(slots: &[(SlotId, &Slot)], booked: &HashMap<SlotId, BookedLately>) -> Analytics {
        let mut days: BTreeMap<Date, Vec<Pool>> = BTreeMap::new();
        let mut start_times: BTreeMap<Minute, Vec<Pool>> = BTreeMap::new();
        for (id, slot) in slots {
            days.entry(id.date).or_default().push(slot.pool);
            start_times.entry(id.start).or_default().push(slot.pool);
        }
        let one = |(id, slot): &(SlotId, &Slot)| {
            let booked = booked.get(id).copied().unwrap_or_default();
            SlotUse {
                id: id.to_string(),
                date: Day(id.date),
                start_time: Clock(id.start),
                total_capacity: slot.pool.capacity,
                booked_count: slot.pool.booked(),
                utilization_rate: utilization(&[slot.pool]),
                fill_rate: if slot.pool.available() == 0 { 100.0 } else { 0.0 },
                booking_velocity: an_hour(booked.units),
                booking_velocity_net: an_hour(booked.units - booked.cancelled),
            }
        };
        let mut start_times: Vec<StartUse> = start_times
            .into_iter()
            .map(|(start, pools)| StartUse {
                start_time: Clock(start),
                utilization_rate: mean_utilization(&pools),
            })
            .collect();
        start_times.sort_by(|one, other| other.utilization_rate.total_cmp(&one.utilization_rate));
        let day = |(date, pools): (Date, Vec<Pool>)| DayUse {
            date: Day(date),
            utilization_rate: utilization(&pools),
        };
        Analytics {
            slots: slots.iter().map(one).collect(),
            days: days.into_iter().map(day).collect(),
            start_times,
        }
    }
}

fn an_hour(units: u32) -> f64 {
    f64::from(units) / f64::from(VELOCITY_HOURS)
}

/// Percent in hundredths.
const WHOLE: u128 = 10_000;
/// Binary digits behind the point of a mean.
const MEAN_BITS: u32 = 96;
const _: () = assert!((SLOTS_PER_SCHEDULE_MAX as u128) < (u128::MAX / (2 * WHOLE + 1)) >> MEAN_BITS);

/// Booked places of all, in percent.
fn utilization(pools: &[Pool]) -> f64 {
    let booked: u128 = pools.iter().map(|pool| u128::from(pool.booked())).sum();
    let capacity: u128 = pools.iter().map(|pool| u128::from(pool.capacity)).sum();
    percent(booked, capacity)
}

/// The mean of the pools' rates, in percent.
///
/// Pools of equal capacity are summed exactly. Each of the `k` different capacities then loses less than one unit of 2^-96, and `k` units are
/// added, so that a mean exactly between two hundredths is rounded up. The sum of rates whose mean is less than that is less by at least
/// 1 / (20,000 L), where `L` is the least common multiple of the capacities: the result is exact if 20,000 k L < 2^96. That holds for any
/// three capacities up to 1,000,000, and for all capacities up to 50 together.
fn mean_utilization(pools: &[Pool]) -> f64 {
    let mut booked_by_capacity: BTreeMap<u32, u128> = BTreeMap::new();
    for pool in pools {
        *booked_by_capacity.entry(pool.capacity).or_default() += u128::from(pool.booked());
    }
    booked_by_capacity.remove(&0);
    let fraction = |(&capacity, &booked): (&u32, &u128)| {
        let capacity = u128::from(capacity);
        ((booked / capacity) << MEAN_BITS) + ((booked % capacity) << MEAN_BITS) / capacity
    };
    let sum = booked_by_capacity.iter().map(fraction).sum::<u128>() + booked_by_capacity.len() as u128;
    percent(sum, (pools.len() as u128) << MEAN_BITS)
}

/// A fraction in percent, rounded half up to two digits; 0 of nothing.
fn percent(part: u128, whole: u128) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    let hundredths = (2 * WHOLE * part + whole) / (2 * whole);
    f64::from(u32::try_from(hundredths).expect("no more than all is booked")) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(booked_of_capacity: &[(u32, u32)]) -> Vec<Pool> {
        let pool = |&(sold, capacity): &(u32, u32)| Pool { capacity, held: 0, sold };
        booked_of_capacity.iter().map(pool).collect()
    }

    #[test]
    fn utilization_of_pools_is_sum_over_sum_rounded_half_up_once() {
        let rows: [(&[(u32, u32)], f64); 10] = [
            (&[], 0.0),
            (&[(0, 6)], 0.0),
            (&[(1, 6)], 16.67),
            (&[(45, 200)], 22.5),
            (&[(1, 800)], 0.13),
            (&[(3, 800)], 0.38),
            (&[(1, 20_000)], 0.01),
            (&[(1, 20_001)], 0.0),
            (&[(999_949, 1_000_000), (1_000_000, 1_000_000)], 100.0),
            (&[(45, 200), (2, 2), (0, 10)], 22.17),
        ];
        for (booked, percent) in rows {
            assert_eq!(utilization(&pools(booked)), percent, "{booked:?}");
        }
    }

    #[test]
    fn utilization_of_a_start_time_is_the_exact_mean_rounded_half_up_once() {
        let rows: [(&[(u32, u32)], f64); 11] = [
            (&[], 0.0),
            (&[(0, 6), (0, 7)], 0.0),
            (&[(1, 6), (0, 6)], 8.33),
            (&[(1, 2), (0, 50)], 25.0),
            (&[(6, 6), (7, 7), (1_000_000, 1_000_000)], 100.0),
            // Exactly half a hundredth, and less.
            (&[(1, 10_000), (0, 7)], 0.01),
            (&[(0, 10_000), (99, 999_999)], 0.0),
            // Exactly 25.005 and 33.335, of rates that have no end in binary; then a little less.
            (&[(1, 3), (2, 7), (55_063, 420_000)], 25.01),
            (&[(1, 3), (2, 7), (110_125, 840_000)], 25.0),
            (&[(1, 3), (2, 7), (160_021, 420_000)], 33.34),
            (&[(1, 3), (2, 7), (320_041, 840_000)], 33.33),
        ];
        for (booked, percent) in rows {
            assert_eq!(mean_utilization(&pools(booked)), percent, "{booked:?}");
        }
    }

    #[test]
    fn mean_of_many_slots_of_the_largest_capacity_has_room() {
        let full = vec![Pool { capacity: 1_000_000, held: 0, sold: 1_000_000 }; SLOTS_PER_SCHEDULE_MAX];
        assert_eq!((mean_utilization(&full), utilization(&full)), (100.0, 100.0));
    }

    #[test]
    fn velocity_counts_units_and_net_leaves_out_cancelled_ones() {
        let at = Timestamp(0);
        let mut booked = BookedLately::default();
        booked.add(5, Status::OnHold { expires_at: at });
        booked.add(4, Status::Cancelled { confirmed_at: None, cancelled_at: at });
        booked.add(3, Status::Confirmed { confirmed_at: at });
        booked.add(2, Status::Expired { expires_at: at });
        booked.add(1, Status::Redeemed { confirmed_at: at, redeemed_at: at });
        assert_eq!((an_hour(booked.units), an_hour(booked.units - booked.cancelled)), (0.625, 11.0 / 24.0));
    }
}
