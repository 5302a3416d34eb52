//! Swaps the units of a booking for others.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::book::{
    BestAvailable, SectionSeats, best_seats, check_available, check_best_form, check_open, check_orphans,
    check_places, check_seats_form, named_seats,
};
use super::{Decision, check_reserved};
use crate::booking::{Booking, SeatClaim, Units};
use crate::change::Change;
use crate::ids::BookingId;
use crate::inventory::Inventory;
use crate::money::Money;
use crate::outcome::Reply;
use crate::pool::Claim;
use crate::refusal::Refusal;
use crate::seats::Seat;
use crate::time::{SlotId, Timestamp};

/// Swaps the units of a booking for as many others, in one step or not at all. Its own seats count as free; standing
/// places stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Which.
    pub booking: BookingId,
    /// Where to.
    pub to: Destination,
    /// A paid booking only to where nothing is left to pay: for callers who may not take money.
    pub free_only: bool,
    /// Only if the booking has this ticket, unredeemed, when the command is decided.
    pub ticket: Option<Arc<str>>,
}

/// Where a booking is moved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Destination {
    /// Another slot of the schedule.
    Slot(SlotId),
    /// These seats.
    Seats(Vec<SectionSeats>),
    /// The best seats that are left.
    Best(BestAvailable),
}

impl Move {
    pub(crate) fn decide(&self, inventory: &mut Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        match &self.to {
            Destination::Slot(_) => {}
            Destination::Seats(sections) => sections.iter().try_for_each(check_seats_form)?,
            Destination::Best(best) => check_best_form(best)?,
        }
        let booking = Booking::clone(inventory.find_booking(self.booking)?);
        check_reserved(inventory, &booking, self.ticket.as_ref())?;
        if !booking.is_active() || booking.is_partly_redeemed() {
            return Err(Refusal::NotMovable);
        }
        let units = match (&self.to, &booking.units) {
            (Destination::Slot(slot), Units::Slot { .. }) => other_slot(inventory, now, &booking, *slot)?,
            (Destination::Seats(_) | Destination::Best(_), Units::Event { seats, .. })
                if !seats.is_empty() =>
            {
                self.other_seats(inventory, &booking)?
            }
            (Destination::Slot(_) | Destination::Seats(_) | Destination::Best(_), _) => {
                return Err(Refusal::NotMovable);
            }
        };
        let price_difference = units.total_price().minus(booking.total_price());
        if self.free_only && booking.claim() == Some(Claim::Sold) && price_difference > Money::ZERO {
            return Err(Refusal::Forbidden);
        }
        let reply = Reply::Moved { booking: self.booking, price_difference };
        if units == booking.units {
            return Ok(Decision::nothing(reply));
        }

        let from = Box::new(booking.units);
        let change = Change::Moved { booking: self.booking, from, units: Box::new(units) };
        Ok(Decision::one(change, reply))
    }

    fn other_seats(&self, inventory: &mut Inventory, booking: &Booking) -> Result<Units, Refusal> {
        let Units::Event { seats, areas } = &booking.units else { return Err(Refusal::NotMovable) };
        let claims = inventory.event_as_if_free(booking, |event| {
            let found: Vec<Seat> = match &self.to {
                Destination::Slot(_) => return Err(Refusal::NotMovable),
                Destination::Seats(sections) => {
                    let asked: usize = sections.iter().map(|section| section.seats.len()).sum();
                    check_count(asked, seats, "/seats")?;
                    let named = named_seats(event, sections)?;
                    check_available(event, &named)?;
                    check_orphans(event, &named)?;
                    named
                }
                Destination::Best(best) => {
                    check_count(best.quantity as usize, seats, "/best_available/quantity")?;
                    best_seats(event, best)?
                }
            };
            // A seat that stays keeps the price it has.
            let kept = |seat: Seat| seats.iter().find(|claim| claim.seat == seat).copied();
            Ok(event.priced(&found).iter().map(|new| kept(new.seat).unwrap_or(*new)).collect())
        })??;
        Ok(Units::Event { seats: claims, areas: areas.clone() })
    }
}

