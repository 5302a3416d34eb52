//! All that clients asked and were told, over all lives of the process, read from its log.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use boxoffice_core::command::{Action, Command};
use boxoffice_core::ids::BookingId;
use boxoffice_core::memory::KeyDigest;
use boxoffice_engine::InventoryNumber;

use super::log::{Line, Told};

/// What a log says.
#[derive(Debug, Default)]
pub struct History {
    /// In the order in which they were first written down.
    pub requests: Vec<Request>,
    /// What is known of each booking that anybody asked for.
    pub bookings: HashMap<BookingId, Known>,
    /// Bookings of the stadium that were asked for: up to this one.
    pub filling: u64,
    /// Ranges of the stadium's bookings that were granted.
    pub filled: Vec<(u64, u64)>,
    /// Why the engine ended by itself, each time that it did.
    pub stops: Vec<String>,
    /// What was read after that.
    pub reads: Vec<String>,
    /// What cannot be, whatever the store says.
    pub contradictions: Vec<String>,
    by_key: HashMap<KeyDigest, usize>,
    read_bytes: u64,
}

/// One command and what became of it.
#[derive(Debug)]
pub struct Request {
    /// Its name.
    pub key: KeyDigest,
    /// For which inventory.
    pub inventory: InventoryNumber,
    /// What was asked.
    pub command: Command,
    /// What became of it.
    pub fate: Fate,
}

/// What the client knows about its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Nothing: it may have been done, and may still be if it is sent again.
    Open,
    /// It was not taken.
    Undone,
    /// It was answered.
    Told(Told),
}

/// What is known of a booking.
#[derive(Debug, Default)]
pub struct Known {
    /// The latest version that somebody was told of, and what they were told; zero if nobody was.
    pub version: u32,
    /// See [`super::log::booking_text`].
    pub text: String,
    /// The requests about it, as indices into [`History::requests`].
    pub requests: Vec<usize>,
}

impl History {
    /// Reads a log from its beginning; nothing if there is none.
    pub fn of(path: &Path) -> io::Result<History> {
        let mut history = History::default();
        history.read_on(path)?;
        Ok(history)
    }

    /// Reads what was added to the log since.
    pub fn read_on(&mut self, path: &Path) -> io::Result<()> {
        let mut file = match std::fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        file.seek(SeekFrom::Start(self.read_bytes))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // A line without its end is one that is just being written.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.read_bytes += whole as u64;
        for line in text[..whole].lines() {
            let line = line.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.note(line);
        }
        Ok(())
    }

    /// Requests that a client would send again: nobody told it what became of them.
    pub fn open(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().filter(|request| match request.fate {
            Fate::Open | Fate::Undone => true,
            Fate::Told(_) => false,
        })
    }

    /// How many requests were answered.
    pub fn answered(&self) -> usize {
        self.requests.iter().filter(|request| matches!(request.fate, Fate::Told(_))).count()
    }

    fn note(&mut self, line: Line) {
        match line {
            Line::Intent { key, inventory, command } => self.note_intent(key, inventory, command),
            Line::Answered { key, told, replayed } => self.note_answer(key, told, replayed),
            Line::Undone { key, why: _ } => self.settle(key, Fate::Undone),
            Line::Unknown { key, why: _ } => self.settle(key, Fate::Open),
            Line::Filling { first, count } => self.filling = self.filling.max(first + count),
            Line::Filled { first, count } => self.filled.push((first, count)),
            Line::Stopped(why) => self.stops.push(why),
            Line::Read(what) => self.reads.push(what),
        }
    }

    fn note_intent(&mut self, key: KeyDigest, inventory: InventoryNumber, command: Command) {
        if let Some(&index) = self.by_key.get(&key) {
            let request = &mut self.requests[index];
            if (request.inventory, &request.command) != (inventory, &command) {
                self.contradictions.push(format!("{key:?} is the key of two requests"));
            }
            // Sent again: it may be done after all.
            if request.fate == Fate::Undone {
                request.fate = Fate::Open;
            }
            return;
        }
        let index = self.requests.len();
        if let Some(id) = booking_of(&command) {
            self.bookings.entry(id).or_default().requests.push(index);
        }
        self.by_key.insert(key, index);
        self.requests.push(Request { key, inventory, command, fate: Fate::Open });
    }

    fn note_answer(&mut self, key: KeyDigest, told: Told, replayed: bool) {
        let Some(&index) = self.by_key.get(&key) else {
            self.contradictions.push(format!("{key:?} was answered and never asked"));
            return;
        };
        match &self.requests[index].fate {
            Fate::Told(before) if *before != told => {
                self.contradictions.push(format!("{key:?} was told {before:?}, then {told:?}"));
            }
            Fate::Told(_) if !replayed => {
                self.contradictions.push(format!("{key:?} was decided twice, to the same end"));
            }
            Fate::Told(_) | Fate::Open | Fate::Undone => {}
        }
        if let (Some((id, version)), Some(text)) = (told.booking(), told.booking_text()) {
            let known = self.bookings.entry(id).or_default();
            if version > known.version {
                known.version = version;
                text.clone_into(&mut known.text);
            } else if version == known.version && text != known.text {
                self.contradictions.push(format!("one version, two bookings: {text} and {}", known.text));
            }
        }
        self.requests[index].fate = Fate::Told(told);
    }

    fn settle(&mut self, key: KeyDigest, fate: Fate) {
        match self.by_key.get(&key) {
            // A key that was answered once and is sent again in vain keeps its answer.
            Some(&index) if matches!(self.requests[index].fate, Fate::Told(_)) => {}
            Some(&index) => self.requests[index].fate = fate,
            None => self.contradictions.push(format!("{key:?} failed and was never asked")),
        }
    }
}

/// The booking that a command is about.
fn booking_of(command: &Command) -> Option<BookingId> {
    match &command.action {
        Action::Book(book) => Some(book.id),
        Action::Confirm(confirm) => Some(confirm.booking),
        Action::Cancel(cancel) => Some(cancel.booking),
        Action::Extend(_)
        | Action::Move(_)
        | Action::Redeem(_)
        | Action::Unredeem(_)
        | Action::CreateEvent(_)
        | Action::CreateSchedule(_)
        | Action::CreateShop(_)
        | Action::PatchEvent(_)
        | Action::PatchSchedule(_)
        | Action::PatchShop(_)
        | Action::BlockSeats(_)
        | Action::UnblockSeats(_)
        | Action::AddSlot(_)
        | Action::PatchSlot(_)
        | Action::DeleteSlot(_)
        | Action::RollSlots
        | Action::AddBox(_)
        | Action::PatchBox(_)
        | Action::ImportTickets(_)
        | Action::Expire
        | Action::ForgetContact(_)
        | Action::ForgetKeys
        | Action::CancelEvent(_)
        | Action::DeleteEvent => None,
    }
}
