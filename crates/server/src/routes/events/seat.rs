//! `GET /v1/events/{id}/seats/{section}/{seat}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::event::{SeatName, Section};
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_engine::view::EventView;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{KIND, event_of};
use crate::app::App;
use crate::caller::Caller;
use crate::ids::{find_inventory, uuid};
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;
use crate::routes::bookings::new_booking::not_a_seat;
use crate::time::Moment;

/// One seat, and the booking that has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Seat)]
pub(crate) struct SeatBody {
    #[schema(example = "A-1")]
    section: String,
    #[schema(example = "1-4")]
    seat: String,
    state: SeatStateWord,
    /// What it costs now, in minor units of the currency (cents).
    price: i64,
    /// The booking that has it, for callers who may see that booking.
    #[schema(required)]
    booking: Option<Uuid>,
    /// When its hold ends, while it is held.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    hold_expires_at: Option<Moment>,
    /// The sequence of the event as of which all this holds: it grows with each change of the seat, and with those of other seats.
    version: u64,
}

/// What a seat is.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = SeatState)]
#[serde(rename_all = "snake_case")]
enum SeatStateWord {
    Available,
    Held,
    Sold,
    Blocked,
}

impl SeatStateWord {
    fn of(state: SeatState) -> SeatStateWord {
        match state {
            SeatState::Available => SeatStateWord::Available,
            SeatState::Held => SeatStateWord::Held,
            SeatState::Sold => SeatStateWord::Sold,
            SeatState::Blocked => SeatStateWord::Blocked,
        }
    }
}

/// Shows one seat.
#[utoipa::path(
    get,
    path = "/v1/events/{id}/seats/{section}/{seat}",
    tag = "events",
    operation_id = "show_seat",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        ("section" = String, Path, description = "The subsection.", example = "A-1"),
        ("seat" = String, Path, description = "Row and number.", example = "1-4"),
    ),
    responses(
        (status = 200, description = "The seat as of the last commit.", body = SeatBody),
        (status = 400, description = "`INVALID_REQUEST`: the seat is not named as row and number"),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SECTION_NOT_FOUND`, `SEAT_NOT_FOUND`"),
    ),
)]
pub(crate) async fn seat(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((id, section, name)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let stock = app.engine.view(number).await?;
    let wanted = find_seat(event_of(&stock, &id)?, &section, &name)?;

    let (stock, holder) = app.engine.seat_holder(number, wanted).await?;
    let event = event_of(&stock, &id)?;
    let subsection = &event.subsections[usize::from(wanted.subsection)];
    let hold_expires_at = holder.as_ref().and_then(|booking| booking.deadline()).map(Moment);
    let body = SeatBody {
        state: SeatStateWord::of(subsection.state(wanted.row, wanted.number)),
        price: section_of(event, wanted).price.0,
        section,
        seat: format!("{}-{}", wanted.row, wanted.number),
        booking: holder.filter(|booking| caller.sees(booking)).map(|booking| uuid(booking.id)),
        hold_expires_at,
        version: stock.sequence,
    };
    Ok(json(StatusCode::OK, &body, false))
}

fn section_of(event: &EventView, seat: Seat) -> &Section {
    let mut sections = event.sections.iter();
    sections.find(|section| section.subsections.contains(&seat.subsection)).expect("each belongs to one")
}

fn find_seat(event: &EventView, section: &str, name: &str) -> Result<Seat, Problem> {
    let subsections = (0u16..).zip(event.subsections.iter());
    let found = subsections.into_iter().find(|(_, subsection)| *subsection.address == *section);
    let (index, subsection) = found.ok_or_else(|| {
        Problem::not_found("SECTION_NOT_FOUND", format!("There is no section {section:?}."))
    })?;
    let named: SeatName = name.parse().map_err(|()| not_a_seat("/seat", name))?;
    if !(1..=subsection.rows).contains(&named.row) || !(1..=subsection.cols).contains(&named.number) {
        let detail = format!("There is no seat {name} in section {section}.");
        return Err(Problem::not_found("SEAT_NOT_FOUND", detail));
    }
    Ok(Seat { subsection: index, row: named.row, number: named.number })
}
