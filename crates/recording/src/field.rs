//! The Rust types that a field of a row can have, and how each is stored in columns.

use crate::cell::Cell;
use crate::columns::{Copies, Decoder, Encoder, Texts};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use std::sync::Arc;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned 64-bit numbers that mostly increase from row to row: ticks, nanoseconds.
    Rising,
    /// Unsigned 64-bit numbers.
    U64,
    /// Unsigned 32-bit numbers.
    U32,
    /// Unsigned 16-bit numbers.
    U16,
    /// Signed 32-bit numbers.
    I32,
    /// UTF-8 text with few distinct values.
    Text,
}

/// A field of a row: one column, one column with nulls, or several columns of one type.
pub(crate) trait Field: Sized {
    /// The type of its columns.
    const KIND: Kind;
    /// Whether the columns may have nulls.
    const OPTIONAL: bool = false;
    /// Writes the columns for one row group.
    fn encode<'r>(
        values: impl Iterator<Item = &'r Self> + Clone,
        out: &mut Encoder,
    ) -> Result<(), ParquetError>
    where
        Self: 'r;
    /// Passes on the value of each of its columns.
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>));
    /// Reads the columns with these names for one row group. Returns one item per row.
    fn decode(
        input: &mut Decoder,
        names: &[&str],
    ) -> Result<impl Iterator<Item = Result<Self, String>> + use<Self>, String>;
}

/// The value of one cell.
pub(crate) trait Scalar: Sized {
    /// The type of its column.
    const KIND: Kind;
    /// The type that Parquet stores.
    type Stored: DataType;
    /// State that is kept between cells while a column is written.
    type Writing<'r>: Default
    where
        Self: 'r;
    /// State that is kept between cells while a column is read.
    type Reading: Default;
    /// Converts the value to the stored one.
    fn store<'r>(&'r self, kept: &mut Self::Writing<'r>) -> <Self::Stored as DataType>::T;
    /// Returns the value for readers that do not know its type.
    fn cell(&self) -> Cell<'_>;
    /// Converts the stored value; fails if it is invalid.
    fn load(
        stored: <Self::Stored as DataType>::T,
        kept: &mut Self::Reading,
    ) -> Result<Self, String>;
}

/// A value that is stored as text.
pub trait Text: Sized {
    /// Returns the text.
    fn text(&self) -> &str;
    /// Converts the text; fails if it is invalid.
    fn from_text(text: Arc<str>) -> Result<Self, String>;
}

impl<T: Scalar> Field for T {
    const KIND: Kind = T::KIND;

    fn encode<'r>(
        values: impl Iterator<Item = &'r Self> + Clone,
        out: &mut Encoder,
    ) -> Result<(), ParquetError>
    where
        Self: 'r,
    {
        let mut kept = T::Writing::default();
        out.required::<T::Stored>(values.map(|value| value.store(&mut kept)))
    }

    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        each(self.cell());
    }

    fn decode(
        input: &mut Decoder,
        names: &[&str],
    ) -> Result<impl Iterator<Item = Result<Self, String>> + use<T>, String> {
        let mut kept = T::Reading::default();
        let stored = input.required::<T::Stored>(names[0])?.into_iter();
        Ok(stored.map(move |stored| T::load(stored, &mut kept)))
    }
}

impl<T: Scalar> Field for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;

    fn encode<'r>(
        values: impl Iterator<Item = &'r Self> + Clone,
        out: &mut Encoder,
    ) -> Result<(), ParquetError>
    where
        Self: 'r,
    {
        let mut kept = T::Writing::default();
        out.optional::<T::Stored>(
            values.map(|value| value.as_ref().map(|value| value.store(&mut kept))),
        )
    }

    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        each(self.as_ref().map_or(Cell::Absent, Scalar::cell));
    }

    fn decode(
        input: &mut Decoder,
        names: &[&str],
    ) -> Result<impl Iterator<Item = Result<Self, String>> + use<T>, String> {
        let mut kept = T::Reading::default();
        let stored = input.optional::<T::Stored>(names[0])?;
        Ok(stored.map(move |stored| stored.map(|stored| T::load(stored, &mut kept)).transpose()))
    }
}

impl Field for [u64; 3] {
    const KIND: Kind = Kind::U64;

    fn encode<'r>(
        values: impl Iterator<Item = &'r Self> + Clone,
        out: &mut Encoder,
    ) -> Result<(), ParquetError>
    where
        Self: 'r,
    {
        (0..3).try_for_each(|i| {
            out.required::<Int64Type>(values.clone().map(|value| value[i].cast_signed()))
        })
    }

    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        self.iter().for_each(|&number| each(Cell::Unsigned(number)));
    }

    fn decode(
        input: &mut Decoder,
        names: &[&str],
    ) -> Result<impl Iterator<Item = Result<Self, String>> + use<>, String> {
        let mut column = |i: usize| input.required::<Int64Type>(names[i]);
        let (first, second, third) = (column(0)?, column(1)?, column(2)?);
        let values = first.into_iter().zip(second).zip(third);
        Ok(values
            .map(|((first, second), third)| Ok([first, second, third].map(i64::cast_unsigned))))
    }
}

/// Implements [`Scalar`] for numbers.
macro_rules! numbers {
    ($($type:ty as $kind:ident, $stored:ty, $cell:expr, $store:expr, $load:expr;)*) => { $(
        impl $crate::field::Scalar for $type {
            const KIND: $crate::field::Kind = $crate::field::Kind::$kind;
            type Stored = $stored;
            type Writing<'r> = ();
            type Reading = ();

            fn store(&self, (): &mut ()) -> <$stored as parquet::data_type::DataType>::T {
                $store(*self)
            }

            fn cell(&self) -> $crate::cell::Cell<'_> {
                $cell(*self)
            }

            fn load(
                stored: <$stored as parquet::data_type::DataType>::T,
                (): &mut (),
            ) -> Result<Self, String> {
                $load(stored)
            }
        }
    )* };
}

pub(crate) use numbers;

numbers! {
    u64 as U64, Int64Type, Cell::Unsigned, u64::cast_signed, |stored: i64| Ok(stored.cast_unsigned());
    u32 as U32, Int32Type, |number| Cell::Unsigned(u64::from(number)), u32::cast_signed, |stored: i32| Ok(stored.cast_unsigned());
    i32 as I32, Int32Type, |number| Cell::Signed(i64::from(number)), |number| number, Ok;
}

impl<T: Text> Scalar for T {
    const KIND: Kind = Kind::Text;
    type Stored = ByteArrayType;
    type Writing<'r>
        = Copies<'r>
    where
        T: 'r;
    type Reading = Texts;

    fn store<'r>(&'r self, kept: &mut Copies<'r>) -> ByteArray {
        kept.get(self.text())
    }

    fn cell(&self) -> Cell<'_> {
        Cell::Text(self.text())
    }

    fn load(stored: ByteArray, kept: &mut Texts) -> Result<Self, String> {
        kept.get(&stored).and_then(T::from_text)
    }
}

impl Text for String {
    fn text(&self) -> &str {
        self
    }

    fn from_text(text: Arc<str>) -> Result<Self, String> {
        Ok((*text).to_owned())
    }
}

impl Text for Arc<str> {
    fn text(&self) -> &str {
        self
    }

    fn from_text(text: Arc<str>) -> Result<Self, String> {
        Ok(text)
    }
}
