//! Numbers in readable form: a suitable unit, two or three digits, thousands separators.

mod time;

pub(crate) use anechoic_recording::topology::list as cpu_list;
pub use time::long;
pub(crate) use time::*;

use crate::style::plain;
use anechoic_analyze::stats::Interval;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Writes the ends of an interval, with the unit once if it is that of both; beside a sign or two units `to` replaces the dash.
pub(crate) fn between(low: &str, high: &str) -> String {
    let low = match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other && !unit.contains(' ') => number,
        _ => low,
    };
    let signed = [low, high].iter().any(|end| end.starts_with(['-', '+']));
    let dash = if signed || low.contains(' ') { " to " } else { "–" };
    format!("{low}{dash}{high}")
}

/// Writes the ends of an interval with this many decimals, or one more if they would look equal.
fn ends(low: f64, high: f64, decimals: usize) -> [String; 2] {
    let written = |decimals: usize| [low, high].map(|end| format!("{end:.decimals$}"));
    let [from, to] = written(decimals);
    if from == to && low < high { written(decimals + 1) } else { [from, to] }
}

/// Writes the ends of an interval in three digits, or one more if they would look equal: `5.12–5.77`.
pub(crate) fn number_range(low: f64, high: f64) -> String {
    let (from, to) = (number(low), number(high));
    if from != to || high >= 999.5 {
        return between(&from, &to);
    }
    let decimals = from.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let [from, to] = ends(low, high, decimals);
    between(&from, &to)
}

/// Removes the sign of a number that was rounded to zero.
fn without_sign_of_zero(number: String) -> String {
    let nothing = number.trim_start_matches(['-', '0', '.']).is_empty();
    if nothing { number.trim_start_matches('-').to_owned() } else { number }
}

/// Larger numbers are written with an exponent.
const HUGE: f64 = 1e7;

/// Writes a number in three digits or more, with thousands separators: `5.44`, `17.3`, `1,234`, `1.2e9`.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        ..99.95 => format!("{value:.*}", three_digits(value)),
        ..HUGE => rounded(value),
        _ => format!("{value:.1e}"),
    }
}

/// Writes a number without decimals unless it is small: `5.44`, `17`, `1,234`.
pub(crate) fn whole(value: f64) -> String {
    if (9.95..HUGE).contains(&value.abs()) { rounded(value) } else { number(value) }
}

fn rounded(value: f64) -> String {
    format!("{}{}", if value < -0.5 { "-" } else { "" }, count(value.abs().round() as u64))
}

/// Writes microseconds in three digits: `0.52 µs`, `17.3 µs`, `1,234 µs`.
pub(crate) fn micro(us: f64) -> String {
    format!("{} µs", number(us))
}

/// Writes a rate without its unit: `250`, `9,980`, `0.50`.
pub(crate) fn hz(rate_hz: f64) -> String {
    if rate_hz.fract() == 0.0 && rate_hz < HUGE { rounded(rate_hz) } else { number(rate_hz) }
}

/// Writes a rate: `250 Hz`, `9,980 Hz`, `0.50 Hz`.
pub(crate) fn hertz(rate_hz: f64) -> String {
    format!("{} Hz", hz(rate_hz))
}

/// Writes a frequency in four digits without trailing zeros: `250 Hz`, `3.333 kHz`.
pub(crate) fn frequency(hz: f64) -> String {
    let (unit, name) = unit_of_frequency(hz);
    let number = hz / unit;
    let decimals = (3 - number.abs().max(1e-3).log10().floor() as i32).clamp(0, 3) as usize;
    let text = format!("{number:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {name}")
}

/// Writes a frequency with one digit of its uncertainty: `250.001 ± 0.003 Hz`.
pub(crate) fn uncertain(hz: f64, uncertainty_hz: f64) -> String {
    if !(uncertainty_hz > 0.0 && uncertainty_hz.is_finite()) {
        return frequency(hz);
    }
    let (unit, name) = unit_of_frequency(hz);
    let digits = -((uncertainty_hz * 1.05 / unit).log10().floor()) as i32;
    let decimals = digits.clamp(0, 6) as usize;
    format!("{:.decimals$} ± {:.decimals$} {name}", hz / unit, uncertainty_hz / unit)
}

