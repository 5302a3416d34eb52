//! Events and seats as the API shows them.

use boxoffice_core::event::{Area, SeatName, Section, Sellout};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::outcome::{EventSummary, SubsectionSummary};
use boxoffice_core::rules::Terms;
use boxoffice_core::seats::{Counts, SeatState};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::view::{EventView, StockView, SubsectionView};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use utoipa::ToSchema;

use crate::rules::{RulesBody, SalesBody, StatusWord};
use crate::time::Moment;

/// An event, and what is left of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
pub(crate) struct EventBody {
    id: String,
    name: String,
    currency: String,
    #[serde(flatten)]
    info: InfoBody,
    status: StatusWord,
    sales: SalesBody,
    rules: RulesBody,
    sections: Vec<SectionBody>,
    areas: Vec<AreaBody>,
    stats: StatsBody,
    sellout: SelloutBody,
    sequence: u64,
}

/// When and where an event takes place. Local times are those of `timezone`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventInfo)]
struct InfoBody {
    #[schema(value_type = Option<String>, format = DateTime, required)]
    starts_at: Option<Moment>,
    #[schema(required, example = "2027-12-24T19:00")]
    starts_at_local: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    doors_open_at: Option<Moment>,
    #[schema(required, example = "2027-12-24T18:00")]
    doors_open_at_local: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    ends_at: Option<Moment>,
    #[schema(required, example = "2027-12-24T22:00")]
    ends_at_local: Option<String>,
    /// IANA name.
    #[schema(example = "Asia/Taipei")]
    timezone: String,
    #[schema(required)]
    venue: Option<String>,
    #[schema(required)]
    description: Option<String>,
}

/// What units are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Stats)]
pub(crate) struct StatsBody {
    available: u32,
    held: u32,
    sold: u32,
    blocked: u32,
    total: u32,
}

/// A section and its subsections.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Section)]
struct SectionBody {
    name: String,
    /// Of one seat, in minor units of the currency (cents).
    price: i64,
    subsections: Vec<SubsectionBody>,
    stats: StatsBody,
}

/// A rectangle of seats.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Subsection)]
struct SubsectionBody {
    number: u16,
    rows: u16,
    cols: u16,
    blocked: Vec<String>,
    stats: StatsBody,
}

/// A standing area.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Area)]
struct AreaBody {
    name: String,
    /// Of one place, in minor units of the currency (cents).
    price: i64,
    capacity: u32,
    stats: StatsBody,
}

/// How fast it went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Sellout)]
struct SelloutBody {
    #[schema(value_type = Option<String>, format = DateTime, required)]
    first_sale_at: Option<Moment>,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    sold_out_at: Option<Moment>,
    /// From the first sale to the last.
    #[schema(required)]
    seconds: Option<f64>,
}

impl StatsBody {
    pub(crate) fn of(counts: Counts) -> StatsBody {
        StatsBody {
            available: counts.available,
            held: counts.held,
            sold: counts.sold,
            blocked: counts.blocked,
            total: counts.total(),
        }
    }
}

impl InfoBody {
    fn of(info: &EventInfo) -> InfoBody {
        // In the form of slot ids.
        let local = |moment: Option<Timestamp>| moment.map(|moment| info.local_time(moment).to_string());
        InfoBody {
            starts_at: info.starts_at.map(Moment),
            starts_at_local: local(info.starts_at),
            doors_open_at: info.doors_open_at.map(Moment),
            doors_open_at_local: local(info.doors_open_at),
            ends_at: info.ends_at.map(Moment),
            ends_at_local: local(info.ends_at),
            timezone: info.timezone.clone(),
            venue: info.venue.clone(),
            description: info.description.clone(),
        }
    }
}

impl SelloutBody {
    fn of(sellout: Sellout) -> SelloutBody {
        let seconds = sellout.first_sale_at.zip(sellout.sold_out_at);
        SelloutBody {
            first_sale_at: sellout.first_sale_at.map(Moment),
            sold_out_at: sellout.sold_out_at.map(Moment),
            seconds: seconds.map(|(first, last)| (last.0 - first.0) as f64 / 1_000.0),
        }
    }
}

impl EventBody {
    /// An event as a command left it.
    pub(crate) fn of_summary(summary: &EventSummary, sequence: u64) -> EventBody {
        let sections = summary.sections.iter().map(|(section, counts)| {
            let own = &summary.subsections[range(section)];
            section_body(section, *counts, own.iter().map(SubsectionBody::of_summary).collect())
        });
        EventBody::new(
            &summary.terms,
            &summary.info,
            sections.collect(),
            &summary.areas,
            summary.totals,
            summary.sellout,
            sequence,
        )
    }

    /// An event as of its last commit.
    pub(crate) fn of_view(stock: &StockView, event: &EventView) -> EventBody {
        let sections = event.sections.iter().map(|section| {
            let own =
                || range(section).map(|index| event.subsections.get(index).expect("sections name their own"));
            let counts = own().map(|subsection| subsection.counts).fold(Counts::default(), Counts::plus);
            section_body(
                section,
                counts,
                own().map(|subsection| SubsectionBody::of_view(subsection)).collect(),
            )
        });
        EventBody::new(
            &stock.terms,
            &event.info,
            sections.collect(),
            &event.areas,
            event.totals,
            event.sellout,
            stock.sequence,
        )
    }

