//! What is wrong with a command line, in the form of all errors: what, and what to do.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use std::error::Error as _;
use std::ffi::OsString;

/// Says in one line what is wrong with this command line, and what to type instead.
#[must_use]
pub fn explained(error: &Error, command: &Command, typed: &[OsString]) -> String {
    // The options of a command that was not built have no names.
    let mut command = command.clone();
    command.build();
    let place = Place::find(&command, typed);
    let (what, remedy) = place.explain(error).unwrap_or_else(|| {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        (first.trim_start_matches("error: ").to_owned(), place.help())
    });
    format!("{}: {what}; {remedy}", command.get_name())
}

/// The option that every command has, also before its name.
const GLOBAL: &str = "--color";

/// The command or subcommand that was typed.
struct Place<'a> {
    command: &'a Command,
    /// Its words, beginning with the name of the tool.
    words: String,
    /// Whether options were typed.
    has_options: bool,
}

impl<'a> Place<'a> {
    fn find(whole: &'a Command, typed: &[OsString]) -> Self {
        let has_options = typed.iter().any(|word| word.to_string_lossy().starts_with('-'));
        let words = whole.get_name().to_owned();
        let mut place = Place { command: whole, words, has_options };
        let mut words = typed.iter().skip(1).map_while(|word| word.to_str());
        while let Some(word) = words.next() {
            if word == GLOBAL {
                words.next(); // its value
            } else if !word.starts_with(GLOBAL) {
                // The parser looks no further than the first word that it does not know.
                let Some(inner) = place.command.find_subcommand(word) else { break };
                place.command = inner;
                place.words = format!("{} {}", place.words, inner.get_name());
            }
        }
        place
    }

    fn explain(&self, error: &Error) -> Option<(String, String)> {
        let text = |kind| text(error, kind);
        let argument = text(ContextKind::InvalidArg);
        let words = &self.words;
        match error.kind() {
            ErrorKind::InvalidSubcommand => {
                Some(self.no_command(text(ContextKind::InvalidSubcommand)?))
            }
            ErrorKind::UnknownArgument => Some(self.no_argument(argument?)),
            ErrorKind::MissingRequiredArgument => Some(self.missing(error)),
            ErrorKind::InvalidValue => {
                let (argument, value) = (named(argument?), text(ContextKind::InvalidValue)?);
                if value.is_empty() {
                    return Some((format!("{argument} has no value"), self.help()));
                }
                let known = match error.get(ContextKind::ValidValue) {
                    Some(ContextValue::Strings(known)) => known.as_slice(),
                    _ => &[],
                };
                let remedy = match known {
                    [] => self.help(),
                    known => format!("use {}", either(known)),
                };
                Some((format!("{argument}: there is no '{value}'"), remedy))
            }
            ErrorKind::ValueValidation => {
                let why = reason(&error.source()?.to_string(), text(ContextKind::InvalidValue));
                let (what, remedy) = within(&why)
                    .or_else(|| {
                        Some(why.split_once("; ")?).map(|(a, b)| (a.to_owned(), b.to_owned()))
                    })
                    .unwrap_or_else(|| (why.clone(), self.help()));
                Some((format!("{}: {what}", named(argument?)), remedy))
            }
            ErrorKind::ArgumentConflict => {
                let argument = named(argument?);
                let prior: Vec<&str> = match error.get(ContextKind::PriorArg)? {
                    ContextValue::String(one) => vec![named(one)],
                    ContextValue::Strings(several) => {
                        several.iter().map(|one| named(one)).collect()
                    }
                    _ => return None,
                };
                if prior == [argument] {
                    return Some((format!("{argument} is given twice"), "give it once".to_owned()));
                }
                let what = format!("{argument} and {} exclude each other", prior.join(", "));
                Some((what, "leave one of them out".to_owned()))
            }
            ErrorKind::TooManyValues => {
                let (argument, value) = (named(argument?), text(ContextKind::InvalidValue)?);
                Some((format!("{argument} takes no value ('{value}')"), "leave it out".to_owned()))
            }
            ErrorKind::InvalidUtf8 => {
                let remedy = "only paths may have other characters".to_owned();
                Some(("a word is no valid UTF-8".to_owned(), remedy))
            }
            ErrorKind::MissingSubcommand => {
                Some((format!("`{words}` needs one of its commands"), self.help()))
            }
            _ => None,
        }
    }

    fn help(&self) -> String {
        format!("see `{} --help`", self.words)
    }

    /// A word that is no command.
    fn no_command(&self, typed: &str) -> (String, String) {
        let words = &self.words;
        let what = format!("there is no `{words} {typed}`");
        let all = || self.command.get_subcommands();
        let names = all()
            .flat_map(|inner| std::iter::once(inner.get_name()).chain(inner.get_visible_aliases()));
        // The descriptions of suites name the authors of their papers.
        let looks = self.command.get_name() == "suite";
        let named = || all().find(|inner| looks && has_in_its_description(inner, typed));
        let found = nearest(typed, names).or_else(|| named().map(Command::get_name));
        let remedy = found.map(|name| format!("did you mean `{words} {name}`?"));
        (what, remedy.unwrap_or_else(|| format!("`{words} --help` lists what there is")))
    }

