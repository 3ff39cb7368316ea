//! The files of published numbers: one for each paper, one number in each row.
//!
//! The first line cites the paper, the second names the columns: where the number stands (table, figure or section, and
//! the page of the paper, counted from 1), the machine, the experiment, row and column, the value and its unit.

use super::Paper;
use std::ops::Deref;
use std::sync::OnceLock;

/// The columns of a file.
const COLUMNS: &str = "place\tpage\tmachine\texperiment\trow\tcolumn\tvalue\tunit";

/// A published number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A single value.
    Is(f64),
    /// A mean and its standard deviation.
    Spread(f64, f64),
    /// A range of values.
    Between(f64, f64),
    /// An upper limit.
    UpTo(f64),
    /// The paper found none.
    NoneSeen,
    /// A name, such as a kind of memory.
    Name(&'static str),
}

/// A cell of a published table, or a number in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Table, figure or section of the paper.
    pub place: &'static str,
    /// Page of the paper, from 1.
    pub page: u32,
    /// Machine on which it was measured, as far as known.
    pub machine: &'static str,
    /// Measured quantity.
    pub experiment: &'static str,
    /// Row: a work kernel by its name here, or a description.
    pub row: &'static str,
    /// Column: place or condition.
    pub column: &'static str,
    /// The value.
    pub value: Value,
    /// Unit of the value: `µs`, `%`, `cycles`; empty for counts and names.
    pub unit: &'static str,
    /// The paper.
    pub paper: Paper,
}

/// The published numbers of a paper.
#[derive(Debug)]
pub struct Numbers {
    paper: &'static Paper,
    text: &'static str,
    rows: OnceLock<Vec<Published>>,
}

impl Numbers {
    /// Returns the numbers of a paper from the text of its file.
    pub(super) const fn new(paper: &'static Paper, text: &'static str) -> Self {
        Self { paper, text, rows: OnceLock::new() }
    }

    /// Returns the paper.
    pub(super) fn paper(&self) -> &Paper {
        self.paper
    }
}

impl Deref for Numbers {
    type Target = [Published];

    fn deref(&self) -> &[Published] {
        self.rows.get_or_init(|| parse(self.paper, self.text))
    }
}

/// Reads a file. The files are part of the program and every row is tested, so a wrong row is a bug.
fn parse(paper: &Paper, text: &'static str) -> Vec<Published> {
    let mut lines = text.lines();
    let cited = lines.next().and_then(|line| line.strip_prefix("# "));
    assert_eq!(cited, Some(paper.full), "the first line cites the paper");
    assert_eq!(lines.next(), Some(COLUMNS), "the second line names the columns");
    let row = |line| row(paper, line).unwrap_or_else(|| panic!("{}: \"{line}\"", paper.short));
    lines.map(row).collect()
}

fn row(paper: &Paper, line: &'static str) -> Option<Published> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [place, page, machine, experiment, row, column, value, unit] = cells[..] else {
        return None;
    };
    let (page, value) = (page.parse().ok()?, Value::parse(value)?);
    Some(Published { place, page, machine, experiment, row, column, value, unit, paper: *paper })
}

impl Value {
    /// Reads a value: `26.4`, `153±24`, `0.5..1.5`, `<=85`, `none`; anything else is a name.
    fn parse(text: &'static str) -> Option<Self> {
        let number = |text: &str| text.parse::<f64>().ok();
        let both = |(a, b): (&str, &str)| Some((number(a)?, number(b)?));
        if text.is_empty() {
            return None;
        }
        if let Some((mean, deviation)) = text.split_once('±').and_then(both) {
            return Some(Self::Spread(mean, deviation));
        }
        if let Some((low, high)) = text.split_once("..").and_then(both) {
            return Some(Self::Between(low, high));
        }
        if let Some(most) = text.strip_prefix("<=").and_then(number) {
            return Some(Self::UpTo(most));
        }
        Some(match number(text) {
            _ if text == "none" => Self::NoneSeen,
            Some(value) => Self::Is(value),
            None => Self::Name(text),
        })
    }

    /// Returns the value, or the mean of several.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Is(value) | Self::Spread(value, _) => Some(value),
            _ => None,
        }
    }

    /// Writes the value without its unit: `26.4`, `153 ± 24`, `0.5–1.5`, `up to 85`, `none`.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Is(value) => value.to_string(),
            Self::Spread(mean, deviation) => format!("{mean} ± {deviation}"),
            Self::Between(low, high) => format!("{low}–{high}"),
            Self::UpTo(most) => format!("up to {most}"),
            Self::NoneSeen => "none".into(),
            Self::Name(name) => name.into(),
        }
    }
}

impl Published {
    /// Writes the value with its unit: `26.4 µs`, `none`.
    #[must_use]
    pub fn text(&self) -> String {
        match self.value {
            Value::NoneSeen | Value::Name(_) => self.value.text(),
            value => format!("{} {}", value.text(), self.unit).trim_end().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let cases = [
            ("26.415", Value::Is(26.415), "26.415"),
            ("153±24", Value::Spread(153.0, 24.0), "153 ± 24"),
            ("0.5..1.5", Value::Between(0.5, 1.5), "0.5–1.5"),
            ("<=85", Value::UpTo(85.0), "up to 85"),
            ("none", Value::NoneSeen, "none"),
            ("DDR2-SD", Value::Name("DDR2-SD"), "DDR2-SD"),
        ];
        for (text, value, written) in cases {
            assert_eq!(Value::parse(text), Some(value), "{text}");
            assert_eq!(value.text(), written);
        }
        assert_eq!(Value::parse(""), None);
    }
}
