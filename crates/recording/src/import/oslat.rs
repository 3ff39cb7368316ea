//! The result of oslat, as text or JSON.

use super::lines::{time_ns, wrong};
use super::writer::LATEST_NS;
use super::{Imported, Importer, Lines, Read};
use crate::methods::LENGTHS;
use crate::options::{Answers, OptionRow, Value};
use crate::problem::{Problem, ProblemKind};
use serde::Deserialize;
use serde_json::Number;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "oslat",
    title: "the result of oslat, as it is printed or from --json",
    details: "oslat counts every round of its loop by length and keeps no times: the recording has counts by length, which \
              `summary` reads. The shortest bucket that has any is the undisturbed loop; rounds of the buckets above it \
              are the detours, each with the loop's own round in it.",
    options: &[OptionRow::new(
        "over",
        Value::Duration,
        "TIME",
        "Shortest round that is a detour [default: the end of the shortest bucket that has any]",
    )],
    examples: "  anechoic import oslat oslat.json -o oslat\n  anechoic import oslat oslat.txt --over 5us -o oslat",
    read: Read::Detours(read),
};

const LOOP_INCLUDED: &str = "each detour contains one round of oslat's loop";

/// The file of `--json`, as far as it is read.
#[derive(Deserialize)]
struct Document {
    thread: BTreeMap<String, Thread>,
}

#[derive(Deserialize)]
struct Thread {
    cpu: u32,
    min: Number,
    max: Number,
    duration: Number,
    histogram: BTreeMap<String, u64>,
}

/// What oslat found on a CPU.
#[derive(Default)]
struct Column {
    cpu: u32,
    /// The shortest and the longest round, rounded up to the unit.
    least_ns: u64,
    most_ns: u64,
    duration_ns: u64,
    /// The bucket of each label that has any round.
    buckets: BTreeMap<u64, u64>,
    /// Lengths are whole multiples of this.
    unit_ns: u64,
}

fn read(lines: &mut Lines, answers: &Answers, imported: &mut Imported) -> Result<(), Problem> {
    let columns = match lines.json::<Document>()? {
        Some(document) => {
            let columns = document.thread.values().map(column).collect::<Result<Vec<_>, _>>();
            columns.map_err(|problem| lines.about(problem))?
        }
        None => text(lines)?,
    };
    let over = answers.given::<Duration>("over");
    let over_ns = over.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    for column in &columns {
        column.import(over_ns, imported).map_err(|problem| lines.about(problem))?;
    }
    Ok(())
}

const MICROSECOND: u64 = 1_000;

fn column(thread: &Thread) -> Result<Column, Problem> {
    // With buckets that are no whole microseconds all is in ns, except the labels.
    let fine = thread.histogram.keys().any(|label| label.contains('.'));
    let unit_ns = if fine { 1 } else { MICROSECOND };
    let bucket = |(label, &number): (&String, &u64)| {
        time_ns(label, MICROSECOND).map(|label_ns| (label_ns, number))
    };
    let buckets = thread.histogram.iter().filter(|(_, number)| **number > 0);
    Ok(Column {
        cpu: thread.cpu,
        least_ns: time_ns(&thread.min.to_string(), unit_ns)?,
        most_ns: time_ns(&thread.max.to_string(), unit_ns)?,
        duration_ns: time_ns(&thread.duration.to_string(), 1_000_000_000)?,
        buckets: buckets.map(bucket).collect::<Result<_, _>>()?,
        unit_ns,
    })
}

