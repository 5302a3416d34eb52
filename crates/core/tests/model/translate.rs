//! Turns abstract steps into commands against the state at the time.

use std::sync::Arc;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{
    AddBox, AddSlot, AreaWish, BestAvailable, BlockSeats, Book, Cancel, CancelEvent, Confirm, DeleteSlot,
    Destination, Extend, ForgetContact, ImportTickets, Move, PatchBox, PatchEvent, PatchSchedule, PatchShop,
    PatchSlot, PatternPatch, Places, Redeem, SeatWish, SectionSeats, UnblockSeats, UnitChoice, Unredeem,
    Want,
};
use boxoffice_core::event::SeatName;
use boxoffice_core::event_info::EventInfoPatch;
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Money, PriceStep};
use boxoffice_core::rules::{RulesPatch, SalesPatch, SalesWindow, TermsPatch};
use boxoffice_core::schedule::Ticket;
use boxoffice_core::seats::Seat;
use boxoffice_core::shop::PickupWindow;
use boxoffice_core::time::{Date, Minute, SlotId, Timestamp};

use crate::creation::{
    FIRST_DAY, START, flawed_creation, late_payment, orphans, prefer, ticket_rule, weekdays, window,
};
use crate::naive::{Hall, Model, Stock};
use crate::ops::{
    BestOp, BookOp, BoxChange, BoxOp, ChoiceOp, CodeOp, Key, MoveOp, Op, PatternOp, Pause, Run, Target,
    TermsOp, WantOp,
};

const QUARTER_MS: i64 = 15 * 60_000;

/// What earlier steps leave to later ones.
#[derive(Default)]
pub(crate) struct Translator {
    sent: Vec<Command>,
    ids_made: u32,
}

/// The time of a step.
pub(crate) fn moved(now: Timestamp, pause: Pause, model: &Model) -> Timestamp {
    let by = match pause {
        Pause::None => 0,
        Pause::Milliseconds(milliseconds) => i64::from(milliseconds),
        Pause::Seconds(seconds) => i64::from(seconds) * 1_000,
        Pause::Hours(hours) => i64::from(hours) * 3_600_000,
        Pause::BackSeconds(seconds) => -i64::from(seconds) * 1_000,
        Pause::Due { nth, offset } => {
            let moments = model.moments();
            let coming = moments.iter().filter(|moment| moment.0 + i64::from(offset) >= now.0);
            coming.take(usize::from(nth) + 1).last().map_or(0, |moment| moment.0 + i64::from(offset) - now.0)
        }
    };
    Timestamp(now.0 + by)
}

impl Translator {
    /// The command of a step.
    pub(crate) fn command(
        &mut self,
        by: u8,
        key: Option<Key>,
        op: &Op,
        model: &Model,
        now: Timestamp,
    ) -> Command {
        let command = match op {
            Op::Again { back, new_id } if !self.sent.is_empty() => self.again(*back, *new_id),
            _ => Command {
                by: Actor(by.into()),
                idempotency: key.or_else(|| self.demanded_key(by, model)).map(|key| self.idempotency(key)),
                action: self.action(op, model, now),
            },
        };
        self.sent.push(command.clone());
        command
    }

    /// The key of a caller who gives one where it is demanded.
    fn demanded_key(&self, by: u8, model: &Model) -> Option<Key> {
        let demanded = model.terms.as_ref().is_some_and(|terms| terms.rules.require_idempotency_key);
        let number = u8::try_from(self.sent.len() % 256).expect("a remainder");
        (demanded && by > 0).then_some(Key { number, keep: 0 })
    }

    /// Every command is another request, unless it is sent again.
    fn idempotency(&self, key: Key) -> Idempotency {
        let keep_seconds = match key.keep {
            98 => 0,
            99 => 30 * 86_400 + 1,
            keep => [60, 1, 600, 7_200][usize::from(keep % 4)],
        };
        Idempotency {
            key: KeyDigest([key.number; 16]),
            fingerprint: (self.sent.len() as u64).into(),
            keep_seconds,
        }
    }

    /// One of the last commands; those with a key come first.
    fn again(&mut self, back: u8, new_id: bool) -> Command {
        let keyed: Vec<&Command> = self.sent.iter().filter(|command| command.idempotency.is_some()).collect();
        let mut command = match keyed.len().checked_sub(1 + usize::from(back) / 2) {
            Some(at) => keyed[at].clone(),
            None => self.sent[self.sent.len() - 1 - usize::from(back) % self.sent.len()].clone(),
        };
        if let Action::Book(book) = &mut command.action
            && new_id
        {
            book.id = self.new_id();
        }
        command
    }

