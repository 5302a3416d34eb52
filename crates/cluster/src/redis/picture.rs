//! What the mirror shows of an inventory's stock: all of it, or what is not as in an earlier view.
//!
//! Everything is written as it is, never as a difference: so it does no harm to write something twice. What is not as in an
//! earlier view is right only on a mirror that shows that very view: see `write.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use boxoffice_core::pool::Pool;
use boxoffice_core::seats::{Counts, SeatState};
use boxoffice_engine::view::{EventView, KindView, ScheduleView, ShopView, StockView, SubsectionView};
use serde_json::{Map, Value, json};

use super::keys::Keys;

/// Values in one command: a script can pass a few thousand on.
const VALUES_MAX: usize = 1_000;

/// One key and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) key: String,
    pub(super) what: What,
}

/// What becomes of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// It is this text.
    Text(String),
    /// It is this JSON document, or its text where the server has no JSON commands.
    Document(Value),
    /// It is this bitmap.
    Bitmap(Vec<u8>),
    /// It is gone; of a hash, before its fields are written.
    Drop,
    /// It is gone and stays so.
    Gone,
    /// These fields of a hash are so.
    Fields(Vec<(String, String)>),
    /// These fields of a hash are gone.
    Lose(Vec<String>),
    /// These seats of a bitmap, by their index, are in these states.
    Seats(Vec<(usize, u8)>),
    /// These counters, each a key of its own: this key, a colon and the counter's name.
    Counters(Vec<(String, u32)>),
}

/// All of a stock.
pub(super) fn whole(keys: &Keys, stock: &StockView) -> Vec<Write> {
    if stock.is_deleted() {
        return deleted(keys, stock);
    }
    let mut writes = vec![state(keys, stock)];
    match &stock.kind {
        KindView::Event(event) => {
            for subsection in &event.subsections {
                let what = What::Bitmap(bitmap(subsection));
                writes.push(Write { key: keys.seats(&subsection.address), what });
                writes.push(available(keys, subsection));
                let rows = (1..=subsection.rows).map(|row| (row, available_in(subsection, row)));
                writes.extend(in_rows(keys, subsection, rows));
            }
            writes.push(sellout(keys, event));
        }
        KindView::Schedule(schedule) => {
            writes.push(Write { key: keys.slots_available(), what: What::Drop });
            writes.extend(fields(&keys.slots_available(), slots_available(schedule)));
        }
        KindView::Shop(shop) => writes.extend(counters(keys.quantity(), quantities(shop))),
    }
    writes.push(Write { key: keys.pools(), what: What::Drop });
    writes.extend(fields(&keys.pools(), pools(stock)));
    writes
}

/// What is not as in an earlier view of the same inventory.
pub(super) fn since(keys: &Keys, before: &StockView, stock: &StockView) -> Vec<Write> {
    if stock.is_deleted() {
        return deleted(keys, stock);
    }
    let mut writes = vec![state(keys, stock)];
    match (&before.kind, &stock.kind) {
        (KindView::Event(before), KindView::Event(event)) => {
            let pairs = before.subsections.iter().zip(event.subsections.iter());
            for (before, subsection) in pairs.filter(|(before, now)| !Arc::ptr_eq(before, now)) {
                writes.extend(seats_since(keys, before, subsection));
            }
            writes.push(sellout(keys, event));
        }
        (KindView::Schedule(before), KindView::Schedule(schedule)) => {
            let gone = before.slots.keys().filter(|slot| !schedule.slots.contains_key(slot));
            let gone: Vec<String> = gone.map(ToString::to_string).collect();
            for gone in gone.chunks(VALUES_MAX) {
                for key in [keys.pools(), keys.slots_available()] {
                    writes.push(Write { key, what: What::Lose(gone.to_vec()) });
                }
            }
            let known: HashMap<String, String> = slots_available(before).collect();
            let changed = slots_available(schedule).filter(|(slot, count)| known.get(slot) != Some(count));
            writes.extend(fields(&keys.slots_available(), changed));
        }
        (KindView::Shop(before), KindView::Shop(shop)) => {
            let known: HashMap<String, u32> = quantities(before).collect();
            let changed = quantities(shop).filter(|(name, count)| known.get(name) != Some(count));
            writes.extend(counters(keys.quantity(), changed));
        }
        (KindView::Event(_) | KindView::Schedule(_) | KindView::Shop(_), _) => {
            unreachable!("an inventory never changes its kind")
        }
    }
    // Both are in the same order, but for what came or went.
    let known: HashMap<String, String> = pools(before).collect();
    let changed = pools(stock).filter(|(name, pool)| known.get(name) != Some(pool));
    writes.extend(fields(&keys.pools(), changed));
    writes
}

