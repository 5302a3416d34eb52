//! A hall as a list of seats with their owners, searched by looking at all of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use boxoffice_core::booking::SeatClaim;
use boxoffice_core::commands::{BestAvailable, CreateEvent, SectionSeats};
use boxoffice_core::event::{Area, SeatName, Section, Sellout};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::ids::BookingId;
use boxoffice_core::money::Money;
use boxoffice_core::outcome::{EventSummary, Grant, SubsectionSummary};
use boxoffice_core::pool::Pool;
use boxoffice_core::refusal::{Refusal, SeatConflict};
use boxoffice_core::rules::{Orphans, Prefer, Rules, Terms};
use boxoffice_core::seats::{Counts, Seat, SeatState};

use super::{Asked, Decided, Model, No, Stock, form, refuse};

/// Whose a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Nobody,
    House,
    Booking(BookingId),
}

#[derive(Clone)]
pub(crate) struct Hall {
    pub(crate) info: EventInfo,
    pub(crate) sections: Vec<PricedSection>,
    pub(crate) subsections: Vec<Rectangle>,
    pub(crate) seats: BTreeMap<Seat, Owner>,
    pub(crate) areas: Vec<Standing>,
    pub(crate) sellout: Sellout,
}

#[derive(Clone)]
pub(crate) struct PricedSection {
    pub(crate) name: String,
    pub(crate) price: Money,
}

#[derive(Clone)]
pub(crate) struct Rectangle {
    pub(crate) section: usize,
    pub(crate) address: String,
    pub(crate) rows: u16,
    pub(crate) cols: u16,
}

#[derive(Clone)]
pub(crate) struct Standing {
    pub(crate) name: String,
    pub(crate) price: Money,
    pub(crate) capacity: u32,
    /// One entry a place.
    pub(crate) owners: Vec<BookingId>,
}

impl Standing {
    pub(super) fn give(&mut self, id: BookingId, quantity: u32) {
        self.owners.extend((0..quantity).map(|_| id));
        assert!(self.owners.len() <= self.capacity as usize, "the model gave more places than there are");
    }

    pub(super) fn left(&self) -> u32 {
        self.capacity - u32::try_from(self.owners.len()).expect("small areas")
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).expect("small halls")
}

fn index(length: usize) -> u16 {
    u16::try_from(length).expect("small halls")
}

impl Hall {
    pub(super) fn new(create: &CreateEvent) -> Hall {
        let mut subsections = Vec::new();
        let mut seats = BTreeMap::new();
        for (section, plan) in create.sections.iter().enumerate() {
            for part in &plan.subsections {
                let subsection = index(subsections.len());
                for row in 1..=part.rows {
                    for number in 1..=part.cols {
                        let blocked =
                            part.blocked.iter().any(|seat| (seat.row, seat.number) == (row, number));
                        let owner = if blocked { Owner::House } else { Owner::Nobody };
                        seats.insert(Seat { subsection, row, number }, owner);
                    }
                }
                let address = format!("{}-{}", plan.name, part.number);
                subsections.push(Rectangle { section, address, rows: part.rows, cols: part.cols });
            }
        }
        let area = |plan: &boxoffice_core::event::AreaPlan| Standing {
            name: plan.name.clone(),
            price: plan.price,
            capacity: plan.capacity,
            owners: Vec::new(),
        };
        let section = |plan: &boxoffice_core::event::SectionPlan| PricedSection {
            name: plan.name.clone(),
            price: plan.price,
        };
        Hall {
            info: create.info.clone(),
            sections: create.sections.iter().map(section).collect(),
            subsections,
            seats,
            areas: create.areas.iter().map(area).collect(),
            sellout: Sellout::default(),
        }
    }

    pub(super) fn free(&mut self, id: BookingId) {
        for owner in self.seats.values_mut().filter(|owner| **owner == Owner::Booking(id)) {
            *owner = Owner::Nobody;
        }
        for area in &mut self.areas {
            area.owners.retain(|owner| *owner != id);
        }
    }

    pub(crate) fn is_free(&self, seat: Seat) -> bool {
        self.seats.get(&seat) == Some(&Owner::Nobody)
    }

