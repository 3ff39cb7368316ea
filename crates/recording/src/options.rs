//! Options as data: what a method or a model accepts, and the values that were given.
//!
//! The command line, its help and its errors follow from the rows ([`OptionRow`]). A method or model reads
//! the [`Answers`] and needs no parser of its own.
//!
//! ```
//! use anechoic_recording::options::{Answers, OptionRow, Value};
//! use std::time::Duration;
//!
//! static ROWS: &[OptionRow] = &[
//!     OptionRow::new("grain", Value::Duration, "TIME", "Duration of one repetition").default("1ms"),
//!     OptionRow::new("pure", Value::Flag, "", "One kernel call per sample"),
//! ];
//! let answers = Answers::read(ROWS, &[("pure", "")])?;
//! assert_eq!(answers.one::<Duration>("grain")?, Duration::from_millis(1));
//! assert!(answers.flag("pure"));
//! # Ok::<(), anechoic_recording::Problem>(())
//! ```

mod text;

use crate::problem::{Problem, ProblemKind};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::pattern::matches;
pub(crate) use text::percent_ppm;
pub use text::{cpu_list, duration, rate};

/// An option of a method or model.
#[derive(Debug, Clone, Copy)]
pub struct OptionRow {
    /// The long name, without dashes.
    pub name: &'static str,
    /// The short name, without its dash.
    pub short: Option<char>,
    /// The type of its values.
    pub value: Value,
    /// Whether it takes a comma-separated list.
    pub many: bool,
    /// The default value, as a user would type it.
    pub default: Option<&'static str>,
    /// The placeholder of the value in the help.
    pub value_name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// Another option that must be given with this one.
    pub requires: Option<&'static str>,
    /// Other options that must not be given with this one.
    pub conflicts: &'static [&'static str],
}

impl OptionRow {
    /// Creates an option that takes one value and has no default.
    #[must_use]
    pub const fn new(
        name: &'static str,
        value: Value,
        value_name: &'static str,
        help: &'static str,
    ) -> Self {
        let (short, many, default, requires) = (None, false, None, None);
        let conflicts: &[&str] = &[];
        OptionRow { name, short, value, many, default, value_name, help, requires, conflicts }
    }

    /// Adds a short name.
    #[must_use]
    pub const fn short(self, short: char) -> Self {
        OptionRow { short: Some(short), ..self }
    }

    /// Makes it accept a list of values.
    #[must_use]
    pub const fn many(self) -> Self {
        OptionRow { many: true, ..self }
    }

    /// Adds a default.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        OptionRow { default: Some(default), ..self }
    }

    /// Makes it require another option.
    #[must_use]
    pub const fn requires(self, other: &'static str) -> Self {
        OptionRow { requires: Some(other), ..self }
    }

    /// Makes it exclude other options, whose defaults still hold.
    #[must_use]
    pub const fn conflicts(self, others: &'static [&'static str]) -> Self {
        OptionRow { conflicts: others, ..self }
    }
}

/// Lists the values of a choice with their descriptions, which may be empty.
pub type Choices = fn() -> Vec<(&'static str, &'static str)>;

/// The type of an option's values.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// No value: the option is given or not.
    Flag,
    /// A duration: `500ms`.
    Duration,
    /// A rate: `250hz`, `10khz`. The answer is its period.
    Rate,
    /// A rate, or `none`.
    RateOrNone,
    /// A whole number within a range, both ends included.
    Count {
        /// Smallest accepted number.
        least: u64,
        /// Largest accepted number.
        most: u64,
    },
    /// A percentage over 0: `1%`. The answer is in millionths.
    Percent,
    /// One of a set of words.
    Choice(Choices),
    /// One of a set of words, or a function of a file: `./kernel.so:step`.
    Work(Choices),
    /// Those of a set of words that match a pattern, in which `*` stands for any text.
    Matching(Choices),
    /// A list of CPUs: `0-3,8`.
    Cpus,
    /// A file or directory.
    Path,
    /// Numbers in a notation that the option defines.
    Numbers(fn(&str) -> Result<Vec<u64>, String>),
}

