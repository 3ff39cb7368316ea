//! The recording that an import makes.

use super::IMPORTED;
use super::lines::wrong;
use super::recorded::empty;
use crate::clock::Clock;
use crate::machine::{MOST_CPUS, Machine};
use crate::methods;
use crate::options::Answers;
use crate::problem::{Problem, ProblemKind};
use crate::recorder::Recorder;
use crate::rows::{Counter, Detour, LengthCount};
use crate::run::{CpuRun, NotAvailable, Run, RunState};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Detours that are written at once.
const ROWS: usize = 64 << 10;
/// More ranges of lengths than any tool counts in.
pub const MOST_RANGES: usize = 4 << 20;
/// Nanoseconds in ten years. Later times are no times since the beginning of a measurement.
pub(super) const LATEST_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;
/// Two detours may overlap by this much, because each time is rounded to nanoseconds.
const ROUNDING_NS: u64 = 1;

/// A recording that is made of files. Its counter counts nanoseconds.
pub struct Imported {
    dir: PathBuf,
    recorder: Recorder,
    run: Run,
    rows: Vec<Detour>,
    cpus: BTreeMap<u32, Cpu>,
    /// The number of the file that is read.
    file: usize,
    /// Lengths that the file counts, without times.
    lengths: Vec<LengthCount>,
    /// The loop's own iteration, which the durations of the file do not contain.
    iteration_ns: u64,
    shortest_ns: u64,
    /// Longer intervals are detours, if the file states it.
    threshold_ns: Option<u64>,
    /// How long was measured, if that was given.
    duration_ns: Option<u64>,
}