    /// An option or a word that the command does not take.
    fn no_argument(&self, typed: &str) -> (String, String) {
        let words = &self.words;
        if typed.starts_with('-') && typed.parse::<f64>().is_ok() {
            return (format!("{typed} is no possible value here"), self.help());
        }
        if typed.starts_with('-') && self.command.has_subcommands() {
            let what = format!("`{words}` has no option {typed} before its command");
            return (what, format!("`{words} --help` shows what there is"));
        }
        if !typed.starts_with('-') {
            if self.command.get_name() == "run" && may_be_program(typed) {
                let what = format!("`{words}` measures CPUs and starts no program ('{typed}')");
                return (what, format!("to measure a program: `anechoic record -- {typed}`"));
            }
            return (format!("`{words}` takes no '{typed}'"), self.help());
        }
        if typed == "--work" && words.contains(" measure ") {
            let what =
                format!("`{words}` takes no --work, because its result is about its own kernels");
            let remedy =
                "measure another function with fwq, ftq, tick, loops, serial or interference";
            return (what, remedy.to_owned());
        }
        let what = format!("`{words}` has no option {typed}");
        let options = self.command.get_arguments().filter_map(Arg::get_long);
        let options = options.chain(["color", "help", "version"]);
        let found = nearest(typed.trim_start_matches('-'), options);
        let remedy = found.map(|name| format!("did you mean --{name}?"));
        (what, remedy.unwrap_or_else(|| self.help()))
    }

    fn missing(&self, error: &Error) -> (String, String) {
        let words = &self.words;
        let missing = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => missing.as_slice(),
            _ => &[],
        };
        let lacks_condition = missing.iter().all(|name| name.starts_with("--stop-on"));
        if self.command.get_name() == "record" && !lacks_condition {
            let what = format!("`{words}` needs a program or a process");
            return (what, "name one: `anechoic record -- ./my-program`, or --pid".to_owned());
        }
        let whose = match self.has_options && !missing.iter().all(|name| self.requires(name)) {
            true => "one of these options".to_owned(),
            false => format!("`{words}`"),
        };
        let missing: Vec<String> = missing.iter().map(|name| alternatives(name)).collect();
        (format!("{whose} needs {}", missing.join(" and ")), self.help())
    }

    /// Returns whether the command itself requires this argument, and not another argument.
    fn requires(&self, name: &str) -> bool {
        let mut known = self.command.get_arguments();
        !known.any(|known| known.to_string() == *name && !known.is_required_set())
    }
}

/// Returns what the parser says about a mistake under this name.
fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns whether the description of a command has this word, as that of a suite has the names of its authors.
fn has_in_its_description(command: &Command, typed: &str) -> bool {
    let about = folded(&command.get_about().map(ToString::to_string).unwrap_or_default());
    let typed = folded(typed).replace("ae", "a").replace("oe", "o").replace("ue", "u");
    let mut words = about.split(|letter: char| !letter.is_alphanumeric());
    typed.len() > 3 && words.any(|word| word == typed)
}

/// Returns whether a word may be meant as a program: not a time, and no other word of this tool.
fn may_be_program(word: &str) -> bool {
    !word.is_empty() && word != "help" && crate::ask::duration(word).is_err()
}

/// Writes what is missing without the signs of the parser: `<--rate <RATE>|--period <TIME>>` is "--rate or --period".
fn alternatives(missing: &str) -> String {
    let Some(group) = missing.strip_prefix("<--").and_then(|rest| rest.strip_suffix('>')) else {
        return missing.to_owned();
    };
    let options = group.split('|').map(|option| named(option).trim_start_matches('-'));
    let options: Vec<String> = options.map(|option| format!("--{option}")).collect();
    either(&options)
}

/// Returns an argument without its value: `--duration <TIME>` is `--duration`.
fn named(argument: &str) -> &str {
    argument
        .split_once(" <")
        .or_else(|| argument.split_once("=<"))
        .map_or(argument, |(name, _)| name)
}

/// Explains the words of the parser for a number that is out of range: `1 is not in 2..=10000`.
fn within(why: &str) -> Option<(String, String)> {
    let (number, range) = why.split_once(" is not in ")?;
    number.parse::<f64>().ok()?;
    let (least, most) = range.split_once("..=").or_else(|| range.split_once(".."))?;
    let remedy = if most.is_empty() || most.len() > 15 {
        format!("give at least {least}")
    } else {
        format!("give {least} to {most}")
    };
    Some((format!("{number} is out of range"), remedy))
}

