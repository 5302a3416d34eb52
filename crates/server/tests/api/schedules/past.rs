//! Slots that have ended, in a store that was filled by a clock of the past.

use std::sync::Arc;

use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::CreateSchedule;
use boxoffice_core::ids::Actor;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_core::rules::{RulesPatch, SalesWindow};
use boxoffice_core::schedule::{Pattern, Window};
use boxoffice_core::time::{Minute, Timestamp};
use boxoffice_engine::{Clock, Engine, Settings};
use serde_json::json;

use crate::server::Store;
use crate::venue::{Venue, now_ms, places, slot_at_ten};

const DAY_MS: i64 = 86_400_000;

/// A schedule that was created two days ago, with a slot at ten every day, on a server of its own.
pub(crate) fn museum_of_yesterday() -> Venue {
    let store = Store::new();
    let clock = Clock::manual(Timestamp(now_ms() / DAY_MS * DAY_MS - 2 * DAY_MS));
    let engine = Engine::start(store.open(), clock, &Settings::default()).expect("an engine");
    let window = Window { start: Minute(600), end: Minute(720), capacity: 3, price: Money(100) };
    let create = CreateSchedule {
        id: "museum".to_owned(),
        name: "Museum".to_owned(),
        timezone: "UTC".to_owned(),
        currency: Currency(*b"TWD"),
        sales: SalesWindow::default(),
        rules: RulesPatch::default(),
        pattern: Pattern {
            windows: vec![window],
            days: 5,
            weekdays: (1..=7).collect(),
            closed_dates: Default::default(),
            keep_past_days: 7,
        },
    };
    let command =
        Command { by: Actor::default(), idempotency: None, action: Action::CreateSchedule(Box::new(create)) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let answer = runtime.block_on(engine.submit_to("default/schedule:museum", command)).expect("an answer");
    assert!(matches!(answer.outcome, Outcome::Granted(_)), "{answer:?}");
    engine.close().expect("a store in order");
    drop(engine);
    Venue { server: Arc::new(store.serve(&[])), kind: "schedule", id: "museum".to_owned() }
}

#[test]
fn a_slot_that_has_ended_is_past_and_the_window_rolls_by_itself() {
    let museum = museum_of_yesterday();
    let yesterday = slot_at_ten(-1);
    assert_eq!(museum.book(&places(&yesterday, 1)).told(), "409 SLOT_PAST");
    let slot = museum.slot(&yesterday);
    assert_eq!((&slot["status"], &slot["availability"]), (&json!("ACTIVE"), &json!("CLOSED")));
    // Made when the server started: two days further than on the day it was created.
    let last = crate::server::await_some("the window rolls", || {
        let day = crate::venue::day(4);
        let listed = museum.server.get(&museum.at(&format!("/slots?from={day}&to={day}"))).expect(200);
        listed["items"].as_array().expect("items").first().cloned()
    });
    assert_eq!(last["id"], slot_at_ten(4));
    assert_eq!(museum.book(&places(&slot_at_ten(4), 1)).status, 201);
    let later = museum.booked(&places(&slot_at_ten(3), 1));
    assert_eq!(museum.act(&later, "move", &json!({ "slot": yesterday })).told(), "409 SLOT_PAST");
}
