//! `POST /v1/schedules`, `GET` and `PATCH` of one.

use serde_json::{Value, json};

use crate::server::Server;
use crate::venue::{Venue, day, ms, schedule_body, slot_at_ten, today_at, unique, zone_at_noon};

fn slot_ids(museum: &Venue) -> Vec<String> {
    let listed = museum.server.get(&museum.at("/slots?limit=500")).expect(200);
    let items = listed["items"].as_array().expect("items").iter();
    items.map(|slot| slot["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn slots_are_made_for_so_many_days_from_today_in_the_zone_without_those_that_have_ended() {
    let (timezone, hours) = zone_at_noon();
    let windows = json!([
        { "start": "01:00", "end": "02:00", "capacity": 5 },
        { "start": "09:00", "end": "23:00", "capacity": 200, "price": 100 },
    ]);
    let museum = Venue::museum(&json!({ "timezone": timezone, "days": 3, "windows": windows }));
    let today = today_at(hours);
    let mut expected = vec![format!("{today}T09:00")];
    for after in 1..3 {
        let date = today + jiff::ToSpan::days(after);
        expected.extend([format!("{date}T01:00"), format!("{date}T09:00")]);
    }
    assert_eq!(slot_ids(&museum), expected);
    let slot = museum.slot(&expected[0]);
    let fields = json!({
        "id": expected[0], "date": today.to_string(), "start_time": "09:00", "end_time": "23:00",
        "starts_at": slot["starts_at"], "ends_at": slot["ends_at"], "total_capacity": 200, "booked_count": 0,
        "available_count": 200, "price": 100, "status": "ACTIVE", "availability": "AVAILABLE",
    });
    assert_eq!(slot, fields);
    assert_eq!(ms(&slot["ends_at"]) - ms(&slot["starts_at"]), 14 * 3_600_000);
}

#[test]
fn a_price_may_be_null() {
    let windows = json!([{ "start": "10:00", "end": "12:00", "capacity": 5, "price": null }]);
    let museum = Venue::museum(&json!({ "days": 2, "windows": windows }));
    assert_eq!(museum.slot(&slot_at_ten(1))["price"], 0);
    let windows = json!([{ "start": "10:00", "end": "11:00", "capacity": 5, "price": null }]);
    museum.patch(&json!({ "windows": windows })).expect(200);
    let slot =
        json!({ "date": day(1).to_string(), "start": "15:00", "end": "16:00", "capacity": 5, "price": null });
    museum.server.post(&museum.at("/slots"), &slot).expect(201);
}

#[test]
fn a_schedule_in_taipei_starts_eight_hours_earlier_in_utc() {
    let museum = Venue::museum(&json!({ "timezone": "Asia/Taipei", "days": 5 }));
    let slot = museum.slot(&format!("{}T10:00", day(2)));
    assert_eq!(slot["starts_at"], format!("{}T02:00:00.000Z", day(2)));
}

#[test]
fn closed_dates_and_other_weekdays_have_no_slots() {
    let (tomorrow, after) = (day(1), day(2));
    let weekday = after.weekday().to_monday_one_offset();
    let museum =
        Venue::museum(&json!({ "days": 9, "weekdays": [weekday], "closed_dates": [after.to_string()] }));
    assert_eq!(slot_ids(&museum), [""; 0]);
    museum.patch(&json!({ "closed_dates": [], "days": 30 })).expect(200);
    let open = slot_ids(&museum);
    assert!(
        open.contains(&format!("{after}T10:00")) && !open.contains(&format!("{tomorrow}T10:00")),
        "{open:?}"
    );
}

#[test]
fn a_schedule_is_shown_listed_and_patched() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let museum = Venue::create(
        &server,
        "schedule",
        &schedule_body(&unique("museum"), &json!({ "closed_dates": ["2027-01-01"] })),
    );
    let shown = museum.show();
    assert_eq!(
        (&shown["days"], &shown["keep_past_days"], &shown["timezone"]),
        (&json!(5), &json!(7), &json!("UTC"))
    );
    assert_eq!(shown["weekdays"], json!([1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(shown["closed_dates"], json!(["2027-01-01"]));
    assert_eq!(shown["rules"]["hold_ttl_seconds"], 600);
    assert_eq!(server.get("/v1/schedules").expect(200)["items"], json!([shown]));
    let patched = museum
        .patch(&json!({ "name": "Open house", "days": 6, "rules": { "tickets": "registered" } }))
        .expect(200);
    assert_eq!((&patched["name"], &patched["days"]), (&json!("Open house"), &json!(6)));
    assert_eq!(patched["rules"]["tickets"], "registered");
    assert_eq!(museum.show(), patched);
    museum.slot(&slot_at_ten(5));
    server.get("/v1/schedules/none").expect_problem(404, "SCHEDULE_NOT_FOUND");
    server.patch("/v1/schedules/none", &json!({})).expect_problem(404, "SCHEDULE_NOT_FOUND");
    let again = schedule_body(&museum.id, &json!({}));
    server.post("/v1/schedules", &again).expect_problem(409, "ALREADY_EXISTS");
}

#[test]
fn what_is_out_of_bounds_is_refused_by_its_place() {
    let server = Server::shared();
    let window = |start: &str, end: &str, capacity: u32| json!({ "windows": [{ "start": start, "end": end, "capacity": capacity }] });
    let rows: Vec<(Value, &str)> = vec![
        (json!({ "days": 0 }), "/days"),
        (json!({ "days": 731 }), "/days"),
        (json!({ "timezone": "Mars/Olympus" }), "/timezone"),
        (window("12:00", "10:00", 1), "/windows/0"),
        (window("10:00", "11:00", 0), "/windows/0/capacity"),
        (window("10", "11:00", 1), "/windows/0/start"),
        (window("10:00", "25:00", 1), "/windows/0/end"),
        (json!({ "weekdays": [0] }), "/weekdays"),
        (json!({ "weekdays": [8] }), "/weekdays"),
        (json!({ "closed_dates": ["2027-02-29"] }), "/closed_dates/0"),
        (json!({ "keep_past_days": 731 }), "/keep_past_days"),
    ];
    for (more, pointer) in rows {
        let told = server.post("/v1/schedules", &schedule_body(&unique("wrong"), &more)).pointer();
        assert!(told.starts_with(pointer), "{more}: {told}");
    }
    Venue::museum(&json!({ "days": 730 }));
}
