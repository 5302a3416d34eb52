//! The life of a booking, from hold to admission.

use std::collections::BTreeMap;
use std::sync::Arc;

use boxoffice_core::booking::{AreaClaim, Booking, Details, SeatClaim, Status, Units};
use boxoffice_core::commands::{
    AreaWish, BestAvailable, Book, Cancel, CancelEvent, Confirm, Destination, Extend, Move, Redeem, SeatWish,
    UnitChoice, Unredeem, Want,
};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::money::Money;
use boxoffice_core::outcome::{Grant, Moved};
use boxoffice_core::refusal::Refusal;
use boxoffice_core::rules::{InventoryStatus, LatePayment};
use boxoffice_core::seats::Seat;
use boxoffice_core::time::Timestamp;

use super::{Customer, Decided, Hall, Model, form, invalid, later, number_of, refuse, refuse_if};

fn is_active(booking: &Booking) -> bool {
    matches!(booking.status, Status::OnHold { .. } | Status::Confirmed { .. })
}

fn has_units(booking: &Booking) -> bool {
    is_active(booking) || matches!(booking.status, Status::Redeemed { .. })
}

fn has_redeemed_units(booking: &Booking) -> bool {
    unit_times(booking).iter().any(Option::is_some)
}

/// When each unit was redeemed.
pub(super) fn unit_times(booking: &Booking) -> Vec<Option<Timestamp>> {
    match (&booking.details, booking.status) {
        (Some(details), _) if details.redemption.is_some() => {
            details.redemption.clone().unwrap_or_default().into()
        }
        (_, Status::Redeemed { redeemed_at, .. }) => {
            vec![Some(redeemed_at); count_of(&booking.units) as usize]
        }
        _ => vec![None; count_of(&booking.units) as usize],
    }
}

/// A unit of a booking, as door staff name it.
#[derive(Debug, Clone, PartialEq)]
enum Unit {
    Seat(Seat),
    Ticket(Arc<str>),
    Nameless,
}

/// In the order in which their times stand.
fn units_of(units: &Units) -> Vec<Unit> {
    let nameless = |count: u32| (0..count).map(|_| Unit::Nameless);
    match units {
        Units::Event { seats, areas } => {
            let standing = areas.iter().flat_map(|claim| nameless(claim.quantity));
            seats.iter().map(|claim| Unit::Seat(claim.seat)).chain(standing).collect()
        }
        Units::Slot { tickets, .. } if !tickets.is_empty() => {
            tickets.iter().map(|ticket| Unit::Ticket(Arc::clone(ticket))).collect()
        }
        Units::Slot { quantity, .. } | Units::Box { quantity, .. } => nameless(*quantity).collect(),
    }
}

fn count_of(units: &Units) -> u32 {
    match units {
        Units::Event { seats, areas } => {
            u32::try_from(seats.len()).expect("few seats")
                + areas.iter().map(|claim| claim.quantity).sum::<u32>()
        }
        Units::Slot { quantity, .. } | Units::Box { quantity, .. } => *quantity,
    }
}

fn price_of(units: &Units) -> Money {
    Money(match units {
        Units::Event { seats, areas } => {
            let seated: i64 = seats.iter().map(|claim| claim.price.0).sum();
            seated + areas.iter().map(|claim| claim.price.0 * i64::from(claim.quantity)).sum::<i64>()
        }
        Units::Slot { quantity, price, .. } | Units::Box { quantity, price, .. } => {
            price.0 * i64::from(*quantity)
        }
    })
}

impl Model {
    /// Ends every hold that is over, in the order in which they ended; those that ended together in the order they
    /// were made.
    pub(super) fn expire(&mut self, now: Timestamp) -> Vec<BookingId> {
        let mut over: Vec<(Timestamp, BookingId)> = Vec::new();
        for booking in self.booking_order.iter().map(|id| &self.bookings[id]) {
            if let Status::OnHold { expires_at } = booking.status
                && expires_at <= now
            {
                over.push((expires_at, booking.id));
            }
        }
        over.sort_by_key(|&(expires_at, _)| expires_at);
        for &(expires_at, id) in &over {
            self.free(id);
            self.restate(id, Status::Expired { expires_at });
        }
        over.into_iter().map(|(_, id)| id).collect()
    }

