//! Names of things: bookings, callers, codes, and the checks on names that callers choose.

use serde::{Deserialize, Serialize};

use crate::characters::{TextKind, refuse_invisible};
use crate::limits::{CUSTOMER_CHARACTERS_MAX, SLUG_CHARACTERS_MAX};
use crate::refusal::Refusal;

/// A booking's UUID. Made outside, or chosen by the caller; any value is legal.
///
/// Kept as two numbers, because ids are hashed and ordered all the time. They order as their bytes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "[u8; 16]", into = "[u8; 16]")]
pub struct BookingId {
    high: u64,
    low: u64,
}

impl BookingId {
    /// The id of a UUID's bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> BookingId {
        let number = u128::from_be_bytes(bytes);
        BookingId { high: (number >> 64) as u64, low: number as u64 }
    }

    /// The UUID's bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        ((self.high as u128) << 64 | self.low as u128).to_be_bytes()
    }
}

impl From<[u8; 16]> for BookingId {
    fn from(bytes: [u8; 16]) -> BookingId {
        BookingId::from_bytes(bytes)
    }
}

impl From<BookingId> for [u8; 16] {
    fn from(id: BookingId) -> [u8; 16] {
        id.to_bytes()
    }
}

/// Who sent a command: the number of an API key. Zero is the system itself, or the open mode without keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Actor(pub u64);

/// Which of the three kinds an inventory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InventoryKind {
    /// A show with seats and standing areas.
    Event,
    /// Time slots.
    Schedule,
    /// A merchant's boxes.
    Shop,
}

impl InventoryKind {
    /// The word for it in names and keys.
    pub fn word(self) -> &'static str {
        match self {
            InventoryKind::Event => "event",
            InventoryKind::Schedule => "schedule",
            InventoryKind::Shop => "shop",
        }
    }

    /// The kind of that word.
    pub fn of_word(word: &str) -> Option<InventoryKind> {
        [InventoryKind::Event, InventoryKind::Schedule, InventoryKind::Shop]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

/// An inventory's name in the store: `default/event:gala`.
pub fn inventory_name(tenant: &str, kind: InventoryKind, id: &str) -> String {
    format!("{tenant}/{}:{id}", kind.word())
}

/// Tenant, kind and id of an inventory's name.
pub fn parts_of_name(name: &str) -> Option<(&str, InventoryKind, &str)> {
    let (tenant, rest) = name.split_once('/')?;
    let (kind, id) = rest.split_once(':')?;
    Some((tenant, InventoryKind::of_word(kind)?, id))
}

/// The tenant in an inventory's name: the part before the first slash, empty if the name has none. Booking ids are unique within
/// a tenant.
pub fn tenant_of_name(name: &str) -> &str {
    name.split_once('/').map_or("", |(tenant, _)| tenant)
}

/// A short code that a person reads out at the door: six characters of an alphabet without lookalikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub struct RedeemCode(u32);

/// No 0/O and no 1/I: 32 characters, five bits each.
const CODE_ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const CODE_CHARACTERS: u32 = 6;
const CODES: u32 = 1 << (5 * CODE_CHARACTERS);

impl RedeemCode {
    /// The code of a random number; the numbers above the last code wrap around.
    pub fn from_random(number: u32) -> RedeemCode {
        RedeemCode(number % CODES)
    }

    /// What is read out.
    pub fn letters(self) -> [u8; CODE_CHARACTERS as usize] {
        let mut number = self.0;
        let mut letters = [0; CODE_CHARACTERS as usize];
        for letter in letters.iter_mut().rev() {
            *letter = CODE_ALPHABET[(number & 31) as usize];
            number >>= 5;
        }
        letters
    }

    /// The code to try when this one is taken.
    pub(crate) fn next(self) -> RedeemCode {
        RedeemCode((self.0 + 1) % CODES)
    }
}

// What is read from bytes is a code too, whatever number they hold.
impl From<u32> for RedeemCode {
    fn from(number: u32) -> RedeemCode {
        RedeemCode::from_random(number)
    }
}

impl From<RedeemCode> for u32 {
    fn from(code: RedeemCode) -> u32 {
        code.0
    }
}

impl std::fmt::Display for RedeemCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::str::from_utf8(&self.letters()).expect("letters are ASCII"))
    }
}

impl std::str::FromStr for RedeemCode {
    type Err = ();

    /// Reads a code as a person types it: lower case counts as upper case.
    fn from_str(text: &str) -> Result<RedeemCode, ()> {
        if text.len() != CODE_CHARACTERS as usize {
            return Err(());
        }
        let mut number = 0;
        for byte in text.bytes() {
            let byte = byte.to_ascii_uppercase();
            let index = CODE_ALPHABET.iter().position(|&letter| letter == byte).ok_or(())?;
            number = number << 5 | u32::try_from(index).expect("32 letters");
        }
        Ok(RedeemCode(number))
    }
}

/// Whether a text is `[a-z0-9][a-z0-9-]{0,62}`, as the ids of inventories are.
pub fn is_slug(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&first| letter(first))
        && bytes.len() <= SLUG_CHARACTERS_MAX
        && bytes.iter().all(|&byte| letter(byte) || byte == b'-')
}

