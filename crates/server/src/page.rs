//! Lists in pages.

use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::limits::{LIST_ITEMS_DEFAULT, LIST_ITEMS_MAX};
use crate::problem::Problem;

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// Where the next page begins; `null` at the end.
    #[schema(required)]
    pub(crate) next_cursor: Option<String>,
}

/// How many items are wanted.
pub(crate) fn limit(given: Option<usize>) -> Result<usize, Problem> {
    match given.unwrap_or(LIST_ITEMS_DEFAULT) {
        limit @ 1..=LIST_ITEMS_MAX => Ok(limit),
        limit => {
            let message = format!("must be an integer between 1 and {LIST_ITEMS_MAX}, got {limit}");
            Err(Problem::invalid("/limit", message))
        }
    }
}

/// A place in a list as text that means nothing to others.
pub(crate) fn cursor(place: &impl Serialize) -> String {
    let bytes = postcard::to_extend(place, Vec::new()).expect("places are plain data");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn read_cursor<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    let byte = |index: usize| u8::from_str_radix(text.get(index..index + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
    let place = bytes.and_then(|bytes| match postcard::take_from_bytes(&bytes) {
        Ok((place, [])) => Some(place),
        Ok(_) | Err(_) => None,
    });
    place.ok_or_else(|| Problem::invalid("/cursor", "is not a cursor of this list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_back_and_rubbish_is_refused() {
        let place = (i64::MIN, u32::MAX, 7usize);
        assert_eq!(read_cursor::<(i64, u32, usize)>(&cursor(&place)).unwrap(), place);
        for wrong in ["", "x", "zz", "0", "é1", "00", &(cursor(&place) + "00")] {
            assert!(read_cursor::<(i64, u32, usize)>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_have_bounds() {
        assert_eq!(limit(None).unwrap(), 50);
        assert_eq!(limit(Some(500)).unwrap(), 500);
        assert!(limit(Some(0)).is_err() && limit(Some(501)).is_err());
    }
}
