//! Inventories of all three kinds and what their snapshots must keep, and snapshots that describe no inventory.

use super::*;
use crate::apply;
use crate::booking::Details;
use crate::codec::{decode_inventory, encode_inventory};
use crate::command::{Action, Command};
use crate::commands::{
    Book, DeleteSlot, Destination, ForgetContact, ImportTickets, PatchEvent, PatchSlot, UnitChoice,
};
use crate::event::SeatName;
use crate::rules::{LatePayment, RulesPatch};
use crate::seats::Seat;
use crate::testing::{
    Scene, add_box, bakery, block, book, cancel, confirm, extend, hall, id, keyed, move_to, museum, redeem,
    redeem_some, seats, second, slot, some_boxes, some_tickets,
};

fn with_contact(book: Book, contact: &[u8]) -> Book {
    Book {
        contact: Some(contact.into()),
        reference: Some("order 7".into()),
        metadata: Some([9].as_slice().into()),
        ..book
    }
}

/// Holds of up to 100 seconds, so that keys can be used again in a short story.
fn short_holds() -> RulesPatch {
    RulesPatch { hold_ttl_seconds: Some(50), max_hold_seconds: Some(100), ..RulesPatch::default() }
}

fn event() -> Scene {
    let mut scene = Scene::empty();
    let hall = hall(&[("A-1", 2, 8), ("A-2", 1, 4), ("B-7", 1, 70)]).with_area("standing", 10);
    scene.load(keyed("created", 1, hall.with_rules(short_holds())));
    scene.load(block("B-7", "1-66 1-2"));
    let patch = PatchEvent { section_prices: vec![("A".to_owned(), Money(1_100))], ..PatchEvent::default() };
    scene.load(keyed("patched", 1, Action::PatchEvent(Box::new(patch))));
    scene.load(keyed("used again", 1, book("redeemed", "ann").best(2).paid()));
    scene.load(redeem("redeemed"));
    scene.load(book("partly", "gil").seats("B-7", "1-20 1-21").paid());
    scene.load(redeem_some(
        "partly",
        UnitChoice { seats: vec![seats("B-7", "1-21")], ..UnitChoice::default() },
    ));
    scene.load(book("revived", "bob").seats("A-1", "2-1 2-2"));
    scene.at(10).load(book("cancelled", "bob").seats("A-1", "2-3"));
    scene.load(keyed("cancelled", 1, cancel("cancelled")));
    scene.load(book("expired", "cid").standing("standing", 3));
    // Of these two, bob's latest is the one that comes back to life.
    scene.at(60).load(confirm("revived").reference("late").if_expired(LatePayment::SameUnits));
    scene.at(120).load(keyed("used again", 2, book("held", "ann").best_in("B", 2)));
    scene.load(keyed(
        "changed since",
        1,
        with_contact(book("confirmed", "dan").standing("standing", 2), b"d"),
    ));
    scene.load(keyed("as it is", 1, confirm("confirmed").reference("paid")));
    scene.load(keyed("before the move", 1, book("moved", "eve").seats("A-1", "1-5")));
    let to = |names: &str| Destination::Seats(vec![seats("A-1", names)]);
    scene.load(keyed("moved twice", 1, move_to("moved", to("1-6"))));
    scene.load(keyed("moved", 1, move_to("moved", to("1-7"))));
    scene.row(
        keyed("refused", 1, book("none", "fay").seats("A-1", "1-1")),
        "SEAT_UNAVAILABLE A-1 1-1 Sold; or A-1 1-3 for 1100; or A-1 2-3 for 1100; or A-2 1-1 for 1100",
    );
    scene
}