/// Refuses an id that is none: see [`is_slug`].
pub(crate) fn check_slug(slug: &str, pointer: &str) -> Result<(), Refusal> {
    if is_slug(slug) {
        return Ok(());
    }
    Err(Refusal::invalid(
        pointer,
        "must be 1 to 63 lower-case letters, digits and dashes, not starting with a dash",
    ))
}

/// Whether a text can be a caller's reference for whoever books.
pub fn is_customer(text: &str) -> bool {
    check_identifier(text, CUSTOMER_CHARACTERS_MAX, "").is_ok()
}

/// Refuses text that cannot be a customer reference or a ticket id: as [`check_text`], and without white space around it or
/// invisible characters.
/// `"ann"` and `"ann "` would be two customers, each with limits of its own. Case is significant.
pub(crate) fn check_identifier(
    text: &str,
    characters_max: usize,
    pointer: impl std::fmt::Display,
) -> Result<(), Refusal> {
    if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        return Err(Refusal::invalid(pointer, "must not begin or end with white space"));
    }
    check_text(text, characters_max, &pointer)?;
    refuse_invisible(text, TextKind::Identifier, pointer)
}

/// Refuses a name that people read: as [`check_text`], and without invisible characters that its script does not need.
pub(crate) fn check_name(
    text: &str,
    characters_max: usize,
    pointer: impl std::fmt::Display,
) -> Result<(), Refusal> {
    check_text(text, characters_max, &pointer)?;
    refuse_invisible(text, TextKind::Name, pointer)
}

/// Refuses text that is empty, too long or has control characters.
pub(crate) fn check_text(
    text: &str,
    characters_max: usize,
    pointer: impl std::fmt::Display,
) -> Result<(), Refusal> {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let fits = text.len() <= characters_max || text.chars().count() <= characters_max;
    if !text.is_empty() && fits && (plain || !text.chars().any(char::is_control)) {
        return Ok(());
    }
    Err(Refusal::invalid(
        pointer,
        format!("must be 1 to {characters_max} characters without control characters"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_they_are_printed() {
        for number in [0, 1, 31, 32, 123_456_789, CODES - 1] {
            let code = RedeemCode::from_random(number);
            assert_eq!(code.to_string().len(), 6);
            assert_eq!(code.to_string().parse(), Ok(code));
            assert_eq!(code.to_string().to_lowercase().parse(), Ok(code));
        }
        assert_eq!(RedeemCode::from_random(0).to_string(), "222222");
        assert_eq!(RedeemCode::from_random(33).to_string(), "222233");
        assert_eq!(RedeemCode::from_random(CODES), RedeemCode::from_random(0));
        assert_eq!(RedeemCode::from_random(7).next(), RedeemCode::from_random(8));
        assert_eq!(RedeemCode::from_random(CODES - 1).next(), RedeemCode::from_random(0));
        let bytes = [0xff, 0xff, 0xff, 0xff, 0x0f];
        let read: RedeemCode = postcard::from_bytes(&bytes).expect("the largest number");
        assert_eq!(read, RedeemCode::from_random(CODES - 1), "bytes cannot make a code that does not exist");
        for wrong in ["", "22222", "2222222", "22222O", "222221", "2222é"] {
            assert_eq!(wrong.parse::<RedeemCode>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn ids_are_their_bytes_and_order_like_them() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        assert_eq!(BookingId::from_bytes(bytes).to_bytes(), bytes);
        for at in 0..16 {
            let mut larger = bytes;
            larger[at] += 1;
            assert!(BookingId::from_bytes(larger) > BookingId::from_bytes(bytes), "byte {at}");
        }
    }

    #[test]
    fn slugs_and_texts_have_bounds() {
        let long = "a".repeat(64);
        for (slug, allowed) in [
            ("a", true),
            ("0-a", true),
            (&long[..63], true),
            (&long, false),
            ("", false),
            ("-a", false),
            ("A", false),
            ("a_b", false),
            ("é", false),
        ] {
            assert_eq!(check_slug(slug, "/id").is_ok(), allowed, "{slug}");
        }
        for (text, allowed) in [("a", true), ("", false), ("ééé", true), ("éééé", false), ("a\n", false)]
        {
            assert_eq!(check_text(text, 3, "/name").is_ok(), allowed, "{text:?}");
        }
        for (text, allowed) in [
            ("ann", true),
            ("Ann", true),
            ("ann lee", true),
            ("安 安", true),
            ("", false),
            (" ", false),
            ("ann ", false),
            (" ann", false),
            ("ann\u{a0}", false),
            ("\u{3000}ann", false),
            ("ann\u{2028}", false),
            ("ann\n", false),
            // Not white space in Unicode.
            ("ann\u{200b}", false),
            ("\u{feff}ann", false),
        ] {
            assert_eq!(check_identifier(text, 8, "/customer").is_ok(), allowed, "{text:?}");
            assert_eq!(is_customer(text), allowed, "{text:?}");
        }
    }
}
