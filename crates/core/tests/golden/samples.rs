//! One command of every kind and one change of every kind, with values that differ from their neighbours.

use std::sync::Arc;

use boxoffice_core::booking::{AreaClaim, Booking, Details, SeatClaim, Status, Units};
use boxoffice_core::change::{BoxProperties, Change};
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{
    AddBox, AddSlot, AreaWish, BestAvailable, BlockSeats, Book, Cancel, CancelEvent, Confirm, CreateEvent,
    CreateSchedule, CreateShop, DeleteSlot, Destination, Extend, ForgetContact, ImportTickets, Move,
    PatchBox, PatchEvent, PatchSchedule, PatchShop, PatchSlot, PatternPatch, Places, Redeem, SeatWish,
    SectionSeats, UnblockSeats, UnitChoice, Unredeem, Want,
};
use boxoffice_core::event::{AreaPlan, EventPlan, SeatName, SectionPlan, SubsectionPlan};
use boxoffice_core::event_info::{EventInfo, EventInfoPatch};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::{Fingerprint, KeyDigest};
use boxoffice_core::money::{Currency, Money, PriceStep};
use boxoffice_core::outcome::Reply;
use boxoffice_core::pool::Pool;
use boxoffice_core::refusal::{BoxUnavailability, Refusal, SeatAlternative, SeatConflict, SlotAlternative};
use boxoffice_core::rules::{
    InventoryStatus, LatePayment, Orphans, Prefer, Rules, RulesPatch, SalesPatch, SalesWindow, Terms,
    TermsPatch, TicketRule,
};
use boxoffice_core::schedule::{Pattern, SchedulePlan, Slot, Ticket, Window};
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_core::shop::{PickupBox, PickupWindow, ShopPlan};
use boxoffice_core::time::{Date, Minute, SlotId, Timestamp};

pub(crate) const MOMENT: Timestamp = Timestamp(1_796_083_200_000);
const BOOKING: BookingId = BookingId::from_bytes([0xB0; 16]);
const SLOT: SlotId = SlotId { date: Date(20_788), start: Minute(540) };

fn moment(milliseconds: i64) -> Timestamp {
    Timestamp(MOMENT.0 + milliseconds)
}

fn window() -> Window {
    Window { start: Minute(540), end: Minute(720), capacity: 200, price: Money(100) }
}

fn sales() -> SalesWindow {
    SalesWindow { opens_at: Some(moment(1)), closes_at: None }
}

fn rules_patch() -> RulesPatch {
    RulesPatch {
        hold_ttl_seconds: Some(900),
        min_hold_seconds: Some(20),
        max_hold_seconds: None,
        max_units_per_booking: Some(10),
        max_units_per_customer: Some(None),
        max_active_bookings_per_customer: Some(Some(1)),
        orphans: Some(Orphans::Forbid),
        prefer: Some(Prefer::Center),
        late_payment: Some(LatePayment::Equivalent),
        tickets: Some(TicketRule::Registered),
        require_idempotency_key: Some(true),
    }
}

fn terms_patch() -> TermsPatch {
    let name = Some("Gala".to_owned());
    TermsPatch { name, open: Some(false), sales: SalesPatch::Window(sales()), rules: rules_patch() }
}

fn patch_sales(sales: SalesPatch) -> Action {
    let terms = TermsPatch { sales, ..TermsPatch::default() };
    Action::PatchShop(Box::new(PatchShop { terms }))
}

fn sections() -> Vec<SectionPlan> {
    let blocked = vec![SeatName { row: 1, number: 2 }];
    let subsections = vec![SubsectionPlan { number: 7, rows: 25, cols: 20, blocked }];
    vec![SectionPlan { name: "A".to_owned(), price: Money(3_000), subsections }]
}

fn info() -> EventInfo {
    EventInfo {
        starts_at: Some(moment(0)),
        doors_open_at: Some(moment(-1)),
        ends_at: Some(moment(20)),
        timezone: "Asia/Taipei".to_owned(),
        venue: Some("Opera House".to_owned()),
        description: None,
    }
}

fn areas() -> Vec<AreaPlan> {
    vec![AreaPlan { name: "standing".to_owned(), price: Money(1_500), capacity: 5_000 }]
}

fn pattern() -> Pattern {
    Pattern {
        windows: vec![window()],
        days: 90,
        weekdays: [1, 7].into(),
        closed_dates: [Date(-1)].into(),
        keep_past_days: 7,
    }
}

