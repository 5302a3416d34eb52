//! What must hold after every command: of the inventory by itself, and of the inventory beside the model.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::event::Event;
use boxoffice_core::ids::BookingId;
use boxoffice_core::inventory::{Inventory, Stock};
use boxoffice_core::pool::Pool;
use boxoffice_core::schedule::{Schedule, TicketUse};
use boxoffice_core::seats::{Counts, Seat, SeatState};
use boxoffice_core::shop::Shop;
use boxoffice_core::time::{SlotId, Timestamp};

use crate::ensure;
use crate::naive::{Model, Stock as ModelStock};

/// Every number of the inventory equals a recount from its bookings, and no unit has two owners.
pub(crate) fn check_inventory(inventory: &Inventory) -> Result<(), String> {
    match inventory.stock() {
        None => ensure!(inventory.bookings().len() == 0, "bookings of nothing"),
        Some(Stock::Event(event)) => check_event(inventory, event)?,
        Some(Stock::Schedule(schedule)) => check_schedule(inventory, schedule)?,
        Some(Stock::Shop(shop)) => check_shop(inventory, shop)?,
    }
    check_deadlines(inventory)?;
    check_customers(inventory)?;
    check_codes(inventory)
}

/// What the units of a booking are, if it has any.
fn claim(booking: &Booking) -> Option<SeatState> {
    match booking.status {
        Status::OnHold { .. } => Some(SeatState::Held),
        Status::Confirmed { .. } | Status::Redeemed { .. } => Some(SeatState::Sold),
        Status::Cancelled { .. } | Status::Expired { .. } => None,
    }
}

fn claims(inventory: &Inventory) -> impl Iterator<Item = (&Arc<Booking>, SeatState)> {
    inventory.bookings().filter_map(|booking| Some((booking, claim(booking)?)))
}

fn add(counts: &mut Counts, state: SeatState, quantity: u32) {
    *match state {
        SeatState::Available => &mut counts.available,
        SeatState::Held => &mut counts.held,
        SeatState::Sold => &mut counts.sold,
        SeatState::Blocked => &mut counts.blocked,
    } += quantity;
}

fn add_to_pool(pool: &mut Pool, state: SeatState, quantity: u32) {
    match state {
        SeatState::Held => pool.held += quantity,
        SeatState::Sold => pool.sold += quantity,
        SeatState::Available | SeatState::Blocked => panic!("claims are held or sold"),
    }
}

fn check_pool(pool: Pool, recount: Pool) -> Result<(), String> {
    ensure!(pool == recount, "{pool:?} instead of {recount:?}");
    ensure!(pool.held + pool.sold <= pool.capacity, "more claims than places in {pool:?}");
    let counts = pool.counts();
    ensure!(counts.total() == pool.capacity && counts.blocked == 0, "{counts:?} of {pool:?}");
    Ok(())
}

fn check_event(inventory: &Inventory, event: &Event) -> Result<(), String> {
    let mut owned: HashMap<Seat, SeatState> = HashMap::new();
    let mut pools: Vec<Pool> =
        event.areas.iter().map(|area| Pool { held: 0, sold: 0, ..area.pool }).collect();
    for (booking, state) in claims(inventory) {
        let Units::Event { seats, areas } = &booking.units else {
            return Err("units of no event".to_owned());
        };
        for claim in seats {
            ensure!(owned.insert(claim.seat, state).is_none(), "{:?} has two owners", claim.seat);
        }
        for claim in areas {
            add_to_pool(&mut pools[usize::from(claim.area)], state, claim.quantity);
        }
    }
    let mut totals = Counts::default();
    for (area, pool) in event.areas.iter().zip(pools) {
        check_pool(area.pool, pool)?;
        totals = totals.plus(area.pool.counts());
    }
    let mut owned_found = 0;
    for section in &event.sections {
        let mut of_section = Counts::default();
        for subsection in section.subsections.clone() {
            let mut of_subsection = Counts::default();
            let (rows, cols) = event.seats.size(subsection);
            for row in 1..=rows {
                let before = of_subsection.available;
                for number in 1..=cols {
                    let seat = Seat { subsection, row, number };
                    let state = event.seats.state(seat);
                    let owner = owned.get(&seat).copied();
                    owned_found += usize::from(owner.is_some());
                    let agreed = match state {
                        SeatState::Available | SeatState::Blocked => owner.is_none(),
                        SeatState::Held | SeatState::Sold => owner == Some(state),
                    };
                    ensure!(agreed, "{seat:?} is {state:?} but its booking is {owner:?}");
                    add(&mut of_subsection, state, 1);
                }
                let available = event.seats.available_in_row(subsection, row);
                ensure!(
                    available == of_subsection.available - before,
                    "row {row} of {subsection}: {available} available"
                );
            }
            let counts = event.seats.counts(subsection);
            ensure!(
                counts == of_subsection,
                "subsection {subsection}: {counts:?} instead of {of_subsection:?}"
            );
            ensure!(
                counts.total() == u32::from(rows) * u32::from(cols),
                "subsection {subsection}: {counts:?}"
            );
            of_section = of_section.plus(of_subsection);
        }
        let counts = event.section_counts(section);
        ensure!(counts == of_section, "section {}: {counts:?} instead of {of_section:?}", section.name);
        totals = totals.plus(of_section);
    }
    ensure!(owned_found == owned.len(), "bookings own seats that are not there");
    ensure!(event.totals == totals, "totals {:?} instead of {totals:?}", event.totals);
    Ok(())
}

