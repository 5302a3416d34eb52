//! Collects or admits a booking.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::unit_choice::{ChosenFor, UnitChoice};
use crate::booking::{Status, Units};
use crate::change::Change;
use crate::ids::{BookingId, RedeemCode};
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Collects or admits a confirmed booking, or some of its units, with its code: an event only while its doors are open, a slot only on
/// its day, a box only within its pickup window, each unit once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redeem {
    /// Which.
    pub booking: BookingId,
    /// As read out at the door; `None` if it was not even the form of a code.
    pub redeem_code: Option<RedeemCode>,
    /// Only these; all that are left if it is `None`.
    pub units: Option<Box<UnitChoice>>,
    /// Overrides a wrong date or time: for callers who run sales.
    pub force: bool,
}

impl Redeem {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        if let Some(units) = &self.units {
            units.check_form()?;
        }
        let booking = inventory.find_booking(self.booking)?;
        match booking.status {
            Status::Confirmed { .. } => {}
            Status::Redeemed { redeemed_at, .. } => return Err(Refusal::AlreadyRedeemed { redeemed_at }),
            Status::OnHold { .. } | Status::Cancelled { .. } | Status::Expired { .. } => {
                return Err(Refusal::NotRedeemable);
            }
        }
        if self.redeem_code != Some(booking.redeem_code) {
            return Err(Refusal::WrongCode);
        }
        let forced = match check_time(inventory, now, &booking.units) {
            Ok(()) => false,
            Err(_) if self.force => true,
            Err(refusal) => return Err(refusal),
        };

        let redeemed = booking.redeemed_quantity();
        let places = match &self.units {
            Some(units) => Some(units.places(inventory, booking, ChosenFor::Redeeming)?),
            None => None,
        };
        let left = booking.units.quantity() - redeemed;
        let change = match places.filter(|places| places.len() < left as usize) {
            Some(places) => {
                let part = Box::new(booking.units.part(&places));
                let redeemed_quantity = redeemed + part.quantity();
                Change::PartRedeemed { booking: self.booking, part, redeemed_quantity, forced }
            }
            None => Change::Redeemed { booking: self.booking, forced },
        };
        Ok(Decision::one(change, Reply::Booking(self.booking)))
    }
}

