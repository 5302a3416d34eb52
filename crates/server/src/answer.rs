//! From the engine's answer to HTTP: one table for all refusals.

use axum::http::StatusCode;
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::refusal::{BoxUnavailability, Refusal, RefusalKind, SeatAlternative, SlotAlternative};
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_engine::Answer;
use boxoffice_engine::view::{KindView, StockView};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::ids::uuid;
use crate::problem::Problem;
use crate::time::Moment;

/// What was granted, or the refusal as a problem. `stock` names the seats in it.
pub(crate) fn granted<'a>(
    answer: &'a Answer,
    stock: Option<&StockView>,
    caller: &Caller,
) -> Result<&'a Grant, Problem> {
    match &answer.outcome {
        Outcome::Granted(grant) => Ok(grant),
        Outcome::Refused(refusal) => {
            let mut problem = problem_of(refusal, stock, caller);
            problem.more.insert("sequence".to_owned(), answer.sequence.into());
            problem.replayed = answer.replayed;
            Err(problem)
        }
    }
}

/// The status of a refusal.
pub(crate) fn status_of(kind: RefusalKind) -> StatusCode {
    match kind {
        RefusalKind::Invalid => StatusCode::BAD_REQUEST,
        RefusalKind::Forbidden => StatusCode::FORBIDDEN,
        RefusalKind::NotFound => StatusCode::NOT_FOUND,
        RefusalKind::Conflict => StatusCode::CONFLICT,
        RefusalKind::Gone => StatusCode::GONE,
        RefusalKind::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        RefusalKind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn problem_of(refusal: &Refusal, stock: Option<&StockView>, caller: &Caller) -> Problem {
    let problem = |detail: String| Problem::new(status_of(refusal.kind()), refusal.code(), detail);
    let plain = |detail: &'static str| Problem::new(status_of(refusal.kind()), refusal.code(), detail);
    match refusal {
        Refusal::IdempotencyKeyReused => {
            plain("This Idempotency-Key was used for another request. Use a new one.")
        }
        Refusal::IdempotencyKeyRequired => plain("Bookings here need an Idempotency-Key header."),
        Refusal::InvalidRequest { pointer, message } => Problem::invalid(pointer, message.clone()),
        Refusal::EventNotFound => plain("There is no such event."),
        Refusal::ScheduleNotFound => plain("There is no such schedule."),
        Refusal::ShopNotFound => plain("There is no such shop."),
        Refusal::AlreadyExists => {
            plain("This id is taken; the id of a deleted event stays taken. Choose another id.")
        }
        Refusal::Overloaded => {
            let mut problem = plain("This inventory has reached its maximum size. Nothing was changed.");
            problem.retry_after = Some(60);
            problem
        }
        Refusal::BookingNotFound => plain("There is no such booking."),
        Refusal::AlreadyConfirmed => {
            plain("The booking is already confirmed with another payment reference.")
        }
        Refusal::NotConfirmable => plain("Only a booking with status `on_hold` can be confirmed."),
        Refusal::Forbidden => plain("The booking has a price, and this API key may not take payments."),
        Refusal::HoldExpired => plain("The hold has expired."),
        Refusal::NotExtendable => plain("Only a booking with status `on_hold` can be extended."),
        Refusal::HoldLimitReached => {
            plain("The hold would last longer than the rule `max_hold_seconds` allows.")
        }
        Refusal::NotCancellable => {
            plain("An expired, redeemed or partly redeemed booking cannot be cancelled.")
        }
        Refusal::NotMovable => plain("This booking cannot be moved."),
        Refusal::AlreadyRedeemed { redeemed_at } => {
            plain("Already redeemed at `redeemed_at`.").with("redeemed_at", json!(Moment(*redeemed_at)))
        }
        Refusal::NotRedeemable => plain("Only a confirmed booking can be redeemed."),
        Refusal::NotRedeemed => plain("The booking, or the unit named, was not redeemed."),
        Refusal::NotInBooking { unit } => problem(format!("{unit} is not in this booking.")),
        Refusal::WrongCode => plain("The redeem code does not match this booking."),
        Refusal::WrongDate => plain("The slot of this booking is on another day."),
        Refusal::WrongTime { opens_at, closes_at } => plain(
            "Redemption is only possible from `opens_at` to `closes_at`. An operator may send `force: true`.",
        )
        .with("opens_at", json!(opens_at.map(Moment)))
        .with("closes_at", json!(closes_at.map(Moment))),
        Refusal::BookingIdTaken => plain("A booking with this id already exists."),
        Refusal::TooManyUnits { most } => {
            problem(format!("A booking here may have at most {}.", count(*most, "unit")))
                .with("most", (*most).into())
        }
        Refusal::SectionNotFound { section } => problem(format!("There is no section {section:?}.")),
        Refusal::SeatNotFound { section, row, seat } => {
            problem(format!("Section {section} has no seat {row}-{seat}."))
        }
        Refusal::DuplicateSeat { seat } => {
            problem(format!("Seat {} is requested twice.", seat_words(stock, *seat)))
        }
        Refusal::AreaNotFound { area } => problem(format!("There is no area {area:?}.")),
        Refusal::SlotNotFound => plain("There is no such slot."),
        Refusal::BoxNotFound => plain("There is no such box."),
        Refusal::InventoryClosed => plain("Sales are closed by the operator, or the event was cancelled."),
        Refusal::SalesNotOpen { opens_at } => plain("Sales are not open yet; they open at `opens_at`.")
            .with("opens_at", json!(Moment(*opens_at))),
        Refusal::SalesClosed { closed_at } => {
            plain("Sales closed at `closed_at`.").with("closed_at", json!(Moment(*closed_at)))
        }
        Refusal::SlotPast => plain("The slot has ended."),
        Refusal::SlotClosed => plain("The operator closed this slot."),
        Refusal::PickupWindowClosed => plain("The pickup window of this box has ended."),
        Refusal::TicketNotFound { ticket } => {
            problem(format!("Ticket {ticket} is not registered.")).with("ticket", json!(ticket))
        }
        Refusal::TicketNotActive { ticket } => {
            problem(format!("Ticket {ticket} is not active.")).with("ticket", json!(ticket))
        }
        Refusal::TicketExpired { ticket } => {
            problem(format!("Ticket {ticket} has expired.")).with("ticket", json!(ticket))
        }
        Refusal::TicketAlreadyUsed { ticket } => {
            problem(format!("Ticket {ticket} was already used.")).with("ticket", json!(ticket))
        }
        Refusal::TicketAlreadyReserved { ticket, booking } => {
            problem(format!("Ticket {ticket} is in another booking."))
                .with("ticket", json!(ticket))
                .with("booking", own(Some(*booking), caller))
        }
        Refusal::TicketNotReserved { ticket } => ticket_not_reserved(ticket),
        Refusal::ActiveReservationExists { booking } => {
            plain("The customer already has an active booking here, and only one is allowed.")
                .with("booking", own(*booking, caller))
        }
        Refusal::CustomerLimitReached { booking } => {
            plain("The customer has as many units or active bookings here as the rules allow.")
                .with("booking", own(*booking, caller))
        }
        Refusal::SeatUnavailable { conflicts, alternatives } => {
            let conflicts: Vec<Value> = conflicts
                .iter()
                .map(|conflict| {
                    let mut seat = seat_value(stock, conflict.seat);
                    seat["reason"] = state_word(conflict.reason).into();
                    seat
                })
                .collect();
            plain("Some of these seats are not available. See `conflicts`.")
                .with("conflicts", conflicts.into())
                .with("alternatives", seat_alternatives(stock, alternatives))
        }
        Refusal::OrphanSeat { orphans, alternatives } => {
            let orphans: Vec<Value> = orphans.iter().map(|&seat| seat_value(stock, seat)).collect();
            plain("This would leave a single free seat between taken ones. See `orphans`.")
                .with("orphans", orphans.into())
                .with("alternatives", seat_alternatives(stock, alternatives))
        }
        Refusal::NotEnoughSeats { available } => {
            problem(format!("Not enough seats: {available} left.")).with("available", (*available).into())
        }
        Refusal::NotAdjacent => plain("Enough seats are free, but not next to each other."),
        Refusal::AreaFull { area, available } => {
            problem(format!("Area {area:?} has {} left.", count(*available, "place")))
                .with("available", (*available).into())
        }
        Refusal::SlotFull { available, alternatives } | Refusal::NewSlotFull { available, alternatives } => {
            let alternatives: Vec<Value> = alternatives.iter().map(slot_alternative).collect();
            problem(format!("The slot has {} left.", count(*available, "place")))
                .with("available", (*available).into())
                .with("alternatives", alternatives.into())
        }
        Refusal::BoxUnavailable { reason } => {
            let (word, detail) = match reason {
                BoxUnavailability::SoldOut => ("sold_out", "This box is sold out."),
                BoxUnavailability::Closed => ("closed", "The operator closed sales of this box."),
            };
            plain(detail).with("reason", word.into())
        }
        Refusal::InsufficientInventory { available } => {
            problem(format!("Not enough boxes: {available} left.")).with("available", (*available).into())
        }
        Refusal::SlotAlreadyExists => plain("A slot with this start time already exists."),
        Refusal::CannotCreatePastSlot => plain("The slot would already have ended."),
        Refusal::CapacityBelowBookedCount { booked } => {
            problem(format!("The capacity is below what is booked: {}.", count(*booked, "unit")))
                .with("booked_count", (*booked).into())
        }
        Refusal::SlotHasBookings => plain("The slot has bookings. Cancel or move them first."),
        Refusal::EventHasBookings => plain("The event has bookings, or had some. Cancel the event instead."),
    }
}

/// A ticket that has no booking on hold or confirmed.
pub(crate) fn ticket_not_reserved(ticket: &str) -> Problem {
    let detail = format!("Ticket {ticket} is not in a booking that is on hold or confirmed.");
    Problem::new(StatusCode::CONFLICT, "TICKET_NOT_RESERVED", detail).with("ticket", json!(ticket))
}

/// A number with its noun: "1 seat", "2 seats".
fn count(number: u32, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Browsers share a key: what it made is not this one's.
fn own(booking: Option<boxoffice_core::ids::BookingId>, caller: &Caller) -> Value {
    let shown = booking.filter(|_| caller.may_take_money());
    shown.map_or(Value::Null, |id| uuid(id).to_string().into())
}

pub(crate) fn state_word(state: SeatState) -> &'static str {
    match state {
        SeatState::Available => "available",
        SeatState::Held => "held",
        SeatState::Sold => "sold",
        SeatState::Blocked => "blocked",
    }
}

/// The address of a seat's subsection.
pub(crate) fn address(stock: Option<&StockView>, subsection: u16) -> &str {
    match stock.map(|stock| &stock.kind) {
        Some(KindView::Event(event)) => {
            event.subsections.get(usize::from(subsection)).map_or("?", |subsection| &subsection.address)
        }
        _ => "?",
    }
}

pub(crate) fn seat_value(stock: Option<&StockView>, seat: Seat) -> Value {
    json!({ "section": address(stock, seat.subsection), "seat": format!("{}-{}", seat.row, seat.number) })
}

fn seat_words(stock: Option<&StockView>, seat: Seat) -> String {
    format!("{} {}-{}", address(stock, seat.subsection), seat.row, seat.number)
}

fn seat_alternatives(stock: Option<&StockView>, alternatives: &[SeatAlternative]) -> Value {
    let one = |alternative: &SeatAlternative| {
        let seats: Vec<Value> = alternative.seats.iter().map(|&seat| seat_value(stock, seat)).collect();
        json!({
            "seats": seats,
            "adjacent": alternative.adjacent,
            "total_price": alternative.total_price.0,
        })
    };
    alternatives.iter().map(one).collect()
}

fn slot_alternative(alternative: &SlotAlternative) -> Value {
    json!({
        "slot": alternative.slot.to_string(),
        "starts_at": Moment(alternative.starts_at),
        "available_count": alternative.available_count,
    })
}

#[cfg(test)]
mod tests {
    use boxoffice_core::ids::Actor;

    use super::*;
    use crate::keys::Role;

    fn detail(refusal: &Refusal) -> String {
        let caller = Caller {
            tenant: "default".into(),
            role: Role::Admin,
            actor: Actor::default(),
            key: None,
            hold_token: None,
            address: None,
        };
        problem_of(refusal, None, &caller).detail.into_owned()
    }

    #[test]
    fn details_count_in_singular_and_plural() {
        let area = |available| Refusal::AreaFull { area: "standing".into(), available };
        let slot = |available| Refusal::SlotFull { available, alternatives: Vec::new() };
        for (refusal, expected) in [
            (area(0), "Area \"standing\" has 0 places left."),
            (area(1), "Area \"standing\" has 1 place left."),
            (area(2), "Area \"standing\" has 2 places left."),
            (slot(1), "The slot has 1 place left."),
            (slot(21), "The slot has 21 places left."),
            (Refusal::NewSlotFull { available: 1, alternatives: Vec::new() }, "The slot has 1 place left."),
            (Refusal::TooManyUnits { most: 1 }, "A booking here may have at most 1 unit."),
            (Refusal::TooManyUnits { most: 10 }, "A booking here may have at most 10 units."),
            (Refusal::NotEnoughSeats { available: 1 }, "Not enough seats: 1 left."),
            (Refusal::InsufficientInventory { available: 1 }, "Not enough boxes: 1 left."),
            (
                Refusal::CapacityBelowBookedCount { booked: 1 },
                "The capacity is below what is booked: 1 unit.",
            ),
            (
                Refusal::CapacityBelowBookedCount { booked: 3 },
                "The capacity is below what is booked: 3 units.",
            ),
        ] {
            assert_eq!(detail(&refusal), expected);
        }
    }
}
