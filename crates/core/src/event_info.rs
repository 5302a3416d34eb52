//! What an event tells its visitors: when it takes place, where, and what it is about.

use serde::{Deserialize, Serialize};

use crate::characters::{TextKind, refuse_invisible};
use crate::ids::check_text;
use crate::limits::{DESCRIPTION_CHARACTERS_MAX, NAME_CHARACTERS_MAX};
use crate::refusal::Refusal;
use crate::time::{SlotId, Timestamp, Zone};

/// When and where an event takes place, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventInfo {
    /// When the show begins.
    pub starts_at: Option<Timestamp>,
    /// When visitors are admitted.
    pub doors_open_at: Option<Timestamp>,
    /// When the show is over.
    pub ends_at: Option<Timestamp>,
    /// IANA name of the zone in which visitors read these times.
    pub timezone: String,
    /// Where it takes place.
    pub venue: Option<String>,
    /// What it is about; may have several lines.
    pub description: Option<String>,
}

impl Default for EventInfo {
    fn default() -> EventInfo {
        EventInfo {
            starts_at: None,
            doors_open_at: None,
            ends_at: None,
            timezone: "UTC".to_owned(),
            venue: None,
            description: None,
        }
    }
}

/// A change of an event's information; `None` leaves a field as it is, `Some(None)` clears it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventInfoPatch {
    /// See [`EventInfo::starts_at`].
    pub starts_at: Option<Option<Timestamp>>,
    /// See [`EventInfo::doors_open_at`].
    pub doors_open_at: Option<Option<Timestamp>>,
    /// See [`EventInfo::ends_at`].
    pub ends_at: Option<Option<Timestamp>>,
    /// See [`EventInfo::timezone`].
    pub timezone: Option<String>,
    /// See [`EventInfo::venue`].
    pub venue: Option<Option<String>>,
    /// See [`EventInfo::description`].
    pub description: Option<Option<String>>,
}

impl EventInfo {
    /// The information after a patch, checked.
    pub(crate) fn patched(&self, patch: &EventInfoPatch) -> Result<EventInfo, Refusal> {
        let patched = EventInfo {
            starts_at: patch.starts_at.unwrap_or(self.starts_at),
            doors_open_at: patch.doors_open_at.unwrap_or(self.doors_open_at),
            ends_at: patch.ends_at.unwrap_or(self.ends_at),
            timezone: patch.timezone.as_ref().unwrap_or(&self.timezone).clone(),
            venue: patch.venue.as_ref().unwrap_or(&self.venue).clone(),
            description: patch.description.as_ref().unwrap_or(&self.description).clone(),
        };
        let patched = patched.checked()?;
        // What is there already was checked when it was new.
        let new = EventInfo {
            venue: patch.venue.clone().flatten(),
            description: patch.description.clone().flatten(),
            ..EventInfo::default()
        };
        new.refuse_invisible()?;
        Ok(patched)
    }

    /// Refuses a venue or a description with characters that show it as what it is not.
    pub(crate) fn refuse_invisible(&self) -> Result<(), Refusal> {
        if let Some(venue) = &self.venue {
            refuse_invisible(venue, TextKind::Name, "/venue")?;
        }
        if let Some(description) = &self.description {
            refuse_invisible(description, TextKind::Prose, "/description")?;
        }
        Ok(())
    }

    /// Refuses information that is out of bounds or out of order, and spells the zone as the database does.
    pub(crate) fn checked(self) -> Result<EventInfo, Refusal> {
        let moments = [
            (self.starts_at, "/starts_at"),
            (self.doors_open_at, "/doors_open_at"),
            (self.ends_at, "/ends_at"),
        ];
        for (moment, pointer) in moments {
            moment.map_or(Ok(()), |moment| moment.check(pointer))?;
        }
        if let (Some(starts_at), Some(ends_at)) = (self.starts_at, self.ends_at)
            && ends_at <= starts_at
        {
            return Err(Refusal::invalid("/ends_at", "must be later than starts_at"));
        }
        if let (Some(doors_open_at), Some(ends_at)) = (self.doors_open_at, self.ends_at)
            && doors_open_at >= ends_at
        {
            return Err(Refusal::invalid("/doors_open_at", "must be earlier than ends_at"));
        }
        let zone = Zone::named(&self.timezone, "/timezone")?;
        if let Some(venue) = &self.venue {
            check_text(venue, NAME_CHARACTERS_MAX, "/venue")?;
        }
        if let Some(description) = &self.description {
            check_description(description)?;
        }
        Ok(EventInfo { timezone: zone.name().to_owned(), ..self })
    }

