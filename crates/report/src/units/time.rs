//! Times in readable form.

use super::{between, count, decimals, ends, number, three_digits, without_sign_of_zero};

/// Writes a duration in nanoseconds: `9.8 ns`, `412 ns`, `38 µs`, `1.1 ms`, `2.50 s`.
pub(crate) fn time(ns: f64) -> String {
    if ns == 0.0 {
        return "0 ns".into();
    }
    match TIMES.iter().find(|row| ns.abs() < row.below_ns) {
        Some(row) => format!("{:.*} {}", row.decimals, ns / row.unit_ns, row.unit),
        None => format!("{} s", count((ns / 1e9).round() as u64)),
    }
}

/// How durations below a limit are written.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct TimeFormat {
    below_ns: f64,
    unit_ns: f64,
    unit: &'static str,
    decimals: usize,
}

/// The formats of durations, of which the first that fits is used; longer durations are whole seconds.
pub(crate) const TIMES: [TimeFormat; 9] = [
    shown(9.95, 1.0, "ns", 1),
    shown(999.5, 1.0, "ns", 0),
    shown(9_950.0, 1e3, "µs", 1),
    shown(999_500.0, 1e3, "µs", 0),
    shown(9_950_000.0, 1e6, "ms", 1),
    shown(999_500_000.0, 1e6, "ms", 0),
    shown(9.995e9, 1e9, "s", 2),
    shown(99.95e9, 1e9, "s", 1),
    shown(999.5e9, 1e9, "s", 0),
];

const fn shown(below_ns: f64, unit_ns: f64, unit: &'static str, decimals: usize) -> TimeFormat {
    TimeFormat { below_ns, unit_ns, unit, decimals }
}

/// Writes a time since the start of a run: `3.214 s`, `1,234.500 s`.
pub(crate) fn instant(ns: u64) -> String {
    let ms = ns / 1_000_000 + u64::from(ns % 1_000_000 >= 500_000);
    format!("{}.{:03} s", count(ms / 1_000), ms % 1_000)
}

/// Writes a length of whole nanoseconds.
pub(crate) fn length(ns: u64) -> String {
    time(ns as f64)
}

/// Writes a duration as users request it: `10 s`, `500 ms`, `2 min`. One that ended within a millisecond keeps its
/// digits.
pub(crate) fn span(ns: u64) -> String {
    let s = ns as f64 / 1e9;
    match s {
        ..0.001 => time(ns as f64),
        ..0.9995 => format!("{:.0} ms", s * 1e3),
        ..9.95 => format!("{s:.1} s"),
        ..599.5 => format!("{s:.0} s"),
        _ => format!("{:.0} min", s / 60.0),
    }
}

/// Writes a requested length in three digits, without trailing zeros if it is exact: `1 µs`, `1.5 ms`, `33.3 µs`.
pub(crate) fn asked(ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let fitting = UNITS.into_iter().find(|(unit, _)| ns >= *unit);
    let Some((unit, name)) = fitting else { return format!("{ns} ns") };
    if ns.is_multiple_of(unit) {
        return format!("{} {name}", count(ns / unit));
    }
    let number = ns as f64 / unit as f64;
    let text = format!("{number:.*}", three_digits(number));
    let exact = text.parse() == Ok(number);
    format!("{} {name}", if exact { text.trim_end_matches('0') } else { &text })
}

