//! The rows of one CPU one by one.

use anechoic_recording::{CpuRow, Problem, Recording, Rows};

/// The rows of one CPU's part of a table, one by one, with a look at the next.
pub(crate) struct Stream<'a, R> {
    rows: Rows<'a, R>,
    group: std::iter::Peekable<std::vec::IntoIter<R>>,
}

impl<'a, R: CpuRow> Stream<'a, R> {
    /// At the first row of `cpu`.
    pub(crate) fn new(recording: &'a Recording, cpu: u32) -> Self {
        Self { rows: recording.rows_of_cpu(cpu), group: vec![].into_iter().peekable() }
    }

    /// The next row, which stays the next.
    pub(crate) fn peek(&mut self) -> Result<Option<&R>, Problem> {
        while self.group.peek().is_none() {
            match self.rows.next().transpose()? {
                Some(group) => self.group = group.into_iter().peekable(),
                None => return Ok(None),
            }
        }
        Ok(self.group.peek())
    }

    /// The next row.
    pub(crate) fn next(&mut self) -> Result<Option<R>, Problem> {
        self.peek()?;
        Ok(self.group.next())
    }
}
