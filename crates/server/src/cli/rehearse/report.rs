//! The report: one page that stands for itself, without scripts and without anything from elsewhere.

use super::chart::{Chart, Line, Look};
use super::plan::Arrivals;
use super::results::{Percentiles, Results, Stretch};
use super::words::{count, duration, grouped};

const PAGE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");
/// Codes that are named in the list of refusals.
const CODES_SHOWN_MAX: usize = 12;

/// The whole page.
pub(super) fn page(results: &Results) -> String {
    let circumstances = &results.circumstances;
    let parts = [
        ("title", escaped(&format!("Rehearsal: {}", headline(results)))),
        ("style", STYLE.to_owned()),
        ("mood", mood(results).to_owned()),
        ("made_at", escaped(&to_the_minute(&circumstances.made_at))),
        ("headline", escaped(&headline(results))),
        ("lead", escaped(&lead(results))),
        ("figures", figures(results)),
        ("charts", charts(results)),
        ("audited", audited(results).to_owned()),
        ("checks", checks(results)),
        ("buyers", buyers(results)),
        ("waits", waits(results)),
        ("settings", settings(results)),
        ("command", escaped(&circumstances.command)),
    ];
    let mut pieces = PAGE.split("{{");
    let mut page = pieces.next().expect("text has a beginning").to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").expect("what opens closes");
        let (_, part) = parts.iter().find(|(known, _)| *known == name).expect("every part has its text");
        page.push_str(part);
        page.push_str(rest);
    }
    page
}

/// As it may stand in HTML, between tags and in attributes.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A moment as people write it.
fn to_the_minute(moment: &str) -> String {
    let minutes = moment.get(..16).unwrap_or(moment);
    format!("{} UTC", minutes.replace('T', " "))
}

/// What came of it, in one sentence.
pub(super) fn headline(results: &Results) -> String {
    match results.first_broken() {
        Some(check) => format!("A promise was broken: {}", lowered(check.promise)),
        None if results.buyers.lost() > 0 => format!(
            "Every promise was kept, but {} got no useful answer",
            count(results.buyers.lost(), "buyer", "buyers")
        ),
        None => match results.sold_out_ms {
            Some(ms) => format!(
                "Sold out in {}: {}, none of them twice",
                duration(ms),
                count(results.seats.taken, "seat", "seats")
            ),
            None => format!(
                "{} {} in {}, none of them twice",
                count(results.seats.taken, "seat", "seats"),
                if results.plan.hold { "taken" } else { "sold" },
                duration(results.took_ms)
            ),
        },
    }
}

fn mood(results: &Results) -> &'static str {
    match results.first_broken() {
        Some(_) => "bad",
        None if results.buyers.lost() > 0 => "warn",
        None => "good",
    }
}

/// The sentences below the headline.
pub(super) fn lead(results: &Results) -> String {
    if let Some(check) = results.first_broken() {
        return format!("{}.", check.detail);
    }
    let came = match results.plan.arrivals {
        Arrivals::Spike => "at the same moment".to_owned(),
        Arrivals::Ramp => {
            format!("within {}, more and more", duration(results.plan.over.as_secs_f64() * 1_000.0))
        }
        Arrivals::Steady => format!("within {}", duration(results.plan.over.as_secs_f64() * 1_000.0)),
    };
    let all = count(results.buyers.all, "buyer", "buyers");
    let last = duration(results.took_ms);
    format!(
        "{all} came {came}. The last answer was given after {last}. Everything that was acknowledged was read back and compared: every promise was kept."
    )
}

fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn figures(results: &Results) -> String {
    let waited = |of: fn(&Percentiles) -> f64| {
        results.booking_waits.as_ref().map_or("none".to_owned(), |waits| duration(of(waits)))
    };
    let mut figures = [
        (grouped(results.seats.taken), "seats taken"),
        (duration(results.took_ms), "until the last answer"),
        (grouped(results.requests_per_second.round() as u64), "answers a second"),
        (waited(|waits| waits.p50_ms), "half waited at most"),
        (waited(|waits| waits.p99_ms), "99 of 100 waited at most"),
        (grouped(results.buyers.refused), "buyers turned away"),
    ];
    if let Some(ms) = results.sold_out_ms {
        figures[0] = (duration(ms), "to sell out");
    }
    figures.iter().map(|(figure, name)| format!("<li><b>{figure}</b><span>{name}</span></li>")).collect()
}

