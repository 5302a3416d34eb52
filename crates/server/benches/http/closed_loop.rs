//! Callers who send the next request when the last one is answered.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::load::{Answer, Connection, Measured};

/// Keeps so many connections busy for a while; `request` makes the next request of a connection.
pub(crate) async fn closed_loop(
    address: SocketAddr,
    connections: usize,
    lasting: Duration,
    request: impl Fn(u64) -> Vec<u8> + Clone + 'static,
    accepted: impl Fn(&Answer<'_>) -> bool + Copy + 'static,
) -> Measured {
    let next = Rc::new(Cell::new(0u64));
    let start = Instant::now();
    let local = tokio::task::LocalSet::new();
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let (next, request) = (Rc::clone(&next), request.clone());
        tasks.push(local.spawn_local(async move {
            let mut connection = Connection::open(address).await.expect("it listens");
            let mut latencies = Vec::new();
            while Instant::now() < start + lasting {
                let number = next.get();
                next.set(number + 1);
                let request = request(number);
                let sent = Instant::now();
                let answer = connection.send(&request).await.expect("it answers");
                latencies.push(sent.elapsed());
                assert!(accepted(&answer), "{} {}", answer.status, String::from_utf8_lossy(answer.body));
            }
            latencies
        }));
    }
    let latencies = local
        .run_until(async {
            let mut all = Vec::new();
            for task in tasks {
                all.extend(task.await.expect("it does not panic"));
            }
            all
        })
        .await;
    Measured { latencies, took: start.elapsed() }
}
