//! Numbers as people read them: a sensible unit, two or three digits, thousands apart.

/// A duration in nanoseconds: `9.8 ns`, `0.4 µs`, `38 µs`, `1.1 ms`, `2.50 s`.
pub(crate) fn time(ns: f64) -> String {
    if ns == 0.0 {
        return "0 ns".into();
    }
    match TIMES.iter().find(|row| ns.abs() < row.below_ns) {
        Some(row) => format!("{:.*} {}", row.decimals, ns / row.unit_ns, row.unit),
        None => format!("{} s", count((ns / 1e9).round() as u64)),
    }
}

/// How durations up to a length are shown.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct TimeFormat {
    below_ns: f64,
    unit_ns: f64,
    unit: &'static str,
    decimals: usize,
}

/// How durations are shown: the first that fits. Longer ones are whole seconds.
pub(crate) const TIMES: [TimeFormat; 9] = [
    shown(9.95, 1.0, "ns", 1),
    shown(99.5, 1.0, "ns", 0),
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

/// A length of whole nanoseconds.
pub(crate) fn length(ns: u64) -> String {
    time(ns as f64)
}

/// A duration as it was asked for: `10 s`, `500 ms`, `2 min`.
pub(crate) fn span(ns: u64) -> String {
    let s = ns as f64 / 1e9;
    match s {
        ..0.9995 => format!("{:.0} ms", s * 1e3),
        ..9.95 => format!("{s:.1} s"),
        ..599.5 => format!("{s:.0} s"),
        _ => format!("{:.0} min", s / 60.0),
    }
}

/// A length that was asked for: round values as they are (`1 µs`, `50 ms`), others in three digits (`33.3 µs`).
pub(crate) fn asked(ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let fitting = || UNITS.into_iter().filter(|(unit, _)| ns >= *unit);
    if let Some((unit, name)) = fitting().find(|(unit, _)| ns.is_multiple_of(*unit)) {
        return format!("{} {name}", ns / unit);
    }
    let Some((unit, name)) = fitting().next() else { return format!("{ns} ns") };
    let number = ns as f64 / unit as f64;
    let decimals = match number {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$} {name}")
}

/// A part of a whole: `48.1 %`.
pub(crate) fn share(part: f64) -> String {
    match part * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => "<0.1 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

/// Decimals that show a noise of this size to three digits or so.
fn noise_decimals(noise: f64) -> usize {
    match noise * 100.0 {
        9.995.. => 1,
        0.0995.. => 2,
        _ => 3,
    }
}

/// A noise share: `2.07 %`, `0.012 %`.
pub(crate) fn noise(noise: f64) -> String {
    if noise > 0.0 && noise < 0.000_005 {
        return "<0.001 %".into();
    }
    format!("{:.*} %", noise_decimals(noise), noise * 100.0)
}

/// An interval of a noise share, in percent, as exact as the share itself: `1.98–2.16`.
pub(crate) fn noise_interval(of: f64, low: f64, high: f64) -> String {
    let decimals = noise_decimals(of);
    format!("{:.decimals$}–{:.decimals$}", low * 100.0, high * 100.0)
}

/// A whole number: `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How often per second: `9,310`, `2.5`, `0.03`.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        9.95.. => count(per_second.round() as u64),
        0.095.. => format!("{per_second:.1}"),
        0.000_95.. => format!("{per_second:.2}"),
        0.0 => "0".into(),
        _ => "<0.01".into(),
    }
}

/// A count and what is counted: `1 loss`, `2 losses`.
pub(crate) fn counted(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}

/// CPU numbers as a list: `0-3,8`.
pub(crate) fn cpu_list(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let texts: Vec<String> = runs
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    texts.join(",")
}

/// A number in so many significant digits, without zeros that say nothing: `0.25`, `1200`, `3e15`.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value);
    match rounded.abs() {
        0.0 => "0".into(),
        1e-6..1e12 => rounded.to_string(),
        _ => format!("{rounded:e}"),
    }
}