fn charts(results: &Results) -> String {
    [sell_out(results), rate(results), waits_over_time(results), waits_shared(results), refusals(results)]
        .concat()
}

/// Milliseconds below two seconds, seconds above.
fn time_unit(to_ms: f64) -> fn(f64) -> String {
    if to_ms < 2_000.0 {
        |ms| format!("{} ms", number(ms))
    } else {
        |ms| format!("{} s", number(ms / 1_000.0))
    }
}

/// As short as it can be told.
fn number(value: f64) -> String {
    let rounded = (value * 1_000.0).round() / 1_000.0;
    if rounded >= 1_000.0 { grouped(rounded as u64) } else { rounded.to_string() }
}

fn large_number(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", number(value / 1e6)),
        value if value >= 1e4 => format!("{}k", number(value / 1e3)),
        value => number(value),
    }
}

fn end_ms(results: &Results) -> f64 {
    results.took_ms.max(results.interval_ms)
}

/// A chart over the time of the sale; `read` says what happened in a stretch.
fn over_time(
    results: &Results,
    lines: Vec<Line>,
    description: String,
    y_unit: fn(f64) -> String,
    read: impl Fn(&Stretch) -> String,
) -> Chart {
    let to = end_ms(results);
    let readings = results.intervals.iter().filter(|stretch| stretch.from_ms < to).map(|stretch| {
        let words = format!(
            "{} to {}: {}",
            duration(stretch.from_ms),
            duration(stretch.from_ms + results.interval_ms),
            read(stretch)
        );
        (stretch.from_ms, stretch.from_ms + results.interval_ms, words)
    });
    Chart { description, x_to: to, x_unit: time_unit(to), y_unit, lines, readings: readings.collect() }
}

fn figure(title: &str, legend: &[(Look, &str)], chart: &Chart) -> String {
    let legend: String = legend
        .iter()
        .map(|(look, name)| {
            format!(
                r#"<span><svg viewBox="0 0 24 10"><path class="line {}" d="M1 5H23"/></svg>{name}</span>"#,
                look.class()
            )
        })
        .collect();
    format!(
        r#"<figure class="card"><figcaption><b>{title}</b><span class="legend">{legend}</span></figcaption>{}</figure>"#,
        chart.draw()
    )
}

/// The sum of something up to the end of each stretch.
fn summed(results: &Results, of: impl Fn(&Stretch) -> u64) -> Vec<(f64, f64)> {
    let mut sum = 0;
    let ends = results.intervals.iter().map(|stretch| {
        sum += of(stretch);
        ((stretch.from_ms + results.interval_ms).min(end_ms(results)), sum as f64)
    });
    std::iter::once((0.0, 0.0)).chain(ends).collect()
}

/// So many a second in each stretch.
fn per_second(results: &Results, of: impl Fn(&Stretch) -> u64) -> Vec<(f64, f64)> {
    let middle = |stretch: &Stretch| (stretch.from_ms + results.interval_ms / 2.0).min(end_ms(results));
    results
        .intervals
        .iter()
        .map(|stretch| (middle(stretch), of(stretch) as f64 * 1_000.0 / results.interval_ms))
        .collect()
}

fn sell_out(results: &Results) -> String {
    let before = results.seats.before.available as f64;
    let taken = summed(results, |stretch| stretch.seats_taken);
    // Seats whose hold ran out may be taken again.
    let left = taken.into_iter().map(|(x, taken)| (x, (before - taken).max(0.0))).collect();
    let mut lines = vec![Line { look: Look::Area, points: left }];
    let mut legend = vec![(Look::Area, "seats left")];
    if results.plan.hold {
        lines.push(Line { look: Look::Warning, points: summed(results, |stretch| stretch.seats_sold) });
        legend.push((Look::Warning, "seats paid"));
    }
    let description = format!("Seats left over time, from {} to {}", before, results.seats.after.available);
    let chart = over_time(results, lines, description, large_number, |stretch| {
        format!("{} taken", count(stretch.seats_taken, "seat", "seats"))
    });
    figure("How the hall sold", &legend, &chart)
}

