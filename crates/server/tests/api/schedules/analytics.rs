//! `GET /v1/schedules/{id}/analytics`.

use serde_json::json;

use crate::venue::{Venue, day, places, slot_at_ten};

#[test]
fn rates_are_in_percent_with_start_times_highest_first() {
    let windows = json!([
        { "start": "10:00", "end": "12:00", "capacity": 200 },
        { "start": "14:00", "end": "16:00", "capacity": 2 },
        { "start": "18:00", "end": "20:00", "capacity": 10 },
    ]);
    let museum = Venue::museum(&json!({ "windows": windows, "rules": { "max_units_per_booking": 100 } }));
    museum.booked(&places(&slot_at_ten(1), 40));
    let cancelled = museum.booked(&places(&slot_at_ten(1), 9));
    museum.act(&cancelled, "cancel", &json!({})).expect(200);
    let paid = museum.booked(&places(&slot_at_ten(1), 5));
    museum.act(&paid, "confirm", &json!({})).expect(200);
    museum.booked(&places(&format!("{}T14:00", day(1)), 2));
    let report = museum.server.get(&museum.at(&format!("/analytics?from={0}&to={0}", day(1)))).expect(200);
    let slot = |start: &str, capacity: u32, booked: u32, rate: f64, fill: f64, velocity: [f64; 2]| {
        json!({
            "id": format!("{}T{start}", day(1)), "date": day(1).to_string(), "start_time": start,
            "total_capacity": capacity, "booked_count": booked, "utilization_rate": rate,
            "fill_rate": fill, "booking_velocity": velocity[0], "booking_velocity_net": velocity[1],
        })
    };
    // 54 places in 24 hours, and 9 of them cancelled.
    let expected = json!([
        slot("10:00", 200, 45, 22.5, 0.0, [2.25, 1.875]),
        slot("14:00", 2, 2, 100.0, 100.0, [2.0 / 24.0; 2]),
        slot("18:00", 10, 0, 0.0, 0.0, [0.0; 2]),
    ]);
    assert_eq!(report["slots"], expected);
    // 47 of 212 places.
    assert_eq!(report["days"], json!([{ "date": day(1).to_string(), "utilization_rate": 22.17 }]));
    let start = |start: &str, rate: f64| json!({ "start_time": start, "utilization_rate": rate });
    assert_eq!(
        report["start_times"],
        json!([start("14:00", 100.0), start("10:00", 22.5), start("18:00", 0.0)])
    );
}

#[test]
fn rate_of_start_time_is_mean_of_exact_rates_and_velocity_counts_places() {
    let windows = json!([{ "start": "10:00", "end": "12:00", "capacity": 6 }]);
    let museum = Venue::museum(&json!({ "windows": windows }));
    museum.booked(&places(&slot_at_ten(1), 1));
    let cancelled = museum.booked(&places(&slot_at_ten(2), 3));
    museum.act(&cancelled, "cancel", &json!({})).expect(200);
    let report =
        museum.server.get(&museum.at(&format!("/analytics?from={}&to={}", day(1), day(2)))).expect(200);
    // A sixth and nothing: 8.333, where a sixth alone is 16.67.
    assert_eq!(report["start_times"], json!([{ "start_time": "10:00", "utilization_rate": 8.33 }]));
    let of_slots = |field: &str| [0, 1].map(|slot| report["slots"][slot][field].as_f64().expect("a number"));
    assert_eq!(of_slots("utilization_rate"), [16.67, 0.0]);
    assert_eq!(of_slots("booking_velocity"), [1.0 / 24.0, 0.125]);
    assert_eq!(of_slots("booking_velocity_net"), [1.0 / 24.0, 0.0]);
}

#[test]
fn a_report_is_of_the_days_asked_for() {
    let museum = Venue::museum(&json!({}));
    let days = |query: &str| {
        let report = museum.server.get(&museum.at(&format!("/analytics{query}"))).expect(200);
        report["days"].as_array().expect("days").len()
    };
    assert_eq!(days(&format!("?from={}&to={}", day(1), day(3))), 3);
    assert_eq!(days(&format!("?from={}", day(3))), 2);
    assert_eq!(days("?from=2020-01-01&to=2020-12-31"), 0);
    museum.server.get(&museum.at("/analytics?from=yesterday")).expect_problem(400, "INVALID_REQUEST");
    museum.server.get("/v1/schedules/none/analytics").expect_problem(404, "SCHEDULE_NOT_FOUND");
}
