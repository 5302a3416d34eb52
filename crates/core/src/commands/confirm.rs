//! Pays a hold.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use super::book::{BestAvailable, best_seats, check_again, check_collectable};
use crate::booking::{Booking, SeatClaim, Status, Units};
use crate::change::Change;
use crate::characters::{TextKind, refuse_invisible};
use crate::event::Event;
use crate::ids::{BookingId, check_text};
use crate::inventory::Inventory;
use crate::limits::REFERENCE_CHARACTERS_MAX;
use crate::money::Money;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::LatePayment;
use crate::seats::{Seat, SeatState};
use crate::time::Timestamp;

/// Pays a hold. A live hold is confirmed, unless it is on a box whose pickup window is over; a late payment is a matter of policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    /// Which.
    pub booking: BookingId,
    /// Of the payment.
    pub payment_reference: Option<Arc<str>>,
    /// What to do if the hold is over; otherwise the inventory's rule decides.
    pub if_expired: Option<LatePayment>,
    /// Only if there is nothing to pay: for callers who may not take money.
    pub free_only: bool,
}

impl Confirm {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        if let Some(reference) = &self.payment_reference {
            check_text(reference, REFERENCE_CHARACTERS_MAX, "/payment_reference")?;
            refuse_invisible(reference, TextKind::Identifier, "/payment_reference")?;
        }
        let booking = inventory.find_booking(self.booking)?;
        let reply = Reply::Booking(self.booking);
        let may_confirm = || {
            if self.free_only && booking.total_price() > Money::ZERO {
                Err(Refusal::Forbidden)
            } else {
                Ok(())
            }
        };
        match booking.status {
            Status::OnHold { .. } => {
                may_confirm()?;
                check_collectable(inventory, now, booking)?;
                let payment_reference = self.payment_reference.clone();
                Ok(Decision::one(Change::Confirmed { booking: self.booking, payment_reference }, reply))
            }
            Status::Confirmed { .. } if booking.payment_reference() == self.payment_reference.as_ref() => {
                Ok(Decision::nothing(reply))
            }
            Status::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            Status::Cancelled { .. } | Status::Redeemed { .. } => Err(Refusal::NotConfirmable),
            Status::Expired { .. } => {
                may_confirm()?;
                let units = self.units_again(inventory, now, booking)?;
                let change = Change::Revived {
                    booking: self.booking,
                    from: Box::new(booking.units.clone()),
                    units: Box::new(units),
                    redeem_code: inventory.free_code(booking.redeem_code),
                    payment_reference: self.payment_reference.clone(),
                };
                Ok(Decision::one(change, reply))
            }
        }
    }

    /// The units of a hold that is over, if the policy lets them be taken again and they can be.
    fn units_again(
        &self,
        inventory: &Inventory,
        now: Timestamp,
        booking: &Booking,
    ) -> Result<Units, Refusal> {
        let terms = inventory.terms().expect("bookings are in inventories that exist");
        match self.if_expired.unwrap_or(terms.rules.late_payment) {
            LatePayment::Fail => Err(Refusal::HoldExpired),
            LatePayment::SameUnits => {
                check_again(inventory, now, booking)?;
                Ok(booking.units.clone())
            }
            LatePayment::Equivalent => match (check_again(inventory, now, booking), &booking.units) {
                (Err(gone @ Refusal::SeatUnavailable { .. }), Units::Event { seats, areas }) => {
                    let event = inventory.event()?;
                    let seats = equivalent_seats(event, seats).ok_or(gone)?;
                    for claim in areas {
                        super::book::check_area(event, claim)?;
                    }
                    Ok(Units::Event { seats, areas: areas.clone() })
                }
                (checked, units) => checked.map(|()| units.clone()),
            },
        }
    }
}

