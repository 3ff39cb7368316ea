//! Encodes rows as the columns of one row group.

use crate::boundaries::Boundaries;
use parquet::data_type::{ByteArray, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use std::collections::HashMap;

/// Writes the columns of one row group, in the order of the table.
pub struct Encoder<'a> {
    pub(crate) group: SerializedRowGroupWriter<'a, Vec<u8>>,
    pub(crate) boundaries: &'a Boundaries,
}

type Result<T> = std::result::Result<T, ParquetError>;

impl Encoder<'_> {
    /// Writes a column without nulls.
    pub fn required<T: DataType>(&mut self, values: impl Iterator<Item = T::T>) -> Result<()> {
        self.put::<T>(&values.collect::<Vec<_>>(), None)
    }

    /// Writes a column that may have nulls.
    pub(crate) fn optional<T: DataType>(
        &mut self,
        values: impl Iterator<Item = Option<T::T>>,
    ) -> Result<()> {
        let mut present = Vec::new();
        let mut levels = Vec::new();
        for value in values {
            levels.push(i16::from(value.is_some()));
            present.extend(value);
        }
        self.put::<T>(&present, Some(&levels))
    }

    /// Writes a column of nanoseconds since the run's start, from ticks.
    pub fn ns(&mut self, ticks: impl Iterator<Item = u64>) -> Result<()> {
        let boundaries = self.boundaries;
        self.required::<Int64Type>(ticks.map(|ticks| boundaries.ns(ticks).cast_signed()))
    }

    fn put<T: DataType>(&mut self, values: &[T::T], levels: Option<&[i16]>) -> Result<()> {
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
