//! A gate as one line, for programs that watch the health of machines.

use super::words::{outcome, place_and_value};
use super::{name, reason, rules_and_scope};
use crate::style::plain;
use crate::units::{counted, long};
use anechoic_analyze::gate::{Finding, Gate, Outcome, RuleOutcome, Unit};

/// The most bytes that node-problem-detector takes of a line.
const NPD_BYTES: usize = 80;
/// The digits of a value for a program.
const DIGITS: i32 = 6;

/// How long ago the judged recording ended.
#[derive(Debug, Clone, Copy)]
pub struct HealthAge {
    /// The age in ns.
    pub age_ns: u64,
    /// The largest age, in ns, that the user permits.
    pub most_ns: u64,
}

/// Writes a gate as a plugin for Nagios does: the status, the reason, and after `|` the value of each rule with its limit.
#[must_use]
pub fn gate_nagios(gate: &Gate, age: Option<HealthAge>) -> String {
    let status = match gate.outcome {
        Outcome::Pass => "OK",
        Outcome::Fail => "CRITICAL",
        Outcome::Undecided => "UNKNOWN",
    };
    let values = gate.rules.iter().filter_map(|rule| Some(value(rule, rule.decisive()?)));
    let age_value =
        age.map(|age| format!("age={}s;;{};0", seconds(age.age_ns), seconds(age.most_ns)));
    let values: Vec<String> = values.chain(age_value).collect();
    let line = nagios(status, &text(gate, age, reason));
    if values.is_empty() { line } else { format!("{line} | {}", values.join(" ")) }
}

/// Writes that nothing was judged, in the same form.
#[must_use]
pub fn nagios_unknown(why: &str) -> String {
    nagios("UNKNOWN", why)
}

/// Writes a gate for node-problem-detector, which cuts after 80 bytes: a rule that is exceeded has its value and its largest
/// source, without bounds.
#[must_use]
pub fn gate_npd(gate: &Gate, age: Option<HealthAge>) -> String {
    short(&text(gate, age, brief_reason))
}

/// Returns why a rule has its outcome, without bounds if it is exceeded.
fn brief_reason(rule: &RuleOutcome, gate: &Gate) -> String {
    match (rule.outcome, rule.decisive()) {
        (Outcome::Fail, Some(finding)) => place_and_value(rule, finding, gate),
        _ => reason(rule, gate),
    }
}

/// Writes that nothing was judged, in the same form: without what it concerns if both are too long.
#[must_use]
pub fn npd_unknown(cause: &str, why: &str) -> String {
    short(if cause.len() <= NPD_BYTES { cause } else { why })
}

/// Writes a status and a text; what follows a `|` would be taken for values.
fn nagios(status: &str, text: &str) -> String {
    format!("ANECHOIC {status} - {}", plain(text).replace('|', "/"))
}

/// Writes what decided: what could not be read, the first rule with the worst outcome, or that all hold.
fn text(
    gate: &Gate,
    age: Option<HealthAge>,
    reason: impl Fn(&RuleOutcome, &Gate) -> String,
) -> String {
    let worst = || gate.rules.iter().filter(|rule| rule.outcome == gate.outcome);
    match (gate.outcome, gate.unread.first(), worst().next()) {
        (Outcome::Undecided, Some(why), _) => format!("not judged: {why}"),
        (Outcome::Fail | Outcome::Undecided, _, Some(rule)) => {
            let others = match worst().count() - 1 {
                0 => String::new(),
                more => format!(
                    "; {} {}",
                    counted(more as u64, "more rule", "more rules"),
                    outcome(gate.outcome).to_lowercase()
                ),
            };
            format!("{}: {}{others}", name(rule), reason(rule, gate))
        }
        _ => {
            let (rules, scope) = rules_and_scope(gate);
            let verb = if gate.rules.len() == 1 { "holds" } else { "hold" };
            let age = age.map(|age| format!(" · ended {} ago", long(age.age_ns)));
            format!("{rules} {verb} · {scope}{}", age.unwrap_or_default())
        }
    }
}

/// Writes the value that decided a rule: `'max-noise'=3.81%;;5;0`. A program takes one above the limit for critical.
fn value(rule: &RuleOutcome, finding: &Finding) -> String {
    let (factor, unit) = match rule.unit {
        Unit::Share | Unit::SlowShare | Unit::WakeupShare | Unit::Increase => (100.0, "%"),
        Unit::Nanoseconds => (1e-9, "s"),
        Unit::PerSecond => (1.0, ""),
    };
    // A limit alone means the range from 0 to it, which a decrease lies outside.
    let (range, least) = if rule.unit == Unit::Increase { ("~:", "") } else { ("", ";0") };
    let longer = rule.longer_than_ns.map(|ns| format!(" >{}s", digits(ns as f64 / 1e9)));
    let source = rule.source.as_ref().map(|source| format!(" {source}"));
    let label = [Some(rule.rule.clone()), source, longer].into_iter().flatten().collect::<String>();
    let label = plain(&label).replace(['\'', '=', '|'], "_");
    let (value, limit) = (digits(finding.value * factor), digits(rule.limit * factor));
    format!("'{label}'={value}{unit};;{range}{limit}{least}")
}

/// Writes a number in six digits and without an exponent, which these programs do not read.
fn digits(value: f64) -> String {
    let before = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 + 1;
    let after = usize::try_from((DIGITS - before).clamp(0, 15)).unwrap_or(0);
    let text = format!("{value:.after$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn seconds(ns: u64) -> u64 {
    ns / 1_000_000_000
}

/// Cuts a text to the bytes that node-problem-detector takes.
fn short(text: &str) -> String {
    const CUT: &str = "...";
    let text = plain(text);
    if text.len() <= NPD_BYTES {
        return text;
    }
    let kept = &text[..text.floor_char_boundary(NPD_BYTES - CUT.len())];
    format!("{}{CUT}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_exponent() {
        for (value, expected) in [
            (0.0, "0"),
            (100.0, "100"),
            (3.812_345_67, "3.81235"),
            (-12.5, "-12.5"),
            (1e-7, "0.0000001"),
            (0.002_612_345_6, "0.00261235"),
            (123_456_789.4, "123456789"),
            (1e15, "1000000000000000"),
        ] {
            assert_eq!(digits(value), expected);
        }
    }

    #[test]
    fn node_problem_detector_takes_all_of_a_line() {
        for (text, expected) in [
            ("a".repeat(80), "a".repeat(80)),
            ("a".repeat(81), "a".repeat(77) + "..."),
            ("µ".repeat(41), "µ".repeat(38) + "..."),
            ("a\nb".to_owned(), "a?b".to_owned()),
        ] {
            assert_eq!(short(&text), expected);
        }
        assert_eq!(nagios_unknown("a|b\nc"), "ANECHOIC UNKNOWN - a/b?c");
    }
}