    pub(super) fn book(&mut self, now: Timestamp, by: Actor, book: &Book) -> Decided<Grant> {
        form::check_book(book)?;
        match &book.want {
            Want::Event { .. } => drop(self.hall()?),
            Want::Slot { .. } => drop(self.calendar()?),
            Want::Box { .. } => drop(self.shelves()?),
        }
        let rules = self.rules();
        let seconds = book.hold_ttl_seconds.unwrap_or(rules.hold_ttl_seconds);
        let longest = if book.hold_at_most_default { rules.hold_ttl_seconds } else { rules.max_hold_seconds };
        if seconds < rules.min_hold_seconds || seconds > longest {
            return invalid();
        }
        refuse_if(self.bookings.contains_key(&book.id), Refusal::BookingIdTaken)?;
        let units = match &book.want {
            Want::Event { seats, areas } => self.event_units(now, &book.customer, seats, areas)?,
            Want::Slot { slot, places } => self.slot_units(now, &book.customer, *slot, places)?,
            Want::Box { id, quantity } => self.box_units(now, &book.customer, id, *quantity)?,
        };

        let status = if book.confirm {
            Status::Confirmed { confirmed_at: now }
        } else {
            Status::OnHold { expires_at: later(now, seconds) }
        };
        let booking = Booking {
            id: book.id,
            customer: Arc::clone(&book.customer),
            status,
            redeem_code: self.free_code(book.redeem_code),
            created_by: by,
            created_at: now,
            details: details(Details {
                payment_reference: None,
                metadata: book.metadata.clone(),
                contact: book.contact.clone(),
                reference: book.reference.clone(),
                redemption: None,
            }),
            version: 1,
            units,
        };
        self.booking_order.push(book.id);
        self.install(booking);
        Ok(self.shown(book.id))
    }

    fn event_units(
        &self,
        now: Timestamp,
        customer: &str,
        wish: &SeatWish,
        areas: &[AreaWish],
    ) -> Decided<Units> {
        let hall = self.hall()?;
        let rules = self.rules();
        let seated = match wish {
            SeatWish::None => 0,
            SeatWish::Named(groups) => groups.iter().map(|group| group.seats.len() as u64).sum(),
            SeatWish::Best(best) => u64::from(best.quantity),
        };
        let standing: u64 = areas.iter().map(|area| u64::from(area.quantity)).sum();
        let units = self.check_size(seated + standing)?;
        let named = match wish {
            SeatWish::Named(groups) => hall.named(groups)?,
            SeatWish::Best(best) => hall.allowed(best.section.as_deref()).map(|_| Vec::new())?,
            SeatWish::None => Vec::new(),
        };
        let mut claims = Vec::new();
        for wish in areas {
            let Some(at) = hall.areas.iter().position(|area| *area.name == *wish.name) else {
                return refuse(Refusal::AreaNotFound { area: wish.name.to_string() });
            };
            let area = u16::try_from(at).expect("few areas");
            claims.push(AreaClaim { area, quantity: wish.quantity, price: hall.areas[at].price });
        }
        self.check_open()?;
        self.check_sales(now)?;
        self.check_customer(customer, units)?;
        let seats = match wish {
            SeatWish::None => Vec::new(),
            SeatWish::Named(_) => {
                self.check_seats(hall, &named)?;
                hall.check_orphans(&named, &rules)?;
                named
            }
            SeatWish::Best(best) => hall.best(best, &rules)?,
        };
        for claim in &claims {
            hall.check_area(claim.area, claim.quantity)?;
        }
        Ok(Units::Event { seats: hall.priced(&seats), areas: claims.into() })
    }

    pub(super) fn check_size(&self, units: u64) -> Decided<u32> {
        let most = self.rules().max_units_per_booking;
        match u32::try_from(units) {
            Ok(units) if units <= most => Ok(units),
            _ => refuse(Refusal::TooManyUnits { most }),
        }
    }

    pub(super) fn check_open(&self) -> Decided<()> {
        let status = self.terms.as_ref().expect("an inventory that exists").status;
        refuse_if(status != InventoryStatus::Open, Refusal::InventoryClosed)
    }

