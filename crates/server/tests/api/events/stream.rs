//! `GET /v1/events/{id}/stream`.

use std::sync::Arc;

use serde_json::json;

use crate::client::Stream;
use crate::server::Server;
use crate::venue::{
    Venue, best, boxes, counts, event_body, places, schedule_body, seats, section, slot_at_ten, with,
};

#[test]
fn a_snapshot_comes_first_and_then_exactly_one_change_per_sequence() {
    let areas = json!({ "areas": [{ "name": "standing", "price": 100, "capacity": 5 }] });
    let hall = Venue::event(&with(section(1, 4), &areas));
    let mut stream = hall.stream();
    let snapshot = stream.expect("snapshot");
    assert_eq!(snapshot.id, Some(1));
    assert_eq!(snapshot.data["sequence"], 1);
    assert_eq!(counts(&snapshot.data["stats"]), [9, 0, 0, 0]);
    assert_eq!(snapshot.data["sections"][0]["seats"], json!(["...."]));
    assert_eq!(snapshot.data["areas"][0]["name"], "standing");

    let hold =
        hall.booked(&with(seats(&["1-2"]), &json!({ "areas": [{ "name": "standing", "quantity": 2 }] })));
    hall.act(&hold, "confirm", &json!({})).expect(200);
    hall.server.post(&hall.at("/block"), &json!({ "section": "A-1", "seats": ["1-4"] })).expect(200);
    hall.patch(&json!({ "name": "Renamed" })).expect(200);
    hall.act(&hold, "cancel", &json!({})).expect(200);
    let rows = [
        (2, json!([{ "section": "A-1", "seat": "1-2", "state": "held" }]), [6, 3, 0, 0]),
        (3, json!([{ "section": "A-1", "seat": "1-2", "state": "sold" }]), [6, 0, 3, 0]),
        (4, json!([{ "section": "A-1", "seat": "1-4", "state": "blocked" }]), [5, 0, 3, 1]),
        (5, json!([]), [5, 0, 3, 1]),
        (6, json!([{ "section": "A-1", "seat": "1-2", "state": "available" }]), [8, 0, 0, 1]),
    ];
    for (sequence, seats, stats) in rows {
        let change = stream.expect("change");
        assert_eq!((change.id, &change.data["sequence"]), (Some(sequence), &json!(sequence)));
        assert_eq!(change.data["seats"], seats);
        assert_eq!(counts(&change.data["stats"]), stats);
        let areas = change.data["areas"].as_array().expect("areas").len();
        assert_eq!(areas, usize::from([2, 3, 6].contains(&sequence)), "only areas that changed");
    }
}

#[test]
fn snapshot_has_the_status_and_a_change_has_it_if_it_changed() {
    let hall = Venue::hall(1, 2);
    let mut stream = hall.stream();
    assert_eq!(stream.expect("snapshot").data["status"], "open");

    hall.booked(&best(1));
    hall.patch(&json!({ "status": "closed" })).expect(200);
    hall.patch(&json!({ "status": "open" })).expect(200);
    hall.server.post(&hall.at("/cancel"), &json!({ "reason": "storm", "dry_run": true })).expect(200);
    hall.server.post(&hall.at("/cancel"), &json!({ "reason": "storm" })).expect(200);
    for status in [json!(null), json!("closed"), json!("open"), json!("cancelled")] {
        let change = stream.expect("change");
        assert_eq!(change.data["status"], status, "{}", change.data);
    }
    assert_eq!(hall.stream().expect("snapshot").data["status"], "cancelled");
}

#[test]
fn one_change_names_the_seats_of_several_sections_in_order() {
    let section =
        |name| json!({ "name": name, "price": 1, "subsections": [{ "number": 1, "rows": 2, "cols": 40 }] });
    let hall = Venue::event(&json!({ "sections": [section("A"), section("\"B\"")] }));
    let mut stream = hall.stream();
    stream.expect("snapshot");
    hall.booked(&json!({ "seats": [
        { "section": "\"B\"-1", "ids": ["2-2"] },
        { "section": "A-1", "ids": ["2-33", "1-32", "2-1"] },
    ] }));
    let held = [("A-1", "1-32"), ("A-1", "2-1"), ("A-1", "2-33"), ("\"B\"-1", "2-2")]
        .map(|(section, seat)| json!({ "section": section, "seat": seat, "state": "held" }));
    assert_eq!(stream.expect("change").data["seats"], json!(held));
}

