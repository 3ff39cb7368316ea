//! A part file of a table while it is being written.
//!
//! The row groups are encoded in memory and written one by one, and we write the footer ourselves. So a row
//! group that did not fit on the disk can be cut off and the part completed without it.

use crate::boundaries::Boundaries;
use crate::checksums::Sum;
use crate::columns::Encoder;
use crate::durable;
use crate::row::Row;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData, RowGroupMetaDataPtr,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::SchemaDescPtr;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A part is complete when it has this many bytes.
pub(crate) const PART_BYTES: u64 = 64 << 20;
/// A part is also complete when it has this many row groups, whose descriptions stay in memory until then.
pub(crate) const PART_GROUPS: usize = 1024;

const MAGIC: &[u8; 4] = b"PAR1";

/// Why a part could not be written.
pub enum PartError {
    /// The system's error.
    Io(io::Error),
    /// The rows could not be encoded.
    Encode(ParquetError),
}

impl From<io::Error> for PartError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ParquetError> for PartError {
    fn from(error: ParquetError) -> Self {
        Self::Encode(error)
    }
}

/// An open part file.
pub struct Part {
    file: File,
    path: PathBuf,
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    buffer: TrackedWrite<Vec<u8>>,
    groups: Vec<Group>,
}

/// A row group that is written, and the length of the file up to its end.
struct Group {
    metadata: RowGroupMetaData,
    end: u64,
    sum: Sha256,
}

/// The result of closing a part.
pub struct Closed {
    /// The checksum of the file.
    pub sum: Sum,
    /// Number of rows.
    pub rows: u64,
    /// Rows that were dropped to make space for the footer.
    pub dropped_rows: u64,
}

/// Returns the name of a part file.
pub(crate) fn part_name(index: usize) -> String {
    format!("part-{index:05}.parquet")
}

impl Part {
    /// Starts a part under a temporary name beside `path`.
    pub fn create<R: Row>(path: PathBuf) -> Result<Self, PartError> {
        let file = durable::create(&durable::temporary(&path))?;
        let mut buffer = TrackedWrite::new(Vec::new());
        buffer.write_all(MAGIC)?;
        let (schema, properties) = (R::TABLE.schema()?, R::TABLE.properties());
        Ok(Self { file, path, schema, properties, buffer, groups: Vec::new() })
    }

    /// Returns the final path of the part.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the part is large enough to be completed.
    fn is_large(&self) -> bool {
        self.end() >= PART_BYTES || self.groups.len() >= PART_GROUPS
    }

    /// Writes one row group into the open part, which `create` begins if there is none; returns whether the part is then
    /// large enough to be completed.
    pub(crate) fn append_to<R: Row>(
        open: &mut Option<Self>,
        create: impl FnOnce() -> Result<Self, PartError>,
        rows: &[R],
        boundaries: &Boundaries,
    ) -> Result<bool, PartError> {
        let part = match open {
            Some(part) => part,
            None => open.insert(create()?),
        };
        part.append(rows, boundaries)?;
        Ok(part.is_large())
    }

    /// Writes one row group. After an error the part can only be closed.
    pub fn append<R: Row>(&mut self, rows: &[R], boundaries: &Boundaries) -> Result<(), PartError> {
        let metadata = self.encode(rows, boundaries)?;
        self.buffer.flush()?;
        let bytes = self.buffer.inner_mut();
        let (end, mut sum) = match self.groups.last() {
            Some(group) => (group.end, group.sum.clone()),
            None => (0, Sha256::new()),
        };
        self.file.write_all(bytes)?;
        sum.update(&*bytes);
        let end = end + bytes.len() as u64;
        bytes.clear();
        self.groups.push(Group { metadata: RowGroupMetaData::clone(&metadata), end, sum });
        Ok(())
    }

    /// Encodes one row group into the buffer.
    fn encode<R: Row>(
        &mut self,
        rows: &[R],
        boundaries: &Boundaries,
    ) -> Result<RowGroupMetaDataPtr, ParquetError> {
        let group = SerializedRowGroupWriter::new(
            self.schema.clone(),
            self.properties.clone(),
            &mut self.buffer,
            i32::try_from(self.groups.len()).unwrap_or(i32::MAX),
            None,
        );
        let mut encoder = Encoder { group, boundaries };
        R::encode(rows, &mut encoder)?;
        encoder.group.close()
    }

    /// Writes the footer and renames the part; returns `None` if it has no rows.
    ///
    /// If there is no space for the footer, the last row groups are dropped to make room for it.
    pub fn close(mut self) -> Result<Option<Closed>, PartError> {
        let mut dropped_rows = 0;
        let temporary = durable::temporary(&self.path);
        loop {
            let Some(last) = self.groups.last() else {
                fs::remove_file(&temporary)?;
                return Ok(None);
            };
            let footer = self.footer()?;
            match self.finish_file(&footer) {
                Ok(()) => {
                    let sum = last.sum.clone().chain_update(&footer).finalize().into();
                    fs::rename(&temporary, &self.path)?;
                    return Ok(Some(Closed { sum, rows: self.rows(), dropped_rows }));
                }
                Err(error) if durable::is_full(&error) => {
                    let group = self.groups.pop();
                    dropped_rows += group.map_or(0, |group| rows_of(&group));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Truncates the file after the last complete row group and appends `footer`.
    fn finish_file(&self, footer: &[u8]) -> io::Result<()> {
        let mut file = &self.file;
        file.set_len(self.end())?;
        file.seek(SeekFrom::Start(self.end()))?;
        file.write_all(footer)?;
        file.sync_all()
    }

    fn footer(&self) -> Result<Vec<u8>, ParquetError> {
        let rows = i64::try_from(self.rows()).unwrap_or(i64::MAX);
        let created_by = self.properties.created_by().to_owned();
        let file = FileMetaData::new(1, rows, Some(created_by), None, self.schema.clone(), None);
        let groups = self.groups.iter().map(|group| group.metadata.clone()).collect();
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &ParquetMetaData::new(file, groups)).finish()?;
        Ok(footer)
    }

    fn end(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.end)
    }

    fn rows(&self) -> u64 {
        self.groups.iter().map(rows_of).sum()
    }
}

fn rows_of(group: &Group) -> u64 {
    group.metadata.num_rows().unsigned_abs()
}
