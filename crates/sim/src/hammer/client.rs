//! Clients that book, pay, cancel and send the same thing again, each at random and one thing after the other.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use boxoffice_core::booking::Status;
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{
    AreaWish, BestAvailable, Book, Cancel, Confirm, Places, SeatWish, SectionSeats, Want,
};
use boxoffice_core::event::SeatName;
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::time::SlotId;
use boxoffice_engine::{Answer, Engine, InventoryNumber, SubmitError};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::history::{History, Request};
use super::log::{Line, Log};
use super::stock::{self, AREA, BAKERY, BOXES, HALL, HALL_COLS, HALL_ROWS, MUSEUM, SECTIONS};

/// Answers to keys are kept for as long as anybody will ask for them.
pub const KEEP_SECONDS: u32 = 7 * 86_400;
/// Bookings and requests that a client remembers, to come back to them.
const REMEMBERED_MAX: usize = 64;

/// What all clients of one process share.
#[derive(Clone)]
pub struct Shared {
    /// Where they send their commands.
    pub engine: Engine,
    /// Where they write them down.
    pub log: Arc<Log>,
    /// What is on sale.
    pub on_sale: Arc<OnSale>,
    /// How many more commands are to be sent.
    pub left: Arc<AtomicI64>,
}

/// The inventories and what can be asked of them.
#[derive(Debug)]
pub struct OnSale {
    hall: InventoryNumber,
    museum: Option<(InventoryNumber, Vec<SlotId>)>,
    bakery: Option<InventoryNumber>,
}

impl OnSale {
    /// The hall alone, or all inventories, which are created if they are missing.
    pub async fn prepare(engine: &Engine, only_hall: bool) -> Result<OnSale, SubmitError> {
        let hall = stock::create(engine, HALL).await?;
        if only_hall {
            return Ok(OnSale { hall, museum: None, bakery: None });
        }
        let museum = stock::create(engine, MUSEUM).await?;
        let bakery = stock::create(engine, BAKERY).await?;
        stock::add_boxes(engine, bakery).await?;
        let slots = stock::slots(engine, museum).await?;
        Ok(OnSale { hall, museum: Some((museum, slots)), bakery: Some(bakery) })
    }
}

/// Tells whoever started the process, by one byte, that a request was answered and that this is in the log.
pub fn report_progress() {
    let mut output = std::io::stdout().lock();
    // Nobody has to listen.
    drop(output.write_all(b".").and_then(|()| output.flush()));
}

/// Sends again what earlier lives of the process never heard of, as a client does whose connection broke.
pub async fn resend_open(shared: &Shared, history: &History) {
    let open: Vec<&Request> = history.open().collect();
    for request in &open {
        let (key, inventory, command) = (request.key, request.inventory, request.command.clone());
        shared.log.write(&Line::Intent { key, inventory, command });
    }
    let commands = open.iter().map(|request| (request.inventory, request.command.clone())).collect();
    for (request, result) in open.iter().zip(shared.engine.submit_all(commands).await) {
        shared.log.write_result(request.key, &result);
        report_progress();
    }
}

/// A client. Ends when enough was sent, or when the engine has stopped.
pub async fn run(shared: Shared, seed: u64) {
    let mut client =
        Client { shared, random: StdRng::seed_from_u64(seed), holds: Vec::new(), sent: Vec::new() };
    while client.shared.left.fetch_sub(1, Ordering::Relaxed) > 0 {
        let request = client.next_request();
        match client.send(&request).await {
            Ok(()) => client.remember(request),
            Err(SubmitError::Overloaded { .. } | SubmitError::Unavailable { .. }) => {
                tokio::task::yield_now().await;
            }
            Err(
                SubmitError::OutcomeUnknown
                | SubmitError::AlreadyDecided
                | SubmitError::Stopped
                | SubmitError::NoSuchInventory
                | SubmitError::Damaged(_),
            ) => return,
        }
    }
}

struct Client {
    shared: Shared,
    random: StdRng,
    /// Bookings that may still be active.
    holds: Vec<(InventoryNumber, BookingId)>,
    sent: Vec<Sent>,
}

#[derive(Clone)]
struct Sent {
    key: KeyDigest,
    inventory: InventoryNumber,
    command: Command,
}

