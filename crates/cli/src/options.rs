//! The command line of option rows: their clap arguments, and the answers that clap parsed.

use crate::ask;
use anechoic_recording::options::{Answer, Answers, Choices, OptionRow, Value};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, Error};
use std::ffi::OsStr;

/// Builds the clap argument of each row, in order.
pub fn arguments(rows: &[OptionRow]) -> impl Iterator<Item = Arg> {
    rows.iter().map(argument)
}

fn argument(row: &OptionRow) -> Arg {
    let mut arg = Arg::new(row.name).long(row.name).help(row.help);
    if let Some(short) = row.short {
        arg = arg.short(short);
    }
    if let Some(other) = row.requires {
        arg = arg.requires(other);
    }
    arg = arg.conflicts_with_all(row.conflicts);
    if matches!(row.value, Value::Flag) {
        return arg.action(ArgAction::SetTrue);
    }
    if row.many {
        arg = arg.value_delimiter(',').action(ArgAction::Append);
    }
    if let Some(default) = row.default {
        arg = arg.default_value(default);
        if row.many {
            // clap separates the values of a default list by blanks, which the option would not accept.
            let help = format!("{} [default: {default}]", row.help);
            arg = arg.help(help).hide_default_value(true);
        }
    }
    // Accept values that begin with a dash, so that their own parser can explain what to write instead.
    let signed = matches!(row.value, Value::Duration | Value::Rate | Value::RateOrNone);
    arg.value_name(row.value_name).value_parser(parser(row.value)).allow_hyphen_values(signed)
}

fn possible((word, help): (&'static str, &'static str)) -> PossibleValue {
    let possible = PossibleValue::new(word);
    if help.is_empty() { possible } else { possible.help(help) }
}

fn parser(value: Value) -> ValueParser {
    match value {
        Value::Choice(choices) => {
            let words: Vec<PossibleValue> = choices().into_iter().map(possible).collect();
            PossibleValuesParser::from(words)
                .try_map(move |word| value.parse(&word).map_err(std::io::Error::other))
                .into()
        }
        Value::Work(choices) => WorkParser(choices).into(),
        Value::Cpus => {
            ValueParser::new(|text: &str| ask::cpu_list(text).map(|list| Answer::Cpus(list.0)))
        }
        value => ValueParser::new(move |text: &str| value.parse(text)),
    }
}

/// Reads the name of a work kernel, which help and completions list, or a function of a file.
#[derive(Clone)]
struct WorkParser(Choices);

impl TypedValueParser for WorkParser {
    type Value = Answer;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Answer, Error> {
        let work = Value::Work(self.0);
        let parse = move |text: &str| work.parse(text);
        parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(possible)))
    }
}

/// Reads the answers to `rows` from the clap matches.
pub fn answers(rows: &[OptionRow], matches: &ArgMatches) -> Answers {
    let mut answers = Answers::default();
    for row in rows {
        if matches!(row.value, Value::Flag) {
            if matches.get_flag(row.name) {
                answers.add(row.name, Answer::Flag);
            }
            continue;
        }
        for answer in matches.get_many::<Answer>(row.name).into_iter().flatten() {
            answers.add(row.name, answer.clone());
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn bodies() -> Vec<(&'static str, &'static str)> {
        vec![("sum", "adds up"), ("call", "")]
    }

    static ROWS: &[OptionRow] = &[
        OptionRow::new("grain", Value::Duration, "TIME", "How long").many().default("100us,1ms"),
        OptionRow::new("copies", Value::Count { least: 1, most: 64 }, "N", "How many").short('n'),
        OptionRow::new("body", Value::Choice(bodies), "BODY", "Bodies")
            .many()
            .conflicts(&["grain"]),
        OptionRow::new("fifo", Value::Flag, "", "Under SCHED_FIFO"),
        OptionRow::new("all-cpus", Value::Flag, "", "Every CPU").requires("fifo"),
    ];

    fn read(words: &[&str]) -> Result<Answers, String> {
        let command = Command::new("test").args(arguments(ROWS));
        let words = ["test"].iter().chain(words);
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        Ok(answers(ROWS, &matches))
    }

    #[test]
    fn what_clap_reads_are_the_answers() {
        let all = "-n 8 --body call,sum --fifo --all-cpus";
        let read_all = read(&all.split(' ').collect::<Vec<_>>()).expect("a command line");
        assert_eq!(read_all.all::<Duration>("grain").len(), 2, "a default does not conflict");
        let given = read(&["--grain", "2ms"]).expect("a command line");
        assert_eq!(given.all::<Duration>("grain"), [Duration::from_millis(2)]);
        assert_eq!(read_all.one::<u64>("copies"), Ok(8));
        assert_eq!(read_all.all::<&str>("body"), ["call", "sum"]);
        assert!(read_all.flag("fifo") && read_all.flag("all-cpus"));
        let usual = read(&[]).expect("defaults");
        assert_eq!(usual.all::<Duration>("grain").len(), 2);
        assert!(usual.given::<u64>("copies").is_none() && !usual.flag("fifo"));
    }

    #[test]
    fn a_wrong_command_line_is_refused_with_the_reason() {
        let cases: [(&[&str], &str); 6] = [
            (&["--grain", "-1ms"], "invalid value '-1ms' for '--grain <TIME>': '-1ms' is negative"),
            (&["-n", "65"], "65 is not between 1 and 64"),
            (&["--body", "product"], "[possible values: sum, call]"),
            (&["--all-cpus"], "--fifo"),
            (&["--body", "sum", "--grain", "2ms"], "cannot be used with '--grain"),
            (&["--nothing"], "unexpected argument"),
        ];
        for (words, expected) in cases {
            let error = read(words).expect_err("refused");
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }
}
