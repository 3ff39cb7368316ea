//! Tests, and in the last lines what they came to: `cargo run -p xtask -- test quick`, `-- test machine`,
//! `-- test faults`, `-- test fuzz`.

use anyhow::{Context, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The environment variable that names the file of notes; `anechoic_lab::note` writes it.
const NOTES: &str = "ANECHOIC_TEST_NOTES";
/// Begins the path of every test that measures for long.
const MEASURING: &str = "measuring::";
/// Begins the path of every test of the fault campaign.
const FAULTS: &str = "faults::";
/// Begins the path of every test that fuzzes a parser: for ANECHOIC_FUZZ_SECONDS seconds each.
const FUZZ: &str = "fuzz::";
/// Number of tests that the last lines name for the time in which they had the machine for themselves.
const LONGEST: usize = 12;
/// Where the machine is known, more tests than these that cannot judge are too many.
const NOT_JUDGED: usize = 12;

/// Up to this many failed measuring tests are tried a second time: the host of a shared machine can spoil one attempt;
/// a fault of ours spoils both.
const SECOND_ATTEMPTS: usize = 4;

/// Runs the tests of a kind. They fail where one fails, and with `--ci` where more than a handful could not judge.
///
/// # Errors
/// The kind is not known, or cargo cannot be run.
pub fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let kind = arguments.first().map(String::as_str);
    let filter: &[&str] = match kind {
        Some("quick") => &["--skip", MEASURING, "--skip", FAULTS],
        Some("machine") => &[MEASURING],
        Some("faults") => &[FAULTS, "--test-threads=1"],
        Some("fuzz") => &[FUZZ, "--test-threads=1", "--nocapture"],
        other => bail!("unknown tests {other:?}; there are: quick, machine, faults, fuzz"),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let target = std::env::var("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
    let notes = target.join(format!("test-notes-{}", std::process::id()));
    let mut counts = Counts::default();
    let mut passed = counts.run(root, &notes, filter)?;
    let mut second = std::mem::take(&mut counts.names);
    if passed || kind != Some("machine") || !(1..=SECOND_ATTEMPTS).contains(&second.len()) {
        second.clear();
    } else {
        println!("\nfailed, and tried a second time: {}", second.join(", "));
        counts.failed = 0;
        let exactly: Vec<&str> =
            ["--exact"].into_iter().chain(second.iter().map(String::as_str)).collect();
        passed = counts.run(root, &notes, &exactly)?;
    }
    let noted = Notes::read(&fs::read_to_string(&notes).unwrap_or_default());
    fs::remove_file(&notes).ok();
    print!("{}", summary(&counts, &second, &noted));
    let too_many =
        arguments.iter().any(|argument| argument == "--ci") && noted.not_judged() > NOT_JUDGED;
    if too_many {
        println!("more than {NOT_JUDGED} tests could not judge: the machine is too busy for them");
    }
    Ok(ExitCode::from(u8::from(!passed || too_many)))
}

/// Sums over all test programs.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    /// The tests that failed.
    names: Vec<String>,
}

impl Counts {
    /// Runs the tests that the arguments select, prints what they print, and returns whether all passed.
    fn run(&mut self, root: &Path, notes: &Path, select: &[&str]) -> anyhow::Result<bool> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut tests = Command::new(cargo)
            .args(["test", "--release", "--workspace", "--no-fail-fast", "--"])
            .args(select)
            .current_dir(root)
            .env(NOTES, notes)
            .stdout(Stdio::piped())
            .spawn()
            .context("cargo test")?;
        for line in BufReader::new(tests.stdout.take().context("a pipe")?).lines() {
            let line = line?;
            writeln!(std::io::stdout(), "{line}")?;
            self.add(&line);
        }
        Ok(tests.wait()?.success())
    }

    /// Adds a line that names a failed test, or the last line of a test program; others count for nothing.
    fn add(&mut self, line: &str) {
        if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.names.push(name.to_owned());
        }
        let Some(("test result: ok" | "test result: FAILED", rest)) = line.split_once(". ") else {
            return;
        };
        for count in rest.split("; ") {
            match count.split_once(' ').map(|(number, what)| (number.parse::<usize>(), what)) {
                Some((Ok(number), "passed")) => self.passed += number,
                Some((Ok(number), "failed")) => self.failed += number,
                _ => {}
            }
        }
    }
}

