//! The mirror has the keys, fields and states that the documents of the field name, as JSON where the server knows JSON.

use std::sync::Arc;

use boxoffice_cluster::redis::{RefusedBooking, check, rebuild};
use boxoffice_core::booking::Booking;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{AddBox, BestAvailable, Book, CreateShop, SeatWish, Want};
use boxoffice_core::ids::{BookingId, RedeemCode};
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_core::rules::{RulesPatch, SalesWindow};
use boxoffice_engine::store::Store;
use boxoffice_engine::{Clock, Engine};
use boxoffice_services::FakeRedis;
use serde_json::{Value, json};

use crate::beside::{Node, ask_at, await_mirror, instances, redis_server};
use crate::database::Database;
use crate::scene::{HALL, booking_of, cancel, confirm, eventually, hold as hold_of_a_seat, open_hall};

const BAKERY: &str = "default/shop:bakery";

/// A server with JSON commands: the one that the environment names, or the stand-in.
enum JsonServer {
    Named(String),
    StandIn(FakeRedis),
}

impl JsonServer {
    async fn start() -> JsonServer {
        match std::env::var("BOXOFFICE_KVROCKS_URL") {
            Ok(url) if !url.is_empty() => {
                ask_at::<()>(&url, &["FLUSHALL"]).await;
                JsonServer::Named(url)
            }
            _ => JsonServer::StandIn(FakeRedis::start().unwrap()),
        }
    }

    fn url(&self) -> String {
        match self {
            JsonServer::Named(url) => url.clone(),
            JsonServer::StandIn(server) => server.url(),
        }
    }
}

async fn grant(engine: &Engine, name: &str, action: Action) {
    let answer = engine.submit_to(name, Command::of(action)).await.unwrap();
    assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
}

async fn open_bakery(engine: &Engine) {
    let shop = CreateShop {
        id: "bakery".to_owned(),
        name: "Bakery".to_owned(),
        timezone: "Asia/Taipei".to_owned(),
        currency: Currency(*b"TWD"),
        sales: SalesWindow::default(),
        rules: RulesPatch::default(),
    };
    grant(engine, BAKERY, Action::CreateShop(Box::new(shop))).await;
    let evening = AddBox {
        id: "evening".into(),
        name: "Evening box".to_owned(),
        quantity: 6,
        price: Money(300),
        pickup: None,
        price_curve: Vec::new(),
    };
    grant(engine, BAKERY, Action::AddBox(Box::new(evening))).await;
}

async fn hold(engine: &Engine, name: &str, customer: &str, want: Want) -> (BookingId, String) {
    let number = engine.number(name).unwrap();
    let id = engine.new_booking_id(number);
    let code = RedeemCode::from_random(u32::from_be_bytes(id.to_bytes()[6..10].try_into().unwrap()));
    let book = Command::of(Action::Book(Box::new(Book::new(id, customer, want, code))));
    let booking: Arc<Booking> = booking_of(&engine.submit(number, book).await.unwrap()).expect("granted");
    (id, id_text(booking.id))
}

