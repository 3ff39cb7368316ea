//! Writes a recording during the measurement.

use crate::boundaries::Boundaries;
use crate::checksums::{SUMS, Sums, sum_of};
use crate::durable;
use crate::error::WriteError;
use crate::part::{Part, PartError, part_name};
use crate::problem::{Problem, ProblemKind};
use crate::row::Row;
use crate::rows::Loss;
use crate::run::Run;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of the file that describes the run.
pub(crate) const RUN: &str = "run.json";
/// A file that reserves space for the end, so that `run.json` can record how the run ended even on a full
/// disk.
const RESERVE: &str = ".reserve";
const RESERVE_BYTES: usize = 1 << 20;
/// The last checksums are written into a file that has had this much space since the start.
const SUMS_BYTES: usize = 64 << 10;
/// The table of losses, whose directory exists from the start: it is needed most where the disk is full.
const LOSSES: &str = Loss::TABLE.name;
/// The largest number of rows in a row group.
pub(crate) const GROUP_ROWS: usize = 128 << 10;

/// A recording that is being written.
///
/// Rows become readable when their part is complete: after [`Recorder::complete_parts`], after 64 MiB, or at
/// the end. A kill does not damage complete parts.
pub struct Recorder {
    dir: PathBuf,
    /// Files with space for the last `run.json` and the last checksums.
    end: [File; 2],
    sums: Sums,
    tables: BTreeMap<&'static str, TableState>,
    /// The tick that the rows of each table, CPU and strand have reached.
    reached: HashMap<(&'static str, u32, u32), u64>,
    boundaries: Boundaries,
}

#[derive(Default)]
struct TableState {
    open: Option<Part>,
    next_part: usize,
    safe_rows: u64,
}

impl Recorder {
    /// Starts a recording in `dir`, which must be empty or not exist, with `run` as its `run.json`.
    ///
    /// `start_ticks` and the clock's frequency must be final, because the `_ns` columns are computed from
    /// them.
    ///
    /// # Errors
    /// Fails if it is not empty, has too little space, or cannot be created or written.
    pub fn create(dir: &Path, run: &Run) -> Result<Self, WriteError> {
        make_dir(dir)?;
        let end = begin(dir, run).inspect_err(|_| {
            // Removes what was begun, so that it does not fill the disk further.
            let [run, sums] = [RUN, SUMS].map(|name| durable::last(&dir.join(name)));
            let staged = [RUN, SUMS].map(|name| durable::temporary(&dir.join(name)));
            let begun = [dir.join(RESERVE), dir.join(SUMS), run, sums];
            for file in begun.into_iter().chain(staged) {
                let _ = fs::remove_file(file);
            }
            let _ = fs::remove_dir(dir.join(LOSSES));
        })?;
        Ok(Self {
            dir: dir.to_owned(),
            end,
            sums: Sums::default(),
            tables: BTreeMap::new(),
            reached: HashMap::new(),
            boundaries: Boundaries::new(&run.clock, run.start_ticks),
        })
    }

    /// Moves the start of a recording that has no rows yet to that of `run`.
    pub fn begin_at(&mut self, run: &Run) {
        self.boundaries = Boundaries::new(&run.clock, run.start_ticks);
    }

    /// Returns the directory of the recording.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the number of rows of a table in complete parts, which stay readable in any case.
    #[must_use]
    pub fn safe_rows<R: Row>(&self) -> u64 {
        self.tables.get(R::TABLE.name).map_or(0, |table| table.safe_rows)
    }

    /// Adds rows to their table as one row group, or as several for over 128 Ki rows or several CPUs.
    ///
    /// Each CPU's detours and events, and each series' samples, must come in time order.
    ///
    /// # Errors
    /// Adds nothing if the rows are not in order. After any other error the table's open part is complete with what had
    /// been added before. The recorder stays usable.
    pub fn append<R: Row>(&mut self, rows: &[R]) -> Result<(), WriteError> {
        let Some(first) = rows.first() else { return Ok(()) };
        let mut sorted = Vec::new();
        let mut rows = rows;
        if rows.iter().any(|row| row.cpu() != first.cpu()) {
            sorted.extend_from_slice(rows);
            sorted.sort_by_key(Row::cpu);
            rows = &sorted;
        }
        self.check_order(rows)?;
        let by_cpu = rows.chunk_by(|a, b| a.cpu() == b.cpu());
        by_cpu.flat_map(|rows| rows.chunks(GROUP_ROWS)).try_for_each(|rows| self.group(rows))
    }

