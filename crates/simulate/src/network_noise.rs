//! Noise of the network: messages whose latency and gap per byte are drawn from files.

use crate::parameters::{Parameters, ps_for_byte, ps_for_message};
use anechoic_recording::{Problem, ProblemKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// How a line is written.
const A_LINE: &str = "write one time on each line: `2.3us`, or `+400ns` if it is added to the parameter; a number without \
                      a unit is in ps";
/// The numbers of streams, so that a message's latency tells nothing of its gap.
const LATENCY: u64 = 0x4c;
const GAP: u64 = 0x47;

/// What messages take, one value for each that was measured; each simulated message has one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Values {
    file: String,
    /// In ascending order, at least one.
    ps: Vec<u64>,
}

/// What a file of values has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DrawnFacts {
    /// The file.
    pub file: String,
    /// Number of values.
    pub values: u64,
    /// The smallest, in ps.
    pub least_ps: u64,
    /// The median, in ps; of an even number, the lower one in the middle.
    pub median_ps: u64,
    /// The largest, in ps.
    pub most_ps: u64,
}

/// Noise of the network.
#[derive(Debug, Clone)]
pub(crate) struct NetworkNoise {
    latencies: Option<Arc<Values>>,
    gaps: Option<Arc<Values>>,
    seed: u64,
}

impl NetworkNoise {
    /// Reads files of latencies and of gaps per byte; `None` without any. What a line adds is added to `base`.
    ///
    /// # Errors
    /// A file cannot be read, has no value, or a line has another form.
    pub(crate) fn read(
        latencies: Option<&Path>,
        gaps: Option<&Path>,
        base: &Parameters,
    ) -> Result<Option<Self>, Problem> {
        if latencies.is_none() && gaps.is_none() {
            return Ok(None);
        }
        let latencies = latencies.map(|file| Values::read(file, base.latency_ps, ps_for_message));
        let gaps = gaps.map(|file| Values::read(file, base.gap_per_byte_ps, ps_for_byte));
        let (latencies, gaps) = (latencies.transpose()?, gaps.transpose()?);
        Ok(Some(Self { latencies: latencies.map(Arc::new), gaps: gaps.map(Arc::new), seed: 0 }))
    }

    /// Returns the same noise, drawn with this seed.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    /// Returns what a message costs: that of this operation of the sender. It depends on the seed and these numbers alone,
    /// so it is the same whatever else is simulated, and when.
    #[inline]
    pub(crate) fn message(
        &self,
        base: &Parameters,
        (from, to): (u32, u32),
        send: u32,
    ) -> Parameters {
        let mut parameters = *base;
        let message = mixed(u64::from(from) << 32 | u64::from(to), u64::from(send));
        if let Some(values) = &self.latencies {
            parameters.latency_ps = values.draw(mixed(mixed(self.seed, LATENCY), message));
        }
        if let Some(values) = &self.gaps {
            parameters.gap_per_byte_ps = values.draw(mixed(mixed(self.seed, GAP), message));
        }
        parameters
    }

    /// Returns what the files of latencies and of gaps have.
    pub(crate) fn facts(&self) -> [Option<DrawnFacts>; 2] {
        [&self.latencies, &self.gaps].map(|values| values.as_ref().map(|values| values.facts()))
    }
}

impl Values {
    fn read(
        file: &Path,
        base_ps: u64,
        parse: fn(&str) -> Result<u64, String>,
    ) -> Result<Self, Problem> {
        let text = std::fs::read_to_string(file).map_err(|error| {
            let why = format!("cannot read {}: {error}", file.display());
            ProblemKind::NoInput.problem(why, "name a file of what messages take")
        })?;
        let mut ps = vec![];
        for (line, number) in text.lines().zip(1_u64..) {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let (added_to_ps, time) = match line.strip_prefix('+') {
                Some(time) => (base_ps, time),
                None => (0, line),
            };
            // De Sensi's fork of LogGOPSim counts in whole ps and writes no unit.
            let is_bare = time.bytes().all(|digit| digit.is_ascii_digit());
            let time = if is_bare { format!("{time}ps") } else { time.to_owned() };
            let time_ps = parse(&time).map_err(|why| {
                let place = format!("{}, line {number}", file.display());
                ProblemKind::Data.problem(why, A_LINE).about(place)
            })?;
            ps.push(added_to_ps + time_ps);
        }
        if ps.is_empty() {
            return Err(ProblemKind::Data.problem("it has no time", A_LINE).about(file.display()));
        }
        ps.sort_unstable();
        Ok(Self { file: file.display().to_string(), ps })
    }

    /// Returns the value at this share of 2^64 of all.
    #[inline]
    fn draw(&self, random: u64) -> u64 {
        let place = u128::from(random) * self.ps.len() as u128;
        self.ps[(place >> 64) as usize]
    }

    fn facts(&self) -> DrawnFacts {
        DrawnFacts {
            file: self.file.clone(),
            values: self.ps.len() as u64,
            least_ps: self.ps[0],
            median_ps: self.ps[(self.ps.len() - 1) / 2],
            most_ps: self.ps[self.ps.len() - 1],
        }
    }
}

/// Mixes two numbers into one that looks random: twice the step of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
#[inline]
fn mixed(first: u64, second: u64) -> u64 {
    split_mix(split_mix(first) ^ second)
}

#[inline]
fn split_mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
