//! The notebook of the documents, with the environment that `make notebook` makes.

use crate::tool::{ANECHOIC, anechoic, arg};
use anechoic_lab::note;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs Python with the package from its source and the command under test; `None` where the environment is missing.
fn python(args: &[&str]) -> Option<Output> {
    let program = root().join("target/notebook/bin/python");
    let modules = "import duckdb, jsonschema, mypy, pandas, polars, pyarrow";
    let ready = Command::new(&program).args(["-c", modules]).output();
    if !ready.is_ok_and(|done| done.status.success()) {
        note::skipped("no Python with DuckDB and Polars (make notebook)");
        return None;
    }
    let mut command = Command::new(program);
    command.args(args).current_dir(root()).env("PYTHONPATH", "python").env("ANECHOIC", ANECHOIC);
    Some(command.output().expect("it runs"))
}

#[test]
fn the_python_package_reads_what_the_command_and_duckdb_read() {
    let calls =
        [&["python/tests/test_anechoic.py"][..], &["-m", "mypy", "--strict", "python/anechoic"]];
    for call in calls {
        let Some(done) = python(call) else { return };
        let (out, err) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{out}{err}");
    }
}

#[test]
fn the_notebook_computes_the_noise_of_the_summary() {
    let root = root();
    let place = tempfile::tempdir().expect("a directory");
    let examples = root.join("docs/examples");
    for host in ["before", "after"] {
        let target = fs::canonicalize(examples.join(host)).expect("an example");
        std::os::unix::fs::symlink(target, place.path().join(format!("host={host}")))
            .expect("a link");
    }
    let Some(script) = python(&[arg(&examples.join("notebook.py")), arg(place.path())]) else {
        return;
    };
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
