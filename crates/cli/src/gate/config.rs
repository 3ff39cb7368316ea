//! Files of rules: the options of a gate as TOML.

use super::Limits;
use anechoic_analyze::gate::{REQUIREMENTS, RULES};
use anechoic_recording::options::duration;
use anechoic_recording::{Problem, ProblemKind, read_file};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// More bytes than any file of rules has.
const MOST_BYTES: u64 = 1 << 20;
/// The key of the runs to compare with.
const BASELINE: &str = "baseline";
/// The key of the largest age of the newest recording.
const MAX_AGE: &str = "max-age";

/// What a file of rules sets.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) limits: Limits,
    pub(super) baseline: Option<String>,
    pub(super) max_age: Option<Duration>,
}

/// Reads a file of rules. Its keys are the options of the command; the value of a rule is a text, or a list of them.
///
/// # Errors
/// It cannot be read, or names the first line with something wrong.
pub(super) fn read(path: &Path) -> Result<Config, Problem> {
    let bytes = read_file(path, MOST_BYTES).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ProblemKind::NoInput,
            _ => ProblemKind::Data,
        };
        kind.problem(error.to_string(), "name a file of rules").about(path.display())
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        problem(path, line, "it is not UTF-8", "save it as UTF-8")
    })?;
    parse(&text)
        .map_err(|wrong| problem(path, line_of(&text, &wrong.at), &wrong.why, &wrong.remedy))
}

fn problem(path: &Path, line: usize, why: &str, remedy: &str) -> Problem {
    let place = format!("{}, line {line}", path.display());
    ProblemKind::Usage.problem(why, remedy).about(place)
}

fn line_of(text: &str, at: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..at.start.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// What is wrong in a text, and where.
struct Wrong {
    at: Range<usize>,
    why: String,
    remedy: String,
}

impl Wrong {
    fn new(at: Range<usize>, why: String, remedy: impl Into<String>) -> Self {
        Self { at, why, remedy: remedy.into() }
    }
}

fn parse(text: &str) -> Result<Config, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let why = error.message().trim().replace('\n', ", ");
        Wrong::new(error.span().unwrap_or_default(), why, "https://toml.io shows how to write TOML")
    })?;
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut config = Config::default();
    for (key, value) in entries {
        let name: &str = key.get_ref();
        let wrong = |at: &Spanned<DeValue<'_>>, why: String| {
            let help = "`anechoic gate --help` shows how it is written";
            Wrong::new(at.span(), format!("{name}: {why}"), help)
        };
        if let Some(row) = RULES.iter().find(|row| row.id == name) {
            for item in items(&value) {
                let rule = text_of(item).and_then(|text| row.read(text));
                config.limits.rules.push(rule.map_err(|why| wrong(item, why))?);
            }
        } else if let Some(row) = REQUIREMENTS.iter().find(|row| row.id == name) {
            let text = text_of(&value).map_err(|why| wrong(&value, why))?;
            (row.set)(&mut Default::default(), text).map_err(|why| wrong(&value, why))?;
            config.limits.requirements.push((row, text.to_owned()));
        } else if name == BASELINE {
            config.baseline = Some(text_of(&value).map_err(|why| wrong(&value, why))?.to_owned());
        } else if name == MAX_AGE {
            let age = text_of(&value).and_then(duration);
            config.max_age = Some(age.map_err(|why| wrong(&value, why))?);
        } else {
            return Err(Wrong::new(key.span(), format!("there is no rule '{name}'"), known()));
        }
    }
    Ok(config)
}

/// Returns the items of a list, or the only value.
fn items<'v, 'i>(value: &'v Spanned<DeValue<'i>>) -> Vec<&'v Spanned<DeValue<'i>>> {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        _ => vec![value],
    }
}

fn text_of<'v>(value: &'v Spanned<DeValue<'_>>) -> Result<&'v str, String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => Err("it is not a text; write it in quotes, as on the command line".into()),
    }
}

/// Names all keys.
fn known() -> String {
    let rules = RULES.iter().map(|row| row.id);
    let all = rules.chain(REQUIREMENTS.iter().map(|row| row.id)).chain([BASELINE, MAX_AGE]);
    format!("the keys are {}", all.collect::<Vec<_>>().join(", "))
}
