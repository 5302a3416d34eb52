//! `GET /v1/schedules/{id}/stream`.

use serde_json::json;

use crate::venue::{Venue, places, slot_at_ten};

#[test]
fn changes_carry_the_slots_as_they_are_listed() {
    let museum = Venue::museum(&json!({}));
    let mut stream = museum.stream();
    let snapshot = stream.expect("snapshot");
    assert_eq!(snapshot.id, Some(1));
    let listed = museum.server.get(&museum.at("/slots")).expect(200);
    assert_eq!(snapshot.data["slots"], listed["items"]);
    let slot = slot_at_ten(2);
    let hold = museum.booked(&places(&slot, 3));
    let change = stream.expect("change");
    assert_eq!(change.id, Some(2));
    assert_eq!(change.data["slots"], json!([museum.slot(&slot)]));
    museum.act(&hold, "move", &json!({ "slot": slot_at_ten(1) })).expect(200);
    let moved = stream.expect("change");
    assert_eq!(moved.data["slots"], json!([museum.slot(&slot_at_ten(1)), museum.slot(&slot)]));
    museum.server.call("DELETE", &museum.at(&format!("/slots/{slot}"))).send().expect(204);
    let removed = stream.expect("change");
    assert_eq!((&removed.data["slots"], &removed.data["removed"]), (&json!([]), &json!([slot])));
    let mut resumed = museum.stream_after(2);
    assert_eq!((resumed.expect("change"), resumed.expect("change")), (moved, removed));
    museum.server.get("/v1/schedules/none/stream").expect_problem(404, "SCHEDULE_NOT_FOUND");
}
