//! Charts: a function from numbers to an SVG picture, which needs no script to be looked at.

use std::fmt::Write;

use super::report::escaped;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 30.0;
/// Round numbers along the foot and along the side, about so many.
const FOOT_TICKS: f64 = 6.0;
const SIDE_TICKS: f64 = 4.0;

/// Lines over one axis.
#[derive(Debug)]
pub(super) struct Chart {
    /// What the picture shows, for those who cannot see it.
    pub(super) description: String,
    pub(super) x_to: f64,
    pub(super) x_unit: fn(f64) -> String,
    pub(super) y_unit: fn(f64) -> String,
    pub(super) lines: Vec<Line>,
    /// What is said where somebody points: from where, to where, and the words.
    pub(super) readings: Vec<(f64, f64, String)>,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) look: Look,
    pub(super) points: Vec<(f64, f64)>,
}

/// How a line is drawn; the style sheet has a class for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Area,
    Dashed,
    Warning,
}

impl Look {
    pub(super) fn class(self) -> &'static str {
        match self {
            Look::Area => "area",
            Look::Dashed => "dashed",
            Look::Warning => "warning",
        }
    }
}

impl Chart {
    pub(super) fn draw(&self) -> String {
        let highest =
            self.lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
        let step = round_step(highest / SIDE_TICKS);
        // The highest point has a line above it.
        let y_to = ((highest / step).ceil() * step).max(step);
        let x_to = if self.x_to > 0.0 { self.x_to } else { 1.0 };
        let place =
            |(x, y): (f64, f64)| (LEFT + x / x_to * (RIGHT - LEFT), BOTTOM - y / y_to * (BOTTOM - TOP));
        let mut svg = format!(
            r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
            escaped(&self.description)
        );
        for tick in ticks(y_to, step) {
            let (_, y) = place((0.0, tick));
            push(
                &mut svg,
                format_args!(
                    r#"<path class="grid" d="M{LEFT} {y:.1}H{RIGHT}"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                    LEFT - 7.0,
                    y + 4.0,
                    (self.y_unit)(tick)
                ),
            );
        }
        for tick in ticks(x_to, round_step(x_to / FOOT_TICKS)) {
            let (x, _) = place((tick, 0.0));
            // A label near the edge ends there.
            let anchor = if x > RIGHT - 20.0 { "end" } else { "middle" };
            let at = if anchor == "end" { x.min(RIGHT) } else { x };
            push(
                &mut svg,
                format_args!(
                    r#"<path class="tick" d="M{x:.1} {BOTTOM}v4"/><text x="{at:.1}" y="{}" text-anchor="{anchor}">{}</text>"#,
                    BOTTOM + 18.0,
                    (self.x_unit)(tick)
                ),
            );
        }
        push(&mut svg, format_args!(r#"<path class="base" d="M{LEFT} {BOTTOM}H{RIGHT}"/>"#));
        for line in &self.lines {
            draw_line(&mut svg, line, place);
        }
        for (from, to, words) in &self.readings {
            let ((from, _), (to, _)) = (place((*from, 0.0)), place((to.min(x_to), 0.0)));
            let (middle, words) = ((from + to) / 2.0, escaped(words));
            push(
                &mut svg,
                format_args!(
                    r#"<g class="reading"><title>{words}</title><rect x="{from:.1}" y="{TOP}" width="{:.1}" height="{}"/><path d="M{middle:.1} {TOP}V{BOTTOM}"/></g>"#,
                    (to - from).max(0.5),
                    BOTTOM - TOP,
                ),
            );
        }
        svg.push_str("</svg>");
        svg
    }
}

fn draw_line(svg: &mut String, line: &Line, place: impl Fn((f64, f64)) -> (f64, f64)) {
    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else { return };
    let mut way = String::new();
    for (index, point) in line.points.iter().enumerate() {
        let (x, y) = place(*point);
        push(&mut way, format_args!("{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' }));
    }
    if line.look == Look::Area {
        let (first, last) = (place(*first).0, place(*last).0);
        push(svg, format_args!(r#"<path class="fill" d="{way}L{last:.1} {BOTTOM}L{first:.1} {BOTTOM}Z"/>"#));
    }
    push(svg, format_args!(r#"<path class="line {}" d="{way}"/>"#, line.look.class()));
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("memory can be written to");
}

/// 1, 2 or 5 times a power of ten, not below `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(power)
}

fn ticks(to: f64, step: f64) -> impl Iterator<Item = f64> {
    // A little more than the end, because sums of fractions are not exact.
    (0..).map(move |index| f64::from(index) * step).take_while(move |tick| *tick <= to * 1.0001)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (rough, step) in
            [(0.7, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (7.0, 10.0), (130.0, 200.0), (0.03, 0.05)]
        {
            assert!((round_step(rough) - step).abs() < 1e-9, "{rough}");
        }
        assert_eq!(ticks(10.0, 5.0).collect::<Vec<_>>(), [0.0, 5.0, 10.0]);
    }

    #[test]
    fn a_chart_is_drawn_of_what_there_is() {
        let line = |points: &[(f64, f64)]| Line { look: Look::Area, points: points.to_vec() };
        let mut chart = Chart {
            description: "a < b".to_owned(),
            x_to: 10.0,
            x_unit: |x| format!("{x} ms"),
            y_unit: |y| y.to_string(),
            lines: vec![line(&[(0.0, 100.0), (10.0, 0.0)]), line(&[])],
            readings: vec![(0.0, 5.0, "first \"half\"".to_owned())],
        };
        let drawn = chart.draw();
        assert!(drawn.contains("a &lt; b") && drawn.contains("first &quot;half&quot;"), "{drawn}");
        assert!(drawn.contains(r#"<path class="line area" d="M58.0 16.0L546.0 220.0"/>"#), "{drawn}");
        chart.lines.clear();
        chart.x_to = 0.0;
        assert!(!chart.draw().contains("NaN"));
    }
}
