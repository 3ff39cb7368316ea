//! The state of the house in numbers: `cargo run -p xtask -- measure`, and with `--cold` how long builds take.

use crate::modules::crates;
use crate::source::{Source, rust_files};
use crate::tidy::{docs, methods, names, public};
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The heading in ARCHITECTURE.md under which one detour is followed.
const WALK: &str = "## One detour";

/// Words of the dialect that the texts once had: report, list, note and show say it plainly.
const DIALECT: [&str; 5] = ["tell", "tells", "told", "says", "said"];
const DIALECT_PAIRS: [[&str; 2]; 3] = [["is", "looked"], ["is", "had"], ["are", "had"]];

/// Prints the table.
///
/// # Errors
/// A file cannot be read or is not Rust.
pub fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let sources = rust_files(root)?;
    let (shipped, tests) = lines(&sources);
    let (walk_files, walk_lines) = walk(root, &sources)?;
    let circles: usize = crates(&sources)?.values().map(|modules| modules.circles().len()).sum();
    let (public, superfluous) = public::superfluous(&sources)?;
    let closures = names::closures_per_1000_lines(&sources)?;
    let literals = methods::literals(&sources)?.len();
    let rows = [
        ("source lines, without unit tests", shipped.to_string()),
        ("test lines", tests.to_string()),
        ("files that name the method ftq", naming(&sources, &["ftq", "\"ftq\""]).to_string()),
        (
            "files that name the source device-irq",
            naming(&sources, &["device_irq", "\"device-irq\"", "DEVICE_IRQ", "DeviceIrq"])
                .to_string(),
        ),
        (
            "files outside of the model that name predict::phases",
            naming(&sources, &["predict::phases", "anechoic_predict::phases"]).to_string(),
        ),
        ("files and lines from a gap to its row", format!("{walk_files} and {walk_lines}")),
        ("circles between modules", circles.to_string()),
        ("method names as literals outside their registry", literals.to_string()),
        (
            "public items, and those nobody outside names",
            format!("{public} and {}", superfluous.len()),
        ),
        ("named closures per 1,000 lines of code", format!("{closures:.1}")),
        ("ordinary comments, per cent of lines", format!("{:.1}", per_cent_of_comments(&sources))),
        ("documentation examples", examples(&sources).to_string()),
        ("documentation comments that begin inside a sentence", fragments(&sources).to_string()),
        ("words of the old dialect in code and documents", dialect(root, &sources)?.to_string()),
        ("lines of README.md", lines_of_readme(root)?.to_string()),
        ("integration test programs", test_programs(root)?.to_string()),
    ];
    for (what, number) in rows {
        row(what, &number);
    }
    if arguments.iter().any(|argument| argument == "--cold") {
        cold(root)?;
    }
    println!();
    for name in sources.iter().map(Source::crate_name).collect::<BTreeSet<_>>() {
        let (shipped, tests) = lines(sources.iter().filter(|source| source.crate_name() == name));
        println!("{name:56} {shipped:>8} {tests:>7}");
    }
    Ok(ExitCode::SUCCESS)
}

fn row(what: &str, number: &str) {
    println!("{what:56} {number:>16}");
}

/// Builds the command of the main job and the one that is installed from nothing, in a directory of their own, and prints
/// how long that took and how large they are.
fn cold(root: &Path) -> anyhow::Result<()> {
    let target = root.join("target/cold");
    fs::remove_dir_all(&target).or_else(|e| if e.kind() == NotFound { Ok(()) } else { Err(e) })?;
    let builds: [(&str, &[&str], &str); 2] = [
        ("make", &["--silent", "first"], "release"),
        ("cargo", &["build", "--quiet", "--profile", "dist", "-p", "anechoic-cli"], "dist"),
    ];
    for (program, arguments, profile) in builds {
        let began = Instant::now();
        let mut build = Command::new(program);
        build.args(arguments).env("CARGO_TARGET_DIR", &target).current_dir(root);
        ensure!(build.status().context(program)?.success(), "the build failed");
        row(&format!("cold build of {profile}, seconds"), &began.elapsed().as_secs().to_string());
        let size = fs::metadata(target.join(profile).join("anechoic"))?.len();
        row(&format!("size of the command of {profile}, MB"), &format!("{:.1}", size as f64 / 1e6));
    }
    Ok(fs::remove_dir_all(&target)?)
}

