//! A show: seated sections and standing areas.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::booking::{AreaClaim, SeatClaim};
use crate::event_info::EventInfo;
use crate::map::HashMap;
use crate::money::Money;
use crate::outcome::{EventSummary, SubsectionSummary};
use crate::pool::{Claim, Pool};
use crate::refusal::Refusal;
use crate::rules::Terms;
use crate::seats::{Counts, Seat, SeatMap, SeatState};
use crate::time::Timestamp;

/// What an event is made from: the journal's form of its creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventPlan {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// When and where it takes place.
    pub info: EventInfo,
    /// In the order best available tries them.
    pub sections: Vec<SectionPlan>,
    /// Standing areas.
    pub areas: Vec<AreaPlan>,
}

/// A section with one price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionPlan {
    /// Without a dash; case matters.
    pub name: String,
    /// Of one seat.
    pub price: Money,
    /// Its rectangles of seats.
    pub subsections: Vec<SubsectionPlan>,
}

/// A rectangle of seats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubsectionPlan {
    /// Subsection 1 of section A is addressed as `A-1`.
    pub number: u16,
    /// Rows, from the front.
    pub rows: u16,
    /// Seats in each row.
    pub cols: u16,
    /// House seats.
    pub blocked: Vec<SeatName>,
}

/// A standing area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AreaPlan {
    /// Unique among the areas.
    pub name: String,
    /// Of one place.
    pub price: Money,
    /// How many may stand there.
    pub capacity: u32,
}

/// A seat inside its subsection: `4-12` is seat 12 of row 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SeatName {
    /// Counted from one.
    pub row: u16,
    /// Counted from one.
    pub number: u16,
}

impl std::fmt::Display for SeatName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.row, self.number)
    }
}

impl std::str::FromStr for SeatName {
    type Err = ();

    /// Reads exactly the form that [`SeatName`] prints. A number that does not fit stands for the largest one: no hall has
    /// that seat either.
    fn from_str(text: &str) -> Result<SeatName, ()> {
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let as_printed = part == "0" || !part.starts_with('0');
            if digits && as_printed { Ok(part.parse().unwrap_or(u16::MAX)) } else { Err(()) }
        };
        let (row, seat) = text.split_once('-').ok_or(())?;
        Ok(SeatName { row: number(row)?, number: number(seat)? })
    }
}

/// A show and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// When and where it takes place.
    pub info: EventInfo,
    /// In the order they were declared.
    pub sections: Vec<Section>,
    /// Of all sections, in the order they were declared.
    pub subsections: Vec<Subsection>,
    /// In the order they were declared.
    pub areas: Vec<Area>,
    /// Which seats are free.
    pub seats: SeatMap,
    /// Of all seats and areas.
    pub totals: Counts,
    /// How fast it went.
    pub sellout: Sellout,
    addresses: HashMap<String, Range<u16>>,
}

/// A section with one price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Case matters.
    pub name: String,
    /// Of one seat.
    pub price: Money,
    /// Which of the event's subsections are its own.
    pub subsections: Range<u16>,
}

/// A rectangle of seats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subsection {
    /// Index of its section.
    pub section: u16,
    /// Such as `A-1`.
    pub address: String,
}

/// A standing area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Unique among the areas.
    pub name: String,
    /// Of one place.
    pub price: Money,
    /// How many are left.
    pub pool: Pool,
}

/// The first sale and the first time that nothing was left to sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sellout {
    /// When the first unit was sold.
    pub first_sale_at: Option<Timestamp>,
    /// When, for the first time, every unit that is not blocked was sold.
    pub sold_out_at: Option<Timestamp>,
}

