//! Tables of bookings: events, schedules, shops, and what holds for all three.

use std::sync::Arc;

use super::*;
use crate::command::Action;
use crate::commands::{ImportTickets, PatchSlot};
use crate::money::{Money, PriceStep};
use crate::rules::{Orphans, Prefer, RulesPatch, TicketRule};
use crate::schedule::Ticket;
use crate::shop::PickupWindow;
use crate::testing::{
    Reached, Scene, add_box, bakery, block, book, cancel, code, confirm, hall, id, keyed, museum,
    one_section, redeem, redeem_anyway, second, slot,
};

#[test]
fn seats_by_name_are_taken_or_refused() {
    named_seats_table();
}

#[test]
fn the_best_seats_are_taken_or_refused() {
    best_available_table();
}

#[test]
fn standing_places_are_taken_or_refused() {
    areas_table();
}

#[test]
fn places_in_slots_are_taken_or_refused() {
    slots_table();
}

#[test]
fn boxes_are_taken_or_refused() {
    boxes_table();
}

#[test]
fn what_holds_for_all_bookings() {
    common_table();
}

pub(crate) fn tables() -> [Reached; 6] {
    [named_seats_table(), best_available_table(), areas_table(), slots_table(), boxes_table(), common_table()]
}

fn rules(edit: fn(&mut RulesPatch)) -> RulesPatch {
    let mut rules = RulesPatch::default();
    edit(&mut rules);
    rules
}