    pub(super) fn check_sales(&self, now: Timestamp) -> Decided<()> {
        let sales = self.terms.as_ref().expect("an inventory that exists").sales;
        match (sales.opens_at, sales.closes_at) {
            (Some(opens_at), _) if now < opens_at => refuse(Refusal::SalesNotOpen { opens_at }),
            (_, Some(closed_at)) if now >= closed_at => refuse(Refusal::SalesClosed { closed_at }),
            _ => Ok(()),
        }
    }

    pub(super) fn check_customer(&self, customer: &str, units: u32) -> Decided<()> {
        let rules = self.rules();
        let own = || self.bookings.values().filter(|booking| *booking.customer == *customer);
        let active = own().filter(|booking| is_active(booking)).count();
        let owned: u32 =
            own().filter(|booking| has_units(booking)).map(|booking| count_of(&booking.units)).sum();
        // The one that came back to life last, if that is still active, and otherwise the newest that is.
        let latest = self.customers.get(customer).map(|customer| customer.latest);
        let is_own = |id: &&BookingId| *self.bookings[*id].customer == *customer;
        let newest_first = self.booking_order.iter().rev().filter(is_own);
        let booking = latest.iter().chain(newest_first).find(|id| is_active(&self.bookings[*id])).copied();
        if let Some(most) = rules.max_active_bookings_per_customer
            && active >= most as usize
        {
            return match most {
                1 => refuse(Refusal::ActiveReservationExists { booking }),
                _ => refuse(Refusal::CustomerLimitReached { booking }),
            };
        }
        let too_many = rules.max_units_per_customer.is_some_and(|most| owned + units > most);
        refuse_if(too_many, Refusal::CustomerLimitReached { booking })
    }

    pub(super) fn confirm(&mut self, now: Timestamp, confirm: &Confirm) -> Decided<Grant> {
        if let Some(reference) = &confirm.payment_reference {
            form::check_text(reference, 500)?;
        }
        let booking = self.find(confirm.booking)?;
        let owing = confirm.free_only && price_of(&booking.units).0 > 0;
        match booking.status {
            Status::OnHold { .. } | Status::Expired { .. } if owing => return refuse(Refusal::Forbidden),
            Status::OnHold { .. } => {
                if let Units::Box { number, .. } = booking.units {
                    self.shelves()?[number as usize].check_collectable(now)?;
                }
                let paid = self.restate(confirm.booking, Status::Confirmed { confirmed_at: now });
                paid.details = paid_details(&booking, confirm.payment_reference.clone());
            }
            Status::Confirmed { .. } => {
                let same = booking.payment_reference() == confirm.payment_reference.as_ref();
                refuse_if(!same, Refusal::AlreadyConfirmed)?;
            }
            Status::Cancelled { .. } | Status::Redeemed { .. } => return refuse(Refusal::NotConfirmable),
            Status::Expired { .. } => {
                let units = match confirm.if_expired.unwrap_or(self.rules().late_payment) {
                    LatePayment::Fail => return refuse(Refusal::HoldExpired),
                    LatePayment::SameUnits => self.same_units(now, &booking)?,
                    LatePayment::Equivalent => match self.same_units(now, &booking) {
                        Err(gone) if matches!(gone.refusal, Refusal::SeatUnavailable { .. }) => {
                            self.equivalent_units(&booking)?.ok_or(gone)?
                        }
                        other => other?,
                    },
                };
                let redeem_code = self.free_code(booking.redeem_code);
                self.install(Booking {
                    status: Status::Confirmed { confirmed_at: now },
                    units,
                    redeem_code,
                    details: paid_details(&booking, confirm.payment_reference.clone()),
                    version: booking.version + 1,
                    ..booking
                });
            }
        }
        Ok(self.shown(confirm.booking))
    }

    /// The units of a hold that is over, if they can be taken again.
    fn same_units(&self, now: Timestamp, booking: &Booking) -> Decided<Units> {
        match &booking.units {
            Units::Event { seats, areas } => {
                self.check_open()?;
                self.check_customer(&booking.customer, count_of(&booking.units))?;
                let hall = self.hall()?;
                let seats: Vec<Seat> = seats.iter().map(|claim| claim.seat).collect();
                self.check_seats(hall, &seats)?;
                for claim in areas {
                    hall.check_area(claim.area, claim.quantity)?;
                }
            }
            Units::Slot { slot, end, quantity, tickets, .. } => {
                self.check_slot_again(now, &booking.customer, (*slot, *end), *quantity, tickets)?;
            }
            Units::Box { number, quantity, .. } => {
                self.check_box_again(now, &booking.customer, *number, *quantity)?;
            }
        }
        Ok(booking.units.clone())
    }

