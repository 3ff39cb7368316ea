//! Results as JSON.

use serde::Serialize;
use std::io::{self, Write};

/// Writes a result as JSON with line breaks, fields in the order of their types: the same
/// result gives the same bytes.
///
/// # Errors
/// Those of `out`.
pub fn json(result: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, result)?;
    writeln!(out)
}
