//! The parameters of the LogGOPS model, with published sets.

use anechoic_recording::{Problem, ProblemKind, options::duration};
use schemars::JsonSchema;
use serde::Serialize;

/// Picoseconds in a nanosecond. The simulation counts in picoseconds, because a byte takes less than a nanosecond on
/// today's networks.
pub(crate) const PS: u64 = 1_000;

/// Later than this, a simulation ends with an error, in ps: 53 days. No sum of times overflows before.
pub(crate) const LATEST_PS: u64 = 1 << 62;

/// The parameters of LogGOPS: what a message costs. Times are in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parameters {
    /// L: time that the first byte takes from one rank to another.
    pub latency_ps: u64,
    /// o: time that the CPU takes for a message, at the sender and at the receiver.
    pub overhead_ps: u64,
    /// g: least time between two messages of a network interface.
    pub gap_ps: u64,
    /// G: time that the network takes for each byte after the first.
    pub gap_per_byte_ps: u64,
    /// O: time that the CPU takes for each byte after the first.
    pub overhead_per_byte_ps: u64,
    /// S: the longest message that is sent before the receiver asked for it, in bytes.
    pub eager_bytes: u64,
}

/// A published set of parameters.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    /// Its name on the command line.
    pub name: &'static str,
    /// The network and where the parameters were published.
    pub source: &'static str,
    /// The parameters.
    pub parameters: Parameters,
}

/// Returns parameters from times in ns, and ps for each byte.
const fn set(
    latency_ns: u64,
    overhead_ns: u64,
    gap_ns: u64,
    gap_per_byte_ps: u64,
    eager_bytes: u64,
) -> Parameters {
    Parameters {
        latency_ps: latency_ns * PS,
        overhead_ps: overhead_ns * PS,
        gap_ps: gap_ns * PS,
        gap_per_byte_ps,
        overhead_per_byte_ps: 0,
        eager_bytes,
    }
}

/// The published sets, the default first.
pub(crate) static NETWORKS: &[Network] = &[
    Network {
        name: "alps",
        source: "Alps, Slingshot (De Sensi et al. 2022)",
        parameters: set(1_900, 230, 0, 79, 4_096),
    },
    Network {
        name: "daint",
        source: "Piz Daint, Aries (De Sensi et al. 2022)",
        parameters: set(500, 0, 6_000, 110, 4_096),
    },
    Network {
        name: "deep-est",
        source: "DEEP-EST, InfiniBand (De Sensi et al. 2022)",
        parameters: set(1_600, 350, 5_500, 89, 4_096),
    },
    Network {
        name: "azure-200g",
        source: "Azure HPC, 200 Gbit/s (De Sensi et al. 2022)",
        parameters: set(1_700, 0, 1_000, 46, 4_096),
    },
    Network {
        name: "azure",
        source: "Azure HPC, 100 Gbit/s (De Sensi et al. 2022)",
        parameters: set(1_300, 150, 1_500, 86, 4_096),
    },
    Network {
        name: "aws",
        source: "AWS bare metal (De Sensi et al. 2022)",
        parameters: set(28_000, 0, 0, 170, 65_536),
    },
    Network {
        name: "oracle",
        source: "Oracle Cloud bare metal (De Sensi et al. 2022)",
        parameters: set(1_600, 150, 5_000, 100, 4_096),
    },
    Network {
        name: "gcp",
        source: "Google Cloud HPC (De Sensi et al. 2022)",
        parameters: set(23_000, 0, 0, 390, 65_536),
    },
    Network {
        name: "loggopsim",
        source: "the defaults of LogGOPSim",
        parameters: set(2_500, 1_500, 1_000, 6_000, 65_535),
    },
    Network {
        name: "none",
        source: "messages that cost nothing",
        parameters: set(0, 0, 0, 0, u64::MAX),
    },
];

/// Returns the names of all networks with where they are from.
pub(crate) fn network_names() -> Vec<(&'static str, &'static str)> {
    NETWORKS.iter().map(|network| (network.name, network.source)).collect()
}

/// Returns the published set with this name.
pub(crate) fn network(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.name == name)
}

/// The longest time that a message may take, one hour, and that a byte may: 1 µs. No sum of times overflows.
const MOST_PS: u64 = 3_600_000_000_000_000;
const MOST_PER_BYTE_PS: u64 = 1_000_000;
/// The names of the times.
pub(crate) const TIMES: [&str; 5] = ["L", "o", "g", "G", "O"];
/// How a parameter is written.
const A_LINE: &str = "write lines like `L 1.9us`, `G 0.079ns` or `S 4096`";