fn id_text(id: BookingId) -> String {
    let hex: String = id.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

async fn shown(url: &str, store: &Arc<dyn Store>) {
    await_mirror(url, store).await.unwrap_or_else(|difference| panic!("{difference}"));
}

/// Sells a hall and a bakery, and reads what the documents name from any server.
async fn speaks_the_documents_language(url: &str) {
    let database = Database::start();
    let node = Node::start(&database, url, &Clock::system());
    let (engine, store) = (&node.engine, node.store());
    let hall = open_hall(engine, 2, 3).await;
    let best = BestAvailable { quantity: 2, section: None, adjacent_required: true };
    let two = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let (of_hall, hall_id) = hold(engine, "default/event:hall", "ann", two).await;
    open_bakery(engine).await;
    let boxes = || Want::Box { id: "evening".into(), quantity: 1 };
    let (of_bakery, bakery_id) = hold(engine, BAKERY, "a:b {c}", boxes()).await;
    shown(url, &store).await;

    let booking = format!("booking:{hall_id}");
    let field = async |field: &str| ask_at::<Option<String>>(url, &["HGET", &booking, field]).await;
    assert_eq!(field("status").await.as_deref(), Some("RESERVE_SUCCESS"));
    assert_eq!(field("reserved_seats").await.as_deref(), Some(r#"["1-1","1-2"]"#));
    assert_eq!(field("total_price").await.as_deref(), Some("2000"));
    assert_eq!(field("state").await.as_deref(), Some("on_hold"));

    let left = async || ask_at::<u32>(url, &["GET", "inventory:quantity:bakery:evening"]).await;
    let set = "user:reservations:a:b {c}:bakery";
    let hold_key = format!("reservation:ttl:{bakery_id}");
    assert_eq!(left().await, 5);
    assert_eq!(ask_at::<Vec<String>>(url, &["SMEMBERS", set]).await, std::slice::from_ref(&bakery_id));
    let hold_of_box: Value = serde_json::from_str(&ask_at::<String>(url, &["GET", &hold_key]).await).unwrap();
    assert_eq!(hold_of_box["reservationId"], bakery_id.as_str());
    assert_eq!(hold_of_box["userId"], "a:b {c}");
    assert_eq!(hold_of_box["boxInventoryId"], "bakery:evening");
    assert!(hold_of_box["expiresAt"].as_str().unwrap().ends_with('Z'), "{hold_of_box}");
    let lasts: i64 = ask_at(url, &["PTTL", &hold_key]).await;
    assert!((1..=86_400_000).contains(&lasts), "{lasts}");

    // Paid: still active, and no hold any more. Then given back.
    let bakery = engine.number(BAKERY).unwrap();
    engine.submit(bakery, confirm(of_bakery)).await.unwrap();
    shown(url, &store).await;
    assert_eq!(ask_at::<u32>(url, &["EXISTS", &hold_key]).await, 0);
    assert_eq!(ask_at::<u32>(url, &["SCARD", set]).await, 1);
    engine.submit(bakery, cancel(of_bakery)).await.unwrap();
    engine.submit(hall, confirm(of_hall)).await.unwrap();
    shown(url, &store).await;
    assert_eq!((left().await, ask_at::<u32>(url, &["EXISTS", set]).await), (6, 0));
    assert_eq!(field("status").await.as_deref(), Some("RESERVE_SUCCESS"));
    assert_eq!(field("state").await.as_deref(), Some("confirmed"));
    let (_, last_id) = hold(engine, BAKERY, "ann", boxes()).await;
    shown(url, &store).await;
    node.stop().await;

    // What is wrong is named, and a rebuild helps; also of bookings that no inventory has.
    let instances = instances(url);
    let store: Arc<dyn Store> = database.shared_store();
    let (last_hold, last_set) = (format!("reservation:ttl:{last_id}"), "user:reservations:ann:bakery");
    for (command, key) in [
        (vec!["DEL", last_hold.as_str()], last_hold.as_str()),
        (vec!["SREM", last_set, &last_id], last_set),
        (vec!["SET", "inventory:quantity:bakery:evening", "9"], "inventory:quantity:bakery:evening"),
        (vec!["DEL", "event_state:hall"], "event_state:hall"),
    ] {
        ask_at::<redis::Value>(url, &command).await;
        let difference = check(instances.first(), &store, |_, _| {}).await.unwrap_err().to_string();
        assert!(difference.contains(key), "{difference}");
        rebuild(instances.first(), &store, |_, _| {}).await.unwrap();
        check(instances.first(), &store, |_, _| {}).await.unwrap();
    }
    let gone = "11111111-1111-1111-1111-111111111111";
    let gone_booking = format!("booking:{gone}");
    ask_at::<u32>(url, &["HSET", &gone_booking, "version", "1", "inventory", BAKERY, "customer", "bob"])
        .await;
    ask_at::<u32>(url, &["SADD", "user:reservations:bob:bakery", gone]).await;
    rebuild(instances.first(), &store, |_, _| {}).await.unwrap();
    let exist = ["EXISTS", &gone_booking, "user:reservations:bob:bakery"];
    assert_eq!(ask_at::<u32>(url, &exist).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mirror_on_a_server_without_json_holds_the_documents_as_text() {
    let redis = redis_server();
    speaks_the_documents_language(&redis.url()).await;
    let state = ask_at::<String>(&redis.url(), &["GET", "event_state:hall"]).await;
    let mut state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(
        state["event_stats"].take(),
        json!({ "available": 4, "reserved": 0, "sold": 2, "blocked": 0, "total": 6 })
    );
    let stats = json!({ "available": 4, "reserved": 0, "sold": 2, "blocked": 0, "total": 6 });
    let subsections = json!({ "1": { "rows": 2, "cols": 3, "stats": stats } });
    assert_eq!(state["sections"].take(), json!({ "A": { "price": 1_000, "subsections": subsections } }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mirror_on_a_server_with_json_answers_paths_of_the_documents() {
    let server = JsonServer::start().await;
    let url = server.url();
    // As a server left it that was written before it had JSON commands.
    ask_at::<()>(&url, &["SET", "event_state:hall", "{}"]).await;
    speaks_the_documents_language(&url).await;
    let get = async |path: &str| {
        let found = ask_at::<String>(&url, &["JSON.GET", "event_state:hall", path]).await;
        // The stand-in counts in floating point.
        found.replace(".0]", "]")
    };
    assert_eq!(get("$.event_stats.sold").await, "[2]");
    assert_eq!(get("$.event_stats.reserved").await, "[0]");
    assert_eq!(get("$.sections.A.price").await, "[1000]");
    assert_eq!(get("$.sections.A.subsections['1'].stats.available").await, "[4]");
    // As the document reserves two seats.
    let count = ["JSON.NUMINCRBY", "event_state:hall", "$.event_stats.reserved", "2"];
    ask_at::<redis::Value>(&url, &count).await;
    assert_eq!(get("$.event_stats.reserved").await, "[2]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_booking_is_shown_as_failed_until_it_is_granted() {
    let (database, redis) = (Database::start(), redis_server());
    let url = redis.url();
    let node = Node::start(&database, &url, &Clock::system());
    let hall = open_hall(&node.engine, 2, 3).await;
    let (granted, refused) = (node.engine.new_booking_id(hall), node.engine.new_booking_id(hall));
    node.engine.submit(hall, hold_of_a_seat(granted, "ann")).await.unwrap();
    shown(&url, &node.store()).await;
    let field = async |id: BookingId, field: &str| {
        ask_at::<Option<String>>(&url, &["HGET", &format!("booking:{}", id_text(id)), field]).await
    };
    let lasts =
        async |id: BookingId| ask_at::<i64>(&url, &["PTTL", &format!("booking:{}", id_text(id))]).await;
    let refusals = node.beside.refused_bookings();
    for id in [granted, refused] {
        let reason = "Some of these seats are not free.".to_owned();
        refusals.note(RefusedBooking { id, inventory: HALL.into(), code: "SEAT_UNAVAILABLE", reason });
    }
    eventually("the refusal is shown", || async {
        field(refused, "status").await.as_deref() == Some("RESERVE_FAILED")
    })
    .await;
    assert_eq!(field(refused, "code").await.as_deref(), Some("SEAT_UNAVAILABLE"));
    assert_eq!(field(refused, "error").await.as_deref(), Some("Some of these seats are not free."));
    assert!((1..=3_600_000).contains(&lasts(refused).await));
    assert_eq!(field(granted, "status").await.as_deref(), Some("RESERVE_SUCCESS"));
    // The same id once more, and now there is a seat.
    node.engine.submit(hall, hold_of_a_seat(refused, "ann")).await.unwrap();
    shown(&url, &node.store()).await;
    assert_eq!(field(refused, "status").await.as_deref(), Some("RESERVE_SUCCESS"));
    assert_eq!((field(refused, "error").await, lasts(refused).await), (None, -1));
    node.stop().await;
}