    /// Completes all open parts, after which their rows are safe.
    ///
    /// # Errors
    /// Returns the first error; the other parts are complete nevertheless.
    pub fn complete_parts(&mut self) -> Result<(), WriteError> {
        self.close_parts().and(self.write_sums())
    }

    fn close_parts(&mut self) -> Result<(), WriteError> {
        let names: Vec<_> = self.tables.keys().copied().collect();
        let mut result = Ok(());
        for name in names {
            result = result.and(self.close_part(name));
        }
        result
    }

    /// Replaces `run.json` while the run goes on.
    ///
    /// # Errors
    /// Returns [`WriteError`]; the old one then stays.
    pub fn describe(&self, run: &Run) -> Result<(), WriteError> {
        durable::replace(&self.dir.join(RUN), &json(run))
    }

    /// Frees the space reserved for the end; after this, write only what the end of the run needs.
    pub fn release_reserve(&mut self) {
        let _ = fs::remove_file(self.dir.join(RESERVE)); // nothing depends on the file
    }

    /// Completes the recording, with `run` as its final `run.json`.
    ///
    /// # Errors
    /// Returns the first error; everything else is complete.
    pub fn finish(mut self, run: &Run) -> Result<(), WriteError> {
        self.release_reserve();
        let parts = self.close_parts();
        let _ = fs::remove_dir(self.dir.join(LOSSES)); // only if it is empty
        // In this order, a kill in between leaves a checksum that matches the staged file.
        let (file, sums, content) = (self.dir.join(RUN), self.dir.join(SUMS), json(run));
        let [run_file, sums_file] = &mut self.end;
        durable::stage_last(&file, run_file, &content)?;
        self.sums.insert(RUN.to_owned(), sum_of(&content));
        durable::stage_last(&sums, sums_file, self.sums.text().as_bytes())?;
        durable::publish(&sums)?;
        durable::publish(&file)?;
        parts
    }

    /// Checks that rows of one CPU and strand do not overlap earlier ones, and records where they end.
    fn check_order<R: Row>(&mut self, rows: &[R]) -> Result<(), WriteError> {
        let mut reached = HashMap::new();
        for rows in rows.chunk_by(|a, b| a.cpu() == b.cpu() && a.strand() == b.strand()) {
            let cpu = rows[0].cpu().unwrap_or_default();
            let key = (R::TABLE.name, cpu, rows[0].strand());
            let before = reached.get(&key).or_else(|| self.reached.get(&key));
            let mut after = before.copied().unwrap_or(0);
            verify_order(rows, &mut after)?;
            reached.insert(key, after);
        }
        self.reached.extend(reached);
        Ok(())
    }

    /// Writes one row group of one CPU.
    fn group<R: Row>(&mut self, rows: &[R]) -> Result<(), WriteError> {
        let table = self.tables.entry(R::TABLE.name).or_default();
        let path = self.dir.join(R::TABLE.name).join(part_name(table.next_part));
        let create = || {
            match durable::create_dir(&self.dir.join(R::TABLE.name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error.into());
                }
                _ => {}
            }
            Part::create::<R>(path.clone())
        };
        match Part::append_to(&mut table.open, create, rows, &self.boundaries) {
            Ok(false) => Ok(()),
            Ok(true) => self.close_part(R::TABLE.name).and(self.write_sums()),
            Err(error) => {
                // `Full::safe_rows` does not count what this cannot save.
                let _ = self.close_part(R::TABLE.name).and(self.write_sums());
                Err(failed(error, path, self.safe_rows::<R>()))
            }
        }
    }

    fn close_part(&mut self, name: &'static str) -> Result<(), WriteError> {
        let table = self.tables.entry(name).or_default();
        let Some(part) = table.open.take() else { return Ok(()) };
        let path = part.path().to_owned();
        let synced = |closed| {
            durable::sync_dir(&self.dir.join(name))?;
            Ok(closed)
        };
        match part.close().and_then(synced) {
            Ok(None) => Ok(()),
            Ok(Some(closed)) => {
                self.sums.insert(format!("{name}/{}", part_name(table.next_part)), closed.sum);
                table.next_part += 1;
                table.safe_rows += closed.rows;
                let full = || PartError::Io(io::ErrorKind::StorageFull.into());
                match closed.dropped_rows {
                    0 => Ok(()),
                    _ => Err(failed(full(), path, table.safe_rows)),
                }
            }
            Err(error) => Err(failed(error, path, table.safe_rows)),
        }
    }