    /// The local date and time of a moment in the zone of the event.
    ///
    /// # Panics
    /// Never: the zone was checked when the event was created or changed.
    pub fn local_time(&self, moment: Timestamp) -> SlotId {
        Zone::named(&self.timezone, "").expect("the zone was checked").local_time(moment)
    }
}

/// Refuses a description that is empty or too long, or has control characters other than tabs and line breaks.
fn check_description(text: &str) -> Result<(), Refusal> {
    let is_forbidden = |letter: char| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r');
    let characters = text.chars().count();
    if (1..=DESCRIPTION_CHARACTERS_MAX).contains(&characters) && !text.chars().any(is_forbidden) {
        return Ok(());
    }
    let message = format!(
        "must be 1 to {DESCRIPTION_CHARACTERS_MAX} characters without control characters except tabs and line breaks"
    );
    Err(Refusal::invalid("/description", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::second;

    #[test]
    fn local_times_are_those_of_the_events_zone() {
        for (timezone, expected) in [
            ("UTC", "2026-12-01T00:00"),
            ("Asia/Taipei", "2026-12-01T08:00"),
            ("America/New_York", "2026-11-30T19:00"),
        ] {
            let info = EventInfo { timezone: timezone.to_owned(), ..EventInfo::default() };
            assert_eq!(info.local_time(second(0)).to_string(), expected, "{timezone}");
        }
    }

    #[test]
    fn information_is_checked_field_by_field() {
        type Edit = fn(&mut EventInfo);
        let rows: [(Edit, Result<(), &str>); 16] = [
            (|_| {}, Ok(())),
            (|info| (info.starts_at, info.ends_at) = (Some(second(1)), Some(second(2))), Ok(())),
            (|info| (info.starts_at, info.ends_at) = (Some(second(1)), Some(second(1))), Err("/ends_at")),
            (|info| (info.doors_open_at, info.ends_at) = (Some(second(1)), Some(second(2))), Ok(())),
            (
                |info| (info.doors_open_at, info.ends_at) = (Some(second(2)), Some(second(2))),
                Err("/doors_open_at"),
            ),
            (|info| (info.starts_at, info.doors_open_at) = (Some(second(1)), Some(second(2))), Ok(())),
            (|info| info.starts_at = Some(Timestamp(i64::MAX)), Err("/starts_at")),
            (|info| info.doors_open_at = Some(Timestamp(i64::MIN)), Err("/doors_open_at")),
            (|info| info.ends_at = Some(Timestamp(i64::MAX)), Err("/ends_at")),
            (|info| info.timezone = "Taipei".to_owned(), Err("/timezone")),
            (|info| info.venue = Some(String::new()), Err("/venue")),
            (|info| info.venue = Some("v".repeat(201)), Err("/venue")),
            (|info| info.description = Some("a\tb\r\nc".to_owned()), Ok(())),
            (|info| info.description = Some(String::new()), Err("/description")),
            (|info| info.description = Some("a\u{7}".to_owned()), Err("/description")),
            (|info| info.description = Some("d".repeat(4_001)), Err("/description")),
        ];
        for (edit, expected) in rows {
            let mut info = EventInfo::default();
            edit(&mut info);
            let found = info.clone().checked().map(drop).map_err(|refusal| match refusal {
                Refusal::InvalidRequest { pointer, .. } => pointer,
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected.map_err(str::to_owned), "{info:?}");
        }
        let longest = EventInfo { description: Some("é".repeat(4_000)), ..EventInfo::default() };
        assert_eq!(longest.clone().checked(), Ok(longest));
        let spelled = EventInfo { timezone: "asia/taipei".to_owned(), ..EventInfo::default() };
        assert_eq!(spelled.checked().map(|info| info.timezone), Ok("Asia/Taipei".to_owned()));
    }
}
