//! Whether the accumulated mean of a series came to rest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// FAME's accuracy when none was asked for: 1 %.
pub const USUAL_MAIV: f64 = 0.01;

/// How far the mean over the first m samples still moved (FAME, Vera et al. 2007).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steadiness {
    /// Largest |A(m) − A(n)| / A(n) over the last half of the n samples, A(m) being the mean of the first m.
    pub variation: f64,
    /// What it may be: the accuracy asked for (MAIV), 0.01 where none was.
    pub maiv: f64,
    /// Whether it is within that.
    pub steady: bool,
    /// From this number of samples on, A stayed within `maiv` of A(n). Exact up to 256, then high by
    /// less than 1 %.
    pub steady_after: u64,
}
