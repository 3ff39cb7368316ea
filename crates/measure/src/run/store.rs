//! Writes the recording during a run. After the first failure nothing more is written, and what is dropped
//! becomes a loss.

use super::artefacts::Artefacts;
use super::plan::Plan;
use super::stop_watch::{OwnWork, StopWatch};
use super::unsaved::Counted;
use super::window::{Before, Part, Rows, Waits, Window};
use crate::timed::buffers::{BlockExchange, StoredSample};
use crate::timed::pacing::PaceSpan;
use crate::timed::sinks::LoopBuffers;
use anechoic_attribute::program::Watch;
use anechoic_kernels::detour::Gap;
use anechoic_recording::run::{Run, RunState};
use anechoic_recording::stop::{StopCondition, StoppedBy};
use anechoic_recording::who::SeenThread;
use anechoic_recording::{
    Detour, KernelEvent, LoopPace, Loss, Members, News, Recorder, Recording, Row, Sample,
    WriteError, in_words, methods,
};
use anechoic_system::tracefs::Batch;
use std::collections::BTreeMap;
use std::path::Path;

/// Number of rows that are written at once.
const BATCH: usize = 128 * 1024;

/// The recording while a run goes on.
pub(super) struct Store {
    recorder: Recorder,
    cpus: Vec<u32>,
    trouble: Option<WriteError>,
    /// All rows that were handed over, saved or not.
    handed_over: Counted,
    /// Losses that may not be on disk yet; `run.json` reports them if nothing else can.
    losses: Vec<Loss>,
    /// What arrived since the last call of [`Store::news`], if somebody watches.
    news: Option<News>,
    /// What looks for the detour that ends the run, if one may.
    stop_watch: Option<StopWatch>,
    /// Whether a wake-up may end the run.
    awaits_wakeup: bool,
    /// What looks for the end of the recording of a program, if a condition may end it.
    program_watch: Option<Watch>,
    waiting: Waiting,
    /// The rows of a run of which only the last part is kept.
    window: Option<Window>,
    /// Up to when the loop of each CPU is known to have watched.
    watched: BTreeMap<u32, u64>,
}

/// Rows that wait for a full batch, because a run that is watched, or may be stopped, delivers a few at a time.
#[derive(Default)]
struct Waiting {
    detours: Vec<Detour>,
    paces: Vec<LoopPace>,
    samples: Vec<Sample>,
    events: Vec<KernelEvent>,
}

impl Store {
    /// Creates the store for the measured CPUs of a plan. If somebody watches, it also keeps what arrives for
    /// [`Store::news`].
    pub(super) fn new(recorder: Recorder, cpus: &[u32], plan: &Plan, run: &Run) -> Self {
        let news = plan.watcher.is_some().then(News::default);
        let loops = run.cpus.iter().map(|cpu| (cpu.cpu, cpu.tid));
        let condition = plan.stop_on.filter(|_| run.method != methods::PROGRAM);
        // What keeps a thread from running that sleeps is no artefact of it.
        let awaits_wakeup = matches!(condition, Some(StopCondition::Wakeup(_)));
        let artefacts = (run.policy.is_fifo() && !awaits_wakeup).then(|| Artefacts::new(loops));
        let stop_watch =
            condition.map(|condition| StopWatch::new(condition, &run.clock, artefacts));
        let window = plan.keep.map(|keep| Window::new(keep, run));
        let cpus = cpus.to_vec();
        let (handed_over, losses) = (Counted::default(), Vec::new());
        Store {
            recorder,
            cpus,
            trouble: None,
            handed_over,
            losses,
            news,
            stop_watch,
            awaits_wakeup,
            program_watch: None,
            waiting: Waiting::default(),
            window,
            watched: BTreeMap::new(),
        }
    }

    /// Returns the directory of the recording.
    pub(super) fn dir(&self) -> &Path {
        self.recorder.dir()
    }

    /// Returns the measured CPUs.
    pub(super) fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Returns why nothing more is written, if so.
    pub(super) fn trouble(&self) -> Option<&WriteError> {
        self.trouble.as_ref()
    }

