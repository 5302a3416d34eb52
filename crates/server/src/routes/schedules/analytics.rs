//! `GET /v1/schedules/{id}/analytics`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::booking::{Booking, Units};
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

/// How well slots are used; rates in percent.
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
    /// Bookings an hour over the last 24.
    booking_velocity: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct DayUse {
    date: Day,
    utilization_rate: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct StartUse {
    start_time: Clock,
    utilization_rate: f64,
}

const VELOCITY_HOURS: i64 = 24;
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
    let made = made_lately(&app, number).await?;
    let slots: Vec<(SlotId, &Slot)> = between(schedule_of(&stock, &id)?, wanted.from, wanted.to)?.collect();
    Ok(json(StatusCode::OK, &Analytics::of(&slots, &made), false))
}

/// Bookings made in the last hours, by slot.
async fn made_lately(app: &App, number: InventoryNumber) -> Result<HashMap<SlotId, u32>, Problem> {
    let since = Timestamp(app.engine.now().0 - VELOCITY_HOURS * HOUR_MS);
    let mut made = HashMap::new();
    let mut before = usize::MAX;
    loop {
        let older = |place: usize, _: &Booking| place < before;
        let page = app.engine.bookings_before(number, READ_AT_ONCE, older).await?;
        for (place, booking) in &page {
            if booking.created_at < since {
                return Ok(made);
            }
            if let Units::Slot { slot, .. } = &booking.units {
                *made.entry(*slot).or_default() += 1;
            }
            before = *place;
        }
        if page.len() < READ_AT_ONCE {
            return Ok(made);
        }
    }
}

impl Analytics {
    fn of(slots: &[(SlotId, &Slot)], made: &HashMap<SlotId, u32>) -> Analytics {
        let mut days: BTreeMap<Date, Vec<&Slot>> = BTreeMap::new();
        let mut start_times: BTreeMap<Minute, Vec<&Slot>> = BTreeMap::new();
        for (id, slot) in slots {
            days.entry(id.date).or_default().push(slot);
            start_times.entry(id.start).or_default().push(slot);
        }
        let one = |(id, slot): &(SlotId, &Slot)| SlotUse {
            id: id.to_string(),
            date: Day(id.date),
            start_time: Clock(id.start),
            total_capacity: slot.pool.capacity,
            booked_count: slot.pool.booked(),
            utilization_rate: utilization(&[slot]),
            fill_rate: if slot.pool.available() == 0 { 100.0 } else { 0.0 },
            booking_velocity: f64::from(made.get(id).copied().unwrap_or(0)) / VELOCITY_HOURS as f64,
        };
        let mut start_times: Vec<StartUse> = start_times
            .into_iter()
            .map(|(start, slots)| {
                let mean = slots.iter().map(|slot| utilization(&[slot])).sum::<f64>() / slots.len() as f64;
                StartUse { start_time: Clock(start), utilization_rate: rounded(mean) }
            })
            .collect();
        start_times.sort_by(|one, other| other.utilization_rate.total_cmp(&one.utilization_rate));
        let day = |(date, slots): (Date, Vec<&Slot>)| DayUse {
            date: Day(date),
            utilization_rate: utilization(&slots),
        };
        Analytics {
            slots: slots.iter().map(one).collect(),
            days: days.into_iter().map(day).collect(),
            start_times,
        }
    }
}

/// Booked places of all, in percent.
fn utilization(slots: &[&Slot]) -> f64 {
    let sum = |count: fn(&Slot) -> u32| slots.iter().map(|slot| f64::from(count(slot))).sum::<f64>();
    let capacity = sum(|slot| slot.pool.capacity);
    if capacity == 0.0 { 0.0 } else { rounded(sum(|slot| slot.pool.booked()) / capacity * 100.0) }
}

/// To two decimals.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