    /// As many seats of the same sections, at the old prices.
    fn equivalent_units(&self, booking: &Booking) -> Decided<Option<Units>> {
        let (hall, Units::Event { seats, areas }) = (self.hall()?, &booking.units) else { return Ok(None) };
        let mut found: Vec<SeatClaim> = Vec::new();
        for (number, section) in hall.sections.iter().enumerate() {
            let in_section = |seat: Seat| hall.subsections[usize::from(seat.subsection)].section == number;
            let old: Vec<SeatClaim> = seats.iter().copied().filter(|claim| in_section(claim.seat)).collect();
            if old.iter().all(|claim| hall.is_free(claim.seat)) {
                found.extend(old);
                continue;
            }
            let quantity = u32::try_from(old.len()).expect("few seats");
            let best =
                BestAvailable { quantity, section: Some(section.name.clone()), adjacent_required: false };
            let Ok(others) = hall.best(&best, &self.rules()) else { return Ok(None) };
            let at_old_prices = others.into_iter().zip(&old);
            found.extend(at_old_prices.map(|(seat, claim)| SeatClaim { seat, price: claim.price }));
        }
        for claim in areas {
            hall.check_area(claim.area, claim.quantity)?;
        }
        Ok(Some(Units::Event { seats: found.into(), areas: areas.clone() }))
    }

    pub(super) fn extend(&mut self, now: Timestamp, extend: &Extend) -> Decided<Grant> {
        form::check_number(extend.seconds, 86_400)?;
        let booking = self.find(extend.booking)?;
        let wanted = later(now, extend.seconds);
        match booking.status {
            Status::OnHold { expires_at } if wanted <= expires_at => {}
            Status::OnHold { .. } => {
                let latest = later(booking.created_at, self.rules().max_hold_seconds);
                refuse_if(wanted > latest, Refusal::HoldLimitReached)?;
                self.restate(extend.booking, Status::OnHold { expires_at: wanted });
            }
            Status::Expired { .. } => return refuse(Refusal::HoldExpired),
            Status::Confirmed { .. } | Status::Redeemed { .. } | Status::Cancelled { .. } => {
                return refuse(Refusal::NotExtendable);
            }
        }
        Ok(self.shown(extend.booking))
    }

    pub(super) fn cancel(&mut self, now: Timestamp, cancel: &Cancel) -> Decided<Grant> {
        if let Some(reason) = &cancel.reason {
            form::check_text(reason, 500)?;
        }
        let booking = self.find(cancel.booking)?;
        self.check_reserved(&booking, cancel.ticket.as_ref())?;
        let confirmed_at = match booking.status {
            Status::Confirmed { .. } if has_redeemed_units(&booking) => {
                return refuse(Refusal::NotCancellable);
            }
            Status::OnHold { .. } => None,
            Status::Confirmed { confirmed_at } => Some(confirmed_at),
            Status::Cancelled { .. } => return Ok(self.shown(cancel.booking)),
            Status::Redeemed { .. } | Status::Expired { .. } => return refuse(Refusal::NotCancellable),
        };
        self.free(cancel.booking);
        self.restate(cancel.booking, Status::Cancelled { confirmed_at, cancelled_at: now });
        Ok(self.shown(cancel.booking))
    }

    pub(super) fn cancel_event(&mut self, now: Timestamp, cancel: &CancelEvent) -> Decided<Grant> {
        form::check_text(&cancel.reason, 500)?;
        self.hall()?;
        let (mut holds_ended, mut bookings_cancelled) = (0, 0);
        let mut reached = Vec::new();
        for (id, booking) in &self.bookings {
            let confirmed_at = match booking.status {
                Status::OnHold { .. } => None,
                Status::Confirmed { confirmed_at } if !has_redeemed_units(booking) => Some(confirmed_at),
                _ => continue,
            };
            *(if confirmed_at.is_none() { &mut holds_ended } else { &mut bookings_cancelled }) += 1;
            reached.push((*id, confirmed_at));
        }
        if !cancel.dry_run {
            for (id, confirmed_at) in reached {
                self.free(id);
                self.restate(id, Status::Cancelled { confirmed_at, cancelled_at: now });
            }
            self.terms.as_mut().expect("events have terms").status = InventoryStatus::Cancelled;
        }
        Ok(Grant::EventCancelled { holds_ended, bookings_cancelled })
    }