    /// Writes rows of one table, in time order for each CPU; or keeps them, if only the last part of the run is kept.
    pub(super) fn append<R: Waits>(&mut self, rows: &[R]) {
        match self.window.as_mut().and_then(|window| R::place(window.rows())) {
            Some(waiting) => waiting.extend_from_slice(rows),
            None => self.write(rows),
        }
    }

    fn write<R: Row>(&mut self, rows: &[R]) {
        self.handed_over.add(rows);
        if self.trouble.is_none() {
            self.trouble = self.recorder.append(rows).err();
        }
    }

    /// Writes intervals of loss.
    pub(super) fn losses(&mut self, losses: &[Loss]) {
        self.append(losses);
        if self.window.is_none() {
            self.losses.extend_from_slice(losses);
        }
    }

    /// Writes what a loop has stored so far: whole blocks, and with `partial` also what is in the block that it fills.
    pub(super) fn take(&mut self, lanes: &LoopBuffers<'_>, partial: bool) {
        let cpu = lanes.place.cpu().unwrap_or(0);
        let detour = |_, gap: &Gap| Detour { cpu, start_ticks: gap.start, end_ticks: gap.end };
        let mut more = partial || lanes.gaps.has_filled();
        while more {
            let known = self.waiting.detours.len();
            more = lanes.gaps.read(&mut self.waiting.detours, detour)
                && (partial || lanes.gaps.has_filled());
            if lanes.place.role().is_none() {
                let last = self.waiting.detours[known..].last();
                self.watched_until(cpu, last.map(|detour| detour.end_ticks));
            }
            let arrived = &self.waiting.detours[known..];
            if let Some(news) = &mut self.news {
                news.detours.extend_from_slice(arrived);
            }
            if let Some(watch) = &mut self.stop_watch {
                watch.look(arrived);
            }
            self.write_if_many();
        }
        if let Some(paces) = &lanes.paces {
            self.paces(cpu, paces, partial);
        }
        if let Some(samples) = &lanes.samples {
            self.samples(samples, partial, lanes.place.role().is_none());
        }
        if self.news.is_none() && self.stop_watch.is_none() {
            self.write_waiting();
        }
    }

    /// Returns the detour or the wake-up that ends the run, once there is one.
    pub(super) fn stopped_by(&self) -> Option<StoppedBy> {
        let of_program = self.program_watch.as_ref().and_then(Watch::met);
        of_program.or_else(|| self.stop_watch.as_ref().and_then(StopWatch::met))
    }

    /// Lets a condition end the recording of a program.
    pub(super) fn watch_program(&mut self, watch: Option<Watch>) {
        self.program_watch = watch;
    }

    /// Looks whether the condition of a program was met before `until_ticks`: all events up to then have been read.
    pub(super) fn look(&mut self, until_ticks: u64, run: &Run) {
        if let Some(watch) = &mut self.program_watch {
            watch.look(until_ticks, run);
        }
    }

    /// Looks at the rest of a program's recording, which ended at `end_ticks` and of which all events have been read.
    pub(super) fn look_at_end(&mut self, end_ticks: u64, run: &Run) {
        if let Some(watch) = &mut self.program_watch {
            watch.finish(end_ticks, run);
        }
    }

    /// Returns the threads of the program after all events so far, if it is watched.
    pub(super) fn members(&self) -> Option<Members> {
        self.program_watch.as_ref().map(Watch::members)
    }

    /// Returns the events of a run of which only the last part is kept that were read with that part and came before it.
    pub(super) fn events_before_part(&mut self) -> Vec<KernelEvent> {
        self.write_waiting();
        self.window.as_ref().map_or_else(Vec::new, Window::events_before)
    }

    /// Returns whether a detour may end the run, once the kernel's events up to now are read.
    pub(super) fn suspects(&self) -> bool {
        self.stop_watch.as_ref().is_some_and(StopWatch::suspects)
    }

