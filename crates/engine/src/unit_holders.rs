//! Which booking has each seat of an event, and which bookings name each ticket of a schedule: an index that is made when the first
//! reader asks, then kept up to date by publishing.

use std::collections::BTreeMap;
use std::sync::Arc;

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::seats::Seat;

use crate::view::{EventView, KindView};

/// The index of an inventory; places are those of bookings in the order they were made.
#[derive(Debug)]
pub(crate) struct UnitHolders {
    pub(crate) index: HolderIndex,
    /// Bookings before this place have been entered.
    pub(crate) entered: usize,
}

/// By what bookings are found.
#[derive(Debug)]
pub(crate) enum HolderIndex {
    /// Of an event.
    Seats(SeatHolders),
    /// Of a schedule.
    Tickets(TicketHolders),
    /// Of a shop: one box is like the other.
    Nothing,
}

impl UnitHolders {
    /// An index into which no booking was entered.
    pub(crate) fn new(kind: &KindView) -> UnitHolders {
        let index = match kind {
            KindView::Event(event) => HolderIndex::Seats(SeatHolders::new(event)),
            KindView::Schedule(_) => HolderIndex::Tickets(TicketHolders::default()),
            KindView::Shop(_) => HolderIndex::Nothing,
        };
        UnitHolders { index, entered: 0 }
    }

    /// Enters a booking as it is now, also one that was entered before.
    pub(crate) fn enter(&mut self, place: u32, booking: &Booking) {
        match &mut self.index {
            HolderIndex::Seats(seats) => seats.enter(place, booking),
            HolderIndex::Tickets(tickets) => tickets.enter(place, booking),
            HolderIndex::Nothing => {}
        }
    }
}

/// From a seat to the place of the booking that claimed it last.
///
/// An entry is a hint: the booking may have let go of the seat since. At most one booking claims a seat, and entering a booking overwrites
/// what stood there, so the order in which bookings are entered does not matter, and nothing need be removed.
#[derive(Debug)]
pub(crate) struct SeatHolders {
    /// By subsection, where its seats begin in `places`, and how many a row has.
    subsections: Vec<(usize, usize)>,
    /// The place of a booking, plus one; zero if none claimed the seat.
    places: Vec<u32>,
}

impl SeatHolders {
    fn new(event: &EventView) -> SeatHolders {
        let mut seats = 0;
        let subsections = event.subsections.iter().map(|subsection| {
            let first = seats;
            seats += usize::from(subsection.rows) * usize::from(subsection.cols);
            (first, usize::from(subsection.cols))
        });
        let subsections = subsections.collect();
        SeatHolders { subsections, places: vec![0; seats] }
    }

    fn enter(&mut self, place: u32, booking: &Booking) {
        let Units::Event { seats, .. } = &booking.units else { return };
        if !booking.claims_units() {
            return;
        }
        for claim in seats {
            let index = self.index(claim.seat);
            self.places[index] = place + 1;
        }
    }

    /// The place of the booking that claimed a seat last.
    pub(crate) fn place(&self, seat: Seat) -> Option<u32> {
        self.places[self.index(seat)].checked_sub(1)
    }

    fn index(&self, seat: Seat) -> usize {
        let (first, cols) = self.subsections[usize::from(seat.subsection)];
        first + (usize::from(seat.row) - 1) * cols + usize::from(seat.number) - 1
    }
}

/// From a ticket to the bookings that name it.
#[derive(Debug, Default)]
pub(crate) struct TicketHolders {
    /// In order of ticket, so that they can be listed.
    pub(crate) tickets: BTreeMap<Arc<str>, TicketEntry>,
}

/// The bookings of one ticket.
#[derive(Debug, Default)]
pub(crate) struct TicketEntry {
    /// The booking that claimed it last; a hint, as with [`SeatHolders`].
    pub(crate) claimed_by: Option<u32>,
    /// Every booking that names it, whatever became of it, in the order they were made.
    pub(crate) bookings: Vec<u32>,
}

impl TicketHolders {
    fn enter(&mut self, place: u32, booking: &Booking) {
        let Units::Slot { tickets, .. } = &booking.units else { return };
        for ticket in tickets {
            let entry = match self.tickets.get_mut(ticket) {
                Some(entry) => entry,
                None => self.tickets.entry(Arc::clone(ticket)).or_default(),
            };
            if let Err(index) = entry.bookings.binary_search(&place) {
                entry.bookings.insert(index, place);
            }
            if booking.claims_units() {
                entry.claimed_by = Some(place);
            }
        }
    }
}

/// Whether a booking claims a seat.
pub(crate) fn claims_seat(booking: &Booking, seat: Seat) -> bool {
    match &booking.units {
        Units::Event { seats, .. } => booking.claims_units() && seats.iter().any(|claim| claim.seat == seat),
        Units::Slot { .. } | Units::Box { .. } => false,
    }
}