fn check_schedule(inventory: &Inventory, schedule: &Schedule) -> Result<(), String> {
    let mut pools: BTreeMap<SlotId, Pool> =
        schedule.slots.iter().map(|(id, slot)| (*id, Pool { held: 0, sold: 0, ..slot.pool })).collect();
    let mut uses: HashMap<Arc<str>, TicketUse> = HashMap::new();
    for (booking, state) in claims(inventory) {
        let Units::Slot { slot, quantity, tickets, .. } = &booking.units else {
            return Err("units of no schedule".to_owned());
        };
        let Some(pool) = pools.get_mut(slot) else {
            return Err(format!("slot {slot} is gone, though booked"));
        };
        add_to_pool(pool, state, *quantity);
        ensure!(tickets.is_empty() || tickets.len() == *quantity as usize, "a ticket without a place");
        let redeemed = booking.units_redeemed_at();
        ensure!(redeemed.len() == *quantity as usize, "{redeemed:?} of {quantity} places");
        for (ticket, redeemed_at) in tickets.iter().zip(redeemed) {
            let ticket_use = match redeemed_at {
                Some(_) => TicketUse::Used(booking.id),
                None => TicketUse::Reserved(booking.id),
            };
            ensure!(
                uses.insert(Arc::clone(ticket), ticket_use).is_none(),
                "ticket {ticket} is in two bookings"
            );
        }
    }
    for (id, slot) in &schedule.slots {
        check_pool(slot.pool, pools[id])?;
    }
    let known: HashMap<_, _> =
        schedule.ticket_uses.iter().map(|(ticket, known)| (Arc::clone(ticket), *known)).collect();
    ensure!(known == uses, "tickets {:?} instead of {uses:?}", known);
    Ok(())
}

fn check_shop(inventory: &Inventory, shop: &Shop) -> Result<(), String> {
    let mut pools: Vec<Pool> =
        shop.boxes.iter().map(|boxed| Pool { held: 0, sold: 0, ..boxed.pool }).collect();
    for (booking, state) in claims(inventory) {
        let Units::Box { number, quantity, .. } = &booking.units else {
            return Err("units of no shop".to_owned());
        };
        add_to_pool(&mut pools[*number as usize], state, *quantity);
    }
    for (number, (boxed, pool)) in (0..).zip(shop.boxes.iter().zip(pools)) {
        check_pool(boxed.pool, pool)?;
        ensure!(shop.find(&boxed.id) == Some(number), "box {} is not found", boxed.id);
    }
    Ok(())
}

fn check_deadlines(inventory: &Inventory) -> Result<(), String> {
    let mut holds: Vec<(Timestamp, BookingId)> = Vec::new();
    for booking in inventory.bookings() {
        if let Status::OnHold { expires_at } = booking.status {
            ensure!(expires_at > inventory.clock(), "a hold that is over lives on: {booking:?}");
            holds.push((expires_at, booking.id));
        }
    }
    holds.sort_by_key(|&(expires_at, _)| expires_at);
    ensure!(inventory.deadlines().eq(holds.iter().copied()), "the deadlines are not those of {holds:?}");

    Ok(())
}

fn check_customers(inventory: &Inventory) -> Result<(), String> {
    let mut recount: HashMap<&str, (u32, u64)> = HashMap::new();
    for booking in inventory.bookings() {
        let (active, units) = recount.entry(&booking.customer).or_default();
        *active += u32::from(matches!(booking.status, Status::OnHold { .. } | Status::Confirmed { .. }));
        *units += if claim(booking).is_some() { u64::from(booking.units.quantity()) } else { 0 };
    }
    let counted = inventory
        .customers()
        .iter()
        .map(|(name, account)| (&**name, (account.active_bookings, account.units)));
    let counted: HashMap<&str, (u32, u64)> = counted.collect();
    ensure!(counted == recount, "customers {counted:?} instead of {recount:?}");
    for customer in recount.into_keys() {
        let theirs: Vec<_> = inventory.bookings().filter(|booking| *booking.customer == *customer).collect();
        let found = inventory.bookings_of(customer);
        ensure!(found.eq(theirs.into_iter().rev()), "other bookings of {customer}");
    }
    Ok(())
}

