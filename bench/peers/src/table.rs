//! The table, and what it should show.

use crate::contender::Contender;
use crate::drive::Sample;

/// A contender and what was measured of it.
pub(crate) struct Row {
    pub(crate) contender: Contender,
    pub(crate) clients: usize,
    /// One of each round, in order.
    pub(crate) samples: Vec<Sample>,
}

impl Row {
    pub(crate) fn new(contender: Contender, clients: usize) -> Row {
        Row { contender, clients, samples: Vec::new() }
    }

    fn median_of(&self, value: impl Fn(&Sample) -> f64) -> f64 {
        median(self.samples.iter().map(value).collect())
    }
}

/// How many times as fast one should be as another, at least.
const WANTED: [(Contender, Contender, f64); 7] = [
    (Contender::BoxofficeSingle, Contender::SlotRow, 20.0),
    (Contender::BoxofficeSingle, Contender::RedlockEvent, 30.0),
    (Contender::BoxofficeSingle, Contender::RedisLuaAlways, 3.0),
    (Contender::BoxofficeSingle, Contender::RedisLuaEverySecond, 1.0),
    (Contender::BoxofficeShared, Contender::RedisLuaAlways, 3.0),
    (Contender::BoxofficeShared, Contender::RedisLuaEverySecond, 1.0),
    (Contender::BoxofficeBatch, Contender::BoxofficeSingle, 5.0),
];

pub(crate) fn print(rows: &[Row]) {
    let of = |wanted: Contender| rows.iter().find(|row| row.contender == wanted);
    let single = of(Contender::BoxofficeSingle).expect("it is always measured");
    println!(
        "\n{:<44} {:>7} {:>10} {:>9} {:>9} {:>11} {:>7} {:>9} {:>9}",
        "", "clients", "bookings/s", "p50 ms", "p99 ms", "CPU s/1,000", "bytes", "dirtied", "(d) is"
    );
    for row in rows {
        println!(
            "{:<44} {:>7} {:>10.0} {:>9.2} {:>9.2} {:>11.3} {:>7.0} {:>9.0} {:>8.2}x",
            row.contender.name(),
            row.clients,
            row.median_of(|sample| sample.per_second),
            row.median_of(|sample| sample.p50_ms),
            row.median_of(|sample| sample.p99_ms),
            row.median_of(|sample| sample.cpu_seconds_per_thousand),
            row.median_of(|sample| sample.written_bytes_each),
            row.median_of(|sample| sample.dirtied_bytes_each),
            median(ratios(single, row)),
        );
    }
    println!("\nafter a power cut");
    for row in rows {
        println!("{:<44} {}", row.contender.name(), row.contender.after_a_power_cut());
    }
    println!("\ntimes as many bookings a second, round by round");
    for (fast, slow, wanted) in WANTED {
        let (Some(fast_row), Some(slow_row)) = (of(fast), of(slow)) else { continue };
        let mut each = ratios(fast_row, slow_row);
        each.sort_by(f64::total_cmp);
        let found = median(each.clone());
        let verdict = if found >= wanted { "reached" } else { "NOT REACHED" };
        println!(
            "{} / {}: {found:.1} (of {each:.1?}); wanted {wanted}: {verdict}",
            fast.name(),
            slow.name().trim_end()
        );
    }
}

/// Round by round: what slows one down slows the other down as well.
fn ratios(fast: &Row, slow: &Row) -> Vec<f64> {
    fast.samples.iter().zip(&slow.samples).map(|(fast, slow)| fast.per_second / slow.per_second).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
