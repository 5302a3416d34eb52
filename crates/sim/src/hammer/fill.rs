//! A million bookings as fast as they can be made, one after the other in stadiums of one size. They follow from their
//! numbers, so the log needs two lines for thousands of them.

use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, SeatWish, Want};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::ids::booking_id;
use boxoffice_engine::{Answer, Engine, InventoryNumber, SubmitError};

use super::client::{KEEP_SECONDS, report_progress};
use super::log::{Line, Log};
use super::stock::{create, stadium_name, stadium_seats};

/// Bookings sent together.
const TOGETHER: u64 = 16_384;
/// How long the stadium's holds last: longer than anybody looks at them.
const HOLD_SECONDS: u32 = 3_600;
/// In the ids of the stadium's bookings.
const MADE_AT: Timestamp = Timestamp(1_800_000_000_000);

/// Why the stadium could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// A command was not answered.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A command was refused.
    #[error("booking {number} was refused: {why}")]
    Refused {
        /// Which.
        number: u64,
        /// In the engine's words.
        why: String,
    },
}

/// The stadiums of a store.
#[derive(Debug, Clone)]
pub struct Stadiums {
    /// Of each.
    seats: u64,
    numbers: Vec<InventoryNumber>,
}

impl Stadiums {
    /// Those that are there.
    pub fn of(engine: &Engine) -> Option<Stadiums> {
        let listed = engine.inventories();
        let seats = listed.iter().find_map(|listed| stadium_seats(&listed.name))?;
        let number = |index| engine.number(&stadium_name(seats, index));
        Some(Stadiums { seats, numbers: (0..).map_while(number).collect() })
    }

    /// Makes those that so many bookings need.
    async fn create(engine: &Engine, seats: u64, bookings: u64) -> Result<Stadiums, SubmitError> {
        let mut numbers = Vec::new();
        for index in 0..bookings.div_ceil(seats) {
            numbers.push(create(engine, &stadium_name(seats, index)).await?);
        }
        Ok(Stadiums { seats, numbers })
    }

    /// Whether an inventory is one of them.
    pub fn contains(&self, number: InventoryNumber) -> bool {
        self.numbers.contains(&number)
    }

    /// The stadium of a booking.
    pub fn inventory_of(&self, booking: u64) -> InventoryNumber {
        self.numbers[usize::try_from(booking / self.seats).expect("stadiums are few")]
    }

    /// The id of a booking.
    pub fn id_of(&self, booking: u64) -> BookingId {
        booking_id(self.inventory_of(booking), MADE_AT, booking)
    }

    /// The command that makes a booking. Every other one is a hold.
    pub fn command_of(&self, booking: u64) -> Command {
        let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
        let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
        let code = RedeemCode::from_random(u32::try_from(booking).unwrap_or(u32::MAX));
        let mut book = Book::new(self.id_of(booking), &format!("fan-{booking}"), want, code);
        book.confirm = booking.is_multiple_of(2);
        book.hold_ttl_seconds = Some(HOLD_SECONDS).filter(|_| !book.confirm);
        let digest = blake3::hash(&booking.to_le_bytes());
        let key = KeyDigest(*digest.as_bytes().first_chunk().expect("a hash has 32 bytes"));
        let idempotency = Some(Idempotency { key, fingerprint: booking.into(), keep_seconds: KEEP_SECONDS });
        Command { by: Actor(1), idempotency, action: Action::Book(Box::new(book)) }
    }
}

/// Makes bookings until there are so many, in stadiums of so many seats.
pub async fn fill(engine: &Engine, log: &Log, bookings: u64, seats: u64) -> Result<(), FillError> {
    let stadiums = Stadiums::create(engine, seats, bookings).await?;
    // One list is decided while the next one is prepared.
    let mut on_its_way = None;
    for first in (0..bookings).step_by(usize::try_from(TOGETHER).expect("a small number")) {
        let count = TOGETHER.min(bookings - first);
        log.write(&Line::Filling { first, count });
        let numbers = first..first + count;
        let commands =
            numbers.map(|number| (stadiums.inventory_of(number), stadiums.command_of(number))).collect();
        let engine = engine.clone();
        let next = tokio::spawn(async move { (first, engine.submit_all(commands).await) });
        if let Some(before) = on_its_way.replace(next) {
            note_answers(log, before.await.expect("the list was answered"))?;
        }
    }
    match on_its_way {
        Some(last) => note_answers(log, last.await.expect("the list was answered")),
        None => Ok(()),
    }
}

fn note_answers(
    log: &Log,
    (first, answers): (u64, Vec<Result<Answer, SubmitError>>),
) -> Result<(), FillError> {
    let count = answers.len() as u64;
    for (number, answer) in (first..).zip(answers) {
        let outcome = answer?.outcome;
        if !matches!(outcome, Outcome::Granted(Grant::Booking(_))) {
            return Err(FillError::Refused { number, why: format!("{outcome:?}") });
        }
    }
    log.write(&Line::Filled { first, count });
    report_progress();
    Ok(())
}