fn section_seats() -> SectionSeats {
    SectionSeats { section: "A-7".to_owned(), seats: vec![SeatName { row: 3, number: 4 }] }
}

fn unit_choice() -> UnitChoice {
    UnitChoice { seats: vec![section_seats()], tickets: vec!["T1".into()], quantity: Some(2) }
}

fn best() -> BestAvailable {
    BestAvailable { quantity: 4, section: Some("A".to_owned()), adjacent_required: true }
}

fn curve() -> Vec<PriceStep> {
    vec![PriceStep { at: moment(2), price: Money(400) }]
}

fn pickup() -> PickupWindow {
    PickupWindow { starts_at: moment(3), ends_at: moment(4) }
}

fn book(want: Want) -> Action {
    Action::Book(Box::new(Book {
        id: BOOKING,
        customer: "ann".into(),
        contact: Some([1, 2].as_slice().into()),
        reference: Some("order 7".into()),
        want,
        hold_ttl_seconds: Some(60),
        hold_at_most_default: true,
        confirm: true,
        metadata: Some([3, 4, 5].as_slice().into()),
        redeem_code: RedeemCode::from_random(123_456_789),
    }))
}

pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    let currency = Currency(*b"TWD");
    let text = str::to_owned;
    let key = Idempotency {
        key: KeyDigest([0x4B; 16]),
        fingerprint: Fingerprint([0xF1; 16]),
        keep_seconds: 86_400,
    };
    let areas_wished = vec![AreaWish { name: "standing".into(), quantity: 2 }];
    let ticket = (Arc::from("T1"), Ticket { active: true, expires_at: Some(moment(5)) });
    let actions = vec![
        (
            "create_event",
            Action::CreateEvent(Box::new(CreateEvent {
                id: text("gala"),
                name: text("Gala"),
                currency,
                info: info(),
                sales: sales(),
                rules: rules_patch(),
                sections: sections(),
                areas: areas(),
            })),
        ),
        (
            "create_schedule",
            Action::CreateSchedule(Box::new(CreateSchedule {
                id: text("museum"),
                name: text("Museum"),
                timezone: text("Asia/Taipei"),
                currency,
                sales: sales(),
                rules: rules_patch(),
                pattern: pattern(),
            })),
        ),
        (
            "create_shop",
            Action::CreateShop(Box::new(CreateShop {
                id: text("bakery"),
                name: text("Bakery"),
                timezone: text("Asia/Taipei"),
                currency,
                sales: sales(),
                rules: RulesPatch::default(),
            })),
        ),
        (
            "patch_event",
            Action::PatchEvent(Box::new(PatchEvent {
                terms: terms_patch(),
                info: EventInfoPatch {
                    starts_at: Some(None),
                    doors_open_at: None,
                    ends_at: Some(Some(moment(21))),
                    timezone: Some(text("Europe/Berlin")),
                    venue: Some(Some(text("Arena"))),
                    description: Some(Some(text("The last night"))),
                },
                section_prices: vec![(text("A"), Money(1))],
                area_prices: vec![(text("standing"), Money(2))],
            })),
        ),
        (
            "patch_schedule",
            Action::PatchSchedule(Box::new(PatchSchedule {
                terms: TermsPatch::default(),
                pattern: PatternPatch {
                    windows: Some(vec![window()]),
                    days: Some(3),
                    weekdays: Some([2].into()),
                    closed_dates: None,
                    keep_past_days: Some(4),
                },
            })),
        ),
        ("patch_shop", Action::PatchShop(Box::new(PatchShop { terms: terms_patch() }))),
        ("patch_shop_opens_at", patch_sales(SalesPatch::OpensAt(None))),
        ("patch_shop_closes_at", patch_sales(SalesPatch::ClosesAt(Some(moment(2))))),
        ("block_seats", Action::BlockSeats(BlockSeats { seats: section_seats() })),
        ("unblock_seats", Action::UnblockSeats(UnblockSeats { seats: section_seats() })),
        ("add_slot", Action::AddSlot(AddSlot { date: Date(20_788), window: window() })),
        (
            "patch_slot",
            Action::PatchSlot(PatchSlot {
                slot: SLOT,
                closed: Some(true),
                capacity: None,
                price: Some(Money(7)),
            }),
        ),
        ("delete_slot", Action::DeleteSlot(DeleteSlot { slot: SLOT })),
        ("roll_slots", Action::RollSlots),
        (
            "add_box",
            Action::AddBox(Box::new(AddBox {
                id: "evening".into(),
                name: text("Evening"),
                quantity: 12,
                price: Money(500),
                pickup: Some(pickup()),
                price_curve: curve(),
            })),
        ),
        (
            "patch_box",
            Action::PatchBox(Box::new(PatchBox {
                id: "evening".into(),
                name: Some(text("Late")),
                closed: Some(false),
                quantity: Some(13),
                price: None,
                pickup: Some(None),
                price_curve: Some(curve()),
            })),
        ),
        ("import_tickets", Action::ImportTickets(ImportTickets { tickets: vec![ticket] })),
        (
            "book_named_seats",
            book(Want::Event { seats: SeatWish::Named(vec![section_seats()]), areas: areas_wished.clone() }),
        ),
        ("book_best_seats", book(Want::Event { seats: SeatWish::Best(best()), areas: Vec::new() })),
        ("book_areas", book(Want::Event { seats: SeatWish::None, areas: areas_wished })),
        ("book_places", book(Want::Slot { slot: SLOT, places: Places::Quantity(3) })),
        ("book_tickets", book(Want::Slot { slot: SLOT, places: Places::Tickets(vec!["T1".into()]) })),
        ("book_boxes", book(Want::Box { id: "evening".into(), quantity: 1 })),
        (
            "confirm",
            Action::Confirm(Confirm {
                booking: BOOKING,
                payment_reference: Some("pay-1".into()),
                if_expired: Some(LatePayment::SameUnits),
                free_only: true,
            }),
        ),
        ("extend", Action::Extend(Extend { booking: BOOKING, seconds: 300 })),
        (
            "cancel",
            Action::Cancel(Cancel {
                booking: BOOKING,
                reason: Some("ill".into()),
                ticket: Some("T1".into()),
            }),
        ),
        (
            "move_to_slot",
            Action::Move(Box::new(Move {
                booking: BOOKING,
                to: Destination::Slot(SLOT),
                free_only: true,
                ticket: Some("T1".into()),
            })),
        ),
        (
            "move_to_seats",
            Action::Move(Box::new(Move {
                booking: BOOKING,
                to: Destination::Seats(vec![section_seats()]),
                free_only: false,
                ticket: None,
            })),
        ),
        (
            "move_to_best",
            Action::Move(Box::new(Move {
                booking: BOOKING,
                to: Destination::Best(best()),
                free_only: false,
                ticket: None,
            })),
        ),
        (
            "redeem",
            Action::Redeem(Redeem {
                booking: BOOKING,
                redeem_code: Some(RedeemCode::from_random(5)),
                units: None,
                force: true,
            }),
        ),
        (
            "redeem_some",
            Action::Redeem(Redeem {
                booking: BOOKING,
                redeem_code: None,
                units: Some(Box::new(unit_choice())),
                force: false,
            }),
        ),
        (
            "unredeem",
            Action::Unredeem(Unredeem {
                booking: BOOKING,
                units: Some(Box::new(unit_choice())),
                reason: "by mistake".into(),
            }),
        ),
        ("expire", Action::Expire),
        ("forget_contact", Action::ForgetContact(ForgetContact { customer: "ann".into() })),
        ("forget_keys", Action::ForgetKeys),
        ("cancel_event", Action::CancelEvent(CancelEvent { reason: "storm".into(), dry_run: true })),
        ("delete_event", Action::DeleteEvent),
    ];
    let with_key = |index: usize| index.is_multiple_of(2).then_some(key);
    actions
        .into_iter()
        .enumerate()
        .map(|(index, (name, action))| {
            (name, Command { by: Actor(300), idempotency: with_key(index), action })
        })
        .collect()
}