fn rate(results: &Results) -> String {
    let mut lines = vec![Line { look: Look::Area, points: per_second(results, |stretch| stretch.answered) }];
    let mut legend = vec![(Look::Area, "answers a second")];
    // All at once is a line to the sky.
    if results.plan.arrivals != Arrivals::Spike {
        lines.push(Line { look: Look::Dashed, points: per_second(results, |stretch| stretch.arrived) });
        legend.push((Look::Dashed, "buyers arriving"));
    }
    let description =
        format!("Answers a second over time; {} on average", number(results.requests_per_second.round()));
    let chart = over_time(results, lines, description, large_number, |stretch| {
        format!(
            "{} answers, {} arrived",
            grouped(stretch.answered),
            count(stretch.arrived, "buyer", "buyers")
        )
    });
    figure("How fast it answered", &legend, &chart)
}

fn waits_over_time(results: &Results) -> String {
    let line = |look, of: fn(&Percentiles) -> f64| {
        let points = results.intervals.iter().filter_map(|stretch| {
            let middle = (stretch.from_ms + results.interval_ms / 2.0).min(end_ms(results));
            stretch.booking_waits.as_ref().map(|waits| (middle, of(waits)))
        });
        Line { look, points: points.collect() }
    };
    let lines = vec![
        line(Look::Area, |waits| waits.p50_ms),
        line(Look::Warning, |waits| waits.p99_ms),
        line(Look::Dashed, |waits| waits.longest_ms),
    ];
    let legend = [(Look::Area, "half"), (Look::Warning, "99 of 100"), (Look::Dashed, "longest")];
    let chart =
        over_time(results, lines, "Waits for a booking over time".to_owned(), time_short, |stretch| {
            match &stretch.booking_waits {
                Some(waits) => format!(
                    "half waited at most {}, 99 of 100 {}",
                    duration(waits.p50_ms),
                    duration(waits.p99_ms)
                ),
                None => "no booking answered".to_owned(),
            }
        });
    figure("How long bookings waited, by when they were answered", &legend, &chart)
}

fn time_short(ms: f64) -> String {
    if ms >= 1_000.0 { format!("{} s", number(ms / 1_000.0)) } else { format!("{} ms", number(ms)) }
}

fn waits_shared(results: &Results) -> String {
    let waits = &results.booking_waits_by_percent;
    let points = waits.iter().enumerate().map(|(percent, ms)| (*ms, percent as f64)).collect();
    let longest = waits.last().copied().unwrap_or_default();
    let readings = waits.windows(2).enumerate().map(|(percent, pair)| {
        (
            pair[0],
            pair[1],
            format!("{} of 100 bookings were answered within {}", percent + 1, duration(pair[1])),
        )
    });
    let chart = Chart {
        description: format!(
            "The share of bookings that were answered within a time; all within {}",
            duration(longest)
        ),
        x_to: longest,
        x_unit: time_unit(longest),
        y_unit: |percent| format!("{percent} %"),
        lines: vec![Line { look: Look::Area, points }],
        readings: readings.collect(),
    };
    figure("How many were answered within a time", &[(Look::Area, "share of bookings")], &chart)
}

