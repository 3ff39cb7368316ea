//! The options of a prediction of phases.

use super::{Ask, MOST_RANKS};
use anechoic_recording::Problem;
use anechoic_recording::options::{Answers, OptionRow, Value};
use std::time::Duration;

/// The type of a list of numbers of ranks.
pub(crate) const RANKS: Value = Value::Numbers(ranks);

/// The options.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "grain",
        Value::Duration,
        "TIME",
        "Work between two synchronisations, without noise; a list",
    )
    .many()
    .default("100us,1ms,10ms"),
    OptionRow::new(
        "ranks",
        RANKS,
        "LIST",
        "Numbers of ranks: a list like 1,64,1e5, or decades like 1..1e7",
    )
    .default("1..1e7"),
    OptionRow::new(
        "length",
        Value::Duration,
        "TIME",
        "Length of the measurement, for text files that do not contain it",
    ),
    OptionRow::new(
        "seed",
        Value::Count { least: 0, most: u64::MAX },
        "N",
        "Seed of all random numbers; the same seed gives the same results",
    )
    .default("1"),
    OptionRow::new(
        "budget",
        Value::Count { least: 0, most: u64::MAX },
        "N",
        "Largest number of steps of the recursion for one grain and number of ranks",
    )
    .default("100000000"),
];

impl Ask {
    /// Returns the request for these values of [`OPTIONS`].
    ///
    /// # Errors
    ///
    /// An option without a default has no value.
    pub fn read(answers: &Answers) -> Result<Self, Problem> {
        Ok(Self {
            grains_ns: answers.all::<Duration>("grain").into_iter().map(ns).collect(),
            ranks: answers.one("ranks")?,
            seed: answers.one("seed")?,
            budget: answers.one("budget")?,
        })
    }
}

/// Returns the length of the measurements in text files in ns, if it was given.
#[must_use]
pub fn length_ns(answers: &Answers) -> Option<u64> {
    answers.given::<Duration>("length").map(ns)
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Parses numbers and ranges of ranks; a range steps by decades and includes its end.
fn ranks(text: &str) -> Result<Vec<u64>, String> {
    let mut ranks = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => ranks.push(number(part)?),
            Some((first, last)) => {
                let (mut next, last) = (number(first)?, number(last)?);
                if next > last {
                    return Err(format!("'{part}' goes backwards; write a range like 1..1e7"));
                }
                while next < last {
                    ranks.push(next);
                    next *= 10;
                }
                ranks.push(last);
            }
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let whole = |number: &f64| number.fract() == 0.0 && (1.0..=MOST_RANKS as f64).contains(number);
    let number = text.parse::<f64>().ok().filter(whole);
    number.map(|number| number as u64).ok_or_else(|| {
        format!(
            "'{text}' is not a number of ranks; write one from 1 to {MOST_RANKS}, like 64 or 1e5"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::BUDGET;

    #[test]
    fn what_is_not_asked_for_is_usual() {
        let answers = Answers::read(OPTIONS, &[]).expect("defaults");
        assert_eq!(Ask::read(&answers), Ok(Ask::default()));
        assert_eq!(answers.one("budget"), Ok(BUDGET));
        assert_eq!(length_ns(&answers), None);
        let given = Answers::read(OPTIONS, &[("length", "2s")]).expect("a duration");
        assert_eq!(length_ns(&given), Some(2_000_000_000));
    }

    #[test]
    fn numbers_of_ranks() {
        let cases: [(&str, &[u64]); 6] = [
            ("1..1e3", &[1, 10, 100, 1_000]),
            ("64", &[64]),
            ("1e5, 8", &[8, 100_000]),
            ("5..2000", &[5, 50, 500, 2_000]),
            ("1..10,10..100", &[1, 10, 100]),
            ("1e9..1e9", &[1_000_000_000]),
        ];
        for (text, expected) in cases {
            assert_eq!(ranks(text), Ok(expected.to_vec()), "{text}");
        }
        for bad in ["", "0", "0..10", "10..1", "1e10", "1.5", "-3", "many", "1..", "nan", "1,,2"] {
            assert!(ranks(bad).is_err(), "{bad}");
        }
    }
}
