//! Reads the rows of a table, one row group at a time.

use crate::columns::{Decoder, cpu_of};
use crate::guard::guarded;
use crate::opened::Part;
use crate::part_file::PartFile;
use crate::problem::Problem;
use crate::recorder::in_order;
use crate::recording::Recording;
use crate::row::{CpuRow, Row};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

/// Iterates over a table: see [`Recording::rows`] and [`Recording::rows_of_cpu`].
pub struct Rows<'a, R> {
    recording: &'a Recording,
    cpu: Option<u32>,
    /// The parts that are not opened yet; `None` before they were listed.
    parts: Option<VecDeque<PathBuf>>,
    open: Option<OpenPart>,
    /// The tick that the rows of each CPU and strand have reached.
    reached: Reached,
    failed: bool,
    row: PhantomData<R>,
}

/// The tick that the rows have reached, by CPU and strand.
type Reached = HashMap<(Option<u32>, u32), u64>;

/// The largest number of strands that are followed in one table, more than any measurement has.
const MOST_STRANDS: usize = 1 << 20;

struct OpenPart {
    part: Arc<Part>,
    next_group: usize,
}

impl Recording {
    /// Reads all rows of a table, one row group per item, in file order. A missing table has no rows.
    ///
    /// An item is an error if a file is damaged; it is then the last.
    #[must_use]
    pub fn rows<R: Row>(&self) -> Rows<'_, R> {
        Rows::new(self, None)
    }

    /// Reads the rows of one CPU, one row group per item, in time order.
    ///
    /// An item is an error if a file is damaged; it is then the last.
    #[must_use]
    pub fn rows_of_cpu<R: CpuRow>(&self, cpu: u32) -> Rows<'_, R> {
        Rows::new(self, Some(cpu))
    }
}

impl<'a, R: Row> Rows<'a, R> {
    fn new(recording: &'a Recording, cpu: Option<u32>) -> Self {
        let (parts, open, reached) = (None, None, HashMap::new());
        Self { recording, cpu, parts, open, reached, failed: false, row: PhantomData }
    }

    /// Returns the rows one by one; an error is the last.
    pub fn each(self) -> impl Iterator<Item = Result<R, Problem>> + use<'a, R> {
        self.flat_map(|group| {
            let (rows, error) = match group {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().map(Ok).chain(error)
        })
    }

    fn next_rows(&mut self) -> Result<Option<Vec<R>>, Problem> {
        loop {
            let Some(open) = &mut self.open else {
                match self.next_part()? {
                    Some(part) => self.open = Some(OpenPart { part, next_group: 0 }),
                    None => return Ok(None),
                }
                continue;
            };
            match guarded(|| open.next_group::<R>(self.cpu)).flatten() {
                Ok(None) => self.open = None,
                Ok(Some(rows)) => {
                    let checked = check(&rows, &mut self.reached);
                    checked.map_err(|why| Problem::damaged(&open.part.path, why))?;
                    if !rows.is_empty() {
                        return Ok(Some(rows));
                    }
                }
                Err(why) => return Err(Problem::damaged(&open.part.path, why)),
            }
        }
    }

    /// Opens the next part, or takes it from a reader that did.
    fn next_part(&mut self) -> Result<Option<Arc<Part>>, Problem> {
        let table = R::TABLE.name;
        let parts = match &mut self.parts {
            Some(parts) => parts,
            None => self.parts.insert(self.recording.parts(table)?.into()),
        };
        let Some(path) = parts.pop_front() else { return Ok(None) };
        let opened = self.recording.opened();
        if let Some(part) = opened.as_ref().and_then(|opened| opened.part(table, &path)) {
            return Ok(Some(part));
        }
        let part = Arc::new(self.recording.open_part(path)?);
        opened.inspect(|opened| opened.keep(table, &part));
        Ok(Some(part))
    }
}

impl Recording {
    /// Opens a part after verifying its checksum.
    fn open_part(&self, path: PathBuf) -> Result<Part, Problem> {
        let failed = |source: std::io::Error| Problem::unreadable(&path, &source);
        if !path.is_file() {
            return Err(Problem::damaged(&path, "it is not a file"));
        }
        self.verify_file(&path)?;
        let file = File::open(&path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let file = Arc::new(PartFile::new(file, bytes));
        let read = || ParquetMetaDataReader::new().parse_and_finish(&*file).map_err(in_words);
        let metadata = guarded(read).flatten().map_err(|why| Problem::damaged(&path, why))?;
        let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
        match columns.map(|column| column.compression()).find(|codec| !is_read(*codec)) {
            Some(codec) => Err(Problem::codec(&path, codec)),
            None => Ok(Part { path, file, metadata }),
        }
    }
}

impl<R: Row> Iterator for Rows<'_, R> {
    type Item = Result<Vec<R>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.next_rows();
        self.failed = next.is_err();
        next.transpose()
    }
}

/// Returns whether columns of this codec can be read.
fn is_read(codec: Compression) -> bool {
    matches!(codec, Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_))
}

impl OpenPart {
    /// Returns the rows of the next row group that has some of `cpu`; `None` at the end of the part.
    fn next_group<R: Row>(&mut self, cpu: Option<u32>) -> Result<Option<Vec<R>>, String> {
        let groups = self.part.metadata.row_groups();
        let has_other_cpu =
            |group: &_| cpu.is_some() && cpu_of(group).is_some_and(|c| Some(c) != cpu);
        while groups.get(self.next_group).is_some_and(has_other_cpu) {
            self.next_group += 1;
        }
        if self.next_group >= groups.len() {
            return Ok(None);
        }
        let group = &groups[self.next_group];
        self.next_group += 1;
        let mut decoder = Decoder::new(&self.part.file, group)?;
        let mut rows = R::decode(&mut decoder)?;
        if cpu.is_some() {
            rows.retain(|row| row.cpu() == cpu);
        }
        Ok(Some(rows))
    }
}

/// Checks that spans do not run backwards and that the rows of an ordered table do not overlap; calculations
/// rely on it.
fn check<R: Row>(rows: &[R], reached: &mut Reached) -> Result<(), String> {
    for rows in rows.chunk_by(|a, b| a.cpu() == b.cpu() && a.strand() == b.strand()) {
        if reached.len() >= MOST_STRANDS {
            return Err(format!("it has more than {MOST_STRANDS} series"));
        }
        let after = reached.entry((rows[0].cpu(), rows[0].strand())).or_default();
        in_order(rows, after).map_err(|tick| format!("tick {tick} is out of order"))?;
    }
    Ok(())
}

fn in_words(error: ParquetError) -> String {
    error.to_string()
}