    /// Ids whose order is not the order of creation.
    fn new_id(&mut self) -> BookingId {
        self.ids_made += 1;
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.ids_made.wrapping_mul(0x9E37_79B1).to_be_bytes());
        bytes[12..].copy_from_slice(&self.ids_made.to_be_bytes());
        BookingId::from_bytes(bytes)
    }

    fn action(&mut self, op: &Op, model: &Model, now: Timestamp) -> Action {
        match op {
            Op::Again { .. } | Op::Expire => Action::Expire,
            Op::Book(book) => Action::Book(Box::new(self.book(book, model))),
            Op::Confirm { target, reference, late } => Action::Confirm(Confirm {
                booking: find(*target, model),
                payment_reference: match reference {
                    19 => Some("".into()),
                    other => {
                        [None, Some("pay-a".into()), Some("pay-b".into())][usize::from(other % 3)].clone()
                    }
                },
                if_expired: match late {
                    0 | 1 => None,
                    2 => Some(late_payment(0)),
                    3 => Some(late_payment(1)),
                    _ => Some(late_payment(2)),
                },
                free_only: matches!(reference, 17 | 18),
            }),
            Op::Extend { target, seconds } => Action::Extend(Extend {
                booking: find(*target, model),
                seconds: [30, 60, 120, 300, 600, 900, 1_800, 3_000, 3_600, 1, 0, 5][usize::from(*seconds)],
            }),
            Op::Cancel { target, reason, ticket } => Action::Cancel(Cancel {
                booking: find(*target, model),
                ticket: ticket.map(|number| ticket_in(find(*target, model), number, model)),
                reason: match reason {
                    29 => Some("\u{7}".into()),
                    20..29 => Some("cannot come".into()),
                    _ => None,
                },
            }),
            Op::Move { target, to, free_only, ticket } => {
                let booking = find(*target, model);
                Action::Move(Box::new(Move {
                    booking,
                    to: destination(to, model.bookings.get(&booking), model),
                    free_only: *free_only,
                    ticket: ticket.map(|number| ticket_in(booking, number, model)),
                }))
            }
            Op::Redeem { target, code, units, force } => {
                let booking = find(*target, model);
                let right = model.bookings.get(&booking).map(|booking| booking.redeem_code);
                let redeem_code = match code {
                    CodeOp::Right => right,
                    CodeOp::Wrong(number) => Some(RedeemCode::from_random((*number).into())),
                    CodeOp::Unreadable => None,
                };
                let units = units.map(|units| Box::new(choice(units, booking, model)));
                Action::Redeem(Redeem { booking, redeem_code, units, force: *force })
            }
            Op::Unredeem { target, units, reason } => {
                let booking = find(*target, model);
                let units = units.map(|units| Box::new(choice(units, booking, model)));
                let reason = if *reason == 0 { "".into() } else { "by mistake".into() };
                Action::Unredeem(Unredeem { booking, units, reason })
            }
            Op::ForgetContact(customer) => {
                Action::ForgetContact(ForgetContact { customer: name_of(*customer) })
            }
            Op::ForgetKeys => Action::ForgetKeys,
            Op::Block(run) => Action::BlockSeats(BlockSeats { seats: seats_of(*run, hall(model)) }),
            Op::Unblock(run) => Action::UnblockSeats(UnblockSeats { seats: seats_of(*run, hall(model)) }),
            Op::PatchTerms(change) => {
                let terms = terms(*change, now);
                match &model.stock {
                    Stock::Nothing | Stock::Event(_) => {
                        Action::PatchEvent(Box::new(PatchEvent { terms, ..PatchEvent::default() }))
                    }
                    Stock::Schedule(_) => Action::PatchSchedule(Box::new(PatchSchedule {
                        terms,
                        pattern: PatternPatch::default(),
                    })),
                    Stock::Shop(_) => Action::PatchShop(Box::new(PatchShop { terms })),
                }
            }
            Op::PatchShop(change) => Action::PatchShop(Box::new(PatchShop { terms: terms(*change, now) })),
            Op::PatchInfo { field, value } => {
                let info = info(*field, *value);
                Action::PatchEvent(Box::new(PatchEvent { info, ..PatchEvent::default() }))
            }
            Op::PatchPrices { section, area, price } => {
                Action::PatchEvent(Box::new(prices(*section, *area, *price)))
            }
            Op::AddSlot { day, window: setup } => {
                let date = Date(FIRST_DAY.0 + days_since_start(now) + i32::from(*day) - 1);
                Action::AddSlot(AddSlot { date, window: window(setup) })
            }
            Op::CancelEvent { dry_run, reason } => {
                let reason = if *reason == 0 { "".into() } else { "storm".into() };
                Action::CancelEvent(CancelEvent { reason, dry_run: *dry_run })
            }
            Op::DeleteEvent => Action::DeleteEvent,
            Op::PatchSlot { slot, closed, capacity, price } => Action::PatchSlot(PatchSlot {
                slot: slot_of(*slot, model, now),
                closed: *closed,
                capacity: capacity.map(u32::from),
                price: price.map(|price| Money(i64::from(price) * 100 - 100)),
            }),
            Op::DeleteSlot(slot) => Action::DeleteSlot(DeleteSlot { slot: slot_of(*slot, model, now) }),
            Op::RollSlots => Action::RollSlots,
            Op::PatchPattern(change) => {
                let pattern = pattern(change, now);
                Action::PatchSchedule(Box::new(PatchSchedule { terms: TermsPatch::default(), pattern }))
            }
            Op::AddBox(new) => Action::AddBox(Box::new(add_box(new, now))),
            Op::PatchBox { number, change } => {
                Action::PatchBox(Box::new(patch_box(box_of(*number, model), change, now)))
            }
            Op::ImportTickets(tickets) => {
                let ticket = |(number, kind): &(u8, u8)| {
                    let expires_at = match kind {
                        6 => Some(now.plus_seconds(100)),
                        7 => Some(now),
                        _ => None,
                    };
                    (ticket_of(*number), Ticket { active: *kind != 5, expires_at })
                };
                Action::ImportTickets(ImportTickets { tickets: tickets.iter().map(ticket).collect() })
            }
            Op::Create { kind, flaw } => flawed_creation(*kind, *flaw),
        }
    }

    fn book(&mut self, op: &BookOp, model: &Model) -> Book {
        let most_seconds = model.terms.as_ref().map_or(3_600, |terms| terms.rules.max_hold_seconds);
        let taken = op.taken_id.and_then(|nth| recent(model, nth, |_| true));
        let mut book = Book {
            id: taken.unwrap_or_else(|| self.new_id()),
            customer: name_of(op.customer),
            contact: op.contact.map(|letter| vec![letter; 3].into()),
            reference: op.contact.map(|number| format!("order {number}").into()),
            want: want(&op.want, model),
            hold_ttl_seconds: match op.ttl {
                8 => Some(1),
                9 => Some(most_seconds / 2 + 1),
                10 => Some(most_seconds),
                11 if op.metadata => Some(most_seconds + 1),
                _ => None,
            },
            hold_at_most_default: op.at_most_default,
            confirm: op.confirm,
            metadata: op.metadata.then(|| b"{}"[..].into()),
            redeem_code: match op.code {
                5 => RedeemCode::from_random((1 << 30) - 1),
                code => RedeemCode::from_random(code.into()),
            },
        };
        match op.flaw {
            None => {}
            Some(0) => book.customer = "".into(),
            Some(1) => book.customer = "x".repeat(201).into(),
            Some(2) => book.hold_ttl_seconds = Some(0),
            Some(3) => book.hold_ttl_seconds = Some(86_401),
            Some(4) => book.contact = Some(vec![0; 4_097].into()),
            Some(5) => book.reference = Some("r".repeat(65).into()),
            Some(6) => book.customer = format!("{} ", book.customer).into(),
            Some(7) => book.customer = format!("\u{a0}{}", book.customer).into(),
            Some(8) => book.customer = format!("{}\u{feff}", book.customer).into(),
            Some(9) => book.reference = Some("r\u{202e}".into()),
            Some(_) => book.metadata = Some(vec![b' '; 4_097].into()),
        }
        book
    }
}

