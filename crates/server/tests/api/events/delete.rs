//! `DELETE /v1/events/{id}`.

use serde_json::{Value, json};

use crate::venue::{Venue, best, event_body, section};

#[test]
fn deleted_event_is_gone_from_every_route_and_its_id_stays_taken() {
    let hall = Venue::hall(1, 4);
    let mut stream = hall.stream();
    stream.expect("snapshot");
    let delete = || hall.server.call("DELETE", &hall.at("")).key("gone").send();
    assert_eq!(delete().status, 204);
    let again = delete();
    assert_eq!((again.status, again.is_replay()), (204, true), "the key remembers");
    assert_eq!(stream.next(), None, "its streams end");
    for path in ["", "/seats", "/seats?section=A-1", "/seats/A-1/1-1", "/stream"] {
        hall.server.get(&hall.at(path)).expect_problem(404, "EVENT_NOT_FOUND");
    }
    hall.book(&best(1)).expect_problem(404, "EVENT_NOT_FOUND");
    hall.patch(&json!({ "name": "Gala" })).expect_problem(404, "EVENT_NOT_FOUND");
    hall.server.call("DELETE", &hall.at("")).send().expect_problem(404, "EVENT_NOT_FOUND");
    let cancel = hall.server.post(&hall.at("/cancel"), &json!({ "reason": "storm" }));
    cancel.expect_problem(404, "EVENT_NOT_FOUND");
    let again = hall.server.post("/v1/events", &event_body(&hall.id, &section(1, 1)));
    again.expect_problem(409, "ALREADY_EXISTS");
    let journal = hall.server.get(&format!("/v1/journal?inventory=event:{}", hall.id)).expect(200);
    assert!(journal.to_string().contains("event_deleted"), "the journal stays: {journal}");
    let page = hall.server.call("GET", &format!("/events/{}", hall.id)).header("Accept", "text/html").send();
    assert_eq!(page.status, 404);
}

#[test]
fn event_with_a_booking_is_not_deleted_even_after_it_ended() {
    let hall = Venue::hall(1, 4);
    let hold = hall.booked(&best(1));
    let delete = || hall.server.call("DELETE", &hall.at("")).send();
    delete().expect_problem(409, "EVENT_HAS_BOOKINGS");
    hall.act(&hold, "cancel", &json!({})).expect(200);
    delete().expect_problem(409, "EVENT_HAS_BOOKINGS");
    assert_eq!(hall.show()["status"], "open");
}

#[test]
fn lists_leave_deleted_events_out_and_keep_their_pages_full() {
    let server = std::sync::Arc::new(crate::server::Server::start(&[]));
    let ids = ["e1", "e2", "e3", "e4", "e5"];
    for id in ids {
        Venue::create(&server, "event", &event_body(id, &section(1, 1)));
    }
    for id in ["e1", "e3", "e4"] {
        assert_eq!(server.call("DELETE", &format!("/v1/events/{id}")).send().status, 204);
    }
    let ids_of = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|event| event["id"].as_str().expect("an id").to_owned()).collect()
    };
    let first = server.get("/v1/events?limit=1").expect(200);
    assert_eq!(ids_of(&first), ["e2"]);
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let second = server.get(&format!("/v1/events?limit=1&cursor={cursor}")).expect(200);
    assert_eq!((ids_of(&second), &second["next_cursor"]), (vec!["e5".to_owned()], &Value::Null));
    assert_eq!(ids_of(&server.get("/v1/events").expect(200)), ["e2", "e5"]);
}
