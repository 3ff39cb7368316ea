//! The request that the options of a simulation make.

use crate::engine::Model;
use crate::network_noise::NetworkNoise;
use crate::noise::law::{LONGEST_DELAY_NS, Law};
use crate::noise::phase::Phase;
use crate::options::ns;
use crate::parameters::{Network, Parameters, network};
use crate::patterns::{self, Job};
use crate::schedule::LONGEST_NS;
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, ProblemKind};
use std::path::PathBuf;
use std::time::Duration;

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
    /// Returns the request for these values of [`OPTIONS`](crate::OPTIONS).
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
            let why = format!("{} replays noise, it does not draw any", model.name());
            let remedy = "give a recording and no --law, or leave --model out";
            return Err(ProblemKind::Usage.problem(why, remedy));
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

/// Returns the one number of an option, refusing more than `most`.
fn number(answers: &Answers, name: &'static str, most: u64) -> Result<u64, Problem> {
    let number = first(answers, name);
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

/// Returns the first number of an option, 0 if it was not given.
fn first(answers: &Answers, name: &'static str) -> u64 {
    let numbers: Option<Vec<u64>> = answers.given(name);
    numbers.and_then(|numbers| numbers.first().copied()).unwrap_or(0)
}

/// Returns the time of an option in ns, refusing what is too long to be simulated.
fn time_ns(answers: &Answers, name: &'static str) -> Result<u64, Problem> {
    not_too_long(first(answers, name), name)
}

fn not_too_long(time_ns: u64, name: &'static str) -> Result<u64, Problem> {
    if time_ns <= LONGEST_NS {
        return Ok(time_ns);
    }
    let why = "it is longer than 13 days";
    Err(ProblemKind::Usage.problem(why, "give a shorter time").about(format_args!("--{name}")))
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
            grain_ns: time_ns(answers, "grain")?,
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
    let every_ns = not_too_long(ns(answers.one("every")?), "every")?;
    let delay_ns = not_too_long(ns(answers.one("delay")?), "delay")?;
    for name in ["on-rank", "at"] {
        if law != "once" && answers.given::<Vec<u64>>(name).is_some() {
            let why = format!("--{name} belongs to the one delay of --law once");
            return Err(ProblemKind::Usage.problem(why, format!("leave --{name} out")));
        }
    }
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
            at_ns: time_ns(answers, "at")?,
            delay_ns,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let cases: [(&[(&str, &str)], &str); 8] = [
            (&[], "there is nothing to simulate"),
            (&[("pattern", "barrier"), ("ranks", "1e9")], "--ranks: 1000000000 is too large"),
            (&[("pattern", "barrier"), ("law", "periodic"), ("delay", "1ms")], "never be free"),
            (&[("pattern", "barrier"), ("law", "once"), ("delay", "0ms")], "'0ms' is zero"),
            (
                &[("pattern", "barrier"), ("law", "pareto"), ("model", "loggopsim")],
                "LogGOPSim replays noise",
            ),
            (&[("pattern", "barrier"), ("params", "/nowhere")], "cannot read /nowhere"),
            (
                &[("pattern", "barrier"), ("law", "periodic"), ("on-rank", "3")],
                "--on-rank belongs to the one delay",
            ),
            (
                &[("pattern", "barrier"), ("law", "once"), ("delay", "5000h")],
                "--delay: it is longer than 13 days",
            ),
        ];
        for (given, expected) in cases {
            let error = match Answers::read(crate::OPTIONS, given)
                .and_then(|answers| Ask::read(&answers))
            {
                Ok(ask) => panic!("{given:?}: {ask:?}"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains(expected), "{given:?}: {error}");
        }
    }
}
