//! The way to the disk: after the first failure nothing more is written, and what is dropped is a loss.

use super::unsaved::Counted;
use crate::timed::buffers::{Item, Lane};
use crate::timed::sinks::Lanes;
use anechoic_kernels::detour::Gap;
use anechoic_recording::run::Run;
use anechoic_recording::{
    Detour, KernelEvent, Loss, News, Recorder, Recording, Row, Sample, WriteError,
};
use anechoic_system::tracefs::Batch;
use std::path::Path;

/// Rows that are written at once.
const BATCH: usize = 128 * 1024;

/// The recording while a run goes on.
pub(super) struct Store {
    recorder: Recorder,
    cpus: Vec<u32>,
    trouble: Option<WriteError>,
    /// All rows that were handed over, saved or not.
    handed_over: Counted,
    /// Losses that may not be on the disk yet: they must be told where nothing else can be.
    losses: Vec<Loss>,
    /// What came since the last look, where somebody watches.
    news: Option<News>,
    /// Events that wait for more of them: whoever watches takes a few at a time.
    waiting: Vec<KernelEvent>,
}

impl Store {
    /// For measured CPUs; `watched` keeps what comes for [`Store::news`], too.
    pub(super) fn new(recorder: Recorder, cpus: &[u32], watched: bool) -> Self {
        let news = watched.then(News::default);
        let cpus = cpus.to_vec();
        let (handed_over, losses) = (Counted::default(), Vec::new());
        Store { recorder, cpus, trouble: None, handed_over, losses, news, waiting: Vec::new() }
    }

    /// Where the recording lies.
    pub(super) fn dir(&self) -> &Path {
        self.recorder.dir()
    }

    /// The measured CPUs.
    pub(super) fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Why nothing more is written, if that is so.
    pub(super) fn trouble(&self) -> Option<&WriteError> {
        self.trouble.as_ref()
    }

    /// Writes rows of one table, each CPU's in the order of time.
    pub(super) fn append<R: Row>(&mut self, rows: &[R]) {
        self.handed_over.add(rows);
        if self.trouble.is_none() {
            self.trouble = self.recorder.append(rows).err();
        }
    }

    /// Writes intervals of loss.
    pub(super) fn losses(&mut self, losses: &[Loss]) {
        self.append(losses);
        self.losses.extend_from_slice(losses);
    }

    /// Writes all that a loop's lanes hold filled.
    pub(super) fn take(&mut self, lanes: &Lanes<'_>) {
        let cpu = lanes.place.cpu().unwrap_or(0);
        let detour = |_, gap: &Gap| Detour { cpu, start_ticks: gap.start, end_ticks: gap.end };
        match self.news.take() {
            None => self.rows(&lanes.gaps, detour),
            Some(mut news) => {
                self.shown(&lanes.gaps, &mut news.detours, detour);
                self.news = Some(news);
            }
        }
        if let Some(samples) = &lanes.samples {
            self.rows(samples, |series, taken| Sample {
                series,
                index: taken.index,
                cpu: taken.cpu,
                start_ticks: taken.start,
                end_ticks: taken.end,
                count: taken.count.into(),
            });
        }
    }

    fn rows<T: Item, R: Row>(&mut self, lane: &Lane<'_, T>, row: impl Fn(u32, &T) -> R) {
        let mut rows = Vec::new();
        while lane.take(&mut rows, &row).is_some() {
            if rows.len() >= BATCH {
                self.append(&rows);
                rows.clear();
            }
        }
        self.append(&rows);
    }

    /// Writes what the kernel told of one CPU.
    pub(super) fn batch(&mut self, batch: Batch) {
        self.append(&batch.names);
        self.losses(&batch.losses);
        let Some(news) = &mut self.news else { return self.append(&batch.events) };
        news.events.extend_from_slice(&batch.events);
        news.names.extend(batch.names);
        news.losses.extend(batch.losses);
        self.waiting.extend(batch.events);
        if self.waiting.len() >= BATCH {
            self.write_waiting();
        }
    }

    fn write_waiting(&mut self) {
        let events = std::mem::take(&mut self.waiting);
        self.append(&events);
    }

    /// What came since this was called last; absent where nobody watches.
    pub(super) fn news(&mut self) -> Option<News> {
        self.news.as_mut().map(std::mem::take)
    }

    /// Writes what a loop handed over; `news` gets that and what it holds, less what it got before.
    fn shown<T: Item, R: Row>(
        &mut self,
        lane: &Lane<'_, T>,
        news: &mut Vec<R>,
        row: impl Fn(u32, &T) -> R,
    ) {
        let mut rows = Vec::new();
        loop {
            while let Some(shown) = lane.take(&mut rows, &row) {
                news.extend_from_slice(&rows[shown..]);
                self.append(&rows);
                rows.clear();
            }
            if lane.look(news, &row) {
                return;
            }
        }
    }

    /// Makes safe what was written so far.
    pub(super) fn complete_parts(&mut self) {
        self.write_waiting();
        if self.trouble.is_none() {
            self.trouble = self.recorder.complete_parts().err();
        }
        if self.trouble.is_none() {
            self.losses.clear();
        }
    }

    /// Makes safe all that there was to save, and counts in `run` what did not find room.
    pub(super) fn settle(&mut self, run: &mut Run) {
        self.write_waiting();
        self.recorder.release_reserve();
        self.complete_parts();
        let Some(trouble) = &self.trouble else { return };
        let _ = self.recorder.complete_parts(); // what is on the disk can be read then
        let unsaved = self.handed_over.unsaved(self.recorder.dir());
        let count: u64 = unsaved.iter().map(|unsaved| unsaved.loss().count).sum();
        run.notes.push(format!("{count} rows could not be saved: {trouble}"));
        unsaved.iter().for_each(|unsaved| unsaved.count_in(run));
        let saved = losses_in(self.recorder.dir());
        self.losses.extend(unsaved.into_iter().map(|unsaved| unsaved.loss().clone()));
        self.losses.retain(|loss| !saved.contains(loss));
        // Where even these find no room, `run` has the numbers.
        let _ = self.recorder.append(&self.losses);
    }

    /// Closes the recording, after [`Store::settle`].
    ///
    /// # Errors
    /// The description of the run itself could not be written.
    pub(super) fn finish(self, run: &Run) -> Result<(), WriteError> {
        self.recorder.finish(run)
    }
}

/// The losses that are on the disk.
fn losses_in(dir: &Path) -> Vec<Loss> {
    let Ok(recording) = Recording::open(dir) else { return Vec::new() };
    recording.rows().map_while(Result::ok).flatten().collect()
}
