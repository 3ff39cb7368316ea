//! What the checks came to: KTAP, the file of results, and the table in docs/tried.md.

use super::checks::CHECKS;
use anyhow::{Context, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The results of the last time that each boot ran. `make lab` writes it.
const FILE: &str = "docs/laboratory.tsv";
/// The page that shows them, between two marks.
const PAGE: &str = "docs/tried.md";
const MARKS: [&str; 2] = ["<!-- laboratory: begin -->\n", "<!-- laboratory: end -->\n"];
/// What the file of results begins with.
const HEADER: &str = "kernel\trelease\tmachine\tcommand line\tcheck\tresult\twhy\n";

/// What a check came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// With what was seen.
    Passed(String),
    /// With the reason.
    Skipped(String),
    /// With what is wrong.
    Failed(String),
}

/// The result of a check in a boot.
#[derive(Debug, Clone)]
pub struct Row {
    /// Kernel, its release, machine, command line.
    pub boot: [String; 4],
    /// The check.
    pub check: String,
    /// What it came to.
    pub verdict: Verdict,
}

/// Results as KTAP, the format in which the kernel's own tests report: a test each, printed as soon as it is known.
#[derive(Debug)]
pub struct Ktap {
    text: String,
    number: usize,
}

impl Ktap {
    /// Begins with the number of results that will follow.
    #[must_use]
    pub fn begin(results: usize) -> Self {
        let mut ktap = Ktap { text: String::new(), number: 0 };
        ktap.print(&format!("KTAP version 1\n1..{results}\n"));
        ktap
    }

    /// Adds a result.
    pub fn add(&mut self, row: &Row) {
        self.number += 1;
        let [kernel, _, machine, line] = &row.boot;
        let (number, check) = (self.number, &row.check);
        let test = format!("{number} {kernel}, {machine}, {line}: {check}");
        self.print(&match &row.verdict {
            Verdict::Passed(seen) => format!("# {seen}\nok {test}\n"),
            Verdict::Skipped(why) => format!("ok {test} # SKIP {why}\n"),
            Verdict::Failed(why) => format!("# {why}\nnot ok {test}\n"),
        });
    }

    /// Adds what is no result.
    pub fn note(&mut self, text: &str) {
        self.print(&format!("# {text}\n"));
    }

    /// Returns all of it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    fn print(&mut self, text: &str) {
        print!("{text}");
        self.text += text;
    }
}

/// Replaces the results of the boots that ran in the file of results, and rewrites the page. A kernel that could not be
/// had has no release, and replaces nothing.
///
/// # Errors
/// A file cannot be read or written.
pub fn store(repository: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let file = repository.join(FILE);
    let mut all = read(&fs::read_to_string(&file).unwrap_or_else(|_| HEADER.to_owned()))?;
    let new: Vec<&Row> = rows.iter().filter(|row| !row.boot[1].is_empty()).collect();
    all.retain(|old| {
        !new.iter().any(|new| new.boot[0] == old.boot[0] && new.boot[2..] == old.boot[2..])
    });
    all.extend(new.into_iter().cloned());
    all.sort_by(|a, b| key(a).cmp(&key(b)));
    fs::write(&file, written(&all))?;
    let page = repository.join(PAGE);
    let text = shown(&fs::read_to_string(&page)?, &all)?;
    Ok(fs::write(page, text)?)
}

/// The order of the results.
fn key(row: &Row) -> [&str; 4] {
    let [kernel, _, machine, line] = &row.boot;
    [kernel, machine, line, &row.check]
}

fn written(rows: &[Row]) -> String {
    let mut text = HEADER.to_owned();
    for row in rows {
        let (result, why) = match &row.verdict {
            Verdict::Passed(seen) => ("passed", seen),
            Verdict::Skipped(why) => ("skipped", why),
            Verdict::Failed(why) => ("failed", why),
        };
        let why = why.replace(['\t', '\n'], " ");
        let _ = writeln!(text, "{}\t{}\t{result}\t{why}", row.boot.join("\t"), row.check);
    }
    text
}

fn read(text: &str) -> anyhow::Result<Vec<Row>> {
    let rows = text.strip_prefix(HEADER).context("the file of results has another header")?;
    rows.lines().map(|line| row(line).with_context(|| format!("{FILE}: {line}"))).collect()
}

fn row(line: &str) -> anyhow::Result<Row> {
    let fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
    let [boot @ .., check, result, why] = &fields[..] else { anyhow::bail!("too few fields") };
    let why = why.clone();
    let verdict = match &**result {
        "passed" => Verdict::Passed(why),
        "skipped" => Verdict::Skipped(why),
        "failed" => Verdict::Failed(why),
        other => anyhow::bail!("unknown result {other:?}"),
    };
    let boot = boot.to_vec().try_into();
    let boot = boot.map_err(|fields| anyhow::anyhow!("not four fields: {fields:?}"))?;
    Ok(Row { boot, check: check.clone(), verdict })
}

/// Returns the page with the table of these results between its marks.
fn shown(page: &str, rows: &[Row]) -> anyhow::Result<String> {
    let (before, rest) = page.split_once(MARKS[0]).context("the page has no first mark")?;
    let (_, after) = rest.split_once(MARKS[1]).context("the page has no second mark")?;
    ensure!(!after.contains(MARKS[0]), "the page has two first marks");
    Ok([before, MARKS[0], &table(rows), MARKS[1], after].concat())
}

