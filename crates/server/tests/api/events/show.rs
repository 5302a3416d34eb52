//! `GET /v1/events` and `GET /v1/events/{id}`.

use serde_json::json;

use crate::server::Server;
use crate::venue::{Venue, best, counts, ms, seats, section, unique, with};

#[test]
fn stats_and_sequence_follow_every_step_and_the_totals_include_areas() {
    let areas = json!({ "areas": [{ "name": "standing", "price": 100, "capacity": 5 }] });
    let hall = Venue::event(&with(section(1, 4), &areas));
    let shown = |sequence: u64, seats: [u64; 4], area: [u64; 4]| {
        let event = hall.show();
        assert_eq!(event["sequence"], sequence);
        assert_eq!(counts(&event["sections"][0]["stats"]), seats);
        assert_eq!(counts(&event["sections"][0]["subsections"][0]["stats"]), seats);
        assert_eq!(counts(&event["areas"][0]["stats"]), area);
        let both = std::array::from_fn(|index| seats[index] + area[index]);
        assert_eq!(counts(&event["stats"]), both);
    };
    shown(1, [4, 0, 0, 0], [5, 0, 0, 0]);
    let want = with(seats(&["1-1", "1-2"]), &json!({ "areas": [{ "name": "standing", "quantity": 3 }] }));
    let hold = hall.booked(&want);
    assert_eq!((&hold["sequence"], &hold["version"]), (&json!(2), &json!(1)));
    shown(2, [2, 2, 0, 0], [2, 3, 0, 0]);
    hall.server.post(&hall.at("/block"), &json!({ "section": "A-1", "seats": ["1-4"] })).expect(200);
    shown(3, [1, 2, 0, 1], [2, 3, 0, 0]);
    let paid = hall.act(&hold, "confirm", &json!({})).expect(200);
    assert_eq!((&paid["sequence"], &paid["version"]), (&json!(4), &json!(2)));
    shown(4, [1, 0, 2, 1], [2, 0, 3, 0]);
    hall.act(&hold, "cancel", &json!({})).expect(200);
    shown(5, [3, 0, 0, 1], [5, 0, 0, 0]);
}

#[test]
fn a_sell_out_is_timed_from_the_first_sale_to_the_last() {
    let hall = Venue::hall(1, 2);
    let first = hall.booked(&with(best(1), &json!({ "confirm": true })));
    let sellout = hall.show()["sellout"].clone();
    assert_eq!(sellout["first_sale_at"], first["confirmed_at"]);
    assert!(sellout["sold_out_at"].is_null() && sellout["seconds"].is_null(), "{sellout}");
    let last = hall.booked(&with(best(1), &json!({ "confirm": true })));
    let sellout = hall.show()["sellout"].clone();
    assert_eq!(sellout["sold_out_at"], last["confirmed_at"]);
    let seconds = (ms(&last["confirmed_at"]) - ms(&first["confirmed_at"])) as f64 / 1_000.0;
    assert_eq!(sellout["seconds"].as_f64(), Some(seconds));
}

#[test]
fn events_are_listed_in_the_order_they_were_made_and_others_are_not_found() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let made: Vec<String> = (0..3)
        .map(|_| {
            Venue::create(&server, "event", &crate::venue::event_body(&unique("listed"), &section(1, 1))).id
        })
        .collect();
    let page = |query: &str| {
        let page = server.get(&format!("/v1/events{query}")).expect(200);
        let ids: Vec<String> = page["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|one| one["id"].as_str().expect("an id").to_owned())
            .collect();
        (ids, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(page(""), (made.clone(), None));
    let (first, cursor) = page("?limit=2");
    assert_eq!(first, made[..2]);
    assert_eq!(
        page(&format!("?limit=2&cursor={}", cursor.expect("there is more"))),
        (made[2..].to_vec(), None)
    );
    assert_eq!(page("?limit=3").1, None, "nothing lies beyond");
    server.get("/v1/events/none").expect_problem(404, "EVENT_NOT_FOUND");
    server.get(&format!("/v1/schedules/{}", made[0])).expect_problem(404, "SCHEDULE_NOT_FOUND");
}
