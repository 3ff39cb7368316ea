//! Sizes and names of files and functions.

use super::Finding;
use crate::source::Source;
use std::path::Path;

/// Lines of a file without its unit tests, beyond which it has more than one subject.
const FILE_LINES: usize = 450;
/// The same for a file of tests.
const TEST_FILE_LINES: usize = 800;
/// Lines of a function beyond which nobody reads it at a glance.
const FUNCTION_LINES: usize = 70;
/// Names that say nothing about what a file holds.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helpers", "misc"];

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for source in sources {
        let mut say = |what| findings.push(Finding { file: source.path.clone(), what });
        let stem = source.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if EMPTY_NAMES.contains(&stem) {
            say("has a name that does not say what it holds".to_owned());
        }
        let lines = source.shipped_lines().count();
        let limit = if source.ships() { FILE_LINES } else { TEST_FILE_LINES };
        if lines > limit {
            say(format!("has {lines} lines; split it by subject (limit {limit})"));
        }
        // Tests are tables: their length is the number of their cases.
        let shipped = functions(source).filter(|_| source.ships());
        for (name, lines) in shipped.filter(|(_, lines)| *lines > FUNCTION_LINES) {
            say(format!("{name} has {lines} lines; split it (limit {FUNCTION_LINES})"));
        }
    }
    Ok(findings)
}

/// Functions with their lengths, by rustfmt's layout: a function ends at the first line that is
/// a closing brace at its own indentation.
fn functions(source: &Source) -> impl Iterator<Item = (String, usize)> {
    let lines: Vec<&str> = source.shipped_lines().collect();
    let starts: Vec<usize> =
        (0..lines.len()).filter(|&i| function_name(lines[i]).is_some()).collect();
    starts.into_iter().filter_map(move |start| {
        let indent = lines[start].len() - lines[start].trim_start().len();
        let closes = |line: &&str| line.len() == indent + 1 && line.ends_with('}');
        let length = lines[start..].iter().position(closes)? + 1;
        Some((function_name(lines[start])?, length))
    })
}

fn function_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    let rest = line.split_once("fn ")?;
    let modifiers = ["pub", "const", "unsafe", "async", "extern", "(crate)", "(super)", "\"C\""];
    let only_modifiers =
        rest.0.split_whitespace().all(|word| modifiers.contains(&word) || word.starts_with("pub("));
    let ends_here = line.ends_with(';') || line.ends_with('}');
    let name = rest.1.split(['(', '<']).next()?;
    (only_modifiers && !ends_here).then(|| name.to_owned())
}