fn schedule() -> Scene {
    let mut scene = Scene::empty();
    scene.load(keyed("created", 1, museum().with_rules(short_holds())));
    let ticket = |number: &str, expires_at| (Arc::from(number), Ticket { active: true, expires_at });
    let tickets = vec![ticket("T2", None), ticket("T1", Some(second(9)))];
    scene.load(keyed("imported", 1, Action::ImportTickets(ImportTickets { tickets })));
    let patch =
        |name: &str| PatchSlot { slot: slot(name), closed: Some(true), capacity: Some(7), price: None };
    scene.load(keyed("patched", 1, Action::PatchSlot(patch("2026-12-02T12:00"))));
    let delete = DeleteSlot { slot: slot("2026-12-02T09:00") };
    scene.load(keyed("deleted", 1, Action::DeleteSlot(delete)));
    scene.load(with_contact(book("redeemed", "ann").tickets("2026-12-01T09:00", "T1 T2").paid(), b"a"));
    scene.load(redeem("redeemed"));
    scene.load(book("expired", "ann").tickets("2026-12-01T12:00", "T3").for_seconds(5));
    scene.at(10).load(book("held", "bob").tickets("2026-12-01T12:00", "T3"));
    scene.load(extend("held", 70));
    scene.load(keyed("booked", 1, book("confirmed", "bob").places("2026-12-01T12:00", 3).paid()));
    scene.load(book("cancelled", "bob").places("2026-12-01T09:00", 1));
    scene.load(cancel("cancelled"));
    scene.load(book("partly", "eve").tickets("2026-12-01T09:00", "T4 T5").paid());
    scene.load(redeem_some("partly", some_tickets("T5")));
    let forget = ForgetContact { customer: "ann".into() };
    scene.load(keyed("forgotten", 1, Action::ForgetContact(forget)));
    scene
}

fn shop() -> Scene {
    let mut scene = Scene::empty();
    scene.load(keyed("created", 1, bakery().with_rules(short_holds())));
    scene.load(keyed("added", 1, add_box("evening", 5, 300)));
    scene.load(add_box("morning", 6, 200));
    scene.load(keyed("booked", 1, with_contact(book("held", "ann").boxes("morning", 2), b"a")));
    scene.load(book("confirmed", "bob").boxes("evening", 1).paid());
    scene.load(book("redeemed", "cid").boxes("evening", 2).paid());
    scene.load(redeem("redeemed"));
    scene.load(book("partly", "eve").boxes("morning", 3).paid());
    scene.load(redeem_some("partly", some_boxes(2)));
    scene.load(book("cancelled", "cid").boxes("evening", 2));
    scene.load(cancel("cancelled"));
    scene.load(book("expired", "dan").boxes("evening", 1).for_seconds(1));
    scene.at(2).load(Action::Expire);
    scene
}

fn scenes() -> [(&'static str, Scene); 3] {
    [("event", event()), ("schedule", schedule()), ("shop", shop())]
}

fn status_name(booking: &Booking) -> &'static str {
    match booking.status {
        Status::OnHold { .. } => "held",
        Status::Confirmed { .. } => "confirmed",
        Status::Redeemed { .. } => "redeemed",
        Status::Cancelled { .. } => "cancelled",
        Status::Expired { .. } => "expired",
    }
}

fn answer_name(entry: &KeyForm) -> &'static str {
    match &entry.answer {
        AnswerForm::Booking(_) => "booking as it is",
        AnswerForm::Moved { .. } => "move as it is",
        AnswerForm::Earlier(_) => "earlier booking",
        AnswerForm::Other(Outcome::Refused(_)) => "refused",
        AnswerForm::Other(Outcome::Granted(grant)) => match grant {
            Grant::Booking(_) => "other booking",
            Grant::Moved { .. } => "other move",
            Grant::Inventory(_) => "inventory",
            Grant::Slot(_) => "slot",
            Grant::SlotDeleted(_) => "slot deleted",
            Grant::Box(_) => "box",
            Grant::Tickets { .. } => "tickets",
            Grant::Done => "done",
            Grant::EventCancelled { .. } => "event cancelled",
        },
    }
}

