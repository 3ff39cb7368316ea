//! Measurements of different sizes or tick rates joined: mean and deviation of a quantity against the number in which
//! they differ (Tsafrir 2007, Figures 8 and 11; Kärner 2014, Table II).

use crate::cluster::HOST_DIR;
use crate::repeat::Spread;
use crate::samples::figures::Point;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::{Problem, ProblemKind, Recording, Run};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The number in which measurements differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Interrupts of the timer per second and CPU: the kernel's tick, and injected interrupts in addition.
    Rate,
    /// Ranks of the job.
    Ranks,
    /// Measured CPUs of all hosts of the job.
    Cpus,
    /// Hosts of the job.
    Hosts,
}

/// What is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Share of the time that was lost, from 0. Fixed work: mean / shortest − 1.
    Noise,
    /// Mean time of a phase beyond its time without noise, in ns.
    Delay,
}

/// Measurements that differ in a number.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sweep {
    /// Their method.
    pub method: String,
    /// The number in which they differ.
    pub by: By,
    /// What is joined.
    pub quantity: Quantity,
    /// Number of measurements; the recordings of several hosts of a job are one.
    pub measurements: u64,
    /// The quantity against the number, for each experiment.
    pub lines: Vec<Line>,
    /// Cumulative distribution of the samples of each experiment in each measurement; empty for a method without samples.
    pub distributions: Vec<Cumulative>,
    /// Events for each sample against the number, by the event: misses of caches and page faults, of the program and of the
    /// kernel (Tsafrir 2007, Figure 12). Events that were not counted, or never came, are absent.
    pub events: BTreeMap<String, Vec<Line>>,
}

/// The quantity of one experiment against the number.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// The experiment: kernel, CPU, grain, or how ranks meet.
    pub name: String,
    /// Its values, by rising number.
    pub points: Vec<SweepPoint>,
}

/// The quantity at one number.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SweepPoint {
    /// The number.
    pub at: f64,
    /// Mean and deviation over the measurements with this number.
    pub spread: Spread,
    /// The measurements.
    #[serde(rename = "of")]
    pub measurements: Vec<String>,
}

/// The cumulative distribution of one series of samples.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cumulative {
    /// The experiment.
    pub name: String,
    /// The number in which the measurements differ.
    pub at: f64,
    /// The measurement.
    #[serde(rename = "of")]
    pub measurement: String,
    /// Times lost in ns in rising order: `share` of the samples lost at most `value`.
    pub points: Vec<Point>,
}

/// One value to be joined.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// The experiment.
    pub line: String,
    /// The value.
    pub value: f64,
}

/// The recordings that one measurement consists of: several for the hosts of a job.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// Its directory.
    pub dir: PathBuf,
    /// Its recordings.
    pub recordings: Vec<&'a Recording>,
    /// Its number, if the user gave one.
    pub given: Option<f64>,
}

impl Job<'_> {
    /// Returns the number in which it differs from others.
    ///
    /// # Errors
    /// Its recordings do not contain that number.
    pub fn number(&self, by: By) -> Result<f64, Problem> {
        if let Some(given) = self.given {
            return Ok(given);
        }
        let runs = || self.recordings.iter().map(|recording| recording.run());
        let number = match by {
            By::Rate => runs().next().and_then(tick_rate),
            By::Ranks => {
                runs().next().and_then(|run| Some(f64::from(run.parallel.as_ref()?.ranks)))
            }
            By::Cpus => Some(runs().map(|run| run.cpus.len()).sum::<usize>() as f64),
            By::Hosts => Some(self.recordings.len() as f64),
        };
        number.ok_or_else(|| {
            let (what, remedy) = match by {
                By::Rate => (
                    "the recording does not contain the kernel's tick rate",
                    "name the rate of each with --at",
                ),
                _ => ("the recording has no ranks", "`--by cpus`, or `anechoic measure bsp`"),
            };
            ProblemKind::Usage.problem(what, remedy).about(self.dir.display())
        })
    }
}

/// Returns the interrupts of the timer per second: the kernel's ticks and injected ones; absent if the tick's rate is
/// unknown. Injected threads are no interrupts.
fn tick_rate(run: &Run) -> Option<f64> {
    let own = f64::from(run.machine.tick_hz?);
    let interrupts =
        run.injections.iter().filter(|injection| injection.kind != InjectionKind::Thread);
    let added: f64 = interrupts.map(|injection| 1e9 / injection.period_ns.max(1) as f64).sum();
    // Periods are whole nanoseconds, so 750 Hz becomes 750.0002.
    Some((own + added).round())
}