fn name_of(customer: u8) -> Arc<str> {
    format!("customer-{customer}").into()
}

/// The last of them cannot be the id of a ticket.
fn ticket_of(number: u8) -> Arc<str> {
    if number == 11 { "T11\u{3000}".into() } else { format!("T{number}").into() }
}

fn days_since_start(now: Timestamp) -> i32 {
    i32::try_from((now.0 - START.0).div_euclid(86_400_000)).expect("times near the start")
}

/// The nth last booking of some sort.
fn recent(model: &Model, nth: u8, wanted: impl Fn(&Booking) -> bool) -> Option<BookingId> {
    let mut found: Vec<BookingId> =
        model.booking_order.iter().rev().copied().filter(|id| wanted(&model.bookings[id])).collect();
    found.truncate(usize::from(nth) + 1);
    found.last().copied()
}

fn find(target: Target, model: &Model) -> BookingId {
    let on_hold = |booking: &Booking| matches!(booking.status, Status::OnHold { .. });
    let confirmed = |booking: &Booking| matches!(booking.status, Status::Confirmed { .. });
    let found = match target {
        Target::OnHold(nth) => recent(model, nth, on_hold),
        Target::Confirmed(nth) => recent(model, nth, confirmed),
        Target::Active(nth) => recent(model, nth, |booking| on_hold(booking) || confirmed(booking)),
        Target::Expired(nth) => {
            recent(model, nth, |booking| matches!(booking.status, Status::Expired { .. }))
        }
        Target::Redeemed(nth) => recent(model, nth, |booking| {
            let part = booking.details.as_ref().is_some_and(|details| details.redemption.is_some());
            part || matches!(booking.status, Status::Redeemed { .. })
        }),
        Target::Any(nth) => recent(model, nth, |_| true),
        Target::Unknown => None,
    };
    found
        .or_else(|| recent(model, 0, |_| !matches!(target, Target::Unknown)))
        .unwrap_or(BookingId::from_bytes([0xEE; 16]))
}

