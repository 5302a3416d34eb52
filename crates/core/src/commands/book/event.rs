//! Seats and standing places of an event.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{check_customer, check_units};
use crate::booking::{AreaClaim, SeatClaim, Units};
use crate::event::{Event, SeatName};
use crate::ids::check_text;
use crate::inventory::Inventory;
use crate::limits::{
    ADDRESS_CHARACTERS_MAX, AREAS_PER_EVENT_MAX, NAME_CHARACTERS_MAX, UNITS_PER_BOOKING_MAX,
};
use crate::refusal::{Refusal, SeatAlternative, SeatConflict};
use crate::rules::Orphans;
use crate::seats::search::{self, NothingFound, Wish};
use crate::seats::{Seat, SeatState};
use crate::time::Timestamp;

/// Which seats are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeatWish {
    /// None: standing places only.
    None,
    /// These, by name.
    Named(Vec<SectionSeats>),
    /// The best that are left.
    Best(BestAvailable),
}

/// Seats of one subsection, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionSeats {
    /// The address of a subsection, such as `A-1`.
    pub section: String,
    /// Which.
    pub seats: Vec<SeatName>,
}

/// The best seats that are left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestAvailable {
    /// How many.
    pub quantity: u32,
    /// All of `A`, or exactly `A-1`; anywhere if nothing is said.
    pub section: Option<String>,
    /// Whether they must sit side by side.
    pub adjacent_required: bool,
}

/// Places in one standing area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AreaWish {
    /// Which.
    pub name: Arc<str>,
    /// How many.
    pub quantity: u32,
}

pub(super) fn check_form(seats: &SeatWish, areas: &[AreaWish]) -> Result<(), Refusal> {
    match seats {
        SeatWish::None if areas.is_empty() => {
            return Err(Refusal::invalid("", "one of seats, best_available and areas is needed"));
        }
        SeatWish::None => {}
        SeatWish::Named(sections) => {
            if sections.is_empty() {
                return Err(Refusal::invalid("/seats", "must not be empty"));
            }
            sections.iter().try_for_each(check_seats_form)?;
        }
        SeatWish::Best(best) => check_best_form(best)?,
    }
    if areas.len() > AREAS_PER_EVENT_MAX {
        return Err(Refusal::invalid("/areas", format!("must be at most {AREAS_PER_EVENT_MAX}")));
    }
    let mut names = HashSet::new();
    for (index, area) in areas.iter().enumerate() {
        check_text(&area.name, NAME_CHARACTERS_MAX, format_args!("/areas/{index}/name"))?;
        if area.quantity == 0 {
            return Err(Refusal::invalid(format_args!("/areas/{index}/quantity"), "must be at least 1"));
        }
        if !names.insert(&area.name) {
            return Err(Refusal::invalid(format_args!("/areas/{index}/name"), "stands in the list twice"));
        }
    }
    Ok(())
}

pub(super) fn find(
    inventory: &Inventory,
    now: Timestamp,
    customer: &str,
    wish: &SeatWish,
    areas: &[AreaWish],
) -> Result<Units, Refusal> {
    let event = inventory.event()?;
    let rules = &event.terms.rules;
    let seat_count = match wish {
        SeatWish::None => 0,
        SeatWish::Named(sections) => sections.iter().map(|section| section.seats.len() as u64).sum(),
        SeatWish::Best(best) => u64::from(best.quantity),
    };
    let area_count: u64 = areas.iter().map(|area| u64::from(area.quantity)).sum();
    check_units(rules, seat_count + area_count)?;
    let named = match wish {
        SeatWish::Named(sections) => named_seats(event, sections)?,
        SeatWish::Best(BestAvailable { section: Some(section), .. }) if event.find(section).is_none() => {
            return Err(Refusal::SectionNotFound { section: section.clone() });
        }
        SeatWish::None | SeatWish::Best(_) => Vec::new(),
    };
    let claims =
        areas.iter().map(|area| area_claim(event, area)).collect::<Result<Box<[AreaClaim]>, Refusal>>()?;
    event.terms.check_open()?;
    event.terms.check_sales(now)?;
    let units = u32::try_from(seat_count + area_count).expect("units per booking are bounded");
    check_customer(inventory, rules, customer, units)?;
    let seats = match wish {
        SeatWish::None => Vec::new(),
        SeatWish::Named(_) => {
            check_available(event, &named)?;
            check_orphans(event, &named)?;
            named
        }
        SeatWish::Best(best) => best_seats(event, best)?,
    };
    for claim in &claims {
        check_area(event, claim)?;
    }
    Ok(Units::Event { seats: event.priced(&seats), areas: claims })
}

