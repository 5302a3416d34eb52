//! What every buyer does next, from what they were answered; and what they were told, for the audit.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::connection::{Answer, Connection};
use super::hall::{Hall, NamedSeat, SeatMap};
use super::plan::Plan;
use super::tally::{Question, Tally};
use crate::routes::bookings::BookingStatus;

/// Requests that are due and wait for a connection; more buyers are let in as these are sent. Their waits count all the same.
const QUEUED_STEPS_MAX: usize = 8_192;
/// How often a buyer chooses again on the map before taking what is given.
const PICKS_MAX: u8 = 3;
/// How often a request that was not answered, or not decided, is sent again before the buyer gives up.
const TROUBLES_MAX: u8 = 60;
/// Before it is sent again, if the server does not say how long.
const TROUBLE_PAUSE: Duration = Duration::from_millis(100);
const TROUBLE_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Which connections a request uses: the server decides bookings that come together on one connection together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Bookings,
    Others,
}

/// One request of one buyer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// From here on the buyer waits.
    due: Duration,
    buyer: u32,
    what: What,
    /// How often it was sent in vain.
    troubles: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// See the map; `attempt` counts how often seats were chosen in vain.
    Look {
        attempt: u8,
    },
    Book {
        attempt: u8,
    },
    /// The same request with the same key, beside the first.
    BookAgain,
    /// Pay for what was acknowledged, by its place in the list.
    Pay {
        acknowledged: u32,
    },
}

impl Step {
    pub(super) fn lane(&self) -> Lane {
        match self.what {
            What::Book { .. } | What::BookAgain => Lane::Bookings,
            What::Look { .. } | What::Pay { .. } => Lane::Others,
        }
    }
}

/// How it ended for a buyer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Not yet, or not before the time was over.
    Unanswered,
    Bought,
    /// Held seats, and walked away.
    Left,
    Refused,
    /// Came to pay when the hold was over.
    TooLate,
    /// The server answered what no buyer can do anything about.
    Failed,
}

/// A booking that a buyer was told of.
#[derive(Debug)]
pub(super) struct Acknowledged {
    pub(super) id: Uuid,
    pub(super) buyer: u32,
    pub(super) seats: Box<[u32]>,
    pub(super) told: Told,
}

/// What the buyer last heard about a booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Held,
    /// Held; the payment was sent, and its answer not heard.
    Paying,
    Sold,
    Expired,
}

/// Something that happened and must not have: how often, and the first of them in words.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    pub(super) count: u64,
    pub(super) first: Option<String>,
}

impl Oddities {
    pub(super) fn add(&mut self, words: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(words);
    }
}

/// The sale as its buyers see it.
pub(super) struct Sale {
    pub(super) plan: Plan,
    pub(super) event: String,
    pub(super) hall: Hall,
    pub(super) tally: Tally,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) acknowledged: Vec<Acknowledged>,
    /// Requests that were sent a second time with the same key, and answered both times.
    pub(super) repeated: u64,
    /// Second answers that were not the first.
    pub(super) differing: Oddities,
    /// Answers that make no sense.
    pub(super) senseless: Oddities,
    /// Buyers who were due.
    pub(super) arrived: u32,
    queues: [VecDeque<Step>; 2],
    /// With the moment when they are sent.
    later: BinaryHeap<Reverse<(Duration, Step)>>,
    /// Steps that are not answered, wherever they are.
    open_steps: usize,
    /// The map as the last who looked saw it.
    seen: Vec<u8>,
    /// The first seat of those that a buyer chose: a request that is sent again must be the same.
    picks: HashMap<u32, Option<u32>>,
    /// The first answer to a request that was sent twice.
    first_answers: HashMap<u32, Box<[u8]>>,
}

/// A booking as it was acknowledged.
#[derive(Deserialize)]
struct Booked<'a> {
    id: Uuid,
    status: BookingStatus,
    #[serde(borrow)]
    seats: Vec<NamedSeat<'a>>,
}