    fn write_sums(&self) -> Result<(), WriteError> {
        durable::replace(&self.dir.join(SUMS), self.sums.text().as_bytes())
    }
}

/// Reserves space for the end and writes the first `run.json`. Returns the files for the last `run.json` and the last
/// checksums.
fn begin(dir: &Path, run: &Run) -> Result<[File; 2], WriteError> {
    let content = json(run);
    let run_bytes = 2 * content.len().next_multiple_of(4096);
    let bytes = RESERVE_BYTES + run_bytes + SUMS_BYTES + content.len();
    let kept = reserve_all(dir, run_bytes).map_err(|source| match durable::is_full(&source) {
        true => no_room(dir, bytes),
        false => WriteError::Other(Problem::cannot_write_to(dir, &source)),
    })?;
    // Checksums exist from the start too, so that the first ones need no new file.
    let begun = durable::replace(&dir.join(SUMS), b"")
        .and_then(|()| durable::replace(&dir.join(RUN), &content));
    begun.map(|()| kept).map_err(|error| match error {
        WriteError::Full { .. } => no_room(dir, bytes),
        error => error,
    })
}

/// Reserves space for rows at the end, and for the last `run.json` and the last checksums, whose files it returns.
fn reserve_all(dir: &Path, run_bytes: usize) -> io::Result<[File; 2]> {
    reserve(&dir.join(RESERVE), RESERVE_BYTES)?;
    durable::create_dir(&dir.join(LOSSES))?;
    let run = reserve(&durable::last(&dir.join(RUN)), run_bytes)?;
    Ok([run, reserve(&durable::last(&dir.join(SUMS)), SUMS_BYTES)?])
}

/// Makes a file of this length. It is written out instead of a sparse file, so that the blocks really exist.
fn reserve(file: &Path, bytes: usize) -> io::Result<File> {
    let mut file = durable::create(file)?;
    file.write_all(&vec![0x55; bytes]).map(|()| file)
}

fn no_room(dir: &Path, bytes: usize) -> WriteError {
    let (dir, kib) = (dir.display(), bytes.div_ceil(1024));
    let why = format!("no space left in {dir}: a recording needs at least {kib} KiB");
    ProblemKind::CannotWrite.problem(why, "free space, or use another directory").into()
}

/// Checks that spans do not run backwards and, if the table is ordered, that they follow `after`.
///
/// The error is the tick that is too early; `after` is then the tick that it must follow.
pub fn in_order<R: Row>(rows: &[R], after: &mut u64) -> Result<(), u64> {
    for (start, end) in rows.iter().map(Row::span) {
        if R::ORDERED && start < *after {
            return Err(start);
        }
        if end < start {
            *after = start;
            return Err(end);
        }
        *after = end;
    }
    Ok(())
}

/// Checks rows of one CPU like [`in_order`].
///
/// # Errors
/// Names the CPU and both ticks.
pub(crate) fn verify_order<R: Row>(rows: &[R], after: &mut u64) -> Result<(), Problem> {
    in_order(rows, after).map_err(|ticks| {
        let (table, cpu) = (R::TABLE.name, rows[0].cpu().unwrap_or_default());
        let why = format!(
            "rows of {table} on CPU {cpu} are out of order: \
             one at tick {ticks} after one that ended at {after}"
        );
        ProblemKind::CannotWrite.problem(why, "append each CPU's rows in time order")
    })
}

/// Converts the error of a part, adding how many rows of its table are safe.
pub fn failed(error: PartError, file: PathBuf, safe_rows: u64) -> WriteError {
    match error {
        PartError::Io(error) if durable::is_full(&error) => WriteError::Full { file, safe_rows },
        PartError::Io(source) => Problem::unwritable(&file, &source).into(),
        PartError::Encode(error) => {
            let why = format!("cannot encode {}: {error}", file.display());
            ProblemKind::CannotWrite.problem(why, "it is an error in anechoic: report it").into()
        }
    }
}

/// Formats the content of a JSON file.
pub fn json(value: &impl serde::Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("these types have only text keys");
    text.push(b'\n');
    text
}

fn make_dir(dir: &Path) -> Result<(), Problem> {
    let failed = |source| Problem::cannot_write_to(dir, &source);
    durable::create_own_dir(dir).map_err(failed)?;
    match fs::read_dir(dir).map_err(failed)?.next() {
        None => Ok(()),
        Some(_) => Err(Problem::not_empty(dir)),
    }
}
