//! Rows into the columns of one row group.

use crate::boundaries::Boundaries;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use std::collections::HashMap;

/// Takes the columns of one row group, in the order of the table.
pub struct Encoder<'a> {
    pub(crate) group: SerializedRowGroupWriter<'a, Vec<u8>>,
    pub(crate) boundaries: &'a Boundaries,
}

type Result<T> = std::result::Result<T, ParquetError>;

impl Encoder<'_> {
    /// A column of unsigned 64-bit numbers.
    pub fn u64(&mut self, values: impl Iterator<Item = u64>) -> Result<()> {
        self.put::<Int64Type>(&values.map(u64::cast_signed).collect::<Vec<_>>(), None)
    }

    /// A column of nanoseconds since the run's start, from ticks.
    pub fn ns(&mut self, ticks: impl Iterator<Item = u64>) -> Result<()> {
        let boundaries = self.boundaries;
        self.u64(ticks.map(|ticks| boundaries.ns(ticks)))
    }

    /// A column of unsigned numbers of 32 bits or fewer.
    pub fn u32(&mut self, values: impl Iterator<Item = u32>) -> Result<()> {
        self.i32(values.map(u32::cast_signed))
    }

    /// A column of signed numbers.
    pub fn i32(&mut self, values: impl Iterator<Item = i32>) -> Result<()> {
        self.put::<Int32Type>(&values.collect::<Vec<_>>(), None)
    }

    /// A column of text.
    pub fn text<'t>(&mut self, values: impl Iterator<Item = &'t str>) -> Result<()> {
        let mut texts = Texts::default();
        self.put::<ByteArrayType>(&values.map(|text| texts.get(text)).collect::<Vec<_>>(), None)
    }

    /// A column of unsigned 64-bit numbers that can be null.
    pub fn optional_u64(&mut self, values: impl Iterator<Item = Option<u64>>) -> Result<()> {
        self.optional::<Int64Type>(values.map(|value| value.map(u64::cast_signed)))
    }

    /// A column of unsigned 32-bit numbers that can be null.
    pub fn optional_u32(&mut self, values: impl Iterator<Item = Option<u32>>) -> Result<()> {
        self.optional::<Int32Type>(values.map(|value| value.map(u32::cast_signed)))
    }

    /// A column of text that can be null.
    pub fn optional_text<'t>(
        &mut self,
        values: impl Iterator<Item = Option<&'t str>>,
    ) -> Result<()> {
        let mut texts = Texts::default();
        self.optional::<ByteArrayType>(values.map(|value| value.map(|text| texts.get(text))))
    }

    fn optional<T: DataType>(&mut self, values: impl Iterator<Item = Option<T::T>>) -> Result<()> {
        let mut present = Vec::new();
        let mut levels = Vec::new();
        for value in values {
            levels.push(i16::from(value.is_some()));
            present.extend(value);
        }
        self.put::<T>(&present, Some(&levels))
    }

    fn put<T: DataType>(&mut self, values: &[T::T], levels: Option<&[i16]>) -> Result<()> {
        let column = self.group.next_column()?;
        let mut column = column
            .ok_or_else(|| ParquetError::General("more columns than the table has".into()))?;
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()
    }
}

/// One copy of each text in a row group: the encoder wants its values owned.
#[derive(Default)]
struct Texts<'t>(HashMap<&'t str, ByteArray>);

impl<'t> Texts<'t> {
    fn get(&mut self, text: &'t str) -> ByteArray {
        self.0.entry(text).or_insert_with(|| ByteArray::from(text)).clone()
    }
}
