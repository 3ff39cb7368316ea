//! What the recorded command of a suite decides, by which the sets of one suite are known.

use super::row::Suite;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches};
use std::ffi::OsString;

/// The options that decide neither what is measured nor how: where a suite writes, and what it shows.
const NO_SETTING: [&str; 8] =
    ["output", "resume", "show", "json", "html", "figures", "force", "quiet"];

/// What a command decides about what a suite measures.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settings {
    /// The values of each option, given or usual.
    Read(Vec<(String, Vec<OsString>)>),
    /// The words of a command that this version cannot read, without those that are no setting.
    Words(Vec<String>),
}

/// Returns whether a command measures this suite.
pub(super) fn is_of(suite: &Suite, command: &[String]) -> bool {
    words(suite, command).is_some()
}

/// Returns what a command of this suite decides. Two commands are alike if they decide the same, however they are written.
pub(super) fn settings(suite: &Suite, command: &[String]) -> Settings {
    match matches(suite, command) {
        Ok(matches) => Settings::Read(values(suite, &matches)),
        Err(_) => Settings::Words(match words(suite, command) {
            Some(words) => unread(suite, words),
            None => command.iter().skip(1).cloned().collect(),
        }),
    }
}

/// Returns the words of a command that this version cannot read, without those that are no setting.
fn unread(suite: &Suite, words: &[String]) -> Vec<String> {
    let command = super::command(suite);
    let is_none = |arg: &&Arg| NO_SETTING.contains(&arg.get_id().as_str());
    let no_setting: Vec<&Arg> = command.get_arguments().filter(is_none).collect();
    let (mut kept, mut words) = (vec![], words.iter());
    while let Some(word) = words.next() {
        let (rest, value_follows) = rest(&no_setting, word);
        kept.extend(rest);
        if value_follows {
            words.next();
        }
    }
    kept
}

/// Returns what is left of a word without these options, and whether the next word is the value of one of them.
fn rest(options: &[&Arg], word: &str) -> (Option<String>, bool) {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split_once('=').map_or(long, |(name, _)| name);
        return match options.iter().find(|arg| arg.get_long() == Some(name)) {
            Some(arg) => (None, arg.get_action().takes_values() && name == long),
            None => (Some(word.to_owned()), false),
        };
    }
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return (Some(word.to_owned()), false);
    };
    for (at, letter) in letters.char_indices() {
        let after = &letters[at + letter.len_utf8()..];
        match options.iter().find(|arg| arg.get_short() == Some(letter)) {
            Some(arg) if arg.get_action().takes_values() => return (None, after.is_empty()),
            Some(_) => {}
            None => return (Some(format!("-{}", &letters[at..])), false),
        }
    }
    (None, false)
}

/// Reads a recorded command as its suite would.
///
/// # Errors
/// It is none of this version, or of another suite.
pub(super) fn matches(suite: &Suite, command: &[String]) -> Result<ArgMatches, clap::Error> {
    let words =
        words(suite, command).ok_or_else(|| clap::Error::new(ErrorKind::UnknownArgument))?;
    let name = std::iter::once(suite.id);
    super::command(suite).try_get_matches_from(name.chain(words.iter().map(String::as_str)))
}

/// Returns the words that follow the name of the suite; nothing if the command has another name.
fn words<'a>(suite: &Suite, command: &'a [String]) -> Option<&'a [String]> {
    let [_, first, second, rest @ ..] = command else { return None };
    (first == "suite" && second == suite.id).then_some(rest)
}

fn values(suite: &Suite, matches: &ArgMatches) -> Vec<(String, Vec<OsString>)> {
    let command = super::command(suite);
    let ids = command.get_arguments().map(|arg| arg.get_id().as_str());
    let known = |id: &str| {
        let raw = matches.try_get_raw(id).ok()??;
        Some((id.to_owned(), raw.map(OsString::from).collect()))
    };
    ids.filter(|id| !NO_SETTING.contains(id)).filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::loops::SUITE;

    #[test]
    fn where_a_suite_writes_is_no_setting() {
        let parsed =
            |line: &str| settings(&SUITE, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let first = parsed("anechoic suite loops -o d --samples 100");
        let cases = [
            ("./anechoic suite loops --resume --output=e --samples 100 -q --json", true),
            ("anechoic suite loops -oe --samples=100 --resume", true),
            ("anechoic suite loops -qo e --samples 100", true),
            ("anechoic suite loops --html p.html -o d --figures=f --force --samples 100", true),
            ("anechoic suite loops -o d --resume --samples 1000", false),
            ("anechoic suite loops -o d --samples 100 --no-rates", false),
            ("anechoic suite loops -c 1 -o d --samples 100", false),
            ("anechoic suite loops -o d --resume", false),
            ("anechoic suite loops -o d --samples 100 --unknown", false),
        ];
        for (line, same) in cases {
            assert_eq!(parsed(line) == first, same, "{line}");
        }
        // What is given as it would be anyway decides the same.
        assert_eq!(parsed("anechoic suite loops"), parsed("anechoic suite loops --samples 100000"));
        let unread = parsed("anechoic suite loops --unknown");
        assert_eq!(unread, parsed("anechoic suite loops --unknown"));
        assert!(matches!(unread, Settings::Words(_)));
        for line in [
            "anechoic suite loops --unknown -o d --resume",
            "anechoic suite loops -qo e --output=f --html p.html --unknown --json",
            "anechoic suite loops -oe --unknown -q",
        ] {
            assert_eq!(unread, parsed(line), "{line}");
        }
        for line in [
            "anechoic suite loops --unknown -c 1",
            "anechoic suite loops --unknown -qc 1",
            "anechoic suite loops --unknown d",
        ] {
            assert_ne!(unread, parsed(line), "{line}");
        }
    }

    #[test]
    fn a_command_names_its_suite() {
        let is =
            |line: &str| is_of(&SUITE, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is("/usr/bin/anechoic suite loops -o d") && is("anechoic suite loops"));
        assert!(!is("anechoic suite ticks") && !is("anechoic run") && !is("removed"));
    }
}
