//! Moments and dates as the API writes them.

use std::borrow::Cow;

use boxoffice_core::time::{Date, Minute, SlotId, Timestamp};
use jiff::tz::Offset;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A moment: RFC 3339 in UTC with milliseconds, such as `2025-12-01T09:00:00.000Z`. Other offsets are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl Moment {
    /// As the API writes it, unless it is one that the calendar does not know; the core lets none of those in. Digit by digit: every
    /// booking that is answered has two of these, and a printer that can do everything takes a tenth of the answer's time for them.
    pub(crate) fn text(self) -> Option<[u8; 24]> {
        let time = jiff::Timestamp::from_millisecond(self.0.0).ok()?;
        let at = Offset::UTC.to_datetime(time);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (year, thousandths) = (u16::try_from(at.year()).ok()?, at.millisecond().unsigned_abs());
        let pairs = [
            (0, year / 100),
            (2, year % 100),
            (5, at.month().unsigned_abs().into()),
            (8, at.day().unsigned_abs().into()),
            (11, at.hour().unsigned_abs().into()),
            (14, at.minute().unsigned_abs().into()),
            (17, at.second().unsigned_abs().into()),
            (20, thousandths / 10),
        ];
        for (place, number) in pairs {
            text[place] += (number / 10) as u8;
            text[place + 1] += (number % 10) as u8;
        }
        text[22] += (thousandths % 10) as u8;
        Some(text)
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.text().ok_or(std::fmt::Error)?;
        f.write_str(std::str::from_utf8(&text).expect("digits are ASCII"))
    }
}

impl std::str::FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Moment, &'static str> {
        const EXPECTED: &str = "must be a time like 2026-12-24T19:00:00Z";
        // What is read below knows more forms, and offsets of more than a day.
        if !is_rfc_3339(text) {
            return Err(EXPECTED);
        }
        let time: jiff::Timestamp = text.parse().map_err(|_| EXPECTED)?;
        let moment = Moment(Timestamp(time.as_millisecond()));
        // In UTC it may be in another year, of which the form knows nothing.
        moment.text().map(|_| moment).ok_or(EXPECTED)
    }
}

/// Whether a text has the form of RFC 3339; its numbers may still be out of range, except for the hours of the offset.
fn is_rfc_3339(text: &str) -> bool {
    let text = text.as_bytes();
    let Some((moment, rest)) = text.split_at_checked(FORM.len()) else { return false };
    let fraction = match rest.strip_prefix(b".") {
        Some(digits) => 1 + digits.iter().take_while(|digit| digit.is_ascii_digit()).count(),
        None => 0,
    };
    let offset = &rest[fraction..];
    has_form(moment, FORM)
        && fraction != 1
        && match offset {
            b"Z" | b"z" => true,
            [b'+' | b'-', hours @ ..] => has_form(hours, b"00:00") && &hours[..2] < b"24".as_slice(),
            _ => false,
        }
}

const FORM: &[u8] = b"0000-00-00T00:00:00";

/// Whether digits stand where the form has zeros, and its other characters where it has them.
fn has_form(text: &[u8], form: &[u8]) -> bool {
    let fits = |(letter, form): (&u8, &u8)| match form {
        b'0' => letter.is_ascii_digit(),
        other => letter.eq_ignore_ascii_case(other),
    };
    text.len() == form.len() && text.iter().zip(form).all(fits)
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        parsed(deserializer)
    }
}

/// A local date such as `2026-12-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(pub(crate) Date);

impl std::str::FromStr for Day {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Day, &'static str> {
        let slot: SlotId = format!("{text}T00:00").parse().map_err(|()| "must be a date like 2026-12-01")?;
        Ok(Day(slot.date))
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Day, D::Error> {
        parsed(deserializer)
    }
}

/// A local time of day such as `09:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Clock(pub(crate) Minute);

impl std::str::FromStr for Clock {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Clock, &'static str> {
        text.parse().map(Clock).map_err(|()| "must be a time of day like 09:00")
    }
}

impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Clock, D::Error> {
        parsed(deserializer)
    }
}

impl PartialSchema for Day {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .pattern(Some("^(19[0-9]{2}|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}$"))
            .description(Some("A local date."))
            .examples(["2027-12-01"])
            .into()
    }
}

impl ToSchema for Day {
    fn name() -> Cow<'static, str> {
        "Date".into()
    }
}

impl PartialSchema for Clock {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"))
            .description(Some("A local time of day."))
            .examples(["09:00"])
            .into()
    }
}

impl ToSchema for Clock {
    fn name() -> Cow<'static, str> {
        "TimeOfDay".into()
    }
}

/// Reads text that is parsed; a message of the parser's own says what it must be.
pub(crate) fn parsed<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err = &'static str>,
    D: Deserializer<'de>,
{
    struct Text<T>(std::marker::PhantomData<T>);
    impl<T: std::str::FromStr<Err = &'static str>> de::Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Text(std::marker::PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc_with_milliseconds_and_read_with_any_offset() {
        for (text, written) in [
            ("2025-12-01T09:00:00Z", "2025-12-01T09:00:00.000Z"),
            ("2025-12-01T09:00:00.5+08:00", "2025-12-01T01:00:00.500Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("1900-01-01T00:00:00Z", "1900-01-01T00:00:00.000Z"),
            ("2024-02-29T12:34:56.78Z", "2024-02-29T12:34:56.780Z"),
            ("9998-12-31T23:59:59.009Z", "9998-12-31T23:59:59.009Z"),
        ] {
            assert_eq!(text.parse::<Moment>().unwrap().to_string(), written);
        }
        for wrong in [
            "",
            "x",
            "2025-12-01",
            "2025-12-01T09:00:00",
            "2025-12-01T09:00:00+08:00[Asia/Taipei]",
            "20251201T090000Z",
            "2025-12-01T09:00Z",
            "2025-12-01 09:00:00Z",
            "+002025-12-01T09:00:00Z",
            "2025-12-01T09:00:00,5Z",
            "2025-12-01T09:00:00.Z",
            "2025-12-01T09:00:00+01",
            "2025-12-01T09:00:00+0100",
            "2025-12-01T09:00:00+01:00:30",
            "2025-12-01T09:00:00+24:00",
            "2025-13-01T09:00:00Z",
            "2025-12-01T09:00:00ZZ",
            "0000-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
        ] {
            assert!(wrong.parse::<Moment>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn days_and_times_of_day_have_one_form() {
        assert_eq!("2024-02-29".parse::<Day>().unwrap().0.to_string(), "2024-02-29");
        for wrong in ["2023-02-29", "2024-2-29", "20240229", "2024-02-29T00:00"] {
            assert!(wrong.parse::<Day>().is_err(), "{wrong}");
        }
        assert_eq!("24:00".parse::<Clock>().unwrap().0, Minute(1_440));
        assert!("9:00".parse::<Clock>().is_err());
    }
}
