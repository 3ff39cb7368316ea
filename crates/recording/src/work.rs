//! The work of a series, as results of several recordings name it.

use crate::parameters::Library;
use crate::rows::Series;

/// Number of the digits of a checksum that are shown.
const DIGITS: usize = 12;

impl Series {
    /// Returns the name of its work, with the checksum of the file if it is a user's function: two builds of it are different
    /// work.
    #[must_use]
    pub fn work(&self) -> String {
        let variant = &self.variant;
        let digits = |library: &Library| library.sha256.chars().take(DIGITS).collect::<String>();
        match &self.parameters.library {
            None => variant.clone(),
            Some(library) => format!("{variant} (sha256 {})", digits(library)),
        }
    }
}
