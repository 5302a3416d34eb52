//! Tables of what is done to an inventory, one commit a row, and what a webhook is told of it.

use std::time::{Duration, Instant};

use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{
    AddBox, BestAvailable, BlockSeats, Book, Cancel, CancelEvent, Confirm, CreateEvent, CreateSchedule,
    CreateShop, Destination, Move, PatchBox, PatchEvent, PatchSchedule, PatchSlot, Places, SeatWish,
    SectionSeats, UnblockSeats, Want,
};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::RedeemCode;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::rules::{LatePayment, RulesPatch, SalesPatch, SalesWindow, TermsPatch};
use boxoffice_core::schedule::{Pattern, Window};
use boxoffice_core::time::{Date, Minute};
use boxoffice_engine::store::MemoryStore;
use boxoffice_engine::{Clock, InventoryNumber, Settings};

use super::super::news::{Cursor, pass_over, read};
use super::*;

const CURRENCY: Currency = Currency(*b"TWD");
const BOTH: [Topic; 2] = [Topic::SoldOut, Topic::BackOnSale];
/// Local noon of the first day; slots are at one, two and three.
const NOON_MS: i64 = (20_000 * 24 + 12) * 3_600_000;

/// What is done, in one commit.
enum Deed {
    /// So many units by a customer: of the event, a slot or a box.
    Books(&'static str, &'static str, u32),
    Pays(&'static str),
    PaysLate(&'static str),
    Cancels(&'static str),
    Moves(&'static str, &'static str),
    Blocks(&'static str),
    Unblocks(&'static str),
    /// The capacity or quantity.
    Resizes(&'static str, u32),
    Closes(&'static str),
    Opens(&'static str),
    ClosesAll,
    OpensAll,
    EndsSales,
    CancelsEvent,
    /// Time passes, and holds of fifteen minutes or less are over.
    Minutes(i64),
}

use Deed::*;

struct House {
    store: Arc<MemoryStore>,
    engine: Engine,
    clock: Clock,
    inventory: InventoryNumber,
    bookings: HashMap<&'static str, BookingId>,
}

fn start(store: &Arc<MemoryStore>, clock: &Clock) -> Engine {
    let settings = Settings { scrub_every: None, ..Settings::default() };
    Engine::start(Arc::clone(store) as Arc<_>, clock.clone(), &settings).unwrap()
}

fn best(quantity: u32) -> SeatWish {
    SeatWish::Best(BestAvailable { quantity, section: None, adjacent_required: false })
}

/// `14` is two o'clock.
fn slot(hour: &str) -> SlotId {
    SlotId { date: Date(20_000), start: Minute(hour.parse::<u16>().unwrap() * 60) }
}

fn seat(name: &str) -> SectionSeats {
    SectionSeats { section: "A-1".to_owned(), seats: vec![name.parse().unwrap()] }
}

fn patched_box(id: &str) -> PatchBox {
    PatchBox {
        id: id.into(),
        name: None,
        closed: None,
        quantity: None,
        price: None,
        pickup: None,
        price_curve: None,
    }
}

impl House {
    async fn create(name: &str, create: Action) -> House {
        let (store, clock) = (Arc::new(MemoryStore::default()), Clock::manual(Timestamp(NOON_MS)));
        let engine = start(&store, &clock);
        engine.submit_to(name, Command::of(create)).await.unwrap();
        let inventory = engine.number(name).unwrap();
        House { store, engine, clock, inventory, bookings: HashMap::new() }
    }

    /// Two seats.
    async fn hall() -> House {
        let subsections = vec![SubsectionPlan { number: 1, rows: 1, cols: 2, blocked: Vec::new() }];
        let section = SectionPlan { name: "A".to_owned(), price: Money(1), subsections };
        let create = CreateEvent::new("hall", "Hall", CURRENCY, vec![section]);
        House::create("default/event:hall", Action::CreateEvent(Box::new(create))).await
    }

    /// Two places at each of three times.
    async fn museum() -> House {
        let window = |hour: u16| Window {
            start: Minute(hour * 60),
            end: Minute(hour * 60 + 60),
            capacity: 2,
            price: Money(1),
        };
        let pattern = Pattern {
            windows: [13, 14, 15].map(window).to_vec(),
            days: 1,
            weekdays: (1..=7).collect(),
            closed_dates: BTreeSet::new(),
            keep_past_days: 30,
        };
        let create = CreateSchedule {
            id: "museum".to_owned(),
            name: "Museum".to_owned(),
            timezone: "UTC".to_owned(),
            currency: CURRENCY,
            sales: SalesWindow::default(),
            rules: RulesPatch::default(),
            pattern,
        };
        House::create("default/schedule:museum", Action::CreateSchedule(Box::new(create))).await
    }

    /// Two boxes of each of two sorts.
    async fn bakery() -> House {
        let create = CreateShop {
            id: "bakery".to_owned(),
            name: "Bakery".to_owned(),
            timezone: "UTC".to_owned(),
            currency: CURRENCY,
            sales: SalesWindow::default(),
            rules: RulesPatch::default(),
        };
        let house = House::create("default/shop:bakery", Action::CreateShop(Box::new(create))).await;
        for id in ["bread", "cake"] {
            let add = AddBox {
                id: id.into(),
                name: id.to_owned(),
                quantity: 2,
                price: Money(1),
                pickup: None,
                price_curve: Vec::new(),
            };
            house.submit(Action::AddBox(Box::new(add))).await;
        }
        house
    }

    async fn submit(&self, action: Action) -> Outcome {
        let answer = self.engine.submit(self.inventory, Command::of(action)).await.unwrap();
        assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
        answer.outcome
    }

    async fn patch_terms(&self, terms: TermsPatch) {
        let stock = self.engine.view(self.inventory).await.unwrap();
        let action = match &stock.kind {
            KindView::Event(_) => Action::PatchEvent(Box::new(PatchEvent { terms, ..PatchEvent::default() })),
            KindView::Schedule(_) => {
                Action::PatchSchedule(Box::new(PatchSchedule { terms, ..PatchSchedule::default() }))
            }
            KindView::Shop(_) => unreachable!("no row does so"),
        };
        self.submit(action).await;
    }

    async fn patch_part(&self, part: &str, closed: Option<bool>, capacity: Option<u32>) {
        let stock = self.engine.view(self.inventory).await.unwrap();
        let action = match &stock.kind {
            KindView::Schedule(_) => {
                Action::PatchSlot(PatchSlot { slot: slot(part), closed, capacity, price: None })
            }
            KindView::Shop(_) => {
                let patch = PatchBox { closed, quantity: capacity, ..patched_box(part) };
                Action::PatchBox(Box::new(patch))
            }
            KindView::Event(_) => unreachable!("an event has no capacity"),
        };
        self.submit(action).await;
    }

    async fn book(&mut self, customer: &'static str, part: &str, quantity: u32) {
        let stock = self.engine.view(self.inventory).await.unwrap();
        let want = match &stock.kind {
            KindView::Event(_) => Want::Event { seats: best(quantity), areas: Vec::new() },
            KindView::Schedule(_) => Want::Slot { slot: slot(part), places: Places::Quantity(quantity) },
            KindView::Shop(_) => Want::Box { id: part.into(), quantity },
        };
        let id = self.engine.new_booking_id(self.inventory);
        let code = RedeemCode::from_random(u32::try_from(self.bookings.len()).unwrap() + 1);
        let book = Book { hold_ttl_seconds: Some(600), ..Book::new(id, customer, want, code) };
        let outcome = self.submit(Action::Book(Box::new(book))).await;
        let Outcome::Granted(Grant::Booking(booking)) = outcome else { unreachable!("a booking") };
        self.bookings.insert(customer, booking.id);
    }

    async fn pay(&self, customer: &str, if_expired: Option<LatePayment>) {
        let booking = self.bookings[customer];
        let confirm = Confirm { booking, payment_reference: None, if_expired, free_only: false };
        self.submit(Action::Confirm(confirm)).await;
    }

    async fn execute(&mut self, deed: &Deed) {
        match *deed {
            Books(customer, part, quantity) => self.book(customer, part, quantity).await,
            Pays(customer) => self.pay(customer, None).await,
            PaysLate(customer) => {
                self.pay(customer, Some(LatePayment::SameUnits)).await;
            }
            Cancels(customer) => {
                let booking = self.bookings[customer];
                self.submit(Action::Cancel(Cancel { booking, reason: None, ticket: None })).await;
            }
            Moves(customer, part) => {
                let (booking, to) = (self.bookings[customer], Destination::Slot(slot(part)));
                self.submit(Action::Move(Box::new(Move { booking, to, free_only: false, ticket: None })))
                    .await;
            }
            Blocks(name) => {
                self.submit(Action::BlockSeats(BlockSeats { seats: seat(name) })).await;
            }
            Unblocks(name) => {
                self.submit(Action::UnblockSeats(UnblockSeats { seats: seat(name) })).await;
            }
            Resizes(part, capacity) => self.patch_part(part, None, Some(capacity)).await,
            Closes(part) => self.patch_part(part, Some(true), None).await,
            Opens(part) => self.patch_part(part, Some(false), None).await,
            ClosesAll => self.patch_terms(TermsPatch { open: Some(false), ..TermsPatch::default() }).await,
            OpensAll => self.patch_terms(TermsPatch { open: Some(true), ..TermsPatch::default() }).await,
            EndsSales => {
                let sales = SalesPatch::ClosesAt(Some(self.engine.now()));
                self.patch_terms(TermsPatch { sales, ..TermsPatch::default() }).await;
            }
            CancelsEvent => {
                let cancel = CancelEvent { reason: "rain".into(), dry_run: false };
                self.submit(Action::CancelEvent(cancel)).await;
            }
            Minutes(minutes) => {
                self.clock.set(Timestamp(self.engine.now().0 + minutes * 60_000));
                self.submit(Action::Expire).await;
            }
        }
    }

    async fn cursor(&self) -> Cursor {
        let stock = self.engine.view(self.inventory).await.unwrap();
        let mut cursor = Cursor::at(stock.sequence);
        cursor.sold_out = SoldOut::as_of(&stock);
        cursor
    }

    /// What is told from a cursor on, with the sequence of each; the cursor moves to the present.
    async fn tell(&self, cursor: &mut Cursor) -> Vec<(u64, String)> {
        tell(&self.engine, self.inventory, cursor).await
    }
}

async fn tell(engine: &Engine, inventory: InventoryNumber, cursor: &mut Cursor) -> Vec<(u64, String)> {
    let mut told = Vec::new();
    while cursor.sequence < engine.view(inventory).await.unwrap().sequence {
        let (moved, news) = read(engine, inventory, cursor, &BOTH).await.unwrap();
        *cursor = moved;
        told.extend(news.iter().map(|one| {
            let json: serde_json::Value = serde_json::from_str(&one.body).unwrap();
            let part = |name: &str| json["data"][name].as_str().map(|part| part.replace("2024-10-04T", ""));
            let part = part("slot").or_else(|| part("box")).or_else(|| part("event")).unwrap();
            let topic = json["type"].as_str().unwrap().replace("inventory.", "");
            (one.sequence, format!("{topic} {part}"))
        }));
    }
    told
}

/// Does the rows and holds what is told against them: read after each, all at one time from memory, and all at one time from the journal.
async fn check(mut house: House, rows: &[(Deed, &[&str])]) {
    let mut near = house.cursor().await;
    let mut far = near.clone();
    let mut all = Vec::new();
    for (number, (deed, expected)) in rows.iter().enumerate() {
        house.execute(deed).await;
        let told = house.tell(&mut near).await;
        let words: Vec<&str> = told.iter().map(|(_, word)| &**word).collect();
        assert_eq!(words, *expected, "row {number}");
        all.extend(told);
    }
    let begin = far.clone();
    assert_eq!(house.tell(&mut far).await, all, "from memory");
    assert_eq!(far.sold_out, near.sold_out);

    let House { store, engine, clock, inventory, .. } = house;
    engine.close().unwrap();
    let engine = start(&Arc::new(store.after_crash()), &clock);
    let mut from_journal = begin.clone();
    assert_eq!(tell(&engine, inventory, &mut from_journal).await, all, "from the journal");
    // As after a start of the server, from what was written.
    let mut unknown = Cursor::at(begin.sequence);
    assert_eq!(
        tell(&engine, inventory, &mut unknown).await,
        all,
        "of a webhook that was made while it was not in memory"
    );
    assert_eq!((&from_journal.sold_out, &unknown.sold_out), (&near.sold_out, &near.sold_out));

    // Where the past cannot be read, the last message about each part is the same, or there is none about what is as it was.
    let mut bounded = begin;
    bounded.no_past_stock_until = Some(Instant::now() + Duration::from_secs(600));
    let told = tell(&engine, inventory, &mut bounded).await;
    assert_eq!(bounded.sold_out, near.sold_out, "without the past");
    for (_, word) in &told {
        let (topic, part) = word.split_once(' ').unwrap();
        let last = all.iter().rev().find(|(_, word)| word.ends_with(part)).unwrap();
        assert!(last.1.starts_with(topic), "{word} is the last about it: {all:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn event_sells_out_and_comes_back_each_time() {
    let rows: [(Deed, &[&str]); 20] = [
        (Books("ann", "", 1), &[]),
        (Books("ben", "", 1), &["sold_out hall"]),
        (Pays("ben"), &[]),
        (Cancels("ben"), &["back_on_sale hall"]),
        (Books("cy", "", 1), &["sold_out hall"]),
        (Minutes(11), &["back_on_sale hall"]),
        (Blocks("1-1"), &[]),
        (Blocks("1-2"), &["sold_out hall"]),
        (Unblocks("1-1"), &["back_on_sale hall"]),
        (PaysLate("ann"), &["sold_out hall"]),
        // What comes back while it is closed is on sale when it opens.
        (ClosesAll, &[]),
        (Unblocks("1-2"), &[]),
        (OpensAll, &["back_on_sale hall"]),
        (Books("di", "", 1), &["sold_out hall"]),
        (ClosesAll, &[]),
        (OpensAll, &[]),
        (EndsSales, &[]),
        (Cancels("di"), &[]),
        (CancelsEvent, &[]),
        (Minutes(1), &[]),
    ];
    check(House::hall().await, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_event_is_not_back_on_sale() {
    let rows: [(Deed, &[&str]); 2] = [(Books("ann", "", 2), &["sold_out hall"]), (CancelsEvent, &[])];
    check(House::hall().await, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_sell_out_and_come_back_each_by_itself() {
    let rows: [(Deed, &[&str]); 18] = [
        (Books("ann", "13", 1), &[]),
        (Books("ben", "14", 2), &["sold_out 14:00"]),
        (Books("cy", "13", 1), &["sold_out 13:00"]),
        (Pays("cy"), &[]),
        (Moves("ben", "15"), &["back_on_sale 14:00", "sold_out 15:00"]),
        (Cancels("ben"), &["back_on_sale 15:00"]),
        (Resizes("13", 3), &["back_on_sale 13:00"]),
        (Resizes("13", 2), &["sold_out 13:00"]),
        (Closes("13"), &[]),
        (Cancels("ann"), &[]),
        (Opens("13"), &["back_on_sale 13:00"]),
        (Books("di", "13", 1), &["sold_out 13:00"]),
        // A hold that is over comes back where it was, wherever a late payment and a move take it.
        (Minutes(11), &["back_on_sale 13:00"]),
        (PaysLate("di"), &["sold_out 13:00"]),
        (Moves("di", "14"), &["back_on_sale 13:00"]),
        (Books("flo", "13", 1), &["sold_out 13:00"]),
        (Pays("flo"), &[]),
        (Minutes(60), &[]),
    ];
    check(House::museum().await, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_that_is_over_is_neither_back_on_sale_nor_kept() {
    let mut house = House::museum().await;
    let mut cursor = house.cursor().await;
    for deed in [Books("ann", "13", 2), Pays("ann"), Minutes(150), Cancels("ann"), Books("ben", "15", 2)] {
        house.execute(&deed).await;
    }
    let told: Vec<String> = house.tell(&mut cursor).await.into_iter().map(|(_, word)| word).collect();
    assert_eq!(told, ["sold_out 13:00", "sold_out 15:00"]);
    assert_eq!(cursor.sold_out.known, Some([Sellable::Slot(slot("15"))].into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_sell_out_and_come_back_each_by_itself() {
    let rows: [(Deed, &[&str]); 8] = [
        (Books("ann", "bread", 2), &["sold_out bread"]),
        (Books("ben", "cake", 2), &["sold_out cake"]),
        (Resizes("bread", 3), &["back_on_sale bread"]),
        (Resizes("bread", 2), &["sold_out bread"]),
        (Closes("bread"), &[]),
        (Cancels("ann"), &[]),
        (Opens("bread"), &["back_on_sale bread"]),
        (Minutes(11), &["back_on_sale cake"]),
    ];
    check(House::bakery().await, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_webhook_is_not_told_what_sold_out_before_it() {
    let mut house = House::hall().await;
    house.execute(&Books("ann", "", 2)).await;
    let mut cursors = [house.cursor().await, Cursor::at(house.cursor().await.sequence)];
    house.execute(&Pays("ann")).await;
    house.execute(&ClosesAll).await;
    house.execute(&OpensAll).await;
    for cursor in &mut cursors {
        assert_eq!(house.tell(cursor).await, []);
    }
    house.execute(&Cancels("ann")).await;
    for cursor in &mut cursors {
        assert_eq!(house.tell(cursor).await.len(), 1, "what comes back is told all the same");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gap_in_the_journal_is_told_by_what_is_different_after_it() {
    let mut house = House::museum().await;
    let mut cursor = house.cursor().await;
    for deed in [Books("ann", "13", 2), Books("ben", "14", 2)] {
        house.execute(&deed).await;
    }
    house.tell(&mut cursor).await;
    for deed in [Cancels("ann"), Books("cy", "15", 2)] {
        house.execute(&deed).await;
    }
    let present = house.cursor().await;
    let passed = pass_over(&house.engine, house.inventory, &cursor, present.sequence, &BOTH).await;
    let (moved, news) = passed.unwrap();
    let topics: Vec<Topic> = news.iter().map(|one| one.topic).collect();
    assert_eq!(topics, [Topic::BackOnSale, Topic::SoldOut]);
    assert_eq!(moved, present);
}