impl Event {
    /// The event of a plan that was checked.
    pub(crate) fn new(plan: &EventPlan) -> Event {
        let mut sections = Vec::with_capacity(plan.sections.len());
        let mut subsections = Vec::new();
        let mut addresses = HashMap::default();
        let mut sizes = Vec::new();
        let mut blocked = Vec::new();
        let index = |length: usize| u16::try_from(length).expect("subsections are bounded");
        for section in &plan.sections {
            let first = index(subsections.len());
            for subsection in &section.subsections {
                let own = index(subsections.len());
                let address = format!("{}-{}", section.name, subsection.number);
                addresses.insert(address.clone(), own..own + 1);
                subsections.push(Subsection { section: index(sections.len()), address });
                sizes.push((subsection.rows, subsection.cols));
                let seat = |name: &SeatName| Seat { subsection: own, row: name.row, number: name.number };
                blocked.extend(subsection.blocked.iter().map(seat));
            }
            let own = first..index(subsections.len());
            addresses.insert(section.name.clone(), own.clone());
            sections.push(Section { name: section.name.clone(), price: section.price, subsections: own });
        }
        let area = |area: &AreaPlan| Area {
            name: area.name.clone(),
            price: area.price,
            pool: Pool::of(area.capacity),
        };
        let mut event = Event {
            terms: plan.terms.clone(),
            info: plan.info.clone(),
            sections,
            seats: SeatMap::new(&sizes),
            subsections,
            areas: plan.areas.iter().map(area).collect(),
            totals: Counts::default(),
            sellout: Sellout::default(),
            addresses,
        };
        let seats = sizes.iter().map(|&(rows, cols)| u32::from(rows) * u32::from(cols)).sum::<u32>();
        event.totals.available = seats + plan.areas.iter().map(|area| area.capacity).sum::<u32>();
        event.transfer(&blocked, SeatState::Available, SeatState::Blocked);
        event
    }

    /// The event in numbers.
    pub(crate) fn summary(&self) -> EventSummary {
        let subsections = (0u16..).zip(&self.subsections).map(|(index, subsection)| {
            let (rows, cols) = self.seats.size(index);
            SubsectionSummary {
                address: subsection.address.clone(),
                rows,
                cols,
                counts: self.seats.counts(index),
                blocked: self.blocked_names(index),
            }
        });
        let section = |section: &Section| (section.clone(), self.section_counts(section));
        EventSummary {
            terms: self.terms.clone(),
            info: self.info.clone(),
            sections: self.sections.iter().map(section).collect(),
            subsections: subsections.collect(),
            areas: self.areas.clone(),
            totals: self.totals,
            sellout: self.sellout,
        }
    }

    fn blocked_names(&self, subsection: u16) -> Vec<SeatName> {
        let name = |seat: Seat| SeatName { row: seat.row, number: seat.number };
        self.seats.blocked(subsection).map(name).collect()
    }

    /// The plan by which the event, as it is now, would be made again; without what is booked.
    pub(crate) fn plan(&self) -> EventPlan {
        let subsection = |index: u16| {
            let address = &self.subsections[usize::from(index)].address;
            let (rows, cols) = self.seats.size(index);
            SubsectionPlan {
                number: address
                    .rsplit('-')
                    .next()
                    .and_then(|number| number.parse().ok())
                    .expect("an address"),
                rows,
                cols,
                blocked: self.blocked_names(index),
            }
        };
        let section = |section: &Section| SectionPlan {
            name: section.name.clone(),
            price: section.price,
            subsections: section.subsections.clone().map(subsection).collect(),
        };
        let area = |area: &Area| AreaPlan {
            name: area.name.clone(),
            price: area.price,
            capacity: area.pool.capacity,
        };
        EventPlan {
            terms: self.terms.clone(),
            info: self.info.clone(),
            sections: self.sections.iter().map(section).collect(),
            areas: self.areas.iter().map(area).collect(),
        }
    }

    /// The subsections of `A`, or the one of `A-1`.
    pub fn find(&self, section: &str) -> Option<Range<u16>> {
        self.addresses.get(section).cloned()
    }

    /// The one subsection of an address such as `A-1`.
    pub(crate) fn find_subsection(&self, section: &str) -> Result<u16, Refusal> {
        let not_found = || Refusal::SectionNotFound { section: section.to_owned() };
        let found = self.find(section).filter(|_| section.contains('-')).ok_or_else(not_found)?;
        Ok(found.start)
    }

    /// The number of the section of a name.
    pub(crate) fn find_section(&self, name: &str) -> Result<u16, Refusal> {
        let not_found = || Refusal::SectionNotFound { section: name.to_owned() };
        let subsections = self.find(name).filter(|_| !name.contains('-')).ok_or_else(not_found)?;
        Ok(self.subsections[usize::from(subsections.start)].section)
    }