/// Groups recordings with this given number, if there is one: those of the hosts of a job (`JOB/host=NAME`) are one measurement, and any other is one by itself.
#[must_use]
pub fn jobs<'a>(recordings: &[&'a Recording], given: Option<f64>) -> Vec<Job<'a>> {
    let mut jobs: Vec<Job<'a>> = vec![];
    for &recording in recordings {
        let dir = job_dir(recording.dir()).to_owned();
        match jobs.iter_mut().find(|job| job.dir == dir) {
            Some(job) => job.recordings.push(recording),
            None => jobs.push(Job { dir, recordings: vec![recording], given }),
        }
    }
    jobs
}

/// Returns the directory of a recording's job, which contains one for each host.
fn job_dir(dir: &Path) -> &Path {
    let is_host = |dir: &&Path| {
        dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(HOST_DIR))
    };
    dir.ancestors().take(2).find(is_host).and_then(Path::parent).unwrap_or(dir)
}

/// Joins the values of measurements: each has its name, its number, and one value for each experiment.
#[must_use]
pub fn join(measurements: &[(String, f64, Vec<Swept>)]) -> Vec<Line> {
    let mut names: Vec<&str> = vec![];
    // Numbers are rates and counts: whole, so that their bits sort and compare as they do.
    let mut found = Found::new();
    for (measurement, at, swept) in measurements {
        for Swept { line, value } in swept {
            let known = names.iter().position(|name| name == line);
            let number = known.unwrap_or_else(|| {
                names.push(line);
                names.len() - 1
            });
            let (values, all) = found.entry((number, at.to_bits())).or_default();
            values.push(*value);
            all.push(measurement.clone());
        }
    }
    let names = names.into_iter().enumerate();
    names.map(|(line, name)| Line { name: name.into(), points: points(&found, line) }).collect()
}

/// Values by the number of their line and the bits of the number of their measurement, with the names of the measurements.
type Found = BTreeMap<(usize, u64), (Vec<f64>, Vec<String>)>;

/// Returns the points of the line of this number.
fn points(found: &Found, line: usize) -> Vec<SweepPoint> {
    let mut points = vec![];
    for (&(_, at), (values, measured)) in found.range((line, 0)..=(line, u64::MAX)) {
        points.extend(Spread::from_values(values).map(|spread| SweepPoint {
            at: f64::from_bits(at),
            spread,
            measurements: measured.clone(),
        }));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_number_are_joined_and_numbers_rise() {
        let swept = |line: &str, value: f64| Swept { line: line.into(), value };
        let measurement = |name: &str, at: f64, swept: Vec<Swept>| (name.to_owned(), at, swept);
        let lines = join(&[
            measurement("c", 1_000.0, vec![swept("barrier", 9.0)]),
            measurement("a", 2.0, vec![swept("barrier", 1.0), swept("allreduce", 5.0)]),
            measurement("b", 2.0, vec![swept("barrier", 3.0)]),
        ]);
        assert_eq!(lines.len(), 2);
        let [first, second] = &lines[0].points[..] else { panic!("{lines:?}") };
        assert_eq!((first.at, second.at), (2.0, 1_000.0));
        // Deviations of 1 from the mean of 2: squares 2, over n - 1 = 1.
        assert_eq!((first.spread.mean, first.spread.sd), (2.0, Some(2.0_f64.sqrt())));
        assert_eq!(first.measurements, ["a", "b"]);
        assert_eq!((second.spread.mean, second.spread.sd), (9.0, None));
        assert_eq!((lines[1].name.as_str(), lines[1].points.len()), ("allreduce", 1));
    }

    #[test]
    fn the_hosts_of_a_job_share_a_directory() {
        for (dir, job) in [
            ("jobs/32/host=a", "jobs/32"),
            ("jobs/32/host=a/run", "jobs/32"),
            ("jobs/32", "jobs/32"),
            ("plain", "plain"),
        ] {
            assert_eq!(job_dir(Path::new(dir)), Path::new(job));
        }
    }
}
