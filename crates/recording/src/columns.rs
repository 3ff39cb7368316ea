//! The columns of one row group: rows are encoded to them and decoded from them.

use crate::boundaries::Boundaries;
use crate::inflated::Inflated;
use crate::pages;
use crate::part_file::PartFile;
use parquet::basic::Type as Physical;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use std::collections::HashMap;
use std::sync::Arc;

/// More rows than a row group can have, so that a damaged file cannot cause unbounded allocation.
pub(crate) const MAX_GROUP_ROWS: usize = 1 << 20;

/// More bytes than a column of a row group has.
const MOST_COLUMN: u64 = 128 << 20;

type Result<T, E = String> = std::result::Result<T, E>;

/// Writes the columns of one row group, in the order of the table.
pub struct Encoder<'a> {
    pub(crate) group: SerializedRowGroupWriter<'a, Vec<u8>>,
    pub(crate) boundaries: &'a Boundaries,
}

impl Encoder<'_> {
    /// Writes a column without nulls.
    pub fn required<T: DataType>(
        &mut self,
        values: impl Iterator<Item = T::T>,
    ) -> Result<(), ParquetError> {
        self.put::<T>(&values.collect::<Vec<_>>(), None)
    }

    /// Writes a column that may have nulls.
    pub(crate) fn optional<T: DataType>(
        &mut self,
        values: impl Iterator<Item = Option<T::T>>,
    ) -> Result<(), ParquetError> {
        let mut present = Vec::new();
        let mut levels = Vec::new();
        for value in values {
            levels.push(i16::from(value.is_some()));
            present.extend(value);
        }
        self.put::<T>(&present, Some(&levels))
    }

    /// Writes a column of nanoseconds since the run's start, from ticks.
    pub fn since_start(&mut self, ticks: impl Iterator<Item = u64>) -> Result<(), ParquetError> {
        let boundaries = self.boundaries;
        self.required::<Int64Type>(ticks.map(|ticks| boundaries.since_start(ticks).cast_signed()))
    }

    /// Writes a column of lengths in nanoseconds, from ticks.
    pub fn length(&mut self, ticks: impl Iterator<Item = u64>) -> Result<(), ParquetError> {
        let boundaries = self.boundaries;
        self.required::<Int64Type>(ticks.map(|ticks| boundaries.length(ticks).cast_signed()))
    }

    fn put<T: DataType>(
        &mut self,
        values: &[T::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let column = self.group.next_column()?;
        let mut column = column
            .ok_or_else(|| ParquetError::General("more columns than the table has".into()))?;
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()
    }
}

/// Keeps one copy of each text in a row group, because the encoder needs owned values.
#[derive(Default)]
pub(crate) struct Copies<'t>(HashMap<&'t str, ByteArray>);

impl<'t> Copies<'t> {
    /// Returns the copy of `text`.
    pub fn get(&mut self, text: &'t str) -> ByteArray {
        self.0.entry(text).or_insert_with(|| ByteArray::from(text)).clone()
    }
}

/// Reads the columns of one row group by name. Errors are descriptions of what is wrong with the file.
pub struct Decoder<'a> {
    file: &'a Arc<PartFile>,
    group: &'a RowGroupMetaData,
    rows: usize,
    /// The sizes of the pages of each column, when decompressed.
    sizes: Vec<Vec<usize>>,
}

impl<'a> Decoder<'a> {
    /// Opens a row group of a file.
    pub(crate) fn new(file: &'a Arc<PartFile>, group: &'a RowGroupMetaData) -> Result<Self> {
        let rows = usize::try_from(group.num_rows()).ok().filter(|&n| n <= MAX_GROUP_ROWS);
        let rows = rows.ok_or_else(|| format!("a row group of {} rows", group.num_rows()))?;
        let mut sizes = vec![];
        for chunk in group.columns() {
            let (start, bytes) = chunk.byte_range();
            if start.checked_add(bytes).is_none_or(|end| end > file.len()) {
                return Err(format!("column {} ends beyond the file", chunk.column_path()));
            }
            if bytes > MOST_COLUMN {
                return Err(format!("a column of {bytes} bytes"));
            }
            let bytes = file.get_bytes(start, bytes as usize).map_err(|error| error.to_string())?;
            sizes.push(pages::sizes(&bytes)?);
        }
        Ok(Self { file, group, rows, sizes })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns whether it has a column of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let mut columns = self.group.columns().iter();
        columns.any(|chunk| chunk.column_path().parts() == [name])
    }

    /// Reads a column without nulls: one value per row.
    pub fn required<T: DataType>(&mut self, name: &str) -> Result<Vec<T::T>> {
        Ok(self.read::<T>(name, false)?.0)
    }

