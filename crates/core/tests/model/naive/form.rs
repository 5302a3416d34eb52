//! What no state of an inventory could accept.

use std::collections::BTreeSet;

use boxoffice_core::commands::{Book, CreateEvent, Places, SeatWish, UnitChoice, Want};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::ids::InventoryKind;
use boxoffice_core::money::{Currency, Money, PriceStep};
use boxoffice_core::rules::{InventoryStatus, LatePayment, Orphans, Prefer, TicketRule};
use boxoffice_core::rules::{Rules, RulesPatch, SalesPatch, SalesWindow, Terms, TermsPatch};
use boxoffice_core::schedule::{Pattern, Window};
use boxoffice_core::shop::PickupWindow;

use super::{Decided, invalid};

/// The invisible characters that are generated.
const INVISIBLE: [char; 2] = ['\u{feff}', '\u{202e}'];

fn require(well_formed: bool) -> Decided<()> {
    if well_formed { Ok(()) } else { invalid() }
}

pub(super) fn check_number(number: u32, most: u32) -> Decided<()> {
    require(number >= 1 && number <= most)
}

pub(super) fn check_some<T>(list: &[T]) -> Decided<()> {
    require(!list.is_empty())
}

pub(super) fn check_price(price: Money) -> Decided<()> {
    require(price.0 >= 0 && price.0 <= 1_000_000_000_000)
}

pub(super) fn check_text(text: &str, most: usize) -> Decided<()> {
    let length = text.chars().count();
    require(length >= 1 && length <= most && !text.chars().any(char::is_control))?;
    require(!text.contains(INVISIBLE))
}

/// Customer references and ticket ids.
pub(super) fn check_identifier(text: &str, most: usize) -> Decided<()> {
    require(text.trim() == text)?;
    check_text(text, most)
}

pub(super) fn check_slug(slug: &str) -> Decided<()> {
    let allowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
    require(
        (1..=63).contains(&slug.len()) && !slug.starts_with('-') && slug.chars().all(|c| allowed.contains(c)),
    )
}

pub(super) fn check_zone(name: &str) -> Decided<()> {
    require(name == "Asia/Taipei")
}

pub(super) fn new_terms(
    kind: InventoryKind,
    id: &str,
    name: &str,
    currency: Currency,
    sales: SalesWindow,
    rules: RulesPatch,
) -> Decided<Terms> {
    check_slug(id)?;
    require(currency.0.iter().all(u8::is_ascii_uppercase))?;
    let minutes = match kind {
        InventoryKind::Event => 15,
        InventoryKind::Schedule => 10,
        InventoryKind::Shop => 20,
    };
    let terms = Terms {
        id: id.to_owned(),
        name: String::new(),
        currency,
        status: InventoryStatus::Open,
        sales,
        rules: Rules {
            hold_ttl_seconds: minutes * 60,
            min_hold_seconds: 1,
            max_hold_seconds: 3_600,
            max_units_per_booking: 10,
            max_units_per_customer: None,
            max_active_bookings_per_customer: if kind == InventoryKind::Shop { Some(1) } else { None },
            orphans: Orphans::Allow,
            prefer: Prefer::Front,
            late_payment: LatePayment::Fail,
            tickets: TicketRule::Any,
            require_idempotency_key: false,
        },
    };
    patched_terms(&terms, &TermsPatch { name: Some(name.to_owned()), rules, ..TermsPatch::default() })
}