/// Returns the largest unit of time that is not longer than this.
fn unit_of_time(ns: f64) -> (f64, &'static str) {
    match ns {
        ..1e3 => (1.0, "ns"),
        ..1e6 => (1e3, "µs"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// Writes a time in three digits: `0.12 ns`, `9.78 ns`, `412 ns`, `1.23 µs`, `45.6 ms`.
pub(crate) fn fine(ns: f64) -> String {
    let (unit, name) = unit_of_time(ns.abs() * 1.0005);
    let number = ns / unit;
    match number.abs() {
        0.0 => "0 ns".into(),
        ..9_999.5 => format!("{number:.*} {name}", three_digits(number)),
        _ => format!("{} {name}", count(number.abs().round() as u64)),
    }
}

/// Writes two times with one unit: `131–142 ns`.
pub(crate) fn fine_range(low_ns: f64, high_ns: f64) -> String {
    let (unit, name) = unit_of_time(high_ns.abs() * 1.0005);
    let [low, high] = [low_ns, high_ns].map(|ns| ns / unit);
    let decimals = if high < 0.0 { 2 } else { three_digits(high) };
    let [low, high] = ends(low, high, decimals);
    format!("{} {name}", between(&low, &high))
}

/// Writes a time with enough digits to show two digits of a smaller one: 1,012,345 ns beside 12,345 ns is `1.012 ms`.
pub(crate) fn fine_beside(ns: f64, seen_ns: f64) -> String {
    let (unit, name) = unit_of_time(ns.abs() * 1.000_000_5);
    let digits = if seen_ns > 0.0 { 1 - (seen_ns / unit).log10().floor() as i32 } else { 3 };
    format!("{:.*} {name}", digits.clamp(1, 6) as usize, ns / unit)
}

/// Writes a time in four digits: `100.3 µs`, `10.02 ms`.
pub(crate) fn exact(ns: f64) -> String {
    let (unit, name) = unit_of_time(ns * (1e3 / 999.95));
    let value = ns / unit;
    format!("{value:.*} {name}", 1 + decimals(value, &[9.9995, 99.995]))
}

/// Writes a time that may be long: `10 s`, `12 min`, `28 h`, `116 days`.
#[must_use]
pub fn long(ns: u64) -> String {
    let hours = ns as f64 / 3.6e12;
    match hours {
        ..2.0 => span(ns),
        ..48.0 => format!("{hours:.0} h"),
        _ => format!("{} days", count((hours / 24.0).round() as u64)),
    }
}

/// Writes microseconds in about three digits, without the unit: `14.8`, `1.06`, `0.13`.
pub(crate) fn micros(ns: f64) -> String {
    without_sign_of_zero(number(ns / 1e3))
}

/// Writes a limit in microseconds, rounded up to a hundredth.
pub(crate) fn micros_up(ns: f64) -> String {
    micros(((ns / 10.0).ceil() * 10.0).max(10.0))
}

/// Writes two numbers of microseconds: `0.12–0.31`.
pub(crate) fn micros_range(low_ns: f64, high_ns: f64) -> String {
    between(&micros(low_ns), &micros(high_ns))
}

/// Writes microseconds with two decimals, without the unit: `14.12`, `1,003.21`.
pub(crate) fn micros_exact(ns: f64) -> String {
    let hundredths = (ns.abs() / 10.0).round() as u64;
    let sign = if ns < 0.0 && hundredths > 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", count(hundredths / 100), hundredths % 100)
}

/// Writes a difference with its sign, to a hundredth of a microsecond: `+0.19 µs`.
pub(crate) fn signed(ns: f64) -> String {
    format!("{:+.2} µs", ns / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let cases = [
            (0.0, "0 ns"),
            (9.78, "9.8 ns"),
            (9.96, "10 ns"),
            (99.4, "99 ns"),
            (99.6, "100 ns"),
            (412.0, "412 ns"),
            (9_949.0, "9.9 µs"),
            (9_951.0, "10 µs"),
            (37_600.0, "38 µs"),
            (999_499.0, "999 µs"),
            (999_501.0, "1.0 ms"),
            (1_132_000.0, "1.1 ms"),
            (45_400_000.0, "45 ms"),
            (2_500_400_000.0, "2.50 s"),
            (12_340_000_000.0, "12.3 s"),
            (1_234_000_000_000.0, "1,234 s"),
            (-420.0, "-420 ns"),
        ];
        for (ns, expected) in cases {
            assert_eq!(time(ns), expected, "{ns} ns");
        }
    }

    #[test]
    fn fine_times() {
        let cases = [
            (0.0, "0 ns"),
            (0.123, "0.12 ns"),
            (9.783, "9.78 ns"),
            (130.2, "130 ns"),
            (999.8, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (8_123_456.0, "8.12 ms"),
            (2.5e9, "2.50 s"),
            (2.5e13, "25,000 s"),
        ];
        for (ns, expected) in cases {
            assert_eq!(fine(ns), expected, "{ns} ns");
        }
        let beside = [
            (1_012_345.0, 12_345.0, "1.012 ms"),
            (1_000_234.0, 12.0, "1.000234 ms"),
            (1_000_234.0, 130.0, "1.00023 ms"),
            (100_020.0, 800.0, "100.02 µs"),
            (1.0e9, 3.0e8, "1.00 s"),
            (999_999_990.0, 30_000.0, "1.000000 s"),
            (41.2, 0.0, "41.200 ns"),
        ];
        for (ns, seen, expected) in beside {
            assert_eq!(fine_beside(ns, seen), expected, "{ns} ns beside {seen} ns");
        }
        assert_eq!(fine_range(131.0, 142.4), "131–142 ns");
        assert_eq!(fine_range(-180.0, 1_260.0), "-0.18 to 1.26 µs");
        assert_eq!(fine_range(980.0, 1_020.0), "0.98–1.02 µs");
        let exact = [102.34, 100_321.0, 1_000_012.0, 10_020_000.0, 2.5e9].map(exact);
        assert_eq!(exact, ["102.3 ns", "100.3 µs", "1.000 ms", "10.02 ms", "2.500 s"]);
        let long = [10, 5_000, 100_000, 10_000_000].map(|s| long(s * 1_000_000_000));
        assert_eq!(long, ["10 s", "83 min", "28 h", "116 days"]);
    }

    #[test]
    fn microseconds() {
        let cases = [
            (14_794.2, "14.8"),
            (1_063.0, "1.06"),
            (128.0, "0.13"),
            (-47.0, "-0.05"),
            (-3.0, "0.00"),
            (0.0, "0.00"),
            (123_456.0, "123"),
            (f64::NAN, "NaN"),
        ];
        for (ns, expected) in cases {
            assert_eq!(micros(ns), expected, "{ns} ns");
        }
        assert_eq!([3.0, 60.0, 61.0, -5.0].map(micros_up), ["0.01", "0.06", "0.07", "0.01"]);
        let cases = [
            (0.0, "0.00"),
            (14_123.4, "14.12"),
            (1_003_214.9, "1,003.21"),
            (-2_346.0, "-2.35"),
            (-1.0, "0.00"),
            (f64::NAN, "0.00"),
        ];
        for (ns, expected) in cases {
            assert_eq!(micros_exact(ns), expected, "{ns} ns");
        }
    }
}
