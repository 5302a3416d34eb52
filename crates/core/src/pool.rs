//! The counted thing inside areas, slots and boxes.

use serde::{Deserialize, Serialize};

use crate::seats::Counts;

/// A number of like units: so many in all, so many held, so many sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pool {
    /// All units.
    pub capacity: u32,
    /// In bookings on hold.
    pub held: u32,
    /// In confirmed or redeemed bookings.
    pub sold: u32,
}

/// What a claim on units is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    Held,
    Sold,
}

impl Pool {
    pub(crate) fn of(capacity: u32) -> Pool {
        Pool { capacity, held: 0, sold: 0 }
    }

    /// Held or sold.
    pub fn booked(&self) -> u32 {
        self.held + self.sold
    }

    /// Neither held nor sold.
    pub fn available(&self) -> u32 {
        self.capacity - self.booked()
    }

    /// The pool as counts; nothing in a pool is blocked.
    pub fn counts(&self) -> Counts {
        Counts { available: self.available(), held: self.held, sold: self.sold, blocked: 0 }
    }

    /// # Panics
    /// If fewer are available: the checks before must have refused.
    pub(crate) fn take(&mut self, quantity: u32, claim: Claim) {
        assert!(quantity <= self.available(), "taking {quantity} of {self:?}");
        *self.claimed(claim) += quantity;
    }

    /// # Panics
    /// If fewer are claimed: units would be freed twice.
    pub(crate) fn release(&mut self, quantity: u32, claim: Claim) {
        let claimed = self.claimed(claim);
        *claimed = claimed.checked_sub(quantity).expect("only what was taken is released");
    }

    fn claimed(&mut self, claim: Claim) -> &mut u32 {
        match claim {
            Claim::Held => &mut self.held,
            Claim::Sold => &mut self.sold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_taken_and_released() {
        let mut pool = Pool::of(5);
        pool.take(2, Claim::Held);
        pool.take(3, Claim::Sold);
        assert_eq!((pool.booked(), pool.available()), (5, 0));
        assert_eq!(pool.counts(), Counts { available: 0, held: 2, sold: 3, blocked: 0 });
        pool.release(1, Claim::Held);
        assert_eq!((pool.booked(), pool.available(), pool.held, pool.sold), (4, 1, 1, 3));
    }

    #[test]
    #[should_panic(expected = "taking 2")]
    fn taking_more_than_there_is_is_a_bug() {
        Pool::of(1).take(2, Claim::Held);
    }

    #[test]
    #[should_panic(expected = "only what was taken")]
    fn releasing_more_than_was_taken_is_a_bug() {
        let mut pool = Pool::of(2);
        pool.take(2, Claim::Sold);
        pool.release(1, Claim::Held);
    }
}