fn check_codes(inventory: &Inventory) -> Result<(), String> {
    let mut codes = HashSet::new();
    for booking in inventory.bookings().filter(|booking| booking.is_active()) {
        ensure!(codes.insert(booking.redeem_code), "code {} is in two bookings", booking.redeem_code);
        let found = inventory.booking_of_code(booking.redeem_code);
        ensure!(found == Some(booking.id), "code {} leads to {found:?}", booking.redeem_code);
    }
    Ok(())
}

/// The inventory is what the model says it is.
pub(crate) fn check_same(inventory: &Inventory, model: &Model) -> Result<(), String> {
    ensure!(
        inventory.clock() == model.clock,
        "the clock shows {:?} instead of {:?}",
        inventory.clock(),
        model.clock
    );
    ensure!(inventory.terms() == model.terms.as_ref(), "terms {:?}", inventory.terms());
    let order = inventory.bookings().map(|booking| booking.id);
    ensure!(
        order.eq(model.booking_order.iter().copied()),
        "the bookings are not in the order they were made"
    );
    for (id, expected) in &model.bookings {
        let booking = inventory.booking(*id).map(|booking| &**booking);
        ensure!(booking == Some(expected), "{booking:?}\ninstead of {expected:?}");
    }
    ensure!(inventory.memory().len() == model.keys.len(), "{} keys are remembered", inventory.memory().len());
    ensure!(inventory.customers().iter().count() == model.customers.len(), "other customers");
    for (name, expected) in &model.customers {
        let account = inventory.customers().get(name).ok_or("a customer is missing")?;
        ensure!(account.latest == expected.latest, "the latest booking of {name} is {:?}", account.latest);
    }
    match (inventory.stock(), &model.stock) {
        (None, ModelStock::Nothing) => {}
        (Some(Stock::Event(event)), ModelStock::Event(hall)) => {
            for (seat, owner) in &hall.seats {
                let (state, expected) = (event.seats.state(*seat), model.state_of(owner));
                ensure!(state == expected, "{seat:?} is {state:?} instead of {expected:?}");
            }
            let prices = event.sections.iter().map(|section| section.price);
            ensure!(prices.eq(hall.sections.iter().map(|section| section.price)), "other prices of sections");
            let prices = event.areas.iter().map(|area| area.price);
            ensure!(prices.eq(hall.areas.iter().map(|area| area.price)), "other prices of areas");
            ensure!(event.sellout == hall.sellout, "{:?} instead of {:?}", event.sellout, hall.sellout);
        }
        (Some(Stock::Schedule(schedule)), ModelStock::Schedule(calendar)) => {
            ensure!(schedule.pattern == calendar.pattern, "pattern {:?}", schedule.pattern);
            let expected = calendar.slots.iter().map(|(id, slot)| (*id, model.slot_record(slot)));
            let expected: BTreeMap<_, _> = expected.collect();
            ensure!(schedule.slots == expected, "slots {:?}\ninstead of {expected:?}", schedule.slots);
            let through = schedule.rolled_through();
            ensure!(through == calendar.rolled_through, "rolled through {through:?}");
            let tickets = schedule.tickets.iter().map(|(number, ticket)| (Arc::clone(number), *ticket));
            let tickets: BTreeMap<_, _> = tickets.collect();
            ensure!(tickets == calendar.tickets, "tickets {tickets:?} instead of {:?}", calendar.tickets);
        }
        (Some(Stock::Shop(shop)), ModelStock::Shop(shelves)) => {
            let expected: Vec<_> = shelves.iter().map(|shelf| model.box_record(shelf)).collect();
            ensure!(shop.boxes == expected, "boxes {:?}\ninstead of {expected:?}", shop.boxes);
        }
        _ => return Err("an inventory of another kind".to_owned()),
    }
    let due = model.next_due();
    let next = inventory.next_deadlines();
    let woken = [next.hold, next.roll, next.keys].into_iter().flatten().min();
    ensure!(
        due.is_none_or(|due| woken.is_some_and(|woken| woken <= due)),
        "woken at {woken:?}, but due at {due:?}"
    );
    Ok(())
}
