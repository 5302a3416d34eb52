//! `boxoffice demo`: an arena, a museum and a bakery in memory, filled and with some life in them.
//!
//! Everything goes through the public API, as any client would do it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use boxoffice_engine::store::{EmbeddedStore, Files};
use boxoffice_engine::{Clock, Engine, Settings};
use clap::Args;
use http_body_util::BodyExt;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use tower_service::Service;

use super::console::{Failure, LogFormat, log, say};
use super::serve::keep_open;
use crate::app::{App, AppSettings};
use crate::caller::OPEN_TENANT;
use crate::connections::ConnectionLimits;
use crate::keys::{Role, Wanted};
use crate::router::router;
use crate::time::Moment;

/// Where the demo runs.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Where to listen. If others can reach it, a key is made and printed.
    #[arg(long, env = "BOXOFFICE_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// How the log is written to standard error.
    #[arg(long, env = "BOXOFFICE_LOG_FORMAT", default_value = "text")]
    log_format: LogFormat,
}

/// Name, price, subsections, rows and seats in a row: 20,000 seats in all. Prices are in minor units: 680,000 is NT$6,800.
const SECTIONS: [(&str, u32, u32, u32, u32); 3] =
    [("Floor", 680_000, 4, 20, 25), ("Lower", 420_000, 8, 25, 30), ("Upper", 180_000, 12, 25, 40)];
/// Of a hundred seats, those that are taken when the demo begins.
const TAKEN_PERCENT: u32 = 70;
/// Of a hundred bookings, those that are still on hold.
const HELD_PERCENT: u32 = 12;
/// Slots that somebody booked, from today on.
const BUSY_SLOTS: usize = 63;
const PLACES_PER_SLOT: u32 = 200;
const BOXES: [(&str, &str, u32, u32); 4] = [
    ("morning-bread", "Yesterday's bread", 20, 18_000),
    ("lunch-box", "Lunch that was not eaten", 12, 24_000),
    ("evening-box", "Evening surprise", 30, 30_000),
    ("cake-box", "Cake of the day", 8, 42_000),
];
/// Between two customers.
const LIFE_EVERY: Duration = Duration::from_millis(350);
/// Bookings that the life keeps alive; the oldest is cancelled for a new one, so that the house never fills up.
const LIVE_BOOKINGS_MAX: usize = 200;
/// After so many the demo rests: everything is in memory.
const LIFE_BOOKINGS_MAX: usize = 100_000;

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    log(options.log_format, "info");
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(demo(options))
}

async fn demo(options: &Options) -> Result<(), Failure> {
    let store = Arc::new(EmbeddedStore::open_files(Files::in_memory())?);
    let engine = Engine::start(store, Clock::system(), &Settings::default())?;
    let mut settings = AppSettings { loopback: options.listen.ip().is_loopback(), ..AppSettings::default() };
    let key = if settings.loopback { None } else { Some(make_key(&engine, Role::Admin)?) };
    settings.pages_key = if settings.loopback { None } else { Some(make_key(&engine, Role::Public)?) };
    let app = App::new(engine, settings)?;
    let house = House { router: router(Arc::clone(&app)), key };
    let slots = fill(&house).await?;
    if let Some(key) = &house.key {
        say(format!("Others can reach {}, so it takes a key: {key}", options.listen))?;
    }
    let life = tokio::spawn(live(house, slots));
    let result = keep_open(app, options.listen, ConnectionLimits::default(), None).await;
    life.abort();
    result
}

fn make_key(engine: &Engine, role: Role) -> Result<String, Failure> {
    let name = Some("demo".to_owned());
    let seed = rand::random();
    let wanted = Wanted { tenant: OPEN_TENANT, role, name, seed, fingerprint: None };
    Ok(crate::keys::Keys::load(engine)?.make(wanted)?.text)
}

/// The API, without a network in between.
struct House {
    router: Router,
    key: Option<String>,
}

impl House {
    async fn ask(&self, method: Method, path: &str, body: &Value) -> Result<(StatusCode, Value), Failure> {
        let mut request = Request::builder().method(method).uri(path);
        if !body.is_null() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let response = self.router.clone().call(request.body(body)?).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((status, serde_json::from_slice(&bytes)?))
    }

    /// What must succeed for the demo to make sense.
    async fn must(&self, method: Method, path: &str, body: &Value) -> Result<Value, Failure> {
        let (status, answer) = self.ask(method, path, body).await?;
        if status.is_success() {
            return Ok(answer);
        }
        Err(Failure::new(format!("the demo cannot begin: {path}: {}", answer["detail"])))
    }

    async fn book_all(&self, commands: &[Value]) -> Result<(), Failure> {
        // As many as one batch may have.
        for commands in commands.chunks(crate::limits::BATCH_COMMANDS_MAX) {
            self.must(Method::POST, "/v1/batch", &json!({ "commands": commands })).await?;
        }
        Ok(())
    }
}

/// Makes and fills everything; says which slots are busy.
async fn fill(house: &House) -> Result<Vec<String>, Failure> {
    fill_arena(house).await?;
    let slots = fill_museum(house).await?;
    fill_bakery(house).await?;
    Ok(slots)
}

