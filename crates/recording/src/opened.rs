//! Parts of tables that are open. The readers of one pass share them: each CPU has a reader of its own, and all of them read
//! the same files.

use crate::part_file::PartFile;
use parquet::file::metadata::ParquetMetaData;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A part that matches its checksum: its file, and where its row groups are.
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<PartFile>,
    pub(crate) metadata: ParquetMetaData,
}

/// Keeps open the part of each table that was opened last; see [`crate::Recording::keep_open`].
#[derive(Default)]
pub struct Opened(Mutex<HashMap<&'static str, Arc<Part>>>);

impl Opened {
    /// Returns the part of `table` that was opened last, if it is the one at `path`.
    pub(crate) fn part(&self, table: &'static str, path: &Path) -> Option<Arc<Part>> {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.get(table).filter(|part| part.path == path).cloned()
    }

    /// Keeps this part of `table` open instead of the one before.
    pub(crate) fn keep(&self, table: &'static str, part: &Arc<Part>) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.insert(table, Arc::clone(part));
    }
}
