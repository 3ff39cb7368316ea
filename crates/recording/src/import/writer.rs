//! The recording that an import makes.

use super::lines::wrong;
use super::{IMPORTED, Lines};
use crate::clock::Clock;
use crate::machine::{MOST_CPUS, Machine};
use crate::methods;
use crate::options::Answers;
use crate::problem::{Problem, ProblemKind};
use crate::recorder::Recorder;
use crate::rows::Detour;
use crate::run::{CpuRun, DrainPolicy, FORMAT_VERSION, NotAvailable, Run, RunState};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Detours that are written at once.
const ROWS: usize = 64 << 10;
/// Nanoseconds in ten years. Later times are no times since the beginning of a measurement.
const LATEST_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;
/// Two detours may overlap by this much, because each time is rounded to nanoseconds.
const ROUNDING_NS: u64 = 1;

/// A recording that is made of a file. Its counter counts nanoseconds.
pub struct Imported {
    dir: PathBuf,
    recorder: Recorder,
    run: Run,
    rows: Vec<Detour>,
    /// End of the last detour and number of detours of each CPU.
    cpus: BTreeMap<u32, (u64, u64)>,
    /// The loop's own iteration, which the durations of the file do not contain.
    iteration_ns: u64,
    shortest_ns: u64,
    /// How long was measured, if that was given.
    duration_ns: Option<u64>,
}

impl std::fmt::Debug for Imported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Imported").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Imported {
    pub(super) fn create(
        dir: &Path,
        file: &Path,
        format: &str,
        answers: &Answers,
    ) -> Result<Self, Problem> {
        let host = answers.one::<PathBuf>("host")?.display().to_string();
        let run = run(file, format, host);
        let duration = answers.given::<Duration>("duration");
        Ok(Self {
            dir: dir.to_owned(),
            recorder: Recorder::create(dir, &run)?,
            run,
            rows: Vec::with_capacity(ROWS),
            cpus: BTreeMap::new(),
            iteration_ns: 0,
            shortest_ns: u64::MAX,
            duration_ns: duration.and_then(|time| u64::try_from(time.as_nanos()).ok()),
        })
    }

    /// Sets the loop's own iteration.
    pub(super) fn iteration(&mut self, ns: u64) {
        self.iteration_ns = ns.min(LATEST_NS);
    }

    pub(super) fn detours(&self) -> u64 {
        self.cpus.values().map(|(_, number)| number).sum()
    }

    /// Adds a detour, which must begin after the one before it on the same CPU.
    pub(super) fn add(&mut self, cpu: u32, start_ns: u64, duration_ns: u64) -> Result<(), Problem> {
        if start_ns.max(duration_ns) > LATEST_NS {
            return Err(wrong("it is later than ten years after the beginning"));
        }
        if cpu >= MOST_CPUS {
            return Err(wrong(format!("there is no CPU {cpu}")));
        }
        let (reached, number) = self.cpus.entry(cpu).or_default();
        let early = reached.saturating_sub(start_ns);
        if early > ROUNDING_NS + self.iteration_ns {
            let why =
                format!("this detour begins {early} ns before the previous one on CPU {cpu} ends");
            return Err(wrong(why));
        }
        let start_ticks = start_ns.max(*reached);
        let end_ticks = start_ticks + duration_ns + self.iteration_ns;
        (*reached, *number) = (end_ticks, *number + 1);
        self.shortest_ns = self.shortest_ns.min(end_ticks - start_ticks);
        self.rows.push(Detour { cpu, start_ticks, end_ticks });
        if self.rows.len() == ROWS { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Problem> {
        self.recorder.append(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Completes the recording and returns its number of detours.
    pub(super) fn finish(mut self, lines: &Lines) -> Result<u64, Problem> {
        self.write()?;
        let last = self.cpus.values().map(|(end, _)| *end).max().unwrap_or(0);
        let end = self.duration_ns.unwrap_or(last);
        if end < last {
            let why = format!("the last detour ends at {last} ns, after the given duration");
            self.discard();
            return Err(ProblemKind::Usage.problem(why, "give the whole duration (--duration)"));
        }
        let (number, iteration) = (self.detours(), self.iteration_ns);
        let cpu =
            |(&cpu, &(_, detours)): (&u32, &(u64, u64))| cpu_run(cpu, end, iteration, detours);
        self.run.cpus = self.cpus.iter().map(cpu).collect();
        self.run.end_ticks = end;
        self.run.threshold_ticks = self.shortest_ns.saturating_sub(1);
        self.run.clock.read_min_ticks = iteration;
        if let Some(written) = lines.modified().and_then(|at| Timestamp::try_from(at).ok()) {
            let length = SignedDuration::from_nanos(i64::try_from(end).unwrap_or(i64::MAX));
            self.run.end_utc = Some(format!("{written:.0}"));
            self.run.start_utc = format!("{:.0}", written.checked_sub(length).unwrap_or(written));
        }
        self.run.state = RunState::Complete;
        self.recorder.finish(&self.run)?;
        Ok(number)
    }

    /// Removes what was written.
    pub(super) fn discard(self) {
        let _ = fs::remove_dir_all(&self.dir); // it was empty before
    }
}

/// Describes the run as far as it is known before the file was read.
fn run(file: &Path, format: &str, host: String) -> Run {
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    Run {
        format_version: FORMAT_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").into(),
        command: vec![],
        method: methods::DETOURS.into(),
        state: RunState::Running,
        start_utc: "1970-01-01T00:00:00Z".into(),
        end_utc: None,
        start_ticks: 0,
        end_ticks: 0,
        clock: Clock {
            counter: "nanoseconds".into(),
            frequency_millihertz: 1_000_000_000_000,
            frequency_source: "imported".into(),
            residual_ppm: None,
            invariant: true,
            read_mean_ticks: 0.0,
            read_min_ticks: 0,
            read_deltas: vec![],
            call_costs_ns: vec![],
            skew: vec![],
        },
        threshold_ticks: 0,
        threshold_source: IMPORTED.into(),
        policy: "other".into(),
        drain: DrainPolicy::AtEnd,
        stop_on: None,
        repetition: None,
        cpus: vec![],
        outcomes: vec![],
        allocations: vec![],
        own_threads: vec![],
        injections: vec![],
        parallel: None,
        self_test: None,
        trace: None,
        steal_readings: false,
        not_available: vec![NotAvailable {
            what: "causes".into(),
            why: "another tool measured".into(),
            remedy: "measure with `anechoic run`".into(),
        }],
        notes: vec![format!(
            "imported from {file} ({format}); its dates are those of the file, and the threshold is its shortest detour"
        )],
        threads: vec![],
        limits: None,
        machine: Machine {
            host,
            model: "unknown".into(),
            arch: "unknown".into(),
            kernel: "unknown".into(),
            command_line: String::new(),
            tick_hz: None,
            hypervisor: None,
            confidential: None,
            data_tlb: None,
            online: String::new(),
            allowed: String::new(),
            smt: None,
            memory_bytes: 0,
            cpus: vec![],
            settings: vec![],
        },
    }
}

fn cpu_run(cpu: u32, end: u64, iteration: u64, detours: u64) -> CpuRun {
    CpuRun {
        cpu,
        tid: 0,
        class: "imported".into(),
        first_ticks: 0,
        last_ticks: end,
        iterations: end.checked_div(iteration).unwrap_or(end).max(1),
        own_shortest_gap_ticks: iteration,
        shortest_gap_ticks: iteration,
        detours,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}