/// A ticket of a booking, or, of one that has none, any.
fn ticket_in(booking: BookingId, number: u8, model: &Model) -> Arc<str> {
    match model.bookings.get(&booking).map(|booking| &booking.units) {
        Some(Units::Slot { tickets, .. }) if !tickets.is_empty() => {
            Arc::clone(&tickets[usize::from(number) % tickets.len()])
        }
        Some(Units::Slot { .. } | Units::Event { .. } | Units::Box { .. }) | None => ticket_of(number),
    }
}

fn choice(op: ChoiceOp, booking: BookingId, model: &Model) -> UnitChoice {
    let mut choice = UnitChoice { quantity: op.quantity.map(u32::from), ..UnitChoice::default() };
    let is_named = |place: usize| place < 8 && (op.named >> place) & 1 == 1;
    match model.bookings.get(&booking).map(|booking| &booking.units) {
        Some(Units::Event { seats, .. }) => {
            let named = (0..seats.len()).filter(|&place| is_named(place));
            let mut seats: Vec<Seat> = named.map(|place| seats[place].seat).collect();
            if op.stranger && hall(model).is_some_and(|hall| !hall.subsections.is_empty()) {
                seats.push(Seat { subsection: 0, row: 1, number: 1 });
            }
            choice.seats = hall(model).map(|hall| groups_of(&seats, hall)).unwrap_or_default();
        }
        Some(Units::Slot { tickets, .. }) => {
            let named = (0..tickets.len()).filter(|&place| is_named(place));
            choice.tickets = named.map(|place| Arc::clone(&tickets[place])).collect();
            choice.tickets.extend(op.stranger.then(|| ticket_of(0)));
        }
        Some(Units::Box { .. }) | None => choice.tickets.extend(op.stranger.then(|| ticket_of(0))),
    }
    choice
}

fn hall(model: &Model) -> Option<&Hall> {
    match &model.stock {
        Stock::Event(hall) => Some(hall),
        Stock::Nothing | Stock::Schedule(_) | Stock::Shop(_) => None,
    }
}