#[test]
fn inventories_survive_their_bytes() {
    let answers = [
        "inventory, inventory, earlier booking, booking as it is, booking as it is, earlier booking, booking as it is, \
         other booking, other move, move as it is, refused",
        "inventory, tickets, slot, slot deleted, booking as it is, done",
        "inventory, box, booking as it is",
    ];
    for ((kind, scene), answers) in scenes().into_iter().zip(answers) {
        let inventory = scene.inventory;
        let mut statuses: Vec<&str> = inventory.bookings().map(|booking| status_name(booking)).collect();
        statuses.sort_unstable();
        statuses.dedup();
        assert_eq!(statuses, ["cancelled", "confirmed", "expired", "held", "redeemed"], "{kind}");
        let written: Vec<&str> = Snapshot::of(&inventory).keys.iter().map(answer_name).collect();
        assert_eq!(written.join(", "), answers, "{kind}");

        let bytes = encode_inventory(&inventory);
        let loaded = decode_inventory(&bytes).expect("what was written can be read");
        assert_eq!(loaded, inventory, "{kind}");
        assert_eq!(encode_inventory(&loaded), bytes, "{kind}");
    }
    let nothing = Inventory::default();
    assert_eq!(decode_inventory(&encode_inventory(&nothing)), Ok(nothing));
}

/// Each line of the file is a kind and its bytes; `tests/golden` spoils them.
#[test]
fn inventories_have_the_bytes_that_were_written_down() {
    let hexadecimal = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let written =
        scenes().map(|(kind, scene)| format!("{kind} {}", hexadecimal(encode_inventory(&scene.inventory))));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/inventories.txt");
    if std::env::var_os("BOXOFFICE_WRITE_GOLDEN").is_some() {
        std::fs::write(path, format!("{}\n", written.join("\n"))).expect("a writable source tree");
    }
    assert_eq!(written.join("\n"), std::fs::read_to_string(path).expect("a golden file").trim_end());
}

#[test]
fn a_remembered_booking_that_did_not_change_is_kept_once() {
    let mut loaded = decode_inventory(&encode_inventory(&event().inventory)).expect("what was written");
    let again: Command = keyed("as it is", 1, confirm("confirmed").reference("paid"));
    let applied = apply(&mut loaded, second(120), &again);
    let Outcome::Granted(Grant::Booking(answered)) = &applied.outcome else { panic!("a booking") };
    assert!(applied.replayed);
    assert!(Arc::ptr_eq(answered, loaded.booking(id("confirmed")).expect("a booking")));
}

#[test]
#[should_panic(expected = "a batch is open")]
fn an_open_batch_is_not_written() {
    let mut inventory = Inventory::default();
    apply(&mut inventory, second(0), &museum().into());
    encode_inventory(&inventory);
}

