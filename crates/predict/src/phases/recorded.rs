//! Hosts from recordings and text files, with a common threshold.

use super::nothing;
use super::recorded_cpu::{RecordedCpu, Window};
use super::span::LONGEST_NS;
use super::text::read_text;
use super::timeline::{Host, Timeline};
use anechoic_analyze::no_sample;
use anechoic_analyze::pace::slow_share;
use anechoic_analyze::threads::in_order;
use anechoic_recording::run::{CpuRun, NotAvailable, RunState};
use anechoic_recording::{Detour, Problem, ProblemKind, Recording, find, methods};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The input of a prediction.
#[derive(Debug)]
pub struct Noise {
    /// The hosts, one for each recording; there is at least one.
    pub hosts: Vec<Host>,
    /// Whether any of them is a guest of a hypervisor.
    pub guest: bool,
    /// Why the sources of the detours are unknown, if they are.
    pub sources: Result<(), NotAvailable>,
    /// Threshold in ns: shorter gaps are not detours, on any host; absent if only text files were read.
    pub threshold_ns: Option<u64>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Noise {
    /// Returns noise of hosts whose sources are unknown.
    #[must_use]
    pub fn from_hosts(hosts: Vec<Host>) -> Self {
        let why = "text files do not contain sources".to_owned();
        let remedy = "predict from a recording of `anechoic run`".to_owned();
        let sources = Err(no_sources(why, remedy));
        Self { hosts, guest: false, sources, threshold_ns: None, notes: vec![] }
    }

    /// Reads recordings (directories, or directories of them) and text files, each as a host. `length_ns` is the length
    /// of the measurements in text files.
    ///
    /// # Errors
    ///
    /// An input cannot be read, was not made by `anechoic run`, or has no time in which all its CPUs were measured.
    pub fn read(paths: &[PathBuf], length_ns: Option<u64>) -> Result<Self, Problem> {
        let (mut files, mut recordings) = (vec![], vec![]);
        for path in paths {
            if path.is_file() {
                files.extend(read_text(path, length_ns)?);
            } else {
                recordings.extend(find(path)?);
            }
        }
        let coarsest = recordings.iter().map(threshold_ns).max();
        let mut noise = Self { threshold_ns: coarsest, ..Self::from_hosts(files) };
        if let Some(merged) = Some(merged(&noise.hosts)).filter(|&merged| merged > 0) {
            noise.notes.push(format!(
                "detours of text files that overlapped others and were merged with these: {merged}"
            ));
        }
        if recordings.iter().any(|recording| Some(threshold_ns(recording)) != coarsest) {
            noise.notes.push(format!(
                "thresholds differ: only gaps above the largest, {} ns, are used",
                coarsest.unwrap_or(0)
            ));
        }
        let mut sources = vec![];
        for recording in recordings {
            noise.guest |= recording.run().machine.hypervisor.is_some();
            let (host, host_sources) =
                read_recording(recording, coarsest.unwrap_or(0), &mut noise.notes)?;
            noise.hosts.push(host);
            sources.push(host_sources);
        }
        if noise.hosts.is_empty() {
            return Err(nothing("give a recording or a text file"));
        }
        // What a source costs is known only where it is known of all hosts.
        if sources.len() == noise.hosts.len() {
            noise.sources = sources.into_iter().collect();
        }
        Ok(noise)
    }
}

/// A share of the time that a slower pace took is noted from this on.
const NOTED_SLOW: f64 = 0.001;

fn no_sources(why: String, remedy: String) -> NotAvailable {
    NotAvailable::new("cost of each source", why, remedy)
}

fn threshold_ns(recording: &Recording) -> u64 {
    let run = recording.run();
    run.clock.ns(run.threshold_ticks)
}

fn merged(hosts: &[Host]) -> u64 {
    hosts.iter().flat_map(Host::cpus).map(|(_, timeline)| timeline.merged()).sum()
}

const NO_WINDOW: &str = "there is no time in which all its CPUs were measured";

/// Returns an error: the recording lacks what a prediction needs.
fn lacks(recording: &Recording, why: &str) -> Problem {
    ProblemKind::NoVerdict.problem(why, "measure again").about(recording.dir().display())
}

/// Reads the detours of a CPU in the time in which all were measured; there may be none.
fn read_cpu(
    recording: &Arc<Recording>,
    cpu: &CpuRun,
    window: Option<Window>,
    attributed: bool,
) -> Result<RecordedCpu, Problem> {
    let any = || recording.rows_of_cpu::<Detour>(cpu.cpu).next().transpose();
    if cpu.lost_detours > 0 && any()?.is_none() {
        let why = format!("all detours of CPU {} were lost, so its noise is unknown", cpu.cpu);
        return Err(lacks(recording, &why));
    }
    let window = window.ok_or_else(|| lacks(recording, NO_WINDOW))?;
    RecordedCpu::read(recording, cpu, window, attributed)
}

/// A recorded host, and why it has no sources if so.
type WithSources = (Host, Result<(), NotAvailable>);

fn read_recording(
    recording: Recording,
    coarsest_ns: u64,
    notes: &mut Vec<String>,
) -> Result<WithSources, Problem> {
    let dir = recording.dir().to_owned();
    let run = recording.run();
    if run.method != methods::DETOURS {
        let why = format!("{} is a recording of {}, not of detours", dir.display(), run.method);
        let remedy = "measure with `anechoic run`; `anechoic predict laws` takes samples, too";
        return Err(ProblemKind::Data.problem(why, remedy));
    }
    let bounds = run.cpus.iter().map(|cpu| bounds(&recording, cpu));
    let bounds = bounds.collect::<Result<Vec<_>, _>>()?;
    let first = bounds.iter().map(|bounds| bounds.0).max();
    let last = bounds.iter().map(|bounds| bounds.1).min();
    let attributed = recording.attribution()?.is_some();
    note_limits(&recording, notes)?;
    let recording = Arc::new(recording);
    let run = recording.run();
    let (first_ticks, last_ticks) = (first.unwrap_or(0), last.unwrap_or(0));
    let length_ns = run.clock.ns(last_ticks.saturating_sub(first_ticks));
    let window = Window { first_ticks, last_ticks, coarsest_ns };
    let known = last_ticks > first_ticks && length_ns <= LONGEST_NS;
    let window = Some(window).filter(|_| known);
    let timelines = in_order(run.cpus.len(), |at| {
        let recorded = read_cpu(&recording, &run.cpus[at], window, attributed)?;
        Ok((run.cpus[at].cpu, Timeline::from_recorded(recorded, length_ns)))
    });
    let timelines = timelines.into_iter().collect::<Result<Vec<_>, Problem>>()?;
    let whole = timelines.iter().all(|(_, timeline)| timeline.merged() == 0);
    let host = Host::new(name(&dir), timelines).ok_or_else(|| lacks(&recording, NO_WINDOW))?;
    let sources = match (attributed, whole) {
        (true, true) => Ok(()),
        (true, false) => Err(no_sources(
            format!("detours of {} overlap", host.name()),
            "measure again".to_owned(),
        )),
        (false, _) => Err(no_sources(
            format!("{} has no attribution", host.name()),
            "run `anechoic attribute` on it first".to_owned(),
        )),
    };
    Ok((host, sources))
}

/// Returns when a CPU was measured; a run that was cut off counts up to what was saved last.
fn bounds(recording: &Recording, cpu: &CpuRun) -> Result<(u64, u64), Problem> {
    let run = recording.run();
    if run.state != RunState::Running && cpu.last_ticks > cpu.first_ticks {
        return Ok((cpu.first_ticks, cpu.last_ticks));
    }
    let mut last_end = cpu.last_ticks.max(run.start_ticks);
    for rows in recording.rows_of_cpu::<Detour>(cpu.cpu) {
        last_end = rows?.last().map_or(last_end, |detour| detour.end_ticks.max(last_end));
    }
    Ok((run.start_ticks, last_end))
}

/// Returns notes on properties of a recording that affect its prediction.
///
/// # Errors
///
/// A table is damaged.
fn note_limits(recording: &Recording, notes: &mut Vec<String>) -> Result<(), Problem> {
    let (run, name) = (recording.run(), name(recording.dir()));
    if recording.cut_off() {
        notes.push(format!("{name} was cut off: its window ends with what had been saved"));
    }
    let lost = run.cpus.iter().map(|cpu| cpu.lost_detours).fold(0, u64::saturating_add);
    if lost > 0 {
        notes.push(format!(
            "{name} lost {lost} detours: the noise costs at least as much as predicted"
        ));
    }
    notes.extend(no_sample(run).map(|why| format!("{name}: {why}, and neither does its tail")));
    if !run.injections.is_empty() {
        notes.push(format!("{name} contains injected noise"));
    }
    if let Some(slow) = slow_share(recording)?.filter(|slow| *slow >= NOTED_SLOW) {
        notes.push(format!(
            "{name}: a slower pace between the detours took another {:.2} % of the time, which is left out",
            100.0 * slow
        ));
    }
    Ok(())
}

fn name(dir: &Path) -> String {
    dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy().into_owned()
}
