//! The documents are true: their commands run (`measuring::documents`), what they show is what the tool prints,
//! generated pages and figures are current, links lead somewhere.
//!
//! A fence of `console` holds commands, each after `$ `, and what they print; `[...]` stands for lines left out. The
//! commands of a page run one after the other in a directory of their own. What is shown below a command is compared
//! with what it prints about the recordings in `docs/examples`. Commands in `console norun` and `sh` are only parsed.
//!
//! `UPDATE_DOCS=1` rewrites shown results, generated pages and figures; read the difference.

use crate::{reference, tool};
use anechoic_recording::sources::{Class, SOURCES};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Words after which a word is no recording to read: the name of a new one, or a subcommand.
const NOT_READ: &[&str] = &["-o", "--output", "measure", "predict", "suite"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// One Markdown file for users.
pub struct Page {
    /// Relative to the repository.
    pub path: PathBuf,
    pub text: String,
}

pub fn pages() -> Vec<Page> {
    let mut paths = vec![PathBuf::from("README.md")];
    let mut open = vec![PathBuf::from("docs")];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(root().join(&dir)).expect("a directory") {
            let path = dir.join(entry.expect("an entry").file_name());
            if root().join(&path).is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(root().join(&path)).expect("a page");
        Page { path, text }
    };
    paths.into_iter().map(read).collect()
}

/// A fenced block: its language and attributes, and which lines of the page it holds.
pub struct Fence {
    pub info: String,
    pub lines: Range<usize>,
}

pub fn fences(text: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut start = None;
    for (number, line) in text.lines().enumerate() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        match start.take() {
            None => start = Some((number + 1, info.to_owned())),
            Some((first, info)) => found.push(Fence { info, lines: first..number }),
        }
    }
    assert!(start.is_none(), "a fence without an end");
    found
}

/// A command and what the page shows below it.
pub struct Step {
    pub command: String,
    pub shown: Range<usize>,
}

pub fn steps(page: &Page, fence: &Fence) -> Vec<Step> {
    let lines: Vec<&str> = page.text.lines().collect();
    let mut steps: Vec<Step> = Vec::new();
    let mut number = fence.lines.start;
    while number < fence.lines.end {
        let line = lines[number];
        number += 1;
        if let Some(command) = line.strip_prefix("$ ") {
            let mut command = command.to_owned();
            while let Some(begun) = command.strip_suffix('\\') {
                command = format!("{begun} {}", lines[number].trim());
                number += 1;
            }
            steps.push(Step { command, shown: number..number });
        } else {
            let step = steps.last_mut();
            step.unwrap_or_else(|| panic!("{}: {line} is no command", page.path.display()))
                .shown
                .end = number;
        }
    }
    steps
}

/// Words of a command line, as the shell splits it; operators are words of their own.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        let word = words.last_mut().expect("never empty");
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (' ', None) => words.push(String::new()),
            ('|' | ';' | '&' | '>' | '<' | '(' | ')', None) => {
                words.extend([c.to_string(), String::new()])
            }
            _ => word.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_operator(word: &str) -> bool {
    matches!(word, "|" | ";" | "&" | ">" | "<" | "(" | ")")
}

/// What each call of the tool in a line is given.
fn calls(line: &str) -> Vec<Vec<String>> {
    let words = words(line.split(" # ").next().unwrap_or_default());
    let begins = |&i: &usize| words[i] == "anechoic" || words[i] == "anechoic-mpi";
    let call =
        |i: usize| words[i..].iter().take_while(|word| !is_operator(word)).cloned().collect();
    (0..words.len()).filter(begins).map(call).collect()
}

/// Runs a line in a shell that finds the tool first and keeps a self-test in the directory; root needs no sudo.
pub fn shell(line: &str, dir: &Path) -> Output {
    let bin = Path::new(tool::ANECHOIC).parent().expect("a directory").display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", &line.replace("sudo ", "")]).current_dir(dir).stdin(Stdio::null());
    command.env("PATH", path).env("XDG_STATE_HOME", dir).env_remove("COLUMNS");
    command.output().expect("a shell")
}

/// The recording that a line makes, if it is one call that measures and names it.
pub fn measures_into(line: &str) -> Option<String> {
    let [call] = &calls(line)[..] else { return None };
    let measures = matches!(call.get(1)?.as_str(), "run" | "measure");
    let output = call.iter().skip_while(|word| *word != "--output").nth(1)?;
    measures.then(|| output.clone())
}