/// Returns the reason with the value in it. Those of the standard library for numbers do not have it.
fn reason(why: &str, value: Option<&str>) -> String {
    let value = value.unwrap_or_default();
    match why {
        why if why.starts_with("invalid digit") => format!("'{value}' is not a whole number"),
        why if why.starts_with("invalid float") => format!("'{value}' is not a number"),
        why if why.contains(value) => why.to_owned(),
        why => format!("'{value}': {why}"),
    }
}

fn either(known: &[String]) -> String {
    match known {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        all => all.concat(),
    }
}

/// Returns the name that differs in the fewest letters, if they are few enough for a slip of the fingers.
fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.map(|name| (strsim::osa_distance(typed, name), name));
    let (letters, name) = near.min_by_key(|(letters, _)| *letters)?;
    (letters <= (typed.chars().count() / 3).max(1) && letters < name.len()).then_some(name)
}

/// Returns a word in small letters without the marks on them.
fn folded(word: &str) -> String {
    word.to_lowercase().chars().map(without_mark).collect()
}

fn without_mark(letter: char) -> char {
    match letter {
        'ä' => 'a',
        'ö' => 'o',
        'ü' => 'u',
        'ć' => 'c',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let typed: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let error = crate::command_line().try_get_matches_from(&typed).expect_err(line);
        explained(&error, &crate::command_line(), &typed)
    }

    #[test]
    fn mistakes_are_named_with_what_to_type_instead() {
        let cases = [
            ("rnu", "there is no `anechoic rnu`; did you mean `anechoic run`?"),
            (
                "measure fqw",
                "there is no `anechoic measure fqw`; did you mean `anechoic measure fwq`?",
            ),
            (
                "suite karner",
                "there is no `anechoic suite karner`; did you mean `anechoic suite selfish`?",
            ),
            (
                "frobnicate",
                "there is no `anechoic frobnicate`; `anechoic --help` lists what there is",
            ),
            (
                "run -- ./bench",
                "`anechoic run` measures CPUs and starts no program ('./bench'); to measure a program: `anechoic record -- ./bench`",
            ),
            (
                "record",
                "`anechoic record` needs a program or a process; name one: `anechoic record -- ./my-program`, or --pid",
            ),
            ("run --force", "`anechoic run` has no option --force; see `anechoic run --help`"),
            (
                "report --figure x",
                "`anechoic report` has no option --figure; did you mean --figures?",
            ),
            (
                "suite waechtler",
                "there is no `anechoic suite waechtler`; did you mean `anechoic suite memory`?",
            ),
            (
                "suite the",
                "there is no `anechoic suite the`; `anechoic suite --help` lists what there is",
            ),
            ("foo summary", "there is no `anechoic foo`; `anechoic --help` lists what there is"),
            (
                "measure xyz fwq",
                "there is no `anechoic measure xyz`; `anechoic measure --help` lists what there is",
            ),
            (
                "--json summary before",
                "`anechoic` has no option --json before its command; `anechoic --help` shows what there is",
            ),
            (
                "summary before --bucket 1us",
                "one of these options needs --hist; see `anechoic summary --help`",
            ),
            (
                "inject",
                "`anechoic inject` needs --kind <KIND> and --rate, --period, --replay or --preset; see `anechoic inject --help`",
            ),
            ("run --cpus -1", "-1 is no possible value here; see `anechoic run --help`"),
            ("run 10s", "`anechoic run` takes no '10s'; see `anechoic run --help`"),
            ("summary --json=yes", "--json takes no value ('yes'); leave it out"),
            ("summary --hlep", "`anechoic summary` has no option --hlep; did you mean --help?"),
            ("--color never rnu", "there is no `anechoic rnu`; did you mean `anechoic run`?"),
            ("list 1 2 3", "`anechoic list` takes no '2'; see `anechoic list --help`"),
            ("run -d", "--duration has no value; see `anechoic run --help`"),
            (
                "run -d 5x",
                "--duration: '5x' is not a duration; write a number and a unit, for example 10s, 500ms, 2m or 100ns",
            ),
            ("run -d 1s -d 2s", "--duration is given twice; give it once"),
            (
                "compare a b --ranks 1e9",
                "--ranks: '1e9' is not a whole number; see `anechoic compare --help`",
            ),
            ("ab true true --pairs 1", "--pairs: 1 is out of range; give 2 to 10000"),
            ("inject --kind foo", "--kind: there is no 'foo'; use interrupt, kernel or thread"),
            ("--color purple run", "--color: there is no 'purple'; use auto, always or never"),
            ("compare a", "`anechoic compare` needs <AFTER>; see `anechoic compare --help`"),
        ];
        for (line, expected) in cases {
            assert_eq!(
                said(&format!("anechoic {line}")),
                format!("anechoic: {expected}"),
                "{line}"
            );
        }
    }
}
