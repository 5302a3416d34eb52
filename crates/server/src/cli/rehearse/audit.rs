//! Whether the promises were kept, seen from outside: everything is asked of the server over its API.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::hall::{FREE, Hall, NamedSeat, SeatMap};
use super::sale::{Acknowledged, Oddities, Outcome, Sale, Told};
use super::words::{count, grouped};
use crate::cli::client::Server;
use crate::cli::console::Failure;
use crate::limits::LIST_ITEMS_MAX;
use crate::routes::bookings::BookingStatus;

/// Others may buy while we look; so often we look again before we give up.
const LOOKS_MAX: usize = 10;
/// As the map draws seats.
const HELD: u8 = b'h';
const SOLD: u8 = b's';
const BLOCKED: u8 = b'x';

/// One promise, and whether it was kept.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) promise: &'static str,
    pub(super) held: bool,
    /// What was compared, or what is wrong.
    pub(super) detail: String,
}

impl Check {
    pub(super) fn new(promise: &'static str, oddities: &Oddities, compared: String) -> Check {
        let detail = match &oddities.first {
            None => compared,
            Some(first) if oddities.count == 1 => first.clone(),
            Some(first) => format!("{first}; and {} more", oddities.count - 1),
        };
        Check { promise, held: oddities.count == 0, detail }
    }
}

/// How many units are what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Stats {
    pub(super) available: u64,
    pub(super) held: u64,
    pub(super) sold: u64,
    pub(super) blocked: u64,
    pub(super) total: u64,
}

impl Stats {
    fn plus(self, other: Stats) -> Stats {
        Stats {
            available: self.available + other.available,
            held: self.held + other.held,
            sold: self.sold + other.sold,
            blocked: self.blocked + other.blocked,
            total: self.total + other.total,
        }
    }
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [available, held, sold, blocked, total] =
            [self.available, self.held, self.sold, self.blocked, self.total].map(grouped);
        write!(f, "{available} available, {held} held, {sold} sold, {blocked} blocked, {total} in all")
    }
}

/// What `GET /v1/events/{id}` says about numbers.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    pub(super) stats: Stats,
    sequence: u64,
    sections: Vec<Part>,
    areas: Vec<Part>,
}

#[derive(Debug, Deserialize)]
struct Part {
    stats: Stats,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    items: Vec<Booking<'a>>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Booking<'a> {
    id: Uuid,
    status: BookingStatus,
    #[serde(borrow)]
    customer: std::borrow::Cow<'a, str>,
    seats: Vec<NamedSeat<'a>>,
}

pub(super) fn event(server: &Server, id: &str) -> Result<Event, Failure> {
    Ok(serde_json::from_slice(&server.fetch(&format!("/v1/events/{id}"))?)?)
}

pub(super) fn seat_map(server: &Server, id: &str) -> Result<SeatMap, Failure> {
    Ok(serde_json::from_slice(&server.fetch(&format!("/v1/events/{id}/seats"))?)?)
}

/// Reads everything back and holds it against what the buyers were told. `progress` is told how many bookings were read.
pub(super) fn audit(
    server: &Server,
    sale: &Sale,
    mut progress: impl FnMut(u64),
) -> Result<(Vec<Check>, Stats), Failure> {
    for _ in 0..LOOKS_MAX {
        let before = event(server, &sale.event)?;
        let books = Books::read(server, sale, &mut progress)?;
        let map = seat_map(server, &sale.event)?;
        let after = event(server, &sale.event)?;
        if before.sequence == map.sequence && map.sequence == after.sequence {
            return Ok((books.judge(sale, &map, &after), after.stats));
        }
    }
    Err(Failure::new(
        "others kept buying while the bookings were read, so nothing could be compared; audit a quiet event",
    ))
}

/// All bookings of the event, held against what the buyers were told.
struct Books {
    /// The state that each seat must have, and the booking it is in.
    states: Vec<u8>,
    owners: Vec<Uuid>,
    active: u64,
    twice: Oddities,
    /// Whether each acknowledged booking was found.
    found: Vec<bool>,
    differing: Oddities,
    /// Whether each buyer has a booking.
    has_booking: Vec<bool>,
    second_bookings: Oddities,
    refused_and_booked: Oddities,
}

impl Books {
    fn read(server: &Server, sale: &Sale, progress: &mut impl FnMut(u64)) -> Result<Books, Failure> {
        let seats = sale.hall.seats() as usize;
        let mut books = Books {
            states: vec![FREE; seats],
            owners: vec![Uuid::nil(); seats],
            active: 0,
            twice: Oddities::default(),
            found: vec![false; sale.acknowledged.len()],
            differing: Oddities::default(),
            has_booking: vec![false; sale.outcomes.len()],
            second_bookings: Oddities::default(),
            refused_and_booked: Oddities::default(),
        };
        let acknowledged: HashMap<Uuid, usize> =
            sale.acknowledged.iter().enumerate().map(|(index, booking)| (booking.id, index)).collect();
        let (mut cursor, mut read) = (String::new(), 0);
        loop {
            let path = format!("/v1/bookings?event={}&limit={LIST_ITEMS_MAX}{cursor}", sale.event);
            let bytes = server.fetch(&path)?;
            let page: Page<'_> = serde_json::from_slice(&bytes)?;
            for booking in &page.items {
                books.enter(sale, &acknowledged, booking);
            }
            read += page.items.len() as u64;
            progress(read);
            match page.next_cursor {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(books),
            }
        }
    }

