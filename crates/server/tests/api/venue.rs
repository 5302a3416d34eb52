//! Events, schedules and shops to test with, and the words to book in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::client::{Call, Reply, Stream};
use crate::server::{Server, await_some};

/// An inventory of a test's own.
pub(crate) struct Venue {
    pub(crate) server: Arc<Server>,
    /// `event`, `schedule` or `shop`.
    pub(crate) kind: &'static str,
    pub(crate) id: String,
}

/// An id that no other test has.
pub(crate) fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// `base` with the fields of `more`, those inside objects too.
pub(crate) fn with(mut base: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().expect("an object") {
        let old = base[name].take();
        base[name] = if old.is_object() && value.is_object() { with(old, value) } else { value.clone() };
    }
    base
}

/// One section `A` of one subsection, each seat at 1000.
pub(crate) fn section(rows: u16, cols: u16) -> Value {
    json!({ "sections": [{ "name": "A", "price": 1000, "subsections": [{ "number": 1, "rows": rows, "cols": cols }] }] })
}

/// The body of `POST /v1/events` for a hall.
pub(crate) fn event_body(id: &str, more: &Value) -> Value {
    with(json!({ "id": id, "name": "Gala", "currency": "TWD" }), more)
}

/// The body of `POST /v1/schedules`: one window every day at 100, from ten to noon, for 20.
pub(crate) fn schedule_body(id: &str, more: &Value) -> Value {
    let base = json!({
        "id": id, "name": "Museum", "timezone": "UTC", "currency": "TWD", "days": 5,
        "windows": [{ "start": "10:00", "end": "12:00", "capacity": 20, "price": 100 }],
    });
    with(base, more)
}

impl Venue {
    pub(crate) fn create(server: &Arc<Server>, kind: &'static str, body: &Value) -> Venue {
        let made = server.post(&format!("/v1/{kind}s"), body).expect(201);
        let id = made["id"].as_str().expect("an id").to_owned();
        Venue { server: Arc::clone(server), kind, id }
    }

    /// An event with these fields beside name and currency.
    pub(crate) fn event(more: &Value) -> Venue {
        Venue::create(&Server::shared(), "event", &event_body(&unique("gala"), more))
    }

    /// One section `A-1`.
    pub(crate) fn hall(rows: u16, cols: u16) -> Venue {
        Venue::event(&section(rows, cols))
    }

    pub(crate) fn museum(more: &Value) -> Venue {
        Venue::create(&Server::shared(), "schedule", &schedule_body(&unique("museum"), more))
    }

    /// A shop without limits per customer.
    pub(crate) fn bakery(rules: &Value) -> Venue {
        let rules = with(json!({ "max_active_bookings_per_customer": null }), rules);
        let body = json!({ "id": unique("bakery"), "name": "Bakery", "timezone": "UTC", "currency": "TWD", "rules": rules });
        Venue::create(&Server::shared(), "shop", &body)
    }

    /// The address of the inventory and what is below it.
    pub(crate) fn at(&self, below: &str) -> String {
        format!("/v1/{}s/{}{below}", self.kind, self.id)
    }

    pub(crate) fn show(&self) -> Value {
        self.server.get(&self.at("")).expect(200)
    }

    pub(crate) fn patch(&self, body: &Value) -> Reply {
        self.server.patch(&self.at(""), body)
    }

    /// What to send for a booking; ann's unless somebody else is named.
    pub(crate) fn wanted(&self, want: &Value) -> Value {
        let mut body = json!({ "customer": "ann" });
        body[self.kind] = self.id.as_str().into();
        with(body, want)
    }

    pub(crate) fn booking_call(&self, want: &Value) -> Call {
        self.server.call("POST", "/v1/bookings").json(&self.wanted(want))
    }

    pub(crate) fn book(&self, want: &Value) -> Reply {
        self.booking_call(want).send()
    }

    /// A booking that must be made.
    pub(crate) fn booked(&self, want: &Value) -> Value {
        self.book(want).expect(201)
    }

    pub(crate) fn act_call(&self, booking: &Value, verb: &str, body: &Value) -> Call {
        self.server.call("POST", &format!("{}/{verb}", booking_url(booking))).json(body)
    }

    pub(crate) fn act(&self, booking: &Value, verb: &str, body: &Value) -> Reply {
        self.act_call(booking, verb, body).send()
    }

    pub(crate) fn booking(&self, booking: &Value) -> Value {
        self.server.get(&booking_url(booking)).expect(200)
    }

    /// The seats of `A-1`, one string a row.
    pub(crate) fn seats(&self) -> Vec<String> {
        let seats = self.server.get(&self.at("/seats?section=A-1")).expect(200);
        let rows = seats["seats"].as_array().expect("rows").iter();
        rows.map(|row| row.as_str().expect("a row").to_owned()).collect()
    }

