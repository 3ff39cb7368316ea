//! The values of rows, for readers that take any table.

use std::fmt::{self, Display, Formatter};

/// The value of one column of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// It has none.
    Absent,
    /// A number that is never negative.
    Unsigned(u64),
    /// A number.
    Signed(i64),
    /// A text.
    Text(&'a str),
}

impl Display for Cell<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => Ok(()),
            Self::Unsigned(number) => number.fmt(out),
            Self::Signed(number) => number.fmt(out),
            Self::Text(text) => text.fmt(out),
        }
    }
}