fn named_seats_table() -> Reached {
    let mut scene = Scene::of(hall(&[("A-1", 2, 4), ("A-2", 1, 3), ("B-1", 1, 2)]));
    scene.row(book("b1", "ann").seats("A-1", "1-2 1-1"), "on hold A-1 1-1,1-2 for 2000 until 900");
    scene.row(
        book("b2", "bob").seats("B-1", "1-2").seats("A-2", "1-3 1-1"),
        "on hold A-2 1-1,1-3 B-1 1-2 for 4000 until 900",
    );
    scene.row(confirm("b2"), "confirmed A-2 1-1,1-3 B-1 1-2 for 4000");
    scene.row(block("A-1", "2-1"), "event Open: 7 free, 2 held, 3 sold, 1 blocked");
    scene.shows("A-1 hh.. x...\nA-2 s.s\nB-1 .s");
    scene.row(
        book("b3", "cy").seats("A-1", "2-1 1-2"),
        "SEAT_UNAVAILABLE A-1 1-2 Held, A-1 2-1 Blocked; or A-1 1-3,1-4 for 2000; or A-1 2-2,2-3 for 2000",
    );
    scene.row(
        book("b3", "cy").seats("A-2", "1-3").seats("A-1", "1-3"),
        "SEAT_UNAVAILABLE A-2 1-3 Sold; or A-1 1-3,1-4 for 2000; or A-1 2-3,2-4 for 2000",
    );
    scene.row(
        book("b3", "cy").seats("A-2", "1-1"),
        "SEAT_UNAVAILABLE A-2 1-1 Sold; or A-2 1-2 for 1000; or A-1 1-3 for 1000; or B-1 1-1 for 2000",
    );
    scene.row(book("b3", "cy").seats("A-1", "1-3 1-3"), "DUPLICATE_SEAT A-1 1-3");
    scene.row(book("b3", "cy").seats("A-1", "1-3").seats("A-1", "1-4 1-3"), "DUPLICATE_SEAT A-1 1-3");
    // A seat number beyond the row is not a seat of the next row.
    scene.row(book("b3", "cy").seats("A-1", "1-5"), "SEAT_NOT_FOUND A-1 1-5");
    scene.row(book("b3", "cy").seats("A-1", "3-1"), "SEAT_NOT_FOUND A-1 3-1");
    scene.row(book("b3", "cy").seats("C-1", "1-1"), "SECTION_NOT_FOUND C-1");
    scene.row(book("b3", "cy").seats("A", "1-1"), "SECTION_NOT_FOUND A");
    scene.row(book("b3", "cy").seats("a-1", "1-1"), "SECTION_NOT_FOUND a-1");
    let mut no_seats = book("b3", "cy").seats("A-1", "1-3");
    no_seats.want = Want::Event { seats: SeatWish::Named(Vec::new()), areas: Vec::new() };
    scene.row(no_seats, "INVALID_REQUEST /seats");
    let mut no_names = book("b3", "cy").seats("A-1", "1-3");
    let nothing = SectionSeats { section: "A-1".to_owned(), seats: Vec::new() };
    no_names.want = Want::Event { seats: SeatWish::Named(vec![nothing]), areas: Vec::new() };
    scene.row(no_names, "INVALID_REQUEST /seats");
    scene.row(book("b3", "cy"), "INVALID_REQUEST");
    scene.shows("A-1 hh.. x...\nA-2 s.s\nB-1 .s");

    // Nothing together is left for four: seats apart are offered.
    scene.row(
        book("b3", "cy").seats("A-1", "1-1 1-2 1-3 1-4"),
        "SEAT_UNAVAILABLE A-1 1-1 Held, A-1 1-2 Held; or A-1 1-3,2-2,2-3,2-4 apart for 4000",
    );

    // Nearest row first; of two equally near the one in front.
    let mut tall = Scene::of(one_section(7, 2));
    let taken = "3-1 3-2 4-1 4-2 5-1 5-2";
    tall.row(block("A-1", taken), "event Open: 8 free, 0 held, 0 sold, 6 blocked");
    for (row, offered) in [(3, [2, 1, 6]), (4, [2, 6, 1]), (5, [6, 7, 2])] {
        let seats = format!("{row}-1 {row}-2");
        let offers = offered.map(|row| format!("; or A-1 {row}-1,{row}-2 for 2000")).concat();
        let refusal = format!("SEAT_UNAVAILABLE A-1 {row}-1 Blocked, A-1 {row}-2 Blocked{offers}");
        tall.row(book("b1", "ann").seats("A-1", &seats), &refusal);
    }

    let mut reached = scene.reached;
    // Ten other subsections are looked into and no more: here the eleventh would have a pair that leaves no single.
    let addresses: Vec<String> = (1..=12).map(|number| format!("A-{number}")).collect();
    let width = |at: usize| if at == 11 { 2 } else { 3 };
    let narrow: Vec<(&str, u16, u16)> =
        addresses.iter().enumerate().map(|(at, address)| (address.as_str(), 1, width(at))).collect();
    let forbid = || rules(|rules| rules.orphans = Some(Orphans::Forbid));
    let mut many = Scene::of(hall(&narrow).with_rules(forbid()));
    many.row(block("A-1", "1-2"), "event Open: 34 free, 0 held, 0 sold, 1 blocked");
    many.row(
        book("b1", "ann").seats("A-1", "1-1 1-2"),
        "SEAT_UNAVAILABLE A-1 1-2 Blocked; or A-2 1-1,1-2 for 2000",
    );
    let mut fewer = Scene::of(hall(&[&narrow[..10], &narrow[11..]].concat()).with_rules(forbid()));
    fewer.row(block("A-1", "1-2"), "event Open: 31 free, 0 held, 0 sold, 1 blocked");
    fewer.row(
        book("b1", "ann").seats("A-1", "1-1 1-2"),
        "SEAT_UNAVAILABLE A-1 1-2 Blocked; or A-12 1-1,1-2 for 2000",
    );
    let mut strict = Scene::of(
        hall(&[("A-1", 2, 5), ("A-2", 1, 3)])
            .with_rules(rules(|rules| rules.orphans = Some(Orphans::Forbid))),
    );
    strict.row(
        book("b1", "ann").seats("A-1", "1-2"),
        "ORPHAN_SEAT A-1 1-1; or A-1 1-1 for 1000; or A-1 2-1 for 1000; or A-2 1-1 for 1000",
    );
    strict.row(
        book("b1", "ann").seats("A-1", "1-1 1-3"),
        "ORPHAN_SEAT A-1 1-2; or A-1 1-1,1-2 for 2000; or A-1 2-1,2-2 for 2000",
    );
    strict.row(book("b1", "ann").seats("A-1", "1-1 1-2"), "on hold A-1 1-1,1-2 for 2000 until 900");
    strict.row(book("b2", "bob").seats("A-1", "1-4 1-5"), "ORPHAN_SEAT A-1 1-3; or A-1 2-4,2-5 for 2000");
    strict.row(
        book("b2", "bob").seats("A-1", "1-2"),
        "SEAT_UNAVAILABLE A-1 1-2 Held; or A-1 1-3 for 1000; or A-1 2-1 for 1000; or A-2 1-1 for 1000",
    );
    // Every pair in a row of three leaves one: then it may.
    strict.row(book("b3", "bob").seats("A-2", "1-1 1-2"), "on hold A-2 1-1,1-2 for 2000 until 900");
    strict.row(book("b4", "bob").seats("A-2", "1-3"), "on hold A-2 1-3 for 1000 until 900");
    // The seats of both bookings left of it are taken together: no orphan of this booking's making.
    strict.row(book("b5", "cy").seats("A-1", "1-3 1-4 1-5"), "on hold A-1 1-3,1-4,1-5 for 3000 until 900");
    strict.shows("A-1 hhhhh .....\nA-2 hhh");
    // What the rule would refuse is not offered either: the largest runs apart would leave the same single seat.
    let mut apart = Scene::of(
        hall(&[("A-1", 1, 5), ("B-1", 1, 8)])
            .with_rules(rules(|rules| rules.orphans = Some(Orphans::Forbid))),
    );
    apart.row(block("B-1", "1-5"), "event Open: 12 free, 0 held, 0 sold, 1 blocked");
    let eight = book("b1", "ann").seats("A-1", "1-1 1-2 1-3 1-4 1-5").seats("B-1", "1-1 1-2 1-3");
    apart.row(eight, "ORPHAN_SEAT B-1 1-4");
    let avoiding = one_section(1, 5).with_rules(rules(|rules| rules.orphans = Some(Orphans::Avoid)));
    Scene::of(avoiding).row(book("b1", "ann").seats("A-1", "1-2"), "on hold A-1 1-2 for 1000 until 900");
    reached.refusals.extend(strict.reached.refusals);
    reached
}

