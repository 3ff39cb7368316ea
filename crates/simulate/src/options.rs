//! The options of a simulation.

use crate::parameters::network_names;
use crate::patterns;
use anechoic_recording::options::{OptionRow, Value, duration};
use std::time::Duration;

/// A number of ranks, bytes or iterations.
const WHOLE: Value = Value::Numbers(whole);
/// A time that may be 0.
const TIME: Value = Value::Numbers(time);

/// The options.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "pattern",
        Value::Choice(patterns::names),
        "NAME",
        "What ranks do, a computation before each repetition",
    )
    .conflicts(&["goal", "trace"]),
    OptionRow::new("goal", Value::Path, "FILE", "What ranks do, in GOAL: text or binary")
        .conflicts(&["trace"]),
    OptionRow::new(
        "trace",
        Value::Path,
        "DIR",
        "What ranks of an MPI program did: traces of liballprof, a file for each rank",
    ),
    OptionRow::new(
        "extrapolate",
        Value::Count { least: 1, most: 1 << 20 },
        "K",
        "Simulate the traced ranks K times: collective operations join all of them",
    )
    .default("1")
    .requires("trace")
    .conflicts(&["pattern", "goal"]),
    OptionRow::new("ranks", WHOLE, "N", "Number of ranks of a pattern: 1024, 1e6, 2^20")
        .default("1024")
        .conflicts(&["goal", "trace"]),
    OptionRow::new("iterations", WHOLE, "N", "Repetitions of a pattern")
        .default("10")
        .conflicts(&["goal", "trace"]),
    OptionRow::new(
        "grain",
        TIME,
        "TIME",
        "Computation before each repetition; in a sweep or pipeline after receiving",
    )
    .default("1ms")
    .conflicts(&["goal", "trace"]),
    OptionRow::new(
        "bytes",
        WHOLE,
        "N",
        "Bytes of a message; for a collective of the vector, for an all-to-all of a block: 8, 64KiB",
    )
    .default("8")
    .conflicts(&["goal", "trace"]),
    OptionRow::new(
        "network",
        Value::Choice(network_names),
        "NAME",
        "Published parameters of LogGOPS",
    )
    .default("alps"),
    OptionRow::new(
        "params",
        Value::Path,
        "FILE",
        "Other parameters: lines like `L 1.9us`, `o 230ns`, `g 0ns`, `G 0.079ns`, `O 0ns`, `S 4096`",
    ),
    OptionRow::new(
        "network-noise",
        Value::Path,
        "FILE",
        "Latencies of messages, of which each message has one: lines like `2.3us`, or `+400ns` to add to L",
    ),
    OptionRow::new(
        "network-noise-per-byte",
        Value::Path,
        "FILE",
        "Times of a byte, of which each message has one: lines like `0.09ns`, or `+0.01ns` to add to G",
    ),
    OptionRow::new("law", Value::Choice(laws), "LAW", "Noise that is drawn, not recorded"),
    OptionRow::new(
        "delay",
        Value::Duration,
        "TIME",
        "Length of a detour of the law, or their mean",
    )
    .default("10us")
    .requires("law"),
    OptionRow::new(
        "every",
        Value::Duration,
        "TIME",
        "Time from one detour to the next: from start to start if periodic, else the mean gap",
    )
    .default("1ms")
    .requires("law"),
    OptionRow::new(
        "power",
        Value::Numbers(hundredths),
        "X",
        "Power of the Pareto law's tail, from 1.2 on",
    )
    .default("1.5")
    .requires("law"),
    OptionRow::new("on-rank", WHOLE, "RANK", "The rank that the one delay hits; 0 if not given")
        .requires("law"),
    OptionRow::new("at", TIME, "TIME", "When the one delay begins; at the start if not given")
        .requires("law"),
    OptionRow::new(
        "phase",
        Value::Choice(phases),
        "WHICH",
        "CPUs with the same noise at the same time",
    )
    .default("host"),
    OptionRow::new("model", Value::Choice(models), "RULES", "How noise lengthens operations")
        .default("anechoic"),
    OptionRow::new(
        "replicas",
        Value::Count { least: 1, most: 100_000 },
        "N",
        "Simulations with other noise",
    )
    .default("10"),
    OptionRow::new(
        "seed",
        Value::Count { least: 0, most: u64::MAX },
        "N",
        "Seed of all random numbers; the same seed gives the same results",
    )
    .default("1"),
    OptionRow::new(
        "sources",
        Value::Count { least: 0, most: 16 },
        "N",
        "Repeat the simulations without N sources: those with most time, and the longest",
    )
    .default("4"),
    OptionRow::new(
        "tolerate",
        Value::Percent,
        "PERCENT",
        "How far noise may grow; and each source and each parameter, until the job is this much slower: 1%",
    ),
    OptionRow::new(
        "length",
        Value::Duration,
        "TIME",
        "Length of the measurement, for text files that do not contain it",
    ),
    OptionRow::new(
        "goal-out",
        Value::Path,
        "FILE",
        "Also write the schedule in GOAL, binary if the name ends in .bin",
    ),
];

