//! The journal as the API shows it: every change under its name, with who asked for it and when.

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::change::{BoxProperties, Change};
use boxoffice_core::event::EventPlan;
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::ids::Actor;
use boxoffice_core::money::PriceStep;
use boxoffice_core::rules::Terms;
use boxoffice_core::schedule::{Pattern, Slot, Ticket};
use boxoffice_core::seats::Seat;
use boxoffice_core::shop::{PickupBox, PickupWindow};
use boxoffice_core::time::{SlotId, Timestamp};
use boxoffice_engine::SubscriptionError;
use boxoffice_engine::view::{KindView, StockView};
use serde_json::{Value, json};

use crate::answer::seat_value;
use crate::ids::uuid;
use crate::problem::Problem;
use crate::routes::bookings::{area_name, box_id};
use crate::rules::{RulesBody, SalesBody, StatusWord};
use crate::time::{Clock, Day, Moment};

/// Who asked for a change, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) at: Timestamp,
    /// `None` for what fell due by itself, and for callers without a key.
    pub(crate) by: Option<Actor>,
}

/// The changes of a batch, each with its heading. The headings themselves are no changes.
pub(crate) fn headed(changes: &[Change]) -> impl Iterator<Item = (Heading, &Change)> {
    let mut heading = Heading { at: Timestamp::default(), by: None };
    changes.iter().filter_map(move |change| {
        if let Change::Act { at, by } = change {
            heading = Heading { at: *at, by: Some(*by).filter(|by| *by != Actor::default()) };
            return None;
        }
        Some((heading, change))
    })
}

/// A change's name and what there is to say about it. `stock` names seats, areas and boxes; contacts are never shown.
pub(crate) fn described(change: &Change, stock: &StockView) -> (&'static str, Value) {
    let seats =
        |seats: &[Seat]| -> Value { seats.iter().map(|&seat| seat_value(Some(stock), seat)).collect() };
    match change {
        Change::Act { at, .. } => ("act", json!({ "at": Moment(*at) })),
        Change::EventCreated(plan) => ("event_created", event_plan(plan)),
        Change::ScheduleCreated(plan) => ("schedule_created", {
            let mut data = terms(&plan.terms);
            data["timezone"] = json!(plan.timezone);
            data["pattern"] = pattern(&plan.pattern);
            data
        }),
        Change::ShopCreated(plan) => ("shop_created", {
            let mut data = terms(&plan.terms);
            data["timezone"] = json!(plan.timezone);
            data
        }),
        Change::TermsPatched(changed) => ("terms_changed", terms(changed)),
        Change::EventInfoPatched(info) => ("event_info_changed", Value::Object(event_info(info))),
        Change::PricesPatched { sections, areas } => ("prices_changed", {
            let sections: Value = sections
                .iter()
                .map(|(section, price)| json!({ "name": section_name(stock, *section), "price": price.0 }))
                .collect();
            let areas: Value = areas
                .iter()
                .map(|(area, price)| json!({ "name": area_name(stock, *area), "price": price.0 }))
                .collect();
            json!({ "sections": sections, "areas": areas })
        }),
        Change::SeatsBlocked(blocked) => ("seats_blocked", json!({ "seats": seats(blocked) })),
        Change::SeatsUnblocked(unblocked) => ("seats_unblocked", json!({ "seats": seats(unblocked) })),
        Change::PatternPatched(changed) => ("pattern_changed", json!({ "pattern": pattern(changed) })),
        Change::SlotsAdded(slots) => {
            ("slots_added", json!({ "slots": slots.iter().map(slot).collect::<Value>() }))
        }
        Change::SlotsRemoved(slots) => {
            ("slots_removed", json!({ "slots": slots.iter().map(SlotId::to_string).collect::<Value>() }))
        }
        Change::SlotPatched { slot, closed, capacity, price } => (
            "slot_changed",
            json!({
                "slot": slot.to_string(),
                "closed": closed,
                "total_capacity": capacity,
                "price": price.0,
            }),
        ),
        Change::RolledThrough(date) => ("slots_rolled", json!({ "through": Day(*date) })),
        Change::BoxAdded(boxed) => ("box_added", box_added(boxed)),
        Change::BoxPatched(properties) => ("box_changed", box_changed(properties, stock)),
        Change::TicketsImported(tickets) => {
            ("tickets_imported", json!({ "tickets": tickets.iter().map(ticket).collect::<Value>() }))
        }
        Change::Booked(booking) => ("booked", booked(booking, stock)),
        Change::Confirmed { booking, payment_reference } => {
            ("confirmed", json!({ "booking": uuid(*booking), "payment_reference": payment_reference }))
        }
        Change::Revived { booking, from, units: now, redeem_code: _, payment_reference } => (
            "confirmed_late",
            json!({
                "booking": uuid(*booking),
                "payment_reference": payment_reference,
                "from": units(from, stock),
                "to": units(now, stock),
            }),
        ),
        Change::Extended { booking, expires_at } => {
            ("extended", json!({ "booking": uuid(*booking), "expires_at": Moment(*expires_at) }))
        }
        Change::Cancelled { booking, reason } => {
            ("cancelled", json!({ "booking": uuid(*booking), "reason": reason }))
        }
        Change::Moved { booking, from, units: now } => (
            "moved",
            json!({ "booking": uuid(*booking), "from": units(from, stock), "to": units(now, stock) }),
        ),
        Change::Redeemed { booking, forced } => {
            ("redeemed", json!({ "booking": uuid(*booking), "forced": forced }))
        }
        Change::PartRedeemed { booking, part, redeemed_quantity, forced } => (
            "redeemed_in_part",
            json!({
                "booking": uuid(*booking),
                "units": units(part, stock),
                "redeemed_quantity": redeemed_quantity,
                "forced": forced,
            }),
        ),
        Change::Unredeemed { booking, part, redeemed_quantity, redeem_code: _, reason } => (
            "unredeemed",
            json!({
                "booking": uuid(*booking),
                "units": part.as_ref().map(|part| units(part, stock)),
                "redeemed_quantity": redeemed_quantity,
                "reason": reason,
            }),
        ),
        Change::Expired { booking } => ("expired", json!({ "booking": uuid(*booking) })),
        Change::ContactForgotten { customer } => ("contact_forgotten", json!({ "customer": customer })),
        Change::Remembered { keep_until, .. } => {
            ("answer_remembered", json!({ "keep_until": Moment(*keep_until) }))
        }
        Change::EventCancelled { reason } => ("event_cancelled", json!({ "reason": reason })),
        Change::EventDeleted => ("event_deleted", json!({})),
        Change::KeysForgotten { through } => ("answers_forgotten", json!({ "through": Moment(*through) })),
    }
}

