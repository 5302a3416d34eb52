//! Who may make keys, what is kept of them, and what becomes of them.

use std::path::Path;

use boxoffice_engine::{Engine, Settings};
use serde_json::{Value, json};

use crate::server::{Server, store_in, text, wait_for};

#[test]
fn only_admins_make_list_and_revoke_keys() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let admin = server.first_key();
    let webhook = json!({ "url": "https://example.com/hook", "events": ["booking.held"] });
    for role in ["operator", "seller", "public"] {
        let made = server.post(Some(&admin), "/v1/keys", &json!({ "role": role })).expect(201);
        assert_eq!(
            (&made["role"], &made["name"], &made["tenant"]),
            (&json!(role), &Value::Null, &json!("default"))
        );
        let key = text(&made["key"]);
        let id = text(&made["id"]);
        let refused = [
            server.post(Some(&key), "/v1/keys", &json!({ "role": "admin" })),
            server.get(Some(&key), "/v1/keys"),
            server.delete(Some(&key), &format!("/v1/keys/{id}")),
            server.post(Some(&key), "/v1/webhooks", &webhook),
            server.get(Some(&key), "/v1/webhooks"),
            server.get(Some(&key), "/v1/webhooks/wh_x"),
            server.get(Some(&key), "/v1/webhooks/wh_x/deliveries"),
            server.post(Some(&key), "/v1/webhooks/wh_x/deliveries/msg_x/replay", &json!({})),
            server.delete(Some(&key), "/v1/webhooks/wh_x"),
            server.get(Some(&key), "/v1/journal?inventory=event:gala"),
        ];
        for answer in refused {
            assert_eq!(answer.code(403), "FORBIDDEN", "{role}");
        }
        // Only those who run sales may ask who did what.
        let audit = server.get(Some(&key), "/v1/audit?booking=00000000-0000-0000-0000-000000000000");
        let expected = if role == "operator" { (404, "BOOKING_NOT_FOUND") } else { (403, "FORBIDDEN") };
        assert_eq!(audit.code(expected.0), expected.1, "{role}");
    }
    assert_eq!(server.get(None, "/v1/keys").code(401), "UNAUTHENTICATED");
    let listed = server.get(Some(&admin), "/v1/keys").expect(200);
    let roles: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|key| key["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["admin", "operator", "seller", "public"]);
    assert!(listed["items"].as_array().unwrap().iter().all(|key| key.get("key").is_none()));
    let first = server.get(Some(&admin), "/v1/keys?limit=3").expect(200);
    let rest =
        server.get(Some(&admin), &format!("/v1/keys?cursor={}", text(&first["next_cursor"]))).expect(200);
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (1, &Value::Null));
}

