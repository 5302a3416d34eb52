//! Amounts in integer minor units of the inventory's currency.

use serde::{Deserialize, Serialize};

use crate::limits::PRICE_MINOR_UNITS_MAX;
use crate::refusal::Refusal;

/// An amount in minor units (cents, or whole dollars where a currency has none). Negative only as a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Money(pub i64);

impl Money {
    /// Nothing to pay.
    pub const ZERO: Money = Money(0);

    /// The price of `quantity` units.
    ///
    /// # Panics
    /// On overflow, which the limits on prices and units rule out.
    pub fn times(self, quantity: u32) -> Money {
        Money(self.0.checked_mul(i64::from(quantity)).expect("prices and units are bounded"))
    }

    /// The sum of two amounts.
    ///
    /// # Panics
    /// On overflow, which the limits on prices and units rule out.
    pub fn plus(self, other: Money) -> Money {
        Money(self.0.checked_add(other.0).expect("prices and units are bounded"))
    }

    /// What has to be paid on top of `paid` to reach `self`; negative if too much was paid.
    ///
    /// # Panics
    /// On overflow, which the limits on prices and units rule out.
    pub fn minus(self, paid: Money) -> Money {
        Money(self.0.checked_sub(paid.0).expect("prices and units are bounded"))
    }

    /// Refuses a price outside the bounds.
    pub(crate) fn check_price(self, pointer: impl std::fmt::Display) -> Result<(), Refusal> {
        if (0..=PRICE_MINOR_UNITS_MAX).contains(&self.0) {
            return Ok(());
        }
        Err(Refusal::invalid(pointer, format!("must be between 0 and {PRICE_MINOR_UNITS_MAX} minor units")))
    }
}

impl std::iter::Sum for Money {
    fn sum<I: Iterator<Item = Money>>(amounts: I) -> Money {
        amounts.fold(Money::ZERO, Money::plus)
    }
}

/// An ISO 4217 code: three capital letters.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Currency(pub [u8; 3]);

impl Currency {
    /// The code as text.
    ///
    /// # Panics
    /// On bytes that are not ASCII; [`Currency::check`] has refused those.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a checked currency is ASCII")
    }

    pub(crate) fn check(&self, pointer: &str) -> Result<(), Refusal> {
        if self.0.iter().all(u8::is_ascii_uppercase) {
            return Ok(());
        }
        Err(Refusal::invalid(pointer, "must be three capital letters, like TWD"))
    }
}

impl std::fmt::Debug for Currency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// A price that falls (or rises) at given moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceStep {
    /// From this moment on.
    pub at: crate::time::Timestamp,
    /// Each unit costs this.
    pub price: Money,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_is_its_code() {
        let currency = Currency(*b"TWD");
        assert_eq!((currency.as_str(), format!("{currency:?}").as_str()), ("TWD", "TWD"));
    }
}