    fn enter(&mut self, sale: &Sale, acknowledged: &HashMap<Uuid, usize>, booking: &Booking<'_>) {
        let seats: Option<Vec<u32>> = booking.seats.iter().map(|seat| sale.hall.number_of(seat)).collect();
        let seats = seats.unwrap_or_else(|| {
            self.twice.add(|| format!("booking {} has a seat that the hall does not have", booking.id));
            Vec::new()
        });
        let state = match booking.status {
            BookingStatus::OnHold => Some(HELD),
            BookingStatus::Confirmed | BookingStatus::Redeemed => Some(SOLD),
            BookingStatus::Cancelled | BookingStatus::Expired => None,
        };
        if let Some(state) = state {
            self.active += 1;
            self.take(&sale.hall, &seats, booking.id, state);
        }
        if let Some(&index) = acknowledged.get(&booking.id) {
            self.found[index] = true;
            let told = &sale.acknowledged[index];
            if let Some(difference) = difference(sale, told, booking, &seats) {
                self.differing.add(|| difference);
            }
        }
        if let Some(buyer) = sale.plan.number_of(&booking.customer) {
            if std::mem::replace(&mut self.has_booking[buyer as usize], true) {
                self.second_bookings
                    .add(|| format!("{} has a second booking, {}", booking.customer, booking.id));
            }
            if sale.outcomes[buyer as usize] == Outcome::Refused {
                self.refused_and_booked
                    .add(|| format!("{} was refused and has booking {}", booking.customer, booking.id));
            }
        }
    }

    fn take(&mut self, hall: &Hall, seats: &[u32], id: Uuid, state: u8) {
        for &seat in seats {
            let owner = std::mem::replace(&mut self.owners[seat as usize], id);
            if std::mem::replace(&mut self.states[seat as usize], state) != FREE {
                self.twice.add(|| {
                    format!("seat {} is in booking {owner} and in booking {id}", hall.describe(seat))
                });
            }
        }
    }

    fn judge(mut self, sale: &Sale, map: &SeatMap, event: &Event) -> Vec<Check> {
        for (booking, found) in sale.acknowledged.iter().zip(&self.found) {
            if !found {
                let customer = sale.plan.customer(booking.buyer);
                self.differing.add(|| {
                    format!("booking {} was acknowledged to {customer} and is not there", booking.id)
                });
            }
        }
        let (drawn, counted) = self.compare_map(sale, map);
        let seats = u64::from(sale.hall.seats());
        let refused = sale.outcomes.iter().filter(|outcome| **outcome == Outcome::Refused).count();
        let mut keys = self.second_bookings;
        keys.count += sale.differing.count;
        keys.first = keys.first.or_else(|| sale.differing.first.clone());
        vec![
            Check::new(
                "No seat is in two bookings",
                &self.twice,
                format!(
                    "{} of {} seats were read back",
                    count(self.active, "active booking", "active bookings"),
                    grouped(seats)
                ),
            ),
            Check::new(
                "Every booking that was acknowledged is there, with the seats and in the state that were acknowledged",
                &self.differing,
                format!(
                    "{} found again",
                    count(sale.acknowledged.len() as u64, "booking was", "bookings were")
                ),
            ),
            Check::new(
                "Nobody who was refused has a booking",
                &self.refused_and_booked,
                format!("{} refused", count(refused as u64, "buyer was", "buyers were")),
            ),
            Check::new(
                "One key, one booking, one answer",
                &keys,
                format!(
                    "{} sent twice and answered with the same bytes",
                    count(sale.repeated, "request was", "requests were")
                ),
            ),
            Check::new(
                "The map shows what the bookings say",
                &drawn,
                format!("{} compared", count(seats, "seat was", "seats were")),
            ),
            Check::new("The numbers add up", &add_up(event, counted), event.stats.to_string()),
            Check::new(
                "Every answer made sense",
                &sale.senseless,
                format!("{} read", count(sale.tally.requests(), "answer was", "answers were")),
            ),
        ]
    }

