//! Tests, and in the last lines what they came to: `cargo run -p xtask -- test quick`, `-- test machine`.

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
/// Where the machine is known, more tests than these that cannot judge are too many.
const NOT_JUDGED: usize = 5;

/// Runs the tests of a kind. They fail where one fails, and with `--ci` where more than a handful could not judge.
///
/// # Errors
/// The kind is not known, or cargo cannot be run.
pub fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let filter: &[&str] = match arguments.first().map(String::as_str) {
        Some("quick") => &["--skip", MEASURING],
        Some("machine") => &[MEASURING],
        other => bail!("unknown tests {other:?}; there are: quick, machine"),
    };
    let target = std::env::var("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
    let notes = target.join(format!("test-notes-{}", std::process::id()));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut tests = Command::new(cargo)
        .args(["test", "--workspace", "--no-fail-fast", "--"])
        .args(filter)
        .current_dir(root)
        .env(NOTES, &notes)
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo test")?;
    let mut counts = Counts::default();
    for line in BufReader::new(tests.stdout.take().context("a pipe")?).lines() {
        let line = line?;
        writeln!(std::io::stdout(), "{line}")?;
        counts.add(&line);
    }
    let passed = tests.wait()?.success();
    let noted = Notes::read(&fs::read_to_string(&notes).unwrap_or_default());
    fs::remove_file(&notes).ok();
    print!("{}", summary(&counts, &noted));
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
}

impl Counts {
    /// Adds the last line of a test program; other lines count for nothing.
    fn add(&mut self, line: &str) {
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

/// The tests that did not test all, by what and why.
struct Notes(BTreeMap<(String, String), BTreeSet<String>>);

impl Notes {
    fn read(text: &str) -> Notes {
        let mut notes: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for line in text.lines() {
            let [what, program, test, why] = line.split('\t').collect::<Vec<_>>()[..] else {
                continue;
            };
            let of = notes.entry((what.to_owned(), why.to_owned())).or_default();
            of.insert(format!("{program} {test}"));
        }
        Notes(notes)
    }

    /// The tests with such a note.
    fn tests(&self, what: &str) -> BTreeSet<&String> {
        self.0.iter().filter(|((is, _), _)| is == what).flat_map(|(_, tests)| tests).collect()
    }

    fn not_judged(&self) -> usize {
        self.tests("not judged").len()
    }
}

/// The last lines: why tests were skipped or not judged, and how many there are of each kind.
fn summary(counts: &Counts, notes: &Notes) -> String {
    let mut text = String::from("\n");
    for ((what, why), tests) in &notes.0 {
        let names = tests.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        text.push_str(&format!("{what}: {why} ({names})\n"));
    }
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
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
        ] {
            counts.add(line);
        }
        let notes = Notes::read(
            "skipped\ta\tx::one\tneeds root\nskipped\ta\tx::one\tneeds root\nskipped\tb\ty::two\tneeds root\n\
             not judged\ta\tx::three\tthe host was too busy\n",
        );
        let expected = "\nnot judged: the host was too busy (a x::three)\nskipped: needs root (a x::one, b y::two)\n\
                        tests: 6 passed, 1 failed, 2 skipped, 1 not judged\n";
        assert_eq!(summary(&counts, &notes), expected);
    }
}
