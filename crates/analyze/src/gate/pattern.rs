//! Patterns of sources: `thread:*`, `device-irq:nvme*`, `timer-tick`.

use anechoic_recording::options::matches;
use anechoic_recording::sources::SOURCES;
use std::fmt;

/// A pattern of sources, in which `*` stands for any text: an identifier alone for all with any name, or identifier and
/// name with a colon between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePattern(String);

impl SourcePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Returns that no source has such an identifier, and which are near.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let id = text.split(':').next().unwrap_or_default();
        if SOURCES.iter().any(|source| matches(id, source.id)) {
            return Ok(Self(text.to_owned()));
        }
        let titled = SOURCES.iter().find(|source| source.title.eq_ignore_ascii_case(id));
        let near = match titled {
            Some(source) => vec![source.id],
            None => near(id),
        };
        let meant = match near.is_empty() {
            true => "they are named in `anechoic sources --json`: timer-tick, thread, device-irq and others".into(),
            false => format!("did you mean {}?", near.join(" or ")),
        };
        Err(format!("there is no source '{id}'; {meant}"))
    }

    /// Returns whether it covers this source.
    #[must_use]
    pub fn covers(&self, source: &str, name: &str) -> bool {
        match self.0.split_once(':') {
            None => matches(&self.0, source),
            Some((id, name_pattern)) => matches(id, source) && matches(name_pattern, name),
        }
    }
}

impl fmt::Display for SourcePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the identifiers that differ from a word by few letters, or begin or end like it, the nearest first.
fn near(word: &str) -> Vec<&'static str> {
    let word = word.to_lowercase().replace([' ', '_'], "-");
    let shares = |id: &str| {
        word.len() > 2 && (id.contains(&word) || id.split('-').any(|part| word.contains(part)))
    };
    let mut found: Vec<(usize, &str)> = SOURCES
        .iter()
        .map(|source| (distance(&word, source.id), source.id))
        .filter(|(distance, id)| *distance <= 1 + word.len() / 4 || shares(id))
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, id)| id).collect()
}

/// Returns the number of letters to insert, remove or replace to make one word the other (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (number, letter) in (1..).zip(a.chars()) {
        let mut diagonal = std::mem::replace(&mut row[0], number);
        for at in 0..b.len() {
            let replaced = diagonal + usize::from(b[at] != letter);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_identifiers_and_names() {
        let cases = [
            ("thread", "thread", "kworker/1:1", true),
            ("thread:*", "thread", "kworker/1:1", true),
            ("thread:kworker/*", "thread", "kworker/1:1", true),
            ("thread:kworker/*", "thread", "bash", false),
            ("thread:*:1", "thread", "kworker/1:1", true),
            ("timer-tick", "timer-tick", "", true),
            ("timer*", "timer", "it_real_fn", true),
            ("*", "vm-or-hardware", "", true),
            ("*-irq:nvme*", "device-irq", "nvme0q1", true),
            ("timer", "timer-tick", "", false),
        ];
        for (pattern, source, name, expected) in cases {
            let read = SourcePattern::read(pattern).expect(pattern);
            assert_eq!(read.covers(source, name), expected, "{pattern} {source} {name}");
        }
    }

    #[test]
    fn what_is_no_source_is_refused_with_those_near_it() {
        let cases = [
            ("tread:*", "there is no source 'tread'; did you mean thread?"),
            ("timer tick", "did you mean timer-tick?"),
            ("Device interrupt", "did you mean device-irq?"),
            ("irq", "did you mean softirq or device-irq or platform-irq?"),
            ("xyzzy*", "they are named in `anechoic sources --json`"),
            ("", "there is no source ''"),
        ];
        for (pattern, expected) in cases {
            let error = SourcePattern::read(pattern).expect_err(pattern);
            assert!(error.contains(expected), "{pattern}: {error}");
        }
    }

    /// And the same with both words exchanged.
    #[test]
    fn words_differ_by_the_letters_to_change() {
        let cases = [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "xabc", 1),
            ("abc", "ac", 1),
            ("ab", "ba", 2),
            ("kitten", "sitting", 3),
            ("thread", "softirq", 7),
        ];
        for (a, b, expected) in cases {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} and {b}");
        }
    }

    #[test]
    fn near_words_are_few_and_the_nearest_first() {
        let cases: [(&str, &[&str]); 6] = [
            ("thraed", &["thread"]),
            ("Timer_Tick", &["timer-tick"]),
            ("nmi", &["nmi"]),
            ("ni", &["nmi"]),
            ("qq", &[]),
            ("thread-of-mine", &["thread"]),
        ];
        for (word, expected) in cases {
            let found = near(word);
            assert_eq!(found.first(), expected.first(), "{word}: {found:?}");
            assert!(found.len() <= 3, "{word}: {found:?}");
        }
    }
}
