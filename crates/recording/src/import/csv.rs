//! Tables of start and duration.

use super::importer::CPU;
use super::lines::{time_ns, wrong};
use super::{Imported, Importer, Lines, Read};
use crate::options::{Answers, OptionRow, Value};
use crate::problem::{Problem, ProblemKind};

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "csv",
    title: "a table of start and duration",
    details: "Columns are separated by commas, semicolons, tabs or blanks. A line without numbers names them: start and \
              duration, and cpu if there is one (start_ns and duration_ns will do); without such a line the first two columns \
              are start and duration. Other columns are ignored, and so are lines that begin with #. Times count from the \
              beginning of the measurement, and the detours of a CPU must be in order of time.",
    options: &[
        OptionRow::new("unit", Value::Choice(units), "UNIT", "Unit of both times").default("ns"),
        CPU,
    ],
    examples: "  anechoic import csv detours.csv -o elsewhere\n  anechoic import csv jitter.txt --unit us --cpu 3 -o jitter",
    read: Read::Detours(read),
};

fn units() -> Vec<(&'static str, &'static str)> {
    vec![("ns", ""), ("us", ""), ("ms", ""), ("s", "")]
}

/// Places of the columns.
struct Columns {
    start: usize,
    duration: usize,
    cpu: Option<usize>,
}

fn read(lines: &mut Lines, answers: &Answers, imported: &mut Imported) -> Result<(), Problem> {
    let unit = answers.one::<&str>("unit")?;
    let unit_ns = match unit {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        _ => 1,
    };
    let usual = u32::try_from(answers.one::<u64>("cpu")?).unwrap_or(u32::MAX);
    let mut columns: Option<Columns> = None;
    lines.each(|line| {
        if line.starts_with('#') {
            return Ok(());
        }
        let fields: Vec<&str> = fields(line);
        let Some(columns) = &columns else {
            let named = fields.iter().all(|field| field.parse::<f64>().is_err());
            columns = Some(if named { Columns::named(&fields, unit)? } else { Columns::first() });
            return if named {
                Ok(())
            } else {
                Columns::first().row(&fields, unit_ns, usual, imported)
            };
        };
        columns.row(&fields, unit_ns, usual, imported)
    })
}

/// Splits a line at commas, or else semicolons, or else blanks.
fn fields(line: &str) -> Vec<&str> {
    match [',', ';'].into_iter().find(|&separator| line.contains(separator)) {
        Some(separator) => {
            line.split(separator).map(|field| field.trim().trim_matches('"')).collect()
        }
        None => line.split_whitespace().collect(),
    }
}

/// Returns the place of the column of times whose name begins with this word, if it is in the unit of the times.
fn time_column(names: &[&str], word: &str, unit: &str) -> Result<usize, Problem> {
    let place =
        names.iter().position(|name| words(name).first().is_some_and(|first| first == word));
    let place = place.ok_or_else(|| wrong(format!("no column is called {word}")))?;
    let last = words(names[place]).pop();
    match last.filter(|last| units().iter().any(|known| known.0 == last.as_str())) {
        Some(other) if other != unit => {
            let why = format!("the column {} is not in {unit}", names[place]);
            Err(ProblemKind::Usage.problem(why, format!("use --unit {other}")))
        }
        _ => Ok(place),
    }
}

/// Returns the words of a column's name in small letters.
fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}

impl Columns {
    fn first() -> Self {
        Self { start: 0, duration: 1, cpu: None }
    }

    /// Finds the columns by their names; a unit in one must be that of the times.
    fn named(names: &[&str], unit: &str) -> Result<Self, Problem> {
        let cpu = names.iter().position(|name| words(name) == ["cpu"]);
        let [start, duration] = ["start", "duration"].map(|word| time_column(names, word, unit));
        Ok(Self { start: start?, duration: duration?, cpu })
    }

    fn row(
        &self,
        fields: &[&str],
        unit_ns: u64,
        usual: u32,
        imported: &mut Imported,
    ) -> Result<(), Problem> {
        let field = |place: usize| {
            let missing = || wrong(format!("it has {} columns", fields.len()));
            fields.get(place).copied().ok_or_else(missing)
        };
        let time = |place| time_ns(field(place)?, unit_ns);
        let cpu = match self.cpu.map(field).transpose()? {
            Some(cpu) => cpu.parse().map_err(|_| wrong(format!("'{cpu}' is no CPU")))?,
            None => usual,
        };
        imported.add(cpu, time(self.start)?, time(self.duration)?)
    }
}