/// See [`super::check_again`].
pub(super) fn check_again(
    inventory: &Inventory,
    customer: &str,
    seats: &[SeatClaim],
    areas: &[AreaClaim],
) -> Result<(), Refusal> {
    let event = inventory.event()?;
    event.terms.check_open()?;
    let standing: u32 = areas.iter().map(|area| area.quantity).sum();
    let units = u32::try_from(seats.len()).expect("units per booking are bounded") + standing;
    check_customer(inventory, &event.terms.rules, customer, units)?;
    let seats: Vec<Seat> = seats.iter().map(|claim| claim.seat).collect();
    check_available(event, &seats)?;
    areas.iter().try_for_each(|claim| check_area(event, claim))
}

/// Refuses a list without seats, or of a section that could not exist.
pub(crate) fn check_seats_form(seats: &SectionSeats) -> Result<(), Refusal> {
    check_text(&seats.section, ADDRESS_CHARACTERS_MAX, "/seats")?;
    if seats.seats.is_empty() { Err(Refusal::invalid("/seats", "must not be empty")) } else { Ok(()) }
}

/// Refuses no seats at all, or those of a section that could not exist.
pub(crate) fn check_best_form(best: &BestAvailable) -> Result<(), Refusal> {
    if let Some(section) = &best.section {
        check_text(section, ADDRESS_CHARACTERS_MAX, "/best_available/section")?;
    }
    if best.quantity == 0 {
        return Err(Refusal::invalid("/best_available/quantity", "must be at least 1"));
    }
    Ok(())
}

/// The seats of names, in order. Refuses sections and seats that do not exist, and seats named twice.
pub(crate) fn named_seats(event: &Event, sections: &[SectionSeats]) -> Result<Vec<Seat>, Refusal> {
    let mut seats = Vec::with_capacity(sections.iter().map(|section| section.seats.len()).sum());
    for section in sections {
        let subsection = event.find_subsection(&section.section)?;
        for name in &section.seats {
            let seat = Seat { subsection, row: name.row, number: name.number };
            if !event.seats.contains(seat) {
                let section = section.section.clone();
                return Err(Refusal::SeatNotFound { section, row: name.row, seat: name.number });
            }
            seats.push(seat);
        }
    }
    seats.sort_unstable();
    match seats.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Refusal::DuplicateSeat { seat: pair[0] }),
        None => Ok(seats),
    }
}

/// Refuses seats that are not free, and offers others.
pub(crate) fn check_available(event: &Event, seats: &[Seat]) -> Result<(), Refusal> {
    let conflict = |&seat: &Seat| match event.seats.state(seat) {
        SeatState::Available => None,
        reason @ (SeatState::Held | SeatState::Sold | SeatState::Blocked) => {
            Some(SeatConflict { seat, reason })
        }
    };
    let conflicts: Vec<SeatConflict> = seats.iter().filter_map(conflict).collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    Err(Refusal::SeatUnavailable { conflicts, alternatives: alternatives(event, seats) })
}

