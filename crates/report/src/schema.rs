//! JSON Schemas of what `--json` prints.

use crate::results::{AnyRow, RESULTS};

/// File name under `schema/` and text of each schema.
#[must_use]
pub fn schemas() -> Vec<(String, String)> {
    let schema = |row: &&dyn AnyRow| Some((format!("{}.schema.json", row.id()), row.schema()?));
    RESULTS.iter().filter_map(schema).collect()
}