fn terms() -> Terms {
    Terms {
        id: "gala".to_owned(),
        name: "Gala".to_owned(),
        currency: Currency(*b"TWD"),
        status: InventoryStatus::Open,
        sales: sales(),
        rules: Rules {
            hold_ttl_seconds: 900,
            min_hold_seconds: 20,
            max_hold_seconds: 3_600,
            max_units_per_booking: 10,
            max_units_per_customer: Some(20),
            max_active_bookings_per_customer: None,
            orphans: Orphans::Avoid,
            prefer: Prefer::Front,
            late_payment: LatePayment::Fail,
            tickets: TicketRule::Any,
            require_idempotency_key: false,
        },
    }
}

fn seat() -> Seat {
    Seat { subsection: 1, row: 2, number: 300 }
}

fn event_units() -> Units {
    Units::Event {
        seats: [SeatClaim { seat: seat(), price: Money(3_000) }].into(),
        areas: [AreaClaim { area: 4, quantity: 5, price: Money(6) }].into(),
    }
}

fn booking(status: Status, units: Units) -> Arc<Booking> {
    Arc::new(Booking {
        id: BOOKING,
        customer: "ann".into(),
        status,
        units,
        redeem_code: RedeemCode::from_random(9),
        created_by: Actor(300),
        created_at: MOMENT,
        details: Some(Arc::new(Details {
            payment_reference: Some("pay-1".into()),
            metadata: Some([7].as_slice().into()),
            contact: Some([8, 9].as_slice().into()),
            reference: Some("order 7".into()),
            redemption: None,
        })),
        version: 1,
    })
}

