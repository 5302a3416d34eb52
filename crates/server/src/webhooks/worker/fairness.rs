//! Receivers that hang, and those of another tenant.

use std::io::{Read, Write};
use std::net::TcpListener;

use boxoffice_core::ids::Actor;
use boxoffice_engine::Settings;
use parking_lot::RwLock;

use super::super::Topic;
use super::tests::waiting;
use super::*;

/// A webhook with a delivery of each of eight inventories that is due.
fn add(worker: &mut Worker, tenant: &str, number: usize, url: &str) {
    let id = format!("wh_{tenant}_{number}");
    worker.webhooks.keep(Webhook {
        include_contact: false,
        created_by: Actor::default(),
        id: id.clone(),
        tenant: tenant.into(),
        url: url.to_owned(),
        events: vec![Topic::Held],
        created_at_ms: 0,
        disabled_at_ms: None,
        fingerprint: None,
    });
    let mut endpoint = Endpoint::default();
    for inventory in 1..=8 {
        let delivery = Delivery { webhook: id.clone(), ..waiting(0, inventory, 1, 0) };
        endpoint.pending.insert((0, delivery.place), delivery);
    }
    worker.endpoints.insert(id, endpoint);
}

fn url(listener: &TcpListener) -> String {
    format!("http://{}/", listener.local_addr().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn tenant_is_told_while_all_receivers_of_another_hang() {
    let place = tempfile::tempdir().unwrap();
    let engine = Engine::open(&place.path().join("store"), &Settings::default()).unwrap();
    let (orders, _taken) = mpsc::channel(1);
    let webhooks = Arc::new(Webhooks {
        secret: [7; 32],
        allow_insecure: true,
        idempotency_keep_seconds: 60,
        by_id: RwLock::default(),
        orders,
        replaying: tokio::sync::Mutex::default(),
    });
    let mut worker = Worker::load(&engine, &webhooks).unwrap();
    // The system takes its connections, and it never answers.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    for number in 0..WEBHOOKS_PER_TENANT_MAX {
        add(&mut worker, "a", number, &url(&hanging));
    }
    worker.start_due();
    assert_eq!(worker.under_way.len(), 64, "160 are due");

    let answering = TcpListener::bind("127.0.0.1:0").unwrap();
    add(&mut worker, "b", 0, &url(&answering));
    std::thread::spawn(move || {
        for mut stream in answering.incoming().flatten() {
            // The head is enough to know that it came.
            drop(stream.read(&mut [0; 4_096]));
            drop(stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n"));
        }
    });
    worker.start_due();
    let mut told = Vec::new();
    while told.len() < 8 {
        let tried = worker.under_way.join_next().await.expect("attempts of both are under way").unwrap();
        if tried.delivery.webhook == "wh_b_0" {
            told.push(tried.result);
        }
    }
    assert_eq!(told, vec![Ok(204); 8]);
}