/// Lines that ship, and lines of tests and benchmarks.
fn lines<'a>(sources: impl IntoIterator<Item = &'a Source>) -> (usize, usize) {
    sources.into_iter().fold((0, 0), |(shipped, tests), source| {
        let all = source.text.lines().count();
        let ships = if source.ships() { source.shipped_lines().count() } else { 0 };
        (shipped + ships, tests + all - ships)
    })
}

/// Files that hold one of these words, outside of tests.
fn naming(sources: &[Source], words: &[&str]) -> usize {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '-');
    let holds = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            edge(line[..at].chars().next_back()) && edge(line[at + word.len()..].chars().next())
        })
    };
    let code = |source: &Source| {
        let lines = source.shipped_lines().filter(|line| !line.trim_start().starts_with("//"));
        lines
            .flat_map(|line| words.iter().map(move |word| (line, word)))
            .any(|(line, word)| holds(line, word))
    };
    let shipped = sources.iter().filter(|source| source.ships() && source.crate_name() != "xtask");
    shipped.filter(|source| code(source)).count()
}

/// The files that ARCHITECTURE.md names on the way of one detour, and their lines.
fn walk(root: &Path, sources: &[Source]) -> anyhow::Result<(usize, usize)> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    let section = text.split_once(WALK).map_or("", |(_, rest)| rest);
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let named: BTreeSet<&str> =
        section.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs")).collect();
    let files = sources.iter().filter(|source| named.contains(source.path.to_str().unwrap_or("")));
    let lines: Vec<usize> = files.map(|source| source.shipped_lines().count()).collect();
    Ok((lines.len(), lines.iter().sum()))
}

/// Lines that are ordinary comments, in per cent of all.
fn per_cent_of_comments(sources: &[Source]) -> f64 {
    let lines = || sources.iter().filter(|source| source.ships()).flat_map(Source::shipped_lines);
    let comments = lines().filter(|line| is_comment(line.trim_start())).count();
    comments as f64 * 1e2 / lines().count().max(1) as f64
}

fn is_comment(line: &str) -> bool {
    line.starts_with("//") && !line.starts_with("///") && !line.starts_with("//!")
}

/// The text of a line of a documentation comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

/// Documentation comments whose first word is not the beginning of a sentence.
fn fragments(sources: &[Source]) -> usize {
    sources.iter().filter(|source| source.ships()).map(fragments_in).sum()
}

fn fragments_in(source: &Source) -> usize {
    let lines: Vec<Option<&str>> = source.shipped_lines().map(doc).collect();
    let begins = (0..lines.len()).filter(|&at| at == 0 || lines[at - 1].is_none());
    begins.filter_map(|at| lines[at]?.chars().next()).filter(|first| first.is_lowercase()).count()
}

/// How often the words that a plainer one has replaced stand in lines that ship and in the documents.
fn dialect(root: &Path, sources: &[Source]) -> anyhow::Result<usize> {
    let shipped = sources.iter().filter(|source| source.ships() && source.crate_name() != "xtask");
    let code: usize = shipped.flat_map(Source::shipped_lines).map(dialect_in).sum();
    docs::pages(root).iter().try_fold(code, |sum, page| {
        Ok(sum + fs::read_to_string(page)?.lines().map(dialect_in).sum::<usize>())
    })
}

fn dialect_in(line: &str) -> usize {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let single = words.iter().filter(|word| DIALECT.contains(word)).count();
    single + words.windows(2).filter(|pair| DIALECT_PAIRS.contains(&[pair[0], pair[1]])).count()
}

fn lines_of_readme(root: &Path) -> anyhow::Result<usize> {
    Ok(fs::read_to_string(root.join("README.md"))?.lines().count())
}

fn test_programs(root: &Path) -> anyhow::Result<usize> {
    let mut programs = 0;
    for entry in fs::read_dir(root.join("crates"))? {
        let manifest = fs::read_to_string(entry?.path().join("Cargo.toml"))?;
        programs += manifest.lines().filter(|line| *line == "[[test]]").count();
    }
    Ok(programs)
}

/// Examples in the documentation that a test compiles.
fn examples(sources: &[Source]) -> usize {
    let fence = |line: &&str| matches!(doc(line), Some("```" | "```no_run"));
    let count = |source: &Source| source.shipped_lines().filter(fence).count() / 2;
    sources.iter().filter(|source| source.ships()).map(count).sum()
}
