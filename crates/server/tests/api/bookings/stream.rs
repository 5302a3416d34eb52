//! `GET /v1/bookings/{id}/stream`.

use serde_json::{Value, json};

use crate::client::Stream;
use crate::venue::{Venue, best, booking_url, seats, with};

fn watch(hall: &Venue, booking: &Value) -> Stream {
    hall.server.call("GET", &format!("{}/stream", booking_url(booking))).watch()
}

#[test]
fn the_current_state_comes_first_then_every_change_and_after_the_last_the_stream_closes() {
    let hall = Venue::hall(1, 4);
    let endings = [("cancel", "cancelled"), ("redeem", "redeemed")];
    for (verb, last) in endings {
        let hold = hall.booked(&best(1));
        let mut stream = watch(&hall, &hold);
        let first = stream.expect("booking");
        assert_eq!((&first.data["status"], &first.data["hold_token"]), (&json!("on_hold"), &Value::Null));
        assert_eq!(first.data["id"], hold["id"]);
        // Others' changes are no news.
        hall.booked(&with(seats(&["1-4"]), &json!({ "hold_ttl_seconds": 1 })));
        hall.act(&hold, "confirm", &json!({})).expect(200);
        assert_eq!(stream.expect("booking").data["status"], "confirmed");
        hall.act(&hold, "move", &seats(&["1-3"])).expect(200);
        assert_eq!(stream.expect("booking").data["seats"][0]["seat"], "1-3");
        let body = if verb == "redeem" { json!({ "redeem_code": hold["redeem_code"] }) } else { json!({}) };
        hall.act(&hold, verb, &body).expect(200);
        let ended = stream.expect("booking");
        assert_eq!((&ended.data["status"], &ended.data["version"]), (&json!(last), &json!(4)));
        assert_eq!(stream.next(), None);
        let mut again = watch(&hall, &hold);
        assert_eq!(again.expect("booking").data["status"], last);
        assert_eq!(again.next(), None);
        let others = hall.server.get(&format!("/v1/bookings?event={}&status=on_hold", hall.id)).expect(200);
        for other in others["items"].as_array().expect("items") {
            hall.act(other, "cancel", &json!({}));
        }
        if verb == "cancel" {
            assert_eq!(hall.seats(), ["...."]);
        }
    }
}

#[test]
fn the_stream_of_a_hold_closes_when_it_expires() {
    let hall = Venue::hall(1, 4);
    let hold = hall.booked(&with(best(1), &json!({ "hold_ttl_seconds": 1 })));
    let mut stream = watch(&hall, &hold);
    assert_eq!(stream.expect("booking").data["status"], "on_hold");
    assert_eq!(stream.expect("booking").data["status"], "expired");
    assert_eq!(stream.next(), None);
}