#[derive(Deserialize)]
struct Problem<'a> {
    code: &'a str,
}

impl Sale {
    pub(super) fn new(plan: Plan, event: String, map: &SeatMap) -> Sale {
        let hall = Hall::of(map);
        let seen = hall.states(map).expect("the hall was made from this map");
        Sale {
            outcomes: vec![Outcome::Unanswered; plan.buyers as usize],
            plan,
            event,
            hall,
            tally: Tally::new(),
            acknowledged: Vec::new(),
            repeated: 0,
            differing: Oddities::default(),
            senseless: Oddities::default(),
            arrived: 0,
            queues: [VecDeque::new(), VecDeque::new()],
            later: BinaryHeap::new(),
            open_steps: 0,
            seen,
            picks: HashMap::new(),
            first_answers: HashMap::new(),
        }
    }

    /// Whether everybody came and nobody waits.
    pub(super) fn is_over(&self) -> bool {
        self.arrived == self.plan.buyers && self.open_steps == 0
    }

    pub(super) fn waiting(&self, lane: Lane) -> usize {
        self.queues[lane as usize].len()
    }

    /// Lets in whoever is due.
    pub(super) fn admit(&mut self, now: Duration) {
        while let Some(Reverse((at, step))) = self.later.peek()
            && *at <= now
        {
            self.queues[step.lane() as usize].push_back(*step);
            self.later.pop();
        }
        while self.admit_one(now) {}
    }