#[test]
fn what_no_inventory_can_be_is_not_loaded() {
    type Row = (fn() -> Scene, fn(&mut Snapshot), &'static str);
    let rows: &[Row] = &[
        (shop, |snapshot| snapshot.sequence = u64::MAX, "more batches than there can be"),
        (
            shop,
            |snapshot| booking(snapshot, "held").version = u32::MAX,
            "a booking that never began, or changed too often",
        ),
        (shop, |snapshot| snapshot.clock = Timestamp(i64::MAX), "the clock is outside the calendar"),
        (event, |snapshot| snapshot.keys.reverse(), "the keys are not in order of time"),
        (shop, |snapshot| snapshot.stock = None, "a booking of what is not for sale"),
        (
            shop,
            |snapshot| snapshot.stock = Snapshot::of(&event().inventory).stock,
            "a booking of what is not for sale",
        ),
        (shop, |snapshot| snapshot.customers = usize::MAX, "customers who never booked"),
        (
            shop,
            |snapshot| snapshot.accounts.push(BookingId::from_bytes([0xEE; 16])),
            "an account without its booking",
        ),
        (
            shop,
            |snapshot| {
                snapshot.accounts.clear();
                snapshot.bookings.clear();
                snapshot.customers = 0;
            },
            "an answer without its booking",
        ),
        (shop, |snapshot| snapshot.bookings.extend_from_within(..1), "two bookings of one id"),
        (
            shop,
            |snapshot| {
                let code = booking(snapshot, "held").redeem_code;
                booking(snapshot, "confirmed").redeem_code = code;
            },
            "two active bookings of one code",
        ),
        (shop, |snapshot| set_boxes(snapshot, "expired", (2, 1)), "no such box"),
        (shop, |snapshot| set_boxes(snapshot, "held", (0, 6)), "a box has too many bookings"),
        (shop, |snapshot| set_boxes(snapshot, "expired", (0, 0)), "too many units, or none"),
        (shop, |snapshot| set_boxes(snapshot, "expired", (0, 1_001)), "too many units, or none"),
        (
            shop,
            |snapshot| set_redemption(snapshot, "held", &[None, Some(second(1))]),
            "a redemption of other units",
        ),
        (
            shop,
            |snapshot| set_redemption(snapshot, "confirmed", &[Some(second(1))]),
            "a redemption of other units",
        ),
        (
            shop,
            |snapshot| set_redemption(snapshot, "redeemed", &[None, Some(second(1))]),
            "a redemption of other units",
        ),
        (
            shop,
            |snapshot| set_redemption(snapshot, "partly", &[Some(second(1)), None]),
            "a redemption of other units",
        ),
        (shop, |snapshot| shelf(snapshot)[1].id = "evening".into(), "two boxes of one id"),
        (shop, |snapshot| shelf(snapshot)[0].pool.held = u32::MAX, "a box is booked by nobody"),
        (shop, |snapshot| shelf(snapshot)[0].pool.capacity = 0, "the quantity of a box"),
        (shop, |snapshot| shelf(snapshot)[0].price = Money(-1), "the price of a box"),
        (event, |snapshot| hall_of(snapshot).terms.rules.max_hold_seconds = 1, "the terms"),
        (event, |snapshot| hall_of(snapshot).terms.id.clear(), "the terms"),
        (event, |snapshot| hall_of(snapshot).sections[0].subsections[0].cols = 0, "the hall"),
        (
            event,
            |snapshot| hall_of(snapshot).sections[1].subsections[0].blocked.reverse(),
            "the blocked seats are not in order",
        ),
        (event, |snapshot| hall_of(snapshot).areas[0].capacity = 1, "an area has too many bookings"),
        (event, |snapshot| hall_of(snapshot).areas.clear(), "no such area"),
        (
            event,
            |snapshot| {
                hall_of(snapshot).sections[0].subsections[0].blocked = vec![SeatName { row: 1, number: 1 }];
            },
            "a seat has two owners",
        ),
        (
            event,
            |snapshot| seats_of(snapshot, "held")[0].seat = Seat { subsection: 0, row: 1, number: 1 },
            "a seat has two owners",
        ),
        (
            event,
            |snapshot| seats_of(snapshot, "held")[0].seat = seats_of(snapshot, "moved")[0].seat,
            "a seat has two owners",
        ),
        (event, |snapshot| seats_of(snapshot, "held")[0].seat.number = 0, "no such seat"),
        (event, |snapshot| seats_of(snapshot, "cancelled")[0].seat.row = 3, "no such seat"),
        (event, |snapshot| seats_of(snapshot, "held").reverse(), "the seats are not in order"),
        (event, |snapshot| seats_of(snapshot, "held")[0].price = Money(i64::MAX), "the price of a seat"),
        (
            event,
            |snapshot| {
                let Units::Event { areas, .. } = &mut booking(snapshot, "expired").units else {
                    panic!("places")
                };
                *areas = [areas[0], areas[0]].into();
            },
            "an area stands twice",
        ),
        (schedule, |snapshot| calendar(snapshot).0.timezone.clear(), "the time zone"),
        (schedule, |snapshot| calendar(snapshot).0.pattern.days = 0, "the pattern"),
        (schedule, |snapshot| calendar(snapshot).1.reverse(), "the slots are not in order"),
        (schedule, |snapshot| calendar(snapshot).1.clear(), "no such slot"),
        (
            schedule,
            |snapshot| calendar(snapshot).1[0].1.ends_at = Timestamp(i64::MAX),
            "a slot is outside the calendar",
        ),
        (schedule, |snapshot| calendar(snapshot).1[0].1.ends_at = second(0), "a slot ends before it starts"),
        (schedule, |snapshot| calendar(snapshot).1[0].1.pool.sold = u32::MAX, "a slot is booked by nobody"),
        (schedule, |snapshot| calendar(snapshot).1[0].1.pool.capacity = 0, "a slot"),
        (schedule, |snapshot| calendar(snapshot).1[1].1.pool.capacity = 3, "a slot has too many bookings"),
        (schedule, |snapshot| calendar(snapshot).2.reverse(), "the tickets are not in order"),
        (schedule, |snapshot| tickets_of(snapshot, "redeemed")[0] = "T3".into(), "a ticket is in two places"),
        (schedule, |snapshot| tickets_of(snapshot, "redeemed")[0] = "T2".into(), "a ticket is in two places"),
        (
            schedule,
            |snapshot| *tickets_of(snapshot, "redeemed") = ["T1".into()].into(),
            "a booking without a ticket for each place",
        ),
    ];
    let refused = |(scene, spoil, _): &Row| {
        let mut snapshot = Snapshot::of(&scene().inventory);
        spoil(&mut snapshot);
        snapshot.restore().err()
    };
    let refused: Vec<_> = rows.iter().map(refused).collect();
    let expected = rows.iter().map(|(_, _, wrong)| Some(DecodeError::NotAnInventory(wrong)));
    assert_eq!(refused, expected.collect::<Vec<_>>());
}

fn booking<'a>(snapshot: &'a mut Snapshot, label: &str) -> &'a mut Booking {
    let found = snapshot.bookings.iter_mut().find(|booking| booking.id == id(label)).expect("a booking");
    Arc::make_mut(found)
}

