//! The way to the disk: after the first failure nothing more is written, and what is dropped is counted.

use super::buffers::Lane;
use anechoic_recording::run::Run;
use anechoic_recording::{Detour, Recorder, Row, WriteError};

/// Detours that are written at once.
const BATCH: usize = 128 * 1024;

/// The recording while a run goes on.
pub(super) struct Store {
    recorder: Recorder,
    cpus: Vec<u32>,
    rows: Vec<Detour>,
    trouble: Option<WriteError>,
    dropped: u64,
}

impl Store {
    pub(super) fn new(recorder: Recorder, cpus: &[u32]) -> Self {
        Store { recorder, cpus: cpus.to_vec(), rows: Vec::new(), trouble: None, dropped: 0 }
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

    /// Writes all gaps that a lane holds filled.
    pub(super) fn detours(&mut self, lane: &Lane<'_>) {
        let mut rows = std::mem::take(&mut self.rows);
        while lane.take(&mut rows) {
            if rows.len() >= BATCH {
                self.append(&rows);
                rows.clear();
            }
        }
        self.append(&rows);
        rows.clear();
        self.rows = rows;
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
