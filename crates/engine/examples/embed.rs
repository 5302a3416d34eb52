//! Boxoffice as a library: open a store, sell seats, read them back. `cargo run -p boxoffice-engine --example embed`
#![expect(clippy::print_stdout, reason = "an example talks to the person who started it")]

use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{BestAvailable, Book, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_engine::{Engine, Settings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join("boxoffice-embed");
    let engine = Engine::open(&directory, &Settings::default())?;

    let subsections = vec![SubsectionPlan { number: 1, rows: 10, cols: 20, blocked: Vec::new() }];
    let section = SectionPlan { name: "A".to_owned(), price: Money(3_000), subsections };
    let gala = CreateEvent::new("gala", "Summer Gala", Currency(*b"TWD"), vec![section]);
    // Refused with ALREADY_EXISTS when the example runs for the second time: the store has not forgotten.
    engine.submit_to("gala", Command::of(Action::CreateEvent(Box::new(gala)))).await?;

    let number = engine.number("gala").ok_or("the gala is there now")?;
    let best = BestAvailable { quantity: 4, section: None, adjacent_required: true };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let book = Book::new(engine.new_booking_id(number), "ann", want, engine.new_redeem_code());
    let answer = engine.submit(number, Command::of(Action::Book(Box::new(book)))).await?;
    match answer.outcome {
        Outcome::Granted(Grant::Booking(booking)) => println!("held until paid: {:?}", booking.units),
        Outcome::Granted(other) => println!("{other:?}"),
        Outcome::Refused(refusal) => println!("refused: {}", refusal.code()),
    }
    println!("{} bookings so far", engine.bookings(number).await?.1.len());
    engine.close()?;
    Ok(())
}
