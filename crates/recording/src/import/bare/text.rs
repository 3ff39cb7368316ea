//! The text that the image without an operating system writes: its lines and its checksum; bare/src/text.rs defines it.

use crate::problem::{Problem, ProblemKind};
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// The newest version of the text that is read. Version 1 had one CPU.
const VERSION: u64 = 2;
/// The word of the first line.
const FIRST: &str = "anechoic-bare";

/// A line of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// Number of the line in the file, from 1.
    number: usize,
    /// Its first word.
    pub(super) word: &'t str,
    /// What follows the first word.
    pub(super) rest: &'t str,
}

/// Why a line cannot be read: its number and the reason.
pub(super) type Wrong = (usize, String);

impl<'t> Line<'t> {
    /// Returns the reason why this line is wrong.
    pub(super) fn wrong(&self, why: &str) -> Wrong {
        (self.number, format!("{}: {why}", self.word))
    }

    /// Returns the numbers of the line.
    pub(super) fn numbers(&self) -> Result<Vec<u64>, Wrong> {
        let numbers: Result<_, _> = self.rest.split(' ').map(u64::from_str).collect();
        numbers.map_err(|_| self.wrong("a number was expected"))
    }

    /// Returns the first `N` words of the rest; the last one takes all that is left.
    pub(super) fn words<const N: usize>(&self) -> Result<[&'t str; N], Wrong> {
        let words: Vec<&str> = self.rest.splitn(N, ' ').collect();
        words.try_into().map_err(|_| self.wrong("a value is missing"))
    }

    /// Returns a number in the text of this line.
    pub(super) fn number(&self, text: &str) -> Result<u64, Wrong> {
        text.parse().map_err(|_| self.wrong(&format!("'{text}' is not a number")))
    }

    /// Returns the number in front and the values by their names.
    pub(super) fn fields(self) -> Result<(u64, Fields<'t>), Wrong> {
        let (number, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        let values = rest.split(' ').filter_map(|field| field.split_once('=')).collect();
        Ok((self.number(number)?, Fields { line: self, values }))
    }
}

/// The values of a line by their names.
#[derive(Debug, Clone)]
pub(super) struct Fields<'t> {
    line: Line<'t>,
    values: BTreeMap<&'t str, &'t str>,
}

impl<'t> Fields<'t> {
    /// Returns the reason why the line is wrong.
    pub(super) fn wrong(&self, why: &str) -> Wrong {
        self.line.wrong(why)
    }

    /// Returns a value if the line has it.
    pub(super) fn find(&self, name: &str) -> Option<&'t str> {
        self.values.get(name).copied()
    }

    /// Returns a number if the line has it.
    pub(super) fn find_number(&self, name: &str) -> Result<Option<u64>, Wrong> {
        self.find(name).map(|text| self.line.number(text)).transpose()
    }

    /// Returns a value that the line must have.
    pub(super) fn text(&self, name: &str) -> Result<&'t str, Wrong> {
        self.find(name).ok_or_else(|| self.line.wrong(&format!("it has no {name}")))
    }

    /// Returns a number that the line must have.
    pub(super) fn number(&self, name: &str) -> Result<u64, Wrong> {
        self.line.number(self.text(name)?)
    }
}

/// Returns the lines of the last result in the file, without the first and the last, whose checksum they match.
pub(super) fn lines<'t>(file: &Path, content: &'t str) -> Result<Vec<Line<'t>>, Problem> {
    let data =
        |why: String, remedy: &str| ProblemKind::Data.problem(why, remedy).about(file.display());
    let mut all = content.split('\n').map(|line| line.trim_end_matches('\r')).enumerate();
    let begins = |line: &'t str| {
        line.rfind(FIRST).map(|at| &line[at..]).filter(|line| version(line).is_some())
    };
    let last = { all.clone() }.filter_map(|(at, line)| Some((at, begins(line)?))).last();
    let Some((begin, first)) = last else {
        let why = match { all }.find(|line| line.1.starts_with("anechoic-bare failed")) {
            Some((_, failed)) => failed.to_owned(),
            None => "it holds no result of the image without an operating system".to_owned(),
        };
        return Err(data(why, "name the file that the image wrote, or what its serial port sent"));
    };
    let found = version(first).unwrap_or(VERSION);
    if found > VERSION {
        let why = format!(
            "its format has version {found}, and this anechoic reads versions up to {VERSION}"
        );
        return Err(data(why, "use a newer anechoic"));
    }
    let (mut lines, mut sum) = (vec![], Sum::default().line(first));
    for (at, line) in all.by_ref().skip(begin + 1).filter(|(_, line)| !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "end" {
            return match rest == format!("{} {:08x}", lines.len() + 1, sum.value()) {
                true => Ok(lines),
                false => Err(data(
                    format!("line {}: the lines before it do not match its checksum", at + 1),
                    "copy the file again; a serial line may lose characters",
                )),
            };
        }
        sum = sum.line(line);
        lines.push(Line { number: at + 1, word, rest });
    }
    let why = format!("it is cut off after {} lines, before its end", content.lines().count());
    Err(data(
        why,
        "copy the file again, take what the serial port sent (the disk may have been full), or let the image measure to its end",
    ))
}

/// Returns the version in the first line of a result.
fn version(line: &str) -> Option<u64> {
    line.strip_prefix(FIRST)?.strip_prefix(' ')?.split(' ').next()?.parse().ok()
}

/// CRC-32 (IEEE 802.3) of lines.
#[derive(Debug, Clone, Copy)]
struct Sum(u32);

impl Default for Sum {
    fn default() -> Self {
        Sum(!0)
    }
}

impl Sum {
    fn value(self) -> u32 {
        !self.0
    }

    /// Continues with a line and its end.
    fn line(self, line: &str) -> Self {
        Sum(line.bytes().chain([b'\n']).fold(self.0, |sum, byte| {
            let start = sum ^ u32::from(byte);
            (0..8).fold(start, |sum, _| sum >> 1 ^ 0xedb8_8320 & (sum & 1).wrapping_neg())
        }))
    }
}

/// Converts the reason why a line is wrong to the problem of the file.
pub(super) fn problem(file: &Path, (line, why): Wrong) -> Problem {
    let why = format!("line {line}: {why}");
    ProblemKind::Data
        .problem(why, "the image and this anechoic must be of the same version")
        .about(file.display())
}