/// As many seats in the same sections at the same prices: the old ones where a section has them all, else the best.
fn equivalent_seats(event: &Event, old: &[SeatClaim]) -> Option<Box<[SeatClaim]>> {
    let section = |claim: &SeatClaim| event.subsections[usize::from(claim.seat.subsection)].section;
    let mut seats = Vec::with_capacity(old.len());
    for claims in old.chunk_by(|one, other| section(one) == section(other)) {
        if claims.iter().all(|claim| event.seats.state(claim.seat) == SeatState::Available) {
            seats.extend_from_slice(claims);
            continue;
        }
        let best = BestAvailable {
            quantity: u32::try_from(claims.len()).expect("units per booking are bounded"),
            section: Some(event.sections[usize::from(section(&claims[0]))].name.clone()),
            adjacent_required: false,
        };
        let found: Vec<Seat> = best_seats(event, &best).ok()?;
        seats.extend(
            found.into_iter().zip(claims).map(|(seat, claim)| SeatClaim { seat, price: claim.price }),
        );
    }
    Some(seats.into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::commands::{Book, Destination, PatchEvent, PatchSchedule, PatchSlot};
    use crate::rules::{RulesPatch, TicketRule};
    use crate::shop::PickupWindow;
    use crate::testing::{
        Reached, Scene, add_box, bakery, block, book, cancel, code, confirm, hall, id, move_to, museum,
        one_section, redeem, second, slot, window,
    };

    #[test]
    fn holds_are_confirmed_in_time() {
        table();
    }

    #[test]
    fn late_payments_of_seats_follow_the_policy() {
        late_seats_table();
    }

    #[test]
    fn late_payments_of_places_and_boxes_follow_the_policy() {
        late_pools_table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::of(one_section(1, 4));
        scene.row(confirm("b1"), "BOOKING_NOT_FOUND");
        scene.row(book("b1", "ann").best(2), "on hold A-1 1-1,1-2 for 2000 until 900");
        scene.row(confirm("b1").reference(""), "INVALID_REQUEST /payment_reference");
        scene.row(confirm("b1").reference(&"p".repeat(501)), "INVALID_REQUEST /payment_reference");
        let free_only = |label: &str| Confirm { free_only: true, ..confirm(label) };
        scene.row(free_only("b1"), "FORBIDDEN");
        scene.at(899).row(confirm("b1").reference("pay-1"), "confirmed A-1 1-1,1-2 for 2000");
        scene.shows("A-1 ss..");
        let sellout = scene.inventory.event().unwrap().sellout;
        assert_eq!((sellout.first_sale_at, sellout.sold_out_at), (Some(second(899)), None));
        let booking = scene.inventory.booking(id("b1")).unwrap();
        assert_eq!(
            (booking.payment_reference().map(|reference| &**reference), booking.version),
            (Some("pay-1"), 2)
        );
        assert_eq!(booking.status, Status::Confirmed { confirmed_at: second(899) });
        scene.row(confirm("b1").reference("pay-1"), "confirmed A-1 1-1,1-2 for 2000");
        assert_eq!(scene.inventory.booking(id("b1")).unwrap().version, 2);
        scene.row(confirm("b1").reference("pay-2"), "ALREADY_CONFIRMED");
        scene.row(confirm("b1"), "ALREADY_CONFIRMED");
        scene.row(redeem("b1"), "redeemed A-1 1-1,1-2 for 2000");
        scene.row(confirm("b1").reference("pay-1"), "NOT_CONFIRMABLE");
        scene.row(book("b2", "ann").best(1).for_seconds(10), "on hold A-1 1-3 for 1000 until 909");
        scene.row(cancel("b2"), "cancelled A-1 1-3 for 1000");
        scene.row(confirm("b2"), "NOT_CONFIRMABLE");
        scene.row(book("b3", "ann").best(1).for_seconds(10), "on hold A-1 1-3 for 1000 until 909");
        scene.row(book("b4", "ann").best(1).for_seconds(10), "on hold A-1 1-4 for 1000 until 909");
        let sellout = scene.inventory.event().unwrap().sellout;
        assert_eq!(sellout.sold_out_at, None, "what is held is not sold yet");
        scene.at(909).row(confirm("b3"), "HOLD_EXPIRED");
        scene.row(confirm("b3").if_expired(LatePayment::Fail), "HOLD_EXPIRED");
        let late = Confirm { free_only: true, ..confirm("b3").if_expired(LatePayment::SameUnits) };
        scene.row(late, "FORBIDDEN");
        scene.shows("A-1 ss..");
        let gratis =
            PatchEvent { section_prices: vec![("A".to_owned(), Money::ZERO)], ..PatchEvent::default() };
        scene.row(Action::PatchEvent(Box::new(gratis)), "event Open: 2 free, 0 held, 2 sold, 0 blocked");
        scene.row(book("b5", "ann").best(1), "on hold A-1 1-3 for 0 until 1809");
        scene.row(free_only("b5"), "confirmed A-1 1-3 for 0");
        scene.reached
    }

    pub(crate) fn late_seats_table() -> Reached {
        let lenient = RulesPatch {
            late_payment: Some(LatePayment::SameUnits),
            max_active_bookings_per_customer: Some(Some(1)),
            ..RulesPatch::default()
        };
        let create = hall(&[("A-1", 1, 3), ("A-2", 1, 4), ("B-1", 1, 2)]).with_area("standing", 2);
        let mut scene = Scene::of(create.with_rules(lenient).with_sales(None, Some(500)));
        let all = "A-1 1-1,1-2 B-1 1-1 + standing x2 for 5000";
        let hold = book("b1", "ann").seats("A-1", "1-1 1-2").seats("B-1", "1-1").standing("standing", 2);
        scene.row(hold, &format!("on hold {all} until 900"));
        // The inventory's rule, after the end of sales: the hold was made in time.
        scene.at(901).row(confirm("b1").reference("pay-1"), &format!("confirmed {all}"));
        scene.shows("A-1 ss.\nA-2 ....\nB-1 s.\nstanding 0h 2s");
        let booking = scene.inventory.booking(id("b1")).unwrap();
        assert_eq!(
            (booking.payment_reference().map(|reference| &**reference), booking.version),
            (Some("pay-1"), 3)
        );
        scene.row(confirm("b1").reference("pay-1"), &format!("confirmed {all}"));
        scene.row(cancel("b1"), &format!("cancelled {all}"));
        let mut reached = scene.reached;

        // The units were given to others meanwhile.
        let lenient = RulesPatch { late_payment: Some(LatePayment::SameUnits), ..RulesPatch::default() };
        let create = hall(&[("A-1", 1, 3), ("A-2", 1, 4), ("B-1", 1, 2)]).with_area("standing", 2);
        let mut scene = Scene::of(create.with_rules(lenient));
        scene.row(
            book("b1", "ann")
                .seats("A-1", "1-1 1-2")
                .seats("B-1", "1-1")
                .standing("standing", 1)
                .for_seconds(10),
            "on hold A-1 1-1,1-2 B-1 1-1 + standing x1 for 4500 until 10",
        );
        scene.at(10);
        let taken = Book { redeem_code: code("b1"), ..book("b2", "bob").seats("A-1", "1-2").for_seconds(50) };
        scene.row(taken, "on hold A-1 1-2 for 1000 until 60");
        scene.row(confirm("b1"), "SEAT_UNAVAILABLE A-1 1-2 Held; or A-2 1-1,1-2,1-3 for 3000");
        scene.row(confirm("b1").if_expired(LatePayment::Fail), "HOLD_EXPIRED");
        let dearer =
            PatchEvent { section_prices: vec![("A".to_owned(), Money(9_000))], ..PatchEvent::default() };
        scene.row(Action::PatchEvent(Box::new(dearer)), "event Open: 10 free, 1 held, 0 sold, 0 blocked");
        // As many in the same section at the old price: two together are in the other subsection.
        scene.row(
            confirm("b1").if_expired(LatePayment::Equivalent),
            "confirmed A-2 1-1,1-2 B-1 1-1 + standing x1 for 4500",
        );
        let booking = scene.inventory.booking(id("b1")).unwrap();
        assert_ne!(booking.redeem_code, code("b1"), "its code has another owner now");
        scene.shows("A-1 .h.\nA-2 ss..\nB-1 s.\nstanding 0h 1s");
        reached.refusals.extend(scene.reached.refusals);

        // All units count for the customer's limit again, seats and standing places.
        let limited = RulesPatch { max_units_per_customer: Some(Some(4)), ..RulesPatch::default() };
        let mut scene = Scene::of(one_section(1, 9).with_area("standing", 9).with_rules(limited));
        scene.row(
            book("b1", "ann").best(2).standing("standing", 1).for_seconds(10),
            "on hold A-1 1-1,1-2 + standing x1 for 2500 until 10",
        );
        scene.at(10).row(book("b2", "ann").best(2), "on hold A-1 1-1,1-2 for 2000 until 910");
        scene.row(confirm("b1").if_expired(LatePayment::Equivalent), "CUSTOMER_LIMIT_REACHED b2");
        scene.row(cancel("b2"), "cancelled A-1 1-1,1-2 for 2000");
        scene.row(book("b3", "ann").best(1), "on hold A-1 1-1 for 1000 until 910");
        scene.row(
            confirm("b1").if_expired(LatePayment::Equivalent),
            "confirmed A-1 1-2,1-3 + standing x1 for 2500",
        );

        // Nothing equivalent is left in the section, in the area, or at all.
        let mut scene = Scene::of(hall(&[("A-1", 1, 3), ("B-1", 1, 9)]).with_area("standing", 1));
        scene.row(
            book("b1", "ann").seats("A-1", "1-1 1-2").standing("standing", 1).for_seconds(10),
            "on hold A-1 1-1,1-2 + standing x1 for 2500 until 10",
        );
        scene.at(10).row(block("A-1", "1-1 1-2"), "event Open: 11 free, 0 held, 0 sold, 2 blocked");
        let equivalent = || confirm("b1").if_expired(LatePayment::Equivalent);
        scene.row(equivalent(), "SEAT_UNAVAILABLE A-1 1-1 Blocked, A-1 1-2 Blocked; or B-1 1-1,1-2 for 4000");
        scene.row(crate::testing::unblock("A-1", "1-1"), "event Open: 12 free, 0 held, 0 sold, 1 blocked");
        scene.row(
            book("b2", "bob").standing("standing", 1).for_seconds(10),
            "on hold standing x1 for 500 until 20",
        );
        scene.row(equivalent(), "AREA_FULL standing 0 left");
        scene.row(crate::testing::unblock("A-1", "1-2"), "event Open: 12 free, 1 held, 0 sold, 0 blocked");
        scene.row(equivalent(), "AREA_FULL standing 0 left");
        scene.row(confirm("b1").if_expired(LatePayment::SameUnits), "AREA_FULL standing 0 left");
        let open = |open| {
            let mut patch = PatchEvent::default();
            patch.terms.open = Some(open);
            Action::PatchEvent(Box::new(patch))
        };
        scene.at(20).row(open(false), "event Closed: 13 free, 0 held, 0 sold, 0 blocked");
        scene.row(equivalent(), "INVENTORY_CLOSED");
        scene.row(open(true), "event Open: 13 free, 0 held, 0 sold, 0 blocked");
        scene.row(equivalent(), "confirmed A-1 1-1,1-2 + standing x1 for 2500");
        reached.refusals.extend(scene.reached.refusals);
        reached
    }

    pub(crate) fn late_pools_table() -> Reached {
        let nine = "2026-12-01T09:00";
        let same = |label: &str| confirm(label).if_expired(LatePayment::SameUnits);
        let mut scene = Scene::of(museum());
        scene.row(
            book("b1", "ann").tickets(nine, "T1 T2").for_seconds(10),
            "on hold 2026-12-01T09:00 T1,T2 for 200 until 10",
        );
        scene.at(10).row(
            book("b2", "bob").tickets(nine, "T2").for_seconds(10),
            "on hold 2026-12-01T09:00 T2 for 100 until 20",
        );
        scene.row(same("b1"), "TICKET_ALREADY_RESERVED T2");
        scene.at(20).row(
            book("b3", "cy").places(nine, 3).for_seconds(10),
            "on hold 2026-12-01T09:00 x3 for 300 until 30",
        );
        scene.row(same("b1"), "SLOT_FULL 1 left; or 2026-12-01T12:00 with 4; or 2026-12-02T09:00 with 4; or 2026-12-02T12:00 with 4");
        scene.at(30);
        let closed = |closed| {
            Action::PatchSlot(PatchSlot {
                slot: slot(nine),
                closed: Some(closed),
                capacity: None,
                price: None,
            })
        };
        scene.row(closed(true), "2026-12-01T09:00 until 12:00 closed, 4 of 4 left");
        scene.row(same("b1"), "SLOT_CLOSED");
        scene.row(closed(false), "2026-12-01T09:00 until 12:00 open, 4 of 4 left");
        scene.row(
            confirm("b1").if_expired(LatePayment::Equivalent),
            "confirmed 2026-12-01T09:00 T1,T2 for 200",
        );
        scene.row(book("b4", "dan").tickets(nine, "T1"), "TICKET_ALREADY_RESERVED T1");
        scene.at(4 * 3_600).row(same("b3"), "SLOT_PAST");
        let mut reached = scene.reached;

        // The slot gave way to a shorter one: that is not what was held.
        let mut scene = Scene::of(museum());
        let hold = book("b1", "ann").places(nine, 1).for_seconds(10);
        scene.row(hold, "on hold 2026-12-01T09:00 x1 for 100 until 10");
        let shorter = |end: &str| {
            let mut patch = PatchSchedule::default();
            patch.pattern.windows = Some(vec![window("09:00", end, 4, 100)]);
            Action::PatchSchedule(Box::new(patch))
        };
        scene.at(10).row(shorter("11:00"), "schedule Open");
        scene.row(same("b1"), "SLOT_NOT_FOUND");
        scene.row(shorter("12:00"), "schedule Open");
        scene.row(same("b1"), "confirmed 2026-12-01T09:00 x1 for 100");
        reached.refusals.extend(scene.reached.refusals);

        // Places that were held before only registered tickets may book are paid, moved and paid late as before.
        let mut scene = Scene::of(museum());
        for label in ["b1", "b2"] {
            let hold = book(label, "ann").places(nine, 1).for_seconds(10);
            scene.row(hold, "on hold 2026-12-01T09:00 x1 for 100 until 10");
        }
        let mut patch = PatchSchedule::default();
        patch.terms.rules.tickets = Some(TicketRule::Registered);
        scene.row(Action::PatchSchedule(Box::new(patch)), "schedule Open");
        scene.row(book("b3", "ann").places(nine, 1), "INVALID_REQUEST /tickets");
        scene.row(confirm("b1"), "confirmed 2026-12-01T09:00 x1 for 100");
        let noon = Destination::Slot(slot("2026-12-01T12:00"));
        scene.row(move_to("b1", noon), "confirmed 2026-12-01T12:00 x1 for 150, +50");
        scene.at(10).row(same("b2"), "confirmed 2026-12-01T09:00 x1 for 100");
        reached.refusals.extend(scene.reached.refusals);

        let mut scene = Scene::of(bakery());
        let mut evening = add_box("evening", 2, 500);
        evening.pickup = Some(PickupWindow { starts_at: second(0), ends_at: second(100) });
        scene.row(evening, "evening Active, 2 of 2 left at 500");
        scene.row(
            book("b1", "ann").boxes("evening", 2).for_seconds(10),
            "on hold evening x2 for 1000 until 10",
        );
        scene.at(10).row(
            book("b2", "ann").boxes("evening", 1).for_seconds(10),
            "on hold evening x1 for 500 until 20",
        );
        scene.row(same("b1"), "ACTIVE_RESERVATION_EXISTS b2");
        scene.at(20).row(
            book("b3", "bob").boxes("evening", 1).for_seconds(10),
            "on hold evening x1 for 500 until 30",
        );
        scene.row(same("b1"), "INSUFFICIENT_INVENTORY 1 left");
        scene.row(same("b2"), "confirmed evening x1 for 500");
        scene.row(same("b1"), "ACTIVE_RESERVATION_EXISTS b2");
        scene.row(redeem("b2"), "redeemed evening x1 for 500");
        scene.row(same("b1"), "BOX_UNAVAILABLE SoldOut");
        scene.at(100).row(same("b1"), "PICKUP_WINDOW_CLOSED");
        reached.refusals.extend(scene.reached.refusals);

        // A live hold is not paid after the pickup window either.
        let mut scene = Scene::of(bakery());
        let mut evening = add_box("evening", 3, 500);
        evening.pickup = Some(PickupWindow { starts_at: second(0), ends_at: second(100) });
        scene.row(evening, "evening Active, 3 of 3 left at 500");
        for (label, customer) in [("b1", "ann"), ("b2", "bob")] {
            let hold = book(label, customer).boxes("evening", 1);
            scene.row(hold, "on hold evening x1 for 500 until 1200");
        }
        scene.at(99).row(confirm("b1"), "confirmed evening x1 for 500");
        scene.at(100).row(confirm("b2"), "PICKUP_WINDOW_CLOSED");
        scene.row(Confirm { free_only: true, ..confirm("b2") }, "FORBIDDEN");
        scene.row(confirm("b1"), "confirmed evening x1 for 500");
        scene.row(cancel("b2"), "cancelled evening x1 for 500");
        reached.refusals.extend(scene.reached.refusals);
        reached
    }
}
