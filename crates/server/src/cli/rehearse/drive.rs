//! The open loop: everybody comes when they are due, however slow the answers are, and waits from then on.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::LocalSet;
use tokio::time::Instant;

use super::connection::Connection;
use super::sale::{Lane, Sale, Step};

/// Between two looks at how it is going.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// The clock of the runtime does not tell shorter times apart.
const SLEEP_MIN: Duration = Duration::from_millis(1);
/// Before a connection that broke is made again.
const RECONNECT_AFTER: Duration = Duration::from_millis(50);

/// How the server is reached, and how much of that is used.
#[derive(Debug, Clone)]
pub(super) struct Road {
    pub(super) address: SocketAddr,
    /// The lines of every head that say to whom and from whom.
    pub(super) lines: String,
    /// For bookings, and as many again for the rest if there is any.
    pub(super) connections: usize,
    /// Bookings that are under way on one connection.
    pub(super) in_flight_max: usize,
    /// The sale is broken off after so long.
    pub(super) duration_max: Duration,
}

/// What the connections share.
struct Floor {
    sale: RefCell<Sale>,
    road: Road,
    start: Instant,
    lanes: [Notify; 2],
    clock: Notify,
    /// When the clock looks again by itself.
    clock_looks_at: Cell<Duration>,
}

/// Lets all buyers do what they will; `progress` is shown the sale from time to time.
pub(super) async fn drive(sale: Sale, road: Road, mut progress: impl FnMut(&Sale)) -> io::Result<Sale> {
    let plan = sale.plan;
    let others =
        if plan.hold || plan.look_percent > 0 || plan.pick_percent > 0 { road.connections } else { 0 };
    let mut ready = Vec::with_capacity(road.connections + others);
    for lane in [(Lane::Bookings, road.connections), (Lane::Others, others)] {
        for _ in 0..lane.1 {
            ready.push((lane.0, Connection::open(road.address, road.lines.clone()).await?));
        }
    }
    let floor = Rc::new(Floor {
        sale: RefCell::new(sale),
        road,
        start: Instant::now(),
        lanes: [Notify::new(), Notify::new()],
        clock: Notify::new(),
        clock_looks_at: Cell::new(Duration::ZERO),
    });
    let tasks = LocalSet::new();
    for (lane, connection) in ready {
        tasks.spawn_local(serve_lane(Rc::clone(&floor), lane, connection));
    }
    tasks.run_until(floor.keep_time(&mut progress)).await;
    progress(&floor.sale.borrow());
    // The connections end with their tasks, whatever is still under way.
    drop(tasks);
    let floor = Rc::into_inner(floor).expect("the tasks are gone");
    Ok(floor.sale.into_inner())
}

impl Floor {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Lets in whoever is due, until all is over or the time is.
    async fn keep_time(&self, progress: &mut impl FnMut(&Sale)) {
        let mut shown = Duration::ZERO;
        loop {
            let now = self.now();
            let next = {
                let mut sale = self.sale.borrow_mut();
                if sale.is_over() || now >= self.road.duration_max {
                    return;
                }
                sale.admit(now);
                if now >= shown + PROGRESS_EVERY {
                    progress(&sale);
                    shown = now;
                }
                sale.next_due().unwrap_or(Duration::MAX)
            };
            self.wake();
            let next = next.min(shown + PROGRESS_EVERY).max(now + SLEEP_MIN);
            self.clock_looks_at.set(next);
            tokio::select! {
                () = tokio::time::sleep_until(self.start + next) => {}
                () = self.clock.notified() => {}
            }
        }
    }

    /// Tells connections that there is something to send.
    fn wake(&self) {
        let sale = self.sale.borrow();
        for lane in [Lane::Bookings, Lane::Others] {
            for _ in 0..sale.waiting(lane).min(self.road.connections) {
                self.lanes[lane as usize].notify_one();
            }
        }
    }

    /// Wakes the clock if it would sleep too long after what was just answered. It knows when the next buyer arrives.
    fn wake_clock(&self) {
        let sale = self.sale.borrow();
        if sale.is_over() || sale.next_later().is_some_and(|at| at < self.clock_looks_at.get()) {
            self.clock.notify_one();
        }
    }

    /// Writes requests that are due into a connection, as many as it may carry.
    fn load(&self, lane: Lane, connection: &mut Connection, in_flight: &mut VecDeque<Step>) {
        let (mut sale, now) = (self.sale.borrow_mut(), self.now());
        while in_flight.len() < self.in_flight_max(lane)
            && let Some(step) = sale.next(lane, now)
        {
            sale.ask(&step, connection);
            in_flight.push_back(step);
        }
    }

    fn in_flight_max(&self, lane: Lane) -> usize {
        match lane {
            Lane::Bookings => self.road.in_flight_max,
            // The server answers these one after the other.
            Lane::Others => 1,
        }
    }
}

/// Keeps a connection busy, and makes it again when it breaks.
async fn serve_lane(floor: Rc<Floor>, lane: Lane, mut connection: Connection) {
    let mut in_flight = VecDeque::new();
    loop {
        let Err(broke) = converse(&floor, lane, &mut connection, &mut in_flight).await;
        tracing::debug!(%broke, "a connection is made again");
        let now = floor.now();
        in_flight.drain(..).for_each(|step| floor.sale.borrow_mut().broke(step, now));
        floor.wake_clock();
        connection = loop {
            tokio::time::sleep(RECONNECT_AFTER).await;
            if let Ok(made) = Connection::open(floor.road.address, floor.road.lines.clone()).await {
                break made;
            }
        };
    }
}

/// Sends and receives until the connection breaks; if it does not, this is dropped when all is over.
async fn converse(
    floor: &Floor,
    lane: Lane,
    connection: &mut Connection,
    in_flight: &mut VecDeque<Step>,
) -> io::Result<Infallible> {
    loop {
        floor.load(lane, connection, in_flight);
        connection.flush().await?;
        let has_room = in_flight.len() < floor.in_flight_max(lane);
        tokio::select! {
            biased;
            received = connection.receive(), if !in_flight.is_empty() => received?,
            () = floor.lanes[lane as usize].notified(), if has_room => continue,
        }
        let now = floor.now();
        let mut sale = floor.sale.borrow_mut();
        while let Some(answer) = connection.answer()? {
            let step = in_flight.pop_front().ok_or(io::ErrorKind::InvalidData)?;
            sale.answered(step, &answer, now);
        }
        drop(sale);
        floor.wake();
        floor.wake_clock();
    }
}
