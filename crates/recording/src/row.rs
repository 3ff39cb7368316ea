//! Defines a row type and its table from one list of fields.

use crate::aliases::Aliases;
use crate::boundaries::Boundaries;
use crate::cell::Cell;
use crate::columns::{Decoder, Encoder};
use crate::table::Table;
use parquet::errors::ParquetError;
use std::fmt::Debug;

/// A row type with its table. Sealed: the tables are those of docs/format.md.
pub trait Row: Clone + Debug + sealed::Sealed + 'static {
    /// Its table.
    #[doc(hidden)]
    const TABLE: Table;
    /// Whether the rows of one CPU and strand follow each other in time without overlap.
    #[doc(hidden)]
    const ORDERED: bool;
    /// Returns the CPU, if the table is split by CPU.
    #[doc(hidden)]
    fn cpu(&self) -> Option<u32> {
        None
    }
    /// Returns a number that distinguishes rows of one CPU that may overlap; the same for all if none may.
    #[doc(hidden)]
    fn strand(&self) -> u32 {
        0
    }
    /// Returns the first and the last tick that the row covers.
    #[doc(hidden)]
    fn span(&self) -> (u64, u64) {
        (0, 0)
    }
    /// Writes all columns of one row group.
    #[doc(hidden)]
    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError>;
    /// Reads one row group.
    #[doc(hidden)]
    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String>;
    /// Passes on its values in the order of the columns; `boundaries` are those of the run.
    fn cells(&self, boundaries: &Boundaries, each: &mut dyn FnMut(Cell<'_>));
    /// Removes what names the owner of the machine.
    #[doc(hidden)]
    fn redact(&mut self, aliases: &mut Aliases);
}

/// A row type whose table is split by CPU.
pub trait CpuRow: Row {}

/// A row type whose table can be derived again from the measured ones.
pub trait DerivedRow: Row {}

/// Something to do with every table; see [`crate::each_table`].
pub trait EachTable {
    /// Why it may fail.
    type Error;
    /// Does it with the table of these rows.
    ///
    /// # Errors
    /// Those of the implementation; no other table follows.
    fn table<R: Row>(&mut self) -> Result<(), Self::Error>;
    /// Does it with the derived table of these rows; the same as with any other unless the implementation differs.
    ///
    /// # Errors
    /// As [`EachTable::table`].
    fn derived<R: DerivedRow>(&mut self) -> Result<(), Self::Error> {
        self.table::<R>()
    }
}

pub(crate) mod sealed {
    /// Prevents other crates from adding tables.
    pub trait Sealed {}
}

/// Defines row types with their tables, `TABLES`, the list of all tables, and `each_table`, which passes on the row types.
///
/// After the name of a row type stand: the name of its table, whether it is measured or derived, the function of
/// `rows::redacted` that removes what names the owner of the machine (`nothing` does), the field of the CPU by which the table is split, the field that distinguishes rows that may overlap, the fields of the
/// first and the last tick, and `ordered true` if rows of one CPU must not overlap.
///
/// A field is a column of the same name, or the columns listed after `=`. After `as rising` its values mostly
/// increase, which decides their encoding. `=>` adds columns in nanoseconds that are computed from a field of
/// ticks and never read: the time `since_start` of the run, or a `length` of time. After a bar such columns are not stored
/// either: only [`Row::cells`] has them.
macro_rules! tables {
    (@origin measured $row:ident) => {};
    (@origin derived $row:ident) => { impl DerivedRow for $row {} };
    (@each measured $each:ident $row:ident) => { $each.table::<$row>()? };
    (@each derived $each:ident $row:ident) => { $each.derived::<$row>()? };
    (@cpu $row:ident $cpu:ident) => { impl CpuRow for $row {} };
    (@measured measured) => { true };
    (@measured derived) => { false };
    (@names $field:ident) => { &[stringify!($field)] };
    (@names $field:ident $($name:literal)+) => { &[$($name),+] };
    (@columns $type:ty, [$($modifier:ident)?] $field:ident) => {
        &[Column::new::<$type>(stringify!($field))$(.$modifier())?]
    };
    (@ns since_start $ns:ident) => { Column::new::<u64>(stringify!($ns)).rising() };
    (@ns length $ns:ident) => { Column::new::<u64>(stringify!($ns)) };
    (@columns $type:ty, [] $field:ident $($name:literal)+) => { &[$(Column::new::<$type>($name)),+] };
    ($(
        $(#[$attribute:meta])*
        pub struct $row:ident: $origin:ident $table:literal, redact $redact:ident
        $(, cpu $cpu:ident)? $(, strand $strand:ident)? $(, span $first:ident $last:ident)? $(, ordered $ordered:literal)?
        {$(
            $(#[$doc:meta])*
            $field:ident: $type:ty $(as $modifier:ident)? $(= $($name:literal)+)?
            $(=> $($ns:ident $time:ident $ticks:ident)+)? $(| $($shown_ns:ident $shown_time:ident $shown_ticks:ident)+)?,
        )*}
    )*) => {
        /// All tables.
        pub(crate) const TABLES: &[Table] = &[$(<$row as Row>::TABLE),*];

        /// Does something with every table, the measured ones first.
        ///
        /// # Errors
        /// The first one of `each`.
        pub fn each_table<E: EachTable>(each: &mut E) -> Result<(), E::Error> {
            $(tables!(@each $origin each $row);)*
            Ok(())
        }

        $(
            $(#[$attribute])*
            pub struct $row { $($(#[$doc])* pub $field: $type,)* }

            impl crate::row::sealed::Sealed for $row {}
            tables!(@origin $origin $row);
            $(tables!(@cpu $row $cpu);)?

            impl Row for $row {
                const TABLE: Table = Table {
                    name: $table,
                    measured: tables!(@measured $origin),
                    fields: &[$(
                        tables!(@columns $type, [$($modifier)?] $field $($($name)+)?),
                        $(&[$(tables!(@ns $time $ns)),+],)?
                        $(&[$(tables!(@ns $shown_time $shown_ns).not_stored()),+],)?
                    )*],
                };
                const ORDERED: bool = false $(|| $ordered)?;

                $(fn cpu(&self) -> Option<u32> {
                    Some(self.$cpu)
                })?

                $(fn strand(&self) -> u32 {
                    self.$strand
                })?

                $(fn span(&self) -> (u64, u64) {
                    (self.$first, self.$last)
                })?

                fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
                    $(
                        <$type as Field>::encode(rows.iter().map(|row| &row.$field), out)?;
                        $($(out.$time(rows.iter().map(|row| row.$ticks))?;)+)?
                    )*
                    Ok(())
                }

                fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
                    let length = input.rows();
                    $(
                        let names = tables!(@names $field $($($name)+)?);
                        let mut $field = <$type as Field>::decode(input, names)?;
                    )*
                    let mut rows = Vec::with_capacity(length);
                    for _ in 0..length {
                        rows.push(Self { $($field: $field.next().ok_or("a column is too short")??,)* });
                    }
                    Ok(rows)
                }

                fn cells(&self, boundaries: &Boundaries, each: &mut dyn FnMut(Cell<'_>)) {
                    $(
                        Field::cells(&self.$field, each);
                        $($(each(Cell::Unsigned(boundaries.$time(self.$ticks)));)+)?
                        $($(each(Cell::Unsigned(boundaries.$shown_time(self.$shown_ticks)));)+)?
                    )*
                    let _ = boundaries; // a table without times
                }

                fn redact(&mut self, aliases: &mut Aliases) {
                    redacted::$redact(self, aliases);
                }
            }
        )*
    };
}
pub(crate) use tables;
