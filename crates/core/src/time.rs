//! Moments, dates and slot ids. Time is always handed in: nothing here can ask what time it is.

use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

/// The first and last moment the calendar knows: years 1900 to 9998, inside what every part of it can express.
const MOMENTS: std::ops::RangeInclusive<i64> = -2_208_988_800_000..=253_370_764_800_000;

impl Timestamp {
    /// This moment and `seconds` more.
    pub fn plus_seconds(self, seconds: u32) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::from(seconds) * 1_000))
    }

    /// This moment, brought inside what the calendar can express.
    pub(crate) fn clamped(self) -> Timestamp {
        Timestamp(self.0.clamp(*MOMENTS.start(), *MOMENTS.end()))
    }

    /// Whether it can be a local time on a date of the calendar: zones reach out of it by less than a day, and so does
    /// a window that ends at the last midnight.
    pub(crate) fn is_local_time(self) -> bool {
        self.0.abs_diff(self.clamped().0) <= 2 * 24 * 60 * 60 * 1_000
    }

    pub(crate) fn check(self, pointer: impl std::fmt::Display) -> Result<(), Refusal> {
        if MOMENTS.contains(&self.0) {
            return Ok(());
        }
        Err(Refusal::invalid(pointer, "must be a time between the years 1900 and 9998"))
    }
}

/// A calendar date, as days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Date(pub i32);

const EPOCH: civil::Date = civil::Date::constant(1970, 1, 1);
const DATES: std::ops::RangeInclusive<i32> = -25_567..=2_932_531;

impl Date {
    /// The date of a year, a month and a day, if there is one.
    pub fn from_ymd(year: i16, month: i8, day: i8) -> Option<Date> {
        civil::Date::new(year, month, day).ok().map(Date::from_civil).filter(|date| DATES.contains(&date.0))
    }

    /// Year, month and day.
    pub fn ymd(self) -> (i16, i8, i8) {
        let date = self.civil();
        (date.year(), date.month(), date.day())
    }

    /// Monday is 1, Sunday is 7.
    pub fn weekday(self) -> u8 {
        self.civil().weekday().to_monday_one_offset().unsigned_abs()
    }

    /// The date `days` later.
    pub fn plus_days(self, days: i32) -> Date {
        Date(self.0.saturating_add(days))
    }

    pub(crate) fn check(self, pointer: impl std::fmt::Display) -> Result<(), Refusal> {
        if DATES.contains(&self.0) {
            return Ok(());
        }
        Err(Refusal::invalid(pointer, "must be a date between the years 1900 and 9998"))
    }

    fn from_civil(date: civil::Date) -> Date {
        Date(date.since(EPOCH).expect("dates are bounded").get_days())
    }

    fn civil(self) -> civil::Date {
        // The day after the last is needed for windows that end at midnight.
        let days = self.0.clamp(*DATES.start(), *DATES.end() + 1);
        EPOCH.saturating_add(jiff::Span::new().days(days))
    }
}

/// A time of day, in minutes after midnight; 24:00 is the end of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Minute(pub u16);

/// Minutes of a day.
pub const DAY_MINUTES: u16 = 24 * 60;

impl Minute {
    /// Hour and minute of an hour.
    pub fn hour_minute(self) -> (u16, u16) {
        (self.0 / 60, self.0 % 60)
    }
}

impl std::fmt::Display for Minute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (hour, minute) = self.hour_minute();
        write!(f, "{hour:02}:{minute:02}")
    }
}

/// A slot is named by the local date and time at which it starts: `2026-12-01T09:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SlotId {
    /// The local date.
    pub date: Date,
    /// The local start.
    pub start: Minute,
}

impl std::fmt::Display for SlotId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}T{}", self.date, self.start)
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl std::str::FromStr for SlotId {
    type Err = ();

    /// Reads exactly the form that [`SlotId`] prints.
    fn from_str(text: &str) -> Result<SlotId, ()> {
        let (date, start) = text.split_once('T').ok_or(())?;
        let mut parts = date.splitn(3, '-');
        let mut next = |length: usize| {
            parts
                .next()
                .filter(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit()))
                .ok_or(())
        };
        let year = next(4)?.parse().map_err(drop)?;
        let month = next(2)?.parse().map_err(drop)?;
        let day = next(2)?.parse().map_err(drop)?;
        let date = Date::from_ymd(year, month, day).ok_or(())?;
        let start: Minute = start.parse()?;
        if start.0 >= DAY_MINUTES {
            return Err(());
        }
        Ok(SlotId { date, start })
    }
}