fn check_count(asked: usize, old: &[SeatClaim], pointer: &str) -> Result<(), Refusal> {
    if asked == old.len() {
        return Ok(());
    }
    Err(Refusal::invalid(pointer, format!("the booking has {} seats; as many are needed", old.len())))
}

fn other_slot(
    inventory: &Inventory,
    now: Timestamp,
    booking: &Booking,
    to: SlotId,
) -> Result<Units, Refusal> {
    let Units::Slot { slot: from, quantity, tickets, .. } = &booking.units else {
        return Err(Refusal::NotMovable);
    };
    let schedule = inventory.schedule()?;
    let slot = schedule.slots.get(&to).ok_or(Refusal::SlotNotFound)?;
    if to == *from {
        return Ok(booking.units.clone());
    }
    check_open(slot, now)?;
    match check_places(schedule, to, *quantity, now) {
        Ok(()) => {}
        Err(Refusal::SlotFull { available, alternatives }) => {
            return Err(Refusal::NewSlotFull { available, alternatives });
        }
        Err(other) => return Err(other),
    }
    Ok(Units::Slot {
        slot: to,
        end: slot.end,
        quantity: *quantity,
        price: slot.price,
        tickets: tickets.clone(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::commands::{PatchEvent, PatchSlot};
    use crate::rules::{Orphans, RulesPatch};
    use crate::testing::{
        Reached, Scene, add_box, bakery, block, book, cancel, confirm, hall, id, move_to, museum,
        one_section, redeem, seats, slot,
    };

    #[test]
    fn seats_are_swapped_or_refused() {
        seats_table();
    }

    #[test]
    fn places_are_swapped_or_refused() {
        slots_table();
    }

    pub(crate) fn seats_table() -> Reached {
        let to = |section: &str, names: &str| Destination::Seats(vec![seats(section, names)]);
        let best = |quantity, section: Option<&str>, adjacent_required| {
            Destination::Best(BestAvailable {
                quantity,
                section: section.map(str::to_owned),
                adjacent_required,
            })
        };
        let mut scene = Scene::of(hall(&[("A-1", 2, 4), ("B-1", 1, 3)]).with_area("standing", 5));
        scene.row(move_to("b1", to("A-1", "1-1")), "BOOKING_NOT_FOUND");
        scene.row(
            book("b1", "ann").seats("A-1", "1-1 1-2").standing("standing", 1),
            "on hold A-1 1-1,1-2 + standing x1 for 2500 until 900",
        );
        scene.row(book("b2", "bob").seats("A-1", "1-4"), "on hold A-1 1-4 for 1000 until 900");
        // Its own seats count as free; the standing place stays.
        scene.row(
            move_to("b1", to("A-1", "1-2 1-3")),
            "on hold A-1 1-2,1-3 + standing x1 for 2500 until 900, +0",
        );
        assert_eq!(scene.inventory.booking(id("b1")).unwrap().version, 2);
        scene.row(
            move_to("b1", to("A-1", "1-3 1-2")),
            "on hold A-1 1-2,1-3 + standing x1 for 2500 until 900, +0",
        );
        assert_eq!(scene.inventory.booking(id("b1")).unwrap().version, 2);
        let dearer =
            PatchEvent { section_prices: vec![("A".to_owned(), Money(1_200))], ..PatchEvent::default() };
        scene.row(Action::PatchEvent(Box::new(dearer)), "event Open: 12 free, 4 held, 0 sold, 0 blocked");
        scene.row(
            move_to("b1", to("A-1", "1-3 1-2")),
            "on hold A-1 1-2,1-3 + standing x1 for 2500 until 900, +0",
        );
        let as_before =
            PatchEvent { section_prices: vec![("A".to_owned(), Money(1_000))], ..PatchEvent::default() };
        scene.row(Action::PatchEvent(Box::new(as_before)), "event Open: 12 free, 4 held, 0 sold, 0 blocked");
        scene.row(
            move_to("b1", to("A-1", "1-3 1-4")),
            "SEAT_UNAVAILABLE A-1 1-4 Held; or A-1 1-2,1-3 for 2000; or A-1 2-3,2-4 for 2000; or B-1 1-1,1-2 for 4000",
        );
        scene.row(move_to("b1", to("A-1", "1-1")), "INVALID_REQUEST /seats");
        scene.row(move_to("b1", best(3, None, false)), "INVALID_REQUEST /best_available/quantity");
        scene.row(move_to("b1", to("C-1", "1-1 1-2")), "SECTION_NOT_FOUND C-1");
        scene.row(move_to("b1", to("A-1", "1-1 1-1")), "DUPLICATE_SEAT A-1 1-1");
        scene.row(move_to("b1", best(2, Some("C"), false)), "SECTION_NOT_FOUND C");
        scene.row(move_to("b1", Destination::Slot(slot("2026-12-01T09:00"))), "NOT_MOVABLE");
        scene.shows("A-1 .hhh ....\nB-1 ...\nstanding 1h 0s");
        scene.row(confirm("b1"), "confirmed A-1 1-2,1-3 + standing x1 for 2500");
        let free_only = |section: &str| {
            let to = best(2, Some(section), true);
            Action::Move(Box::new(Move { booking: id("b1"), to, free_only: true, ticket: None }))
        };
        scene.row(free_only("B"), "FORBIDDEN");
        scene.row(free_only("A"), "confirmed A-1 1-1,1-2 + standing x1 for 2500, +0");
        scene.row(
            move_to("b1", best(2, Some("B"), true)),
            "confirmed B-1 1-1,1-2 + standing x1 for 4500, +2000",
        );
        scene.row(move_to("b1", best(2, None, true)), "confirmed A-1 1-1,1-2 + standing x1 for 2500, -2000");
        scene.shows("A-1 ss.h ....\nB-1 ...\nstanding 0h 1s");
        scene.row(block("A-1", "2-1 2-3 1-3"), "event Open: 9 free, 1 held, 3 sold, 3 blocked");
        scene.row(block("B-1", "1-1 1-3"), "event Open: 7 free, 1 held, 3 sold, 5 blocked");
        scene.row(book("b3", "cy").best(2), "on hold A-1 2-2,2-4 for 2000 until 900");
        scene.row(move_to("b3", best(2, None, true)), "NOT_ADJACENT");
        scene.row(move_to("b3", best(2, Some("B"), false)), "NOT_ENOUGH_SEATS 1 left");
        scene.row(redeem("b1"), "redeemed A-1 1-1,1-2 + standing x1 for 2500");
        scene.row(move_to("b1", best(2, None, false)), "NOT_MOVABLE");
        scene.row(cancel("b2"), "cancelled A-1 1-4 for 1000");
        scene.row(move_to("b2", best(1, None, false)), "NOT_MOVABLE");
        scene.row(book("b4", "dan").standing("standing", 1), "on hold standing x1 for 500 until 900");
        scene.row(move_to("b4", best(1, None, false)), "NOT_MOVABLE");
        scene.shows("A-1 ssx. xhxh\nB-1 x.x\nstanding 1h 1s");

        let strict = RulesPatch { orphans: Some(Orphans::Forbid), ..RulesPatch::default() };
        let mut careful = Scene::of(one_section(1, 6).with_rules(strict));
        careful.row(book("b1", "ann").seats("A-1", "1-1 1-2"), "on hold A-1 1-1,1-2 for 2000 until 900");
        careful.row(move_to("b1", to("A-1", "1-2 1-3")), "ORPHAN_SEAT A-1 1-1; or A-1 1-1,1-2 for 2000");
        careful.row(move_to("b1", to("A-1", "1-3 1-4")), "on hold A-1 1-3,1-4 for 2000 until 900, +0");
        careful.at(900).row(move_to("b1", to("A-1", "1-1 1-2")), "NOT_MOVABLE");
        scene.reached.refusals.extend(careful.reached.refusals);
        scene.reached
    }

    pub(crate) fn slots_table() -> Reached {
        let to = |name: &str| Destination::Slot(slot(name));
        let (nine, noon) = ("2026-12-01T09:00", "2026-12-01T12:00");
        let mut scene = Scene::of(museum());
        scene.row(
            book("b1", "ann").tickets(nine, "T1 T2"),
            "on hold 2026-12-01T09:00 T1,T2 for 200 until 600",
        );
        scene.row(move_to("b1", to(noon)), "on hold 2026-12-01T12:00 T1,T2 for 300 until 600, +100");
        scene.row(book("b2", "bob").tickets(nine, "T1"), "TICKET_ALREADY_RESERVED T1");
        scene.row(move_to("b1", to(noon)), "on hold 2026-12-01T12:00 T1,T2 for 300 until 600, +0");
        scene.row(book("b2", "bob").places(nine, 3), "on hold 2026-12-01T09:00 x3 for 300 until 600");
        scene.row(
            move_to("b1", to(nine)),
            "NEW_SLOT_FULL 1 left; or 2026-12-01T12:00 with 2; or 2026-12-02T09:00 with 4; or 2026-12-02T12:00 with 4",
        );
        scene.row(move_to("b1", to("2026-12-03T09:00")), "SLOT_NOT_FOUND");
        scene.row(move_to("b1", Destination::Seats(vec![seats("A-1", "1-1")])), "NOT_MOVABLE");
        let close = |name: &str| {
            Action::PatchSlot(PatchSlot { slot: slot(name), closed: Some(true), capacity: None, price: None })
        };
        scene.row(close("2026-12-02T09:00"), "2026-12-02T09:00 until 12:00 closed, 4 of 4 left");
        scene.row(move_to("b1", to("2026-12-02T09:00")), "SLOT_CLOSED");
        scene.row(cancel("b2"), "cancelled 2026-12-01T09:00 x3 for 300");
        scene.row(confirm("b1"), "confirmed 2026-12-01T12:00 T1,T2 for 300");
        // The slot it is in may be closed meanwhile: it can leave, and need not.
        scene.row(close(noon), "2026-12-01T12:00 until 15:00 closed, 2 of 4 left");
        scene.row(move_to("b1", to(noon)), "confirmed 2026-12-01T12:00 T1,T2 for 300, +0");
        scene.row(move_to("b1", to(nine)), "confirmed 2026-12-01T09:00 T1,T2 for 200, -100");
        scene.shows(
            "2026-12-01T09:00 0h 2s of 4\n2026-12-01T12:00 0h 0s of 4 closed\n\
             2026-12-02T09:00 0h 0s of 4 closed\n2026-12-02T12:00 0h 0s of 4",
        );
        scene.row(move_to("b1", to("2026-12-02T12:00")), "confirmed 2026-12-02T12:00 T1,T2 for 300, +100");
        let by_ticket = |ticket: &str| {
            let (to, ticket) = (to("2026-12-02T12:00"), Some(ticket.into()));
            Action::Move(Box::new(Move { booking: id("b1"), to, free_only: false, ticket }))
        };
        scene.row(by_ticket("T1"), "confirmed 2026-12-02T12:00 T1,T2 for 300, +0");
        scene.row(by_ticket("T3"), "TICKET_NOT_RESERVED T3");
        scene.at(4 * 3_600).row(move_to("b1", to(nine)), "SLOT_PAST");

        let mut shop = Scene::of(bakery());
        shop.row(add_box("evening", 2, 500), "evening Active, 2 of 2 left at 500");
        shop.row(book("b1", "ann").boxes("evening", 1), "on hold evening x1 for 500 until 1200");
        shop.row(move_to("b1", to(nine)), "NOT_MOVABLE");
        scene.reached.refusals.extend(shop.reached.refusals);
        scene.reached
    }
}