impl Parameters {
    /// Reads lines of a name (L, o, g, G, O or S) and a value; times have units, S is in bytes. What is missing is that
    /// of `base`.
    ///
    /// # Errors
    /// A line has another form, or its value is out of range.
    pub fn read(text: &str, base: Self) -> Result<Self, Problem> {
        let mut read = base;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            read.take(line).map_err(|why| {
                ProblemKind::Data.problem(why, A_LINE).about(format_args!("line {}", number + 1))
            })?;
        }
        Ok(read)
    }

    /// Returns the time with this name; none if there is none.
    pub(crate) fn time_mut(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "L" => &mut self.latency_ps,
            "o" => &mut self.overhead_ps,
            "g" => &mut self.gap_ps,
            "G" => &mut self.gap_per_byte_ps,
            "O" => &mut self.overhead_per_byte_ps,
            _ => return None,
        })
    }

    /// Takes the value of one line.
    fn take(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split([' ', '\t', '=']).filter(|word| !word.is_empty());
        let (Some(name), Some(value), None) = (words.next(), words.next(), words.next()) else {
            return Err(format!("'{line}' is not a name and a value"));
        };
        if name == "S" {
            let bytes = value.parse().map_err(|_| format!("'{value}' is no number of bytes"))?;
            self.eager_bytes = bytes;
            return Ok(());
        }
        let most = if ["G", "O"].contains(&name) { MOST_PER_BYTE_PS } else { MOST_PS };
        let time = self.time_mut(name).ok_or_else(|| format!("there is no parameter '{name}'"))?;
        *time = at_most(most, value)?;
        Ok(())
    }
}

/// Parses a time of a message, in ps.
pub(crate) fn ps_for_message(text: &str) -> Result<u64, String> {
    at_most(MOST_PS, text)
}

/// Parses a time of a byte, in ps.
pub(crate) fn ps_for_byte(text: &str) -> Result<u64, String> {
    at_most(MOST_PER_BYTE_PS, text)
}

fn at_most(most_ps: u64, text: &str) -> Result<u64, String> {
    match picoseconds(text)? {
        ps if ps > most_ps => {
            Err(format!("'{text}' is too long: at most 1h for a message, 1us for a byte"))
        }
        ps => Ok(ps),
    }
}

/// Parses a time, also parts of a nanosecond.
fn picoseconds(text: &str) -> Result<u64, String> {
    let ps = match text.strip_suffix("ps").or_else(|| text.strip_suffix("ns")) {
        Some(digits) => {
            let unit = if text.ends_with("ns") { PS as f64 } else { 1.0 };
            let number: f64 = digits.parse().map_err(|_| format!("'{text}' is no time"))?;
            (number * unit).round()
        }
        None if text == "0" => 0.0,
        None => duration(text)?.as_nanos() as f64 * PS as f64,
    };
    match ps >= 0.0 {
        true => Ok(ps as u64),
        false => Err(format!("'{text}' is no time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_replace_parameters() {
        let base = NETWORKS[0].parameters;
        let text = "# ours\nL 2us\nG=0.0195ns\no\t1.5us # CPU\nO 3ps\n\nS 65535\n";
        let read = Parameters::read(text, base).expect("sound");
        let expected = Parameters {
            latency_ps: 2_000_000,
            overhead_ps: 1_500_000,
            gap_per_byte_ps: 20,
            overhead_per_byte_ps: 3,
            eager_bytes: 65_535,
            ..base
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_no_parameter_is_refused_with_its_line() {
        let cases = [
            ("L 2us\nP 4", "line 2: there is no parameter 'P'"),
            ("L", "line 1: 'L' is not a name and a value"),
            ("L 2us 3us", "line 1: 'L 2us 3us' is not"),
            ("S 4k", "line 1: '4k' is no number of bytes"),
            ("o nanns", "line 1: 'nanns' is no time"),
            ("g -1ns", "line 1: '-1ns' is no time"),
            ("L 2h", "line 1: '2h' is too long"),
            ("G 2us", "line 1: '2us' is too long"),
        ];
        for (text, expected) in cases {
            let error = Parameters::read(text, NETWORKS[0].parameters).expect_err(text);
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