impl std::str::FromStr for Minute {
    type Err = ();

    /// Reads exactly the form that [`Minute`] prints, up to `24:00`.
    fn from_str(text: &str) -> Result<Minute, ()> {
        let (hour, minute) = text.split_once(':').ok_or(())?;
        let two_digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        if !two_digits(hour) || !two_digits(minute) {
            return Err(());
        }
        let (hour, minute): (u16, u16) = (hour.parse().map_err(drop)?, minute.parse().map_err(drop)?);
        let total = hour * 60 + minute;
        if minute >= 60 || total > DAY_MINUTES {
            return Err(());
        }
        Ok(Minute(total))
    }
}

/// A named time zone with its rules, from the database compiled into the program.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    zone: TimeZone,
}

impl Zone {
    /// The zone of an IANA name such as `Asia/Taipei`.
    pub(crate) fn named(name: &str, pointer: &str) -> Result<Zone, Refusal> {
        // Never the database of the machine: the same commands must give the same slots everywhere.
        let zone = TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown());
        let zone =
            zone.ok_or_else(|| Refusal::invalid(pointer, "must be an IANA time zone, like Asia/Taipei"))?;
        Ok(Zone { zone })
    }

    /// Its IANA name as the database spells it.
    ///
    /// # Panics
    /// Never: zones are found by name.
    pub fn name(&self) -> &str {
        self.zone.iana_name().expect("the zone was found by its name")
    }

    /// The local date and time at a moment, to the minute.
    pub fn local_time(&self, moment: Timestamp) -> SlotId {
        let local = self.zone.to_datetime(moment_of(moment));
        let minutes = i16::from(local.hour()) * 60 + i16::from(local.minute());
        SlotId { date: Date::from_civil(local.date()), start: Minute(minutes.unsigned_abs()) }
    }

    /// The local date at a moment.
    pub fn date_at(&self, moment: Timestamp) -> Date {
        Date::from_civil(self.zone.to_datetime(moment_of(moment)).date())
    }

    /// The moment of a local time. One that the clocks skip is the moment at which they do, so that what lies between two such times
    /// takes no time; one that happens twice is the first.
    pub fn moment(&self, date: Date, minute: Minute) -> Timestamp {
        let (date, minute) = if minute.0 >= DAY_MINUTES {
            (date.plus_days(1), Minute(minute.0 - DAY_MINUTES))
        } else {
            (date, minute)
        };
        let (hour, minute) = minute.hour_minute();
        let local = date.civil().at(
            i8::try_from(hour).expect("an hour of the day"),
            i8::try_from(minute).expect("a minute of the hour"),
            0,
            0,
        );
        let found = self.zone.to_ambiguous_timestamp(local);
        let moment = match found.offset() {
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => found.compatible(),
            // By the clocks as they are afterwards, a time that was skipped lies before it was.
            AmbiguousOffset::Gap { .. } => found.earlier().map(|before| {
                let skipped = self.zone.following(before).next();
                skipped.expect("the clocks skip something there").timestamp()
            }),
        };
        Timestamp(moment.expect("dates are bounded").as_millisecond())
    }
}