pub fn copy(from: &Path, to: &Path) {
    let done = tool::command("cp", &["-a", tool::arg(from), tool::arg(to)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
}

/// Copies the examples that the command reads and the directory lacks.
pub fn provide(command: &str, dir: &Path) {
    let words = words(command);
    for (before, word) in words.iter().zip(words.iter().skip(1)) {
        let example = root().join("docs/examples").join(word);
        let is_read = !NOT_READ.contains(&before.as_str());
        if is_read && example.join("run.json").exists() && !dir.join(word).exists() {
            copy(&example, &dir.join(word));
        }
    }
}

/// Programs of a line that are not installed.
pub fn missing(line: &str) -> Vec<String> {
    let words = words(&line.replace("sudo ", ""));
    let begins = |&i: &usize| {
        i == 0 || (is_operator(&words[i - 1]) && !matches!(words[i - 1].as_str(), ">" | "<"))
    };
    let programs = (0..words.len()).filter(begins).map(|i| &words[i]);
    let absent = |program: &&String| {
        let known = format!("command -v '{program}'");
        !is_operator(program) && !shell(&known, Path::new("/")).status.success()
    };
    programs.filter(absent).cloned().collect()
}

/// Every call of the tool in a fence is one that the command line accepts.
#[test]
fn commands_parse() {
    let mut seen = 0;
    for page in pages() {
        let lines: Vec<&str> = page.text.lines().collect();
        for fence in fences(&page.text) {
            let commands: Vec<String> = match fence.info.split(' ').next() {
                Some("console") => {
                    steps(&page, &fence).into_iter().map(|step| step.command).collect()
                }
                Some("sh") => lines[fence.lines].iter().map(|line| (*line).to_owned()).collect(),
                _ => continue,
            };
            for call in commands.iter().flat_map(|command| calls(command)) {
                seen += 1;
                if call.get(1).is_some_and(|word| word == "ranks" || word == "network") {
                    continue; // the command under MPI alone has it
                }
                let parsed = anechoic_cli::command_line().try_get_matches_from(&call);
                let error = parsed.err().filter(clap::Error::use_stderr);
                assert!(
                    error.is_none(),
                    "{}: {call:?}: {}",
                    page.path.display(),
                    error.expect("one")
                );
            }
        }
    }
    assert!(seen > 20, "only {seen} calls were found");
}

/// What stands below a command is what it prints.
#[test]
fn results_are_current() {
    let dir = tempfile::tempdir().expect("a directory");
    copy(&root().join("docs/examples/."), dir.path());
    let mut compared = 0;
    for page in pages() {
        let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
        let blocks = fences(&page.text);
        let steps = blocks
            .iter()
            .filter(|fence| fence.info == "console")
            .flat_map(|fence| steps(&page, fence));
        for Step { command, shown } in steps.filter(|step| !step.shown.is_empty()) {
            compared += 1;
            let done = shell(&command, dir.path());
            let printed = String::from_utf8_lossy(&done.stdout).into_owned();
            let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
            let wanted = lines[shown.clone()].to_vec();
            let current = redone(&wanted, &printed).unwrap_or_else(|| {
                let err = String::from_utf8_lossy(&done.stderr);
                panic!(
                    "{}: {command} prints something else: {err}\n{}",
                    page.path.display(),
                    printed.join("\n")
                )
            });
            if !updating() {
                assert_eq!(
                    wanted,
                    current,
                    "{}: {command}; UPDATE_DOCS=1 rewrites it",
                    page.path.display()
                );
            }
            lines[shown].clone_from_slice(&current);
        }
        if updating() {
            fs::write(root().join(&page.path), lines.join("\n") + "\n").expect("written");
        }
    }
    assert!(compared >= 5, "only {compared} results were compared");
}

/// What is shown, with each line as it is printed now. A part between two `[...]` begins at the first printed line
/// that has the same letters as its first line, or while updating the most of them at its beginning; `None` where there
/// is none.
fn redone(shown: &[String], printed: &[&str]) -> Option<Vec<String>> {
    let letters = |line: &str| line.chars().filter(|c| c.is_alphabetic()).collect::<String>();
    let alike = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let mut next = 0;
    let mut found = Vec::new();
    for part in shown.split_inclusive(|line| line == "[...]") {
        let left_out = part.last().is_some_and(|line| line == "[...]");
        let part = if left_out { &part[..part.len() - 1] } else { part };
        if let Some(first) = part.first() {
            let rest = &printed[next..];
            let first = letters(first);
            let same = rest.iter().position(|line| letters(line) == first);
            let nearest = || {
                let rows =
                    rest.iter().enumerate().map(|(row, line)| (alike(&letters(line), &first), row));
                rows.filter(|(alike, _)| *alike >= 7)
                    .max_by_key(|(alike, row)| (*alike, usize::MAX - row))
            };
            next += same.or_else(|| nearest().filter(|_| updating()).map(|(_, row)| row))?;
            let end = next + part.len();
            found.extend(printed.get(next..end)?.iter().map(|line| (*line).to_owned()));
            next = end;
        }
        if left_out {
            found.push("[...]".to_owned());
        }
    }
    Some(found)
}

/// All subcommands with their full names, as the help lists them.
fn subcommands(command: &clap::Command, name: &str) -> Vec<(String, clap::Command)> {
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    let mut found = Vec::new();
    for inner in inner {
        let name = format!("{name} {}", inner.get_name());
        found.push((name.clone(), inner.clone()));
        found.extend(subcommands(inner, &name));
    }
    found
}

fn all_subcommands() -> Vec<(String, clap::Command)> {
    let mut command = anechoic_cli::command_line();
    command.build();
    subcommands(&command, "anechoic")
}

/// Each command has a description of its own; a group of options with a doc comment would replace it by that.
#[test]
fn each_command_has_its_own_description() {
    let mut known = BTreeMap::new();
    for (name, command) in all_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty(), "{name} has no description");
        if let Some(other) = known.insert(about.clone(), name.clone()) {
            panic!("{name} and {other} have the same description: {about}");
        }
    }
}