    pub(super) fn delete_event(&mut self) -> Decided<Grant> {
        self.hall()?;
        refuse_if(!self.bookings.is_empty(), Refusal::EventHasBookings)?;
        self.terms.as_mut().expect("events have terms").status = InventoryStatus::Deleted;
        Ok(Grant::Done)
    }

    pub(super) fn move_booking(&mut self, now: Timestamp, moving: &Move) -> Decided<Grant> {
        let nothing = match &moving.to {
            Destination::Slot(_) => false,
            Destination::Seats(sections) => sections.iter().any(|section| section.seats.is_empty()),
            Destination::Best(best) => best.quantity == 0,
        };
        if nothing {
            return invalid();
        }
        let booking = self.find(moving.booking)?;
        self.check_reserved(&booking, moving.ticket.as_ref())?;
        refuse_if(!is_active(&booking) || has_redeemed_units(&booking), Refusal::NotMovable)?;
        let units = match (&booking.units, &moving.to) {
            (Units::Slot { slot, quantity, tickets, .. }, Destination::Slot(to)) => {
                match self.other_slot(now, *slot, *to, *quantity)? {
                    None => booking.units.clone(),
                    Some((price, end)) => {
                        Units::Slot { slot: *to, end, quantity: *quantity, price, tickets: tickets.clone() }
                    }
                }
            }
            (Units::Event { seats, areas }, Destination::Seats(_) | Destination::Best(_))
                if !seats.is_empty() =>
            {
                // Its own seats count as free; its standing places stay.
                let mut hall = self.hall()?.clone();
                for claim in seats {
                    hall.seats.insert(claim.seat, super::Owner::Nobody);
                }
                let found = self.other_seats(&hall, seats.len(), &moving.to)?;
                // A seat that stays keeps its price.
                let old: BTreeMap<Seat, Money> =
                    seats.iter().map(|claim| (claim.seat, claim.price)).collect();
                let mut seats = hall.priced(&found);
                for claim in &mut seats {
                    claim.price = old.get(&claim.seat).copied().unwrap_or(claim.price);
                }
                Units::Event { seats, areas: areas.clone() }
            }
            _ => return refuse(Refusal::NotMovable),
        };
        let price_difference = Money(price_of(&units).0 - price_of(&booking.units).0);
        let paid = matches!(booking.status, Status::Confirmed { .. });
        refuse_if(moving.free_only && paid && price_difference.0 > 0, Refusal::Forbidden)?;
        if units != booking.units {
            self.free(moving.booking);
            self.give(&units, moving.booking);
            let version = booking.version + 1;
            let moved = Booking { units, version, ..booking };
            self.bookings.insert(moving.booking, moved);
        }
        let booking = Arc::new(self.bookings[&moving.booking].clone());
        Ok(Grant::Moved(Box::new(Moved { booking, price_difference })))
    }

    fn other_seats(&self, hall: &Hall, count: usize, to: &Destination) -> Decided<Vec<Seat>> {
        let rules = self.rules();
        match to {
            Destination::Slot(_) => refuse(Refusal::NotMovable),
            Destination::Best(best) if best.quantity as usize != count => invalid(),
            Destination::Best(best) => hall.best(best, &rules),
            Destination::Seats(groups) => {
                if groups.iter().map(|group| group.seats.len()).sum::<usize>() != count {
                    return invalid();
                }
                let seats = hall.named(groups)?;
                self.check_seats(hall, &seats)?;
                hall.check_orphans(&seats, &rules)?;
                Ok(seats)
            }
        }
    }