/// Refuses to redeem units on another day than their slot's, or outside the time at which they can be collected.
fn check_time(inventory: &Inventory, now: Timestamp, units: &Units) -> Result<(), Refusal> {
    let (opens_at, closes_at) = match *units {
        Units::Event { .. } => {
            let info = &inventory.event()?.info;
            (info.doors_open_at, info.ends_at)
        }
        Units::Slot { slot, .. } => {
            let is_its_day = inventory.schedule()?.zone.date_at(now) == slot.date;
            return if is_its_day { Ok(()) } else { Err(Refusal::WrongDate) };
        }
        Units::Box { number, .. } => {
            let pickup = inventory.shop()?.boxed(number).pickup;
            (pickup.map(|pickup| pickup.starts_at), pickup.map(|pickup| pickup.ends_at))
        }
    };
    let is_early = opens_at.is_some_and(|opens_at| now < opens_at);
    let is_late = closes_at.is_some_and(|closes_at| now >= closes_at);
    if is_early || is_late { Err(Refusal::WrongTime { opens_at, closes_at }) } else { Ok(()) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::commands::Destination;
    use crate::shop::PickupWindow;
    use crate::testing::{
        Reached, Scene, add_box, bakery, book, cancel, code, confirm, id, move_to, museum, one_section,
        redeem, redeem_anyway, redeem_some, seats, second, some_boxes, some_seats, some_tickets,
    };

    #[test]
    fn bookings_are_redeemed_once_or_refused() {
        table();
    }

    #[test]
    fn units_of_a_booking_are_redeemed_one_after_the_other() {
        partial_table();
    }

    pub(crate) fn partial_table() -> Reached {
        let mut scene = Scene::of(one_section(1, 8).with_area("standing", 5).with_area("lawn", 5));
        let all = "A-1 1-1,1-2 + standing x1 + lawn x2 for 3500";
        let four = book("b1", "ann").best(2).standing("standing", 1).standing("lawn", 2);
        scene.row(four.paid(), &format!("confirmed {all}"));
        scene.row(redeem_some("b1", UnitChoice::default()), "INVALID_REQUEST");
        scene.row(redeem_some("b1", some_boxes(0)), "INVALID_REQUEST /quantity");
        scene.row(redeem_some("b1", some_boxes(4)), "INVALID_REQUEST /quantity");
        scene.row(redeem_some("b1", some_tickets("T1")), "INVALID_REQUEST /tickets");
        scene.row(redeem_some("b1", some_seats("1-1 1-1")), "DUPLICATE_SEAT A-1 1-1");
        scene.row(redeem_some("b1", some_seats("1-9")), "SEAT_NOT_FOUND A-1 1-9");
        scene.row(redeem_some("b1", some_seats("1-1 1-3")), "NOT_IN_BOOKING A-1 1-3");
        let unknown = UnitChoice { seats: vec![seats("Z-1", "1-1")], ..UnitChoice::default() };
        scene.row(redeem_some("b1", unknown), "SECTION_NOT_FOUND Z-1");

        scene.at(5).row(redeem_some("b1", some_seats("1-2")), &format!("confirmed {all}, 1 redeemed"));
        scene.row(redeem_some("b1", some_seats("1-2")), "ALREADY_REDEEMED 5");
        // Nothing of it can be given back or exchanged, and its code still finds it.
        scene.row(cancel("b1"), "NOT_CANCELLABLE");
        let to = Destination::Seats(vec![seats("A-1", "1-5 1-6")]);
        scene.row(move_to("b1", to), "NOT_MOVABLE");
        assert_eq!(scene.inventory.booking_of_code(code("b1")), Some(id("b1")));
        scene.row(confirm("b1"), &format!("confirmed {all}, 1 redeemed"));
        scene.shows("A-1 ss......\nstanding 0h 1s\nlawn 0h 2s");
        // Places by number, from one area on into the next.
        scene.at(6).row(redeem_some("b1", some_boxes(2)), &format!("confirmed {all}, 3 redeemed"));
        let booking = scene.inventory.booking(id("b1")).unwrap();
        let (five, six) = (Some(second(5)), Some(second(6)));
        assert_eq!(booking.units_redeemed_at(), [None, five, six, six, None]);
        assert_eq!((booking.redeemed_quantity(), booking.version), (3, 3));
        scene.at(7).row(redeem_some("b1", some_boxes(2)), "ALREADY_REDEEMED 6");
        // All that is left.
        scene.row(redeem("b1"), &format!("redeemed {all}"));
        let booking = scene.inventory.booking(id("b1")).unwrap();
        assert_eq!(booking.status, Status::Redeemed { confirmed_at: second(0), redeemed_at: second(7) });
        let seven = Some(second(7));
        assert_eq!(booking.units_redeemed_at(), [seven, five, six, six, seven]);
        assert_eq!(scene.inventory.booking_of_code(code("b1")), None);
        scene.at(8).row(redeem_some("b1", some_seats("1-2")), "ALREADY_REDEEMED 7");

        // Seats by number; the last one ends it.
        scene.row(book("b2", "bob").best(2).paid(), "confirmed A-1 1-3,1-4 for 2000");
        scene.row(redeem_some("b2", some_boxes(1)), "confirmed A-1 1-3,1-4 for 2000, 1 redeemed");
        let twice = UnitChoice { quantity: Some(1), ..some_seats("1-4") };
        scene.row(redeem_some("b2", twice), "ALREADY_REDEEMED 8");
        scene.row(redeem_some("b2", some_seats("1-4")), "redeemed A-1 1-3,1-4 for 2000");
        scene.row(book("b3", "bob").best(2).paid(), "confirmed A-1 1-5,1-6 for 2000");
        let too_many = UnitChoice { quantity: Some(2), ..some_seats("1-5") };
        scene.row(redeem_some("b3", too_many), "INVALID_REQUEST /quantity");
        scene.row(redeem_some("b3", some_boxes(2)), "redeemed A-1 1-5,1-6 for 2000");
        assert!(scene.inventory.booking(id("b3")).unwrap().details.is_none(), "all at one time");
        let mut reached = scene.reached;

        let nine = "2026-12-01T09:00";
        let mut museum = Scene::of(museum());
        let all = format!("{nine} T1,T2 for 200");
        museum.row(book("b1", "ann").tickets(nine, "T1 T2").paid(), &format!("confirmed {all}"));
        museum.row(redeem_some("b1", some_tickets("T1 T1")), "INVALID_REQUEST /tickets/1");
        museum.row(redeem_some("b1", some_tickets("T3")), "NOT_IN_BOOKING T3");
        museum.row(redeem_some("b1", some_tickets("T1 \u{a0}T2")), "INVALID_REQUEST /tickets/1");
        museum.row(redeem_some("b1", some_seats("1-1")), "INVALID_REQUEST /seats");
        museum.row(redeem_some("b1", some_tickets("T2")), &format!("confirmed {all}, 1 redeemed"));
        museum.row(book("b2", "bob").tickets(nine, "T2"), "TICKET_ALREADY_USED T2");
        museum.row(book("b2", "bob").tickets(nine, "T1"), "TICKET_ALREADY_RESERVED T1");
        museum.row(redeem_some("b1", some_tickets("T1")), &format!("redeemed {all}"));
        museum.row(book("b3", "cy").places(nine, 2).paid(), &format!("confirmed {nine} x2 for 200"));
        museum.row(redeem_some("b3", some_tickets("T9")), "NOT_IN_BOOKING T9");
        museum.row(redeem_some("b3", some_boxes(1)), &format!("confirmed {nine} x2 for 200, 1 redeemed"));
        museum.row(redeem_some("b3", some_boxes(1)), &format!("redeemed {nine} x2 for 200"));
        reached.refusals.extend(museum.reached.refusals);

        let mut bakery = Scene::of(bakery());
        bakery.load(add_box("evening", 9, 500));
        bakery.row(book("b1", "ann").boxes("evening", 3).paid(), "confirmed evening x3 for 1500");
        bakery.row(redeem_some("b1", some_boxes(2)), "confirmed evening x3 for 1500, 2 redeemed");
        bakery.row(book("b2", "ann").boxes("evening", 1), "ACTIVE_RESERVATION_EXISTS b1");
        bakery.row(redeem_some("b1", some_boxes(1)), "redeemed evening x3 for 1500");
        reached.refusals.extend(bakery.reached.refusals);
        reached
    }

    pub(crate) fn table() -> Reached {
        let with = |redeem_code| {
            Action::Redeem(Redeem { booking: id("b1"), redeem_code, units: None, force: false })
        };
        let mut scene = Scene::of(one_section(1, 4));
        scene.row(redeem("b1"), "BOOKING_NOT_FOUND");
        scene.row(book("b1", "ann").best(1), "on hold A-1 1-1 for 1000 until 900");
        scene.row(redeem("b1"), "NOT_REDEEMABLE");
        scene.row(confirm("b1"), "confirmed A-1 1-1 for 1000");
        scene.row(with(Some(code("b2"))), "WRONG_CODE");
        scene.row(with(None), "WRONG_CODE");
        scene.at(5).row(redeem("b1"), "redeemed A-1 1-1 for 1000");
        let booking = scene.inventory.booking(id("b1")).unwrap();
        assert_eq!(booking.status, Status::Redeemed { confirmed_at: second(0), redeemed_at: second(5) });
        assert_eq!(booking.version, 3);
        assert_eq!(scene.inventory.booking_of_code(code("b1")), None);
        scene.shows("A-1 s...");
        scene.at(6).row(redeem("b1"), "ALREADY_REDEEMED 5");
        scene.row(with(None), "ALREADY_REDEEMED 5");
        scene.row(book("b2", "ann").best(1), "on hold A-1 1-2 for 1000 until 906");
        scene.row(cancel("b2"), "cancelled A-1 1-2 for 1000");
        scene.row(redeem("b2"), "NOT_REDEEMABLE");
        scene.row(book("b3", "ann").best(1), "on hold A-1 1-2 for 1000 until 906");
        scene.at(906).row(redeem("b3"), "NOT_REDEEMABLE");

        // Tomorrow's slot, until midnight in Taipei.
        let mut museum = Scene::of(museum());
        museum.row(
            book("b1", "ann").places("2026-12-02T09:00", 1).paid(),
            "confirmed 2026-12-02T09:00 x1 for 100",
        );
        museum.at(16 * 3_600 - 1).row(redeem("b1"), "WRONG_DATE");
        museum.at(16 * 3_600).row(redeem("b1"), "redeemed 2026-12-02T09:00 x1 for 100");
        museum.row(
            book("b2", "ann").places("2026-12-02T09:00", 1).paid(),
            "confirmed 2026-12-02T09:00 x1 for 100",
        );
        museum.load(book("b3", "ann").places("2026-12-02T09:00", 1).paid());
        museum.at(40 * 3_600).row(redeem("b2"), "WRONG_DATE");
        museum.at(40 * 3_600 - 1).row(redeem("b2"), "redeemed 2026-12-02T09:00 x1 for 100");
        museum.at(40 * 3_600).row(redeem_anyway("b3"), "redeemed 2026-12-02T09:00 x1 for 100");
        scene.reached.refusals.extend(museum.reached.refusals);

        // Boxes within their pickup window, unless an operator overrides it.
        let mut bakery = Scene::of(bakery());
        for (name, pickup) in [("evening", Some((100, 200))), ("any", None)] {
            let mut new = add_box(name, 9, 500);
            new.pickup =
                pickup.map(|(from, until)| PickupWindow { starts_at: second(from), ends_at: second(until) });
            bakery.load(new);
        }
        for (label, name) in
            [("b1", "evening"), ("b2", "evening"), ("b3", "evening"), ("b4", "any"), ("b5", "evening")]
        {
            bakery.load(book(label, label).boxes(name, 1).paid());
        }
        bakery.at(99).row(redeem("b1"), "WRONG_TIME 100 to 200");
        bakery.row(
            Action::Redeem(Redeem { booking: id("b1"), redeem_code: None, units: None, force: true }),
            "WRONG_CODE",
        );
        let applied = bakery.apply(&redeem_anyway("b5"));
        assert_eq!(applied.changes[1], Change::Redeemed { booking: id("b5"), forced: true });
        bakery.row(redeem("b4"), "redeemed any x1 for 500");
        bakery.at(100);
        let applied = bakery.apply(&redeem_anyway("b1"));
        assert_eq!(applied.changes[1], Change::Redeemed { booking: id("b1"), forced: false });
        bakery.at(199).row(redeem("b2"), "redeemed evening x1 for 500");
        bakery.at(200).row(redeem("b3"), "WRONG_TIME 100 to 200");
        bakery.row(redeem_anyway("b3"), "redeemed evening x1 for 500");
        bakery.row(redeem_anyway("b3"), "ALREADY_REDEEMED 200");
        scene.reached.refusals.extend(bakery.reached.refusals);

        // Seats from when the doors open until the show ends; either may be open.
        for (doors_open_at, ends_at, told) in [
            (Some(100), Some(200), "WRONG_TIME 100 to 200"),
            (Some(100), None, "WRONG_TIME 100 to -"),
            (None, Some(200), "WRONG_TIME - to 200"),
        ] {
            let mut create = one_section(1, 4);
            create.info.doors_open_at = doors_open_at.map(second);
            create.info.ends_at = ends_at.map(second);
            let mut hall = Scene::of(create);
            for label in ["b1", "b2", "b3"] {
                hall.load(book(label, label).best(1).paid());
            }
            let early = if doors_open_at.is_some() { told } else { "redeemed A-1 1-1 for 1000" };
            hall.at(99).row(redeem("b1"), early);
            hall.at(100).row(redeem_some("b2", some_seats("1-2")), "redeemed A-1 1-2 for 1000");
            let late = if ends_at.is_some() { told } else { "redeemed A-1 1-3 for 1000" };
            hall.at(200).row(redeem("b3"), late);
            if ends_at.is_some() {
                hall.row(redeem_anyway("b3"), "redeemed A-1 1-3 for 1000");
            }
        }
        scene.reached
    }
}