fn best_available_table() -> Reached {
    // The first row from the front with as many side by side, the leftmost run; never over two rows.
    let mut scene = Scene::of(hall(&[("A-1", 3, 4), ("B-1", 1, 6)]));
    scene.row(book("b1", "ann").best(3), "on hold A-1 1-1,1-2,1-3 for 3000 until 900");
    scene.row(book("b2", "ann").best(2), "on hold A-1 2-1,2-2 for 2000 until 900");
    scene.row(book("b3", "ann").best(1), "on hold A-1 1-4 for 1000 until 900");
    scene.row(book("b4", "ann").best_in("B", 2), "on hold B-1 1-1,1-2 for 4000 until 900");
    scene.row(book("b5", "ann").best_in("B-1", 1), "on hold B-1 1-3 for 2000 until 900");
    scene.row(book("b6", "ann").best_in("C", 1), "SECTION_NOT_FOUND C");
    scene.row(book("b6", "ann").best_in("B-2", 1), "SECTION_NOT_FOUND B-2");
    scene.row(book("b6", "ann").best(0), "INVALID_REQUEST /best_available/quantity");
    scene.shows("A-1 hhhh hh.. ....\nB-1 hhh...");
    // Five sit together nowhere; the first section has them apart: the largest runs first.
    scene.row(book("b6", "ann").best_together(5), "NOT_ADJACENT");
    scene.row(book("b6", "ann").best(5), "on hold A-1 2-3,3-1,3-2,3-3,3-4 for 5000 until 900");
    scene.row(cancel("b6"), "cancelled A-1 2-3,3-1,3-2,3-3,3-4 for 5000");
    scene.row(
        book("b7", "ann").best(8),
        "on hold A-1 2-3,3-1,3-2,3-3,3-4 B-1 1-4,1-5,1-6 for 11000 until 900",
    );
    scene.row(book("b8", "ann").best(2), "NOT_ENOUGH_SEATS 1 left");
    scene.row(book("b8", "ann").best_together(2), "NOT_ENOUGH_SEATS 1 left");
    scene.row(book("b8", "ann").best_in("B", 1), "NOT_ENOUGH_SEATS 0 left");
    scene.row(book("b8", "ann").best(1), "on hold A-1 2-4 for 1000 until 900");
    let mut reached = scene.reached;

    // A section where they sit together wins over an earlier one where they do not; ties of runs by row, then seat.
    let mut scene = Scene::of(hall(&[("A-1", 2, 5), ("A-2", 1, 3), ("B-1", 1, 3)]));
    scene.row(block("A-1", "1-3 2-3"), "event Open: 14 free, 0 held, 0 sold, 2 blocked");
    scene.row(book("b1", "ann").best(3), "on hold A-2 1-1,1-2,1-3 for 3000 until 900");
    scene.row(book("b2", "ann").best_in("A-1", 3), "on hold A-1 1-1,1-2,1-4 for 3000 until 900");
    scene.row(book("b3", "ann").best_in("A", 4), "on hold A-1 2-1,2-2,2-4,2-5 for 4000 until 900");
    scene.shows("A-1 hhxh. hhxhh\nA-2 hhh\nB-1 ...");

    // Shorter runs of a row follow its longest.
    let mut scene = Scene::of(one_section(1, 6));
    scene.row(block("A-1", "1-4"), "event Open: 5 free, 0 held, 0 sold, 1 blocked");
    scene.row(book("b1", "ann").best(5), "on hold A-1 1-1,1-2,1-3,1-5,1-6 for 5000 until 900");

    // The first section that has them all, apart, wins over one with longer runs that has too few.
    let mut scene = Scene::of(hall(&[("A-1", 1, 5), ("A-2", 1, 3)]));
    scene.row(block("A-1", "1-3"), "event Open: 7 free, 0 held, 0 sold, 1 blocked");
    scene.row(book("b1", "ann").best(4), "on hold A-1 1-1,1-2,1-4,1-5 for 4000 until 900");

    // All that is left, in two sections.
    let mut scene = Scene::of(hall(&[("A-1", 1, 2), ("B-1", 1, 2)]));
    scene.row(book("b1", "ann").best(4), "on hold A-1 1-1,1-2 B-1 1-1,1-2 for 6000 until 900");

    // The best pair near the middle, ties to the left, in the first row that fits.
    let centered = rules(|rules| rules.prefer = Some(Prefer::Center));
    let mut scene = Scene::of(one_section(2, 7).with_rules(centered));
    scene.row(book("b1", "ann").best(2), "on hold A-1 1-3,1-4 for 2000 until 900");
    scene.row(book("b2", "ann").best(1), "on hold A-1 1-5 for 1000 until 900");
    scene.row(book("b3", "ann").best(2), "on hold A-1 1-1,1-2 for 2000 until 900");
    scene.row(book("b4", "ann").best(3), "on hold A-1 2-3,2-4,2-5 for 3000 until 900");
    scene.shows("A-1 hhhhh.. ..hhh..");

    // Runs that leave no single seat are preferred, also in a later row of the same section, and not missed if
    // there are none.
    for orphans in [Orphans::Avoid, Orphans::Forbid] {
        let careful = RulesPatch { orphans: Some(orphans), ..RulesPatch::default() };
        let mut scene = Scene::of(hall(&[("A-1", 2, 5), ("A-2", 1, 2)]).with_rules(careful));
        scene.row(block("A-1", "1-4"), "event Open: 11 free, 0 held, 0 sold, 1 blocked");
        scene.row(book("b1", "ann").best(2), "on hold A-1 2-1,2-2 for 2000 until 900");
        scene.row(book("b2", "ann").best(2), "on hold A-1 1-1,1-2 for 2000 until 900");
        scene.row(book("b3", "ann").best(1), "on hold A-1 1-3 for 1000 until 900");
        scene.row(book("b4", "ann").best(2), "on hold A-1 2-3,2-4 for 2000 until 900");
        scene.shows("A-1 hhhx. hhhh.\nA-2 ..");
    }
    let both = rules(|rules| {
        rules.orphans = Some(Orphans::Avoid);
        rules.prefer = Some(Prefer::Center);
    });
    let mut scene = Scene::of(one_section(1, 5).with_rules(both));
    scene.row(book("b1", "ann").best(3), "on hold A-1 1-1,1-2,1-3 for 3000 until 900");

    // Rows wider than a machine word.
    let mut wide =
        Scene::of(one_section(2, 130).with_rules(rules(|rules| rules.max_units_per_booking = Some(130))));
    wide.row(block("A-1", "1-64"), "event Open: 259 free, 0 held, 0 sold, 1 blocked");
    let applied = wide.apply(&book("b1", "ann").best(66).into());
    let Units::Event { seats, .. } = &booking_of(&applied).units else { panic!("seats") };
    assert_eq!((seats[0].seat.row, seats[0].seat.number, seats[65].seat.number), (1, 65, 130));
    let applied = wide.apply(&book("b2", "ann").best(130).into());
    let Units::Event { seats, .. } = &booking_of(&applied).units else { panic!("seats") };
    assert_eq!((seats[0].seat.row, seats[0].seat.number, seats[129].seat.number), (2, 1, 130));
    reached.refusals.extend(wide.reached.refusals);
    reached
}