fn terms(terms: &Terms) -> Value {
    json!({
        "id": terms.id,
        "name": terms.name,
        "currency": terms.currency.as_str(),
        "status": StatusWord::of(terms.status),
        "sales": SalesBody::of(terms.sales),
        "rules": RulesBody::of(&terms.rules),
    })
}

fn event_plan(plan: &EventPlan) -> Value {
    let sections = plan.sections.iter().map(|section| {
        let subsections = section.subsections.iter().map(|subsection| {
            let blocked: Vec<String> = subsection.blocked.iter().map(ToString::to_string).collect();
            json!({
                "number": subsection.number,
                "rows": subsection.rows,
                "cols": subsection.cols,
                "blocked": blocked,
            })
        });
        json!({
            "name": section.name,
            "price": section.price.0,
            "subsections": subsections.collect::<Value>(),
        })
    });
    let areas = plan.areas.iter();
    let areas =
        areas.map(|area| json!({ "name": area.name, "price": area.price.0, "capacity": area.capacity }));
    let mut data = terms(&plan.terms);
    if let Some(data) = data.as_object_mut() {
        data.extend(event_info(&plan.info));
    }
    data["sections"] = sections.collect();
    data["areas"] = areas.collect();
    data
}

fn event_info(info: &EventInfo) -> serde_json::Map<String, Value> {
    let fields = [
        ("starts_at", json!(info.starts_at.map(Moment))),
        ("doors_open_at", json!(info.doors_open_at.map(Moment))),
        ("ends_at", json!(info.ends_at.map(Moment))),
        ("timezone", json!(info.timezone)),
        ("venue", json!(info.venue)),
        ("description", json!(info.description)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn pattern(pattern: &Pattern) -> Value {
    let windows = pattern.windows.iter().map(|window| {
        json!({
            "start": Clock(window.start),
            "end": Clock(window.end),
            "capacity": window.capacity,
            "price": window.price.0,
        })
    });
    json!({
        "windows": windows.collect::<Value>(),
        "days": pattern.days,
        "weekdays": pattern.weekdays,
        "closed_dates": pattern.closed_dates.iter().map(|date| json!(Day(*date))).collect::<Value>(),
        "keep_past_days": pattern.keep_past_days,
    })
}

fn slot((id, slot): &(SlotId, Slot)) -> Value {
    json!({
        "id": id.to_string(),
        "starts_at": Moment(slot.starts_at),
        "ends_at": Moment(slot.ends_at),
        "total_capacity": slot.pool.capacity,
        "price": slot.price.0,
    })
}

fn ticket((id, ticket): &(std::sync::Arc<str>, Ticket)) -> Value {
    let status = if ticket.active { "active" } else { "inactive" };
    json!({ "id": id, "status": status, "expires_at": ticket.expires_at.map(Moment) })
}

fn pickup(window: Option<PickupWindow>) -> Value {
    window.map_or(
        Value::Null,
        |window| json!({ "starts_at": Moment(window.starts_at), "ends_at": Moment(window.ends_at) }),
    )
}

fn price_curve(steps: &[PriceStep]) -> Value {
    steps.iter().map(|step| json!({ "at": Moment(step.at), "price": step.price.0 })).collect()
}

fn box_added(boxed: &PickupBox) -> Value {
    json!({
        "id": boxed.id,
        "name": boxed.name,
        "quantity": boxed.pool.capacity,
        "price": boxed.price.0,
        "pickup": pickup(boxed.pickup),
        "price_curve": price_curve(&boxed.price_curve),
        "closed": boxed.closed,
    })
}

fn box_changed(properties: &BoxProperties, stock: &StockView) -> Value {
    json!({
        "id": box_id(stock, properties.number),
        "name": properties.name,
        "quantity": properties.quantity,
        "price": properties.price.0,
        "pickup": pickup(properties.pickup),
        "price_curve": price_curve(&properties.price_curve),
        "closed": properties.closed,
    })
}

fn booked(booking: &Booking, stock: &StockView) -> Value {
    let status = match booking.status {
        Status::OnHold { .. } => "on_hold",
        Status::Confirmed { .. } => "confirmed",
        Status::Redeemed { .. } => "redeemed",
        Status::Cancelled { .. } => "cancelled",
        Status::Expired { .. } => "expired",
    };
    let metadata: Option<Value> = booking.metadata().and_then(|bytes| serde_json::from_slice(bytes).ok());
    json!({
        "booking": uuid(booking.id),
        "customer": booking.customer,
        "reference": booking.reference(),
        "status": status,
        "units": units(&booking.units, stock),
        "total_price": booking.total_price().0,
        "expires_at": booking.deadline().map(Moment),
        "payment_reference": booking.payment_reference(),
        "metadata": metadata,
    })
}

fn units(units: &Units, stock: &StockView) -> Value {
    match units {
        Units::Event { seats, areas } => {
            let seats = seats.iter().map(|claim| {
                let mut seat = seat_value(Some(stock), claim.seat);
                seat["price"] = claim.price.0.into();
                seat
            });
            let areas = areas.iter().map(|claim| {
                json!({
                    "name": area_name(stock, claim.area),
                    "quantity": claim.quantity,
                    "price": claim.price.0,
                })
            });
            json!({ "seats": seats.collect::<Value>(), "areas": areas.collect::<Value>() })
        }
        Units::Slot { slot, end: _, quantity, price, tickets } => {
            json!({ "slot": slot.to_string(), "quantity": quantity, "price": price.0, "tickets": tickets })
        }
        Units::Box { number, quantity, price } => {
            json!({ "box": box_id(stock, *number), "quantity": quantity, "price": price.0 })
        }
    }
}

fn section_name(stock: &StockView, section: u16) -> &str {
    match &stock.kind {
        KindView::Event(event) => {
            event.sections.get(usize::from(section)).map_or("?", |section| &section.name)
        }
        KindView::Schedule(_) | KindView::Shop(_) => "?",
    }
}

/// The journal could not be read on.
pub(crate) fn unreadable(error: SubscriptionError) -> Problem {
    match error {
        SubscriptionError::Gone { after, first } => {
            let detail = format!("The journal no longer has what comes after sequence {after}.");
            Problem::not_found("JOURNAL_CUT", detail).with("first_sequence", json!(first))
        }
        SubscriptionError::Overloaded => {
            Problem::unavailable("OVERLOADED", "Too many others read the journal; try again.", 1)
        }
        SubscriptionError::Stopped => Problem::unavailable("UNAVAILABLE", "The server is stopping.", 2),
        SubscriptionError::Store(error) => Problem::from(error),
        SubscriptionError::Damaged(error) => {
            tracing::error!(%error, "the journal cannot be read");
            Problem::unavailable("UNAVAILABLE", "The stored data cannot be read.", 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use boxoffice_core::ids::BookingId;

    use super::*;

    #[test]
    fn every_change_stands_under_the_last_heading_before_it() {
        let id = BookingId::from_bytes([7; 16]);
        let changes = [
            Change::Act { at: Timestamp(1), by: Actor(0) },
            Change::Expired { booking: id },
            Change::Act { at: Timestamp(2), by: Actor(5) },
            Change::Redeemed { booking: id, forced: false },
            Change::KeysForgotten { through: Timestamp(0) },
        ];
        let rows: Vec<(Heading, bool)> =
            headed(&changes).map(|(heading, change)| (heading, change.booking().is_some())).collect();
        let by_itself = Heading { at: Timestamp(1), by: None };
        let by_five = Heading { at: Timestamp(2), by: Some(Actor(5)) };
        assert_eq!(rows, [(by_itself, true), (by_five, true), (by_five, false)]);
    }
}
