//! Bookings of which some units were redeemed, and others not, or not at the same time.
//!
//! The units of a booking stand in one order: its seats and then the places of its areas, or its tickets, or its places or
//! boxes. A unit is known by its place in that order.

use std::ops::Range;
use std::sync::Arc;

use crate::booking::{AreaClaim, Booking, Details, Status, Units};
use crate::ids::RedeemCode;
use crate::time::Timestamp;

impl Booking {
    /// When each of its units was redeemed.
    pub fn units_redeemed_at(&self) -> Vec<Option<Timestamp>> {
        match self.redemption() {
            Some(redemption) => redemption.to_vec(),
            None => vec![self.redeemed_at_once(); self.units.quantity() as usize],
        }
    }

    /// When one of its units was redeemed.
    pub fn unit_redeemed_at(&self, place: usize) -> Option<Timestamp> {
        match self.redemption() {
            Some(redemption) => redemption.get(place).copied().flatten(),
            None => self.redeemed_at_once(),
        }
    }

    /// How many of its units were redeemed.
    pub fn redeemed_quantity(&self) -> u32 {
        match self.redemption() {
            Some(redemption) => count(redemption.iter().filter(|unit| unit.is_some()).count()),
            None if self.redeemed_at_once().is_some() => self.units.quantity(),
            None => 0,
        }
    }

    /// Whether some of its units were redeemed, and others not.
    pub fn is_partly_redeemed(&self) -> bool {
        match self.status {
            Status::Confirmed { .. } => self.redemption().is_some(),
            Status::OnHold { .. }
            | Status::Redeemed { .. }
            | Status::Cancelled { .. }
            | Status::Expired { .. } => false,
        }
    }

    /// The booking after the rest of its units was redeemed.
    pub fn redeemed(&self, at: Timestamp) -> Booking {
        let confirmed_at = self.confirmed_at().unwrap_or(at);
        let status = Status::Redeemed { confirmed_at, redeemed_at: at };
        let units = self.redemption().map(|units| units.iter().map(|unit| unit.or(Some(at))).collect());
        Booking { status, details: self.details_with(units), version: self.version + 1, ..self.clone() }
    }

    /// The booking after a part of its units was redeemed.
    pub fn part_redeemed(&self, part: &Units, at: Timestamp) -> Booking {
        let mut units = self.units_redeemed_at();
        for place in self.units.places_of(part, |place| units[place].is_none(), Side::First) {
            units[place] = Some(at);
        }
        let details = self.details_with(Some(units.into()));
        Booking { details, version: self.version + 1, ..self.clone() }
    }

    /// The booking after the redemption of a part of its units, or of all of them, was undone.
    pub fn unredeemed(&self, part: Option<&Units>, redeem_code: RedeemCode) -> Booking {
        let mut units = self.units_redeemed_at();
        let places = match part {
            Some(part) => self.units.places_of(part, |place| units[place].is_some(), Side::Last),
            None => (0..units.len()).collect(),
        };
        for place in places {
            units[place] = None;
        }
        let units = units.iter().any(Option::is_some).then(|| units.into());
        let status =
            self.confirmed_at().map_or(self.status, |confirmed_at| Status::Confirmed { confirmed_at });
        let details = self.details_with(units);
        Booking { status, details, redeem_code, version: self.version + 1, ..self.clone() }
    }

    fn redemption(&self) -> Option<&[Option<Timestamp>]> {
        self.details.as_ref()?.redemption.as_deref()
    }

    /// When all of it was redeemed, if that was at one time.
    fn redeemed_at_once(&self) -> Option<Timestamp> {
        match self.status {
            Status::Redeemed { redeemed_at, .. } => Some(redeemed_at),
            Status::OnHold { .. }
            | Status::Confirmed { .. }
            | Status::Cancelled { .. }
            | Status::Expired { .. } => None,
        }
    }

    fn confirmed_at(&self) -> Option<Timestamp> {
        match self.status {
            Status::Confirmed { confirmed_at } | Status::Redeemed { confirmed_at, .. } => Some(confirmed_at),
            Status::Cancelled { confirmed_at, .. } => confirmed_at,
            Status::OnHold { .. } | Status::Expired { .. } => None,
        }
    }

