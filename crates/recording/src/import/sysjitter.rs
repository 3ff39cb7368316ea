//! What sysjitter writes: its table, and the raw files of `--raw`.

use super::importer::CPU;
use super::lines::{time_ns, wrong};
use super::{Imported, Importer, Lines, Read};
use crate::methods::LENGTHS;
use crate::options::Answers;
use crate::problem::Problem;

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "sysjitter",
    title: "sysjitter's raw files or its table",
    details: "The raw files of `sysjitter --raw` have the time of each interruption. The end of a file's name is its CPU, and all \
              files become one recording. The table has a column for each CPU and no times: it becomes a recording of counts \
              by length, which `summary` reads. An interruption is the whole time between two readings of the counter; \
              that of an undisturbed loop is not known and not taken off.",
    options: &[CPU],
    examples: "  anechoic import sysjitter raw.0 raw.1 -o jitter\n  anechoic import sysjitter table.txt -o jitter",
    read: Read::Detours(read),
};

const LOOP_INCLUDED: &str =
    "each interruption contains one iteration of sysjitter's loop, whose length is not known";
const WHOLE_MEGAHERTZ: &str =
    "sysjitter rounds the rate of the counter to whole MHz, and all times by the same factor";

/// Labels of the order statistics, with the share of interruptions that are shorter.
const QUANTILES: [(&str, f64); 6] = [
    ("int_median(ns)", 0.5),
    ("int_90(ns)", 0.9),
    ("int_99(ns)", 0.99),
    ("int_999(ns)", 0.999),
    ("int_9999(ns)", 0.9999),
    ("int_99999(ns)", 0.99999),
];
/// The other labels that are read.
const OTHERS: [&str; 7] = [
    "core_i",
    "threshold(ns)",
    "runtime(ns)",
    "int_n",
    "int_min(ns)",
    "int_max(ns)",
    "int_total(ns)",
];

fn read(lines: &mut Lines, answers: &Answers, imported: &mut Imported) -> Result<(), Problem> {
    let usual = u32::try_from(answers.one::<u64>("cpu")?).unwrap_or(u32::MAX);
    let cpu = lines.number_in_name().unwrap_or(usual);
    let mut table: Vec<(&'static str, Vec<u64>)> = vec![];
    lines.each(|line| match (line.strip_prefix('#'), line.split_once(':')) {
        (Some(comment), _) => fact(comment.trim(), cpu, imported),
        (None, Some((label, values))) => {
            let quantiles = QUANTILES.iter().map(|quantile| quantile.0);
            let Some(known) = OTHERS.into_iter().chain(quantiles).find(|known| *known == label)
            else {
                return Ok(());
            };
            if table.iter().any(|row| row.0 == known) {
                return Err(wrong(format!("there are two lines {known}")));
            }
            let number =
                |word: &str| word.parse().map_err(|_| wrong(format!("'{word}' is no number")));
            let values: Result<Vec<u64>, Problem> = values.split_whitespace().map(number).collect();
            table.push((known, values?));
            Ok(())
        }
        (None, None) => interruption(line, cpu, imported),
    })?;
    if table.is_empty() {
        return Ok(());
    }
    Table(table).read(imported).map_err(|problem| lines.about(problem))
}

/// Reads a comment at the beginning of a raw file.
fn fact(comment: &str, cpu: u32, imported: &mut Imported) -> Result<(), Problem> {
    let Some((name, value)) = comment.split_once(':') else { return Ok(()) };
    let (value, unit) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    match (name, unit) {
        ("threshold", _) => {
            let ns = time_ns(value.trim_end_matches("ns"), 1)?;
            imported.threshold(ns.saturating_sub(1)); // what is as long as it also counts
            imported.note(LOOP_INCLUDED);
            imported.note(WHOLE_MEGAHERTZ);
            Ok(())
        }
        ("total_runtime", "seconds") => imported.watched(cpu, time_ns(value, 1_000_000_000)?),
        _ => Ok(()),
    }
}

/// Reads a line of a raw file: when the interruption ended, the time since the previous one unless the file is sorted by
/// length, its length in cycles and in ns.
fn interruption(line: &str, cpu: u32, imported: &mut Imported) -> Result<(), Problem> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (end, length) = match fields[..] {
        [end, _, _, length] | [end, _, length] => (time_ns(end, 1)?, time_ns(length, 1)?),
        _ => return Err(wrong(format!("it has {} columns, not 4", fields.len()))),
    };
    let start = end.checked_sub(length);
    let start = start.ok_or_else(|| wrong("this interruption begins before the measurement"))?;
    imported.add(cpu, start, length).map_err(|problem| match fields.len() {
        3 => wrong(format!("{}; a file of --sort is in order after `sort -n`", problem.why)),
        _ => problem,
    })
}

/// The lines of the table that are read.
struct Table(Vec<(&'static str, Vec<u64>)>);

impl Table {
    /// Returns the value of a line for a column.
    fn value(&self, label: &str, column: usize) -> Result<u64, Problem> {
        let row = self.0.iter().find(|row| row.0 == label);
        let row = row.ok_or_else(|| wrong(format!("it has no line {label}")))?;
        let value = row.1.get(column).copied();
        value.ok_or_else(|| wrong(format!("its line {label} has {} columns", row.1.len())))
    }

    fn read(&self, imported: &mut Imported) -> Result<(), Problem> {
        let columns = self.0.iter().map(|row| row.1.len()).max().unwrap_or(0);
        for column in 0..columns {
            let field = |label| self.value(label, column);
            let cpu = u32::try_from(field("core_i")?).unwrap_or(u32::MAX);
            imported.watched(cpu, field("runtime(ns)")?)?;
            imported.threshold(field("threshold(ns)")?.saturating_sub(1));
            imported.total(cpu, field("int_total(ns)")?)?;
            let number = field("int_n")?;
            let known = self.known(column, number)?;
            let Some(shortest) = known.first() else {
                imported.count(LENGTHS, cpu, 0..1, 0)?;
                continue;
            };
            imported.count(LENGTHS, cpu, shortest.1..shortest.1 + 1, 1)?;
            for pair in known.windows(2) {
                let [(before, from), (after, to)] = [pair[0], pair[1]];
                if to < from {
                    return Err(wrong(format!("its quantiles fall from {from} to {to} ns")));
                }
                imported.count(LENGTHS, cpu, from..to + 1, after - before - 1)?;
                imported.count(LENGTHS, cpu, to..to + 1, 1)?;
            }
        }
        imported.note(LOOP_INCLUDED);
        imported.note(WHOLE_MEGAHERTZ);
        Ok(())
    }

    /// Returns the place of each known interruption among all when they are sorted, and its length, without the last ns.
    fn known(&self, column: usize, number: u64) -> Result<Vec<(u64, u64)>, Problem> {
        let mut known = vec![];
        let Some(last) = number.checked_sub(1) else { return Ok(known) };
        known.push((0, self.value("int_min(ns)", column)?));
        for (label, share) in QUANTILES {
            // As sysjitter computes it.
            let place = (number as f64 * share) as u64;
            known.push((place.min(last), self.value(label, column)?));
        }
        known.push((last, self.value("int_max(ns)", column)?));
        known.sort_by_key(|interruption| interruption.0);
        known.dedup_by_key(|interruption| interruption.0);
        let too_long = known.iter().find(|interruption| interruption.1 >= super::writer::LATEST_NS);
        match too_long {
            Some((_, ns)) => Err(wrong(format!("an interruption of {ns} ns"))),
            None => Ok(known),
        }
    }
}
