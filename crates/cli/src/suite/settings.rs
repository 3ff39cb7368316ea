//! What the recorded command of a suite decides, by which the sets of one suite are known.

use super::row::Suite;
use clap::ArgMatches;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// The options that decide neither what is measured nor how: where a suite writes, and what it shows.
const NO_SETTING: [&str; 8] =
    ["output", "resume", "show", "json", "html", "figures", "force", "quiet"];

/// What a command decides about what a suite measures.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settings {
    /// The values of each option, given or usual.
    Read(Vec<(String, Vec<OsString>)>),
    /// The words of a command that this version cannot read.
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
        Err(_) => Settings::Words(command.iter().skip(1).cloned().collect()),
    }
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
        let of =
            |line: &str| settings(&SUITE, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let first = of("anechoic suite loops -o d --samples 100");
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
            assert_eq!(of(line) == first, same, "{line}");
        }
        // What is given as it would be anyway decides the same.
        assert_eq!(of("anechoic suite loops"), of("anechoic suite loops --samples 100000"));
        let unread = of("anechoic suite loops --unknown");
        assert_eq!(unread, of("anechoic suite loops --unknown"));
        assert!(matches!(unread, Settings::Words(_)));
    }

    #[test]
    fn a_command_names_its_suite() {
        let is =
            |line: &str| is_of(&SUITE, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is("/usr/bin/anechoic suite loops -o d") && is("anechoic suite loops"));
        assert!(!is("anechoic suite ticks") && !is("anechoic run") && !is("removed"));
    }
}
