//! Numbers of inventories, and booking ids that carry them.

use boxoffice_core::ids::BookingId;
use boxoffice_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An inventory's number in its store: given when it is created, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InventoryNumber(pub u32);

impl std::fmt::Display for InventoryNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

const TIME_BITS: u32 = 48;
const RANDOM_HIGH_BITS: u32 = 12;
const RANDOM_LOW_BITS: u32 = 30;

/// A new booking's UUID of version 7: 48 bits of time, 42 random bits, and the inventory's number in the last 32 bits,
/// so that whoever has the id of a booking knows where to look for it.
pub fn booking_id(inventory: InventoryNumber, at: Timestamp, random: u64) -> BookingId {
    let time = u128::from(at.0.cast_unsigned() & ((1 << TIME_BITS) - 1));
    let random_high = u128::from(random & ((1 << RANDOM_HIGH_BITS) - 1));
    let random_low = u128::from((random >> RANDOM_HIGH_BITS) & ((1 << RANDOM_LOW_BITS) - 1));
    let number = time << 80 | FORM | random_high << 64 | random_low << 32 | u128::from(inventory.0);
    BookingId::from_bytes(number.to_be_bytes())
}

/// The inventory that a generated id names; `None` if it cannot be a generated one: another version, or no random bits, as in
/// ids that people write by hand. What callers chose may look generated all the same, and name any inventory or none.
pub fn inventory_of(id: BookingId) -> Option<InventoryNumber> {
    let number = u128::from_be_bytes(id.to_bytes());
    let random = number & RANDOM_MASK;
    let generated = number & FORM_MASK == FORM && random != 0;
    generated.then_some(InventoryNumber(number as u32))
}

/// Version 7 and the variant of all UUIDs.
const FORM: u128 = 7 << 76 | 0b10 << 62;
const FORM_MASK: u128 = 0xF << 76 | 0b11 << 62;
const RANDOM_MASK: u128 = ((1 << RANDOM_HIGH_BITS) - 1) << 64 | ((1 << RANDOM_LOW_BITS) - 1) << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ids_are_uuids_of_version_7_and_carry_their_inventory() {
        let at = Timestamp(1_796_083_200_123);
        let id = booking_id(InventoryNumber(0xDEAD_BEEF), at, u64::MAX);
        assert_eq!(inventory_of(id), Some(InventoryNumber(0xDEAD_BEEF)));
        let bytes = id.to_bytes();
        assert_eq!(bytes[6] >> 4, 7, "version");
        assert_eq!(bytes[8] >> 6, 0b10, "variant");
        let millis = bytes[..6].iter().fold(0i64, |all, &byte| all << 8 | i64::from(byte));
        assert_eq!(millis, at.0);
        assert_ne!(booking_id(InventoryNumber(1), at, 0), booking_id(InventoryNumber(1), at, 1 << 41));
    }

    #[test]
    fn ids_that_people_write_name_no_inventory() {
        let uuid = |number: u128| BookingId::from_bytes(number.to_be_bytes());
        assert_eq!(inventory_of(uuid(1)), None, "no version");
        assert_eq!(inventory_of(uuid(0x0190_0000_0000_4123_8000_0001_0000_0001)), None, "version 4");
        assert_eq!(inventory_of(uuid(0x0190_0000_0000_7000_8000_0000_0000_0001)), None, "nothing random");
        assert_eq!(inventory_of(uuid(0x0190_0000_0000_7123_c000_0001_0000_0001)), None, "another variant");
        let generated = uuid(0x0190_0000_0000_7123_8000_0001_0000_0001);
        assert_eq!(inventory_of(generated), Some(InventoryNumber(1)));
    }

    #[test]
    fn generated_ids_order_by_time() {
        let early = booking_id(InventoryNumber(9), Timestamp(1_000), u64::MAX);
        let late = booking_id(InventoryNumber(1), Timestamp(1_001), 0);
        assert!(early < late);
    }
}
