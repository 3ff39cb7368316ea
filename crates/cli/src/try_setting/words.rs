//! The words of the command line: names of settings, which shells complete, and a command as a shell reads it.

use anechoic_recording::tunable::{Assignment, TUNABLES};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use std::ffi::OsStr;

/// Reads a text; shells complete the names of settings.
#[derive(Debug, Clone)]
struct Names;

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let whole = TUNABLES.iter().filter(|row| !row.has_parts());
        Some(Box::new(whole.map(|row| PossibleValue::new(row.name))))
    }
}

/// Returns the parser of `NAME` and `NAME=VALUE`.
pub(super) fn parser() -> impl TypedValueParser<Value = Assignment> {
    Names.try_map(|text| Assignment::parse(&text))
}

/// Returns a command in one line that a shell reads as these words.
pub(super) fn shell_words(command: &[String]) -> String {
    command.iter().map(|word| shell_word(word)).collect::<Vec<String>>().join(" ")
}

fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    /// The shell is the judge of how it reads a line.
    #[test]
    fn a_shell_reads_the_same_words() {
        let words =
            ["printf", "%s\\n", "a b", "", "it's", "$HOME", "*", "a\"b", "x=1"].map(str::to_owned);
        let line = shell_words(&words);
        let printed = process::Command::new("sh").args(["-c", &line]).output().expect("a shell");
        let expected = words[2..].join("\n") + "\n";
        assert_eq!(String::from_utf8_lossy(&printed.stdout), expected, "{line}");
        assert_eq!(shell_words(&["./bench".to_owned(), "--fast".to_owned()]), "./bench --fast");
    }
}