fn unit_of_frequency(hz: f64) -> (f64, &'static str) {
    if hz.abs() < 999.95 { (1.0, "Hz") } else { (1e3, "kHz") }
}

/// Writes milliseconds in about five digits, without the unit.
pub(crate) fn millis(ms: f64) -> String {
    match ms {
        ..999.95 => format!("{ms:.*}", 1 + decimals(ms, &[0.999_5, 9.999_5, 99.995, 999.95])),
        _ => number(ms),
    }
}

/// Writes a change in percent with its sign.
pub(crate) fn change(part: f64) -> String {
    let percent = part * 100.0;
    match percent.abs() {
        ..0.005 => "0.00 %".into(),
        ..1_000.0 => format!("{percent:+.*} %", decimals(percent, &[9.995, f64::INFINITY])),
        _ => format!("{percent:+.1e} %"),
    }
}

/// Returns the decimals that show a percentage to about three digits.
fn percent_decimals(percent: f64) -> usize {
    decimals(percent, &[0.994_95, 9.994_95, 99.95])
}

/// Writes a percentage: `0.994 %`, `12.3 %`, `1,234 %`.
pub(crate) fn percent(value: f64) -> String {
    match (percent_decimals(value), value.abs()) {
        // More than any CPU has: a longer number would not fit.
        (_, 9_999.5..) => format!("{value:.1e} %"),
        (0, _) => number(value) + " %",
        (decimals, _) => format!("{value:.decimals$} %"),
    }
}

/// Writes an interval of percentages with the digits of its upper end.
pub(crate) fn percent_range(low: f64, high: f64) -> String {
    match percent_decimals(high) {
        0 => between(&number(low), &number(high)) + " %",
        decimals => {
            let [low, high] = ends(low, high, decimals);
            between(&low, &high) + " %"
        }
    }
}

/// Writes a loss as a part of the undisturbed time: `0.020 %`, `2.31 %`, `-0.10 %`, `1,412 %`.
pub(crate) fn loss(part: f64) -> String {
    format!("{} %", loss_number(part, part))
}

/// Writes a loss in percent, with the digits of another one.
pub(crate) fn loss_number(part: f64, as_exact_as: f64) -> String {
    let decimals = decimals(as_exact_as * 100.0, &[0.0995, 9.995, 99.95]);
    if decimals == 0 {
        return rounded(part * 100.0);
    }
    without_sign_of_zero(format!("{:.decimals$}", part * 100.0))
}

/// Writes a ratio with two decimals, or none if it is large.
pub(crate) fn ratio(ratio: f64) -> String {
    if ratio.abs() < 99.995 { format!("{ratio:.2}") } else { rounded(ratio) }
}

/// Writes an extrapolated slowdown to two digits of its distance from 1, because more are not known: `1.023`, `170`,
/// `1.2e6`.
pub(crate) fn rough_slowdown(slowdown: f64) -> String {
    let place = (slowdown - 1.0).max(1e-4).log10().floor() - 1.0;
    let digits = 10f64.powf(place);
    match (slowdown / digits).round() * digits {
        rough @ ..9.95 => format!("{rough:.*}", (-place).max(1.0) as usize),
        rough @ ..9_999.0 => format!("{rough:.0}"),
        rough => format!("{rough:.1e}"),
    }
}

/// Writes a slowdown with digits according to its distance from 1: `1.0001`, `1.632`, `49.8`.
pub(crate) fn slowdown(slowdown: f64) -> String {
    match slowdown {
        ..1.009_95 => format!("{slowdown:.4}"),
        ..9.999_5 => format!("{slowdown:.3}"),
        ..99.95 => format!("{slowdown:.1}"),
        _ => count(slowdown.round() as u64),
    }
}