#[test]
fn a_revoked_key_opens_nothing_and_other_tenants_keys_are_not_found() {
    let data = tempfile::tempdir().unwrap();
    let stranger = plant_key(data.path(), "elsewhere");
    let ours = plant_key(data.path(), "default");
    let server = Server::start(data.path(), &["--webhooks-allow-insecure"]);
    let made = server.post(Some(&ours), "/v1/keys", &json!({ "role": "seller", "name": "till" })).expect(201);
    let path = format!("/v1/keys/{}", text(&made["id"]));
    let key = text(&made["key"]);
    server.get(Some(&key), "/v1/events").expect(200);
    assert_eq!(server.delete(Some(&stranger), &path).code(404), "KEY_NOT_FOUND");
    assert_eq!(server.delete(Some(&ours), "/v1/keys/nobody").code(404), "KEY_NOT_FOUND");
    server.delete(Some(&ours), &path).expect(204);
    assert_eq!(server.get(Some(&key), "/v1/events").code(401), "UNAUTHENTICATED");
    let keys = server.get(Some(&stranger), "/v1/keys").expect(200);
    assert_eq!(keys["items"].as_array().unwrap().len(), 1);

    let webhook = json!({ "url": "http://127.0.0.1:9/", "events": ["booking.held"] });
    let id = text(&server.post(Some(&ours), "/v1/webhooks", &webhook).expect(201)["id"]);
    let path = format!("/v1/webhooks/{id}");
    assert_eq!(server.get(Some(&stranger), &path).code(404), "WEBHOOK_NOT_FOUND");
    assert_eq!(server.get(Some(&stranger), &format!("{path}/deliveries")).code(404), "WEBHOOK_NOT_FOUND");
    assert_eq!(server.delete(Some(&stranger), &path).code(404), "WEBHOOK_NOT_FOUND");
    server.get(Some(&ours), &path).expect(200);

    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD",
        "areas": [{ "name": "floor", "price": 0, "capacity": 5 }] });
    server.post(Some(&ours), "/v1/events", &event).expect(201);
    let journal = "/v1/journal?inventory=event:gala";
    server.get(Some(&ours), journal).expect(200);
    assert_eq!(server.get(Some(&stranger), journal).code(404), "EVENT_NOT_FOUND");
    let booking =
        json!({ "customer": "ann", "event": "gala", "areas": [{ "name": "floor", "quantity": 1 }] });
    let booking = text(&server.post(Some(&ours), "/v1/bookings", &booking).expect(201)["id"]);
    let audit = format!("/v1/audit?booking={booking}");
    server.get(Some(&ours), &audit).expect(200);
    assert_eq!(server.get(Some(&stranger), &audit).code(404), "BOOKING_NOT_FOUND");
}

#[test]
fn a_retry_gets_the_same_key_and_the_same_webhook_byte_for_byte() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--webhooks-allow-insecure"]);
    let admin = server.first_key();
    let webhook = json!({ "url": "http://127.0.0.1:9/", "events": ["booking.held"] });
    let other_webhook = json!({ "url": "http://127.0.0.1:9/", "events": ["booking.moved"] });
    let rows = [
        ("/v1/keys", json!({ "role": "seller", "name": "till" }), json!({ "role": "admin", "name": "till" })),
        ("/v1/webhooks", webhook, other_webhook),
    ];
    let mut firsts = Vec::new();
    for (path, request, other) in &rows {
        let first = server.post_once(Some(&admin), path, request, "order-1");
        first.expect(201);
        let again = server.post_once(Some(&admin), path, request, "\"order-1\"");
        again.expect(201);
        assert_eq!(first.text, again.text);
        assert_eq!((first.is_replayed(), again.is_replayed()), (false, true));
        let reused = server.post_once(Some(&admin), path, other, "order-1");
        assert_eq!(reused.code(422), "IDEMPOTENCY_KEY_REUSED");
        let another = server.post_once(Some(&admin), path, request, "order-2");
        assert_ne!(another.expect(201)["id"], first.json()["id"]);
        firsts.push(first.text);
    }
    server.kill();
    let server = Server::start(data.path(), &["--webhooks-allow-insecure"]);
    for ((path, request, _), first) in rows.iter().zip(firsts) {
        assert_eq!(server.post_once(Some(&admin), path, request, "order-1").text, first);
    }
}

