//! What the kernel counts all the time, of which `anechoic monitor` keeps how much it grows in each second.

use crate::options::{duration, percent_ppm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// How it is written that a rate is worth a look when it leaves the range of the last hour.
pub const UNUSUAL: &str = "unusual";

/// What the growth of a counter is divided by the time for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateUnit {
    /// Time in ns: the rate is a share of the time of one CPU, which is above 1 where several CPUs are counted together.
    CpuTime,
    /// Time in ns, in which something was so: the rate is a share of all time.
    Time,
    /// A number: the rate is a number per second.
    Number,
}

/// A rate of the whole machine or of a control group.
#[derive(Debug, PartialEq, Eq)]
pub struct RateSpec {
    /// Its name, as users type it and as tables store it.
    pub name: &'static str,
    /// What it is, on screens.
    pub title: &'static str,
    /// Its unit.
    pub unit: RateUnit,
    /// Whether it is of a control group.
    pub is_of_group: bool,
    /// Where the kernel shows it.
    pub source: &'static str,
    /// Whether more of it than usual is worth a look at what ran: not where it is what the machine is there for.
    pub is_watched: bool,
    /// What of a recording of that time shows why it was high.
    pub shown_by: ShownBy,
}

/// What of a recording of all programs shows why a rate was high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBy {
    /// Who had the CPUs while others waited for them.
    Holders,
    /// Interrupts and softirqs by their number.
    Interrupts,
    /// Threads by the time for which they executed.
    Threads,
    /// Softirqs by their number.
    Softirqs,
    /// Threads by the number of switches to them.
    Switches,
    /// Threads by the number of those that they began.
    Forks,
    /// Nothing: it is below the kernel, or a matter of what no event shows.
    Nothing,
}

use RateUnit::{CpuTime, Number, Time};
use ShownBy::{Forks, Holders, Interrupts, Nothing, Softirqs, Switches, Threads};

/// All rates, those of the machine first.
pub const RATES: &[RateSpec] = &[
    rate("steal", "stolen by the hypervisor", CpuTime, Nothing, "/proc/stat: steal"),
    rate(
        "steal-worst",
        "stolen, the CPU with most",
        CpuTime,
        Nothing,
        "/proc/stat: steal of each CPU",
    ),
    rate("waiting", "runnable threads waited", CpuTime, Holders, "/proc/schedstat: run_delay"),
    rate(
        "waiting-worst",
        "waited, the CPU with most",
        CpuTime,
        Holders,
        "/proc/schedstat: run_delay of each CPU",
    ),
    rate("cpu-pressure", "some thread waited for a CPU", Time, Holders, "/proc/pressure/cpu: some"),
    rate("memory-pressure", "some waited for memory", Time, Threads, "/proc/pressure/memory: some"),
    rate("io-pressure", "some waited for I/O", Time, Threads, "/proc/pressure/io: some"),
    rate(
        "irq-pressure",
        "interrupts held threads up",
        Time,
        Interrupts,
        "/proc/pressure/irq: full",
    ),
    rate(
        "interrupt-time",
        "in interrupts and softirqs",
        CpuTime,
        Interrupts,
        "/proc/stat: irq, softirq",
    ),
    rate("interrupts", "interrupts", Number, Interrupts, "/proc/stat: intr"),
    rate("softirqs", "softirqs", Number, Softirqs, "/proc/stat: softirq"),
    rate("switches", "switches of threads", Number, Switches, "/proc/stat: ctxt"),
    rate("forks", "processes and threads begun", Number, Forks, "/proc/stat: processes"),
    RateSpec {
        is_watched: false,
        ..rate(
            "busy",
            "programs, with the kernel",
            CpuTime,
            Threads,
            "/proc/stat: user, nice, system",
        )
    },
    RateSpec {
        is_of_group: true,
        is_watched: false,
        ..rate("used", "CPU time", CpuTime, Threads, "cpu.stat: usage_usec")
    },
    RateSpec {
        is_of_group: true,
        ..rate("throttled", "held back by the quota", CpuTime, Threads, "cpu.stat: throttled_usec")
    },
    RateSpec {
        is_of_group: true,
        ..rate("waited", "some thread waited for a CPU", Time, Holders, "cpu.pressure: some")
    },
];

