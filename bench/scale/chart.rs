//! The tables as one picture: how many bookings a second beside the smallest size, and memory.

use std::fmt::Write;

use crate::{Row, Table};

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 46.0;
const GAP: f64 = 70.0;

/// One quantity over the sizes of a table.
struct Panel<'a> {
    title: &'a str,
    axis: &'a str,
    points: Vec<(u64, f64)>,
    /// Marks of the vertical axis; the last is its top.
    marks: Vec<f64>,
    label: fn(f64) -> String,
}

pub(crate) fn draw(tables: &[(&Table, Vec<Row>)]) -> String {
    let width = LEFT + tables.len() as f64 * (WIDTH + GAP);
    let height = TOP + 2.0 * (HEIGHT + GAP + TOP);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="12" fill="#1d2733" role="img" aria-label="Bookings a second and memory by size"><rect width="100%" height="100%" fill="#ffffff"/>"##
    );
    for (place, (table, rows)) in tables.iter().enumerate() {
        let x = LEFT + place as f64 * (WIDTH + GAP);
        let best = rows.iter().map(|row| row.ratio).fold(1.0, f64::max);
        let rate = Panel {
            title: "bookings/s beside the first size",
            axis: table.axis,
            points: rows.iter().map(|row| (row.size, row.ratio)).collect(),
            marks: (0..=(best / 0.25).ceil() as u32 + 1).map(|mark| f64::from(mark) * 0.25).collect(),
            label: |value| format!("{value:.2}"),
        };
        rate.draw(&mut svg, x, TOP);
        let most = rows.iter().map(|row| row.resident_mib).fold(1.0, f64::max);
        let step = nice_step(most / 4.0);
        let marks = (0..=5).map(|mark| f64::from(mark) * step).collect();
        let memory = Panel {
            title: "resident memory, MiB",
            axis: table.axis,
            points: rows.iter().map(|row| (row.size, row.resident_mib)).collect(),
            marks,
            label: |value| format!("{value:.0}"),
        };
        memory.draw(&mut svg, x, TOP + HEIGHT + GAP + TOP);
    }
    svg.push_str("</svg>\n");
    svg
}

/// 1, 2 or 5 times a power of ten, not below.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|step| step * power)
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(power * 10.0)
}

impl Panel<'_> {
    fn draw(&self, svg: &mut String, x: f64, y: f64) {
        let (from, to) = (self.points[0].0 as f64, self.points[self.points.len() - 1].0 as f64);
        let top = self.marks[self.marks.len() - 1];
        let across =
            |size: u64| x + WIDTH * ((size as f64).log10() - from.log10()) / (to.log10() - from.log10());
        let up = |value: f64| y + HEIGHT * (1.0 - value / top);
        let mut add = |text: String| svg.push_str(&text);
        add(format!(r#"<text x="{x}" y="{}" font-weight="600">{}</text>"#, y - 14.0, self.title));
        for &mark in &self.marks {
            let at = up(mark);
            add(format!(r##"<path d="M{x} {at}h{WIDTH}" stroke="#dde3ea"/>"##));
            add(format!(
                r##"<text x="{}" y="{}" text-anchor="end" fill="#5b6774">{}</text>"##,
                x - 8.0,
                at + 4.0,
                (self.label)(mark)
            ));
        }
        let mut line = String::new();
        for (place, &(size, value)) in self.points.iter().enumerate() {
            let (at, height) = (across(size), up(value));
            write!(line, "{}{at:.1} {height:.1}", if place == 0 { "M" } else { "L" })
                .expect("a string takes everything");
            add(format!(
                r##"<text x="{at:.1}" y="{}" text-anchor="middle" fill="#5b6774">{}</text>"##,
                y + HEIGHT + 18.0,
                grouped(size)
            ));
            add(format!(r##"<circle cx="{at:.1}" cy="{height:.1}" r="3.5" fill="#0b6bcb"/>"##));
            // The first stands beside the marks, not on them.
            let anchor = if place == 0 { "start" } else { "middle" };
            add(format!(
                r#"<text x="{at:.1}" y="{:.1}" text-anchor="{anchor}">{}</text>"#,
                height - 9.0,
                (self.label)(value)
            ));
        }
        add(format!(r##"<path d="{line}" fill="none" stroke="#0b6bcb" stroke-width="2"/>"##));
        add(format!(
            r##"<text x="{}" y="{}" text-anchor="middle" fill="#5b6774">{}</text>"##,
            x + WIDTH / 2.0,
            y + HEIGHT + 36.0,
            self.axis
        ));
    }
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}