    pub(super) fn redeem(&mut self, now: Timestamp, redeem: &Redeem) -> Decided<Grant> {
        if let Some(choice) = &redeem.units {
            form::check_choice(choice)?;
        }
        let booking = self.find(redeem.booking)?;
        let confirmed_at = match booking.status {
            Status::Confirmed { confirmed_at } => confirmed_at,
            Status::Redeemed { redeemed_at, .. } => return refuse(Refusal::AlreadyRedeemed { redeemed_at }),
            Status::OnHold { .. } | Status::Cancelled { .. } | Status::Expired { .. } => {
                return refuse(Refusal::NotRedeemable);
            }
        };
        refuse_if(redeem.redeem_code != Some(booking.redeem_code), Refusal::WrongCode)?;
        if !redeem.force {
            self.check_admission(now, &booking)?;
        }
        let mut times = unit_times(&booking);
        let chosen = match &redeem.units {
            None => (0..times.len()).filter(|&at| times[at].is_none()).collect(),
            Some(choice) => self.chosen_units(&booking, choice, false)?,
        };
        let is_first = times.iter().all(Option::is_none);
        for at in chosen {
            times[at] = Some(now);
        }
        let is_complete = times.iter().all(Option::is_some);
        let status =
            if is_complete { Status::Redeemed { confirmed_at, redeemed_at: now } } else { booking.status };
        let kept = if is_first && is_complete { None } else { Some(times.into()) };
        self.restate_redemption(&booking, status, kept);
        Ok(self.shown(redeem.booking))
    }

    pub(super) fn unredeem(&mut self, unredeem: &Unredeem) -> Decided<Grant> {
        form::check_text(&unredeem.reason, 500)?;
        if let Some(choice) = &unredeem.units {
            form::check_choice(choice)?;
        }
        let booking = self.find(unredeem.booking)?;
        let confirmed_at = match booking.status {
            Status::Redeemed { confirmed_at, .. } => confirmed_at,
            Status::Confirmed { confirmed_at } if has_redeemed_units(&booking) => confirmed_at,
            _ => return refuse(Refusal::NotRedeemed),
        };
        let mut times = unit_times(&booking);
        let chosen = match &unredeem.units {
            None => (0..times.len()).collect(),
            Some(choice) => self.chosen_units(&booking, choice, true)?,
        };
        for at in chosen {
            times[at] = None;
        }
        let kept = times.iter().any(Option::is_some).then(|| times.into());
        let redeem_code = match booking.status {
            Status::Redeemed { .. } => self.free_code(booking.redeem_code),
            _ => booking.redeem_code,
        };
        self.restate_redemption(&booking, Status::Confirmed { confirmed_at }, kept).redeem_code = redeem_code;
        Ok(self.shown(unredeem.booking))
    }

    fn restate_redemption(
        &mut self,
        booking: &Booking,
        status: Status,
        redemption: Option<Box<[Option<Timestamp>]>>,
    ) -> &mut Booking {
        let kept = booking.details.as_deref().cloned().unwrap_or_default();
        let restated = self.restate(booking.id, status);
        restated.details = details(Details { redemption, ..kept });
        restated
    }

    /// The units that door staff name; an undo takes redeemed ones, from the last on.
    fn chosen_units(&self, booking: &Booking, choice: &UnitChoice, undo: bool) -> Decided<Vec<usize>> {
        let (units, times) = (units_of(&booking.units), unit_times(booking));
        let mut chosen = Vec::new();
        let in_event = matches!(booking.units, Units::Event { .. });
        let in_slot = matches!(booking.units, Units::Slot { .. });
        if (!choice.seats.is_empty() && !in_event) || (!choice.tickets.is_empty() && !in_slot) {
            return invalid();
        }
        let mut named = Vec::new();
        if in_event {
            let hall = self.hall()?;
            for seat in hall.named(&choice.seats)? {
                let address = &hall.subsections[usize::from(seat.subsection)].address;
                named.push((Unit::Seat(seat), format!("{address} {}-{}", seat.row, seat.number)));
            }
        }
        named.extend(
            choice.tickets.iter().map(|ticket| (Unit::Ticket(Arc::clone(ticket)), ticket.to_string())),
        );
        for (unit, name) in named {
            match units.iter().position(|known| *known == unit) {
                Some(at) => chosen.push(at),
                None => return refuse(Refusal::NotInBooking { unit: name }),
            }
        }
        for &at in &chosen {
            match times[at] {
                Some(redeemed_at) if !undo => return refuse(Refusal::AlreadyRedeemed { redeemed_at }),
                None if undo => return refuse(Refusal::NotRedeemed),
                _ => {}
            }
        }
        let Some(quantity) = choice.quantity else { return Ok(chosen) };
        let any_nameless = units.contains(&Unit::Nameless);
        let counted: Vec<usize> =
            (0..units.len()).filter(|&at| !any_nameless || units[at] == Unit::Nameless).collect();
        if quantity as usize > counted.len() {
            return invalid();
        }
        let mut fitting: Vec<usize> = counted
            .iter()
            .copied()
            .filter(|at| times[*at].is_some() == undo && !chosen.contains(at))
            .collect();
        if undo {
            fitting.reverse();
        }
        if fitting.len() < quantity as usize {
            let latest = counted.iter().filter_map(|&at| times[at]).max();
            return match latest {
                _ if undo => refuse(Refusal::NotRedeemed),
                Some(redeemed_at) => refuse(Refusal::AlreadyRedeemed { redeemed_at }),
                None => invalid(),
            };
        }
        chosen.extend(&fitting[..quantity as usize]);
        Ok(chosen)
    }

