//! How many machines an on-sale needs: a formula from what one booking costs, and a simulation of the visitors that says whether
//! the formula can be believed.
//!
//! Visitors arrive in a rush that dies away, look at the map, choose, and try to book one event each; who is told "busy" comes back. The
//! nodes' cores are shared by everything, each event is decided on by one writer. Time is simulated, so that ten million
//! visitors take seconds, and one seed gives one run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::random::Random;

const MICROS: f64 = 1e6;

/// What one machine spends, in microseconds of one core. From `docs/performance.md`.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Reading the map of one section.
    pub map_us: f64,
    /// A hold or a confirmation over HTTP, all threads together.
    pub booking_us: f64,
    /// The part of it that only the event's writer can do.
    pub writer_us: f64,
}

/// What is sold, and to how many.
#[derive(Debug, Clone, Copy)]
pub struct OnSale {
    /// Who come.
    pub visitors: u32,
    /// What they come for, over all events.
    pub tickets: u32,
    /// Which share them evenly.
    pub events: u32,
    /// In one booking.
    pub tickets_per_booking: u32,
    /// Half of the visitors are there after so many seconds, half of the others after as many again.
    pub half_life_s: f64,
    /// Between the map and the booking, on average.
    pub choosing_s: f64,
}

/// What it is sold on.
#[derive(Debug, Clone, Copy)]
pub struct Machines {
    /// Of all nodes.
    pub cores: u32,
    /// Requests that wait in all nodes before others are told to come back.
    pub queue_max: usize,
}

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Course {
    /// Of the cores, in the first second.
    pub utilization_at_first: f64,
    /// From the first visitor to the last ticket.
    pub sold_out_s: f64,
    /// Between a request and its answer, at the 99th percentile of all requests that were answered.
    pub p99_ms: f64,
    /// Requests that were told to come back.
    pub refused: u64,
    /// Tickets that were sold.
    pub sold: u64,
}

impl OnSale {
    /// Visitors in a second, so many seconds after the doors opened.
    fn arrivals_per_second(&self, at_s: f64) -> f64 {
        let decay = std::f64::consts::LN_2 / self.half_life_s;
        f64::from(self.visitors) * decay * (-decay * at_s).exp()
    }

    /// When so many of the visitors have come.
    fn arrived_s(&self, share: f64) -> f64 {
        -self.half_life_s * (1.0 - share).ln() / std::f64::consts::LN_2
    }

    /// The share of the visitors who have come and chosen by then.
    fn chosen(&self, at_s: f64) -> f64 {
        let (coming, choosing) = (std::f64::consts::LN_2 / self.half_life_s, 1.0 / self.choosing_s);
        let late = choosing * (-coming * at_s).exp() - coming * (-choosing * at_s).exp();
        1.0 - late / (choosing - coming)
    }

    /// When so many of them have.
    fn chosen_s(&self, share: f64) -> f64 {
        let (mut early, mut late) = (0.0, 100.0 * (self.half_life_s + self.choosing_s));
        for _ in 0..60 {
            let middle = (early + late) / 2.0;
            if self.chosen(middle) < share {
                early = middle;
            } else {
                late = middle;
            }
        }
        late
    }

    fn bookings(&self) -> u32 {
        self.tickets / self.tickets_per_booking
    }
}

/// The formula: what the first second asks of the cores, and when as many visitors have chosen as bookings can be made, unless the machines
/// or the writers take longer to serve them.
pub fn formula(sale: &OnSale, machines: &Machines, costs: &Costs) -> (f64, f64) {
    let cores = f64::from(machines.cores);
    let utilization = sale.arrivals_per_second(0.5) * costs.map_us / MICROS / cores;
    let bookings = f64::from(sale.bookings());
    let by_visitors = sale.chosen_s(bookings / f64::from(sale.visitors));
    let by_cores = bookings * (costs.map_us + costs.booking_us) / MICROS / cores;
    let by_writers = bookings / f64::from(sale.events) * costs.writer_us / MICROS;
    (utilization, by_visitors.max(by_cores).max(by_writers))
}