pub(super) fn patched_terms(old: &Terms, patch: &TermsPatch) -> Decided<Terms> {
    let mut terms = old.clone();
    if let Some(name) = &patch.name {
        terms.name.clone_from(name);
    }
    if let Some(open) = patch.open {
        terms.status = if open { InventoryStatus::Open } else { InventoryStatus::Closed };
    }
    if let SalesPatch::Window(window) = patch.sales {
        terms.sales = window;
    }
    if let SalesPatch::OpensAt(opens_at) = patch.sales {
        terms.sales.opens_at = opens_at;
    }
    if let SalesPatch::ClosesAt(closes_at) = patch.sales {
        terms.sales.closes_at = closes_at;
    }
    let rules = &mut terms.rules;
    let new = &patch.rules;
    if let Some(seconds) = new.hold_ttl_seconds {
        rules.hold_ttl_seconds = seconds;
        // A longer hold lifts its cap with it.
        rules.max_hold_seconds = rules.max_hold_seconds.max(seconds);
    }
    if let Some(seconds) = new.max_hold_seconds {
        rules.max_hold_seconds = seconds;
        // A lower cap shortens holds with it, unless they are named too.
        if new.hold_ttl_seconds.is_none() && seconds < rules.hold_ttl_seconds {
            rules.hold_ttl_seconds = seconds;
        }
    }
    if let Some(seconds) = new.min_hold_seconds {
        rules.min_hold_seconds = seconds;
    }
    if let Some(units) = new.max_units_per_booking {
        rules.max_units_per_booking = units;
    }
    if let Some(units) = new.max_units_per_customer {
        rules.max_units_per_customer = units;
    }
    if let Some(bookings) = new.max_active_bookings_per_customer {
        rules.max_active_bookings_per_customer = bookings;
    }
    if let Some(orphans) = new.orphans {
        rules.orphans = orphans;
    }
    if let Some(prefer) = new.prefer {
        rules.prefer = prefer;
    }
    if let Some(late_payment) = new.late_payment {
        rules.late_payment = late_payment;
    }
    if let Some(tickets) = new.tickets {
        rules.tickets = tickets;
    }
    if let Some(required) = new.require_idempotency_key {
        rules.require_idempotency_key = required;
    }
    check_text(&terms.name, 200)?;
    check_number(terms.rules.hold_ttl_seconds, 86_400)?;
    check_number(terms.rules.max_hold_seconds, 86_400)?;
    check_number(terms.rules.min_hold_seconds, 86_400)?;
    require(terms.rules.min_hold_seconds <= terms.rules.hold_ttl_seconds)?;
    require(terms.rules.hold_ttl_seconds <= terms.rules.max_hold_seconds)?;
    check_number(terms.rules.max_units_per_booking, 1_000)?;
    require(terms.rules.max_units_per_customer != Some(0))?;
    require(terms.rules.max_active_bookings_per_customer != Some(0))?;
    if let (Some(opens_at), Some(closes_at)) = (terms.sales.opens_at, terms.sales.closes_at) {
        require(opens_at < closes_at)?;
    }
    Ok(terms)
}

/// The zones that are generated.
const ZONES: [&str; 3] = ["UTC", "Asia/Taipei", "Europe/Berlin"];

pub(super) fn check_info(info: &EventInfo) -> Decided<()> {
    require(ZONES.contains(&info.timezone.as_str()))?;
    if let Some(ends_at) = info.ends_at {
        require(info.starts_at.is_none_or(|starts_at| starts_at < ends_at))?;
        require(info.doors_open_at.is_none_or(|doors_open_at| doors_open_at < ends_at))?;
    }
    info.venue.iter().try_for_each(|venue| check_text(venue, 200))?;
    let spaced = |text: &String| text.replace(['\n', '\r', '\t'], " ");
    info.description.iter().try_for_each(|text| check_text(&spaced(text), 4_000))
}