/// The seats of a run, pushed to the left if it would leave the row.
fn seats_of(run: Run, hall: Option<&Hall>) -> SectionSeats {
    let unknown = (run.subsection, run.row) == (5, 3);
    let Some(hall) = hall.filter(|hall| !hall.subsections.is_empty() && !unknown) else {
        return SectionSeats { section: "Z-1".to_owned(), seats: vec![SeatName { row: 1, number: 1 }] };
    };
    let part = &hall.subsections[usize::from(run.subsection) % hall.subsections.len()];
    let length = u16::from(run.length).min(part.cols);
    let start = (u16::from(run.start) % part.cols).min(part.cols - length);
    let row = u16::from(run.row) % part.rows + 1;
    let step = if run.gaps { 2 } else { 1 };
    let mut seats: Vec<SeatName> =
        (1..=length).step_by(step).map(|offset| SeatName { row, number: start + offset }).collect();
    match run.start {
        71 => seats.push(SeatName { row, number: part.cols + 1 }),
        70 => seats.push(SeatName { row: 0, number: 1 }),
        69 => seats.extend(seats.first().copied()),
        _ => {}
    }
    SectionSeats { section: part.address.clone(), seats }
}

/// So many seats one after the other, from the start of a run on.
fn seats_from(run: Run, count: usize, hall: &Hall) -> Vec<SectionSeats> {
    let first = seats_of(Run { length: 1, gaps: false, ..run }, Some(hall));
    if first.section == "Z-1" {
        return Vec::new();
    }
    let from_first = hall.seats.keys().cycle().skip_while(|seat| {
        let address = &hall.subsections[usize::from(seat.subsection)].address;
        (address, seat.row, seat.number) != (&first.section, first.seats[0].row, first.seats[0].number)
    });
    let seats: Vec<Seat> = from_first.take(count).copied().collect();
    groups_of(&seats, hall)
}

/// The names of seats.
fn groups_of(seats: &[Seat], hall: &Hall) -> Vec<SectionSeats> {
    let group = |seats: &[Seat]| SectionSeats {
        section: hall.subsections[usize::from(seats[0].subsection)].address.clone(),
        seats: seats.iter().map(|seat| SeatName { row: seat.row, number: seat.number }).collect(),
    };
    seats.chunk_by(|one, next| one.subsection == next.subsection).map(group).collect()
}

fn best_of(best: BestOp, hall: Option<&Hall>) -> BestAvailable {
    let section = hall.and_then(|hall| {
        let part = hall.subsections.get(usize::from(best.section) % hall.subsections.len().max(1))?;
        match best.section {
            7..10 => Some(hall.sections[part.section].name.clone()),
            10..13 => Some(part.address.clone()),
            13 => Some("Z".to_owned()),
            _ => None,
        }
    });
    BestAvailable { quantity: best.quantity.into(), section, adjacent_required: best.required }
}

fn want(op: &WantOp, model: &Model) -> Want {
    let areas = |areas: &[(u8, u8)]| {
        areas
            .iter()
            .map(|(number, quantity)| AreaWish {
                name: format!("floor{number}").into(),
                quantity: (*quantity).into(),
            })
            .collect()
    };
    match op {
        WantOp::Named { runs, areas: standing } => {
            let seats = runs.iter().map(|run| seats_of(*run, hall(model))).collect();
            Want::Event { seats: SeatWish::Named(seats), areas: areas(standing) }
        }
        WantOp::Best { best, areas: standing } => {
            Want::Event { seats: SeatWish::Best(best_of(*best, hall(model))), areas: areas(standing) }
        }
        WantOp::NamedBest(best) => {
            let seats =
                hall(model).and_then(|hall| hall.best(&best_of(*best, Some(hall)), &model.rules()).ok());
            let groups = hall(model).map(|hall| groups_of(&seats.unwrap_or_default(), hall));
            Want::Event { seats: SeatWish::Named(groups.unwrap_or_default()), areas: Vec::new() }
        }
        WantOp::Areas(standing) => Want::Event { seats: SeatWish::None, areas: areas(standing) },
        WantOp::Places { slot, quantity } => Want::Slot {
            slot: slot_of(*slot, model, model.clock),
            places: Places::Quantity((*quantity).into()),
        },
        WantOp::Tickets { slot, tickets } => {
            let tickets = tickets.iter().map(|number| ticket_of(*number)).collect();
            Want::Slot { slot: slot_of(*slot, model, model.clock), places: Places::Tickets(tickets) }
        }
        WantOp::Box { number, quantity } => {
            Want::Box { id: box_of(*number, model), quantity: (*quantity).into() }
        }
    }
}