#[test]
fn an_expired_hold_is_a_change_of_its_own() {
    let hall = Venue::hall(1, 2);
    let mut stream = hall.stream();
    stream.expect("snapshot");
    hall.booked(&with(best(1), &json!({ "hold_ttl_seconds": 1 })));
    assert_eq!(stream.expect("change").data["seats"][0]["state"], "held");
    let freed = stream.expect("change");
    assert_eq!(freed.id, Some(3));
    assert_eq!(freed.data["seats"], json!([{ "section": "A-1", "seat": "1-1", "state": "available" }]));
}

#[test]
fn hundreds_of_watchers_of_a_busy_hall_miss_nothing_and_see_nothing_twice() {
    let hall = Venue::hall(10, 10);
    let mut streams: Vec<Stream> = (0..450).map(|_| hall.stream()).collect();
    for stream in &mut streams {
        stream.expect("snapshot");
    }
    let last = 41;
    for _ in 1..last {
        hall.booked(&best(1));
    }
    let expected: Vec<u64> = (2..=last).collect();
    for stream in &mut streams {
        assert_eq!(ids_to(stream, last), expected);
    }
}

fn ids_to(stream: &mut Stream, last: u64) -> Vec<u64> {
    let mut ids = Vec::new();
    while ids.last() != Some(&last) {
        ids.push(stream.expect("change").id.expect("changes have ids"));
    }
    ids
}

#[test]
fn a_stream_resumes_after_the_last_id_without_a_gap() {
    let hall = Venue::hall(10, 10);
    let mut stream = hall.stream();
    stream.expect("snapshot");
    for _ in 0..10 {
        hall.booked(&best(1));
    }
    assert_eq!(ids_to(&mut stream, 11), (2..=11).collect::<Vec<_>>());
    // Whether others watch or nobody does.
    assert_eq!(ids_to(&mut hall.stream_after(5), 11), (6..=11).collect::<Vec<_>>());
    drop(stream);
    for _ in 0..5 {
        hall.booked(&best(1));
    }
    assert_eq!(ids_to(&mut hall.stream_after(7), 16), (8..=16).collect::<Vec<_>>());
    let mut newest = hall.stream_after(16);
    hall.booked(&best(1));
    assert_eq!(newest.expect("change").id, Some(17), "nothing is sent twice");
}

#[test]
fn whoever_saw_a_new_event_resumes_after_its_first_snapshot() {
    let hall = Venue::hall(1, 4);
    let mut stream = hall.stream();
    assert_eq!(stream.expect("snapshot").id, Some(1));
    drop(stream);
    hall.booked(&best(1));
    hall.booked(&best(1));
    assert_eq!(ids_to(&mut hall.stream_after(1), 3), [2, 3]);
}

#[test]
fn whoever_left_off_before_a_restart_is_told_the_same_changes_after_it() {
    let server = Arc::new(Server::start(&[]));
    let shop = json!({
        "id": "bakery", "name": "Bakery", "timezone": "UTC", "currency": "TWD",
        "rules": { "max_active_bookings_per_customer": null },
    });
    let hall = Venue::create(&server, "event", &event_body("gala", &section(2, 4)));
    let museum = Venue::create(&server, "schedule", &schedule_body("museum", &json!({})));
    let bakery = Venue::create(&server, "shop", &shop);
    bakery.add_box(&json!({}));
    let venues = [(hall, seats(&["1-2"]), 1), (museum, places(&slot_at_ten(2), 3), 1), (bakery, boxes(1), 2)];
    let told: Vec<_> = venues
        .iter()
        .map(|(venue, want, begun)| {
            let mut stream = venue.stream_after(*begun);
            let hold = venue.booked(want);
            venue.act(&hold, "confirm", &json!({})).expect(200);
            venue.act(&hold, "cancel", &json!({})).expect(200);
            [stream.expect("change"), stream.expect("change"), stream.expect("change")]
        })
        .collect();
    let venues = venues.map(|(venue, _, begun)| (venue.kind, venue.id, begun));
    let server = Arc::into_inner(server).expect("the venues are gone");
    let server = Arc::new(server.kill().serve(&[]));
    for ((kind, id, begun), told) in venues.into_iter().zip(told) {
        let venue = Venue { server: Arc::clone(&server), kind, id };
        let mut newest = venue.stream();
        assert_eq!(newest.expect("snapshot").id, Some(begun + 3), "{kind}");
        // The later one first: what was made for it does not reach back far enough for the other.
        for left_off in [2, 0, 1] {
            let mut stream = venue.stream_after(begun + left_off as u64);
            for change in &told[left_off..] {
                assert_eq!(&stream.expect("change"), change, "{kind} after {left_off}");
            }
        }
    }
}

