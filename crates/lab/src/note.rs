//! Notes of what a test that passes did not test, and of what it took.
//!
//! They go to standard output, which the test harness hides, and to the file that the variable names: `xtask test`
//! counts them.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// The environment variable that names the file: each line is `what<TAB>program<TAB>test<TAB>why`.
pub const FILE: &str = "ANECHOIC_TEST_NOTES";

/// Notes that a test cannot run here, and why.
pub fn skipped(why: impl Display) {
    note("skipped", &why.to_string());
}

/// Notes that a test ran and could not judge what it saw, and why.
pub fn not_judged(why: impl Display) {
    note("not judged", &why.to_string());
}

/// Notes for how many seconds a test kept the machine for itself.
pub(crate) fn alone(seconds: f64) {
    write("alone", &format!("{seconds:.1}"));
}

fn note(what: &str, why: &str) {
    println!("{what}: {why}");
    write(what, why);
}

fn write(what: &str, why: &str) {
    let Some(path) = std::env::var_os(FILE) else { return };
    let program = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let thread = thread::current();
    let test = thread.name().unwrap_or_default();
    let line = format!("{what}\t{program}\t{test}\t{}\n", why.replace(['\n', '\t'], " "));
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    assert!(written.is_ok(), "{}: {written:?}", path.display());
}