    /// Which seats of a row are free, from the left.
    fn row(&self, subsection: u16, row: u16) -> Vec<bool> {
        let cols = self.subsections[usize::from(subsection)].cols;
        let seats = Seat { subsection, row, number: 1 }..=Seat { subsection, row, number: cols };
        self.seats.range(seats).map(|(_, owner)| *owner == Owner::Nobody).collect()
    }

    fn rows(&self, subsection: u16) -> impl Iterator<Item = (u16, Vec<bool>)> + '_ {
        (1..=self.subsections[usize::from(subsection)].rows).map(move |row| (row, self.row(subsection, row)))
    }

    fn free_in(&self, subsections: &[u16]) -> u32 {
        let free =
            |subsection: &u16| self.rows(*subsection).flat_map(|(_, row)| row).filter(|free| *free).count();
        count(subsections.iter().map(free).sum())
    }

    pub(crate) fn price(&self, seat: Seat) -> Money {
        self.sections[self.subsections[usize::from(seat.subsection)].section].price
    }

    pub(super) fn priced(&self, seats: &[Seat]) -> Box<[SeatClaim]> {
        seats.iter().map(|&seat| SeatClaim { seat, price: self.price(seat) }).collect()
    }

    /// The subsections of `A` or `A-1`, or all.
    pub(crate) fn allowed(&self, section: Option<&str>) -> Decided<Vec<u16>> {
        let Some(asked) = section else { return Ok((0..index(self.subsections.len())).collect()) };
        let matches = |part: &Rectangle| part.address == asked || self.sections[part.section].name == asked;
        let found: Vec<u16> =
            (0..).zip(&self.subsections).filter(|(_, part)| matches(part)).map(|(at, _)| at).collect();
        if found.is_empty() {
            refuse(Refusal::SectionNotFound { section: asked.to_owned() })
        } else {
            Ok(found)
        }
    }

    /// The seats of names, in order.
    pub(super) fn named(&self, groups: &[SectionSeats]) -> Decided<Vec<Seat>> {
        let mut seats = BTreeSet::new();
        let mut twice = BTreeSet::new();
        for group in groups {
            let Some(subsection) = self.subsections.iter().position(|part| part.address == group.section)
            else {
                return refuse(Refusal::SectionNotFound { section: group.section.clone() });
            };
            for name in &group.seats {
                let seat = Seat { subsection: index(subsection), row: name.row, number: name.number };
                if !self.seats.contains_key(&seat) {
                    let section = group.section.clone();
                    return refuse(Refusal::SeatNotFound { section, row: name.row, seat: name.number });
                }
                if !seats.insert(seat) {
                    twice.insert(seat);
                }
            }
        }
        match twice.first() {
            Some(&seat) => refuse(Refusal::DuplicateSeat { seat }),
            None => Ok(seats.into_iter().collect()),
        }
    }

    pub(crate) fn best(&self, best: &BestAvailable, rules: &Rules) -> Decided<Vec<Seat>> {
        let allowed = self.allowed(best.section.as_deref())?;
        let quantity = best.quantity as usize;
        // The first subsection where they sit together.
        for &subsection in &allowed {
            let together =
                |orphans_allowed| self.together(subsection, quantity, orphans_allowed, rules.prefer);
            let found = match rules.orphans {
                Orphans::Allow => together(true),
                Orphans::Avoid | Orphans::Forbid => together(false).or_else(|| together(true)),
            };
            if let Some(seats) = found {
                return Ok(seats);
            }
        }
        let available = self.free_in(&allowed);
        if available < best.quantity {
            return refuse(Refusal::NotEnoughSeats { available });
        }
        if best.adjacent_required {
            return refuse(Refusal::NotAdjacent);
        }
        // Apart: in the first subsection that has enough, else anywhere.
        let enough = allowed.iter().find(|subsection| self.free_in(&[**subsection]) >= best.quantity);
        Ok(self.largest_runs(enough.map_or(&allowed[..], std::slice::from_ref), quantity))
    }

    /// The seats of the first row of a subsection that has so many side by side.
    fn together(
        &self,
        subsection: u16,
        quantity: usize,
        orphans_allowed: bool,
        prefer: Prefer,
    ) -> Option<Vec<Seat>> {
        for (row, free) in self.rows(subsection) {
            let starts = starts(&free, quantity)
                .filter(|&start| orphans_allowed || !leaves_single(&free, start, quantity));
            let start = match prefer {
                Prefer::Front => starts.min(),
                // Twice the distance between the middle of the run and the middle of the row.
                Prefer::Center => {
                    starts.min_by_key(|&start| ((2 * start + quantity).abs_diff(free.len()), start))
                }
            };
            if let Some(start) = start {
                let seat = |offset| Seat { subsection, row, number: index(start + offset + 1) };
                return Some((0..quantity).map(seat).collect());
            }
        }
        None
    }

    fn largest_runs(&self, subsections: &[u16], quantity: usize) -> Vec<Seat> {
        let mut runs: Vec<Vec<Seat>> = Vec::new();
        for &subsection in subsections {
            for (row, free) in self.rows(subsection) {
                let mut run = Vec::new();
                for (number, free) in (1..).zip(free) {
                    if free {
                        run.push(Seat { subsection, row, number });
                    } else {
                        runs.push(std::mem::take(&mut run));
                    }
                }
                runs.push(run);
            }
        }
        runs.sort_by_key(|run| (Reverse(run.len()), run.first().copied()));
        let mut seats: Vec<Seat> = runs.concat();
        seats.truncate(quantity);
        seats.sort();
        seats
    }

    /// Whether so many can sit side by side in a subsection, and whether they can without leaving a single seat.
    pub(crate) fn can_seat(&self, subsection: u16, quantity: usize) -> (bool, bool) {
        let found =
            |orphans_allowed| self.together(subsection, quantity, orphans_allowed, Prefer::Front).is_some();
        (found(true), found(false))
    }

    /// The free seats that would be single, beside one of `picked`, if those were taken.
    pub(crate) fn orphans_of(&self, picked: &[Seat]) -> Vec<Seat> {
        let open = |seat: &Seat| self.is_free(*seat) && !picked.contains(seat);
        let neighbours = |seat: &Seat| {
            let left = Seat { number: seat.number.saturating_sub(1), ..*seat };
            let right = Seat { number: seat.number + 1, ..*seat };
            [left, right]
        };
        let beside: BTreeSet<Seat> =
            picked.iter().flat_map(neighbours).filter(|seat| seat.number > 0).collect();
        beside.into_iter().filter(|seat| open(seat) && !neighbours(seat).iter().any(open)).collect()
    }

    pub(super) fn check_orphans(&self, seats: &[Seat], rules: &Rules) -> Decided<()> {
        if rules.orphans != Orphans::Forbid {
            return Ok(());
        }
        let mut orphans = Vec::new();
        for subsection in 0..index(self.subsections.len()) {
            let group: Vec<Seat> =
                seats.iter().copied().filter(|seat| seat.subsection == subsection).collect();
            if self.can_seat(subsection, group.len()).1 {
                orphans.extend(self.orphans_of(&group));
            }
        }
        if orphans.is_empty() {
            return Ok(());
        }
        Err(self.no(Refusal::OrphanSeat { orphans, alternatives: Vec::new() }, seats))
    }

    /// A refusal of seats, with what its alternatives are judged by.
    pub(super) fn no(&self, refusal: Refusal, seats: &[Seat]) -> No {
        No { refusal, asked: Some(Box::new(Asked { seats: seats.to_vec(), hall: self.clone() })) }
    }

    pub(super) fn check_area(&self, area: u16, quantity: u32) -> Decided<()> {
        let area = &self.areas[usize::from(area)];
        let available = area.left();
        if quantity > available {
            return refuse(Refusal::AreaFull { area: area.name.clone(), available });
        }
        Ok(())
    }

    pub(crate) fn counts(&self, subsections: &[u16], state_of: impl Fn(&Owner) -> SeatState) -> Counts {
        let mut counts = Counts::default();
        for (_, owner) in self.seats.iter().filter(|(seat, _)| subsections.contains(&seat.subsection)) {
            *match state_of(owner) {
                SeatState::Available => &mut counts.available,
                SeatState::Held => &mut counts.held,
                SeatState::Sold => &mut counts.sold,
                SeatState::Blocked => &mut counts.blocked,
            } += 1;
        }
        counts
    }

    pub(crate) fn pool(&self, area: &Standing, state_of: impl Fn(&Owner) -> SeatState) -> Pool {
        let claimed =
            |state| count(area.owners.iter().filter(|id| state_of(&Owner::Booking(**id)) == state).count());
        Pool { capacity: area.capacity, held: claimed(SeatState::Held), sold: claimed(SeatState::Sold) }
    }

    pub(crate) fn totals(&self, state_of: impl Fn(&Owner) -> SeatState) -> Counts {
        let all: Vec<u16> = (0..index(self.subsections.len())).collect();
        let mut totals = self.counts(&all, &state_of);
        for area in &self.areas {
            let pool = self.pool(area, &state_of);
            totals.available += area.left();
            totals.held += pool.held;
            totals.sold += pool.sold;
        }
        totals
    }

    pub(super) fn summary(&self, terms: Terms, state_of: impl Fn(&Owner) -> SeatState) -> EventSummary {
        let section = |(number, section): (usize, &PricedSection)| {
            let own = self
                .allowed(Some(&section.name))
                .unwrap_or_else(|_| panic!("section {number} has subsections"));
            let range = own[0]..own[own.len() - 1] + 1;
            let record = Section { name: section.name.clone(), price: section.price, subsections: range };
            (record, self.counts(&own, &state_of))
        };
        let subsection = |(at, part): (u16, &Rectangle)| SubsectionSummary {
            address: part.address.clone(),
            rows: part.rows,
            cols: part.cols,
            counts: self.counts(&[at], &state_of),
            blocked: self
                .seats
                .iter()
                .filter(|(seat, owner)| seat.subsection == at && matches!(owner, Owner::House))
                .map(|(seat, _)| SeatName { row: seat.row, number: seat.number })
                .collect(),
        };
        let area = |area: &Standing| Area {
            name: area.name.clone(),
            price: area.price,
            pool: self.pool(area, &state_of),
        };
        EventSummary {
            terms,
            info: self.info.clone(),
            sections: self.sections.iter().enumerate().map(section).collect(),
            subsections: (0..).zip(&self.subsections).map(subsection).collect(),
            areas: self.areas.iter().map(area).collect(),
            totals: self.totals(&state_of),
            sellout: self.sellout,
        }
    }
}