fn booking_of(applied: &crate::outcome::Applied) -> &Booking {
    match &applied.outcome {
        crate::outcome::Outcome::Granted(crate::outcome::Grant::Booking(booking)) => booking,
        other => panic!("not a booking: {other:?}"),
    }
}

fn areas_table() -> Reached {
    let mut scene = Scene::of(one_section(1, 3).with_area("standing", 5).with_area("balcony", 2));
    scene.row(book("b1", "ann").standing("standing", 3), "on hold standing x3 for 1500 until 900");
    scene.row(
        book("b2", "ann").seats("A-1", "1-2").standing("balcony", 1).standing("standing", 1),
        "on hold A-1 1-2 + balcony x1 + standing x1 for 2000 until 900",
    );
    scene.row(book("b3", "ann").standing("standing", 2), "AREA_FULL standing 1 left");
    // All or nothing: the seat is not taken if the area is full.
    scene.row(book("b3", "ann").best(1).standing("standing", 2), "AREA_FULL standing 1 left");
    scene.row(book("b3", "ann").best(1).standing("garden", 1), "AREA_NOT_FOUND garden");
    scene.row(book("b3", "ann").standing("standing", 0), "INVALID_REQUEST /areas/0/quantity");
    scene.row(
        book("b3", "ann").standing("balcony", 1).standing("balcony", 1),
        "INVALID_REQUEST /areas/1/name",
    );
    scene.row(book("b3", "ann").best(2).standing("standing", 9), "TOO_MANY_UNITS most 10");
    scene.row(
        book("b3", "ann").standing("standing", u32::MAX).standing("balcony", u32::MAX),
        "TOO_MANY_UNITS most 10",
    );
    let many = |count: usize| {
        (0..count).fold(book("b3", "ann"), |book, number| book.standing(&format!("area {number}"), 1))
    };
    scene.row(many(1_001), "INVALID_REQUEST /areas");
    scene.row(many(1_000), "TOO_MANY_UNITS most 10");
    scene.shows("A-1 .h.\nstanding 4h 0s\nbalcony 1h 0s");
    scene.row(
        book("b3", "ann").best(2).standing("standing", 1).paid(),
        "confirmed A-1 1-1,1-3 + standing x1 for 2500",
    );
    scene.row(confirm("b1"), "confirmed standing x3 for 1500");
    scene.row(cancel("b2"), "cancelled A-1 1-2 + balcony x1 + standing x1 for 2000");
    scene.shows("A-1 s.s\nstanding 0h 4s\nbalcony 0h 0s");
    scene.reached
}

