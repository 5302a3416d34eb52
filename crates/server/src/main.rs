//! The `boxoffice` binary. Until it serves, it walks through one small on-sale with the real rules, in memory.
#![expect(clippy::print_stdout, reason = "it talks to the person who started it")]

use boxoffice_core::apply;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{BestAvailable, Book, Confirm, CreateEvent, SeatWish, SectionSeats, Want};
use boxoffice_core::event::{Event, SeatName, SectionPlan, SubsectionPlan};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::inventory::{Inventory, Stock};
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::refusal::{Refusal, SeatAlternative};
use boxoffice_core::rules::{RulesPatch, SalesWindow};
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_core::time::Timestamp;

fn main() {
    let mut gala = Inventory::default();
    let doors = Timestamp(1_798_131_600_000);
    tell(&mut gala, doors, "The house opens sales: section A-1, 3 rows of 8 seats.", create_gala());
    tell(&mut gala, doors, "Ann asks for the best 4.", book(1, "ann", best(4)));
    tell(&mut gala, doors, "Bob asks for the best 6: they sit together in row 2.", book(2, "bob", best(6)));
    tell(&mut gala, doors, "Cy picks 1-4 and 1-5; 1-4 is Ann's.", book(3, "cy", named(&[(1, 4), (1, 5)])));
    let confirm =
        Confirm { booking: booking_id(1), payment_reference: None, if_expired: None, free_only: false };
    tell(&mut gala, doors, "Ann pays.", Action::Confirm(confirm));
    let later = doors.plus_seconds(15 * 60);
    tell(
        &mut gala,
        later,
        "A quarter of an hour later Bob has not paid; Cy takes his seats.",
        book(4, "cy", best(8)),
    );
    println!(
        "\nEvery answer above came from `boxoffice_core::apply`, the function the server will stand on."
    );
}

fn tell(inventory: &mut Inventory, now: Timestamp, story: &str, action: Action) {
    println!("\n{story}");
    let applied = apply(inventory, now, &Command { by: Actor::default(), idempotency: None, action });
    inventory.end_batch();
    match applied.outcome {
        Outcome::Granted(Grant::Booking(booking)) => {
            println!(
                "  granted: {} seats for {} TWD, code {}",
                booking.units.quantity(),
                booking.total_price().0,
                booking.redeem_code
            );
        }
        Outcome::Granted(_) => println!("  granted"),
        Outcome::Refused(refusal) => print_refusal(&refusal),
    }
    let Some(Stock::Event(event)) = inventory.stock() else { return };
    for row in 1..=event.seats.size(0).0 {
        println!("  row {row}  {}", row_picture(event, row));
    }
}

fn print_refusal(refusal: &Refusal) {
    println!("  refused: {}", refusal.code());
    let Refusal::SeatUnavailable { alternatives, .. } = refusal else { return };
    for SeatAlternative { seats, total_price, .. } in alternatives {
        let names: Vec<String> = seats.iter().map(|seat| format!("{}-{}", seat.row, seat.number)).collect();
        println!("  instead: {} for {} TWD", names.join(" "), total_price.0);
    }
}

fn row_picture(event: &Event, row: u16) -> String {
    let cols = event.seats.size(0).1;
    let state = |number| match event.seats.state(Seat { subsection: 0, row, number }) {
        SeatState::Available => '.',
        SeatState::Held => 'h',
        SeatState::Sold => 's',
        SeatState::Blocked => 'x',
    };
    (1..=cols).map(state).collect()
}

fn create_gala() -> Action {
    let subsections = vec![SubsectionPlan { number: 1, rows: 3, cols: 8, blocked: Vec::new() }];
    Action::CreateEvent(Box::new(CreateEvent {
        id: "gala".to_owned(),
        name: "Summer Gala".to_owned(),
        currency: Currency(*b"TWD"),
        starts_at: None,
        sales: SalesWindow::default(),
        rules: RulesPatch::default(),
        sections: vec![SectionPlan { name: "A".to_owned(), price: Money(3_000), subsections }],
        areas: Vec::new(),
    }))
}

fn booking_id(number: u8) -> BookingId {
    BookingId::from_bytes([number; 16])
}

fn best(quantity: u32) -> SeatWish {
    SeatWish::Best(BestAvailable { quantity, section: None, adjacent_required: false })
}

fn named(seats: &[(u16, u16)]) -> SeatWish {
    let seats = seats.iter().map(|&(row, number)| SeatName { row, number }).collect();
    SeatWish::Named(vec![SectionSeats { section: "A-1".to_owned(), seats }])
}

fn book(number: u8, customer: &str, seats: SeatWish) -> Action {
    Action::Book(Box::new(Book {
        id: booking_id(number),
        customer: customer.into(),
        contact: None,
        want: Want::Event { seats, areas: Vec::new() },
        hold_ttl_seconds: None,
        confirm: false,
        metadata: None,
        redeem_code: RedeemCode::from_random(u32::from(number).wrapping_mul(0x9E37_79B9)),
    }))
}