const fn rate(
    name: &'static str,
    title: &'static str,
    unit: RateUnit,
    shown_by: ShownBy,
    source: &'static str,
) -> RateSpec {
    RateSpec { name, title, unit, is_of_group: false, source, is_watched: true, shown_by }
}

/// Returns the rate of this name.
#[must_use]
pub fn find_rate(name: &str) -> Option<&'static RateSpec> {
    RATES.iter().find(|rate| rate.name == name)
}

/// A smaller share of the time is none.
const LEAST: f64 = 1e-6;

/// A rate that is too high, as a user types it: `steal>20%`, `switches>50000`, `cpu-pressure>200ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// The rate.
    pub rate: &'static RateSpec,
    /// The highest value that is allowed: a share of the time, or a number per second.
    pub most: f64,
}

impl FromStr for RateLimit {
    type Err = String;

    /// Reads a limit. A share of the time is written as a percentage or as a time in each second.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, most) = text.split_once('>').ok_or_else(|| {
            format!("'{text}' is no limit; write for example 'steal>20%' or 'switches>50000'")
        })?;
        let name = name.trim();
        let names = || RATES.iter().map(|rate| rate.name).collect::<Vec<_>>().join(", ");
        let rate =
            find_rate(name).ok_or_else(|| format!("'{name}' is no rate; there are {}", names()))?;
        let most = most.trim();
        let most = match rate.unit {
            CpuTime | Time if most.ends_with('%') => percent(most)?,
            CpuTime | Time if most.parse::<f64>().is_ok() => {
                return Err(format!("'{text}' has no unit; write for example '{name}>20%'"));
            }
            CpuTime | Time => duration(most)?.as_secs_f64(),
            Number => most
                .parse()
                .ok()
                .filter(|most: &f64| most.is_finite() && *most >= 0.0)
                .ok_or_else(|| format!("'{most}' is no number per second"))?,
        };
        match rate.unit {
            CpuTime | Time if most < LEAST => Err(format!("'{text}' is less than can be seen")),
            _ => Ok(Self { rate, most }),
        }
    }
}

/// Reads a percentage, of which several CPUs together may have more than 100.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim();
    match number.parse::<f64>() {
        Ok(value) if value > 100.0 && value.is_finite() => Ok(value / 100.0),
        _ => percent_ppm(text).map(|ppm| f64::from(ppm) / 1e6),
    }
}

impl Display for RateLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.rate.unit {
            CpuTime | Time => {
                write!(f, "{}>{}%", self.rate.name, (self.most * 1e9).round() / 1e7)
            }
            Number => write!(f, "{}>{}", self.rate.name, self.most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shares_or_numbers() {
        for (text, name, most) in [
            ("steal>20%", "steal", 0.2),
            ("busy > 150 %", "busy", 1.5),
            ("busy>7%", "busy", 0.07),
            ("busy>57%", "busy", 0.57),
            ("cpu-pressure>200ms", "cpu-pressure", 0.2),
            ("switches>50000", "switches", 50_000.0),
        ] {
            let limit: RateLimit = text.parse().expect(text);
            assert_eq!((limit.rate.name, limit.most), (name, most), "{text}");
            let again: RateLimit = limit.to_string().parse().expect("as it is written");
            assert_eq!(again, limit);
            assert!(limit.to_string().len() <= text.len() + 2, "{limit}");
        }
        for wrong in [
            "steal",
            "steel>1%",
            "steal>20",
            "switches>5%",
            "switches>-1",
            "steal>x%",
            ">1%",
            "busy>100ns",
        ] {
            assert!(wrong.parse::<RateLimit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<&str> = RATES.iter().map(|rate| rate.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RATES.len());
    }
}
