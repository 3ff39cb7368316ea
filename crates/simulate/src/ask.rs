//! The options of a simulation, and the request that they make.

use crate::engine::Model;
use crate::network_noise::NetworkNoise;
use crate::noise::law::{LONGEST_DELAY_NS, Law};
use crate::noise::phase::Phase;
use crate::parameters::{Network, Parameters, network, network_names};
use crate::patterns::{self, Job};
use crate::schedule::LONGEST_NS;
use anechoic_recording::options::{Answers, OptionRow, Value, duration};
use anechoic_recording::{Problem, ProblemKind};
use std::path::PathBuf;
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
    OptionRow::new("on-rank", WHOLE, "RANK", "The rank that the one delay hits")
        .default("0")
        .requires("law"),
    OptionRow::new("at", TIME, "TIME", "When the one delay begins")
        .default("0")
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
        "What may grow until the job is slower, and how much: noise, each source, each parameter; slower by this: 1%",
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

/// What ranks do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A pattern.
    Pattern(&'static str, Job),
    /// A GOAL file.
    Goal(PathBuf),
    /// A directory of traces of MPI, and how often its ranks are simulated.
    Trace(PathBuf, u32),
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Ask {
    pub(crate) source: Source,
    pub(crate) network: &'static Network,
    pub(crate) parameters: Parameters,
    /// The file of other parameters.
    pub(crate) changed: Option<PathBuf>,
    /// Noise of the network.
    pub(crate) network_noise: Option<NetworkNoise>,
    pub(crate) law: Option<Law>,
    pub(crate) phase: Phase,
    pub(crate) model: Model,
    pub(crate) replicas: u64,
    pub(crate) seed: u64,
    /// Number of sources whose cost is simulated.
    pub(crate) sources: u64,
    /// By what share the job may become slower.
    pub(crate) tolerate: Option<f64>,
    pub(crate) length_ns: Option<u64>,
    pub(crate) goal_out: Option<PathBuf>,
}

impl Ask {
    /// Returns the request for these values of [`OPTIONS`].
    ///
    /// # Errors
    /// Neither a pattern nor a file is named, the file of parameters cannot be read, or an option is out of range.
    pub fn read(answers: &Answers) -> Result<Self, Problem> {
        let network = network(answers.one("network")?).unwrap_or(&crate::parameters::NETWORKS[0]);
        let changed: Option<PathBuf> = answers.given("params");
        let parameters = match &changed {
            Some(file) => read_parameters(file, network.parameters)?,
            None => network.parameters,
        };
        let phase = match answers.one("phase")? {
            "independent" => Phase::Independent,
            "common" => Phase::Common,
            _ => Phase::Host,
        };
        let model = match answers.one("model")? {
            "loggopsim" => Model::LogGopSim,
            "atlahs" => Model::Atlahs,
            "rounds" => Model::Rounds,
            _ => Model::Anechoic,
        };
        let law = answers.given("law").map(|law| read_law(answers, law)).transpose()?;
        if law.is_some() && model.replays() {
            let why = "LogGOPSim replays noise, it does not draw any";
            return Err(ProblemKind::Usage.problem(why, "give a recording, or leave --model out"));
        }
        let network_noise = read_network_noise(answers, &parameters, model)?;
        let source = read_source(answers)?;
        let goal_out = answers.given("goal-out");
        if model == Model::Rounds && (goal_out.is_some() || !matches!(source, Source::Pattern(..)))
        {
            let why =
                "--model rounds simulates patterns, and has no schedule that could be written";
            return Err(ProblemKind::Usage.problem(why, "leave --model out"));
        }
        Ok(Self {
            source,
            network,
            parameters,
            changed,
            network_noise,
            law,
            phase,
            model,
            replicas: answers.one("replicas")?,
            seed: answers.one("seed")?,
            sources: answers.one("sources")?,
            tolerate: answers.given::<u32>("tolerate").map(|ppm| f64::from(ppm) / 1e6),
            length_ns: answers.given::<Duration>("length").map(ns),
            goal_out,
        })
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the one number of an option, refusing more than `most`.
fn number(answers: &Answers, name: &'static str, most: u64) -> Result<u64, Problem> {
    let numbers: Vec<u64> = answers.one(name)?;
    let number = numbers.first().copied().unwrap_or(0);
    match number <= most {
        true => Ok(number),
        false => {
            let why = format!("{number} is too large: at most {most}");
            Err(ProblemKind::Usage
                .problem(why, "give a smaller number")
                .about(format_args!("--{name}")))
        }
    }
}

fn read_source(answers: &Answers) -> Result<Source, Problem> {
    if let Some(file) = answers.given("goal") {
        return Ok(Source::Goal(file));
    }
    if let Some(directory) = answers.given("trace") {
        let copies: u64 = answers.one("extrapolate")?;
        return Ok(Source::Trace(directory, copies as u32));
    }
    let Some(pattern) = answers.given("pattern") else {
        let names: Vec<&str> = patterns::PATTERNS.iter().map(|pattern| pattern.name).collect();
        let names = names.join(", ");
        let remedy = format!("give --trace DIR, --goal FILE, or --pattern with one of {names}");
        return Err(ProblemKind::Usage.problem("there is nothing to simulate", remedy));
    };
    Ok(Source::Pattern(
        pattern,
        Job {
            ranks: number(answers, "ranks", 1 << 28)? as u32,
            iterations: number(answers, "iterations", 1 << 30)? as u32,
            grain_ns: number(answers, "grain", LONGEST_NS)?,
            bytes: number(answers, "bytes", 1 << 36)?,
        },
    ))
}

fn read_parameters(file: &PathBuf, base: Parameters) -> Result<Parameters, Problem> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let why = format!("cannot read {}: {error}", file.display());
        ProblemKind::NoInput.problem(why, "name a file of parameters")
    })?;
    Parameters::read(&text, base).map_err(|problem| problem.about(file.display()))
}