fn slots_table() -> Reached {
    let nine = "2026-12-01T09:00";
    let mut scene = Scene::of(museum());
    scene.row(book("b1", "ann").places(nine, 3), "on hold 2026-12-01T09:00 x3 for 300 until 600");
    scene.row(
        book("b2", "bob").places(nine, 2),
        "SLOT_FULL 1 left; or 2026-12-01T12:00 with 4; or 2026-12-02T09:00 with 4; or 2026-12-02T12:00 with 4",
    );
    scene.row(
        book("b2", "bob").places("2026-12-02T09:00", 4),
        "on hold 2026-12-02T09:00 x4 for 400 until 600",
    );
    let close = PatchSlot { slot: slot("2026-12-01T12:00"), closed: Some(true), capacity: None, price: None };
    scene.row(Action::PatchSlot(close), "2026-12-01T12:00 until 15:00 closed, 4 of 4 left");
    scene.row(
        book("b3", "bob").places("2026-12-02T09:00", 1),
        "SLOT_FULL 0 left; or 2026-12-02T12:00 with 4; or 2026-12-01T09:00 with 1",
    );
    scene.row(book("b3", "bob").places("2026-12-01T12:00", 1), "SLOT_CLOSED");
    scene.row(book("b3", "bob").places("2026-12-03T12:00", 1), "SLOT_NOT_FOUND");
    scene.row(book("b3", "bob").places(nine, 0), "INVALID_REQUEST /quantity");
    scene.row(book("b3", "bob").places(nine, 11), "TOO_MANY_UNITS most 10");
    scene.row(book("b3", "bob").tickets(nine, "T1"), "on hold 2026-12-01T09:00 T1 for 100 until 600");
    scene.row(book("b4", "cy").tickets(nine, "T1"), "TICKET_ALREADY_RESERVED T1");
    scene.row(book("b4", "cy").tickets(nine, ""), "INVALID_REQUEST /tickets");
    scene.row(book("b4", "cy").tickets(nine, "T2 T2"), "INVALID_REQUEST /tickets/1");
    scene.row(book("b4", "cy").tickets(nine, "a\tb"), "INVALID_REQUEST /tickets/0");
    scene.row(book("b4", "cy").tickets(nine, "T1 T2\u{a0}"), "INVALID_REQUEST /tickets/1");
    // White space inside an id is part of it.
    scene.row(book("b4", "cy").tickets(nine, "t1\u{a0}a"), "SLOT_FULL 0 left; or 2026-12-02T12:00 with 4");
    scene.row(cancel("b3"), "cancelled 2026-12-01T09:00 T1 for 100");
    scene.row(book("b4", "cy").tickets(nine, "T1").paid(), "confirmed 2026-12-01T09:00 T1 for 100");
    scene.row(redeem("b4"), "redeemed 2026-12-01T09:00 T1 for 100");
    scene.row(book("b5", "cy").tickets("2026-12-02T12:00", "T1"), "TICKET_ALREADY_USED T1");
    // Noon: the morning is over, the hold on it too.
    scene
        .at(4 * 3_600 - 1)
        .row(book("b6", "cy").places(nine, 1), "on hold 2026-12-01T09:00 x1 for 100 until 14999");
    scene.at(4 * 3_600).row(book("b7", "cy").places(nine, 1), "SLOT_PAST");
    scene.shows(
        "2026-12-01T09:00 1h 1s of 4\n2026-12-01T12:00 0h 0s of 4 closed\n\
         2026-12-02T09:00 0h 0s of 4\n2026-12-02T12:00 0h 0s of 4",
    );
    let mut reached = scene.reached;

    let registered = rules(|rules| rules.tickets = Some(TicketRule::Registered));
    let mut scene = Scene::of(museum().with_rules(registered));
    let ticket = |number: &str, active, expires_at: Option<i64>| {
        (Arc::from(number), Ticket { active, expires_at: expires_at.map(second) })
    };
    let tickets = vec![ticket("T1", true, None), ticket("T2", false, None), ticket("T3", true, Some(100))];
    scene.row(Action::ImportTickets(ImportTickets { tickets }), "3 added, 0 updated");
    scene.row(book("b1", "ann").tickets(nine, "T1 T4"), "TICKET_NOT_FOUND T4");
    scene.row(book("b1", "ann").tickets(nine, "T1 T2"), "TICKET_NOT_ACTIVE T2");
    scene
        .at(99)
        .row(book("b1", "ann").tickets(nine, "T1 T3"), "on hold 2026-12-01T09:00 T1,T3 for 200 until 699");
    scene.at(100).row(book("b2", "ann").tickets(nine, "T3"), "TICKET_EXPIRED T3");
    scene
        .at(699)
        .row(book("b2", "ann").tickets(nine, "T1"), "on hold 2026-12-01T09:00 T1 for 100 until 1299");
    scene.row(book("b3", "ann").places(nine, 2), "INVALID_REQUEST /tickets");
    reached.refusals.extend(scene.reached.refusals);

    let window = rules(|rules| rules.max_units_per_booking = Some(2));
    let mut later = museum().with_rules(window);
    later.sales.opens_at = Some(second(10));
    let mut scene = Scene::of(later);
    scene.row(book("b1", "ann").places(nine, 2), "SALES_NOT_OPEN 10");
    scene.row(book("b1", "ann").tickets(nine, "T1 T2 T3"), "TOO_MANY_UNITS most 2");
    scene.at(10).row(book("b1", "ann").places(nine, 2), "on hold 2026-12-01T09:00 x2 for 200 until 610");
    reached
}