/// Of a deleted event only its document stays, without counters, so that the mirror can be told from one that lacks the event.
fn deleted(keys: &Keys, stock: &StockView) -> Vec<Write> {
    let mut gone = vec![keys.pools()];
    if let KindView::Event(event) = &stock.kind {
        gone.push(keys.sellout());
        for SubsectionView { address, rows, .. } in event.subsections.iter().map(|subsection| &**subsection) {
            let in_rows = keys.available_in_rows(address);
            gone.extend([keys.seats(address), keys.available(address)]);
            gone.extend((1..=*rows).map(|row| format!("{in_rows}:{row}")));
        }
    }
    let gone = gone.into_iter().map(|key| Write { key, what: What::Gone });
    [state(keys, stock)].into_iter().chain(gone).collect()
}

fn seats_since(
    keys: &Keys,
    before: &SubsectionView,
    subsection: &SubsectionView,
) -> impl Iterator<Item = Write> {
    let (mut seats, mut rows) = (Vec::new(), Vec::new());
    for row in subsection.rows_unlike(before) {
        let changed = subsection.seats_unlike(before, row);
        let first = index(subsection, row);
        seats.extend(changed.map(|(number, now)| (first + usize::from(number) - 1, code(now))));
        rows.push((row, available_in(subsection, row)));
    }
    let key = keys.seats(&subsection.address);
    let chunks: Vec<Write> = seats
        .chunks(VALUES_MAX)
        .map(|seats| Write { key: key.clone(), what: What::Seats(seats.to_vec()) })
        .collect();
    let counted = [available(keys, subsection)];
    chunks.into_iter().chain(counted).chain(in_rows(keys, subsection, rows.into_iter()))
}

/// The bits of all seats: two for each, the first seat in the highest bits of the first byte, as `BITFIELD` counts.
fn bitmap(subsection: &SubsectionView) -> Vec<u8> {
    let seats = usize::from(subsection.rows) * usize::from(subsection.cols);
    let mut bytes = vec![0; seats.div_ceil(4)];
    let states = (1..=subsection.rows).flat_map(|row| subsection.row(row));
    for (seat, state) in states.enumerate() {
        bytes[seat / 4] |= code(state) << (6 - 2 * (seat % 4));
    }
    bytes
}

/// The index of a row's first seat.
fn index(subsection: &SubsectionView, row: u16) -> usize {
    (usize::from(row) - 1) * usize::from(subsection.cols)
}

fn code(state: SeatState) -> u8 {
    match state {
        SeatState::Available => 0,
        SeatState::Held => 1,
        SeatState::Sold => 2,
        SeatState::Blocked => 3,
    }
}

fn text(key: String, text: String) -> Write {
    Write { key, what: What::Text(text) }
}

fn available(keys: &Keys, subsection: &SubsectionView) -> Write {
    text(keys.available(&subsection.address), subsection.counts.available.to_string())
}

fn available_in(subsection: &SubsectionView, row: u16) -> u32 {
    let free = subsection.row(row).filter(|state| *state == SeatState::Available);
    u32::try_from(free.count()).expect("a row is short")
}

fn in_rows(
    keys: &Keys,
    subsection: &SubsectionView,
    rows: impl Iterator<Item = (u16, u32)>,
) -> Option<Write> {
    counters(
        keys.available_in_rows(&subsection.address),
        rows.map(|(row, available)| (row.to_string(), available)),
    )
}

fn counters(key: String, counters: impl Iterator<Item = (String, u32)>) -> Option<Write> {
    let counters: Vec<(String, u32)> = counters.collect();
    (!counters.is_empty()).then_some(Write { key, what: What::Counters(counters) })
}

/// How many places each slot has left.
fn slots_available(schedule: &ScheduleView) -> impl Iterator<Item = (String, String)> + '_ {
    schedule.slots.iter().map(|(slot, it)| (slot.to_string(), it.pool.available().to_string()))
}

