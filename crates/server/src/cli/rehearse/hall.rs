//! The seats of an event by number, from the names that the server gives them.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// Seats in one subsection of a hall that is made for a rehearsal, unless the hall is large.
const SUBSECTION_ROWS: u32 = 20;
const SUBSECTION_COLS: u32 = 25;
/// A larger hall has larger subsections, so that its description stays short.
const SMALL_HALL_SEATS_MAX: u32 = 100_000;
const LARGE_SUBSECTION_ROWS: u32 = 50;
const LARGE_SUBSECTION_COLS: u32 = 50;

/// What `GET /v1/events/{id}/seats` answers.
#[derive(Debug, Deserialize)]
pub(super) struct SeatMap {
    pub(super) sequence: u64,
    pub(super) sections: Vec<SectionMap>,
}

/// The seats of one subsection: a string for each row.
#[derive(Debug, Deserialize)]
pub(super) struct SectionMap {
    section: String,
    rows: u32,
    cols: u32,
    seats: Vec<String>,
}

/// A seat as an answer names it.
#[derive(Debug, Deserialize)]
pub(super) struct NamedSeat<'a> {
    #[serde(borrow)]
    pub(super) section: Cow<'a, str>,
    pub(super) seat: &'a str,
}

/// The subsections of an event. Seats are numbered row by row, in the order of the subsections.
#[derive(Debug)]
pub(super) struct Hall {
    sections: Vec<Section>,
    by_address: HashMap<String, usize>,
    seats: u32,
}

#[derive(Debug)]
struct Section {
    address: String,
    rows: u32,
    cols: u32,
    first: u32,
}

impl Hall {
    pub(super) fn of(map: &SeatMap) -> Hall {
        let mut sections = Vec::with_capacity(map.sections.len());
        let mut seats = 0;
        for &SectionMap { ref section, rows, cols, .. } in &map.sections {
            sections.push(Section { address: section.clone(), rows, cols, first: seats });
            seats += rows * cols;
        }
        let by_address = sections.iter().enumerate().map(|(index, section)| (section.address.clone(), index));
        Hall { by_address: by_address.collect(), sections, seats }
    }

    /// How many seats there are.
    pub(super) fn seats(&self) -> u32 {
        self.seats
    }

    /// The number of a seat, if there is such a seat.
    pub(super) fn number_of(&self, seat: &NamedSeat<'_>) -> Option<u32> {
        let section = &self.sections[*self.by_address.get(&*seat.section)?];
        let (row, number) = seat.seat.split_once('-')?;
        let (row, number): (u32, u32) = (row.parse().ok()?, number.parse().ok()?);
        let is_there = (1..=section.rows).contains(&row) && (1..=section.cols).contains(&number);
        is_there.then(|| section.first + (row - 1) * section.cols + number - 1)
    }

    /// Its section and its name in it.
    pub(super) fn name_of(&self, seat: u32) -> (&str, String) {
        let section = self.section_of(seat);
        let place = seat - section.first;
        (&section.address, format!("{}-{}", place / section.cols + 1, place % section.cols + 1))
    }

    /// Section and name as people read them.
    pub(super) fn describe(&self, seat: u32) -> String {
        let (section, name) = self.name_of(seat);
        format!("{section} {name}")
    }

    /// The first seat, from `glance` on and around, of so many free ones side by side in a row.
    pub(super) fn free_run(&self, states: &[u8], glance: u32, wanted: u32) -> Option<u32> {
        let starts = (glance..self.seats).chain(0..glance).filter(|seat| states[*seat as usize] == FREE);
        // Whoever has seen so many that do not fit takes what they are given.
        starts.take(SEEN_STARTS_MAX).find(|&start| {
            let section = self.section_of(start);
            let left_in_row = section.cols - (start - section.first) % section.cols;
            wanted <= left_in_row && (start..start + wanted).all(|seat| states[seat as usize] == FREE)
        })
    }