fn boxes_table() -> Reached {
    let mut scene = Scene::of(bakery());
    let mut evening = add_box("evening", 3, 500);
    evening.pickup = Some(PickupWindow { starts_at: second(500), ends_at: second(1_000) });
    evening.price_curve = vec![
        PriceStep { at: second(100), price: Money(400) },
        PriceStep { at: second(200), price: Money(250) },
    ];
    scene.row(evening, "evening Active, 3 of 3 left at 500");
    scene.row(add_box("morning", 1, 300), "morning Active, 1 of 1 left at 300");
    scene.row(book("b1", "ann").boxes("evening", 1), "on hold evening x1 for 500 until 1200");
    // One active reservation per customer per merchant; the answer names it.
    scene.row(book("b2", "ann").boxes("morning", 1), "ACTIVE_RESERVATION_EXISTS b1");
    scene.row(book("b2", "bob").boxes("lunch", 1), "BOX_NOT_FOUND");
    scene.row(book("b2", "bob").boxes("evening", 0), "INVALID_REQUEST /quantity");
    scene.row(book("b2", "bob").boxes("evening", 11), "TOO_MANY_UNITS most 10");
    scene.row(book("b2", "bob").boxes("evening", 3), "INSUFFICIENT_INVENTORY 2 left");
    scene.at(99).row(book("b2", "bob").boxes("evening", 1), "on hold evening x1 for 500 until 1299");
    scene.at(100).row(book("b3", "cy").boxes("evening", 1), "on hold evening x1 for 400 until 1300");
    scene.row(book("b4", "dan").boxes("evening", 1), "BOX_UNAVAILABLE SoldOut");
    // The customer is told of the hold that is in the way of the last box: it is their own.
    scene.row(book("b4", "cy").boxes("evening", 1), "ACTIVE_RESERVATION_EXISTS b3");
    scene.at(250).row(cancel("b3"), "cancelled evening x1 for 400");
    scene.row(book("b4", "cy").boxes("evening", 1), "on hold evening x1 for 250 until 1450");
    scene.row(confirm("b4"), "confirmed evening x1 for 250");
    scene.row(book("b5", "cy").boxes("morning", 1), "ACTIVE_RESERVATION_EXISTS b4");
    scene.row(redeem_anyway("b4"), "redeemed evening x1 for 250");
    scene.row(book("b5", "cy").boxes("morning", 1), "on hold morning x1 for 300 until 1450");
    scene.row(cancel("b5"), "cancelled morning x1 for 300");
    scene.row(cancel("b1"), "cancelled evening x1 for 500");
    scene
        .at(999)
        .row(book("b6", "ann").boxes("evening", 1).for_seconds(1), "on hold evening x1 for 250 until 1000");
    scene.at(1_000).row(book("b7", "ann").boxes("evening", 1), "PICKUP_WINDOW_CLOSED");
    scene.shows("evening 1h 1s of 3\nmorning 0h 0s of 1");
    scene.row(book("b7", "ann").boxes("morning", 1), "on hold morning x1 for 300 until 2200");
    let close = crate::commands::PatchBox {
        id: "morning".into(),
        name: None,
        closed: Some(true),
        quantity: Some(2),
        price: None,
        pickup: None,
        price_curve: None,
    };
    let fewer = crate::commands::PatchBox { quantity: Some(1), ..close.clone() };
    scene.row(Action::PatchBox(Box::new(close)), "morning Closed, 1 of 2 left at 300");
    scene.row(book("b8", "dan").boxes("morning", 1), "BOX_UNAVAILABLE Closed");
    scene.row(Action::PatchBox(Box::new(fewer)), "morning Closed, 0 of 1 left at 300");
    scene.row(book("b8", "dan").boxes("morning", 1), "BOX_UNAVAILABLE Closed");
    let Some(crate::inventory::Stock::Shop(shop)) = scene.inventory.stock() else { panic!("a shop") };
    let next = |at| shop.boxes[0].next_price(second(at)).map(|step| step.price.0);
    assert_eq!([99, 100, 199, 200].map(next), [Some(400), Some(250), Some(250), None]);
    let mut reached = scene.reached;

    let mut shut = bakery().with_rules(rules(|rules| rules.max_active_bookings_per_customer = Some(Some(2))));
    shut.sales.closes_at = Some(second(50));
    let mut scene = Scene::of(shut);
    scene.row(add_box("evening", 9, 500), "evening Active, 9 of 9 left at 500");
    scene.row(book("b1", "ann").boxes("evening", 2), "on hold evening x2 for 1000 until 1200");
    scene.row(book("b2", "ann").boxes("evening", 2), "on hold evening x2 for 1000 until 1200");
    scene.row(book("b3", "ann").boxes("evening", 1), "CUSTOMER_LIMIT_REACHED b2");
    scene.row(cancel("b2"), "cancelled evening x2 for 1000");
    scene.row(book("b3", "ann").boxes("evening", 1), "on hold evening x1 for 500 until 1200");
    scene.row(confirm("b1"), "confirmed evening x2 for 1000");
    scene.row(book("b4", "ann").boxes("evening", 1), "CUSTOMER_LIMIT_REACHED b3");
    scene.at(50).row(book("b5", "bob").boxes("evening", 1), "SALES_CLOSED 50");
    reached.refusals.extend(scene.reached.refusals);
    reached
}

