//! What clients asked and what they were told, a line each, in a file that outlives the process.
//!
//! ```text
//! intent     KEY NUMBER COMMAND                          about to be sent: the command's bytes in hexadecimal
//! answered   KEY SEQUENCE DECIDED_AT REPLAYED OUTCOME    see `outcome_text`
//! undone     KEY WHY                                     not taken: it was not done and never will be
//! unknown    KEY WHY                                     nobody can say
//! filling    FIRST COUNT                                 about to be sent: see `fill`
//! filled     FIRST COUNT                                 all of them were granted
//! stopped    WHY                                         the engine ended by itself
//! read       WHAT                                        something was looked at after that
//! ```
//!
//! Each line is one `write` to a file opened for appending: when the call has returned, the line is the system's and
//! survives the process, however that ends. It is not synced, because the machine is not what dies here.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use boxoffice_core::booking::Booking;
use boxoffice_core::codec;
use boxoffice_core::command::Command;
use boxoffice_core::ids::BookingId;
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_engine::{Answer, InventoryNumber, SubmitError};

/// The file, open for appending.
#[derive(Debug)]
pub struct Log(File);

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// About to be sent.
    Intent {
        /// Names the request from here on.
        key: KeyDigest,
        /// To which inventory.
        inventory: InventoryNumber,
        /// What is asked.
        command: Command,
    },
    /// An acknowledgement.
    Answered {
        /// Of which request.
        key: KeyDigest,
        /// What was told.
        told: Told,
        /// Whether the engine said that it had said so before.
        replayed: bool,
    },
    /// The command was not taken.
    Undone {
        /// Of which request.
        key: KeyDigest,
        /// In the engine's words.
        why: String,
    },
    /// The outcome is not known.
    Unknown {
        /// Of which request.
        key: KeyDigest,
        /// In the engine's words.
        why: String,
    },
    /// Bookings of the stadium about to be sent.
    Filling {
        /// The first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// They were all granted.
    Filled {
        /// The first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// The engine ended by itself.
    Stopped(String),
    /// Something was looked at after that.
    Read(String),
}

/// What a client was told: the same for one key for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Of the batch.
    pub sequence: u64,
    /// In milliseconds.
    pub decided_at: i64,
    /// See [`outcome_text`].
    pub outcome: String,
}

impl Told {
    /// What an answer told.
    pub fn of(answer: &Answer) -> Told {
        let Answer { outcome, sequence, decided_at, replayed: _ } = answer;
        Told { sequence: *sequence, decided_at: decided_at.0, outcome: outcome_text(outcome) }
    }

    /// The booking that was granted and its version.
    pub fn booking(&self) -> Option<(BookingId, u32)> {
        let mut words = self.outcome.strip_prefix("granted booking ")?.split(' ');
        let id = BookingId::from_bytes(from_hexadecimal(words.next()?)?.try_into().ok()?);
        Some((id, words.next()?.parse().ok()?))
    }

    /// The whole booking that was granted: see [`booking_text`].
    pub fn booking_text(&self) -> Option<&str> {
        self.outcome.strip_prefix("granted booking ")
    }

    /// Whether it was a refusal.
    pub fn is_refusal(&self) -> bool {
        self.outcome.starts_with("refused ")
    }
}

/// An outcome in one line, in full: equal outcomes have equal texts and different ones different texts.
pub fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Granted(Grant::Booking(booking)) => format!("granted booking {}", booking_text(booking)),
        Outcome::Granted(grant) => format!("granted {grant:?}"),
        Outcome::Refused(refusal) => format!("refused {} {refusal:?}", refusal.code()),
    }
}

/// A booking in one line: its id, its version, and everything.
pub fn booking_text(booking: &Booking) -> String {
    format!("{} {} {booking:?}", hexadecimal(&booking.id.to_bytes()), booking.version)
}

impl Log {
    /// Opens the file, which is made if there is none.
    pub fn open(path: &Path) -> io::Result<Log> {
        let file = File::options().create(true).append(true).open(path)?;
        // A kill cuts a line that crosses a page: the system looks for fatal signals before each page it copies. What was cut was
        // told to nobody, and the next line must not be glued to it.
        let text = std::fs::read(path)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        Ok(Log(file))
    }

    /// Writes a line down.
    ///
    /// # Panics
    /// If that is not possible: what happens next could not be judged.
    pub fn write(&self, line: &Line) {
        let mut text = line.to_string();
        text.push('\n');
        // One call for the whole line, so that lines of several threads do not mix.
        (&self.0).write_all(text.as_bytes()).expect("the log can be written");
    }