/// What is known of a measured CPU.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// End of its last detour.
    reached_ns: u64,
    detours: u64,
    /// How long it was measured, if the file states it.
    watched_ns: u64,
    /// Sum of all lengths that the file counts, if it states it.
    total_ns: Option<u64>,
    /// The number of the file that has counts of it.
    counted_in: Option<usize>,
    /// Number that were lost before the file was written.
    lost: u64,
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
            file: 0,
            lengths: vec![],
            iteration_ns: 0,
            shortest_ns: u64::MAX,
            threshold_ns: None,
            duration_ns: duration.and_then(|time| u64::try_from(time.as_nanos()).ok()),
        })
    }

    /// Notes that another file begins.
    pub(super) fn next_file(&mut self) {
        self.file += 1;
    }

    /// Sets the loop's own iteration.
    pub(super) fn iteration(&mut self, ns: u64) {
        self.iteration_ns = ns.min(LATEST_NS);
    }

    /// Sets the threshold: longer intervals are detours. The longest of several counts.
    pub(super) fn threshold(&mut self, ns: u64) {
        self.threshold_ns = self.threshold_ns.max(Some(ns.min(LATEST_NS)));
    }

    /// Adds a note for the reader, once.
    pub(super) fn note(&mut self, note: &str) {
        if !self.run.notes.iter().any(|known| known == note) {
            self.run.notes.push(note.to_owned());
        }
    }

    /// Returns whether anything was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.cpus.values().all(|cpu| cpu.detours == 0 && cpu.watched_ns == 0)
    }

    fn cpu(&mut self, cpu: u32) -> Result<&mut Cpu, Problem> {
        if cpu >= MOST_CPUS {
            return Err(wrong(format!("there is no CPU {cpu}")));
        }
        Ok(self.cpus.entry(cpu).or_default())
    }

    /// Adds a detour, which must begin after the one before it on the same CPU.
    pub(super) fn add(&mut self, cpu: u32, start_ns: u64, duration_ns: u64) -> Result<(), Problem> {
        if start_ns.max(duration_ns) > LATEST_NS {
            return Err(wrong("it is later than ten years after the beginning"));
        }
        if self.run.method != methods::DETOURS {
            return Err(wrong("it has times, and what came before has none"));
        }
        let iteration_ns = self.iteration_ns;
        let measured = self.cpu(cpu)?;
        let early = measured.reached_ns.saturating_sub(start_ns);
        if early > ROUNDING_NS + iteration_ns {
            let why =
                format!("this detour begins {early} ns before the previous one on CPU {cpu} ends");
            return Err(wrong(why));
        }
        let start_ticks = start_ns.max(measured.reached_ns);
        let end_ticks = start_ticks + duration_ns + iteration_ns;
        (measured.reached_ns, measured.detours) = (end_ticks, measured.detours + 1);
        self.shortest_ns = self.shortest_ns.min(end_ticks - start_ticks);
        self.rows.push(Detour { cpu, start_ticks, end_ticks });
        if self.rows.len() == ROWS { self.write() } else { Ok(()) }
    }

    /// Adds the number of detours, or latencies, of a range of lengths, for a recording of this method without times.
    pub(super) fn count(
        &mut self,
        method: &str,
        cpu: u32,
        lengths_ns: Range<u64>,
        number: u64,
    ) -> Result<(), Problem> {
        if lengths_ns.end > LATEST_NS || lengths_ns.is_empty() {
            return Err(wrong("there is no such length"));
        }
        if self.lengths.len() == MOST_RANGES {
            return Err(wrong(format!("it has more than {MOST_RANGES} ranges of lengths")));
        }
        if self.cpus.values().any(|measured| measured.reached_ns > 0) {
            return Err(wrong("it has no times, and what came before has them"));
        }
        let file = self.file;
        let measured = self.cpu(cpu)?;
        if measured.counted_in.is_some_and(|before| before != file) {
            let why =
                format!("another file has counts of CPU {cpu} as well: import each by itself");
            return Err(wrong(why));
        }
        measured.counted_in = Some(file);
        measured.detours =
            measured.detours.checked_add(number).ok_or_else(|| wrong("it counts too many"))?;
        let Range { start: from_ticks, end: to_ticks } = lengths_ns;
        self.shortest_ns = self.shortest_ns.min(from_ticks);
        method.clone_into(&mut self.run.method);
        if number > 0 {
            self.lengths.push(LengthCount { cpu, from_ticks, to_ticks, count: number });
        }
        Ok(())
    }

    /// States how many detours or latencies of a CPU were lost before the file was written.
    pub(super) fn lost(&mut self, cpu: u32, number: u64) -> Result<(), Problem> {
        let measured = self.cpu(cpu)?;
        measured.lost = measured.lost.saturating_add(number);
        Ok(())
    }

    /// States the sum of all lengths that were counted on a CPU.
    pub(super) fn total(&mut self, cpu: u32, ns: u64) -> Result<(), Problem> {
        self.cpu(cpu)?.total_ns = Some(ns);
        Ok(())
    }

    /// States for how long a CPU was measured.
    pub(super) fn watched(&mut self, cpu: u32, ns: u64) -> Result<(), Problem> {
        if ns > LATEST_NS {
            return Err(wrong("it was measured for longer than ten years"));
        }
        let measured = self.cpu(cpu)?;
        measured.watched_ns = measured.watched_ns.max(ns);
        Ok(())
    }

    fn write(&mut self) -> Result<(), Problem> {
        self.recorder.append(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Completes the recording and returns its number of detours. `written` is when its files were written.
    pub(super) fn finish(mut self, written: Option<SystemTime>) -> Result<u64, Problem> {
        self.write()?;
        let last = self.cpus.values().map(|cpu| cpu.reached_ns).max().unwrap_or(0);
        let watched = self.cpus.values().map(|cpu| cpu.watched_ns).max().unwrap_or(0);
        let end = self.duration_ns.unwrap_or(last.max(watched));
        if end < last {
            let why = format!("the last detour ends at {last} ns, after the given duration");
            self.discard();
            return Err(ProblemKind::Usage.problem(why, "give the whole duration (--duration)"));
        }
        let (iteration, given) = (self.iteration_ns, self.duration_ns);
        let cpu = |(&cpu, measured): (&u32, &Cpu)| {
            // What a file states is rounded, and may end before the last detour.
            let own = Some(measured.watched_ns)
                .filter(|ns| *ns > 0)
                .map(|ns| ns.max(measured.reached_ns));
            let length = given.or(own).unwrap_or(end);
            CpuRun {
                lost_detours: measured.lost,
                ..cpu_run(cpu, length, iteration, measured.detours)
            }
        };
        self.run.cpus = self.cpus.iter().map(cpu).collect();
        self.run.end_ticks = end;
        let known = self.threshold_ns.is_some();
        self.run.threshold_ticks = self.threshold_ns.unwrap_or(self.shortest_ns.saturating_sub(1));
        if !known && self.lengths.is_empty() {
            self.note("the threshold is the shortest detour of the file");
        }
        self.run.clock.read_min_ticks = iteration;
        self.write_counts(end)?;
        ended(&mut self.run, written, end);
        self.run.state = RunState::Complete;
        self.recorder.finish(&self.run)?;
        Ok(self.cpus.values().map(|cpu| cpu.detours).fold(0, u64::saturating_add))
    }

    /// Writes the counted lengths and their sums.
    fn write_counts(&mut self, end: u64) -> Result<(), Problem> {
        self.lengths.sort_by_key(|row| (row.cpu, row.from_ticks, row.to_ticks));
        self.recorder.append(&self.lengths)?;
        let total = |(&cpu, measured): (&u32, &Cpu)| {
            let name = TOTAL_LENGTH.to_owned();
            measured.total_ns.map(|value| Counter { name, cpu, ticks: end, value })
        };
        let totals: Vec<Counter> = self.cpus.iter().filter_map(total).collect();
        Ok(self.recorder.append(&totals)?)
    }

    /// Removes what was written.
    pub(super) fn discard(self) {
        empty(&self.dir);
    }
}

/// The counter with the sum of all lengths that another tool counted on a CPU, in ns.
pub const TOTAL_LENGTH: &str = "lengths/total_ns";

/// Takes a run to have ended when its file was written, after this time; nothing if it is unknown when that was.
pub(super) fn ended(run: &mut Run, written: Option<SystemTime>, length_ns: u64) {
    let Some(end) = written.and_then(|at| Timestamp::try_from(at).ok()) else { return };
    let length = SignedDuration::from_nanos(i64::try_from(length_ns).unwrap_or(i64::MAX));
    run.start_utc = format!("{:.6}", end.checked_sub(length).unwrap_or(end));
    run.end_utc = Some(format!("{end:.6}"));
}

/// Describes the run as far as it is known before the file was read.
pub(super) fn run(file: &Path, format: &str, host: String) -> Run {
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let clock = Clock::in_nanoseconds("nanoseconds", "imported");
    let machine = Machine {
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
    };
    Run {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        start_utc: "1970-01-01T00:00:00Z".into(),
        threshold_source: IMPORTED.into(),
        not_available: vec![NotAvailable {
            what: "causes".into(),
            why: "another tool measured".into(),
            remedy: "measure with `anechoic run`".into(),
        }],
        notes: vec![format!("imported from {file} ({format}); its dates are those of the file")],
        ..Run::unmeasured(methods::DETOURS, clock, machine)
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
