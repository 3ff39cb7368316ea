//! A stream of the rows of one CPU.

use anechoic_recording::{CpuRow, Problem, Recording, Rows};

/// The rows of one CPU's part of a table, one by one, with lookahead.
pub(crate) struct Stream<'a, R> {
    rows: Rows<'a, R>,
    group: std::iter::Peekable<std::vec::IntoIter<R>>,
}

impl<'a, R: CpuRow> Stream<'a, R> {
    /// Starts at the first row of `cpu`.
    pub(crate) fn new(recording: &'a Recording, cpu: u32) -> Self {
        Self { rows: recording.rows_of_cpu(cpu), group: vec![].into_iter().peekable() }
    }

    /// Returns the next row without consuming it.
    pub(crate) fn peek(&mut self) -> Result<Option<&R>, Problem> {
        while self.group.peek().is_none() {
            match self.rows.next().transpose()? {
                Some(group) => self.group = group.into_iter().peekable(),
                None => return Ok(None),
            }
        }
        Ok(self.group.peek())
    }

    /// Returns the next row.
    pub(crate) fn next(&mut self) -> Result<Option<R>, Problem> {
        self.peek()?;
        Ok(self.group.next())
    }
}