/// How many boxes of each sort are left.
fn quantities(shop: &ShopView) -> impl Iterator<Item = (String, u32)> + '_ {
    shop.boxes.iter().map(|it| (it.id.to_string(), it.pool.available()))
}

fn fields(key: &str, fields: impl Iterator<Item = (String, String)>) -> Vec<Write> {
    let fields: Vec<(String, String)> = fields.collect();
    let chunks = fields.chunks(VALUES_MAX);
    chunks.map(|chunk| Write { key: key.to_owned(), what: What::Fields(chunk.to_vec()) }).collect()
}

fn state(keys: &Keys, stock: &StockView) -> Write {
    let status = stock.terms.status.word();
    let mut state = json!({ "name": stock.terms.name, "status": status, "sequence": stock.sequence });
    match &stock.kind {
        _ if stock.is_deleted() => {}
        KindView::Event(event) => {
            state["event_stats"] = stats(event.totals);
            state["sections"] = sections(event);
        }
        KindView::Schedule(schedule) => {
            state["schedule_stats"] = stats(total(schedule.slots.values().map(|slot| slot.pool)));
        }
        KindView::Shop(shop) => {
            state["shop_stats"] = stats(total(shop.boxes.iter().map(|boxed| boxed.pool)));
        }
    }
    Write { key: keys.state(), what: What::Document(state) }
}

fn sections(event: &EventView) -> Value {
    let mut sections = Map::new();
    for section in event.sections.iter() {
        let mut subsections = Map::new();
        for index in section.subsections.clone() {
            let SubsectionView { address, rows, cols, counts, .. } = &*event.subsections[usize::from(index)];
            let number = address.rsplit_once('-').map_or("", |(_, number)| number);
            let subsection = json!({ "rows": rows, "cols": cols, "stats": stats(*counts) });
            subsections.insert(number.to_owned(), subsection);
        }
        let section_of = json!({ "price": section.price.0, "subsections": subsections });
        sections.insert(section.name.clone(), section_of);
    }
    Value::Object(sections)
}

fn stats(counts: Counts) -> Value {
    let Counts { available, held, sold, blocked } = counts;
    json!({
        "available": available, "reserved": held, "sold": sold, "blocked": blocked, "total": counts.total(),
    })
}

fn total(pools: impl Iterator<Item = Pool>) -> Counts {
    pools.map(|pool| pool.counts()).reduce(Counts::plus).unwrap_or_default()
}

/// Areas, slots or boxes, by their names.
fn pools(stock: &StockView) -> Box<dyn Iterator<Item = (String, String)> + '_> {
    match &stock.kind {
        KindView::Event(event) => {
            Box::new(event.areas.iter().map(|area| (area.name.clone(), pool(area.pool, area.price.0, false))))
        }
        KindView::Schedule(schedule) => Box::new(
            schedule.slots.iter().map(|(slot, it)| (slot.to_string(), pool(it.pool, it.price.0, it.closed))),
        ),
        KindView::Shop(shop) => {
            Box::new(shop.boxes.iter().map(|it| (it.id.to_string(), pool(it.pool, it.price.0, it.closed))))
        }
    }
}

fn pool(pool: Pool, price: i64, closed: bool) -> String {
    let Pool { capacity, held, sold } = pool;
    let available = pool.available();
    json!({
        "capacity": capacity, "held": held, "sold": sold, "available": available, "price": price,
        "status": if closed { "closed" } else { "open" },
    })
    .to_string()
}

fn sellout(keys: &Keys, event: &EventView) -> Write {
    let at = |name: &str, moment: Option<boxoffice_core::time::Timestamp>| {
        (name.to_owned(), moment.map_or(String::new(), |moment| moment.0.to_string()))
    };
    let first = event.sellout.first_sale_at;
    let last = event.sellout.sold_out_at;
    let took = first.zip(last).map_or(String::new(), |(first, last)| (last.0 - first.0).to_string());
    let fields =
        vec![at("first_sale_at_ms", first), at("sold_out_at_ms", last), ("took_ms".to_owned(), took)];
    Write { key: keys.sellout(), what: What::Fields(fields) }
}