    /// Reads a column that may have nulls: one item per row. One that older versions did not write has only nulls.
    pub(crate) fn optional<T: DataType>(
        &mut self,
        name: &str,
    ) -> Result<impl Iterator<Item = Option<T::T>> + use<T>> {
        let (values, levels) = match self.has(name) {
            true => self.read::<T>(name, true)?,
            false => (vec![], vec![0; self.rows]),
        };
        let mut values = values.into_iter();
        Ok(levels.into_iter().map(move |level| if level > 0 { values.next() } else { None }))
    }

    /// Reads all values that are present and one definition level per row, which is 0 for a null.
    fn read<T: DataType>(&mut self, name: &str, optional: bool) -> Result<(Vec<T::T>, Vec<i16>)> {
        let index = find(self.group, name, T::get_physical_type())?;
        let bad = |error: ParquetError| format!("column {name}: {error}");
        let column = self.group.column(index);
        let pages =
            Inflated::open(self.file, column, self.rows, self.sizes[index].clone()).map_err(bad)?;
        let described = column.column_descr_ptr();
        // Other programs let every column have nulls, or none.
        let nullable = described.max_def_level() > 0;
        let mut reader = ColumnReaderImpl::<T>::new(described, Box::new(pages));
        let (mut values, mut levels) = (Vec::with_capacity(self.rows), Vec::new());
        let (rows, ..) = reader
            .read_records(self.rows, nullable.then_some(&mut levels), None, &mut values)
            .map_err(bad)?;
        if !nullable {
            levels.resize(values.len(), 1);
        }
        if !optional && values.len() < levels.len() {
            return Err(format!("column {name} has nulls"));
        }
        let whole = levels.len() == rows;
        if rows != self.rows || !whole {
            return Err(format!(
                "column {name} has {rows} rows, but the row group has {}",
                self.rows
            ));
        }
        Ok((values, levels))
    }
}

/// Finds a column and checks that it is stored as the format specifies.
fn find(group: &RowGroupMetaData, name: &str, physical: Physical) -> Result<usize> {
    let mut stored = group.columns().iter().map(|chunk| chunk.column_descr());
    let index = stored.position(|stored| stored.path().parts() == [name]);
    let index = index.ok_or_else(|| format!("it has no column {name}"))?;
    let stored = group.column(index).column_descr();
    let is_flat = stored.max_def_level() <= 1 && stored.max_rep_level() == 0;
    if stored.physical_type() != physical || !is_flat {
        return Err(format!("column {name} has the wrong type"));
    }
    Ok(index)
}

/// Returns the CPU of all rows in a row group, if its statistics have only one.
pub(crate) fn cpu_of(group: &RowGroupMetaData) -> Option<u32> {
    let mut chunks = group.columns().iter();
    let chunk = chunks.find(|chunk| chunk.column_path().parts() == ["cpu"])?;
    match chunk.statistics()? {
        Statistics::Int32(cpu) if cpu.min_opt() == cpu.max_opt() => {
            cpu.min_opt().copied().map(i32::cast_unsigned)
        }
        _ => None,
    }
}

/// More bytes than any text of a recording has: a name, or the parameters of a series.
const MOST_TEXT: usize = 8 << 10;

/// Shares one `Arc` for each distinct text of a row group.
#[derive(Default)]
pub(crate) struct Texts {
    known: HashMap<Box<[u8]>, Arc<str>>,
    /// Texts by the address of their bytes, because equal texts of one dictionary share their bytes. Keeping
    /// the bytes prevents reuse of the address.
    by_place: Vec<Option<(ByteArray, Arc<str>)>>,
}

impl Texts {
    /// Number of addresses that are remembered.
    const PLACES: usize = 1 << 10;

    /// Returns the text of `bytes`; fails if they are not UTF-8, or too many.
    pub fn get(&mut self, bytes: &ByteArray) -> Result<Arc<str>> {
        let data = bytes.data();
        if data.len() > MOST_TEXT {
            return Err(format!("a text of {} bytes", data.len()));
        }
        self.by_place.resize(Self::PLACES, None);
        let slot = (data.as_ptr().addr() / 4 + data.len()) % Self::PLACES;
        if let Some((known, text)) = &self.by_place[slot]
            && std::ptr::eq(known.data(), data)
        {
            return Ok(Arc::clone(text));
        }
        let text = match self.known.get(data) {
            Some(text) => Arc::clone(text),
            None => {
                let text = std::str::from_utf8(data).map_err(|e| format!("text: {e}"))?;
                let text: Arc<str> = Arc::from(text);
                self.known.insert(data.into(), Arc::clone(&text));
                text
            }
        };
        self.by_place[slot] = Some((bytes.clone(), Arc::clone(&text)));
        Ok(text)
    }
}
