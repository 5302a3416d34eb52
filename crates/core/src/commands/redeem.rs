//! Collects or admits a booking.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::booking::{Status, Units};
use crate::change::Change;
use crate::ids::{BookingId, RedeemCode};
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Collects or admits a confirmed booking, once, with its code; in a schedule only on the day of its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redeem {
    /// Which.
    pub booking: BookingId,
    /// As read out at the door; `None` if it was not even the form of a code.
    pub redeem_code: Option<RedeemCode>,
}

impl Redeem {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
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
        if let Units::Slot { slot, .. } = booking.units
            && inventory.schedule()?.zone.date_at(now) != slot.date
        {
            return Err(Refusal::WrongDate);
        }

        Ok(Decision::one(Change::Redeemed { booking: self.booking }, Reply::Booking(self.booking)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{
        Reached, Scene, book, cancel, code, confirm, id, museum, one_section, redeem, second,
    };

    #[test]
    fn bookings_are_redeemed_once_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let with = |redeem_code| Action::Redeem(Redeem { booking: id("b1"), redeem_code });
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
        museum.at(40 * 3_600).row(redeem("b2"), "WRONG_DATE");
        museum.at(40 * 3_600 - 1).row(redeem("b2"), "redeemed 2026-12-02T09:00 x1 for 100");
        scene.reached.refusals.extend(museum.reached.refusals);
        scene.reached
    }
}
