//! Views show what is committed, all of it, at one sequence.

use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{BlockSeats, Confirm, PatchEvent, SectionSeats};
use boxoffice_core::event::SeatName;
use boxoffice_core::money::Money;
use boxoffice_core::seats::SeatState;
use boxoffice_engine::view::{EventView, KindView};

use crate::scene::{Scene, cancel, hold, nth};

fn picture(event: &EventView) -> String {
    let subsection = &event.subsections[0];
    let row = |row| {
        let seat = |number| match subsection.state(row, number) {
            SeatState::Available => '.',
            SeatState::Held => 'h',
            SeatState::Sold => 's',
            SeatState::Blocked => 'x',
        };
        (1..=subsection.cols).map(seat).collect::<String>()
    };
    (1..=subsection.rows).map(row).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_seat_map_follows_every_change_and_old_views_stay_as_they_were() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 5).await;
    let seats = |names: &[(u16, u16)]| SectionSeats {
        section: "A-1".to_owned(),
        seats: names.iter().map(|&(row, number)| SeatName { row, number }).collect(),
    };
    let confirm =
        Confirm { booking: nth(hall, 1), payment_reference: None, if_expired: None, free_only: false };
    let dearer = PatchEvent { section_prices: vec![("A".to_owned(), Money(7))], ..PatchEvent::default() };
    let steps = [
        (Command::of(Action::BlockSeats(BlockSeats { seats: seats(&[(2, 5)]) })), "..... ....x"),
        (hold(nth(hall, 1), 2), "hh... ....x"),
        (hold(nth(hall, 2), 4), "hh... hhhhx"),
        (Command::of(Action::Confirm(confirm)), "ss... hhhhx"),
        (cancel(nth(hall, 2)), "ss... ....x"),
        (Command::of(Action::PatchEvent(Box::new(dearer))), "ss... ....x"),
    ];
    let mut old = Vec::new();
    for (command, expected) in steps {
        let answer = scene.grant(hall, command).await;
        let view = scene.engine.view(hall).await.unwrap();
        assert_eq!(view.sequence, answer.sequence);
        old.push((view, expected));
    }
    for (view, expected) in &old {
        let KindView::Event(event) = &view.kind else { panic!("not an event") };
        assert_eq!(picture(event), *expected);
        let count = |letter| expected.chars().filter(|&seat| seat == letter).count();
        let counts = event.subsections[0].counts;
        assert_eq!(counts, event.totals);
        let counted =
            [counts.available, counts.held, counts.sold, counts.blocked].map(|count| count as usize);
        assert_eq!(counted, ['.', 'h', 's', 'x'].map(count));
    }
    let prices: Vec<Money> = old
        .iter()
        .map(|(view, _)| match &view.kind {
            KindView::Event(event) => event.sections[0].price,
            KindView::Schedule(_) | KindView::Shop(_) => panic!("not an event"),
        })
        .collect();
    assert_eq!(prices, [1_000, 1_000, 1_000, 1_000, 1_000, 7].map(Money));
}

#[tokio::test]
async fn two_views_differ_in_exactly_the_seats_that_changed_between_them() {
    let scene = Scene::new();
    let (rows, cols) = (70, 100);
    let hall = scene.hall("hall", rows, cols).await;
    let corners = [1, 31, 32, 33, 64, 65]
        .into_iter()
        .flat_map(|row| [1, 2, 31, 32, 33, 63, 64, 65, 96, 97, 100].map(|number| SeatName { row, number }));
    let last = SeatName { row: rows, number: cols };
    let blocked: Vec<SeatName> = corners.chain([last]).collect();
    let seats = SectionSeats { section: "A-1".to_owned(), seats: blocked.clone() };
    let mut views = vec![scene.engine.view(hall).await.unwrap()];
    let confirm =
        Confirm { booking: nth(hall, 1), payment_reference: None, if_expired: None, free_only: false };
    let steps = [
        Command::of(Action::BlockSeats(BlockSeats { seats })),
        hold(nth(hall, 1), 3),
        Command::of(Action::Confirm(confirm)),
    ];
    for command in steps {
        scene.grant(hall, command).await;
        views.push(scene.engine.view(hall).await.unwrap());
    }
    let changed = |before: usize, after: usize| {
        let [before, after] = [before, after].map(|index| match &views[index].kind {
            KindView::Event(event) => &event.subsections[0],
            KindView::Schedule(_) | KindView::Shop(_) => panic!("not an event"),
        });
        let seats = after.rows_unlike(before).flat_map(|row| {
            let seats = after.seats_unlike(before, row);
            seats.map(move |(number, state)| (SeatName { row, number }, state))
        });
        seats.collect::<Vec<_>>()
    };
    let all_blocked: Vec<_> = blocked.iter().map(|&seat| (seat, SeatState::Blocked)).collect();
    assert_eq!(changed(0, 1), all_blocked);
    let taken = |state| [3, 4, 5].map(|number| (SeatName { row: 1, number }, state)).to_vec();
    assert_eq!(changed(1, 2), taken(SeatState::Held));
    assert_eq!(changed(2, 3), taken(SeatState::Sold));
    let mut both = [taken(SeatState::Sold), all_blocked].concat();
    both.sort_by_key(|(seat, _)| *seat);
    assert_eq!(changed(0, 3), both);
    assert_eq!(changed(3, 3), []);
}

#[tokio::test]
async fn bookings_are_found_by_customer_newest_first() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 5).await;
    let same = |number| {
        let mut command = hold(nth(hall, number), 1);
        let Action::Book(book) = &mut command.action else { unreachable!("a booking") };
        book.customer = "ann".into();
        command
    };
    for command in [same(1), hold(nth(hall, 2), 1), same(3), cancel(nth(hall, 1))] {
        scene.grant(hall, command).await;
    }
    let found = scene.engine.bookings_of(hall, "ann").await.unwrap();
    let ids: Vec<_> = found.iter().map(|booking| (booking.id, booking.is_active())).collect();
    assert_eq!(ids, [(nth(hall, 3), true), (nth(hall, 1), false)]);
    assert_eq!(scene.engine.bookings_of(hall, "nobody").await.unwrap(), []);
    let (sequence, all) = scene.engine.bookings(hall).await.unwrap();
    assert_eq!((sequence, all.len()), (5, 3));
}