fn destination(to: &MoveOp, booking: Option<&Booking>, model: &Model) -> Destination {
    let count = match booking.map(|booking| &booking.units) {
        Some(Units::Event { seats, .. }) => seats.len(),
        _ => 1,
    };
    match (to, hall(model)) {
        (MoveOp::Slot(slot), _) => Destination::Slot(slot_of(*slot, model, model.clock)),
        (MoveOp::Seats { runs, right_number: true }, Some(hall)) => {
            Destination::Seats(seats_from(runs[0], count, hall))
        }
        (MoveOp::Seats { runs, .. }, hall) => {
            Destination::Seats(runs.iter().map(|run| seats_of(*run, hall)).collect())
        }
        (MoveOp::Best { best, right_number }, hall) => {
            let best = best_of(*best, hall);
            let quantity =
                if *right_number { u32::try_from(count).expect("few seats") } else { best.quantity };
            Destination::Best(BestAvailable { quantity, ..best })
        }
    }
}

/// One of the next slots; rarely an old one, or one that does not exist.
fn slot_of(choice: u8, model: &Model, now: Timestamp) -> SlotId {
    let unknown = SlotId { date: FIRST_DAY, start: Minute(1) };
    let Stock::Schedule(calendar) = &model.stock else { return unknown };
    let nth = |ended: bool, nth: u8| {
        let ids = calendar.slots.iter().filter(|(_, slot)| (slot.ends_at <= now) == ended).map(|(id, _)| *id);
        ids.take(usize::from(nth) + 1).last().unwrap_or(unknown)
    };
    match choice {
        15 => unknown,
        14 => nth(true, 2),
        other => nth(false, other % 7),
    }
}

/// One of the boxes there are; the fifth is never there.
fn box_of(number: u8, model: &Model) -> Arc<str> {
    match &model.stock {
        Stock::Shop(shelves) if number < 4 && !shelves.is_empty() => {
            Arc::clone(&shelves[usize::from(number) % shelves.len()].id)
        }
        _ => "box9".into(),
    }
}

fn terms(change: TermsOp, now: Timestamp) -> TermsPatch {
    let mut terms = TermsPatch::default();
    let rules = &mut terms.rules;
    let seconds = |choice: u8| Some([60, 5, 300, 900, 4_000, 0, 86_401][usize::from(choice)]);
    match change {
        TermsOp::Name(length) => terms.name = Some("n".repeat(length.into())),
        TermsOp::Open(open) => {
            terms.open = Some(open);
        }
        TermsOp::Sales { opens, closes } => {
            let opens_at = opens.map(|minutes| Timestamp(now.0 + (i64::from(minutes) - 10) * 30_000));
            let closes_at = closes.map(|minutes| Timestamp(now.0 + (i64::from(minutes) - 5) * 60_000));
            terms.sales = match (opens, closes) {
                // The other end stays.
                (Some(minutes), _) if minutes % 3 == 1 => SalesPatch::OpensAt(opens_at),
                (_, Some(minutes)) if minutes % 3 == 1 => SalesPatch::ClosesAt(closes_at),
                _ => SalesPatch::Window(SalesWindow { opens_at, closes_at }),
            };
        }
        TermsOp::HoldTtl(choice) => rules.hold_ttl_seconds = seconds(choice),
        TermsOp::MinHold(choice) => {
            rules.min_hold_seconds = Some([1, 5, 2, 30, 300, 0, 86_401][usize::from(choice)]);
        }
        TermsOp::MaxHold(choice) => rules.max_hold_seconds = seconds(choice),
        TermsOp::MaxUnits(units) => rules.max_units_per_booking = Some(units.into()),
        TermsOp::UnitsPerCustomer(units) => rules.max_units_per_customer = Some(units.map(u32::from)),
        TermsOp::ActivePerCustomer(bookings) => {
            rules.max_active_bookings_per_customer = Some(bookings.map(u32::from));
        }
        TermsOp::Orphans(choice) => rules.orphans = Some(orphans(choice)),
        TermsOp::PreferCenter(center) => rules.prefer = Some(prefer(center)),
        TermsOp::LatePayment(choice) => rules.late_payment = Some(late_payment(choice)),
        TermsOp::RegisteredTickets(registered) => rules.tickets = Some(ticket_rule(registered)),
        TermsOp::RequireKey(required) => {
            *rules = RulesPatch { require_idempotency_key: Some(required), ..RulesPatch::default() };
        }
    }
    terms
}