    pub(crate) fn stream(&self) -> Stream {
        self.server.call("GET", &self.at("/stream")).watch()
    }

    pub(crate) fn stream_after(&self, last: u64) -> Stream {
        self.server.call("GET", &self.at("/stream")).header("Last-Event-ID", &last.to_string()).watch()
    }

    /// A hold of one second that is over.
    pub(crate) fn expired(&self, want: &Value) -> Value {
        let hold = self.booked(&with(want.clone(), &json!({ "hold_ttl_seconds": 1 })));
        self.await_status(&hold, "expired")
    }

    pub(crate) fn await_status(&self, booking: &Value, status: &str) -> Value {
        await_some(status, || Some(self.booking(booking)).filter(|booking| booking["status"] == status))
    }

    /// One slot as it is listed.
    pub(crate) fn slot(&self, id: &str) -> Value {
        let day = &id[..10];
        let listed = self.server.get(&self.at(&format!("/slots?from={day}&to={day}"))).expect(200);
        let slots = listed["items"].as_array().expect("items");
        slots.iter().find(|slot| slot["id"] == id).unwrap_or_else(|| panic!("{id} in {slots:?}")).clone()
    }

    /// One box as it is listed.
    pub(crate) fn listed_box(&self, id: &str) -> Value {
        let listed = self.server.get(&self.at("/boxes?limit=500")).expect(200);
        let boxes = listed["items"].as_array().expect("items");
        boxes.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{id} in {boxes:?}")).clone()
    }

    pub(crate) fn add_box(&self, more: &Value) -> Value {
        let body = with(json!({ "id": "evening", "name": "Evening", "quantity": 3, "price": 500 }), more);
        self.server.post(&self.at("/boxes"), &body).expect(201)
    }
}

pub(crate) fn booking_url(booking: &Value) -> String {
    format!("/v1/bookings/{}", booking["id"].as_str().expect("an id"))
}

/// These seats of `A-1`.
pub(crate) fn seats(ids: &[&str]) -> Value {
    json!({ "seats": [{ "section": "A-1", "ids": ids }] })
}

/// The best seats anywhere.
pub(crate) fn best(quantity: u32) -> Value {
    json!({ "best_available": { "quantity": quantity } })
}

pub(crate) fn places(slot: &str, quantity: u32) -> Value {
    json!({ "slot": slot, "quantity": quantity })
}

pub(crate) fn tickets(slot: &str, tickets: &[&str]) -> Value {
    json!({ "slot": slot, "tickets": tickets })
}

pub(crate) fn boxes(quantity: u32) -> Value {
    json!({ "box": "evening", "quantity": quantity })
}

/// `available held sold blocked` of stats.
pub(crate) fn counts(stats: &Value) -> [u64; 4] {
    let count = |name: &str| stats[name].as_u64().expect("a count");
    let counts = [count("available"), count("held"), count("sold"), count("blocked")];
    assert_eq!(counts.iter().sum::<u64>(), count("total"), "{stats}");
    counts
}

pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(now.as_millis()).expect("before the year 292 million")
}

/// A moment so many seconds from now, as the API writes it.
pub(crate) fn seconds_from_now(seconds: i64) -> String {
    moment(now_ms() + seconds * 1_000)
}

fn moment(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).expect("in range");
    format!("{time:.3}")
}

/// Of a moment that the API wrote.
pub(crate) fn ms(value: &Value) -> i64 {
    let text = value.as_str().expect("a moment");
    let time: jiff::Timestamp = text.parse().expect("RFC 3339");
    assert_eq!(text, moment(time.as_millisecond()), "UTC with milliseconds");
    time.as_millisecond()
}

/// A day in UTC, so many after today. Far enough from midnight if it is not today.
pub(crate) fn day(after_today: i32) -> Date {
    today_at(0) + after_today.days()
}

/// Today where it is so many hours later than in UTC.
pub(crate) fn today_at(hours: i32) -> Date {
    let now = jiff::Timestamp::from_millisecond(now_ms() + i64::from(hours) * 3_600_000);
    now.expect("in range").to_zoned(TimeZone::UTC).date()
}

/// A zone where it is about noon, so that today does not end during a test: its name, and hours later than UTC.
pub(crate) fn zone_at_noon() -> (String, i32) {
    let hour = i32::try_from(now_ms() / 3_600_000 % 24).expect("an hour");
    let later = 12 - hour;
    // These names count the other way round.
    let name = match later {
        0 => "UTC".to_owned(),
        1.. => format!("Etc/GMT-{later}"),
        _ => format!("Etc/GMT+{}", -later),
    };
    (name, later)
}

/// The id of the slot at ten on a day after today.
pub(crate) fn slot_at_ten(after_today: i32) -> String {
    format!("{}T10:00", day(after_today))
}