    /// The state of every seat by its number, as the map draws it; `None` if the map is of another hall.
    pub(super) fn states(&self, map: &SeatMap) -> Option<Vec<u8>> {
        let mut states = Vec::with_capacity(self.seats as usize);
        for (section, drawn) in self.sections.iter().zip(&map.sections) {
            let fits = |row: &String| row.len() == section.cols as usize;
            if section.address != drawn.section || !drawn.seats.iter().all(fits) {
                return None;
            }
            drawn.seats.iter().for_each(|row| states.extend_from_slice(row.as_bytes()));
        }
        (states.len() == self.seats as usize).then_some(states)
    }

    fn section_of(&self, seat: u32) -> &Section {
        &self.sections[self.sections.partition_point(|section| section.first <= seat) - 1]
    }
}

/// As the map draws a seat that can be had.
pub(super) const FREE: u8 = b'.';
const SEEN_STARTS_MAX: usize = 2_000;

/// The request that makes a hall of exactly so many seats.
pub(super) fn description(id: &str, seats: u32, group_most: u32) -> Value {
    let (rows, cols) = if seats <= SMALL_HALL_SEATS_MAX {
        (SUBSECTION_ROWS, SUBSECTION_COLS)
    } else {
        (LARGE_SUBSECTION_ROWS, LARGE_SUBSECTION_COLS)
    };
    let whole = seats / (rows * cols);
    let rest = seats % (rows * cols);
    let shapes =
        std::iter::repeat_n((rows, cols), whole as usize).chain([(rest / cols, cols), (1, rest % cols)]);
    let shapes = shapes.filter(|(rows, cols)| rows * cols > 0);
    let subsections: Vec<Value> = (1..)
        .zip(shapes)
        .map(|(number, (rows, cols))| json!({ "number": number, "rows": rows, "cols": cols }))
        .collect();
    json!({
        "id": id, "name": "Rehearsal", "currency": "USD",
        "rules": { "max_units_per_booking": group_most.max(boxoffice_core::limits::UNITS_PER_BOOKING_DEFAULT) },
        "sections": [{ "name": "A", "price": 5_000, "subsections": subsections }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> SeatMap {
        let section = |name: &str, seats: &[&str]| SectionMap {
            section: name.to_owned(),
            rows: seats.len() as u32,
            cols: seats[0].len() as u32,
            seats: seats.iter().map(|row| (*row).to_owned()).collect(),
        };
        SeatMap {
            sequence: 1,
            sections: vec![section("A-1", &["..s", "h.."]), section("B-1", &["x.", ".."])],
        }
    }

    #[test]
    fn seats_have_a_number_for_each_name() {
        let hall = Hall::of(&map());
        assert_eq!(hall.seats(), 10);
        for number in 0..10 {
            let (section, seat) = hall.name_of(number);
            assert_eq!(hall.number_of(&NamedSeat { section: section.into(), seat: &seat }), Some(number));
        }
        for (section, seat) in [("A-1", "3-1"), ("A-1", "1-4"), ("A-1", "0-1"), ("C-1", "1-1"), ("A-1", "1")]
        {
            assert_eq!(
                hall.number_of(&NamedSeat { section: section.into(), seat }),
                None,
                "{section} {seat}"
            );
        }
    }

    #[test]
    fn runs_are_free_and_in_one_row() {
        let hall = Hall::of(&map());
        let states = hall.states(&map()).unwrap();
        for (glance, wanted, found) in
            [(0, 1, Some(0)), (1, 2, Some(4)), (5, 2, Some(8)), (9, 2, Some(0)), (0, 3, None)]
        {
            assert_eq!(hall.free_run(&states, glance, wanted), found, "{wanted} from {glance} on");
        }
    }

    #[test]
    fn a_hall_has_exactly_the_seats_that_were_asked_for() {
        for seats in [1, 24, 25, 26, 499, 500, 2_000, 2_013, 100_001, 1_000_000] {
            let hall = description("hall", seats, 1);
            let subsections = hall["sections"][0]["subsections"].as_array().unwrap();
            let made =
                subsections.iter().map(|one| one["rows"].as_u64().unwrap() * one["cols"].as_u64().unwrap());
            assert_eq!(made.sum::<u64>(), u64::from(seats));
        }
    }
}
