//! The closed loop that drives every design, and the audit after it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::process::Usage;

/// No hall has more seats than this: the loop ends before it is sold out.
pub(crate) const BOOKINGS_MAX: u64 = 980_000;
/// How often the loop's end is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// A design whose servers run.
pub(crate) trait Design {
    type Client: Client + 'static;

    /// The client `index` of so many, with a connection of its own or a share of one.
    async fn client(&self, index: usize, clients: usize) -> Result<Self::Client>;

    /// The processes that do the work, without their children.
    fn processes(&self) -> Vec<u32>;

    /// What the servers say that they have, when all is answered.
    async fn recorded(self) -> Result<Recorded>;
}

/// Whoever books, one request at a time.
pub(crate) trait Client {
    /// Bookings in one request.
    const BOOKINGS: u64 = 1;

    /// Books for the customer and under the key of this number, which nobody had before; done when it is acknowledged.
    async fn book(&mut self, number: u64) -> Result<()>;

    /// Every seat that was acknowledged, as a number of its own.
    fn seats(self) -> Vec<u64>;
}

/// What is in the servers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) bookings: u64,
    /// As the stock says: marked seats, or a counter.
    pub(crate) taken: u64,
    /// Answers that would be given again.
    pub(crate) keys: u64,
}

/// How long a design is driven.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

/// What was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Of the servers, not of the generator.
    pub(crate) cpu_seconds_per_thousand: f64,
    pub(crate) written_bytes_each: f64,
    pub(crate) dirtied_bytes_each: f64,
}

/// What the clients share.
struct Loop {
    next: Cell<u64>,
    measuring: Cell<bool>,
    stopped: Cell<bool>,
    latencies: RefCell<Vec<Duration>>,
}

/// Drives a design with so many clients, and fails if it sold a seat twice or has not what it acknowledged.
pub(crate) async fn drive<D: Design>(design: D, clients: usize, span: Span) -> Result<Sample> {
    let shared = Rc::new(Loop {
        next: Cell::new(0),
        measuring: Cell::new(false),
        stopped: Cell::new(false),
        latencies: RefCell::new(Vec::new()),
    });
    let mut tasks = Vec::new();
    for index in 0..clients {
        let client = design.client(index, clients).await?;
        tasks.push(tokio::task::spawn_local(book_on(client, Rc::clone(&shared))));
    }
    let ended = || tasks.iter().any(tokio::task::JoinHandle::is_finished);
    wait(span.warm_up, &ended).await;
    let before = Usage::of(&design.processes())?;
    shared.measuring.set(true);
    let took = wait(span.measured, &ended).await;
    shared.measuring.set(false);
    shared.stopped.set(true);
    let used = Usage::of(&design.processes())?.since(before);
    let (mut asked, mut seats) = (0, Vec::new());
    for task in tasks {
        let (requests, got) = task.await.map_err(|error| Error::Wrong(format!("a client: {error}")))??;
        asked += requests * D::Client::BOOKINGS;
        seats.extend(got);
    }
    if seats.len() as u64 != asked {
        return Err(Error::Wrong(format!("of {asked} bookings {} were made", seats.len())));
    }
    audit(seats, &design.recorded().await?)?;
    let latencies = shared.latencies.take();
    let bookings = latencies.len() as f64 * D::Client::BOOKINGS as f64;
    Ok(Sample {
        per_second: bookings / took.as_secs_f64(),
        cpu_seconds_per_thousand: used.cpu_seconds * 1_000.0 / bookings,
        written_bytes_each: used.written_bytes / bookings,
        dirtied_bytes_each: used.dirtied_bytes / bookings,
        ..percentiles(latencies)?
    })
}

/// Until the time is over, or a client has no more to do.
async fn wait(lasting: Duration, ended: &impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while start.elapsed() < lasting && !ended() {
        tokio::time::sleep(LOOK).await;
    }
    start.elapsed()
}

/// Answers how many requests were acknowledged, and the seats in them.
async fn book_on<C: Client>(mut client: C, shared: Rc<Loop>) -> Result<(u64, Vec<u64>)> {
    let mut requests = 0;
    while !shared.stopped.get() {
        let number = shared.next.get();
        if (number + 1) * C::BOOKINGS > BOOKINGS_MAX {
            break;
        }
        shared.next.set(number + 1);
        let sent = Instant::now();
        client.book(number).await?;
        requests += 1;
        if shared.measuring.get() {
            shared.latencies.borrow_mut().push(sent.elapsed());
        }
    }
    Ok((requests, client.seats()))
}

fn percentiles(mut latencies: Vec<Duration>) -> Result<Sample> {
    latencies.sort_unstable();
    let at = |part: f64| {
        let index = (latencies.len() as f64 * part) as usize;
        latencies.get(index).map(|latency| latency.as_secs_f64() * 1_000.0)
    };
    match (at(0.5), at(0.99)) {
        (Some(p50_ms), Some(p99_ms)) => Ok(Sample {
            per_second: 0.0,
            p50_ms,
            p99_ms,
            cpu_seconds_per_thousand: 0.0,
            written_bytes_each: 0.0,
            dirtied_bytes_each: 0.0,
        }),
        _ => Err(Error::Wrong("nothing was booked".to_owned())),
    }
}

fn audit(mut seats: Vec<u64>, recorded: &Recorded) -> Result<()> {
    let acknowledged = seats.len() as u64;
    seats.sort_unstable();
    seats.dedup();
    if seats.len() as u64 != acknowledged {
        let twice = acknowledged - seats.len() as u64;
        return Err(Error::Wrong(format!("of {acknowledged} bookings {twice} got a seat that was sold")));
    }
    let expected = Recorded { bookings: acknowledged, taken: acknowledged, keys: acknowledged };
    if *recorded != expected {
        return Err(Error::Wrong(format!(
            "{acknowledged} bookings were acknowledged; there are {recorded:?}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_sold_twice_and_a_booking_that_is_not_there_are_found() {
        for (seats, bookings, taken, keys, is_right) in [
            (vec![3, 1, 2], 3, 3, 3, true),
            (vec![3, 1, 3], 3, 3, 3, false),
            (vec![3, 1], 1, 2, 2, false),
            (vec![3, 1], 2, 1, 2, false),
            (vec![3, 1], 2, 2, 1, false),
            (vec![3, 1], 3, 2, 2, false),
        ] {
            let found = audit(seats.clone(), &Recorded { bookings, taken, keys });
            assert_eq!(found.is_ok(), is_right, "{seats:?} {bookings} {taken} {keys}");
        }
    }
}