/// Every option that is named in the running text exists.
#[test]
fn options_in_the_text_exist() {
    let commands = all_subcommands();
    let options: Vec<String> = commands
        .iter()
        .flat_map(|(_, command)| command.get_arguments())
        .filter_map(|argument| argument.get_long().map(|long| format!("--{long}")))
        .collect();
    for page in pages() {
        for quoted in
            page.text.split('`').skip(1).step_by(2).filter(|quoted| quoted.starts_with("anechoic "))
        {
            let own = quoted.split(" -- ").next().unwrap_or_default();
            for option in own.split_whitespace().filter(|word| word.starts_with("--")) {
                assert!(
                    options.iter().any(|known| known == option),
                    "{}: `{quoted}`",
                    page.path.display()
                );
            }
        }
    }
}

/// Every subcommand's help has an example.
#[test]
fn every_help_has_an_example() {
    for (name, _) in all_subcommands() {
        let words: Vec<&str> = name.split(' ').skip(1).chain(["--help"]).collect();
        let done = tool::anechoic(&words);
        assert_eq!(done.code, Some(0));
        assert!(done.out.contains("Example") || name.ends_with(" kernels"), "{name}: {}", done.out);
    }
}

/// The pages that are made from tables are those that the tables make.
#[test]
fn generated_pages_are_current() {
    for (path, text) in [
        ("docs/reference/commands.md", command_reference()),
        ("docs/reference/sources.md", source_catalogue()),
    ] {
        let path = root().join(path);
        if updating() {
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(&path, &text).expect("written");
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(there == text, "{} is not current; UPDATE_DOCS=1 rewrites it", path.display());
    }
}

const GENERATED: &str =
    "<!-- Made by the test `generated_pages_are_current`; UPDATE_DOCS=1 rewrites it. -->\n\n";

fn command_reference() -> String {
    format!("# Command reference\n\n{GENERATED}{}", reference::page(&all_subcommands()))
}

fn source_catalogue() -> String {
    let mut text = format!("# Sources of noise\n\n{GENERATED}");
    text += "What the time of a detour is charged to. The identifier is the value of the column `source` in the table \
             `activities` of a recording. The list below each source has what reduces it, and at what price; \
             `anechoic sources` lists the sources of a recording with this advice.\n";
    let classes = [
        (Class::Interrupt, "Interrupts and work deferred by them"),
        (Class::Thread, "Other threads"),
        (Class::Held, "The measured thread could not run"),
        (Class::Own, "The measured thread's own work in the kernel"),
        (Class::Beneath, "Below the kernel"),
        (Class::Unknown, "Unknown"),
    ];
    for (class, heading) in classes {
        let _ = write!(text, "\n## {heading}\n");
        for source in SOURCES.iter().filter(|source| source.class == class) {
            let bare = source.bare_metal_title.map(|title| format!(" (on bare metal: {title})"));
            let bare = bare.unwrap_or_default();
            let _ = write!(
                text,
                "\n### {}\n\nIdentifier `{}`{bare}. {}\n\n",
                source.title, source.id, source.what
            );
            for line in source.reduce {
                let _ = writeln!(text, "- {}", line.replace('*', "\\*"));
            }
        }
    }
    text
}

/// The figures of the documents are those that `report --figures` makes of the examples.
#[test]
fn figures_are_current() {
    let dir = tempfile::tempdir().expect("a directory");
    copy(&root().join("docs/examples/."), dir.path());
    const PUBLISHED: &str = "predict ticks --published --figures figures-of/ticks";
    for (command, figure, image) in [
        ("report before --figures figures-of/before", "timeline", "timeline"),
        ("report before --figures figures-of/before", "lengths-survival", "survival"),
        ("report before --figures figures-of/before", "scale", "scale"),
        ("report ftq --figures figures-of/ftq", "periods", "periods"),
        (PUBLISHED, "model-parts", "ticks-processors"),
        (PUBLISHED, "model-indirect", "ticks-indirect"),
        (PUBLISHED, "model-overhead", "ticks-overhead"),
        (PUBLISHED, "piii-664-parts-pit", "ticks-parts"),
        ("predict laws --figures figures-of/laws", "slowdown", "laws-slowdown"),
    ] {
        let figures = dir.path().join(command.rsplit(' ').next().expect("a directory"));
        if !figures.exists() {
            let line = format!("anechoic {command}");
            let done = shell(&line, dir.path());
            assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        }
        let mut files =
            fs::read_dir(&figures).expect("figures").map(|file| file.expect("a file").path());
        let is_it = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.contains(figure) && name.ends_with(".svg")
        };
        let made = fs::read(files.find(is_it).expect("a figure")).expect("it can be read");
        let image = root().join("docs/images").join(image).with_extension("svg");
        if updating() {
            fs::write(&image, &made).expect("written");
        }
        let there = fs::read(&image).unwrap_or_default();
        assert!(there == made, "{} is not current; UPDATE_DOCS=1 rewrites it", image.display());
    }
}