fn read_network_noise(
    answers: &Answers,
    parameters: &Parameters,
    model: Model,
) -> Result<Option<NetworkNoise>, Problem> {
    let latencies: Option<PathBuf> = answers.given("network-noise");
    let gaps: Option<PathBuf> = answers.given("network-noise-per-byte");
    let noise = NetworkNoise::read(latencies.as_deref(), gaps.as_deref(), parameters)?;
    if noise.is_some() && model == Model::Rounds {
        let why = "--model rounds counts no single messages, so it has no noise of the network";
        return Err(
            ProblemKind::Usage.problem(why, "leave --model or the noise of the network out")
        );
    }
    Ok(noise)
}

fn read_law(answers: &Answers, law: &str) -> Result<Law, Problem> {
    let every_ns = ns(answers.one("every")?).min(LONGEST_NS);
    let delay_ns = ns(answers.one("delay")?).min(LONGEST_NS);
    if law != "once" && delay_ns > LONGEST_DELAY_NS {
        let why = "--delay is longer than 1s";
        return Err(ProblemKind::Usage.problem(why, "give a shorter one, or --law once"));
    }
    Ok(match law {
        "periodic" if delay_ns >= every_ns => {
            let why = "--delay is as long as --every: the CPU would never be free";
            return Err(ProblemKind::Usage.problem(why, "give a longer --every"));
        }
        "periodic" => Law::Periodic { every_ns, delay_ns },
        "exponential" => Law::Exponential { every_ns, delay_ns },
        "pareto" => {
            let power = number(answers, "power", u64::MAX)? as f64 / 100.0;
            Law::Pareto { every_ns, delay_ns, power }
        }
        _ => Law::Once {
            cpu: number(answers, "on-rank", u64::from(u32::MAX))? as usize,
            at_ns: number(answers, "at", LONGEST_NS)?,
            delay_ns,
        },
    })
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

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[], "there is nothing to simulate"),
            (&[("pattern", "barrier"), ("ranks", "1e9")], "--ranks: 1000000000 is too large"),
            (&[("pattern", "barrier"), ("law", "periodic"), ("delay", "1ms")], "never be free"),
            (&[("pattern", "barrier"), ("law", "once"), ("delay", "0ms")], "'0ms' is zero"),
            (
                &[("pattern", "barrier"), ("law", "pareto"), ("model", "loggopsim")],
                "LogGOPSim replays noise",
            ),
            (&[("pattern", "barrier"), ("params", "/nowhere")], "cannot read /nowhere"),
        ];
        for (given, expected) in cases {
            let error = match Answers::read(OPTIONS, given).and_then(|answers| Ask::read(&answers))
            {
                Ok(ask) => panic!("{given:?}: {ask:?}"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains(expected), "{given:?}: {error}");
        }
    }
}