    /// Decides whether a detour ends the run, after the kernel's events up to now were read.
    pub(super) fn judge(&mut self) {
        if let Some(watch) = &mut self.stop_watch {
            watch.judge();
        }
    }

    /// Notes that the tool itself ran on a measured CPU.
    pub(super) fn own_work(&mut self, work: OwnWork) {
        if let Some(watch) = &mut self.stop_watch {
            watch.ran(work);
        }
    }

    fn watched_until(&mut self, cpu: u32, ticks: Option<u64>) {
        let known = self.watched.entry(cpu).or_default();
        *known = ticks.map_or(*known, |ticks| ticks.max(*known));
    }

    fn samples(&mut self, lane: &BlockExchange<'_, StoredSample>, partial: bool, main: bool) {
        let row = |series, taken: &StoredSample| Sample {
            series,
            index: taken.index,
            cpu: taken.cpu,
            start_ticks: taken.start,
            end_ticks: taken.end,
            count: taken.count.into(),
        };
        let (mut rows, mut more) = (Vec::new(), partial || lane.has_filled());
        let is_watched = self.news.is_some() || self.stop_watch.is_some();
        while more {
            more = lane.read(&mut rows, row) && (partial || lane.has_filled());
            if let Some(last) = rows.last().filter(|_| main) {
                self.watched_until(last.cpu, Some(last.end_ticks));
            }
            if rows.len() >= BATCH || !more {
                if let Some(watch) = &mut self.stop_watch {
                    watch.look_at_wakeups(&rows);
                }
                if let Some(news) = &mut self.news {
                    news.samples.extend_from_slice(&rows);
                }
                match is_watched {
                    true => self.waiting.samples.append(&mut rows),
                    false => self.append(&rows),
                }
                rows.clear();
                self.write_if_many();
            }
        }
    }

    fn paces(&mut self, cpu: u32, lane: &BlockExchange<'_, PaceSpan>, partial: bool) {
        let (rows, mut more) = (&mut self.waiting.paces, partial || lane.has_filled());
        while more {
            more = lane.read(rows, |_, span| span.row(cpu)) && (partial || lane.has_filled());
        }
        self.write_if_many();
    }

    /// Writes the events of one CPU.
    pub(super) fn batch(&mut self, batch: Batch) {
        self.append(&batch.names);
        self.append(&batch.marks);
        self.losses(&batch.losses);
        if let Some(watch) = &mut self.stop_watch {
            watch.follow(&batch.events);
        }
        if let Some(watch) = &mut self.program_watch {
            watch.take(&batch.events, &batch.losses);
        }
        if let Some(news) = &mut self.news {
            news.events.extend_from_slice(&batch.events);
            news.names.extend(batch.names);
            news.losses.extend(batch.losses);
        } else if self.program_watch.is_none() {
            return self.append(&batch.events);
        }
        self.waiting.events.extend(batch.events);
        self.write_if_many();
    }

    fn write_if_many(&mut self) {
        let Waiting { detours, paces, samples, events } = &self.waiting;
        if detours.len().max(paces.len()).max(samples.len()).max(events.len()) >= BATCH {
            self.write_waiting();
        }
    }

    fn write_waiting(&mut self) {
        let Waiting { detours, paces, samples, events } = std::mem::take(&mut self.waiting);
        self.append(&detours);
        self.append(&paces);
        self.append(&samples);
        self.append(&events);
    }

    /// Returns what arrived since the last call; `None` if nobody watches.
    pub(super) fn news(&mut self) -> Option<News> {
        self.news.as_mut().map(std::mem::take)
    }

    /// Completes the files written so far, so that a killed run keeps them.
    pub(super) fn complete_parts(&mut self) {
        self.write_waiting();
        if self.trouble.is_none() {
            self.trouble = self.recorder.complete_parts().err();
        }
        if self.trouble.is_none() {
            self.losses.clear();
        }
    }

