//! The tickets of a schedule: those that were registered, and those that bookings name.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::schedule::Ticket;

use super::Engine;
use crate::answer::SubmitError;
use crate::ids::InventoryNumber;
use crate::published::State;
use crate::unit_holders::{HolderIndex, TicketEntry, TicketHolders};
use crate::view::KindView;

/// A ticket as of the last commit.
#[derive(Debug, Clone, PartialEq)]
pub struct TicketView {
    /// As it was registered or booked.
    pub id: Arc<str>,
    /// What it was registered as, if it was.
    pub registered: Option<Ticket>,
    /// The booking that has it: on hold, confirmed or redeemed.
    pub booking: Option<Arc<Booking>>,
}

impl TicketView {
    /// Whether the ticket was redeemed.
    pub fn is_used(&self) -> bool {
        self.booking.as_ref().is_some_and(|booking| {
            let place = place_of(booking, &self.id);
            place.is_some_and(|place| booking.unit_redeemed_at(place).is_some())
        })
    }
}

impl Engine {
    /// A ticket of a schedule; `None` if it was neither registered nor booked.
    pub async fn ticket(
        &self,
        schedule: InventoryNumber,
        id: &str,
    ) -> Result<Option<TicketView>, SubmitError> {
        self.read_tickets(schedule, |state, registered, holders| {
            let (registered, entry) = (registered(id), holders.tickets.get(id));
            let known = registered.is_some() || entry.is_some();
            known.then(|| view(state, id.into(), registered, entry))
        })
        .await
    }

    /// Some of the tickets of a schedule, in order of id, after one of them.
    pub async fn tickets_after(
        &self,
        schedule: InventoryNumber,
        after: &str,
        count: usize,
    ) -> Result<Vec<TicketView>, SubmitError> {
        self.read_tickets(schedule, |state, registered, holders| {
            let KindView::Schedule(schedule) = &state.stock.kind else { return Vec::new() };
            let rest = (Bound::Excluded(after), Bound::Unbounded);
            let some_registered = schedule.tickets.range::<str, _>(rest).take(count);
            let mut ids: BTreeMap<&Arc<str>, Option<&TicketEntry>> =
                some_registered.map(|(id, _)| (id, holders.tickets.get(id))).collect();
            let some_booked = holders.tickets.range::<str, _>(rest).take(count);
            ids.extend(some_booked.map(|(id, entry)| (id, Some(entry))));
            let first = ids.into_iter().take(count);
            first.map(|(id, entry)| view(state, Arc::clone(id), registered(id), entry)).collect()
        })
        .await
    }

    /// Every booking that names a ticket, whatever became of it, newest first.
    pub async fn bookings_of_ticket(
        &self,
        schedule: InventoryNumber,
        id: &str,
    ) -> Result<Vec<Arc<Booking>>, SubmitError> {
        self.read_tickets(schedule, |state, _, holders| {
            let places = holders.tickets.get(id).map(|entry| &entry.bookings[..]).unwrap_or_default();
            places.iter().rev().map(|&place| Arc::clone(state.bookings.at(place))).collect()
        })
        .await
    }

    /// Reads with how a ticket was registered, and the index of tickets; of what is no schedule there are none.
    async fn read_tickets<R>(
        &self,
        schedule: InventoryNumber,
        look: impl Fn(&State, &dyn Fn(&str) -> Option<Ticket>, &TicketHolders) -> R,
    ) -> Result<R, SubmitError> {
        let published = self.published(schedule).await?;
        let read = |state: &State, index: &HolderIndex| {
            let registered = |id: &str| match &state.stock.kind {
                KindView::Schedule(schedule) => schedule.tickets.get(id).copied(),
                KindView::Event(_) | KindView::Shop(_) => None,
            };
            match index {
                HolderIndex::Tickets(holders) => look(state, &registered, holders),
                HolderIndex::Seats(_) | HolderIndex::Nothing => {
                    look(state, &registered, &TicketHolders::default())
                }
            }
        };
        Ok(published.read_unit_holders(self.now(), read).await)
    }
}

fn view(state: &State, id: Arc<str>, registered: Option<Ticket>, entry: Option<&TicketEntry>) -> TicketView {
    let booking = entry.and_then(|entry| entry.claimed_by).map(|place| state.bookings.at(place));
    let claims = |booking: &&Arc<Booking>| booking.claims_units() && place_of(booking, &id).is_some();
    let booking = booking.filter(claims).cloned();
    TicketView { id, registered, booking }
}