/// Refuses a pick that leaves a single seat where the rules forbid it.
pub(crate) fn check_orphans(event: &Event, seats: &[Seat]) -> Result<(), Refusal> {
    let orphans = forbidden_orphans(event, seats);
    if orphans.is_empty() {
        return Ok(());
    }
    Err(Refusal::OrphanSeat { orphans, alternatives: alternatives(event, seats) })
}

/// The single seats that a pick would leave against the rules: not those that no seats of that number side by side in
/// the subsection would avoid.
fn forbidden_orphans(event: &Event, seats: &[Seat]) -> Vec<Seat> {
    match event.terms.rules.orphans {
        Orphans::Allow | Orphans::Avoid => return Vec::new(),
        Orphans::Forbid => {}
    }
    let mut forbidden = Vec::new();
    for picked in seats.chunk_by(|one, other| one.subsection == other.subsection) {
        let orphans = search::orphans_left(&event.seats, picked);
        let quantity = u32::try_from(picked.len()).expect("units per booking are bounded");
        if !orphans.is_empty() && search::can_avoid_orphans(&event.seats, picked[0].subsection, quantity) {
            forbidden.extend(orphans);
        }
    }
    forbidden
}

fn alternatives(event: &Event, seats: &[Seat]) -> Vec<SeatAlternative> {
    // Blocking may name more seats than anybody could be offered together.
    let Some(quantity) = u32::try_from(seats.len()).ok().filter(|&count| count <= UNITS_PER_BOOKING_MAX)
    else {
        return Vec::new();
    };
    let rules = &event.terms.rules;
    let wish = Wish {
        quantity,
        subsections: 0..u16::try_from(event.subsections.len()).expect("subsections are bounded"),
        apart_allowed: true,
        orphans: match rules.orphans {
            Orphans::Forbid => Orphans::Forbid,
            Orphans::Allow | Orphans::Avoid => Orphans::Allow,
        },
        prefer: rules.prefer,
    };
    let found = search::alternatives(&event.seats, seats[0], &wish).into_iter();
    found
        .filter(|pick| forbidden_orphans(event, &pick.seats).is_empty())
        .map(|pick| SeatAlternative {
            total_price: pick.seats.iter().map(|&seat| event.seat_price(seat)).sum(),
            adjacent: pick.adjacent,
            seats: pick.seats,
        })
        .collect()
}

/// The best seats that are left, in order.
pub(crate) fn best_seats(event: &Event, best: &BestAvailable) -> Result<Vec<Seat>, Refusal> {
    let subsections = match &best.section {
        Some(section) => {
            event.find(section).ok_or_else(|| Refusal::SectionNotFound { section: section.clone() })?
        }
        None => 0..u16::try_from(event.subsections.len()).expect("subsections are bounded"),
    };
    let wish = Wish {
        quantity: best.quantity,
        subsections,
        apart_allowed: !best.adjacent_required,
        orphans: event.terms.rules.orphans,
        prefer: event.terms.rules.prefer,
    };
    match search::best_available(&event.seats, &wish) {
        Ok(pick) => Ok(pick.seats),
        Err(NothingFound::NotEnough { available }) => Err(Refusal::NotEnoughSeats { available }),
        Err(NothingFound::NotAdjacent) => Err(Refusal::NotAdjacent),
    }
}

fn area_claim(event: &Event, wish: &AreaWish) -> Result<AreaClaim, Refusal> {
    let found = event.areas.iter().position(|area| *area.name == *wish.name);
    let index = found.ok_or_else(|| Refusal::AreaNotFound { area: wish.name.to_string() })?;
    let area = u16::try_from(index).expect("areas are bounded");
    Ok(AreaClaim { area, quantity: wish.quantity, price: event.areas[index].price })
}

/// Refuses more places than an area has left.
pub(crate) fn check_area(event: &Event, claim: &AreaClaim) -> Result<(), Refusal> {
    let area = &event.areas[usize::from(claim.area)];
    let available = area.pool.available();
    if claim.quantity > available {
        return Err(Refusal::AreaFull { area: area.name.clone(), available });
    }
    Ok(())
}