    /// The counts of a section.
    pub fn section_counts(&self, section: &Section) -> Counts {
        section
            .subsections
            .clone()
            .map(|index| self.seats.counts(index))
            .fold(Counts::default(), Counts::plus)
    }

    /// Of one seat, now.
    pub(crate) fn seat_price(&self, seat: Seat) -> Money {
        let subsection = &self.subsections[usize::from(seat.subsection)];
        self.sections[usize::from(subsection.section)].price
    }

    /// Seats with their prices now.
    pub(crate) fn priced(&self, seats: &[Seat]) -> Box<[SeatClaim]> {
        seats.iter().map(|&seat| SeatClaim { seat, price: self.seat_price(seat) }).collect()
    }

    /// Moves seats between states, totals included.
    pub(crate) fn transfer(&mut self, seats: &[Seat], from: SeatState, to: SeatState) {
        self.seats.transfer(seats.iter().copied(), from, to);
        let count = u32::try_from(seats.len()).expect("seats are bounded");
        self.shift_totals(count, from, to);
    }

    pub(crate) fn take(&mut self, seats: &[SeatClaim], areas: &[AreaClaim], claim: Claim) {
        self.shift(seats, SeatState::Available, claim.seat_state());
        for area in areas {
            self.areas[usize::from(area.area)].pool.take(area.quantity, claim);
            self.shift_totals(area.quantity, SeatState::Available, claim.seat_state());
        }
    }

    pub(crate) fn release(&mut self, seats: &[SeatClaim], areas: &[AreaClaim], claim: Claim) {
        self.shift(seats, claim.seat_state(), SeatState::Available);
        for area in areas {
            self.areas[usize::from(area.area)].pool.release(area.quantity, claim);
            self.shift_totals(area.quantity, claim.seat_state(), SeatState::Available);
        }
    }

    pub(crate) fn sell(&mut self, seats: &[SeatClaim], areas: &[AreaClaim]) {
        self.shift(seats, SeatState::Held, SeatState::Sold);
        for area in areas {
            let pool = &mut self.areas[usize::from(area.area)].pool;
            pool.release(area.quantity, Claim::Held);
            pool.take(area.quantity, Claim::Sold);
            self.shift_totals(area.quantity, SeatState::Held, SeatState::Sold);
        }
    }

    /// Notes the first sale and the sell-out, if this moment is either.
    pub(crate) fn note_sale(&mut self, now: Timestamp) {
        if self.totals.sold > 0 {
            self.sellout.first_sale_at.get_or_insert(now);
            if self.totals.available + self.totals.held == 0 {
                self.sellout.sold_out_at.get_or_insert(now);
            }
        }
    }

    fn shift(&mut self, seats: &[SeatClaim], from: SeatState, to: SeatState) {
        self.seats.transfer(seats.iter().map(|claim| claim.seat), from, to);
        let count = u32::try_from(seats.len()).expect("units per booking are bounded");
        self.shift_totals(count, from, to);
    }

    fn shift_totals(&mut self, moved: u32, from: SeatState, to: SeatState) {
        self.totals = self.totals.shifted(moved, from, to);
    }
}

impl Claim {
    fn seat_state(self) -> SeatState {
        match self {
            Claim::Held => SeatState::Held,
            Claim::Sold => SeatState::Sold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seat_names_are_read_as_they_are_printed() {
        for (text, row, number) in [("1-1", 1, 1), ("25-20", 25, 20), ("65535-1000", 65_535, 1_000)] {
            assert_eq!(text.parse(), Ok(SeatName { row, number }));
            assert_eq!(SeatName { row, number }.to_string(), text);
        }
        for wrong in ["", "1", "-", "1-", "-1", "01-1", "1-00", "1-1-1", "+1-1", "a-1", "1 -1"] {
            assert_eq!(wrong.parse::<SeatName>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn names_beyond_all_seats_are_names_of_seats_that_no_hall_has() {
        for (text, row, number) in [
            ("0-1", 0, 1),
            ("1-0", 1, 0),
            ("65536-1", u16::MAX, 1),
            ("1-99999999999999999999999", 1, u16::MAX),
        ] {
            assert_eq!(text.parse(), Ok(SeatName { row, number }));
        }
    }
}