/// Writes a part of a whole: `48.1 %`.
pub(crate) fn share(part: f64) -> String {
    match part * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => "<0.1 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

/// Writes a part of a whole without decimals: `48 %`.
pub(crate) fn rough_share(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// Returns the number of limits that lie above the size: the smaller a number, the more decimals it has.
fn decimals(size: f64, limits: &[f64]) -> usize {
    limits.iter().filter(|limit| size.abs() < **limit).count()
}

/// Returns the decimals for three digits: two below 10, one below 100.
fn three_digits(size: f64) -> usize {
    decimals(size, &[9.995, 99.95])
}

/// Returns the decimals that show a noise to about three digits.
fn noise_decimals(noise: f64) -> usize {
    1 + decimals(noise * 100.0, &[0.0995, 9.995])
}

/// Writes a share of noise: `2.07 %`, `0.012 %`.
pub(crate) fn noise(noise: f64) -> String {
    if noise > 0.0 && noise < 0.000_005 {
        return "<0.001 %".into();
    }
    format!("{:.*} %", noise_decimals(noise), noise * 100.0)
}

/// Writes an interval, else its lower bound: `1.98–2.16`, `≥ 1.7`, `–`.
pub(crate) fn bounds(
    interval: Option<Interval>,
    at_least: Option<f64>,
    text: impl Fn(f64) -> String,
) -> String {
    let interval = interval.map(|ends| between(&text(ends.low), &text(ends.high)));
    let least = at_least.map(|least| format!("≥ {}", text(least)));
    interval.or(least).unwrap_or_else(|| "–".into())
}

/// A lower bound is not shown if the value is more than this many times as large.
const WIDEST: f64 = 10.0;
/// The text in the place of such a bound.
pub(crate) const NO_BOUNDS: &str = "too few events to give an interval: measure for longer";

/// Returns the interval of a share of noise and its lower bound, each unless the noise is more than ten times as large.
pub(crate) fn telling(
    noise: f64,
    interval: Option<Interval>,
    at_least: Option<f64>,
) -> (Option<Interval>, Option<f64>) {
    let near = |low: f64| low * WIDEST >= noise;
    (interval.filter(|interval| near(interval.low)), at_least.filter(|least| near(*least)))
}

/// Writes the interval of a share of noise in percent, else its lower bound: `1.98–2.16`, `≥ 1.7`; `–` if neither is near
/// enough to the noise.
pub(crate) fn noise_bounds(
    noise: f64,
    interval: Option<Interval>,
    at_least: Option<f64>,
) -> String {
    let (interval, at_least) = telling(noise, interval, at_least);
    let decimals = noise_decimals(noise);
    if let Some(Interval { low, high }) = interval {
        let [low, high] = ends(low * 100.0, high * 100.0, decimals);
        return between(&low, &high);
    }
    bounds(None, at_least, |bound| format!("{:.decimals$}", bound * 100.0))
}

/// States the interval of a share of noise in brackets, else its lower bound, else that there are too few events for either;
/// nothing if neither is known.
pub(crate) fn noise_certainty(
    noise: f64,
    interval: Option<Interval>,
    at_least: Option<f64>,
) -> String {
    let known = interval.is_some() || at_least.is_some();
    match telling(noise, interval, at_least) {
        (None, None) if known => format!(" ({NO_BOUNDS})"),
        (None, None) => String::new(),
        (Some(_), _) => format!(" (95 %: {} %)", noise_bounds(noise, interval, None)),
        (None, least) => {
            let bound = noise_bounds(noise, None, least).replace('≥', "at least");
            format!(" ({bound} % with 97.5 % confidence; too few long events for an upper limit)")
        }
    }
}

/// Writes a whole number: `12,345`.
#[must_use]
pub fn count(number: u64) -> String {
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

/// Writes a rate per second: `9,310`, `2.5`, `0.03`, `0.003`.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        9.95.. => count(per_second.round() as u64),
        0.095.. => format!("{per_second:.1}"),
        0.009_95.. => format!("{per_second:.2}"),
        0.000_95.. => format!("{per_second:.3}"),
        0.0 => "0".into(),
        _ => "<0.001".into(),
    }
}

/// Writes a rate in the unit of time that suits it: `14.2/s`, `6.00/min`, `0.50/h`.
pub(crate) fn per_time(per_second: f64) -> String {
    match per_second {
        0.0 => "0/s".into(),
        0.0995.. => format!("{}/s", number(per_second)),
        0.001_66.. => format!("{}/min", number(per_second * 60.0)),
        _ => format!("{}/h", number(per_second * 3_600.0)),
    }
}

/// Writes a count and what is counted: `1 loss`, `2 losses`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Writes how many are left out of a list: `1 more host`, `2 more hosts`; nothing if none is.
#[must_use]
pub fn more(all: usize, shown: usize, one: &str, many: &str) -> Option<String> {
    let left = all.saturating_sub(shown) as u64;
    (left > 0).then(|| counted(left, &format!("more {one}"), &format!("more {many}")))
}

/// Writes a time stamp of a recording to the second: `2026-05-09 07:31:17 UTC`.
pub(crate) fn timestamp(utc: &str) -> String {
    let second = utc.trim_end_matches('Z').split('.').next().unwrap_or_default();
    plain(&format!("{} UTC", second.replacen('T', " ", 1)))
}

/// Writes a time stamp of a recording to the second in the zone of the reader: `2026-05-09 09:31:17 CEST`.
pub(crate) fn local_time(utc: &str) -> String {
    in_zone(utc, TimeZone::system())
}

fn in_zone(utc: &str, zone: TimeZone) -> String {
    let parsed = utc.parse::<Timestamp>();
    parsed.map_or_else(
        |_| plain(utc),
        |time| time.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %Z").to_string(),
    )
}

/// Writes the size of a file: `812 bytes`, `2.8 MB`, `1.23 GB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let size = bytes as f64;
    match UNITS.into_iter().find(|(unit, _)| size >= unit * 0.9995) {
        Some((unit, name)) => format!("{} {name}", number(size / unit)),
        None => counted(bytes, "byte", "bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_numbers() {
        assert_eq!([0.481, 0.0, 0.0001, 1.0].map(share), ["48.1 %", "0.0 %", "<0.1 %", "100.0 %"]);
        let noises = [0.0207, 0.1234, 0.000_123, 0.000_001, 0.0].map(noise);
        assert_eq!(noises, ["2.07 %", "12.3 %", "0.012 %", "<0.001 %", "0.000 %"]);
        let interval = Interval { low: 0.0198, high: 0.02163 };
        assert_eq!(noise_bounds(0.0207, Some(interval), None), "1.98–2.16");
        let narrow = Interval { low: 0.193_1, high: 0.193_4 };
        assert_eq!(noise_bounds(0.193, Some(narrow), None), "19.31–19.34");
        assert_eq!(number_range(19.302, 19.341), "19.30–19.34");
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let rates = [9310.4, 250.0, 9.94, 0.9, 0.031, 0.0031, 0.0001, 0.0].map(rate);
        assert_eq!(rates, ["9,310", "250", "9.9", "0.9", "0.03", "0.003", "<0.001", "0"]);
        assert_eq!(
            [0, 100, 1_000, 50_000_000, 1_500_000, 2_000_000_000, 1_503, 33_333].map(asked),
            ["0 ns", "100 ns", "1 µs", "50 ms", "1.5 ms", "2 s", "1.50 µs", "33.3 µs"]
        );
        let spans = [500_000_000, 10_000_000_000, 9_876_000_000, 600_000_000_000].map(span);
        assert_eq!(spans, ["500 ms", "10 s", "9.9 s", "10 min"]);
        assert_eq!([0, 38_000, 1_000_000].map(span), [time(0.0), "38 µs".into(), "1 ms".into()]);
        assert_eq!(counted(1, "loss", "losses"), "1 loss");
        let left = [4, 5, 1_005].map(|all| more(all, 4, "host", "hosts"));
        assert_eq!(left, [None, Some("1 more host".into()), Some("1,001 more hosts".into())]);
        let zone = || TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(in_zone("2026-05-09T23:31:17.5Z", zone()), "2026-05-10 01:31:17 +02");
        assert_eq!(in_zone("never\u{9b}", zone()), "never?");
        let sizes = [1, 999, 2_800_000, 999_960, 12_345_678_901].map(bytes);
        assert_eq!(sizes, ["1 byte", "999 bytes", "2.80 MB", "1.00 MB", "12.3 GB"]);
        let stamps = ["2026-05-09T07:31:17.000001Z", "2026-05-09T07:31:17Z"].map(timestamp);
        assert_eq!(stamps, ["2026-05-09 07:31:17 UTC"; 2]);
    }

    #[test]
    fn intervals_have_their_unit_once() {
        let cases = [
            (("1.2", "3.4"), "1.2–3.4"),
            (("0.412 %", "1.29 %"), "0.412–1.29 %"),
            (("95 µs", "1.2 ms"), "95 µs to 1.2 ms"),
            (("1 h 5 min", "2 h 5 min"), "1 h 5 min to 2 h 5 min"),
            (("+0.98 %", "+8.02 %"), "+0.98 to +8.02 %"),
            (("-0.98", "8.02"), "-0.98 to 8.02"),
        ];
        for ((low, high), expected) in cases {
            assert_eq!(between(low, high), expected);
        }
    }

    #[test]
    fn frequencies() {
        let cases = [
            (250.0, "250 Hz"),
            (249.97, "250 Hz"),
            (137.04, "137 Hz"),
            (3_333.3, "3.333 kHz"),
            (0.5, "0.5 Hz"),
        ];
        for (hz, expected) in cases {
            assert_eq!(frequency(hz), expected, "{hz}");
        }
        let cases = [
            (250.001_23, 0.003_4, "250.001 ± 0.003 Hz"),
            (3_333.31, 0.2, "3.3333 ± 0.0002 kHz"),
            (100.0, 12.0, "100 ± 12 Hz"),
            (100.0, 0.0, "100 Hz"),
            (100.0, f64::NAN, "100 Hz"),
        ];
        for (hz, uncertainty, expected) in cases {
            assert_eq!(uncertain(hz, uncertainty), expected, "{hz} ± {uncertainty}");
        }
        assert_eq!([250.0, 9_980.0, 0.5].map(hertz), ["250 Hz", "9,980 Hz", "0.50 Hz"]);
    }

    #[test]
    fn parts() {
        let losses = [0.0002, 0.0231, 0.123, 4.12, -0.001, -0.000_001, 0.0].map(loss);
        let expected = ["0.020 %", "2.31 %", "12.3 %", "412 %", "-0.10 %", "0.000 %", "0.000 %"];
        assert_eq!(losses, expected);
        let cases = [
            (1.0, "1.00000"),
            (1.0234, "1.023"),
            (1.000_234, "1.00023"),
            (1.343, "1.34"),
            (3.26, "3.3"),
            (174.0, "170"),
            (1_234_567.0, "1.2e6"),
        ];
        for (exact, expected) in cases {
            assert_eq!(rough_slowdown(exact), expected, "{exact}");
        }
        assert_eq!(loss_number(-0.020_12, 0.0231), "-2.01");
        assert_eq!([0.987, -3.0, 120.4].map(ratio), ["0.99", "-3.00", "120"]);
        let slowdowns = [1.0, 1.000_14, 1.0632, 1.63212, 49.757, 1_234.5].map(slowdown);
        assert_eq!(slowdowns, ["1.0000", "1.0001", "1.063", "1.632", "49.8", "1,235"]);
        let changes = [0.0, 0.0123, -0.123, 5.0, 1e3].map(change);
        assert_eq!(changes, ["0.00 %", "+1.23 %", "-12.3 %", "+500.0 %", "+1.0e5 %"]);
        let percents = [0.5, 5.0, 50.0, 500.0, 1e5].map(percent);
        assert_eq!(percents, ["0.500 %", "5.00 %", "50.0 %", "500 %", "1.0e5 %"]);
        assert_eq!(percent_range(0.1, 0.9), "0.100–0.900 %");
        assert_eq!(percent_range(-1.0, 120.0), "-1.00 to 120 %");
        assert_eq!(
            [0.5, 5.0, 50.0, 500.0, 5_000.0].map(millis),
            ["0.50000", "5.0000", "50.000", "500.00", "5,000"]
        );
        assert_eq!([5.444, 17.26, 1_234.4, 1.2e9].map(number), ["5.44", "17.3", "1,234", "1.2e9"]);
        assert_eq!([5.444, 17.26, -1_234.4].map(whole), ["5.44", "17", "-1,234"]);
    }
}
