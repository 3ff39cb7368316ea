//! The sets of a suite, and why the results of some are doubtful.

use super::Study;
use crate::results::Found;
use crate::style::View;
use anechoic_analyze::injection::Verdict;

/// A set that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set {
    /// The name of its directory.
    pub name: String,
    /// The identifier of its result.
    pub result: &'static str,
    pub verdict: Verdict,
}

/// Doubtful sets are named up to this number.
const NAMED: usize = 6;
/// Stands for the warnings of a result that has none.
const NO_REASON: &str = "its own summary shows how it ended";

impl Study {
    /// Adds the sets with their results, and states why some of these are doubtful: they decide the exit code.
    #[must_use]
    pub fn with_sets<'a>(mut self, sets: impl Iterator<Item = (&'a str, &'a Found)>) -> Self {
        let mut reasons: Vec<Reason> = vec![];
        for (name, found) in sets {
            let (result, verdict) = (found.row().id(), found.verdict());
            self.sets.push(Set { name: name.to_owned(), result, verdict });
            if verdict != Verdict::Good {
                add(name, reason(found), &mut reasons);
            }
        }
        self.doubts = reasons.iter().map(Reason::sentence).collect();
        self
    }

    /// Returns the worst verdict of the sets; at least a warning if something is lacking, and nothing without a set.
    pub(crate) fn verdict(&self) -> Verdict {
        let worst = self.sets.iter().map(|set| set.verdict).max().unwrap_or(Verdict::Nothing);
        if self.lacking.is_empty() { worst } else { worst.max(Verdict::Warning) }
    }
}

/// Why the results of some sets are doubtful.
struct Reason {
    /// The text without its numbers, which differ from set to set.
    kind: String,
    /// The text of the first set.
    text: String,
    sets: Vec<String>,
}

/// Returns the first warning of the screen of a result.
fn reason(found: &Found) -> String {
    let view = View { all: true, width: 120, ..View::default() };
    let warnings = found.screen(&view).warnings();
    warnings.first().map_or(NO_REASON, |first| without_letters(first)).to_owned()
}

/// Returns a warning without the letters of the series that it is about, which only the screen of the set explains.
fn without_letters(text: &str) -> &str {
    match text.split_once(": ") {
        Some((series, rest)) if series.split(", ").all(|one| one.chars().count() == 1) => rest,
        _ => text,
    }
}

fn add(set: &str, text: String, reasons: &mut Vec<Reason>) {
    let kind: String = text.chars().filter(|letter| letter.is_alphabetic()).collect();
    match reasons.iter_mut().find(|reason| reason.kind == kind) {
        Some(known) => known.sets.push(set.to_owned()),
        None => reasons.push(Reason { kind, text, sets: vec![set.to_owned()] }),
    }
}

impl Reason {
    fn sentence(&self) -> String {
        let text = self.text.trim_end_matches('.');
        let Some((first, others)) = self.sets.split_first() else { return String::new() };
        let named = others.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match others.len() {
            0 => format!("The result of {first} is doubtful; its screen warns first: {text}."),
            1..=NAMED => format!(
                "The result of {first} is doubtful; its screen warns first: {text}. The same holds for {named}."
            ),
            all => format!(
                "The result of {first} is doubtful; its screen warns first: {text}. The same holds for {named} and {} more.",
                all - NAMED
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_with_the_same_reason_share_a_sentence() {
        let mut reasons = vec![];
        for (set, text) in [
            ("1ms", "a, b: a step differs by up to 5 %"),
            ("ranks-1", "it was cut off."),
            ("2ms", "c: a step differs by up to 7 %"),
        ] {
            add(set, without_letters(text).to_owned(), &mut reasons);
        }
        let sentences: Vec<String> = reasons.iter().map(Reason::sentence).collect();
        assert_eq!(
            sentences,
            [
                "The result of 1ms is doubtful; its screen warns first: a step differs by up to 5 %. The same holds for 2ms.",
                "The result of ranks-1 is doubtful; its screen warns first: it was cut off.",
            ]
        );
    }
}