/// A time at the tick of an axis, in the unit of the largest there: `0`, `0.5 µs`, `100 ns`.
pub(crate) fn tick_time(ns: f64, largest_ns: f64) -> String {
    let (unit_ns, unit) = match largest_ns.abs() {
        ..1e3 => (1.0, "ns"),
        ..1e6 => (1e3, "µs"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    with_unit(ns / unit_ns, unit)
}

/// A count at the tick of an axis: `0`, `500`, `1,000`, `2 M`.
pub(crate) fn tick_count(value: f64) -> String {
    match value.abs() {
        1e6.. => with_unit(value / 1e6, "M"),
        1e3.. if value > 0.0 => count(value.round() as u64),
        _ => significant(value, 4),
    }
}

/// A share at the tick of an axis: `0`, `0.1 %`, `20 %`.
pub(crate) fn tick_share(part: f64) -> String {
    with_unit(part * 100.0, "%")
}

/// A frequency at the tick of an axis, in the unit of the largest there: `0`, `500 Hz`, `1.5 kHz`.
pub(crate) fn tick_frequency(hz: f64, largest_hz: f64) -> String {
    match largest_hz.abs() {
        1e6.. => with_unit(hz / 1e6, "MHz"),
        1e4.. => with_unit(hz / 1e3, "kHz"),
        _ => with_unit(hz, "Hz"),
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    if value == 0.0 { "0".into() } else { format!("{} {unit}", significant(value, 6)) }
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
            (99.6, "0.1 µs"),
            (412.0, "0.4 µs"),
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
            (-420.0, "-0.4 µs"),
        ];
        for (ns, expected) in cases {
            assert_eq!(time(ns), expected, "{ns} ns");
        }
    }

    #[test]
    fn other_numbers() {
        assert_eq!([0.481, 0.0, 0.0001, 1.0].map(share), ["48.1 %", "0.0 %", "<0.1 %", "100.0 %"]);
        let noises = [0.0207, 0.1234, 0.000_123, 0.000_001, 0.0].map(noise);
        assert_eq!(noises, ["2.07 %", "12.3 %", "0.012 %", "<0.001 %", "0.000 %"]);
        assert_eq!(noise_interval(0.0207, 0.0198, 0.02163), "1.98–2.16");
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let rates = [9310.4, 250.0, 9.94, 0.9, 0.031, 0.0001, 0.0].map(rate);
        assert_eq!(rates, ["9,310", "250", "9.9", "0.9", "0.03", "<0.01", "0"]);
        assert_eq!(
            [0, 100, 1_000, 50_000_000, 1_500_000, 2_000_000_000, 1_503, 33_333].map(asked),
            ["0 ns", "100 ns", "1 µs", "50 ms", "1500 µs", "2 s", "1.50 µs", "33.3 µs"]
        );
        let spans = [500_000_000, 10_000_000_000, 9_876_000_000, 600_000_000_000].map(span);
        assert_eq!(spans, ["500 ms", "10 s", "9.9 s", "10 min"]);
        assert_eq!(cpu_list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(cpu_list(&[u32::MAX, 0]), "4294967295,0");
        assert_eq!(counted(1, "loss", "losses"), "1 loss");
    }

    #[test]
    fn ticks_of_axes() {
        let times = [(0.0, 1e9), (0.5e9, 3e9), (100.0, 100.0), (1e3, 1e3), (1_500.0, 2e6)];
        let times = times.map(|(ns, largest)| tick_time(ns, largest));
        assert_eq!(times, ["0", "0.5 s", "100 ns", "1 µs", "0.0015 ms"]);
        assert_eq!([0.0, 500.0, 20_000.0, 2e6].map(tick_count), ["0", "500", "20,000", "2 M"]);
        assert_eq!(
            [0.001, 0.2, 0.300_000_000_000_000_04].map(tick_share),
            ["0.1 %", "20 %", "30 %"]
        );
        let hertz = [(500.0, 2e3), (1_500.0, 2e4)].map(|(hz, largest)| tick_frequency(hz, largest));
        assert_eq!(hertz, ["500 Hz", "1.5 kHz"]);
        let plain = [1.15, 0.0, -0.5, 3e-9, 2e15].map(|value| significant(value, 4));
        assert_eq!(plain, ["1.15", "0", "-0.5", "3e-9", "2e15"]);
    }
}
