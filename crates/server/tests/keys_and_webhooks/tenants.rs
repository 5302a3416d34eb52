//! Two tenants of one server, whose bookings have the same ids.

use serde_json::{Value, json};

use crate::keys::plant_key;
use crate::server::{Server, text};

const CHOSEN: &str = "6f1c1f44-6d1d-4b7e-9d4e-1f0a3c5b7d90";

#[test]
fn one_booking_id_of_two_tenants_is_two_bookings() {
    let data = tempfile::tempdir().unwrap();
    let house = plant_key(data.path(), "default");
    let guest = plant_key(data.path(), "elsewhere");
    let server = Server::start(data.path(), &[]);
    for (key, event) in [(&house, "gala"), (&guest, "gala"), (&house, "fair")] {
        let event = json!({ "id": event, "name": "Gala", "currency": "TWD",
            "areas": [{ "name": "floor", "price": 0, "capacity": 5 }] });
        server.post(Some(key), "/v1/events", &event).expect(201);
    }
    let request = |id: Option<&str>, event: &str, customer: &str| {
        json!({ "id": id, "customer": customer, "event": event,
            "areas": [{ "name": "floor", "quantity": 1 }] })
    };
    let own = server.post(Some(&house), "/v1/bookings", &request(None, "gala", "ann")).expect(201);
    let generated = text(&own["id"]);

    for id in [CHOSEN, generated.as_str()] {
        let path = format!("/v1/bookings/{id}");
        let customer = |key: &str| server.get(Some(key), &path).expect(200)["customer"].clone();
        let status = |key: &str| server.get(Some(key), &path).expect(200)["status"].clone();
        if id == CHOSEN {
            server.post(Some(&house), "/v1/bookings", &request(Some(id), "gala", "ann")).expect(201);
        }
        assert_eq!(server.get(Some(&guest), &path).code(404), "BOOKING_NOT_FOUND", "not yet");
        server.post(Some(&guest), "/v1/bookings", &request(Some(id), "gala", "bob")).expect(201);
        assert_eq!((customer(&house), customer(&guest)), (json!("ann"), json!("bob")));
        let taken = server.post(Some(&house), "/v1/bookings", &request(Some(id), "fair", "cho"));
        assert_eq!(taken.code(409), "BOOKING_ID_TAKEN", "the tenant has it");

        let audit = format!("/v1/audit?booking={id}");
        let acts = |key: &str| server.get(Some(key), &audit).expect(200)["items"].as_array().unwrap().len();
        server.post(Some(&guest), &format!("{path}/cancel"), &json!({})).expect(200);
        assert_eq!((status(&house), status(&guest)), (json!("on_hold"), json!("cancelled")));
        assert_eq!((acts(&house), acts(&guest)), (1, 2));
        let confirm = json!({ "commands": [{ "op": "confirm", "id": id }] });
        let confirmed = server.post(Some(&house), "/v1/batch", &confirm).expect(200);
        assert_eq!(confirmed["results"][0]["status"], 200, "{confirmed}");
        assert_eq!((status(&house), status(&guest)), (json!("confirmed"), json!("cancelled")));
    }
    server.kill();
    let server = Server::start(data.path(), &[]);
    for (key, customer) in [(&house, "ann"), (&guest, "bob")] {
        let listed = server.get(Some(key), "/v1/bookings").expect(200);
        let listed: Vec<(&Value, &Value)> =
            listed["items"].as_array().unwrap().iter().map(|item| (&item["id"], &item["customer"])).collect();
        assert_eq!(listed.len(), 2);
        for id in [CHOSEN, generated.as_str()] {
            let shown = server.get(Some(key), &format!("/v1/bookings/{id}")).expect(200);
            assert_eq!(shown["customer"], customer);
            assert!(listed.contains(&(&json!(id), &json!(customer))), "{listed:?}");
        }
    }
}

#[test]
fn hold_token_of_one_tenant_does_not_open_anothers_booking_of_the_same_id() {
    let data = tempfile::tempdir().unwrap();
    let house = plant_key(data.path(), "default");
    let guest = plant_key(data.path(), "elsewhere");
    let server = Server::start(data.path(), &[]);
    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD",
        "areas": [{ "name": "floor", "price": 0, "capacity": 5 }] });
    let booking = json!({ "id": CHOSEN, "customer": "ann", "event": "gala",
        "areas": [{ "name": "floor", "quantity": 1 }] });
    let holds = [&house, &guest].map(|admin| {
        server.post(Some(admin), "/v1/events", &event).expect(201);
        let public = server.post(Some(admin), "/v1/keys", &json!({ "role": "public" })).expect(201);
        let public = text(&public["key"]);
        let hold = server.post(Some(&public), "/v1/bookings", &booking).expect(201);
        (public, text(&hold["hold_token"]))
    });
    let [(house, token), (guest, others_token)] = holds;
    assert_ne!(token, others_token);
    let path = format!("/v1/bookings/{CHOSEN}");
    for (key, token, expected) in [
        (&house, &others_token, 403),
        (&guest, &token, 403),
        (&house, &token, 200),
        (&guest, &others_token, 200),
    ] {
        assert_eq!(server.get_with_token(key, &path, token).status, expected);
    }
}
