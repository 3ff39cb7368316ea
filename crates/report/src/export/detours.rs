//! What one exported file is written of, and how formats read it: one detour after the other, in bounded memory.

mod wakeups;

pub(super) use wakeups::Wakeups;

use super::notes::{Note, notes};
use crate::results::wakeup::kinds;
use crate::style::plain;
use anechoic_analyze::competition::{Competition, competition, competition_in};
use anechoic_analyze::{Progress, Summary, summarize, watched};
use anechoic_recording::options::Answers;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{
    Activity, DetourView, JoinedDetours, Loops, Problem, ProblemKind, Recording, Run, Stint,
};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Debug;
use std::sync::Arc;

/// Number of detours between two reports of progress.
const STEP: u64 = 1 << 16;

/// A part of a recording that becomes one file.
pub struct Export<'a> {
    pub(super) recording: &'a Recording,
    /// The answers to the options of the format.
    pub answers: &'a Answers,
    loops: Arc<Loops>,
    pub(super) cpus: Vec<u32>,
    /// Whether the user chose these CPUs.
    are_chosen: bool,
    /// The wake-ups that it holds; absent for detours.
    pub(super) wakeups: Option<Wakeups>,
    notes: Arc<[String]>,
    /// The word for each note.
    reasons: Arc<[&'static str]>,
    /// The summary of the recording, for formats that hold one.
    summary: Option<Summary>,
    pub(super) progress: &'a dyn Fn(Progress),
    read: Cell<u64>,
}

impl Debug for Export<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dir = self.recording.dir();
        f.debug_struct("Export").field("of", &dir).field("cpus", &self.cpus).finish_non_exhaustive()
    }
}

/// Returns the asked CPUs in the order of the recording.
fn chosen(recording: &Recording, all: &[u32], asked: &[u32]) -> Result<Vec<u32>, Problem> {
    if let Some(cpu) = asked.iter().find(|cpu| !all.contains(cpu)) {
        let why = format!("{} has no CPU {cpu}", recording.dir().display());
        let there: Vec<String> = all.iter().map(u32::to_string).collect();
        return Err(ProblemKind::Usage.problem(why, format!("it has {}", there.join(", "))));
    }
    Ok(all.iter().copied().filter(|cpu| asked.contains(cpu)).collect())
}

impl<'a> Export<'a> {
    /// Returns a recording, or these of its CPUs, as one file.
    pub(super) fn new(
        recording: &'a Recording,
        summarized: bool,
        cpus: Option<&[u32]>,
        answers: &'a Answers,
        progress: &'a dyn Fn(Progress),
    ) -> Result<Self, Problem> {
        let loops = watched(recording)?;
        let summary = if summarized { Some(summarize(recording)?) } else { None };
        let competition = match &summary {
            Some(summary) => competition(summary),
            None => competition_in(recording)?,
        };
        let whole = Self::bare(recording, (loops, competition), cpus, answers, progress)?;
        Ok(Self { summary, ..whole })
    }

    /// Returns a recording with these loops, whose CPUs something may have had, as one file.
    pub(super) fn bare(
        recording: &'a Recording,
        (loops, competition): (Loops, Option<Competition>),
        cpus: Option<&[u32]>,
        answers: &'a Answers,
        progress: &'a dyn Fn(Progress),
    ) -> Result<Self, Problem> {
        let loops = Arc::new(loops);
        let notes: Vec<Note> = notes(recording, &loops, competition)?;
        let (reasons, notes): (Vec<&'static str>, Vec<String>) = notes.into_iter().unzip();
        let (reasons, notes) = (reasons.into(), notes.into());
        let all: Vec<u32> = recording.run().cpus.iter().map(|cpu| cpu.cpu).collect();
        let are_chosen = cpus.is_some();
        let cpus = match cpus {
            None => all,
            Some(asked) => chosen(recording, &all, asked)?,
        };
        let read = Cell::new(0);
        let (summary, wakeups) = (None, None);
        Ok(Self {
            recording,
            answers,
            loops,
            cpus,
            are_chosen,
            wakeups,
            notes,
            reasons,
            summary,
            progress,
            read,
        })
    }

    /// Returns the same file with these wake-ups instead of detours.
    pub(super) fn with_wakeups(self, wakeups: Wakeups) -> Self {
        Self { wakeups: Some(wakeups), ..self }
    }

    /// Returns each CPU as a file of its own.
    pub(super) fn by_cpu(self) -> Vec<Self> {
        self.cpus.iter().map(|cpu| self.one_cpu(*cpu)).collect()
    }

    fn one_cpu(&self, cpu: u32) -> Self {
        Self {
            cpus: vec![cpu],
            loops: self.loops.clone(),
            notes: self.notes.clone(),
            reasons: self.reasons.clone(),
            summary: None,
            wakeups: None,
            read: Cell::new(0),
            ..*self
        }
    }

    /// Returns the recording.
    pub fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// Returns what the reader must know of the recording: what it lost, whether its sources can be trusted, and what it
    /// knew that makes its noise doubtful.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the word for each note.
    pub(super) fn reasons(&self) -> &[&'static str] {
        &self.reasons
    }

    /// Returns the summary of the recording.
    pub(super) fn summary(&self) -> Result<Cow<'_, Summary>, Problem> {
        Ok(match &self.summary {
            Some(summary) => Cow::Borrowed(summary),
            None => Cow::Owned(summarize(self.recording)?),
        })
    }