/// Where so many free seats start, counted from zero.
fn starts(free: &[bool], quantity: usize) -> impl Iterator<Item = usize> + '_ {
    let last = (free.len() + 1).saturating_sub(quantity);
    (0..last).filter(move |&start| free[start..start + quantity].iter().all(|free| *free))
}

/// Whether a run would have a free seat beside it that is alone.
fn leaves_single(free: &[bool], start: usize, quantity: usize) -> bool {
    let is_free = |at: Option<usize>| at.and_then(|at| free.get(at)).copied().unwrap_or(false);
    let (left, right) = (start.checked_sub(1), Some(start + quantity));
    let left_is_single = is_free(left) && !is_free(start.checked_sub(2));
    let right_is_single = is_free(right) && !is_free(Some(start + quantity + 1));
    left_is_single || right_is_single
}

impl Model {
    /// Refuses seats that are somebody's in a hall as the command sees it.
    pub(super) fn check_seats(&self, hall: &Hall, seats: &[Seat]) -> Decided<()> {
        let taken = seats.iter().filter(|seat| !hall.is_free(**seat));
        let conflicts: Vec<SeatConflict> =
            taken.map(|&seat| SeatConflict { seat, reason: self.state_of(&hall.seats[&seat]) }).collect();
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(hall.no(Refusal::SeatUnavailable { conflicts, alternatives: Vec::new() }, seats))
    }

    pub(super) fn block(&mut self, group: &SectionSeats) -> Decided<Grant> {
        form::check_some(&group.seats)?;
        let hall = self.hall()?;
        let seats = hall.named(std::slice::from_ref(group))?;
        self.check_seats(hall, &seats)?;
        self.set_owner(&seats, Owner::House);
        Ok(self.summary())
    }

    pub(super) fn unblock(&mut self, group: &SectionSeats) -> Decided<Grant> {
        form::check_some(&group.seats)?;
        let hall = self.hall()?;
        let mut seats = hall.named(std::slice::from_ref(group))?;
        seats.retain(|seat| hall.seats[seat] == Owner::House);
        self.set_owner(&seats, Owner::Nobody);
        Ok(self.summary())
    }

    fn set_owner(&mut self, seats: &[Seat], owner: Owner) {
        let Stock::Event(hall) = &mut self.stock else { panic!("seats are in events") };
        for seat in seats {
            hall.seats.insert(*seat, owner);
        }
    }
}