pub(super) fn check_hall(create: &CreateEvent) -> Decided<()> {
    require(!create.sections.is_empty() || !create.areas.is_empty())?;
    let mut names = BTreeSet::new();
    for section in &create.sections {
        check_text(&section.name, 32)?;
        require(!section.name.contains('-'))?;
        require(names.insert(&section.name))?;
        check_price(section.price)?;
        require(!section.subsections.is_empty())?;
        let mut numbers = BTreeSet::new();
        for subsection in &section.subsections {
            require(subsection.number > 0 && numbers.insert(subsection.number))?;
            check_number(subsection.rows.into(), 1_000)?;
            check_number(subsection.cols.into(), 1_000)?;
            for seat in &subsection.blocked {
                check_number(seat.row.into(), subsection.rows.into())?;
                check_number(seat.number.into(), subsection.cols.into())?;
            }
        }
    }
    let mut names = BTreeSet::new();
    for area in &create.areas {
        check_text(&area.name, 200)?;
        require(names.insert(&area.name))?;
        check_price(area.price)?;
        check_number(area.capacity, 1_000_000)?;
    }
    Ok(())
}

pub(super) fn check_pattern(pattern: &Pattern) -> Decided<()> {
    let mut starts = BTreeSet::new();
    for window in &pattern.windows {
        check_window(window)?;
        require(starts.insert(window.start))?;
    }
    check_number(pattern.days.into(), 730)?;
    require(!pattern.weekdays.is_empty() && pattern.weekdays.iter().all(|day| (1..=7).contains(day)))?;
    require(pattern.keep_past_days <= 730)
}

pub(super) fn check_window(window: &Window) -> Decided<()> {
    require(window.start < window.end && window.end.0 <= 24 * 60)?;
    check_number(window.capacity, 1_000_000)?;
    check_price(window.price)
}

pub(super) fn check_pickup(pickup: Option<PickupWindow>) -> Decided<()> {
    require(pickup.is_none_or(|pickup| pickup.starts_at < pickup.ends_at))
}

pub(super) fn check_curve(curve: &[PriceStep]) -> Decided<()> {
    require(curve.is_sorted_by(|one, next| one.at < next.at))?;
    curve.iter().try_for_each(|step| check_price(step.price))
}

pub(super) fn check_choice(choice: &UnitChoice) -> Decided<()> {
    require(!choice.seats.is_empty() || !choice.tickets.is_empty() || choice.quantity.is_some())?;
    for group in &choice.seats {
        check_text(&group.section, 38)?;
        check_some(&group.seats)?;
    }
    let numbers: BTreeSet<_> = choice.tickets.iter().collect();
    require(numbers.len() == choice.tickets.len())?;
    choice.tickets.iter().try_for_each(|ticket| check_identifier(ticket, 100))?;
    choice.quantity.map_or(Ok(()), |quantity| check_number(quantity, 1_000))
}

pub(super) fn check_book(book: &Book) -> Decided<()> {
    check_identifier(&book.customer, 200)?;
    require(book.contact.as_ref().is_none_or(|contact| contact.len() <= 4_096))?;
    book.reference.as_ref().map_or(Ok(()), |reference| check_text(reference, 64))?;
    require(book.metadata.as_ref().is_none_or(|metadata| metadata.len() <= 4_096))?;
    if let Some(seconds) = book.hold_ttl_seconds {
        check_number(seconds, 86_400)?;
    }
    match &book.want {
        Want::Event { seats, areas } => {
            match seats {
                SeatWish::None => require(!areas.is_empty())?,
                SeatWish::Named(groups) => {
                    require(!groups.is_empty() && groups.iter().all(|group| !group.seats.is_empty()))?;
                }
                SeatWish::Best(best) => require(best.quantity > 0)?,
            }
            let names: BTreeSet<_> = areas.iter().map(|area| &area.name).collect();
            require(names.len() == areas.len() && areas.iter().all(|area| area.quantity > 0))
        }
        Want::Slot { places: Places::Quantity(quantity), .. } | Want::Box { quantity, .. } => {
            require(*quantity > 0)
        }
        Want::Slot { places: Places::Tickets(tickets), .. } => {
            let numbers: BTreeSet<_> = tickets.iter().collect();
            require(!tickets.is_empty() && numbers.len() == tickets.len())?;
            tickets.iter().try_for_each(|ticket| check_identifier(ticket, 100))
        }
    }
}