/// Returns the results as a table: a row for all kernels whose boots had the same results. Reasons stand below it.
fn table(rows: &[Row]) -> String {
    let checks: BTreeSet<&str> = rows.iter().map(|row| &*row.check).collect();
    let mut boots: BTreeMap<&[String; 4], Vec<String>> = BTreeMap::new();
    let mut reasons: Vec<String> = Vec::new();
    for row in rows {
        let check = &row.check;
        let shown = match &row.verdict {
            Verdict::Passed(_) => format!("`{check}`"),
            Verdict::Skipped(why) => {
                format!("skipped: `{check}` [{}]", reason(&mut reasons, why))
            }
            Verdict::Failed(why) => {
                format!("**failed**: `{check}` [{}]", reason(&mut reasons, why))
            }
        };
        boots.entry(&row.boot).or_default().push(shown);
    }
    let mut alike: BTreeMap<(&str, &str, String), Vec<&str>> = BTreeMap::new();
    for ([_, release, machine, line], shown) in &boots {
        alike.entry((machine, line, shown.join(", "))).or_default().push(release);
    }
    let mut text = "| machine | command line | kernels | passed |\n".to_owned();
    text += "| --- | --- | --- | --- |\n";
    for ((machine, line, shown), kernels) in alike {
        let _ = writeln!(text, "| {machine} | {line} | {} | {shown} |", kernels.join(", "));
    }
    for (why, number) in reasons.iter().zip(1..) {
        let _ = write!(text, "{}[{number}] {why}.", if number == 1 { "\n" } else { "<br>\n" });
    }
    text += if reasons.is_empty() { "\n" } else { "\n\n" };
    for check in CHECKS.iter().filter(|check| checks.contains(check.name)) {
        let _ = writeln!(text, "- `{}`: {}", check.name, check.tests);
    }
    text
}

/// Returns the number of a reason, which stands once.
fn reason(reasons: &mut Vec<String>, why: &str) -> usize {
    let known = reasons.iter().position(|known| known == why);
    known.unwrap_or_else(|| {
        reasons.push(why.to_owned());
        reasons.len() - 1
    }) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(check: &str, verdict: Verdict) -> Row {
        let boot = ["6.1-rt", "6.1.0-50-rt-amd64", "2 CPUs", "default"].map(str::to_owned);
        Row { boot, check: check.to_owned(), verdict }
    }

    fn three() -> Vec<Row> {
        vec![
            judged("run", Verdict::Passed("2 CPUs".to_owned())),
            judged("inject", Verdict::Skipped("no BPF".to_owned())),
            judged("kill", Verdict::Failed("an instance\tis left".to_owned())),
        ]
    }

    #[test]
    fn results_are_written_and_read_back() {
        let text = written(&three());
        assert_eq!(written(&read(&text).unwrap()), text);
        assert!(read("kernel\n").is_err() && row("6.1\trun\tpassed\tx").is_err());
        assert!(row("a\tb\tc\td\trun\tperhaps\tx").is_err());
    }

    #[test]
    fn ktap_numbers_every_test() {
        let name = "6.1-rt, 2 CPUs, default";
        let expected = format!(
            "KTAP version 1\n1..3\n# 2 CPUs\nok 1 {name}: run\nok 2 {name}: inject # SKIP no BPF\n\
             # an instance\tis left\nnot ok 3 {name}: kill\n"
        );
        let mut ktap = Ktap::begin(3);
        three().iter().for_each(|row| ktap.add(row));
        assert_eq!(ktap.text(), expected);
    }

    #[test]
    fn the_table_has_a_row_for_kernels_with_the_same_results_and_each_reason_once() {
        let expected = "\
| machine | command line | kernels | passed |
| --- | --- | --- | --- |
| 2 CPUs | default | 7.3.4-amd64 | `run` |
| 2 CPUs | default | 6.1.0-50-rt-amd64, 6.12.9-rt-amd64 | `run`, skipped: `inject` [1], **failed**: `kill` [2] |

[1] no BPF.<br>
[2] an instance\tis left.

";
        let with = |kernel: &str, mut row: Row| {
            row.boot[..2].fill(kernel.to_owned());
            row
        };
        let mut rows = three();
        rows.extend(three().into_iter().map(|row| with("6.12.9-rt-amd64", row)));
        rows.push(with("7.3.4-amd64", three().remove(0)));
        let table = table(&rows);
        let checks = table.strip_prefix(expected).unwrap_or_else(|| panic!("{table}"));
        assert!(checks.starts_with("- `run`: "), "{checks}");
    }

    #[test]
    fn the_page_shows_the_results_and_nothing_failed() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let rows = read(&fs::read_to_string(repository.join(FILE)).unwrap()).unwrap();
        let page = fs::read_to_string(repository.join(PAGE)).unwrap();
        assert!(shown(&page, &rows).unwrap() == page, "{PAGE} is not that of {FILE}: make lab");
        let failed = rows.iter().filter(|row| matches!(row.verdict, Verdict::Failed(_)));
        let failed: Vec<&Row> = failed.collect();
        assert!(failed.is_empty(), "{failed:?}");
    }
}