fn seats_of<'a>(snapshot: &'a mut Snapshot, label: &str) -> &'a mut [SeatClaim] {
    let Units::Event { seats, .. } = &mut booking(snapshot, label).units else { panic!("seats") };
    seats
}

fn tickets_of<'a>(snapshot: &'a mut Snapshot, label: &str) -> &'a mut Box<[Arc<str>]> {
    let Units::Slot { tickets, .. } = &mut booking(snapshot, label).units else { panic!("tickets") };
    tickets
}

fn hall_of(snapshot: &mut Snapshot) -> &mut EventPlan {
    let Some(StockForm::Event { plan, .. }) = &mut snapshot.stock else { panic!("an event") };
    plan
}

type Calendar<'a> = (&'a mut SchedulePlan, &'a mut Vec<(SlotId, Slot)>, &'a mut Vec<(Arc<str>, Ticket)>);

fn calendar(snapshot: &mut Snapshot) -> Calendar<'_> {
    let Some(StockForm::Schedule { plan, slots, tickets, .. }) = &mut snapshot.stock else {
        panic!("a schedule")
    };
    (plan, slots, tickets)
}

fn shelf(snapshot: &mut Snapshot) -> &mut Vec<PickupBox> {
    let Some(StockForm::Shop { boxes, .. }) = &mut snapshot.stock else { panic!("a shop") };
    boxes
}

fn set_redemption(snapshot: &mut Snapshot, label: &str, units: &[Option<Timestamp>]) {
    let booking = booking(snapshot, label);
    booking.details = Some(Arc::new(Details { redemption: Some(units.into()), ..Details::default() }));
}

fn set_boxes(snapshot: &mut Snapshot, label: &str, (new_number, new_quantity): (u32, u32)) {
    let Units::Box { number, quantity, .. } = &mut booking(snapshot, label).units else { panic!("boxes") };
    (*number, *quantity) = (new_number, new_quantity);
}