fn partly_redeemed() -> Arc<Booking> {
    let units = Units::Box { number: 1, quantity: 2, price: Money(250) };
    let mut booking = Booking::clone(&booking(Status::Confirmed { confirmed_at: moment(12) }, units));
    let redemption = Some([None, Some(moment(13))].into());
    booking.details = Some(Arc::new(Details { redemption, ..Details::default() }));
    Arc::new(booking)
}

fn pool() -> Pool {
    Pool { capacity: 200, held: 1, sold: 2 }
}

fn remembered(reply: Reply) -> Change {
    Change::Remembered { key: KeyDigest([0x4B; 16]), fingerprint: 1.into(), keep_until: moment(9), reply }
}

pub(crate) fn changes() -> Vec<Change> {
    let slot = Slot {
        starts_at: moment(10),
        ends_at: moment(11),
        end: Minute(720),
        price: Money(0),
        closed: true,
        pool: pool(),
    };
    let boxed = PickupBox {
        id: "evening".into(),
        name: "Evening".to_owned(),
        pool: pool(),
        price: Money(500),
        pickup: Some(pickup()),
        price_curve: curve(),
        closed: false,
    };
    let properties = BoxProperties {
        name: "Late".to_owned(),
        number: 1,
        quantity: 12,
        price: Money(500),
        pickup: None,
        price_curve: curve(),
        closed: true,
    };
    let alternative = SeatAlternative { seats: vec![seat()], adjacent: true, total_price: Money(3_000) };
    let slot_alternative = SlotAlternative { slot: SLOT, starts_at: MOMENT, available_count: 3 };
    let conflict = SeatConflict { seat: seat(), reason: SeatState::Sold };
    let places = Units::Slot {
        slot: SLOT,
        end: Minute(720),
        quantity: 1,
        price: Money(100),
        tickets: ["T1".into()].into(),
    };
    let boxes = Units::Box { number: 1, quantity: 2, price: Money(250) };
    vec![
        Change::Act { at: MOMENT, by: Actor(300) },
        Change::EventCreated(Box::new(EventPlan {
            terms: terms(),
            info: EventInfo::default(),
            sections: sections(),
            areas: areas(),
        })),
        Change::ScheduleCreated(Box::new(SchedulePlan {
            terms: terms(),
            timezone: "Asia/Taipei".to_owned(),
            pattern: pattern(),
        })),
        Change::ShopCreated(Box::new(ShopPlan { terms: terms(), timezone: "Asia/Taipei".to_owned() })),
        Change::TermsPatched(Box::new(terms())),
        Change::PricesPatched { sections: vec![(1, Money(2))], areas: vec![(3, Money(4))] },
        Change::SeatsBlocked(vec![seat()]),
        Change::SeatsUnblocked(vec![seat()]),
        Change::PatternPatched(Box::new(pattern())),
        Change::SlotsAdded(vec![(SLOT, slot)]),
        Change::SlotsRemoved(vec![SLOT]),
        Change::SlotPatched { slot: SLOT, closed: true, capacity: 9, price: Money(7) },
        Change::RolledThrough(Date(20_788)),
        Change::BoxAdded(Box::new(boxed)),
        Change::BoxPatched(Box::new(properties)),
        Change::TicketsImported(vec![("T1".into(), Ticket { active: false, expires_at: None })]),
        Change::Booked(booking(Status::OnHold { expires_at: moment(12) }, event_units())),
        Change::Booked(booking(Status::Confirmed { confirmed_at: moment(12) }, places.clone())),
        Change::Confirmed { booking: BOOKING, payment_reference: None },
        Change::Revived {
            booking: BOOKING,
            from: Box::new(boxes.clone()),
            units: Box::new(boxes),
            redeem_code: RedeemCode::from_random(9),
            payment_reference: Some("pay-1".into()),
        },
        Change::Extended { booking: BOOKING, expires_at: moment(13) },
        Change::Cancelled { booking: BOOKING, reason: Some("ill".into()) },
        Change::Moved { booking: BOOKING, from: Box::new(event_units()), units: Box::new(places) },
        Change::Redeemed { booking: BOOKING, forced: true },
        Change::Expired { booking: BOOKING },
        Change::ContactForgotten { customer: "ann".into() },
        remembered(Reply::Booking(BOOKING)),
        remembered(Reply::Moved { booking: BOOKING, price_difference: Money(-5) }),
        remembered(Reply::Inventory),
        remembered(Reply::Slot(SLOT)),
        remembered(Reply::SlotDeleted(SLOT)),
        remembered(Reply::Box(1)),
        remembered(Reply::Tickets { added: 1, updated: 2 }),
        remembered(Reply::Done),
        remembered(Reply::EventCancelled { holds_ended: 1, bookings_cancelled: 2 }),
        remembered(Reply::Refused(Box::new(Refusal::SeatUnavailable {
            conflicts: vec![conflict],
            alternatives: vec![alternative],
        }))),
        remembered(Reply::Refused(Box::new(Refusal::SlotFull {
            available: 1,
            alternatives: vec![slot_alternative],
        }))),
        remembered(Reply::Refused(Box::new(Refusal::BoxUnavailable { reason: BoxUnavailability::Closed }))),
        // The last refusal: its number moves if one is put between the others.
        remembered(Reply::Refused(Box::new(Refusal::EventHasBookings))),
        Change::KeysForgotten { through: moment(14) },
        Change::EventInfoPatched(Box::new(info())),
        Change::Booked(partly_redeemed()),
        Change::PartRedeemed {
            booking: BOOKING,
            part: Box::new(event_units()),
            redeemed_quantity: 6,
            forced: true,
        },
        Change::Unredeemed {
            booking: BOOKING,
            part: Some(Box::new(event_units())),
            redeemed_quantity: 3,
            redeem_code: RedeemCode::from_random(9),
            reason: "by mistake".into(),
        },
        Change::EventCancelled { reason: "storm".into() },
        Change::EventDeleted,
    ]
}