impl Value {
    /// Parses one value as a user types it.
    ///
    /// # Errors
    /// Returns what is wrong with the text and how to write it, in one line.
    pub fn parse(&self, text: &str) -> Result<Answer, String> {
        match self {
            Value::Flag => Ok(Answer::Flag),
            Value::Duration => duration(text).map(Answer::Duration),
            Value::Rate => rate(text).map(|period| Answer::Rate(Some(period))),
            Value::RateOrNone if text.trim() == "none" => Ok(Answer::Rate(None)),
            Value::RateOrNone => rate(text).map(|period| Answer::Rate(Some(period))),
            Value::Count { least, most } => text::count(text, *least..=*most).map(Answer::Count),
            Value::Percent => percent_ppm(text).map(Answer::Ppm),
            Value::Choice(choices) => text::choice(text, &choices()).map(Answer::Choice),
            Value::Work(choices) => text::work(text, &choices()).map(Answer::Choice),
            Value::Matching(choices) => text::matching(text, &choices()).map(Answer::Words),
            Value::Cpus => cpu_list(text).map(Answer::Cpus),
            Value::Path => Ok(Answer::Path(PathBuf::from(text))),
            Value::Numbers(parse) => parse(text).map(Answer::Numbers),
        }
    }
}

/// One value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The option was given.
    Flag,
    /// A duration.
    Duration(Duration),
    /// The period of a rate; absent for `none`.
    Rate(Option<Duration>),
    /// A whole number.
    Count(u64),
    /// A ratio in millionths.
    Ppm(u32),
    /// A word of a choice.
    Choice(&'static str),
    /// Words of a set, at least one.
    Words(Vec<&'static str>),
    /// CPUs in ascending order.
    Cpus(Vec<u32>),
    /// A file or directory.
    Path(PathBuf),
    /// Numbers.
    Numbers(Vec<u64>),
}

/// A type to which [`Answers`] can be converted.
pub trait FromAnswer: Sized {
    /// Returns the value if the answer has this type.
    fn from_answer(answer: &Answer) -> Option<Self>;
}

/// Implements [`FromAnswer`] for types with one kind of answer each.
macro_rules! from_answer {
    ($($answer:ident => $type:ty),* $(,)?) => {
        $(impl FromAnswer for $type {
            fn from_answer(answer: &Answer) -> Option<Self> {
                match answer {
                    Answer::$answer(value) => Some(value.clone()),
                    _ => None,
                }
            }
        })*
    };
}

from_answer! {
    Rate => Option<Duration>,
    Count => u64,
    Ppm => u32,
    Choice => &'static str,
    Words => Vec<&'static str>,
    Cpus => Vec<u32>,
    Path => PathBuf,
    Numbers => Vec<u64>,
}

/// A duration, or the period of a rate.
impl FromAnswer for Duration {
    fn from_answer(answer: &Answer) -> Option<Self> {
        match answer {
            Answer::Duration(time) => Some(*time),
            Answer::Rate(period) => *period,
            _ => None,
        }
    }
}

/// The values of a set of options, defaults included.
#[derive(Debug, Clone, Default)]
pub struct Answers(BTreeMap<&'static str, Vec<Answer>>);

impl Answers {
    /// Reads values given as text, with the defaults of all other options.
    ///
    /// # Errors
    /// Returns which option is unknown or which value is invalid, and how to write it.
    pub fn read(rows: &[OptionRow], given: &[(&str, &str)]) -> Result<Self, Problem> {
        let unknown = |(name, _): &&(&str, &str)| !rows.iter().any(|row| row.name == *name);
        if let Some((name, _)) = given.iter().find(unknown) {
            let why = format!("there is no option --{name}");
            return Err(ProblemKind::Usage.problem(why, "--help lists all options"));
        }
        let mut answers = Answers::default();
        for row in rows {
            let text = given.iter().find(|(name, _)| *name == row.name).map(|(_, text)| *text);
            for part in text.or(row.default).map(|text| row.parts(text)).unwrap_or_default() {
                let wrong = |why: String| {
                    ProblemKind::Usage
                        .problem(why, "--help shows what it takes")
                        .about(format_args!("--{}", row.name))
                };
                answers.add(row.name, row.value.parse(part).map_err(wrong)?);
            }
        }
        Ok(answers)
    }

    /// Adds a value of an option.
    pub fn add(&mut self, name: &'static str, answer: Answer) {
        self.0.entry(name).or_default().push(answer);
    }

    /// Returns whether a flag was given.
    #[must_use]
    pub fn flag(&self, name: &'static str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns all values of an option in order; empty if it was not given and has no default.
    #[must_use]
    pub fn all<T: FromAnswer>(&self, name: &'static str) -> Vec<T> {
        self.0.get(name).into_iter().flatten().filter_map(T::from_answer).collect()
    }

    /// Returns the value of an option, if it was given or has a default.
    #[must_use]
    pub fn given<T: FromAnswer>(&self, name: &'static str) -> Option<T> {
        self.0.get(name).and_then(|answers| T::from_answer(answers.first()?))
    }

    /// Returns the value of an option that has a default or must be given.
    ///
    /// # Errors
    /// Fails if it was not given and has no default, or if it has another type.
    pub fn one<T: FromAnswer>(&self, name: &'static str) -> Result<T, Problem> {
        self.given(name).ok_or_else(|| {
            let why = format!("--{name} was not given");
            ProblemKind::Usage.problem(why, format!("give --{name}"))
        })
    }
}

impl OptionRow {
    /// Splits the text of this option into single values.
    fn parts<'t>(&self, text: &'t str) -> Vec<&'t str> {
        if self.many { text.split(',').collect() } else { vec![text] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies() -> Vec<(&'static str, &'static str)> {
        vec![("sum", "adds up"), ("call", "")]
    }

    static ROWS: &[OptionRow] = &[
        OptionRow::new("grain", Value::Duration, "TIME", "").many().default("100us,1ms"),
        OptionRow::new("rates", Value::RateOrNone, "RATE", "").many().default("none,1khz"),
        OptionRow::new("rate", Value::Rate, "RATE", "").default("963hz"),
        OptionRow::new("copies", Value::Count { least: 1, most: 64 }, "N", ""),
        OptionRow::new("body", Value::Choice(bodies), "BODY", "").many(),
        OptionRow::new("work", Value::Work(bodies), "WORK", "").many(),
        OptionRow::new("cpus", Value::Cpus, "LIST", "").short('c'),
        OptionRow::new("maiv", Value::Percent, "PERCENT", ""),
        OptionRow::new("pure", Value::Flag, "", ""),
        OptionRow::new("only", Value::Matching(bodies), "PATTERN", "").many(),
    ];

    fn read(given: &[(&str, &str)]) -> Result<Answers, Problem> {
        Answers::read(ROWS, given)
    }

    #[test]
    fn defaults_hold_where_nothing_is_given() {
        let answers = read(&[]).expect("defaults");
        let micros = |us| Duration::from_micros(us);
        assert_eq!(answers.all::<Duration>("grain"), [micros(100), micros(1_000)]);
        assert_eq!(answers.all::<Option<Duration>>("rates"), [None, Some(micros(1_000))]);
        assert_eq!(answers.one::<Duration>("rate").expect("963hz").as_nanos(), 1_038_422);
        assert_eq!(answers.given::<u64>("copies"), None);
        let missing = answers.one::<u64>("copies").expect_err("it has no default");
        assert!(missing.why.contains("--copies was not given"), "{missing}");
        assert!(!answers.flag("pure") && answers.all::<&str>("body").is_empty());
    }

    #[test]
    fn what_is_given_replaces_the_default() {
        let given = [
            ("grain", "2ms"),
            ("copies", "8"),
            ("body", "call,sum"),
            ("cpus", "0-2,5"),
            ("maiv", "1%"),
            ("pure", ""),
            ("only", "s*,*a*l"),
        ];
        let answers = read(&given).expect("all can be read");
        assert_eq!(answers.all::<Duration>("grain"), [Duration::from_millis(2)]);
        assert_eq!(answers.one::<u64>("copies"), Ok(8));
        assert_eq!(answers.all::<&str>("body"), ["call", "sum"]);
        assert_eq!(answers.one::<Vec<u32>>("cpus"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(answers.one::<u32>("maiv"), Ok(10_000));
        assert!(answers.flag("pure"));
        assert_eq!(answers.all::<Vec<&str>>("only"), [["sum"], ["call"]]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        let cases = [
            ("nothing", "1", "no option --nothing"),
            ("grain", "1ms,fast", "--grain: 'fast' is not a duration"),
            ("rates", "none,0hz", "--rates: '0hz' is not a rate"),
            ("rate", "none", "--rate: 'none' is not a rate"),
            ("copies", "65", "--copies: 65 is not between 1 and 64"),
            ("copies", "-1", "--copies: '-1' is not a whole number"),
            ("body", "product", "--body: 'product' is none of sum, call"),
            ("cpus", "3-1", "--cpus: '3-1' is not a CPU list"),
            ("maiv", "1", "--maiv: '1' is not a percentage"),
            ("work", "./k.so", "--work: './k.so' names no function"),
            ("only", "sum,x*", "--only: no name matches 'x*'; they begin with sum, call"),
        ];
        for (name, text, expected) in cases {
            let error = read(&[(name, text)]).expect_err(name).to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