    /// Where the map and the bookings differ, and what the map counts.
    fn compare_map(&self, sale: &Sale, map: &SeatMap) -> (Oddities, Stats) {
        let (mut oddities, mut counted) = (Oddities::default(), Stats::default());
        let Some(states) = sale.hall.states(map) else {
            oddities.add(|| "the map is not the one of before".to_owned());
            return (oddities, counted);
        };
        for (number, (&drawn, &booked)) in (0..).zip(states.iter().zip(&self.states)) {
            // House seats are in no booking.
            let expected = if drawn == BLOCKED { FREE } else { drawn };
            if expected != booked {
                let [drawn, booked] = [drawn, booked].map(char::from);
                oddities.add(|| {
                    format!(
                        "seat {} is {drawn:?} on the map and {booked:?} by the bookings",
                        sale.hall.describe(number)
                    )
                });
            }
            match drawn {
                FREE => counted.available += 1,
                HELD => counted.held += 1,
                SOLD => counted.sold += 1,
                _ => counted.blocked += 1,
            }
            counted.total += 1;
        }
        (oddities, counted)
    }
}

/// What is different about a booking that was acknowledged.
fn difference(sale: &Sale, told: &Acknowledged, booking: &Booking<'_>, seats: &[u32]) -> Option<String> {
    let id = booking.id;
    let customer = sale.plan.customer(told.buyer);
    if booking.customer != customer {
        return Some(format!("booking {id} was acknowledged to {customer} and is {}'s", booking.customer));
    }
    let (mut acknowledged, mut there) = (told.seats.to_vec(), seats.to_vec());
    acknowledged.sort_unstable();
    there.sort_unstable();
    if acknowledged != there {
        let names =
            |seats: &[u32]| seats.iter().map(|seat| sale.hall.describe(*seat)).collect::<Vec<_>>().join(", ");
        let (acknowledged, there) = (names(&acknowledged), names(&there));
        return Some(format!("booking {id} was acknowledged with {acknowledged} and has {there}"));
    }
    let possible: &[BookingStatus] = match told.told {
        // Holds run out by themselves.
        Told::Held => &[BookingStatus::OnHold, BookingStatus::Expired],
        Told::Paying => &[BookingStatus::OnHold, BookingStatus::Confirmed, BookingStatus::Expired],
        Told::Sold => &[BookingStatus::Confirmed],
        Told::Expired => &[BookingStatus::Expired],
    };
    let status = booking.status;
    (!possible.contains(&status))
        .then(|| format!("booking {id} was acknowledged as {:?} and is {status:?}", told.told))
}

fn add_up(event: &Event, counted: Stats) -> Oddities {
    let mut oddities = Oddities::default();
    let sum = |parts: &[Part]| parts.iter().fold(Stats::default(), |sum, part| sum.plus(part.stats));
    let (sections, areas, stats) = (sum(&event.sections), sum(&event.areas), event.stats);
    if sections != counted {
        oddities.add(|| format!("the sections say {sections}; the map has {counted}"));
    }
    if sections.plus(areas) != stats {
        oddities.add(|| format!("the event says {stats}; its parts have {}", sections.plus(areas)));
    }
    if stats.available + stats.held + stats.sold + stats.blocked != stats.total {
        oddities.add(|| format!("{stats} is not a sum"));
    }
    oddities
}
