//! Hosts from recordings and text files, brought to one threshold.

use super::model::nothing;
use super::taken::Taken;
use super::text::read_text;
use super::timeline::{Host, LONGEST_NS, Span, Timeline};
use anechoic_recording::run::{CpuRun, NotAvailable, RunState};
use anechoic_recording::{Detour, Problem, ProblemKind, Recording, find, methods};
use std::path::{Path, PathBuf};

/// What is predicted from.
#[derive(Debug)]
pub struct Noise {
    /// The hosts, one a recording; there is at least one.
    pub hosts: Vec<Host>,
    /// What sources took of their detours, in the same order; or why that is not known.
    pub taken: Result<Vec<Taken>, NotAvailable>,
    /// A gap that is not longer is no detour, on any host; absent where only text files were read.
    pub threshold_ns: Option<u64>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Noise {
    /// Of hosts whose sources are not known.
    #[must_use]
    pub fn of_hosts(hosts: Vec<Host>) -> Self {
        let why = "text files do not tell what took the time".to_owned();
        let remedy = "predict from a recording of `anechoic run`".to_owned();
        Self { hosts, taken: Err(no_sources(why, remedy)), threshold_ns: None, notes: vec![] }
    }

    /// Reads recordings (directories, or directories of them) and text files, each a host. `length_ns` is how long
    /// the text files' measurements were.
    ///
    /// # Errors
    /// One cannot be read, was not made by `anechoic run`, or has no time in which all its CPUs were measured.
    pub fn read(paths: &[PathBuf], length_ns: Option<u64>) -> Result<Self, Problem> {
        let (mut files, mut recordings) = (vec![], vec![]);
        for path in paths {
            if path.is_file() {
                files.push(read_text(path, length_ns)?);
            } else {
                recordings.extend(find(path)?);
            }
        }
        let threshold = |recording: &Recording| {
            let run = recording.run();
            run.clock.ns(run.threshold_ticks)
        };
        let coarsest = recordings.iter().map(threshold).max();
        let mut noise = Self { threshold_ns: coarsest, ..Self::of_hosts(files) };
        if let Some(merged) = Some(merged(&noise.hosts)).filter(|&merged| merged > 0) {
            noise.notes.push(format!("{merged} detours of text files overlapped others: one each"));
        }
        if recordings.iter().any(|recording| Some(threshold(recording)) != coarsest) {
            noise.notes.push(format!(
                "thresholds differ: of all recordings only gaps over the coarsest, {} ns, are used",
                coarsest.unwrap_or(0)
            ));
        }
        let mut taken = vec![];
        for recording in &recordings {
            let (host, of_host) =
                read_recording(recording, coarsest.unwrap_or(0), &mut noise.notes)?;
            noise.hosts.push(host);
            taken.push(of_host);
        }
        if noise.hosts.is_empty() {
            return Err(nothing("name a recording or a text file"));
        }
        // What a source costs is known only where it is known of all hosts.
        if taken.len() == noise.hosts.len() {
            noise.taken = taken.into_iter().collect();
        }
        Ok(noise)
    }
}

fn no_sources(why: String, remedy: String) -> NotAvailable {
    NotAvailable { what: "cost of each source".into(), why, remedy }
}

fn merged(hosts: &[Host]) -> u64 {
    hosts.iter().flat_map(Host::cpus).map(|(_, timeline)| timeline.merged()).sum()
}

const NO_WINDOW: &str = "there is no time in which all its CPUs were measured";

/// The recording has not what a prediction needs.
fn lacks(recording: &Recording, why: &str) -> Problem {
    ProblemKind::NoVerdict.problem(why, "measure again").about(recording.dir().display())
}

type WithTaken = (Host, Result<Taken, NotAvailable>);

fn read_recording(
    recording: &Recording,
    coarsest_ns: u64,
    notes: &mut Vec<String>,
) -> Result<WithTaken, Problem> {
    let (run, dir) = (recording.run(), recording.dir());
    if run.method != methods::DETOURS {
        let why = format!("{} holds {}, not detours", dir.display(), run.method);
        return Err(ProblemKind::Data.problem(why, "measure with `anechoic run`"));
    }
    let mut cpus = vec![];
    for cpu in &run.cpus {
        let mut detours = vec![];
        for rows in recording.rows_of_cpu::<Detour>(cpu.cpu) {
            detours.extend(rows?.iter().map(|detour| (detour.start_ticks, detour.end_ticks)));
        }
        if detours.is_empty() && cpu.lost_detours > 0 {
            let why =
                format!("all detours of CPU {} were lost, so that its noise is not known", cpu.cpu);
            return Err(lacks(recording, &why));
        }
        let bounds = bounds(recording, cpu, detours.last().map(|&(_, end)| end));
        cpus.push((cpu, detours, bounds));
    }
    let first = cpus.iter().map(|(_, _, bounds)| bounds.0).max();
    let last = cpus.iter().map(|(_, _, bounds)| bounds.1).min();
    let (Some(first), Some(last)) = (first, last.filter(|&last| Some(last) > first)) else {
        return Err(lacks(recording, NO_WINDOW));
    };
    let window = Window { first, last, coarsest_ns };
    if run.clock.ns(last - first) > LONGEST_NS {
        return Err(lacks(recording, NO_WINDOW));
    }
    let attributed = recording.attribution()?.is_some();
    let (mut taken, mut whole) = (Taken::default(), true);
    let mut timelines = vec![];
    for (cpu, detours, _) in cpus {
        let (timeline, kept) = window.timeline(recording, cpu, detours);
        whole &= kept.len() == timeline.detours().len();
        if attributed && whole {
            taken.add_cpu(recording, cpu, &kept, timeline.detours())?;
        }
        timelines.push((cpu.cpu, timeline));
    }
    tell(recording, notes);
    let host = Host::new(name(dir), timelines).ok_or_else(|| lacks(recording, NO_WINDOW))?;
    let taken = match (attributed, whole) {
        (true, true) => Ok(taken),
        (true, false) => Err(no_sources(
            format!("detours of {} overlap", host.name()),
            "measure again".to_owned(),
        )),
        (false, _) => Err(no_sources(
            format!("{} has no attribution", host.name()),
            "run `anechoic attribute` on it first".to_owned(),
        )),
    };
    Ok((host, taken))
}

/// From when to when a CPU was measured. A run that was cut off is known up to its last detour.
fn bounds(recording: &Recording, cpu: &CpuRun, last_end: Option<u64>) -> (u64, u64) {
    let run = recording.run();
    if run.state == RunState::Running || cpu.last_ticks <= cpu.first_ticks {
        return (run.start_ticks, last_end.unwrap_or(run.start_ticks));
    }
    (cpu.first_ticks, cpu.last_ticks)
}

/// What of a recording was measured on all its CPUs.
struct Window {
    first: u64,
    last: u64,
    coarsest_ns: u64,
}

impl Window {
    /// The detours of one CPU in ns, without the loop's own iteration, and which of the recorded they are.
    fn timeline(
        &self,
        recording: &Recording,
        cpu: &CpuRun,
        detours: Vec<(u64, u64)>,
    ) -> (Timeline, Vec<u32>) {
        let run = recording.run();
        let clock = &run.clock;
        let finer = clock.ns(run.threshold_ticks) < self.coarsest_ns;
        let ns = |ticks: u64| clock.ns(ticks.clamp(self.first, self.last) - self.first);
        // A run that was cut off at once may not know what one iteration takes: then it is what one reading takes.
        let known = (1..=run.threshold_ticks).contains(&cpu.shortest_gap_ticks);
        let iteration = if known { cpu.shortest_gap_ticks } else { clock.read_min_ticks };
        let mut kept = vec![];
        let mut spans = vec![];
        for (index, (start, end)) in (0..).zip(detours) {
            if finer && clock.ns(end.saturating_sub(start)) <= self.coarsest_ns {
                continue;
            }
            let start = start.saturating_add(iteration);
            let span = Span { start_ns: ns(start), end_ns: ns(end) };
            if span.start_ns < span.end_ns {
                spans.push(span);
                kept.push(index);
            }
        }
        (Timeline::new(clock.ns(self.last - self.first), spans), kept)
    }
}

/// What of a recording changes what its prediction means.
fn tell(recording: &Recording, notes: &mut Vec<String>) {
    let (run, name) = (recording.run(), name(recording.dir()));
    if recording.cut_off() {
        notes.push(format!("{name} was cut off: its window ends at its last detour"));
    }
    let lost: u64 = run.cpus.iter().map(|cpu| cpu.lost_detours).sum();
    if lost > 0 {
        notes.push(format!("{name} lost {lost} detours: noise costs at least what is said"));
    }
    if !run.injections.is_empty() {
        notes.push(format!("{name} was made with injected noise, which is part of it"));
    }
}

fn name(dir: &Path) -> String {
    dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy().into_owned()
}
