//! Numbers and times as people read them.

/// With a comma after every thousand.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time with three digits that matter.
pub(super) fn duration(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms if ms < 10_000.0 => format!("{:.2} s", ms / 1_000.0),
        ms if ms < 100_000.0 => format!("{:.1} s", ms / 1_000.0),
        ms => format!("{:.0} s", ms / 1_000.0),
    }
}

/// So many of something.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        for (ms, text) in [
            (0.5, "0.50 ms"),
            (12.34, "12.3 ms"),
            (234.5, "234 ms"),
            (1_500.0, "1.50 s"),
            (61_000.0, "61.0 s"),
        ] {
            assert_eq!(duration(ms), text);
        }
        assert_eq!(count(1, "seat", "seats"), "1 seat");
        assert_eq!(count(2_000, "seat", "seats"), "2,000 seats");
    }
}