/// Links between pages, and to headings in them, lead somewhere; every page stands in the book's summary.
#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("a summary");
    for page in &pages {
        let dir = root().join(&page.path).parent().expect("a directory").to_owned();
        for link in page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { root().join(&page.path) } else { dir.join(file) };
            assert!(target.exists(), "{} links to {link}", page.path.display());
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).expect("a page");
                assert!(
                    anchors(&text).iter().any(|a| a == heading),
                    "{} links to {link}",
                    page.path.display()
                );
            }
        }
        let inner =
            page.path.strip_prefix("docs").ok().filter(|inner| *inner != Path::new("SUMMARY.md"));
        if let Some(inner) = inner {
            let listed = summary.contains(&format!("({})", inner.display()));
            assert!(listed, "docs/SUMMARY.md lacks {}", inner.display());
        }
    }
}

/// The names by which the headings of a page can be linked to.
fn anchors(text: &str) -> Vec<String> {
    let slug = |heading: &str| {
        let kept = heading.to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|line| slug(line.trim_start_matches('#').trim())).collect()
}

/// Every target of make that a page names is in the Makefile.
#[test]
fn make_targets_exist() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("a Makefile");
    for page in pages() {
        let lines: Vec<&str> = page.text.lines().collect();
        for fence in fences(&page.text).into_iter().filter(|fence| fence.info == "sh") {
            for target in lines[fence.lines].iter().filter_map(|line| line.strip_prefix("make ")) {
                let target = target.split(' ').next().unwrap_or_default();
                assert!(
                    makefile.contains(&format!("\n{target}:")),
                    "{}: make {target}",
                    page.path.display()
                );
            }
        }
    }
}
