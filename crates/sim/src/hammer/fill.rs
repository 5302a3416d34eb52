//! A million bookings as fast as they can be made. They follow from their numbers, so the log needs two lines for
//! thousands of them.

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
use super::stock::{STADIUM, create};

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

/// The id of a booking by its number.
pub fn id_of(stadium: InventoryNumber, number: u64) -> BookingId {
    booking_id(stadium, MADE_AT, number)
}

/// The command that makes a booking, by its number. Every other one is a hold.
pub fn command_of(stadium: InventoryNumber, number: u64) -> Command {
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let code = RedeemCode::from_random(u32::try_from(number).unwrap_or(u32::MAX));
    let mut book = Book::new(id_of(stadium, number), &format!("fan-{number}"), want, code);
    book.confirm = number.is_multiple_of(2);
    book.hold_ttl_seconds = Some(HOLD_SECONDS).filter(|_| !book.confirm);
    let digest = blake3::hash(&number.to_le_bytes());
    let key = KeyDigest(*digest.as_bytes().first_chunk().expect("a hash has 32 bytes"));
    let idempotency = Some(Idempotency { key, fingerprint: number, keep_seconds: KEEP_SECONDS });
    Command { by: Actor(1), idempotency, action: Action::Book(Box::new(book)) }
}

/// Makes bookings until there are so many.
pub async fn fill(engine: &Engine, log: &Log, bookings: u64) -> Result<(), FillError> {
    let stadium = create(engine, STADIUM).await?;
    // One list is decided while the next one is prepared.
    let mut on_its_way = None;
    for first in (0..bookings).step_by(usize::try_from(TOGETHER).expect("a small number")) {
        let count = TOGETHER.min(bookings - first);
        log.write(&Line::Filling { first, count });
        let commands = (first..first + count).map(|number| (stadium, command_of(stadium, number))).collect();
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
        match answer?.outcome {
            Outcome::Granted(Grant::Booking(_)) => {}
            other => return Err(FillError::Refused { number, why: format!("{other:?}") }),
        }
    }
    log.write(&Line::Filled { first, count });
    report_progress();
    Ok(())
}