/// How many cores keep the first second below seven tenths.
pub fn cores_wanted(sale: &OnSale, costs: &Costs) -> u32 {
    let busy = sale.arrivals_per_second(0.5) * (costs.map_us + costs.booking_us) / MICROS;
    (busy / 0.7).ceil() as u32
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wish {
    Map,
    Book,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    wish: Wish,
    event: u32,
    asked_at: f64,
}

/// What happens next, by time.
#[derive(Debug, Clone, Copy)]
enum Moment {
    Asks(Request),
    CoreIsDone(Request),
}

/// A moment and when it is: ordered by time alone.
#[derive(Debug, Clone, Copy)]
struct Due(f64, Moment);

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.0.total_cmp(&other.0).is_eq()
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The visitors, one by one.
pub fn simulate(sale: &OnSale, machines: &Machines, costs: &Costs, seed: u64) -> Course {
    let mut random = Random::new(seed);
    let mut exponential = move |mean: f64| {
        let share = (random.below(1 << 32) as f64 + 0.5) / (1u64 << 32) as f64;
        -mean * share.ln()
    };
    let mut moments: BinaryHeap<Reverse<Due>> = BinaryHeap::new();
    let mut waiting: VecDeque<Request> = VecDeque::new();
    let mut free = machines.cores;
    let mut left = vec![sale.bookings() / sale.events; sale.events as usize];
    let mut writer_free_at = vec![0.0f64; sale.events as usize];
    let mut answered: Vec<f32> = Vec::new();
    let mut course = Course { utilization_at_first: 0.0, sold_out_s: 0.0, p99_ms: 0.0, refused: 0, sold: 0 };
    let mut arrived = 0;
    let mut next_arrival = 0.0;
    loop {
        // The visitors come in the order of their share: the times between them are exponential, faster at first.
        let next_due = moments.peek().map(|Reverse(due)| due.0);
        let comes_first = arrived < sale.visitors && next_due.is_none_or(|due| next_arrival <= due);
        let (now, moment) = if comes_first {
            let now = next_arrival;
            let event = arrived % sale.events;
            arrived += 1;
            let gap = exponential(1.0 / f64::from(sale.visitors));
            let share = ((f64::from(arrived) / f64::from(sale.visitors)) + gap).min(1.0 - 1e-9);
            next_arrival = sale.arrived_s(share).max(now);
            (now, Moment::Asks(Request { wish: Wish::Map, event, asked_at: now }))
        } else if let Some(Reverse(Due(now, moment))) = moments.pop() {
            (now, moment)
        } else {
            break;
        };
        match moment {
            Moment::Asks(request) if waiting.len() < machines.queue_max => waiting.push_back(request),
            Moment::Asks(request) => {
                course.refused += 1;
                let later = now + 1.0 + exponential(1.0);
                moments.push(Reverse(Due(later, Moment::Asks(Request { asked_at: later, ..request }))));
            }
            Moment::CoreIsDone(request) => {
                free += 1;
                let event = request.event as usize;
                match request.wish {
                    Wish::Map => {
                        answered.push((now - request.asked_at) as f32);
                        if left[event] > 0 {
                            let at = now + exponential(sale.choosing_s);
                            let book = Request { wish: Wish::Book, asked_at: at, ..request };
                            moments.push(Reverse(Due(at, Moment::Asks(book))));
                        }
                    }
                    Wish::Book => {
                        let done = writer_free_at[event].max(now) + costs.writer_us / MICROS;
                        writer_free_at[event] = done;
                        answered.push((done - request.asked_at) as f32);
                        if left[event] > 0 {
                            left[event] -= 1;
                            course.sold += u64::from(sale.tickets_per_booking);
                            course.sold_out_s = course.sold_out_s.max(done);
                        }
                    }
                }
            }
        }
        while free > 0
            && let Some(request) = waiting.pop_front()
        {
            free -= 1;
            let cost_us = match request.wish {
                Wish::Map => costs.map_us,
                Wish::Book => costs.booking_us - costs.writer_us,
            };
            let took = exponential(cost_us / MICROS);
            if now < 1.0 {
                course.utilization_at_first += took / f64::from(machines.cores);
            }
            moments.push(Reverse(Due(now + took, Moment::CoreIsDone(request))));
        }
    }
    answered.sort_unstable_by(f32::total_cmp);
    course.p99_ms = answered.get(answered.len() * 99 / 100).map_or(0.0, |&took| f64::from(took) * 1e3);
    course
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { map_us: 44.0, booking_us: 35.0, writer_us: 1.6 };
    /// A hundredth of a nation, on a hundredth of the machines.
    const TOWN: OnSale = OnSale {
        visitors: 100_000,
        tickets: 20_000,
        events: 4,
        tickets_per_booking: 2,
        half_life_s: 60.0,
        choosing_s: 20.0,
    };

    fn is_close(found: f64, expected: f64, within: f64) -> bool {
        (found - expected).abs() <= expected * within
    }

    #[test]
    fn with_room_to_spare_the_visitors_say_when_it_is_sold_out() {
        let machines = Machines { cores: 1, queue_max: 10_000 };
        let (utilization, sold_out_s) = formula(&TOWN, &machines, &COSTS);
        let course = simulate(&TOWN, &machines, &COSTS, 7);
        assert_eq!(course.sold, 20_000);
        assert_eq!(course.refused, 0);
        assert!(is_close(course.utilization_at_first, utilization, 0.15), "{course:?} {utilization}");
        assert!(is_close(course.sold_out_s, sold_out_s, 0.05), "{course:?} {sold_out_s}");
        assert!(course.p99_ms < 5.0, "{course:?}");
    }

    #[test]
    fn with_too_few_cores_some_come_back_and_all_is_sold_all_the_same() {
        let slow = Costs { map_us: 4_400.0, booking_us: 3_500.0, ..COSTS };
        let machines = Machines { cores: 1, queue_max: 1_000 };
        let (utilization, sold_out_s) = formula(&TOWN, &machines, &slow);
        assert!(utilization > 1.0);
        let course = simulate(&TOWN, &machines, &slow, 7);
        assert_eq!(course.sold, 20_000);
        assert!(course.refused > 0, "{course:?}");
        // The formula is a bound: most of the work is for people who only look.
        assert!(course.sold_out_s > sold_out_s, "{course:?} {sold_out_s}");
        // Who is let in waits for no more than the queue.
        assert!(course.p99_ms < 1.25 * 1_000.0 * 4.4, "{course:?}");
    }

    #[test]
    fn a_hot_event_waits_for_its_writer() {
        let one = OnSale { events: 1, half_life_s: 0.5, choosing_s: 0.1, ..TOWN };
        let costs = Costs { writer_us: 1_000.0, booking_us: 1_035.0, ..COSTS };
        let machines = Machines { cores: 64, queue_max: 1_000_000 };
        let (_, sold_out_s) = formula(&one, &machines, &costs);
        let course = simulate(&one, &machines, &costs, 7);
        assert!(is_close(course.sold_out_s, sold_out_s, 0.1), "{course:?} {sold_out_s}");
    }
}