/// What the tests noted.
#[derive(Default)]
struct Notes {
    /// The tests that did not test all, by what and why.
    not_all: BTreeMap<(String, String), BTreeSet<String>>,
    /// For how many seconds tests had the machine for themselves.
    alone: BTreeMap<String, f64>,
}

impl Notes {
    fn read(text: &str) -> Notes {
        let mut notes = Notes::default();
        for line in text.lines() {
            let [what, program, test, why] = line.split('\t').collect::<Vec<_>>()[..] else {
                continue;
            };
            let test = format!("{program} {test}");
            if what == "alone" {
                *notes.alone.entry(test).or_default() += why.parse().unwrap_or(0.0);
            } else {
                notes.not_all.entry((what.to_owned(), why.to_owned())).or_default().insert(test);
            }
        }
        notes
    }

    /// The tests with such a note.
    fn tests(&self, what: &str) -> BTreeSet<&String> {
        self.not_all.iter().filter(|((is, _), _)| is == what).flat_map(|(_, tests)| tests).collect()
    }

    fn not_judged(&self) -> usize {
        self.tests("not judged").len()
    }

    /// A line that names the tests which had the machine for themselves for longest, if any had.
    fn longest(&self) -> String {
        if self.alone.is_empty() {
            return String::new();
        }
        let mut longest: Vec<(&String, f64)> =
            self.alone.iter().map(|(test, seconds)| (test, *seconds)).collect();
        longest.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let named =
            longest.iter().take(LONGEST).map(|(test, seconds)| format!("{test} {seconds:.0} s"));
        let (tests, all) = (longest.len(), self.alone.values().sum::<f64>());
        let named = named.collect::<Vec<_>>().join(", ");
        format!("alone on the machine: {tests} tests for {all:.0} s; the longest: {named}\n")
    }
}

/// The last lines: why tests were skipped or not judged, which had a second attempt, and how many there are of each
/// kind.
fn summary(counts: &Counts, second: &[String], notes: &Notes) -> String {
    let mut text = String::from("\n");
    if !second.is_empty() {
        text.push_str(&format!("second attempt: {}\n", second.join(", ")));
    }
    for ((what, why), tests) in &notes.not_all {
        let names = tests.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        text.push_str(&format!("{what}: {why} ({names})\n"));
    }
    text.push_str(&notes.longest());
    let (skipped, not_judged) = (notes.tests("skipped").len(), notes.not_judged());
    let passed = counts.passed.saturating_sub(skipped + not_judged);
    text + &format!(
        "tests: {passed} passed, {} failed, {skipped} skipped, {not_judged} not judged\n",
        counts.failed
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_note_something_did_not_pass() {
        let mut counts = Counts::default();
        for line in [
            "test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 1.00s",
            "test a::b ... ok",
            "test a::c ... FAILED",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
        ] {
            counts.add(line);
        }
        let notes = Notes::read(
            "skipped\ta\tx::one\tneeds root\nskipped\ta\tx::one\tneeds root\nskipped\tb\ty::two\tneeds root\n\
             not judged\ta\tx::three\tthe host was too busy\nalone\ta\tx::three\t2.6\nalone\tb\ty::two\t31.0\n",
        );
        assert_eq!(counts.names, ["a::c"]);
        let expected = "\nsecond attempt: a::c\nnot judged: the host was too busy (a x::three)\nskipped: needs root (a x::one, b y::two)\n\
                        alone on the machine: 2 tests for 34 s; the longest: b y::two 31 s, a x::three 3 s\n\
                        tests: 6 passed, 1 failed, 2 skipped, 1 not judged\n";
        assert_eq!(summary(&counts, &counts.names, &notes), expected);
    }
}
