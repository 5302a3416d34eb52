//! The messages of live streams: what an inventory is, and what one batch changed.
//!
//! Views share what did not change, so that comparing two of them costs little more than what did.

use std::sync::Arc;

use boxoffice_core::time::Timestamp;
use boxoffice_engine::view::{EventView, KindView, ScheduleView, ShopView, StockView};
use serde::Serialize;

use crate::answer::state_word;
use crate::routes::bookings::body::value;
use crate::routes::events::body::{SeatsBody, StatsBody, seats_of};
use crate::routes::schedules::body::SlotBody;
use crate::routes::shops::body::BoxBody;
use crate::rules::StatusWord;

#[derive(Serialize)]
struct EventSnapshot<'a> {
    sequence: u64,
    status: StatusWord,
    stats: StatsBody,
    sections: Vec<SeatsBody<'a>>,
    areas: Vec<AreaNow<'a>>,
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
            status: StatusWord::of(stock.terms.status),
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

/// Appends what lies between two views, one batch apart.
pub(crate) fn write_change(text: &mut Vec<u8>, before: &StockView, after: &StockView, now: Timestamp) {
    let sequence = after.sequence;
    match (&before.kind, &after.kind) {
        (KindView::Event(old), KindView::Event(new)) => {
            let status = after.terms.status;
            let new_status = (before.terms.status != status).then(|| StatusWord::of(status));
            write_event_change(text, old, new, sequence, new_status);
        }
        (KindView::Schedule(old), KindView::Schedule(new)) => {
            value(text, &slots_between(old, new, sequence, now));
        }
        (KindView::Shop(old), KindView::Shop(new)) => {
            value(text, &BoxesNow { sequence, boxes: boxes_between(old, new, now) });
        }
        (KindView::Event(_) | KindView::Schedule(_) | KindView::Shop(_), _) => {
            unreachable!("an inventory never changes its kind")
        }
    }
}

fn to_json(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages are plain data")
}

fn areas(event: &EventView, wanted: impl Fn(usize) -> bool) -> Vec<AreaNow<'_>> {
    let areas = event.areas.iter().enumerate().filter(|(index, _)| wanted(*index));
    areas.map(|(_, area)| AreaNow { name: &area.name, stats: StatsBody::of(area.pool.counts()) }).collect()
}

/// Written by hand: in a hall that sells fast, tens of thousands of seats change in a second.
fn write_event_change(
    text: &mut Vec<u8>,
    old: &EventView,
    new: &EventView,
    sequence: u64,
    new_status: Option<StatusWord>,
) {
    text.extend_from_slice(b"{\"sequence\":");
    value(text, &sequence);
    text.extend_from_slice(b",\"seats\":[");
    write_seats_between(text, old, new);
    text.extend_from_slice(b"],\"areas\":");
    value(text, &areas(new, |index| old.areas[index].pool != new.areas[index].pool));
    text.extend_from_slice(b",\"stats\":");
    value(text, &StatsBody::of(new.totals));
    if let Some(status) = new_status {
        text.extend_from_slice(b",\"status\":");
        value(text, &status);
    }
    text.push(b'}');
}

fn write_seats_between(text: &mut Vec<u8>, old: &EventView, new: &EventView) {
    let pairs = old.subsections.iter().zip(new.subsections.iter());
    let mut separator: &[u8] = b"";
    for (old, new) in pairs.filter(|(old, new)| !Arc::ptr_eq(old, new)) {
        // What all seats of the subsection begin with, and then what those of a row do.
        let mut beginning = b"{\"section\":".to_vec();
        value(&mut beginning, &*new.address);
        beginning.extend_from_slice(b",\"seat\":\"");
        let of_section_bytes = beginning.len();
        for row in new.rows_unlike(old) {
            beginning.truncate(of_section_bytes);
            value(&mut beginning, &row);
            beginning.push(b'-');
            for (number, state) in new.seats_unlike(old, row) {
                text.extend_from_slice(separator);
                text.extend_from_slice(&beginning);
                value(text, &number);
                text.extend_from_slice(b"\",\"state\":\"");
                text.extend_from_slice(state_word(state).as_bytes());
                text.extend_from_slice(b"\"}");
                separator = b",";
            }
        }
    }
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