    /// Events while their doors are open, slots on their day, boxes within their pickup window.
    fn check_admission(&self, now: Timestamp, booking: &Booking) -> Decided<()> {
        match &booking.units {
            Units::Event { .. } => {
                let (opens_at, closes_at) = (self.hall()?.info.doors_open_at, self.hall()?.info.ends_at);
                let early = opens_at.is_some_and(|opens_at| opens_at > now);
                let late = closes_at.is_some_and(|closes_at| closes_at <= now);
                refuse_if(early || late, Refusal::WrongTime { opens_at, closes_at })
            }
            Units::Slot { slot, .. } => {
                refuse_if(super::calendar::date_of(now) != slot.date, Refusal::WrongDate)
            }
            Units::Box { number, .. } => match self.shelves()?[*number as usize].pickup {
                Some(pickup) if now < pickup.starts_at || pickup.ends_at <= now => {
                    let (opens_at, closes_at) = (Some(pickup.starts_at), Some(pickup.ends_at));
                    refuse(Refusal::WrongTime { opens_at, closes_at })
                }
                Some(_) | None => Ok(()),
            },
        }
    }

    /// A booking that is named by a ticket must have it, and not have let it in.
    fn check_reserved(&self, booking: &Booking, ticket: Option<&Arc<str>>) -> Decided<()> {
        let Some(ticket) = ticket else { return Ok(()) };
        let reserved = self.ticket_use(ticket) == Some((booking.id, false));
        refuse_if(!reserved, Refusal::TicketNotReserved { ticket: ticket.clone() })
    }

    fn find(&self, id: BookingId) -> Decided<Booking> {
        self.bookings.get(&id).cloned().ok_or_else(|| Refusal::BookingNotFound.into())
    }

    fn shown(&self, id: BookingId) -> Grant {
        Grant::Booking(Arc::new(self.bookings[&id].clone()))
    }

    fn restate(&mut self, id: BookingId, status: Status) -> &mut Booking {
        let booking = self.bookings.get_mut(&id).expect("a booking that exists");
        booking.status = status;
        booking.version += 1;
        booking
    }

    /// Gives a new booking, or one that came back to life, its units.
    fn install(&mut self, booking: Booking) {
        self.give(&booking.units, booking.id);
        let latest = booking.id;
        let customer = self.customers.entry(Arc::clone(&booking.customer));
        customer.and_modify(|known| known.latest = latest).or_insert(Customer { latest });
        self.bookings.insert(booking.id, booking);
    }

    fn free_code(&self, wanted: RedeemCode) -> RedeemCode {
        let taken = |code| self.bookings.values().any(|other| is_active(other) && other.redeem_code == code);
        let mut number = number_of(wanted);
        while taken(RedeemCode::from_random(number)) {
            number += 1;
        }
        RedeemCode::from_random(number)
    }
}

/// Details that say nothing are none.
fn details(details: Details) -> Option<Arc<Details>> {
    (details != Details::default()).then(|| Arc::new(details))
}

/// All that was known of a booking, with its payment.
fn paid_details(booking: &Booking, payment_reference: Option<Arc<str>>) -> Option<Arc<Details>> {
    let kept = booking.details.as_deref().cloned().unwrap_or_default();
    details(Details { payment_reference, redemption: None, ..kept })
}