fn laws() -> Vec<(&'static str, &'static str)> {
    vec![
        ("periodic", "equal detours at equal intervals"),
        ("exponential", "exponential lengths after exponential gaps"),
        ("pareto", "lengths with a heavy tail after exponential gaps"),
        ("once", "one delay on one rank: --on-rank, --at, --delay"),
    ]
}

fn phases() -> Vec<(&'static str, &'static str)> {
    vec![
        ("host", "the CPUs of a recorded host, as they were recorded"),
        ("independent", "none: each CPU begins at a place of its own"),
        ("common", "all: noise that is scheduled together"),
    ]
}

fn models() -> Vec<(&'static str, &'static str)> {
    vec![
        ("anechoic", "noise delays the messages that it hits, and counts also in the time it adds"),
        (
            "rounds",
            "as anechoic, but ranks take messages only when they wait for them: patterns, 100 times as fast",
        ),
        ("loggopsim", "the rules of LogGOPSim, its faults included"),
        ("atlahs", "the rules of ATLAHS's fork of it: G on the way, and g again at the receiver"),
    ]
}

/// Parses a whole number: digits, 1e6, 2^20, or with K, M or G for powers of 1024.
fn whole(text: &str) -> Result<Vec<u64>, String> {
    let wrong =
        || format!("'{text}' is not a whole number; write one like 1024, 1e6, 2^20 or 64KiB");
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return Err(wrong()),
    };
    let number = match (digits.split_once('^'), digits.split_once('e')) {
        (Some((base, power)), _) => raised(base, power),
        (_, Some((head, power))) => raised("10", power)
            .zip(head.parse().ok())
            .and_then(|(power, head)| power.checked_mul(head)),
        _ => digits.parse().ok(),
    };
    let number = number.and_then(|number: u64| number.checked_mul(1 << shift));
    number.map(|number| vec![number]).ok_or_else(wrong)
}

fn raised(base: &str, power: &str) -> Option<u64> {
    base.parse::<u64>().ok()?.checked_pow(power.parse().ok()?)
}

/// Parses a time as ns: 0, or a duration.
fn time(text: &str) -> Result<Vec<u64>, String> {
    match text.trim() {
        "0" => Ok(vec![0]),
        text => duration(text).map(|time| vec![ns(time)]),
    }
}

/// Parses a power as hundredths.
fn hundredths(text: &str) -> Result<Vec<u64>, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| (1.2..=100.0).contains(number));
    let wrong = || format!("'{text}' is not between 1.2 and 100");
    number.map(|number| vec![(number * 100.0).round() as u64]).ok_or_else(wrong)
}

/// Returns a time in ns.
pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        let cases = [
            ("8", Some(8)),
            ("1e6", Some(1_000_000)),
            ("2^20", Some(1 << 20)),
            ("64KiB", Some(65_536)),
            ("16M", Some(16 << 20)),
            ("1.5", None),
            ("-3", None),
            ("1e30", None),
            ("", None),
            ("many", None),
            ("2^", None),
        ];
        for (text, expected) in cases {
            assert_eq!(whole(text).ok(), expected.map(|number| vec![number]), "{text}");
        }
    }
}
