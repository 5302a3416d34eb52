//! The messages of live streams: what an inventory is, and what one batch changed.
//!
//! Views share what did not change, so that comparing two of them costs little more than what did.

use std::sync::Arc;

use boxoffice_core::event::SeatName;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::view::{EventView, KindView, ScheduleView, ShopView, StockView, SubsectionView};
use serde::{Serialize, Serializer};

use crate::answer::state_word;
use crate::routes::events::body::{SeatsBody, StatsBody, seats_of};
use crate::routes::schedules::body::SlotBody;
use crate::routes::shops::body::BoxBody;

#[derive(Serialize)]
struct EventSnapshot<'a> {
    sequence: u64,
    stats: StatsBody,
    sections: Vec<SeatsBody<'a>>,
    areas: Vec<AreaNow<'a>>,
}

#[derive(Serialize)]
struct EventChange<'a> {
    sequence: u64,
    seats: Vec<SeatNow<'a>>,
    areas: Vec<AreaNow<'a>>,
    stats: StatsBody,
}

#[derive(Serialize)]
struct SeatNow<'a> {
    section: &'a str,
    #[serde(serialize_with = "as_text")]
    seat: SeatName,
    state: &'static str,
}

#[derive(Serialize)]
struct AreaNow<'a> {
    name: &'a str,
    stats: StatsBody,
}

#[derive(Serialize)]
struct SlotsNow {
    sequence: u64,
    slots: Vec<SlotBody>,
    /// Slots that are gone.
    removed: Vec<String>,
}

#[derive(Serialize)]
struct BoxesNow {
    sequence: u64,
    boxes: Vec<BoxBody>,
}

/// Everything a watcher needs to begin.
pub(crate) fn snapshot(stock: &StockView, now: Timestamp) -> Vec<u8> {
    let sequence = stock.sequence;
    match &stock.kind {
        KindView::Event(event) => to_json(&EventSnapshot {
            sequence,
            stats: StatsBody::of(event.totals),
            sections: seats_of(event, sequence),
            areas: areas(event, |_| true),
        }),
        KindView::Schedule(schedule) => {
            let slots = schedule.slots.iter().map(|(id, slot)| SlotBody::new(*id, slot, now)).collect();
            to_json(&SlotsNow { sequence, slots, removed: Vec::new() })
        }
        KindView::Shop(shop) => to_json(&BoxesNow {
            sequence,
            boxes: shop.boxes.iter().map(|boxed| BoxBody::new(boxed, now)).collect(),
        }),
    }
}

/// What lies between two views, one batch apart.
pub(crate) fn change(before: &StockView, after: &StockView, now: Timestamp) -> Vec<u8> {
    let sequence = after.sequence;
    match (&before.kind, &after.kind) {
        (KindView::Event(old), KindView::Event(new)) => to_json(&EventChange {
            sequence,
            seats: seats_between(old, new),
            areas: areas(new, |index| old.areas[index].pool != new.areas[index].pool),
            stats: StatsBody::of(new.totals),
        }),
        (KindView::Schedule(old), KindView::Schedule(new)) => {
            to_json(&slots_between(old, new, sequence, now))
        }
        (KindView::Shop(old), KindView::Shop(new)) => {
            to_json(&BoxesNow { sequence, boxes: boxes_between(old, new, now) })
        }
        (KindView::Event(_) | KindView::Schedule(_) | KindView::Shop(_), _) => {
            unreachable!("an inventory never changes its kind")
        }
    }
}

fn as_text<S: Serializer>(name: &SeatName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

fn to_json(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages are plain data")
}

fn areas(event: &EventView, wanted: impl Fn(usize) -> bool) -> Vec<AreaNow<'_>> {
    let areas = event.areas.iter().enumerate().filter(|(index, _)| wanted(*index));
    areas.map(|(_, area)| AreaNow { name: &area.name, stats: StatsBody::of(area.pool.counts()) }).collect()
}

fn seats_between<'a>(old: &EventView, new: &'a EventView) -> Vec<SeatNow<'a>> {
    let pairs = old.subsections.iter().zip(new.subsections.iter());
    let touched = pairs.filter(|(old, new)| !Arc::ptr_eq(old, new));
    touched.flat_map(|(old, new)| rows_between(old, new)).collect()
}

fn rows_between<'a>(old: &SubsectionView, new: &'a SubsectionView) -> Vec<SeatNow<'a>> {
    let mut seats = Vec::new();
    for row in new.rows_unlike(old) {
        let changed = new.seats_unlike(old, row);
        seats.extend(changed.map(|(number, state)| SeatNow {
            section: &new.address,
            seat: SeatName { row, number },
            state: state_word(state),
        }));
    }
    seats
}

fn slots_between(old: &ScheduleView, new: &ScheduleView, sequence: u64, now: Timestamp) -> SlotsNow {
    let changed = new.slots.iter().filter(|(id, slot)| old.slots.get(id) != Some(slot));
    let removed = old.slots.keys().filter(|id| !new.slots.contains_key(id));
    SlotsNow {
        sequence,
        slots: changed.map(|(id, slot)| SlotBody::new(*id, slot, now)).collect(),
        removed: removed.map(ToString::to_string).collect(),
    }
}

fn boxes_between(old: &ShopView, new: &ShopView, now: Timestamp) -> Vec<BoxBody> {
    let boxes = new.boxes.iter().enumerate();
    let changed =
        boxes.filter(|(index, boxed)| old.boxes.get(*index).is_none_or(|old| !Arc::ptr_eq(old, boxed)));
    changed.map(|(_, boxed)| BoxBody::new(boxed, now)).collect()
}
