//! Which booking has each seat of an event: an index that is made when the first reader asks, then kept up to date by publishing.

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::seats::Seat;

use crate::view::EventView;

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
    /// Bookings before this place have been entered.
    pub(crate) entered: usize,
}

impl SeatHolders {
    /// An index into which no booking was entered.
    pub(crate) fn new(event: &EventView) -> SeatHolders {
        let mut seats = 0;
        let subsections = event.subsections.iter().map(|subsection| {
            let first = seats;
            seats += usize::from(subsection.rows) * usize::from(subsection.cols);
            (first, usize::from(subsection.cols))
        });
        let subsections = subsections.collect();
        SeatHolders { subsections, places: vec![0; seats], entered: 0 }
    }

    /// Enters the seats of a booking, if it claims them.
    pub(crate) fn enter(&mut self, place: u32, booking: &Booking) {
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

/// Whether a booking claims a seat.
pub(crate) fn claims(booking: &Booking, seat: Seat) -> bool {
    match &booking.units {
        Units::Event { seats, .. } => booking.claims_units() && seats.iter().any(|claim| claim.seat == seat),
        Units::Slot { .. } | Units::Box { .. } => false,
    }
}