async fn fill_arena(house: &House) -> Result<(), Failure> {
    let sections = SECTIONS.map(|(name, price, subsections, rows, cols)| {
        let subsections =
            (1..=subsections).map(|number| json!({ "number": number, "rows": rows, "cols": cols }));
        json!({ "name": name, "price": price, "subsections": subsections.collect::<Vec<_>>() })
    });
    let arena = json!({
        "id": "arena", "name": "Arena: the last night", "currency": "TWD", "starts_at": later(30 * 86_400),
        "timezone": "Asia/Taipei",
        "rules": { "hold_ttl_seconds": 900 }, "sections": sections,
    });
    house.must(Method::POST, "/v1/events", &arena).await?;
    let mut commands = Vec::new();
    for (name, _, subsections, rows, cols) in SECTIONS {
        for number in 1..=subsections {
            let mut left = rows * cols * TAKEN_PERCENT / 100;
            while left > 0 {
                let quantity = rand::random_range(1..=6).min(left);
                left -= quantity;
                let best = json!({ "quantity": quantity, "section": format!("{name}-{number}") });
                commands.push(json!({
                    "op": "book", "customer": customer(), "event": "arena", "best_available": best, "confirm": is_paid(),
                }));
            }
        }
    }
    house.book_all(&commands).await
}

async fn fill_museum(house: &House) -> Result<Vec<String>, Failure> {
    let window = |start: &str, end: &str| json!({ "start": start, "end": end, "capacity": PLACES_PER_SLOT, "price": 35_000 });
    let museum = json!({
        "id": "museum", "name": "Museum of the harbour", "timezone": "Asia/Taipei", "currency": "TWD", "days": 90,
        "windows": [window("09:00", "12:00"), window("12:00", "15:00"), window("15:00", "18:00")],
    });
    house.must(Method::POST, "/v1/schedules", &museum).await?;
    let listed = house.must(Method::GET, "/v1/schedules/museum/slots?limit=100", &Value::Null).await?;
    let ids = listed["items"].as_array().into_iter().flatten().filter_map(|slot| slot["id"].as_str());
    let slots: Vec<String> = ids.take(BUSY_SLOTS).map(str::to_owned).collect();
    let mut commands = Vec::new();
    for slot in &slots {
        let mut left: u32 = rand::random_range(PLACES_PER_SLOT / 10..=PLACES_PER_SLOT);
        while left > 0 {
            let quantity = rand::random_range(1..=10).min(left);
            left -= quantity;
            commands.push(json!({
                "op": "book", "customer": customer(), "schedule": "museum", "slot": slot, "quantity": quantity,
                "confirm": is_paid(),
            }));
        }
    }
    house.book_all(&commands).await?;
    Ok(slots)
}

async fn fill_bakery(house: &House) -> Result<(), Failure> {
    let bakery = json!({ "id": "bakery", "name": "Bakery on the corner", "timezone": "Asia/Taipei", "currency": "TWD" });
    house.must(Method::POST, "/v1/shops", &bakery).await?;
    let mut commands = Vec::new();
    for (hours, (id, name, quantity, price)) in (1..).zip(BOXES) {
        let steps = (1..=3)
            .map(|step| json!({ "at": later(step * hours * 1_800), "price": price - price * step / 5 }));
        let boxed = json!({
            "id": id, "name": name, "quantity": quantity, "price": price,
            "pickup": { "starts_at": later(3_600), "ends_at": later(86_400) },
            "price_curve": steps.collect::<Vec<_>>(),
        });
        house.must(Method::POST, "/v1/shops/bakery/boxes", &boxed).await?;
        let half = (0..quantity / 2).map(|_| {
            json!({ "op": "book", "customer": customer(), "shop": "bakery", "box": id, "quantity": 1, "confirm": is_paid() })
        });
        commands.extend(half);
    }
    house.book_all(&commands).await
}

/// Customers come, pay, and change their minds, a few a second.
async fn live(house: House, slots: Vec<String>) {
    let mut alive = VecDeque::new();
    for _ in 0..LIFE_BOOKINGS_MAX {
        tokio::time::sleep(LIFE_EVERY).await;
        // Refusals are part of life: a slot is full, a box is gone.
        if let Ok((StatusCode::CREATED, made)) = house.ask(Method::POST, "/v1/bookings", &wish(&slots)).await
            && let Some(id) = made["id"].as_str()
        {
            alive.push_back(id.to_owned());
        }
        let (verb, id) = if alive.len() > LIVE_BOOKINGS_MAX || rand::random_ratio(1, 4) {
            ("cancel", alive.pop_front())
        } else {
            ("confirm", alive.back().cloned())
        };
        if let Some(id) = id
            && let Err(failure) =
                house.ask(Method::POST, &format!("/v1/bookings/{id}/{verb}"), &json!({})).await
        {
            tracing::warn!(%failure, "the demo's life ends");
            return;
        }
    }
}

fn wish(slots: &[String]) -> Value {
    let mut random = rand::rng();
    match rand::random_range(0..4) {
        0 => {
            let slot = slots.choose(&mut random);
            json!({ "customer": customer(), "schedule": "museum", "slot": slot, "quantity": rand::random_range(1..=4) })
        }
        1 => {
            let id = BOXES.choose(&mut random).map(|boxed| boxed.0);
            json!({ "customer": customer(), "shop": "bakery", "box": id, "quantity": 1 })
        }
        _ => {
            let (name, _, subsections, _, _) = *SECTIONS.choose(&mut random).expect("there are sections");
            let section = format!("{name}-{}", rand::random_range(1..=subsections));
            let best = json!({ "quantity": rand::random_range(1..=4), "section": section });
            json!({ "customer": customer(), "event": "arena", "best_available": best })
        }
    }
}

fn customer() -> String {
    format!("guest-{:08x}", rand::random::<u32>())
}

fn is_paid() -> bool {
    !rand::random_ratio(HELD_PERCENT, 100)
}

fn later(seconds: u32) -> String {
    Moment(Clock::system().now().plus_seconds(seconds)).to_string()
}
