//! The way to the disk: after the first failure nothing more is written, and what is dropped is counted.

use super::buffers::{Item, Lane};
use super::job::Lanes;
use anechoic_recording::run::Run;
use anechoic_recording::{Detour, Recorder, Row, Sample, WriteError};
use std::path::Path;

/// Rows of a loop that are written at once.
const BATCH: usize = 128 * 1024;

/// The recording while a run goes on.
pub(super) struct Store {
    recorder: Recorder,
    cpus: Vec<u32>,
    trouble: Option<WriteError>,
    dropped: u64,
}

impl Store {
    pub(super) fn new(recorder: Recorder, cpus: &[u32]) -> Self {
        Store { recorder, cpus: cpus.to_vec(), trouble: None, dropped: 0 }
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
        if self.trouble.is_none() {
            self.trouble = self.recorder.append(rows).err();
        }
        if self.trouble.is_some() {
            self.dropped += rows.len() as u64;
        }
    }

    /// Writes all that a loop's lanes hold filled.
    pub(super) fn take(&mut self, lanes: &Lanes<'_>) {
        let cpu = lanes.place.cpu().unwrap_or(0);
        self.rows(&lanes.gaps, |_, gap| Detour { cpu, start_ticks: gap.start, end_ticks: gap.end });
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
        while lane.take(&mut rows, &row) {
            if rows.len() >= BATCH {
                self.append(&rows);
                rows.clear();
            }
        }
        self.append(&rows);
    }

    /// Makes safe what was written so far.
    pub(super) fn complete_parts(&mut self) {
        if self.trouble.is_none() {
            self.trouble = self.recorder.complete_parts().err();
        }
    }

    /// Closes the recording.
    ///
    /// # Errors
    /// The description of the run itself could not be written.
    pub(super) fn finish(self, run: &mut Run) -> Result<(), WriteError> {
        if let Some(trouble) = &self.trouble {
            run.notes.push(format!("{} rows could not be saved: {trouble}", self.dropped));
        }
        self.recorder.finish(run)
    }
}