fn common_table() -> Reached {
    let limited = rules(|rules| {
        rules.max_units_per_customer = Some(Some(4));
        rules.max_hold_seconds = Some(1_000);
    });
    let mut scene = Scene::of(one_section(4, 10).with_rules(limited));
    scene.row(book("b1", "ann").best(3).for_seconds(30), "on hold A-1 1-1,1-2,1-3 for 3000 until 30");
    scene.row(book("b1", "bob").best(1), "BOOKING_ID_TAKEN");
    scene.row(book("b2", "ann").best(2), "CUSTOMER_LIMIT_REACHED b1");
    // Of those that are active the newest is named.
    scene.row(book("b0", "ann").best(1), "on hold A-1 1-4 for 1000 until 900");
    scene.row(book("b2", "ann").best(1), "CUSTOMER_LIMIT_REACHED b0");
    scene.row(cancel("b0"), "cancelled A-1 1-4 for 1000");
    scene.row(book("b2", "ann").best(2), "CUSTOMER_LIMIT_REACHED b1");
    scene.row(book("b2", "ann").best(1), "on hold A-1 1-4 for 1000 until 900");
    scene.row(book("b3", "ann").best(11), "TOO_MANY_UNITS most 10");
    scene.row(book("b3", "").best(1), "INVALID_REQUEST /customer");
    scene.row(book("b3", &"c".repeat(201)).best(1), "INVALID_REQUEST /customer");
    for spaced in [" bob", "bob ", "\u{a0}bob", "bob\u{3000}", " "] {
        scene.row(book("b3", spaced).best(1), "INVALID_REQUEST /customer");
    }
    scene.row(book("b3", "ann").best(1).for_seconds(0), "INVALID_REQUEST /hold_ttl_seconds");
    scene.row(book("b3", "ann").best(1).for_seconds(1_001), "INVALID_REQUEST /hold_ttl_seconds");
    let with = |contact: usize, metadata: usize| Book {
        contact: Some(vec![1; contact].into()),
        metadata: Some(vec![2; metadata].into()),
        reference: Some("order 7".into()),
        ..book("b3", "bob").best(1)
    };
    for reference in ["", "a\nb", &"r".repeat(65)] {
        let wrong = Book { reference: Some(reference.into()), ..book("b3", "bob").best(1) };
        scene.row(wrong, "INVALID_REQUEST /reference");
    }
    scene.row(with(4_097, 1), "INVALID_REQUEST /contact");
    scene.row(with(1, 4_097), "INVALID_REQUEST /metadata");
    scene.row(with(4_096, 4_096), "on hold A-1 1-5 for 1000 until 900");
    let booking = scene.inventory.booking(id("b3")).unwrap();
    assert_eq!(booking.metadata().map(|metadata| &**metadata), Some([2; 4_096].as_slice()));
    assert_eq!((booking.created_by, booking.created_at, booking.version), (Actor(7), second(0), 1));
    assert_eq!(booking.contact().map(|contact| &**contact), Some([1; 4_096].as_slice()));
    assert_eq!(booking.reference().map(|reference| &**reference), Some("order 7"));
    scene.row(book("b4", &"c".repeat(200)).best(1).for_seconds(1_000), "on hold A-1 1-6 for 1000 until 1000");

    // Redeemed units still count for the customer; freed ones do not.
    scene.row(confirm("b1"), "confirmed A-1 1-1,1-2,1-3 for 3000");
    scene.row(redeem("b1"), "redeemed A-1 1-1,1-2,1-3 for 3000");
    scene.row(book("b5", "ann").best(1), "CUSTOMER_LIMIT_REACHED b2");
    scene.row(cancel("b2"), "cancelled A-1 1-4 for 1000");
    scene.row(book("b5", "ann").best(2), "CUSTOMER_LIMIT_REACHED");
    scene.row(book("b5", "ann").best(1), "on hold A-1 1-4 for 1000 until 900");

    // A code that an active booking has is not given twice.
    let twin = |label: &str| Book { redeem_code: code("b5"), ..book(label, "bob").best(1) };
    scene.row(twin("b6"), "on hold A-1 1-7 for 1000 until 900");
    let given = scene.inventory.booking(id("b6")).unwrap().redeem_code;
    assert_eq!(given, code("b5").next());
    assert_eq!(scene.inventory.booking_of_code(given), Some(id("b6")));
    scene.row(cancel("b5"), "cancelled A-1 1-4 for 1000");
    assert_eq!(scene.inventory.booking_of_code(code("b5")), None);
    scene.row(twin("b7"), "on hold A-1 1-4 for 1000 until 900");
    assert_eq!(scene.inventory.booking_of_code(code("b5")), Some(id("b7")));
    let mut reached = scene.reached;

    let careful = rules(|rules| rules.require_idempotency_key = Some(true));
    let mut scene = Scene::of(one_section(1, 9).with_rules(careful));
    scene.row(book("b1", "ann").best(1), "IDEMPOTENCY_KEY_REQUIRED");
    for action in [confirm("b1").into(), cancel("b1"), redeem("b1"), crate::testing::extend("b1", 5)] {
        scene.row(action, "IDEMPOTENCY_KEY_REQUIRED");
    }
    scene.row(block("A-1", "1-9"), "event Open: 8 free, 0 held, 0 sold, 1 blocked");
    scene.row(keyed("k1", 1, book("b1", "ann").best(1)), "on hold A-1 1-1 for 1000 until 900");
    scene.row(keyed("k1", 1, book("b2", "ann").best(1)), "again: on hold A-1 1-1 for 1000 until 900");
    scene.row(keyed("k1", 2, book("b2", "ann").best(2)), "IDEMPOTENCY_KEY_REUSED");
    scene.row(keyed("k2", 1, confirm("b1")), "confirmed A-1 1-1 for 1000");
    // The first answer stays the first answer, whatever became of the booking.
    scene.row(keyed("k1", 1, book("b2", "ann").best(1)), "again: on hold A-1 1-1 for 1000 until 900");
    // Refusals by the rules are remembered too; what could not be read is not.
    scene.row(
        keyed("k3", 1, book("b3", "ann").seats("A-1", "1-9")),
        "SEAT_UNAVAILABLE A-1 1-9 Blocked; or A-1 1-8 for 1000",
    );
    scene.row(crate::testing::unblock("A-1", "1-9"), "event Open: 8 free, 0 held, 1 sold, 0 blocked");
    scene.row(
        keyed("k3", 1, book("b3", "ann").seats("A-1", "1-9")),
        "again: SEAT_UNAVAILABLE A-1 1-9 Blocked; or A-1 1-8 for 1000",
    );
    scene.row(keyed("k4", 1, book("b3", "ann").best(11)), "TOO_MANY_UNITS most 10");
    scene.row(keyed("k4", 1, book("b3", "ann").best(1)), "on hold A-1 1-2 for 1000 until 900");
    scene.row(keyed("k5", 1, confirm("b9")), "BOOKING_NOT_FOUND");
    scene.row(keyed("k5", 1, confirm("b9")), "again: BOOKING_NOT_FOUND");
    let mut never = keyed("k6", 1, confirm("b3"));
    never.idempotency.as_mut().unwrap().keep_seconds = 0;
    scene.row(never.clone(), "INVALID_REQUEST /idempotency/keep_seconds");
    never.idempotency.as_mut().unwrap().keep_seconds = 30 * 86_400 + 1;
    scene.row(never, "INVALID_REQUEST /idempotency/keep_seconds");
    reached.refusals.extend(scene.reached.refusals);
    reached
}