fn moment_of(moment: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(moment.clamped().0).expect("moments are bounded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_their_names_agree() {
        let rows = [
            ("1970-01-01", 0, 4),
            ("2000-02-29", 11_016, 2),
            ("2026-11-15", 20_772, 7),
            ("1900-01-01", -25_567, 1),
            ("9998-12-31", 2_932_531, 4),
        ];
        for (name, days, weekday) in rows {
            let date = Date(days);
            assert_eq!(date.to_string(), name);
            assert_eq!(date.weekday(), weekday, "{name}");
            let (year, month, day) = date.ymd();
            assert_eq!(Date::from_ymd(year, month, day), Some(date), "{name}");
        }
        assert_eq!(Date::from_ymd(2026, 2, 29), None);
        assert_eq!(Date::from_ymd(1899, 12, 31), None);
        assert!(Date(-25_568).check("/date").is_err() && Date(-25_567).check("/date").is_ok());
        assert!(Date(2_932_532).check("/date").is_err() && Date(2_932_531).check("/date").is_ok());
        let utc = Zone::named("UTC", "/timezone").unwrap();
        assert_eq!(utc.moment(Date(2_932_531), Minute(DAY_MINUTES)), Timestamp(253_370_764_800_000));
    }

    #[test]
    fn slot_names_are_read_as_they_are_printed() {
        let id: SlotId = "2026-12-01T09:05".parse().unwrap();
        assert_eq!(id, SlotId { date: Date::from_ymd(2026, 12, 1).unwrap(), start: Minute(9 * 60 + 5) });
        assert_eq!(id.to_string(), "2026-12-01T09:05");
        for wrong in [
            "2026-12-01",
            "2026-12-01T9:05",
            "2026-12-01T09:60",
            "2026-12-01T24:00",
            "2026-13-01T09:00",
            "2026-12-1T09:00",
            "+026-12-01T09:00",
            "2026-12-01T+9:00",
            "2026-12-01T09:00:00",
            "",
        ] {
            assert_eq!(wrong.parse::<SlotId>(), Err(()), "{wrong}");
        }
        assert_eq!("24:00".parse(), Ok(Minute(DAY_MINUTES)));
        assert_eq!("24:01".parse::<Minute>(), Err(()));
        assert_eq!("23:59".parse(), Ok(Minute(DAY_MINUTES - 1)));
    }

    #[test]
    fn local_times_follow_the_zone_over_changes_of_the_clock() {
        let berlin = Zone::named("Europe/Berlin", "/timezone").unwrap();
        let spring = Date::from_ymd(2026, 3, 29).unwrap();
        let hour = |hours: u16| berlin.moment(spring, Minute(hours * 60)).0 / 3_600_000;
        assert_eq!(hour(3) - hour(1), 1, "the night of the change is an hour short");
        assert_eq!(hour(2), hour(3), "a skipped time is the end of the gap");
        let minute = |minute: u16| berlin.moment(spring, Minute(minute)).0 / 60_000;
        assert_eq!([121, 150, 179].map(minute), [minute(180); 3], "however deep it lies inside");
        assert_eq!((minute(181) - minute(180), minute(180) - minute(119)), (1, 1));
        // Where the day begins an hour late.
        let cairo = Zone::named("Africa/Cairo", "/timezone").unwrap();
        let friday = Date::from_ymd(2026, 4, 24).unwrap();
        assert_eq!(cairo.moment(friday, Minute(30)), cairo.moment(friday, Minute(60)));
        assert_eq!(cairo.date_at(cairo.moment(friday, Minute(30))), friday);
        // Where the clocks skip half an hour, two hours at once, and a whole day.
        for (zone, (year, month, day), skipped, until) in [
            ("Australia/Lord_Howe", (2026, 10, 4), Minute(135), Minute(150)),
            ("America/Indiana/Winamac", (2007, 3, 11), Minute(190), Minute(240)),
            ("Pacific/Apia", (2011, 12, 30), Minute(600), Minute(DAY_MINUTES)),
        ] {
            let (zone, date) = (Zone::named(zone, "").unwrap(), Date::from_ymd(year, month, day).unwrap());
            assert_eq!(zone.moment(date, skipped), zone.moment(date, until), "{}", zone.name());
        }
        assert_eq!(hour(24) - hour(0), 23);
        let autumn = Date::from_ymd(2026, 10, 25).unwrap();
        let first = berlin.moment(autumn, Minute(150));
        assert_eq!(first.0, 1_792_888_200_000, "02:30 happens twice; the first counts");
        assert_eq!(berlin.date_at(Timestamp(first.0 - 151 * 60_000)), autumn.plus_days(-1));
        assert_eq!(berlin.date_at(Timestamp(first.0 - 150 * 60_000)), autumn);
        assert_eq!(berlin.name(), "Europe/Berlin");
        assert_eq!(Zone::named("europe/berlin", "/timezone").unwrap(), berlin);
        for nowhere in ["Mars/Olympus", "Etc/Unknown", ""] {
            assert!(Zone::named(nowhere, "/timezone").is_err(), "{nowhere}");
        }
    }

    #[test]
    fn moments_outside_the_calendar_are_refused() {
        for (moment, allowed) in [
            (-2_208_988_800_000, true),
            (-2_208_988_800_001, false),
            (253_370_764_800_000, true),
            (253_370_764_800_001, false),
            (i64::MAX, false),
            (i64::MIN, false),
        ] {
            assert_eq!(Timestamp(moment).check("/at").is_ok(), allowed, "{moment}");
        }
        assert_eq!(Timestamp(i64::MAX).clamped(), Timestamp(253_370_764_800_000));
        assert_eq!(Timestamp(5).plus_seconds(2), Timestamp(2_005));
        let two_days_later = 253_370_764_800_000 + 172_800_000;
        assert!(Timestamp(two_days_later).is_local_time());
        assert!(!Timestamp(two_days_later + 1).is_local_time());
    }
}
