//! Call stacks of a recorded program, while it runs.

use super::plan::Plan;
use super::store::Store;
use anechoic_kernels::counter;
use anechoic_recording::run::Run;
use anechoic_recording::{ProblemKind, in_words};
use anechoic_system::stacks::StackReader;
use anechoic_system::tracefs::{Config, TraceError};
use std::time::{Duration, Instant};

/// The part of the usual buffers that stacks get.
const BUFFER_PART: u64 = 2;

/// The stacks of a run.
pub(super) struct Stacks {
    reader: Option<StackReader>,
    /// Time between two lookups of names. Absent if only the last part of the run is kept: each part then has its own.
    name_every: Option<Duration>,
    named: Instant,
}

impl Stacks {
    pub(super) fn new(plan: &Plan) -> Self {
        let name_every = plan.keep.is_none().then_some(plan.save_every);
        Self { reader: None, name_every, named: Instant::now() }
    }

    /// Begins to record the stacks of this thread, and of the threads that it starts.
    pub(super) fn start(&mut self, config: Config, thread: i32) -> Result<(), TraceError> {
        let buffer_kb = config.buffer_kb / BUFFER_PART;
        let config = Config { buffer_kb, stacks: Some(thread), ..config };
        self.reader = Some(StackReader::start(config, counter::ordered())?);
        Ok(())
    }

    /// Records the stacks of these threads too.
    pub(super) fn follow(&mut self, threads: &[i32]) -> Result<(), TraceError> {
        self.reader.as_ref().map_or(Ok(()), |reader| reader.follow(threads))
    }

    /// Writes all stacks so far.
    pub(super) fn read(&mut self, run: &mut Run, store: &mut Store) {
        self.read_rows(false, run, store);
        if self.name_every.is_some_and(|every| self.named.elapsed() >= every) {
            self.write_names(run, store);
            self.named = Instant::now();
        }
    }

    /// Names the stacks so far, so that those that follow need none of these names.
    pub(super) fn begin_part(&mut self, run: &mut Run, store: &mut Store) {
        self.write_names(run, store);
    }

    /// Writes the last stacks, and the names of all that have none.
    pub(super) fn finish(mut self, run: &mut Run, store: &mut Store) {
        self.read_rows(true, run, store);
        self.write_names(run, store);
        if let Some(reader) = &self.reader {
            run.notes.extend(reader.notes());
        }
    }

    fn read_rows(&mut self, end: bool, run: &mut Run, store: &mut Store) {
        let Some(reader) = &mut self.reader else { return };
        let (rows, read) = reader.read(end);
        store.append(&rows);
        if let Err(error) = read {
            let note = format!("some call stacks could not be read: {}", in_words(&error));
            if !run.notes.contains(&note) {
                run.notes.push(note);
            }
        }
    }

    fn write_names(&mut self, run: &mut Run, store: &mut Store) {
        let Some(reader) = &mut self.reader else { return };
        let (names, found) = reader.names();
        store.append(&names);
        let what = "functions of the kernel in call stacks";
        if let Err(problem) = found
            && !run.not_available.iter().any(|missing| missing.what == what)
        {
            let problem = ProblemKind::Unavailable.problem(problem.why, problem.remedy);
            run.not_available.push(problem.not_available(what));
        }
    }
}