    /// When something is due next that is not yet; `None` if nothing is.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let arrival = (self.arrived < self.plan.buyers).then(|| self.plan.arrival(self.arrived));
        arrival.into_iter().chain(self.next_later()).min()
    }

    /// When somebody who has been here does something next.
    pub(super) fn next_later(&self) -> Option<Duration> {
        self.later.peek().map(|Reverse((at, _))| *at)
    }

    /// The next request for a connection of this lane.
    pub(super) fn next(&mut self, lane: Lane, now: Duration) -> Option<Step> {
        loop {
            if let Some(step) = self.queues[lane as usize].pop_front() {
                return Some(step);
            }
            if !self.admit_one(now) {
                return None;
            }
        }
    }

    fn admit_one(&mut self, now: Duration) -> bool {
        let room = self.queues.iter().all(|queue| queue.len() < QUEUED_STEPS_MAX);
        if self.arrived == self.plan.buyers || !room {
            return false;
        }
        let due = self.plan.arrival(self.arrived);
        if due > now {
            return false;
        }
        let number = self.arrived;
        self.arrived += 1;
        self.tally.arrived(due);
        let buyer = self.plan.buyer(number);
        if buyer.looks {
            self.push(Step { due, buyer: number, what: What::Look { attempt: 0 }, troubles: 0 });
        } else {
            self.begin_booking(number, 0, due);
        }
        true
    }

    fn begin_booking(&mut self, buyer: u32, attempt: u8, due: Duration) {
        self.push(Step { due, buyer, what: What::Book { attempt }, troubles: 0 });
        if attempt == 0 && self.plan.buyer(buyer).repeats {
            self.push(Step { due, buyer, what: What::BookAgain, troubles: 0 });
        }
    }

    fn push(&mut self, step: Step) {
        self.open_steps += 1;
        self.queues[step.lane() as usize].push_back(step);
    }

    /// Writes the request of a step.
    pub(super) fn ask(&mut self, step: &Step, connection: &mut Connection) {
        let customer = self.plan.customer(step.buyer);
        match step.what {
            What::Look { .. } => connection.get(&format!("/v1/events/{}/seats", self.event)),
            What::Book { attempt } => self.ask_booking(step.buyer, attempt, &customer, connection),
            What::BookAgain => self.ask_booking(step.buyer, 0, &customer, connection),
            What::Pay { acknowledged } => {
                let booking = &mut self.acknowledged[acknowledged as usize];
                booking.told = Told::Paying;
                let path = format!("/v1/bookings/{}/confirm", booking.id);
                let body = format!(r#"{{"payment_reference":"{customer}"}}"#);
                connection.post(&path, &format!("{customer}-pay"), &body);
            }
        }
    }

    fn ask_booking(&mut self, buyer: u32, attempt: u8, customer: &str, connection: &mut Connection) {
        let wanted = self.plan.buyer(buyer);
        let picked = if wanted.picks && attempt < PICKS_MAX {
            let (hall, seen) = (&self.hall, &self.seen);
            let glance = self.plan.glance(buyer, attempt, hall.seats());
            *self.picks.entry(buyer).or_insert_with(|| hall.free_run(seen, glance, wanted.seats))
        } else {
            None
        };
        let units = match picked {
            Some(first) => {
                let (section, _) = self.hall.name_of(first);
                let names =
                    (first..first + wanted.seats).map(|seat| format!("{:?}", self.hall.name_of(seat).1));
                let names = names.collect::<Vec<_>>().join(",");
                format!(r#""seats":[{{"section":{},"ids":[{names}]}}]"#, Value::from(section))
            }
            None => format!(r#""best_available":{{"quantity":{}}}"#, wanted.seats),
        };
        let (event, confirm) = (&self.event, !self.plan.hold);
        let body = format!(r#"{{"customer":"{customer}","event":"{event}",{units},"confirm":{confirm}}}"#);
        connection.post("/v1/bookings", &format!("{customer}-{attempt}"), &body);
    }

    /// A step was answered.
    pub(super) fn answered(&mut self, step: Step, answer: &Answer<'_>, now: Duration) {
        let undecided = matches!(answer.status, 429 | 503);
        if undecided && step.troubles < TROUBLES_MAX {
            self.tally.refused(code_of(answer.body), now);
            return self.again(step, answer.retry_after, now);
        }
        self.open_steps -= 1;
        let question = match step.what {
            What::Look { .. } => Question::Look,
            What::Book { .. } | What::BookAgain => Question::Book,
            What::Pay { .. } => Question::Pay,
        };
        self.tally.answered(question, step.due, now);
        match step.what {
            What::Look { attempt } => self.saw(step.buyer, attempt, answer, now),
            What::Book { attempt } => self.heard(step.buyer, attempt, answer, now),
            What::BookAgain => self.compare(step.buyer, answer),
            What::Pay { acknowledged } => self.paid(acknowledged as usize, answer, now),
        }
    }

    /// The connection broke before a step was answered: nobody knows whether it was done, so it is sent again as it was.
    pub(super) fn broke(&mut self, step: Step, now: Duration) {
        if step.troubles < TROUBLES_MAX {
            self.again(step, None, now);
        } else {
            self.open_steps -= 1;
            self.tally.refused("no answer", now);
        }
    }

    fn again(&mut self, step: Step, after: Option<Duration>, now: Duration) {
        let troubles = step.troubles + 1;
        let pause = after.unwrap_or_else(|| (TROUBLE_PAUSE * troubles.into()).min(TROUBLE_PAUSE_MAX));
        self.later.push(Reverse((now + pause, Step { troubles, ..step })));
    }

    fn saw(&mut self, buyer: u32, attempt: u8, answer: &Answer<'_>, now: Duration) {
        if answer.status != 200 {
            return self.failed(buyer, answer, now);
        }
        let map = serde_json::from_slice(answer.body).ok();
        match map.and_then(|map: SeatMap| self.hall.states(&map)) {
            Some(states) => {
                self.seen = states;
                self.begin_booking(buyer, attempt, now);
            }
            None => {
                self.senseless.add(|| "a map of seats was not one of this hall".to_owned());
                self.outcomes[buyer as usize] = Outcome::Failed;
            }
        }
    }

    fn heard(&mut self, buyer: u32, attempt: u8, answer: &Answer<'_>, now: Duration) {
        let wanted = self.plan.buyer(buyer);
        if wanted.repeats && attempt == 0 {
            self.compare(buyer, answer);
        }
        self.picks.remove(&buyer);
        match answer.status {
            201 => self.booked(buyer, answer.body, now),
            409 => {
                let code = code_of(answer.body);
                self.tally.refused(code, now);
                if wanted.picks && attempt < PICKS_MAX && matches!(code, "SEAT_UNAVAILABLE" | "ORPHAN_SEAT") {
                    let what = What::Look { attempt: attempt + 1 };
                    self.push(Step { due: now, buyer, what, troubles: 0 });
                } else {
                    self.outcomes[buyer as usize] = Outcome::Refused;
                }
            }
            _ => self.failed(buyer, answer, now),
        }
    }

    fn booked(&mut self, buyer: u32, body: &[u8], now: Duration) {
        let wanted = self.plan.buyer(buyer);
        let (status, told) = if self.plan.hold {
            (BookingStatus::OnHold, Told::Held)
        } else {
            (BookingStatus::Confirmed, Told::Sold)
        };
        let booked: Option<Booked<'_>> = serde_json::from_slice(body).ok();
        let seats = booked.as_ref().and_then(|booked| {
            let numbers = booked.seats.iter().map(|seat| self.hall.number_of(seat));
            numbers.collect::<Option<Box<[u32]>>>().filter(|seats| seats.len() == wanted.seats as usize)
        });
        let (Some(booked), Some(seats)) = (booked.filter(|booked| booked.status == status), seats) else {
            let customer = self.plan.customer(buyer);
            self.senseless.add(|| {
                format!(
                    "{customer} asked for {} seats and was told {}",
                    wanted.seats,
                    String::from_utf8_lossy(body)
                )
            });
            self.outcomes[buyer as usize] = Outcome::Failed;
            return;
        };
        self.tally.took(wanted.seats.into(), now);
        let acknowledged = self.acknowledged.len() as u32;
        self.acknowledged.push(Acknowledged { id: booked.id, buyer, seats, told });
        match wanted.pays_after {
            None => self.outcomes[buyer as usize] = Outcome::Left,
            Some(_) if !self.plan.hold => {
                self.tally.sold(wanted.seats.into(), now);
                self.outcomes[buyer as usize] = Outcome::Bought;
            }
            Some(think) => {
                let due = now + think;
                self.open_steps += 1;
                let step = Step { due, buyer, what: What::Pay { acknowledged }, troubles: 0 };
                self.later.push(Reverse((due, step)));
            }
        }
    }

    fn paid(&mut self, acknowledged: usize, answer: &Answer<'_>, now: Duration) {
        let booking = &mut self.acknowledged[acknowledged];
        let buyer = booking.buyer;
        match answer.status {
            200 => {
                booking.told = Told::Sold;
                self.tally.sold(booking.seats.len() as u64, now);
                self.outcomes[buyer as usize] = Outcome::Bought;
            }
            410 => {
                booking.told = Told::Expired;
                self.tally.refused(code_of(answer.body), now);
                self.outcomes[buyer as usize] = Outcome::TooLate;
            }
            _ => self.failed(buyer, answer, now),
        }
    }

    /// The second answer to a request that was sent twice must be the first, byte for byte.
    fn compare(&mut self, buyer: u32, answer: &Answer<'_>) {
        match self.first_answers.remove(&buyer) {
            None => drop(self.first_answers.insert(buyer, answer.body.into())),
            Some(first) => {
                self.repeated += 1;
                if *first != *answer.body {
                    let customer = self.plan.customer(buyer);
                    self.differing
                        .add(|| format!("{customer} sent one request twice and was told two things"));
                }
            }
        }
    }

    fn failed(&mut self, buyer: u32, answer: &Answer<'_>, now: Duration) {
        self.tally.refused(code_of(answer.body), now);
        self.outcomes[buyer as usize] = Outcome::Failed;
    }
}

/// The code of a problem.
fn code_of(body: &[u8]) -> &str {
    serde_json::from_slice::<Problem<'_>>(body).map_or("NO_CODE", |problem| problem.code)
}