    /// Writes down what became of a request.
    pub fn write_result(&self, key: KeyDigest, result: &Result<Answer, SubmitError>) {
        self.write(&match result {
            Ok(answer) => Line::Answered { key, told: Told::of(answer), replayed: answer.replayed },
            Err(SubmitError::OutcomeUnknown) => {
                Line::Unknown { key, why: SubmitError::OutcomeUnknown.to_string() }
            }
            Err(
                error @ (SubmitError::Overloaded { .. }
                | SubmitError::Unavailable { .. }
                | SubmitError::AlreadyDecided
                | SubmitError::Stopped
                | SubmitError::NoSuchInventory
                | SubmitError::Damaged(_)),
            ) => Line::Undone { key, why: error.to_string() },
        });
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = |key: &KeyDigest| hexadecimal(&key.0);
        match self {
            Line::Intent { key, inventory, command } => {
                let command = hexadecimal(&codec::encode_command(command));
                write!(f, "intent {} {} {command}", of(key), inventory.0)
            }
            Line::Answered { key, told: Told { sequence, decided_at, outcome }, replayed } => {
                write!(f, "answered {} {sequence} {decided_at} {replayed} {outcome}", of(key))
            }
            Line::Undone { key, why } => write!(f, "undone {} {why}", of(key)),
            Line::Unknown { key, why } => write!(f, "unknown {} {why}", of(key)),
            Line::Filling { first, count } => write!(f, "filling {first} {count}"),
            Line::Filled { first, count } => write!(f, "filled {first} {count}"),
            Line::Stopped(why) => write!(f, "stopped {why}"),
            Line::Read(what) => write!(f, "read {what}"),
        }
    }
}

/// A line that nobody wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a line of a log: {0:?}")]
pub struct NotALine(String);

impl std::str::FromStr for Line {
    type Err = NotALine;

    fn from_str(text: &str) -> Result<Line, NotALine> {
        read_line(text).ok_or_else(|| NotALine(text.chars().take(100).collect()))
    }
}

fn read_line(text: &str) -> Option<Line> {
    let (word, rest) = text.split_once(' ')?;
    let numbers = || {
        let (first, count) = rest.split_once(' ')?;
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    let keyed = || {
        let (key, rest) = rest.split_once(' ')?;
        Some((KeyDigest(from_hexadecimal(key)?.try_into().ok()?), rest))
    };
    Some(match word {
        "intent" => {
            let (key, rest) = keyed()?;
            let (number, command) = rest.split_once(' ')?;
            let command = codec::decode_command(&from_hexadecimal(command)?).ok()?;
            Line::Intent { key, inventory: InventoryNumber(number.parse().ok()?), command }
        }
        "answered" => {
            let (key, rest) = keyed()?;
            let mut words = rest.splitn(4, ' ');
            let sequence = words.next()?.parse().ok()?;
            let decided_at = words.next()?.parse().ok()?;
            let replayed = words.next()?.parse().ok()?;
            let outcome = words.next()?.to_owned();
            Line::Answered { key, told: Told { sequence, decided_at, outcome }, replayed }
        }
        "undone" => keyed().map(|(key, why)| Line::Undone { key, why: why.to_owned() })?,
        "unknown" => keyed().map(|(key, why)| Line::Unknown { key, why: why.to_owned() })?,
        "filling" => numbers().map(|(first, count)| Line::Filling { first, count })?,
        "filled" => numbers().map(|(first, count)| Line::Filled { first, count })?,
        "stopped" => Line::Stopped(rest.to_owned()),
        "read" => Line::Read(rest.to_owned()),
        _ => return None,
    })
}

/// Bytes in hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |number: u8| char::from(DIGITS[usize::from(number)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|number| u8::try_from(number).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use boxoffice_core::command::Action;

    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let key = KeyDigest(*b"0123456789abcdef");
        let told = Told { sequence: 7, decided_at: -5, outcome: "refused FORBIDDEN a b  c".to_owned() };
        let lines = [
            Line::Intent { key, inventory: InventoryNumber(3), command: Command::of(Action::Expire) },
            Line::Answered { key, told, replayed: true },
            Line::Undone { key, why: "too many".to_owned() },
            Line::Unknown { key, why: "nobody knows".to_owned() },
            Line::Filling { first: 1, count: 2 },
            Line::Filled { first: 3, count: 4 },
            Line::Stopped("asked to stop".to_owned()),
            Line::Read("a view".to_owned()),
        ];
        for line in lines {
            assert_eq!(line.to_string().parse(), Ok(line));
        }
        assert!("intent 00 1 ff".parse::<Line>().is_err());
    }
}