/// Reads what is printed: a line for each bucket and each number, with a column for each CPU.
fn text(lines: &mut Lines) -> Result<Vec<Column>, Problem> {
    let mut columns: Vec<Column> = vec![];
    lines.each(|line| {
        let Some((label, values)) = line.split_once(":\t") else { return Ok(()) };
        let values =
            values.split_once(" (").map_or(values, |(numbers, _)| numbers).split_whitespace();
        if label == "Core" {
            let cpu = |word: &str| word.parse().map_err(|_| wrong(format!("'{word}' is no CPU")));
            let column = |cpu| Column { cpu, unit_ns: MICROSECOND, ..Column::default() };
            columns = values.map(|word| cpu(word).map(column)).collect::<Result<_, _>>()?;
            return Ok(());
        }
        let bucket = label.strip_suffix(" (us)").map(|time| time_ns(time, MICROSECOND));
        let bucket = bucket.transpose()?;
        let known = bucket.is_some() || ["Minimum", "Maximum", "Duration"].contains(&label);
        if !known || columns.is_empty() {
            return Ok(());
        }
        let values: Vec<&str> = values.collect();
        if values.len() != columns.len() {
            let (found, cpus) = (values.len(), columns.len());
            return Err(wrong(format!("it has {found} values, for {cpus} CPUs")));
        }
        columns
            .iter_mut()
            .zip(values)
            .try_for_each(|(column, value)| column.set(label, bucket, value))
    })?;
    Ok(columns)
}

impl Column {
    /// Takes a value of a printed line.
    fn set(&mut self, label: &str, bucket: Option<u64>, value: &str) -> Result<(), Problem> {
        match (bucket, label) {
            (Some(ns), _) => {
                let number = value.parse().map_err(|_| wrong(format!("'{value}' is no number")))?;
                if label.contains('.') {
                    self.unit_ns = 1;
                }
                if number > 0 {
                    self.buckets.insert(ns, number);
                }
            }
            (None, "Minimum") => self.least_ns = time_ns(value, MICROSECOND)?,
            (None, "Maximum") => self.most_ns = time_ns(value, MICROSECOND)?,
            (None, _) => self.duration_ns = time_ns(value, 1_000_000_000)?,
        }
        Ok(())
    }

    /// Returns the lengths of the rounds in the bucket of this label. oslat rounds a length up to its unit. Without a bias
    /// the first versions label a bucket with its longest length; otherwise it may also have those a unit shorter.
    fn lengths(&self, label_ns: u64, exact: bool, width_ns: u64) -> Range<u64> {
        let below = width_ns + if exact { 0 } else { self.unit_ns };
        label_ns.saturating_sub(below) + 1..label_ns.max(1) + 1
    }

    fn import(&self, over_ns: Option<u64>, imported: &mut Imported) -> Result<(), Problem> {
        imported.watched(self.cpu, self.duration_ns)?;
        imported.note(LOOP_INCLUDED);
        let labels: Vec<u64> = self.buckets.keys().copied().collect();
        let (Some(&first), Some(&last)) = (labels.first(), labels.last()) else {
            return Err(wrong(format!("it counted nothing on CPU {}", self.cpu)));
        };
        if last.max(self.most_ns).max(self.least_ns) >= LATEST_NS {
            return Err(wrong(format!("a round of CPU {} is longer than ten years", self.cpu)));
        }
        let distances = labels.windows(2).map(|pair| pair[1] - pair[0]);
        let width = distances.min().unwrap_or(self.unit_ns).max(self.unit_ns);
        let exact = self.least_ns >= first;
        let last_start = self.lengths(last, exact, width).start;
        if let Some(over) = over_ns.filter(|over| *over > last_start) {
            let why = format!(
                "--over {over}ns: rounds longer than {last_start} ns are counted in one bucket"
            );
            return Err(ProblemKind::Usage.problem(why, format!("take at most {last_start}ns")));
        }
        imported.count(LENGTHS, self.cpu, 0..1, 0)?;
        for (&label, &number) in &self.buckets {
            let Range { start, end } = self.lengths(label, exact, width);
            let is_loop = over_ns.map_or(label == first, |over| start < over);
            if is_loop {
                imported.threshold(end - 1); // all that is longer is counted
            } else if label < last {
                imported.count(LENGTHS, self.cpu, start..end, number)?;
            } else {
                // The last bucket also has what is too long for all, and the longest, which is known.
                let most = self.most_ns.max(end - 1);
                let most_from = most.saturating_sub(self.unit_ns) + 1;
                imported.count(LENGTHS, self.cpu, most_from.max(start)..most + 1, 1)?;
                imported.count(LENGTHS, self.cpu, start..most + 1, number.saturating_sub(1))?;
            }
        }
        Ok(())
    }
}
