//! The tables: their names and columns, and how Parquet stores each column.

use crate::field::{Field, Kind};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::types::{ColumnPath, SchemaDescPtr, SchemaDescriptor, Type};
use std::sync::Arc;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name; the unit stands last.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Whether it may have nulls.
    pub optional: bool,
    /// Whether files have it; otherwise it is only computed for readers of text.
    pub stored: bool,
}

/// One table.
#[derive(Debug)]
pub struct Table {
    /// The name of the table and of its directory.
    pub name: &'static str,
    /// Whether it is measured; otherwise it is derived from measured tables.
    pub measured: bool,
    /// The columns in order, grouped by the fields of the row.
    pub fields: &'static [&'static [Column]],
}

impl Column {
    /// Returns the column of a field.
    pub(crate) const fn new<F: Field>(name: &'static str) -> Self {
        Self { name, kind: F::KIND, optional: F::OPTIONAL, stored: true }
    }

    /// Marks the column's numbers as mostly increasing.
    pub(crate) const fn rising(self) -> Self {
        Self { kind: Kind::Rising, ..self }
    }

    /// Marks the column as one that no file has.
    pub(crate) const fn not_stored(self) -> Self {
        Self { stored: false, ..self }
    }

    /// Returns the type that Parquet stores.
    fn physical(&self) -> Physical {
        match self.kind {
            Kind::Rising | Kind::U64 => Physical::INT64,
            Kind::U32 | Kind::U16 | Kind::I32 => Physical::INT32,
            Kind::Text => Physical::BYTE_ARRAY,
        }
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let logical = match self.kind {
            Kind::Rising | Kind::U64 => LogicalType::integer(64, false),
            Kind::U32 => LogicalType::integer(32, false),
            Kind::U16 => LogicalType::integer(16, false),
            Kind::I32 => LogicalType::integer(32, true),
            Kind::Text => LogicalType::String,
        };
        let repetition = if self.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(self.name, self.physical())
            .with_repetition(repetition)
            .with_logical_type(Some(logical))
            .build()
    }
}

impl Table {
    /// Returns the columns that files have, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.shown_columns().filter(|column| column.stored)
    }

    /// Returns the columns of [`crate::Row::cells`]: those that files have, and those that are computed from them.
    pub fn shown_columns(&self) -> impl Iterator<Item = &'static Column> {
        self.fields.iter().copied().flatten()
    }

    pub(crate) fn schema(&self) -> Result<SchemaDescPtr, ParquetError> {
        let fields = self.columns().map(|column| column.schema().map(Arc::new));
        let root = Type::group_type_builder(self.name)
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        Ok(Arc::new(SchemaDescriptor::new(Arc::new(root))))
    }

    /// Encodes rising columns as packed differences and all others by dictionary, with statistics per row
    /// group only.
    pub(crate) fn properties(&self) -> WriterPropertiesPtr {
        let level = ZstdLevel::try_new(1).expect("1 is a zstd level");
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("anechoic ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(level))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_write_batch_size(8192);
        for column in self.columns().filter(|column| column.kind == Kind::Rising) {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        Arc::new(properties.build())
    }
}