    pub(super) fn run(&self) -> &'a Run {
        self.recording.run()
    }

    /// Returns the exported CPUs, each with the times in which its loops ran.
    pub fn cpus(&self) -> impl Iterator<Item = (&CpuRun, &[Stint])> {
        self.loops.by_cpu(self.run()).filter(|(cpu, _)| self.cpus.contains(&cpu.cpu))
    }

    /// Returns whether rows of this CPU are exported: those of all, unless some were chosen.
    pub(super) fn has(&self, cpu: u32) -> bool {
        self.chosen().is_none_or(|cpus| cpus.contains(&cpu))
    }

    /// Returns the CPUs that the user chose, if any were.
    pub(super) fn chosen(&self) -> Option<&[u32]> {
        self.are_chosen.then_some(&self.cpus)
    }

    /// Returns time since the start of the run in nanoseconds.
    pub(super) fn since_start_ns(&self, ticks: u64) -> u64 {
        self.run().clock.ns(ticks.saturating_sub(self.run().start_ticks))
    }

    /// Returns where the recording comes from and the notes, in lines for the comments of a file.
    pub(super) fn comments(&self) -> impl Iterator<Item = String> {
        let run = self.run();
        let origin = format!(
            "anechoic {}, host {}, method {}, started {}",
            run.tool_version, run.machine.host, run.method, run.start_utc
        );
        let notes = self.notes.iter().map(|note| format!("note: {note}"));
        let kind = self.kind().map(|kind| format!("wake-ups {}", kinds::whole_name(kind)));
        std::iter::once(origin).chain(kind).chain(notes).map(|line| one_line(&line))
    }

    /// Passes the detours of a CPU to `each`, in time order, with their activities if the recording is attributed.
    pub(super) fn detours(
        &self,
        (cpu, stints): (&CpuRun, &[Stint]),
        each: impl FnMut(&DetourView<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.pass(self.recording.detours_of(cpu.cpu, stints), each)
    }

    /// Passes the detours of a CPU to `each`, in time order, without activities.
    pub(super) fn bare_detours(
        &self,
        (cpu, stints): (&CpuRun, &[Stint]),
        each: impl FnMut(&DetourView<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.pass(self.recording.bare_detours_of(cpu.cpu, stints), each)
    }

    /// Counts one more of what is read, and reports progress.
    pub(super) fn count(&self, expected: u64) {
        let read = self.read.get();
        self.read.set(read + 1);
        if read.is_multiple_of(STEP) {
            (self.progress)(Progress { read, expected });
        }
    }

    fn pass(
        &self,
        mut detours: JoinedDetours<'_>,
        mut each: impl FnMut(&DetourView<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let total = self.cpus().map(|(cpu, _)| cpu.detours).fold(0, u64::saturating_add);
        while let Some(detour) = detours.next_detour()? {
            self.count(total);
            each(&detour)?;
        }
        Ok(())
    }
}

/// Returns a text without line feeds and other control characters, short enough for readers with buffers of a kilobyte.
fn one_line(text: &str) -> String {
    plain(text).chars().take(240).collect()
}

/// Returns source and name of what took most of a detour; of equal ones the first, and empty texts if the recording is
/// not attributed.
pub(super) fn main_source(activities: &[Activity]) -> (&str, &str) {
    let mut sums: Vec<((&str, &str), u64)> = vec![];
    for Activity { source, name, self_ticks, .. } in activities {
        let key = (&**source, &**name);
        match sums.iter_mut().find(|(known, _)| *known == key) {
            Some((_, ticks)) => *ticks = ticks.saturating_add(*self_ticks),
            None => sums.push((key, *self_ticks)),
        }
    }
    let longest = sums.into_iter().rev().max_by_key(|(_, ticks)| *ticks);
    longest.map_or(("", ""), |(key, _)| key)
}