    fn details_with(&self, redemption: Option<Box<[Option<Timestamp>]>>) -> Option<Arc<Details>> {
        match &self.details {
            // Nothing changes for nearly all bookings: they are redeemed at once.
            Some(details) if details.redemption == redemption => Some(Arc::clone(details)),
            Some(details) => Details { redemption, ..Details::clone(details) }.if_any(),
            None => Details { redemption, ..Details::default() }.if_any(),
        }
    }
}

/// Of units without names, which ones a quantity means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    First,
    Last,
}

impl Units {
    /// The units that have names, seats or tickets. They stand before the others.
    pub(crate) fn named(&self) -> Range<usize> {
        match self {
            Units::Event { seats, .. } => 0..seats.len(),
            Units::Slot { tickets, .. } => 0..tickets.len(),
            Units::Box { .. } => 0..0,
        }
    }

    /// The units that have none.
    pub(crate) fn unnamed(&self) -> Range<usize> {
        self.named().end..self.quantity() as usize
    }

    /// The units at some places, which are in order.
    pub(crate) fn part(&self, places: &[usize]) -> Units {
        match self {
            Units::Event { seats, areas } => {
                let areas = self.ranges(areas).filter_map(|(claim, range)| {
                    let quantity = count(places.iter().filter(|&&place| range.contains(&place)).count());
                    (quantity > 0).then_some(AreaClaim { quantity, ..*claim })
                });
                let areas = areas.collect();
                let seats = places.iter().filter_map(|&place| seats.get(place).copied()).collect();
                Units::Event { seats, areas }
            }
            Units::Slot { slot, end, quantity: _, price, tickets } => {
                let tickets = places.iter().filter_map(|&place| tickets.get(place).cloned()).collect();
                Units::Slot { slot: *slot, end: *end, quantity: count(places.len()), price: *price, tickets }
            }
            Units::Box { number, quantity: _, price } => {
                Units::Box { number: *number, quantity: count(places.len()), price: *price }
            }
        }
    }

    /// The places of a part of these units; those without names are the first or last that qualify.
    fn places_of(&self, part: &Units, qualifies: impl Fn(usize) -> bool, side: Side) -> Vec<usize> {
        let pick = |range: Range<usize>, quantity: u32| pick(range, quantity, &qualifies, side);
        match (self, part) {
            (Units::Event { seats, areas }, Units::Event { seats: some_seats, areas: some_areas }) => {
                let is_in_part =
                    |place: &usize| some_seats.iter().any(|claim| claim.seat == seats[*place].seat);
                let mut places: Vec<usize> = self.named().filter(is_in_part).collect();
                for (claim, range) in self.ranges(areas) {
                    let wanted = some_areas.iter().find(|some| some.area == claim.area);
                    places.extend(pick(range, wanted.map_or(0, |some| some.quantity)));
                }
                places
            }
            (Units::Slot { tickets, .. }, Units::Slot { tickets: some_tickets, quantity, .. }) => {
                if tickets.is_empty() {
                    return pick(self.unnamed(), *quantity);
                }
                self.named().filter(|&place| some_tickets.contains(&tickets[place])).collect()
            }
            (Units::Box { .. }, Units::Box { quantity, .. }) => pick(self.unnamed(), *quantity),
            (Units::Event { .. } | Units::Slot { .. } | Units::Box { .. }, _) => {
                panic!("a part of other units")
            }
        }
    }

    /// Each area and where its places stand.
    fn ranges<'a>(
        &self,
        areas: &'a [AreaClaim],
    ) -> impl Iterator<Item = (&'a AreaClaim, Range<usize>)> + use<'a> {
        let mut start = self.named().end;
        areas.iter().map(move |claim| {
            let range = start..start + claim.quantity as usize;
            start = range.end;
            (claim, range)
        })
    }
}

/// So many of a range that qualify, in order.
pub(crate) fn pick(
    range: Range<usize>,
    quantity: u32,
    qualifies: &impl Fn(usize) -> bool,
    side: Side,
) -> Vec<usize> {
    let quantity = quantity as usize;
    match side {
        Side::First => range.filter(|&place| qualifies(place)).take(quantity).collect(),
        Side::Last => {
            let mut places: Vec<usize> =
                range.rev().filter(|&place| qualifies(place)).take(quantity).collect();
            places.reverse();
            places
        }
    }
}

fn count(units: usize) -> u32 {
    u32::try_from(units).expect("units per booking are bounded")
}