    /// Makes what was handed over part of the recording even if the run is killed: for each CPU the time up to the last
    /// thing that its loop has stored. What came after it is not known: it may be a detour that still goes on.
    pub(super) fn checkpoint(&mut self, run: &Run) {
        self.complete_parts();
        let mut run = Run { state: RunState::Running, ..run.clone() };
        for cpu in &mut run.cpus {
            let until = self.watched.get(&cpu.cpu).copied().unwrap_or(0);
            cpu.last_ticks = until.max(cpu.first_ticks);
        }
        if self.trouble.is_none() {
            self.trouble = self.recorder.describe(&run).err();
        }
    }

    /// Returns whether the next part of the run should begin; `None` if all of the run is kept.
    pub(super) fn part_is_over(&self, now_ticks: u64) -> Option<bool> {
        self.window.as_ref().map(|window| window.is_over(now_ticks))
    }

    /// Begins the next part of a run of which only the last part is kept. The last one had these threads.
    pub(super) fn begin_part(&mut self, part: Part, threads: Vec<SeenThread>) {
        self.write_waiting();
        let now_ticks = part.from_ticks;
        let of_program = self.program_watch.as_ref().map(|watch| watch.since(now_ticks));
        // A thread that is late now has no sample yet.
        let last = self.cpus.iter().map(|cpu| self.watched.get(cpu).copied().unwrap_or(0));
        if let Some(window) = &mut self.window {
            let of_sleep = self.awaits_wakeup.then(|| window.asleep_since(last, now_ticks));
            window.begin(part, threads, of_program.or(of_sleep).unwrap_or(now_ticks));
        }
    }

    /// Decides what is kept of a run that ends now, at `end_ticks`. Returns what the kernel had counted where that begins,
    /// unless it is all of the run.
    pub(super) fn close_window(&mut self, end_ticks: u64) -> Option<Before> {
        let met = self.stopped_by();
        self.window.as_mut().and_then(|window| window.close(end_ticks, met))
    }

    /// Returns whether only the last part of the run is kept.
    pub(super) fn keeps_last_part(&self) -> bool {
        self.window.is_some()
    }

    /// Writes the part of the run that is kept, and describes it in `run`.
    pub(super) fn write_kept(&mut self, run: &mut Run) {
        self.write_waiting();
        let Some(window) = self.window.take() else { return };
        let parts = window.finish(run);
        self.recorder.begin_at(run);
        for rows in parts {
            let Rows { names, marks, stacks, detours, paces, samples, events, counters, losses } =
                rows;
            self.append(&names);
            self.append(&marks);
            self.append(&stacks);
            self.append(&detours);
            self.append(&paces);
            self.append(&samples);
            self.append(&events);
            self.append(&counters);
            self.losses(&losses);
        }
    }

    /// Saves everything that is left, and counts in `run` what could not be written.
    pub(super) fn settle(&mut self, run: &mut Run) {
        self.write_waiting();
        self.recorder.release_reserve();
        self.complete_parts();
        let Some(trouble) = &self.trouble else { return };
        let _ = self.recorder.complete_parts(); // then what is on disk can be read
        let unsaved = self.handed_over.unsaved(self.recorder.dir());
        let count: u64 = unsaved.iter().map(|unsaved| unsaved.loss.count).sum();
        run.notes.push(format!("{count} rows could not be saved: {}", in_words(trouble)));
        unsaved.iter().for_each(|unsaved| unsaved.count_in(run));
        let saved = losses_in(self.recorder.dir());
        self.losses.extend(unsaved.into_iter().map(|unsaved| unsaved.loss));
        self.losses.retain(|loss| !saved.contains(loss));
        // If even these cannot be written, `run` has the numbers.
        let _ = self.recorder.append(&self.losses);
    }

    /// Closes the recording, after [`Store::settle`].
    ///
    /// # Errors
    /// Fails if the description of the run itself could not be written.
    pub(super) fn finish(self, run: &Run) -> Result<(), WriteError> {
        self.recorder.finish(run)
    }
}

/// Reads the losses that are on disk.
fn losses_in(dir: &Path) -> Vec<Loss> {
    let Ok(recording) = Recording::open(dir) else { return Vec::new() };
    recording.rows().map_while(Result::ok).flatten().collect()
}