    fn new(
        terms: &Terms,
        info: &EventInfo,
        sections: Vec<SectionBody>,
        areas: &[Area],
        totals: Counts,
        sellout: Sellout,
        sequence: u64,
    ) -> EventBody {
        let areas = areas.iter().map(|area| AreaBody {
            name: area.name.clone(),
            price: area.price.0,
            capacity: area.pool.capacity,
            stats: StatsBody::of(area.pool.counts()),
        });
        EventBody {
            id: terms.id.clone(),
            name: terms.name.clone(),
            currency: terms.currency.as_str().to_owned(),
            info: InfoBody::of(info),
            status: StatusWord::of(terms.status),
            sales: SalesBody::of(terms.sales),
            rules: RulesBody::of(&terms.rules),
            sections,
            areas: areas.collect(),
            stats: StatsBody::of(totals),
            sellout: SelloutBody::of(sellout),
            sequence,
        }
    }
}

fn range(section: &Section) -> std::ops::Range<usize> {
    usize::from(section.subsections.start)..usize::from(section.subsections.end)
}

fn section_body(section: &Section, counts: Counts, subsections: Vec<SubsectionBody>) -> SectionBody {
    SectionBody {
        name: section.name.clone(),
        price: section.price.0,
        subsections,
        stats: StatsBody::of(counts),
    }
}

impl SubsectionBody {
    fn of_summary(summary: &SubsectionSummary) -> SubsectionBody {
        let blocked = summary.blocked.iter().map(SeatName::to_string).collect();
        SubsectionBody::new(&summary.address, (summary.rows, summary.cols), blocked, summary.counts)
    }

    fn of_view(view: &SubsectionView) -> SubsectionBody {
        let blocked = if view.counts.blocked == 0 {
            Vec::new()
        } else {
            let seats = (1..=view.rows).flat_map(|row| (1..=view.cols).map(move |number| (row, number)));
            let blocked = seats.filter(|&(row, number)| view.state(row, number) == SeatState::Blocked);
            blocked.map(|(row, number)| format!("{row}-{number}")).collect()
        };
        SubsectionBody::new(&view.address, (view.rows, view.cols), blocked, view.counts)
    }

    fn new(address: &str, (rows, cols): (u16, u16), blocked: Vec<String>, counts: Counts) -> SubsectionBody {
        let (_, number) = address.rsplit_once('-').expect("addresses end with a number");
        let number = number.parse().expect("addresses end with a number");
        SubsectionBody { number, rows, cols, blocked, stats: StatsBody::of(counts) }
    }
}

/// The seats of one subsection: one string a row, `.` available, `h` held, `s` sold, `x` blocked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SeatsOfSection)]
pub(crate) struct SeatsBody<'a> {
    section: &'a str,
    rows: u16,
    cols: u16,
    /// Of one seat, in minor units of the currency (cents).
    price: i64,
    sequence: u64,
    #[schema(value_type = Vec<String>)]
    seats: Rows<'a>,
}

/// The seats of one subsection, or of all.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Seats)]
pub(crate) enum SeatsAnswer<'a> {
    One(SeatsBody<'a>),
    All(AllSeatsBody<'a>),
}

/// The seats of all subsections.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SeatsOfEvent)]
pub(crate) struct AllSeatsBody<'a> {
    sequence: u64,
    sections: Vec<SeatsBody<'a>>,
}

#[derive(Debug)]
struct Rows<'a>(&'a SubsectionView);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(usize::from(self.0.rows)))?;
        let mut text = String::with_capacity(usize::from(self.0.cols));
        for row in 1..=self.0.rows {
            text.clear();
            text.extend(self.0.row(row).map(letter));
            rows.serialize_element(&text)?;
        }
        rows.end()
    }
}

fn letter(state: SeatState) -> char {
    match state {
        SeatState::Available => '.',
        SeatState::Held => 'h',
        SeatState::Sold => 's',
        SeatState::Blocked => 'x',
    }
}

impl<'a> SeatsBody<'a> {
    fn new(event: &'a EventView, section: &Section, index: usize, sequence: u64) -> SeatsBody<'a> {
        let subsection = event.subsections.get(index).expect("sections name their own");
        SeatsBody {
            section: &subsection.address,
            rows: subsection.rows,
            cols: subsection.cols,
            price: section.price.0,
            sequence,
            seats: Rows(subsection),
        }
    }

    /// One subsection by its address.
    pub(crate) fn of(stock: &StockView, event: &'a EventView, address: &str) -> Option<SeatsBody<'a>> {
        let all = event.sections.iter().flat_map(|section| range(section).map(move |index| (section, index)));
        let mut found =
            all.filter(|&(_, index)| event.subsections.get(index).is_some_and(|it| *it.address == *address));
        found.next().map(|(section, index)| SeatsBody::new(event, section, index, stock.sequence))
    }
}

impl<'a> AllSeatsBody<'a> {
    pub(crate) fn of(stock: &StockView, event: &'a EventView) -> AllSeatsBody<'a> {
        AllSeatsBody { sequence: stock.sequence, sections: seats_of(event, stock.sequence) }
    }
}

/// The seats of all subsections.
pub(crate) fn seats_of(event: &EventView, sequence: u64) -> Vec<SeatsBody<'_>> {
    let all = event.sections.iter().flat_map(|section| range(section).map(move |index| (section, index)));
    all.map(|(section, index)| SeatsBody::new(event, section, index, sequence)).collect()
}