fn place_of(booking: &Booking, ticket: &str) -> Option<usize> {
    match &booking.units {
        Units::Slot { tickets, .. } => tickets.iter().position(|own| **own == *ticket),
        Units::Event { .. } | Units::Box { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use boxoffice_core::command::{Action, Command};
    use boxoffice_core::commands::{Book, Cancel, CreateSchedule, ImportTickets, Places, Want};
    use boxoffice_core::ids::BookingId;
    use boxoffice_core::money::{Currency, Money};
    use boxoffice_core::outcome::Outcome;
    use boxoffice_core::rules::{RulesPatch, SalesWindow};
    use boxoffice_core::schedule::{Pattern, Window};
    use boxoffice_core::time::{Minute, SlotId};

    use super::*;
    use crate::engine::Settings;
    use crate::store::MemoryStore;
    use crate::{Clock, store::Store};

    const NAME: &str = "default/schedule:museum";

    struct Museum {
        engine: Engine,
        number: InventoryNumber,
    }

    impl Museum {
        fn start(store: &Arc<MemoryStore>) -> Engine {
            let settings = Settings { shards: 1, scrub_every: None, ..Settings::default() };
            Engine::start(Arc::clone(store) as Arc<dyn Store>, Clock::system(), &settings).unwrap()
        }

        async fn open(store: &Arc<MemoryStore>) -> Museum {
            let engine = Museum::start(store);
            let hours = Window { start: Minute(0), end: Minute(1_440), capacity: 100, price: Money(1) };
            let create = CreateSchedule {
                id: "museum".to_owned(),
                name: "Museum".to_owned(),
                timezone: "UTC".to_owned(),
                currency: Currency(*b"TWD"),
                sales: SalesWindow::default(),
                rules: RulesPatch::default(),
                pattern: Pattern {
                    windows: vec![hours],
                    days: 5,
                    weekdays: (1..=7).collect(),
                    closed_dates: BTreeSet::new(),
                    keep_past_days: 7,
                },
            };
            let create = Command::of(Action::CreateSchedule(Box::new(create)));
            engine.submit_to(NAME, create).await.unwrap();
            let number = engine.number(NAME).unwrap();
            Museum { engine, number }
        }

        async fn grant(&self, action: Action) {
            let answer = self.engine.submit(self.number, Command::of(action)).await.unwrap();
            assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
        }

        async fn book(&self, tickets: &[&str]) -> BookingId {
            let view = self.engine.view(self.number).await.unwrap();
            let KindView::Schedule(schedule) = &view.kind else { panic!("a schedule") };
            let (&slot, _): (&SlotId, _) = schedule.slots.iter().next_back().expect("slots are made ahead");
            let tickets = tickets.iter().map(|&ticket| ticket.into()).collect();
            let want = Want::Slot { slot, places: Places::Tickets(tickets) };
            let id = self.engine.new_booking_id(self.number);
            let book = Book::new(id, "ann", want, self.engine.new_redeem_code());
            self.grant(Action::Book(Box::new(book))).await;
            id
        }

        async fn cancel(&self, booking: BookingId) {
            self.grant(Action::Cancel(Cancel { booking, reason: None, ticket: None })).await;
        }

        async fn import(&self, tickets: &[(&str, bool)]) {
            let ticket = |&(id, active): &(&str, bool)| (id.into(), Ticket { active, expires_at: None });
            let tickets = tickets.iter().map(ticket).collect();
            self.grant(Action::ImportTickets(ImportTickets { tickets })).await;
        }

        /// Each ticket: what it was registered as, the booking that has it, and how many name it.
        async fn shown(&self) -> Vec<(String, Option<bool>, Option<BookingId>, usize)> {
            let mut shown = Vec::new();
            for ticket in self.engine.tickets_after(self.number, "", 100).await.unwrap() {
                let bookings = self.engine.bookings_of_ticket(self.number, &ticket.id).await.unwrap();
                assert_eq!(
                    self.engine.ticket(self.number, &ticket.id).await.unwrap().as_ref(),
                    Some(&ticket)
                );
                let registered = ticket.registered.map(|registered| registered.active);
                let booking = ticket.booking.map(|booking| booking.id);
                shown.push((ticket.id.to_string(), registered, booking, bookings.len()));
            }
            shown
        }
    }

    #[tokio::test]
    async fn index_that_was_kept_up_to_date_equals_one_made_anew() {
        let store = Arc::new(MemoryStore::default());
        let museum = Museum::open(&store).await;
        museum.import(&[("b", true), ("d", true)]).await;
        let early = museum.book(&["a", "b"]).await;
        let unread = museum.engine.ticket(museum.number, "z").await.unwrap();
        assert_eq!(unread, None, "the index was made");

        museum.cancel(early).await;
        let late = museum.book(&["b", "c"]).await;
        museum.import(&[("d", false), ("e", true)]).await;
        let expected = vec![
            ("a".to_owned(), None, None, 1),
            ("b".to_owned(), Some(true), Some(late), 2),
            ("c".to_owned(), None, Some(late), 1),
            ("d".to_owned(), Some(false), None, 0),
            ("e".to_owned(), Some(true), None, 0),
        ];
        assert_eq!(museum.shown().await, expected);
        let after_b = museum.engine.tickets_after(museum.number, "b", 2).await.unwrap();
        assert_eq!(after_b.iter().map(|ticket| &*ticket.id).collect::<Vec<_>>(), ["c", "d"]);

        let number = museum.number;
        museum.engine.close().unwrap();
        let anew = Museum { engine: Museum::start(&store), number };
        assert_eq!(anew.shown().await, expected);
    }
}