#[test]
fn key_is_not_shown_again_after_its_first_use_or_revocation() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let admin = server.first_key();
    let request = json!({ "role": "seller" });
    let make = |server: &Server, order: &str| server.post_once(Some(&admin), "/v1/keys", &request, order);
    let used = text(&make(&server, "used").expect(201)["key"]);
    let revoked = text(&make(&server, "revoked").expect(201)["id"]);
    make(&server, "kept").expect(201);
    for order in ["used", "revoked", "kept"] {
        assert!(make(&server, order).is_replayed(), "{order}: a lost answer is repeated");
    }
    let wrong = format!("{used}x");
    assert_eq!(server.get(Some(&wrong), "/v1/events").code(401), "UNAUTHENTICATED");
    assert!(make(&server, "used").is_replayed(), "a wrong secret is no use");
    server.get(Some(&used), "/v1/events").expect(200);
    server.delete(Some(&admin), &format!("/v1/keys/{revoked}")).expect(204);
    let check = |server: &Server| {
        for order in ["used", "revoked"] {
            let again = make(server, order);
            assert_eq!(again.code(409), "SECRET_NO_LONGER_SHOWN", "{order}");
            assert!(!again.text.contains("bo_"), "{}", again.text);
        }
        assert!(make(server, "kept").is_replayed());
        let other = server.post_once(Some(&admin), "/v1/keys", &json!({ "role": "public" }), "used");
        assert_eq!(other.code(422), "IDEMPOTENCY_KEY_REUSED");
    };
    check(&server);
    // No request waits for the note of the first use: a crash may come before it.
    let mut server = Some(server);
    wait_for("the first use to be kept", || {
        server.take().expect("it runs").kill();
        let next = server.insert(Server::start(data.path(), &[]));
        let is_kept = make(next, "used").status == 409;
        next.get(Some(&used), "/v1/events").expect(200);
        is_kept.then_some(())
    });
    check(server.as_ref().expect("it runs"));
}

#[test]
fn the_store_has_no_secret_that_was_handed_out() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--webhooks-allow-insecure"]);
    let admin = server.first_key();
    let made = server.post(Some(&admin), "/v1/keys", &json!({ "role": "seller" })).expect(201);
    let webhook = json!({ "url": "http://127.0.0.1:9/", "events": ["booking.held"] });
    let webhook = server.post(Some(&admin), "/v1/webhooks", &webhook).expect(201);
    let listed = server.get(Some(&admin), "/v1/webhooks").expect(200);
    assert!(listed["items"][0].get("secret").is_none());
    server.kill();
    let mut stored = Vec::new();
    for file in std::fs::read_dir(store_in(data.path())).unwrap() {
        stored.extend(std::fs::read(file.unwrap().path()).unwrap());
    }
    let has = |text: &str| stored.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has(&text(&made["id"])) && has(&text(&webhook["id"])), "what is stored can be found");
    let key = text(&made["key"]);
    let secret = key.rsplit('_').next().unwrap();
    let webhook_secret = text(&webhook["secret"]);
    for secret in [key.as_str(), secret, webhook_secret.as_str(), &webhook_secret["whsec_".len()..]] {
        assert!(!has(secret), "{secret}");
    }
}

#[test]
fn wrong_requests_for_keys_are_told_apart() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let admin = server.first_key();
    for (body, pointer) in [
        (json!({}), "/role"),
        (json!({ "role": "king" }), "/role"),
        (json!({ "role": "seller", "name": "" }), "/name"),
        (json!({ "role": "seller", "name": "till\u{200b}" }), "/name"),
        (json!({ "role": "seller", "tenant": "other" }), "/tenant"),
    ] {
        let problem = server.post(Some(&admin), "/v1/keys", &body).expect(400);
        assert_eq!(problem["code"], "INVALID_REQUEST", "{body}");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}");
    }
}

/// An admin's key of a tenant, put into a store that nobody serves.
pub(crate) fn plant_key(home: &Path, tenant: &str) -> String {
    let engine = Engine::open(&store_in(home), &Settings::default()).unwrap();
    let number = engine.documents("key/").unwrap().len() + 1;
    let (id, secret) = (format!("planted{number}"), "s3cret");
    let key = json!({
        "id": id, "number": number, "tenant": tenant, "role": "admin", "name": null, "created_at_ms": 0,
        "revoked_at_ms": null, "hash": blake3::hash(secret.as_bytes()).as_bytes(), "fingerprint": null,
    });
    let document = (format!("key/{id}"), Some(serde_json::to_vec(&key).unwrap()));
    engine.write_documents(&[document]).unwrap();
    engine.close().unwrap();
    format!("bo_{id}_{secret}")
}