#[test]
fn another_watcher_who_came_later_does_not_keep_anybody_from_resuming() {
    let hall = Venue::hall(10, 10);
    for _ in 0..10 {
        hall.booked(&best(1));
    }
    let mut late = hall.stream();
    assert_eq!(late.expect("snapshot").id, Some(11));
    assert_eq!(ids_to(&mut hall.stream_after(4), 11), (5..=11).collect::<Vec<_>>());
}

#[test]
fn who_unpacks_is_told_the_same() {
    let hall = Venue::hall(10, 20);
    let stream_of = |coding: &str, last: &str| {
        let call = hall.server.call("GET", &hall.at("/stream")).header("Last-Event-ID", last);
        let asked = match coding {
            "zstd" => call.header("Accept-Encoding", "gzip, zstd").header("Sec-Fetch-Site", "same-origin"),
            other => call.header("Accept-Encoding", other),
        };
        let stream = asked.watch();
        assert_eq!(stream.coding.as_deref(), Some(coding));
        stream
    };
    let mut plain = hall.stream();
    assert_eq!(plain.coding, None);
    let mut packed = ["gzip", "zstd"].map(|coding| stream_of(coding, ""));
    let snapshot = plain.expect("snapshot");
    packed.iter_mut().for_each(|stream| assert_eq!(stream.expect("snapshot"), snapshot));
    for _ in 0..10 {
        hall.booked(&best(1));
    }
    let mut changes = Vec::new();
    for sequence in 2..=11 {
        let change = plain.expect("change");
        packed.iter_mut().for_each(|stream| assert_eq!(stream.expect("change"), change));
        assert_eq!(change.id, Some(sequence));
        changes.push(change);
    }
    // Who comes back is sent what others have been sent already, and in the middle of what they were sent in one piece.
    for coding in ["gzip", "zstd"] {
        for last in [1, 4, 10] {
            let mut back = stream_of(coding, &last.to_string());
            for change in &changes[last - 1..] {
                assert_eq!(&back.expect("change"), change);
            }
        }
    }
}

#[test]
fn an_id_that_is_none_of_ours_starts_again_with_a_snapshot() {
    let hall = Venue::hall(1, 4);
    hall.booked(&best(1));
    for unknown in ["3", "18446744073709551615", "-1", "abc", ""] {
        let mut stream =
            hall.server.call("GET", &hall.at("/stream")).header("Last-Event-ID", unknown).watch();
        assert_eq!(stream.expect("snapshot").id, Some(2), "{unknown:?}");
    }
    hall.server.get("/v1/events/none/stream").expect_problem(404, "EVENT_NOT_FOUND");
}

#[test]
fn what_streams_tell_adds_up_to_what_is_there() {
    let hall = Venue::hall(5, 10);
    let mut stream = hall.stream();
    let snapshot = stream.expect("snapshot");
    let mut picture: Vec<Vec<u8>> = snapshot.data["sections"][0]["seats"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row.as_str().expect("a row").as_bytes().to_vec())
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..6 {
                    let hold = hall.booked(&best(2));
                    let verb = if round % 2 == 0 { "cancel" } else { "confirm" };
                    hall.act(&hold, verb, &json!({})).expect(200);
                }
            });
        }
    });
    let reached = hall.show()["sequence"].as_u64().expect("a sequence");
    for sequence in 2..=reached {
        let change = stream.expect("change");
        assert_eq!(change.id, Some(sequence));
        for seat in change.data["seats"].as_array().expect("seats") {
            let (row, number) = seat["seat"].as_str().expect("a seat").split_once('-').expect("row-seat");
            let at = |text: &str| text.parse::<usize>().expect("a number") - 1;
            let letter = match seat["state"].as_str().expect("a state") {
                "available" => b'.',
                "held" => b'h',
                "sold" => b's',
                other => panic!("nobody made a seat {other}"),
            };
            picture[at(row)][at(number)] = letter;
        }
    }
    let picture: Vec<String> =
        picture.into_iter().map(|row| String::from_utf8(row).expect("letters")).collect();
    assert_eq!(picture, hall.seats());
}