fn refusals(results: &Results) -> String {
    if results.refusals.is_empty() {
        return String::new();
    }
    let refused = |stretch: &Stretch| stretch.refusals.values().sum::<u64>();
    let lines = vec![Line { look: Look::Area, points: per_second(results, refused) }];
    let description = "Refusals a second over time".to_owned();
    let chart = over_time(results, lines, description, large_number, |stretch| {
        count(refused(stretch), "refusal", "refusals")
    });
    let over_time = figure("When refusals were given", &[(Look::Area, "refusals a second")], &chart);
    let mut codes: Vec<(&str, u64)> =
        results.refusals.iter().map(|(code, count)| (code.as_str(), *count)).collect();
    codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    codes.truncate(CODES_SHOWN_MAX);
    format!(r#"{over_time}<section class="card"><h2>Refusals by code</h2>{}</section>"#, bars(&codes, ""))
}

/// A row with a bar for each.
fn bars(rows: &[(&str, u64)], class: &str) -> String {
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or_default().max(1);
    let rows: String = rows
        .iter()
        .map(|(name, count)| {
            let part = *count as f64 * 100.0 / most as f64;
            let bar = if *count == 0 {
                String::new()
            } else {
                format!(r#"<span class="meter {class}" style="width:{part:.1}%"></span>"#)
            };
            format!("<tr><td>{}</td><td>{bar}</td><td>{}</td></tr>", escaped(name), grouped(*count))
        })
        .collect();
    format!(r#"<div class="scroll"><table class="bars">{rows}</table></div>"#)
}

fn audited(results: &Results) -> &'static str {
    match results.circumstances.server {
        Some(_) => "Checked from outside, over the API, after the last answer.",
        None => {
            "Checked from outside, over the API, after the server had been stopped and started again on the same store."
        }
    }
}

fn checks(results: &Results) -> String {
    results
        .checks
        .iter()
        .map(|check| {
            let (mood, word) = if check.held { ("good", "kept") } else { ("bad", "broken") };
            let (promise, detail) = (escaped(check.promise), escaped(&check.detail));
            format!(r#"<li><span class="badge {mood}">{word}</span><span>{promise}</span><span class="faint">{detail}</span></li>"#)
        })
        .collect()
}

fn buyers(results: &Results) -> String {
    let buyers = &results.buyers;
    let all = [
        ("bought", buyers.bought),
        ("held seats and left", buyers.left),
        ("turned away", buyers.refused),
        ("paid too late", buyers.too_late),
        ("got an error", buyers.failed),
        ("got no answer", buyers.unanswered),
    ];
    let there: Vec<(&str, u64)> = all
        .into_iter()
        .filter(|(name, count)| *count > 0 || matches!(*name, "bought" | "turned away"))
        .collect();
    bars(&there, "")
}

fn waits(results: &Results) -> String {
    let kinds = [
        ("look at the map", &results.look_waits),
        ("book", &results.booking_waits),
        ("pay", &results.payment_waits),
    ];
    let rows: String = kinds
        .iter()
        .filter_map(|(name, waits)| Some((name, waits.as_ref()?)))
        .map(|(name, waits)| {
            let times = [waits.p50_ms, waits.p90_ms, waits.p99_ms, waits.p999_ms, waits.longest_ms];
            let times: String = times.iter().map(|ms| format!("<td>{}</td>", duration(*ms))).collect();
            format!("<tr><td>{name}</td><td>{}</td>{times}</tr>", grouped(waits.count))
        })
        .collect();
    format!(
        r#"<div class="scroll"><table><tr><th>to</th><th>answers</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th><th>longest</th></tr>{rows}</table></div>"#
    )
}

fn settings(results: &Results) -> String {
    let (plan, at) = (&results.plan, &results.circumstances);
    let came = match plan.arrivals {
        Arrivals::Spike => "all at once".to_owned(),
        Arrivals::Ramp => format!("ramp over {} s", plan.over.as_secs_f64()),
        Arrivals::Steady => format!("steady over {} s", plan.over.as_secs_f64()),
    };
    let paying = if plan.hold {
        format!(
            "hold, think about {}, then pay; {} % walk away",
            duration(plan.think_ms.into()),
            plan.abandon_percent
        )
    } else {
        "pay with the booking".to_owned()
    };
    let memory = at.memory_gib.map(|gib| format!(", {gib:.1} GiB of memory")).unwrap_or_default();
    let facts = [
        (
            "Server",
            at.server
                .clone()
                .unwrap_or_else(|| "its own, in the same process: real HTTP, durable store".to_owned()),
        ),
        (
            "Event",
            format!(
                "{}, {} before",
                at.event,
                count(results.seats.before.available, "seat free", "seats free")
            ),
        ),
        (
            "Buyers",
            format!(
                "{}, {came}, {} each",
                grouped(results.buyers.all),
                match plan.group.most {
                    1 => "1 seat".to_owned(),
                    _ => format!("{} seats", plan.group),
                }
            ),
        ),
        (
            "Behaviour",
            format!(
                "{} % look at the map first, {} % pick their seats, {} % send their request twice; {paying}",
                plan.look_percent, plan.pick_percent, plan.repeat_percent
            ),
        ),
        ("Connections", format!("{}, up to {} bookings under way on each", at.connections, at.in_flight_max)),
        (
            "Machine",
            format!(
                "{}{memory}; buyers and server share it unless the server is elsewhere",
                count(at.cores as u64, "core", "cores")
            ),
        ),
        ("Seed", plan.seed.to_string()),
        ("Boxoffice", at.version.to_owned()),
    ];
    facts.iter().map(|(name, fact)| format!("<dt>{name}</dt><dd>{}</dd>", escaped(fact))).collect()
}
