//! The notebook of the documents, with the environment that `make notebook` makes.

use crate::tool::{anechoic, arg};
use anechoic_lab::note;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_notebook_computes_the_noise_of_the_summary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/notebook/bin/python");
    let ready = Command::new(&python).args(["-c", "import duckdb, polars, pyarrow"]).output();
    if !ready.is_ok_and(|done| done.status.success()) {
        return note::skipped("no Python with DuckDB and Polars (make notebook)");
    }
    let place = tempfile::tempdir().expect("a directory");
    let examples = root.join("docs/examples");
    for host in ["before", "after"] {
        let target = fs::canonicalize(examples.join(host)).expect("an example");
        std::os::unix::fs::symlink(target, place.path().join(format!("host={host}")))
            .expect("a link");
    }
    let script = Command::new(&python).arg(examples.join("notebook.py")).arg(place.path()).output();
    let script = script.expect("it runs");
    let (out, err) =
        (String::from_utf8_lossy(&script.stdout), String::from_utf8_lossy(&script.stderr));
    assert!(script.status.success(), "{err}");
    for host in ["before", "after"] {
        let json = anechoic(&["summary", arg(&examples.join(host)), "--json"]).out;
        let summary: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let noise = summary["total"]["noise"].as_f64().expect("a number");
        let shown = format!("{noise:.6}");
        assert_eq!(
            out.matches(&shown).count(),
            2,
            "{host} {shown}, by Polars and by DuckDB: {out}"
        );
    }
}