pub(crate) const CHANGE_NAMES: [&str; 32] = [
    "act",
    "event_created",
    "schedule_created",
    "shop_created",
    "terms_patched",
    "prices_patched",
    "seats_blocked",
    "seats_unblocked",
    "pattern_patched",
    "slots_added",
    "slots_removed",
    "slot_patched",
    "rolled_through",
    "box_added",
    "box_patched",
    "tickets_imported",
    "booked",
    "confirmed",
    "revived",
    "extended",
    "cancelled",
    "moved",
    "redeemed",
    "expired",
    "contact_forgotten",
    "remembered",
    "keys_forgotten",
    "event_info_patched",
    "part_redeemed",
    "unredeemed",
    "event_cancelled",
    "event_deleted",
];

/// The name of a change in the golden file. A new variant does not compile until it is named here.
pub(crate) fn name_of(change: &Change) -> &'static str {
    let index = match change {
        Change::Act { .. } => 0,
        Change::EventCreated(_) => 1,
        Change::ScheduleCreated(_) => 2,
        Change::ShopCreated(_) => 3,
        Change::TermsPatched(_) => 4,
        Change::PricesPatched { .. } => 5,
        Change::SeatsBlocked(_) => 6,
        Change::SeatsUnblocked(_) => 7,
        Change::PatternPatched(_) => 8,
        Change::SlotsAdded(_) => 9,
        Change::SlotsRemoved(_) => 10,
        Change::SlotPatched { .. } => 11,
        Change::RolledThrough(_) => 12,
        Change::BoxAdded(_) => 13,
        Change::BoxPatched(_) => 14,
        Change::TicketsImported(_) => 15,
        Change::Booked(_) => 16,
        Change::Confirmed { .. } => 17,
        Change::Revived { .. } => 18,
        Change::Extended { .. } => 19,
        Change::Cancelled { .. } => 20,
        Change::Moved { .. } => 21,
        Change::Redeemed { .. } => 22,
        Change::Expired { .. } => 23,
        Change::ContactForgotten { .. } => 24,
        Change::Remembered { .. } => 25,
        Change::KeysForgotten { .. } => 26,
        Change::EventInfoPatched(_) => 27,
        Change::PartRedeemed { .. } => 28,
        Change::Unredeemed { .. } => 29,
        Change::EventCancelled { .. } => 30,
        Change::EventDeleted => 31,
    };
    CHANGE_NAMES[index]
}