impl Client {
    async fn send(&mut self, request: &Sent) -> Result<(), SubmitError> {
        let Sent { key, inventory, command } = request.clone();
        self.shared.log.write(&Line::Intent { key, inventory, command: command.clone() });
        let result = self.shared.engine.submit(inventory, command).await;
        self.shared.log.write_result(key, &result);
        report_progress();
        if let Answer { outcome: Outcome::Granted(Grant::Booking(booking)), .. } = &result?
            && let Status::OnHold { .. } | Status::Confirmed { .. } = booking.status
        {
            self.holds.push((inventory, booking.id));
            if self.holds.len() > REMEMBERED_MAX {
                self.holds.swap_remove(0);
            }
        }
        Ok(())
    }

    fn remember(&mut self, request: Sent) {
        if self.sent.len() >= REMEMBERED_MAX {
            self.sent.swap_remove(0);
        }
        self.sent.push(request);
    }

    fn next_request(&mut self) -> Sent {
        let dice = self.random.random_range(0..100);
        if dice < 12
            && let Some(sent) = self.sent.choose(&mut self.random)
        {
            return sent.clone();
        }
        if dice < 60 && !self.holds.is_empty() {
            let index = self.random.random_range(0..self.holds.len());
            let (inventory, booking) = self.holds[index];
            let action = if dice < 32 {
                let payment_reference = Some("paid".into());
                Action::Confirm(Confirm { booking, payment_reference, if_expired: None, free_only: false })
            } else {
                self.holds.swap_remove(index);
                Action::Cancel(Cancel { booking, reason: None, ticket: None })
            };
            return self.keyed(inventory, action);
        }
        let (inventory, want) = self.wish();
        let id = if self.random.random_ratio(1, 6) {
            // Chosen by the caller: it names no inventory that exists.
            let mut bytes: [u8; 16] = self.random.random();
            bytes[12] |= 0x80;
            BookingId::from_bytes(bytes)
        } else {
            self.shared.engine.new_booking_id(inventory)
        };
        let customer = format!("customer-{}", self.random.random_range(0..500));
        let code = RedeemCode::from_random(self.random.random());
        let mut book = Book::new(id, &customer, want, code);
        book.confirm = self.random.random_ratio(1, 10);
        // Some holds end while the process is dead, some while it is being audited.
        if self.random.random_ratio(1, 4) {
            book.hold_ttl_seconds = Some(self.random.random_range(1..4));
        }
        self.keyed(inventory, Action::Book(Box::new(book)))
    }

    fn wish(&mut self) -> (InventoryNumber, Want) {
        let on_sale = Arc::clone(&self.shared.on_sale);
        let kind = self.random.random_range(0..10);
        if let (Some((museum, slots)), 0..3) = (&on_sale.museum, kind)
            && let Some(&slot) = slots.choose(&mut self.random)
        {
            let places = Places::Quantity(self.random.random_range(1..5));
            return (*museum, Want::Slot { slot, places });
        }
        if let (Some(bakery), 3..5) = (on_sale.bakery, kind) {
            let id = BOXES.choose(&mut self.random).map(|id| (*id).into()).expect("boxes");
            return (bakery, Want::Box { id, quantity: self.random.random_range(1..4) });
        }
        let mut areas = Vec::new();
        let seats = match kind {
            6 => SeatWish::Named(vec![self.named_seats()]),
            7 => {
                areas.push(AreaWish { name: AREA.into(), quantity: self.random.random_range(1..4) });
                SeatWish::None
            }
            _ => SeatWish::Best(BestAvailable {
                quantity: self.random.random_range(1..6),
                section: SECTIONS
                    .choose(&mut self.random)
                    .map(|section| (*section).to_owned())
                    .filter(|_| kind == 8),
                adjacent_required: kind == 9,
            }),
        };
        (on_sale.hall, Want::Event { seats, areas })
    }

    fn named_seats(&mut self) -> SectionSeats {
        let row = self.random.random_range(1..=HALL_ROWS);
        let first = self.random.random_range(1..HALL_COLS);
        let seats = vec![SeatName { row, number: first }, SeatName { row, number: first + 1 }];
        SectionSeats { section: "B-1".to_owned(), seats }
    }

    fn keyed(&mut self, inventory: InventoryNumber, action: Action) -> Sent {
        let key = KeyDigest(self.random.random());
        let idempotency = Some(Idempotency { key, fingerprint: 1.into(), keep_seconds: KEEP_SECONDS });
        Sent { key, inventory, command: Command { by: Actor(1), idempotency, action } }
    }
}