/// One field of an event's information: cleared, wrong, or one of a few values.
fn info(field: u8, value: u8) -> EventInfoPatch {
    let moment = (value > 0).then(|| START.plus_seconds(86_400 + 600 * u32::from(value)));
    let text = |wrong: &str| match value {
        0 => None,
        1 => Some(wrong.to_owned()),
        other => Some("h\u{e9}".repeat(other.into())),
    };
    let mut patch = EventInfoPatch::default();
    match field {
        0 => patch.starts_at = Some(moment),
        1 => patch.doors_open_at = Some(moment),
        2 => patch.ends_at = Some(moment),
        3 => {
            let zones = ["Mars", "UTC", "Asia/Taipei", "Europe/Berlin"];
            patch.timezone = Some(zones[usize::from(value) % zones.len()].to_owned());
        }
        4 => patch.venue = Some(text("a\nb")),
        _ => patch.description = Some(text("a\u{7}b")),
    }
    patch
}

fn prices(section: u8, area: u8, price: u8) -> PatchEvent {
    let price = if price == 0 { Money(-1) } else { Money(i64::from(price) * 900) };
    let section_names = ["C", "C", "A", "Z"];
    let section_prices = section_names.get(usize::from(section)).map(|name| ((*name).to_owned(), price));
    let area_prices = (area < 2).then(|| (format!("floor{area}"), price));
    PatchEvent {
        section_prices: section_prices.into_iter().collect(),
        area_prices: area_prices.into_iter().collect(),
        ..PatchEvent::default()
    }
}

fn pattern(change: &PatternOp, now: Timestamp) -> PatternPatch {
    let mut pattern = PatternPatch::default();
    match change {
        PatternOp::Windows(windows) => pattern.windows = Some(windows.iter().map(window).collect()),
        PatternOp::Days(days) => pattern.days = Some((*days).into()),
        PatternOp::WeekdaysOff(off) => pattern.weekdays = Some(weekdays(*off)),
        PatternOp::ClosedDay(day) => {
            let today = FIRST_DAY.plus_days(days_since_start(now));
            pattern.closed_dates = Some(day.iter().map(|day| today.plus_days(i32::from(*day))).collect());
        }
        PatternOp::KeepPastDays(days) => pattern.keep_past_days = Some((*days).into()),
    }
    pattern
}

fn pickup(window: (u8, u8), now: Timestamp) -> PickupWindow {
    let starts_at = Timestamp(now.0 + i64::from(window.0) * QUARTER_MS);
    PickupWindow { starts_at, ends_at: Timestamp(starts_at.0 + i64::from(window.1) * QUARTER_MS) }
}

/// Steps in order of time, unless the first costs the most there is.
fn curve(steps: &[(u8, u8)], now: Timestamp) -> Vec<PriceStep> {
    let step = |(quarters, price): &(u8, u8)| PriceStep {
        at: Timestamp(now.0 + i64::from(*quarters) * QUARTER_MS),
        price: Money(i64::from(*price) * 50),
    };
    let mut curve: Vec<PriceStep> = steps.iter().map(step).collect();
    if steps.first().is_none_or(|(_, price)| *price < 5) {
        curve.sort_by_key(|step| step.at);
        curve.dedup_by_key(|step| step.at);
    }
    curve
}

pub(crate) fn add_box(new: &BoxOp, now: Timestamp) -> AddBox {
    AddBox {
        id: format!("box{}", new.number).into(),
        name: "Evening box".to_owned(),
        quantity: new.quantity.into(),
        price: Money(i64::from(new.price) * 100),
        pickup: new.pickup.map(|window| pickup(window, now)),
        price_curve: curve(&new.curve, now),
    }
}

fn patch_box(id: Arc<str>, change: &BoxChange, now: Timestamp) -> PatchBox {
    let mut patch = PatchBox {
        id,
        name: None,
        closed: None,
        quantity: None,
        price: None,
        pickup: None,
        price_curve: None,
    };
    match change {
        BoxChange::Name(length) => patch.name = Some("n".repeat((*length).into())),
        BoxChange::Closed(closed) => patch.closed = Some(*closed),
        BoxChange::Quantity(quantity) => patch.quantity = Some((*quantity).into()),
        BoxChange::Price(price) => patch.price = Some(Money(i64::from(*price) * 100 - 100)),
        BoxChange::Pickup(window) => patch.pickup = Some(window.map(|window| pickup(window, now))),
        BoxChange::Curve(steps) => patch.price_curve = Some(curve(steps, now)),
    }
    patch
}
