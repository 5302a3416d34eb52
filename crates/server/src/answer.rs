//! From the engine's answer to HTTP: one table for all refusals.

use axum::http::StatusCode;
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::refusal::{Refusal, RefusalKind, SeatAlternative, SlotAlternative};
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
        Refusal::IdempotencyKeyReused => plain("This Idempotency-Key was used for another request."),
        Refusal::IdempotencyKeyRequired => plain("This inventory demands an Idempotency-Key."),
        Refusal::InvalidRequest { pointer, message } => Problem::invalid(pointer, message.clone()),
        Refusal::EventNotFound => plain("There is no such event."),
        Refusal::ScheduleNotFound => plain("There is no such schedule."),
        Refusal::ShopNotFound => plain("There is no such shop."),
        Refusal::AlreadyExists => {
            plain("This id is taken, also if its event was deleted. Choose another one.")
        }
        Refusal::Overloaded => {
            let mut problem = plain("A limit of this inventory is reached.");
            problem.retry_after = Some(60);
            problem
        }
        Refusal::BookingNotFound => plain("There is no such booking."),
        Refusal::AlreadyConfirmed => plain("It was confirmed with another payment reference."),
        Refusal::NotConfirmable => plain("Only a hold can be confirmed."),
        Refusal::Forbidden => plain("There is something to pay, and this key may not take money."),
        Refusal::HoldExpired => plain("The hold is over."),
        Refusal::NotExtendable => plain("Only a hold can be extended."),
        Refusal::HoldLimitReached => plain("The hold may not last that long after its creation."),
        Refusal::NotCancellable => {
            plain("A booking that is redeemed, even in part, or expired cannot be cancelled.")
        }
        Refusal::NotMovable => plain("This booking cannot be moved."),
        Refusal::AlreadyRedeemed { redeemed_at } => {
            plain("It was redeemed before.").with("redeemed_at", json!(Moment(*redeemed_at)))
        }
        Refusal::NotRedeemable => plain("Only a confirmed booking can be redeemed."),
        Refusal::NotRedeemed => plain("It was not redeemed."),
        Refusal::NotInBooking { unit } => problem(format!("{unit} is not in this booking.")),
        Refusal::WrongCode => plain("This is not the booking's code."),
        Refusal::WrongDate => plain("The slot is on another day."),
        Refusal::WrongTime { opens_at, closes_at } => {
            plain("It cannot be redeemed at this time. An operator may send `force: true`.")
                .with("opens_at", json!(opens_at.map(Moment)))
                .with("closes_at", json!(closes_at.map(Moment)))
        }
        Refusal::BookingIdTaken => plain("A booking of this id exists."),
        Refusal::TooManyUnits { most } => {
            problem(format!("A booking may have at most {most} units here.")).with("most", (*most).into())
        }
        Refusal::SectionNotFound { section } => problem(format!("There is no section {section:?}.")),
        Refusal::SeatNotFound { section, row, seat } => {
            problem(format!("Section {section} has no seat {row}-{seat}."))
        }
        Refusal::DuplicateSeat { seat } => {
            problem(format!("Seat {} is asked for twice.", seat_words(stock, *seat)))
        }
        Refusal::AreaNotFound { area } => problem(format!("There is no area {area:?}.")),
        Refusal::SlotNotFound => plain("There is no such slot."),
        Refusal::BoxNotFound => plain("There is no such box."),
        Refusal::InventoryClosed => plain("Sales are closed, or the event was cancelled."),
        Refusal::SalesNotOpen { opens_at } => {
            plain("Sales are not open yet.").with("opens_at", json!(Moment(*opens_at)))
        }
        Refusal::SalesClosed { closed_at } => {
            plain("Sales are closed.").with("closed_at", json!(Moment(*closed_at)))
        }
        Refusal::SlotPast => plain("The slot is over."),
        Refusal::SlotClosed => plain("The slot is closed."),
        Refusal::PickupWindowClosed => plain("It can no longer be collected."),
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
            problem(format!("Ticket {ticket} was used.")).with("ticket", json!(ticket))
        }
        Refusal::TicketAlreadyReserved { ticket, booking } => {
            problem(format!("Ticket {ticket} is in another booking."))
                .with("ticket", json!(ticket))
                .with("booking", own(Some(*booking), caller))
        }
        Refusal::TicketNotReserved { ticket } => ticket_not_reserved(ticket),
        Refusal::ActiveReservationExists { booking } => {
            plain("The customer has an active booking here.").with("booking", own(*booking, caller))
        }
        Refusal::CustomerLimitReached { booking } => {
            plain("The customer has reached a limit here.").with("booking", own(*booking, caller))
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
            plain("Some of these seats are not free.")
                .with("conflicts", conflicts.into())
                .with("alternatives", seat_alternatives(stock, alternatives))
        }
        Refusal::OrphanSeat { orphans, alternatives } => {
            let orphans: Vec<Value> = orphans.iter().map(|&seat| seat_value(stock, seat)).collect();
            plain("This would leave a single seat that nobody buys.")
                .with("orphans", orphans.into())
                .with("alternatives", seat_alternatives(stock, alternatives))
        }
        Refusal::NotEnoughSeats { available } => {
            plain("Not that many seats are free.").with("available", (*available).into())
        }
        Refusal::NotAdjacent => plain("Enough seats are free, but not side by side."),
        Refusal::AreaFull { area, available } => {
            problem(format!("Area {area:?} has {available} places left."))
                .with("available", (*available).into())
        }
        Refusal::SlotFull { available, alternatives } | Refusal::NewSlotFull { available, alternatives } => {
            let alternatives: Vec<Value> = alternatives.iter().map(slot_alternative).collect();
            problem(format!("The slot has {available} places left."))
                .with("available", (*available).into())
                .with("alternatives", alternatives.into())
        }
        Refusal::BoxUnavailable => plain("None are left, or sales of it are closed."),
        Refusal::InsufficientInventory { available } => {
            problem(format!("Only {available} are left.")).with("available", (*available).into())
        }
        Refusal::SlotAlreadyExists => plain("A slot starts then."),
        Refusal::CannotCreatePastSlot => plain("The slot would be over already."),
        Refusal::CapacityBelowBookedCount { booked } => {
            problem(format!("{booked} places are booked.")).with("booked_count", (*booked).into())
        }
        Refusal::SlotHasBookings => plain("Places in it are booked."),
        Refusal::EventHasBookings => {
            plain("The event has bookings, also if they ended. Cancel the event instead.")
        }
    }
}

/// A ticket that has no booking on hold or confirmed.
pub(crate) fn ticket_not_reserved(ticket: &str) -> Problem {
    let detail = format!("Ticket {ticket} is not in a booking that is on hold or confirmed.");
    Problem::new(StatusCode::CONFLICT, "TICKET_NOT_RESERVED", detail).with("ticket", json!(ticket))
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
