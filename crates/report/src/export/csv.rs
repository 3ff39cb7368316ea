//! Detours, or the rows of another table, as comma-separated values.

use super::detours::main_source;
use super::{Export, Format, Holds, Recorded};
use crate::style::plain;
use anechoic_recording::options::{OptionRow, Value};
use anechoic_recording::{
    Boundaries, Cell, Detour, EachTable, Growth, Problem, ProblemKind, Recording, Row, Sample,
    each_table, topology,
};
use std::convert::Infallible;
use std::io::Write;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "csv",
    title: "comma-separated values (RFC 4180): a row for each detour, or those of another table",
    details: "Spreadsheets, R and every data frame read it, so it has no comments: doubts about the run are stated on stderr. The columns are start_ns since the start of the run, duration_ns \
              without the loop's own iteration, cpu, and source and name of what took most of the detour, which are empty \
              without attribution; a name that begins like a formula (= + - @) has an apostrophe in front. Rows are sorted by CPU, then by time. \
              --table writes the rows of another table of the recording, in their order there (with --cpus those of these CPUs, and threads that executed on them): docs/format.md describes the columns. Of a recording of wake-ups these are the `samples`, \
              and of a monitor's counters their `growth`, also without --table. `threads` and \
              `delays` have the threads of a recorded program and each time in which one waited, and `marks` its marks.",
    extension: "csv",
    binary: false,
    holds: Holds::Rows,
    takes: &[Recorded::Loops, Recorded::Program, Recorded::WakeUps, Recorded::Counters],
    options: OPTIONS,
    examples: "  anechoic export csv before -o detours.csv\n  anechoic export csv before --cpus 1 | head\n  anechoic export csv before --table activities -o activities.csv",
    write,
};

const DETOURS: &str = Detour::TABLE.name;
static OPTIONS: &[OptionRow] = &[OptionRow::new(
    "table",
    Value::Choice(tables),
    "NAME",
    "Table whose rows are written [default: detours; of wake-ups samples, of a monitor's counters growth]",
)];

/// Returns the names of all tables.
fn tables() -> Vec<(&'static str, &'static str)> {
    struct Names(Vec<(&'static str, &'static str)>);

    impl EachTable for Names {
        type Error = Infallible;

        fn table<R: Row>(&mut self) -> Result<(), Infallible> {
            self.0.push((R::TABLE.name, ""));
            Ok(())
        }
    }

    let mut names = Names(vec![]);
    let Ok(()) = each_table(&mut names);
    names.0
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let usual = match Recorded::from_run(export.run()) {
        Recorded::Loops | Recorded::Program => DETOURS,
        Recorded::WakeUps => Sample::TABLE.name,
        Recorded::Counters => Growth::TABLE.name,
    };
    match export.answers.given("table").unwrap_or(usual) {
        DETOURS => detours(export, out),
        table => each_table(&mut Rows { table, export, out }),
    }
}

/// Writes the rows of one table as they are.
struct Rows<'a> {
    table: &'static str,
    export: &'a Export<'a>,
    out: &'a mut dyn Write,
}

impl EachTable for Rows<'_> {
    type Error = Problem;

    fn table<R: Row>(&mut self) -> Result<(), Problem> {
        if R::TABLE.name != self.table {
            return Ok(());
        }
        let recording = self.export.recording();
        let boundaries = Boundaries::new(&recording.run().clock, recording.run().start_ticks);
        if !recording.dir().join(self.table).is_dir() && !may_be_empty(self.table, recording) {
            return Err(is_absent(self.table, recording));
        }
        let names: Vec<&str> = R::TABLE.shown_columns().map(|column| column.name).collect();
        let chosen = self.export.chosen();
        let place = names.iter().position(|name| ["cpu", "cpus"].contains(name));
        if chosen.is_some() && place.is_none() {
            return Err(has_no_cpus(self.table));
        }
        write!(self.out, "{}\r\n", names.join(","))?;
        let mut line = String::new();
        for row in recording.rows::<R>().each() {
            let row = row?;
            line.clear();
            let (mut at, mut is_chosen) = (0, true);
            row.cells(&boundaries, &mut |cell| {
                if let (Some(cpus), true) = (chosen, Some(at) == place) {
                    is_chosen = has_any(cell, cpus);
                }
                at += 1;
                match cell {
                    Cell::Text(text) => line.push_str(&quoted(text)),
                    number => line.push_str(&number.to_string()),
                }
                line.push(',');
            });
            line.pop();
            if is_chosen {
                write!(self.out, "{line}\r\n")?;
            }
        }
        Ok(())
    }
}

/// Returns whether a cell with a CPU, or a list of CPUs, has one of these.
fn has_any(cell: Cell<'_>, cpus: &[u32]) -> bool {
    match cell {
        Cell::Text(list) => {
            topology::ranges(list).any(|range| cpus.iter().any(|cpu| range.contains(cpu)))
        }
        Cell::Unsigned(number) => cpus.iter().any(|&cpu| u64::from(cpu) == number),
        Cell::Signed(_) | Cell::Absent => false,
    }
}

/// Returns whether a recording without this table had nothing to write into it.
fn may_be_empty(table: &str, recording: &Recording) -> bool {
    let (run, program) = (recording.run(), recording.run().program.as_ref());
    match table {
        "losses" => true,
        "events" | "names" => run.trace.is_some(),
        "marks" => program.is_some_and(|program| program.marked.is_some()),
        "stacks" => program.is_some_and(|program| program.stack_cost.is_some()),
        _ => false,
    }
}

fn has_no_cpus(table: &str) -> Problem {
    let why = format!("the rows of the table {table} belong to no CPU");
    ProblemKind::Usage.problem(why, "leave out --cpus")
}

fn is_absent(table: &str, recording: &Recording) -> Problem {
    let why = format!("it has no table {table}");
    let remedy = match (table, recording.run().program.is_some()) {
        ("threads" | "delays" | "marks", false) => {
            "only a recording of a program has it: see `anechoic record --help`"
        }
        ("marks", true) => "the program had no marks: see `anechoic record --mark`",
        ("threads" | "delays", true) => "`anechoic attribute` derives it for older recordings",
        _ => "see `anechoic summary` for what was measured",
    };
    ProblemKind::Data.problem(why, remedy).about(recording.dir().display())
}

fn detours(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    write!(out, "start_ns,duration_ns,cpu,source,name\r\n")?;
    let clock = &export.run().clock;
    for cpu in export.cpus() {
        export.detours(cpu, |detour| {
            let (source, name) = main_source(detour.activities);
            write!(
                out,
                "{},{},{},{},{}\r\n",
                export.since_start_ns(detour.start_ticks),
                clock.ns(detour.lost_ticks),
                detour.cpu,
                quoted(source),
                quoted(name)
            )?;
            Ok(())
        })?;
    }
    Ok(())
}

/// What spreadsheets take for the beginning of a formula.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

/// Returns a field without control characters, in quotes if it has a comma or a quote. A name that a spreadsheet would
/// compute gets an apostrophe in front, with which spreadsheets mark text.
fn quoted(field: &str) -> String {
    let mark = if field.starts_with(FORMULA) { "'" } else { "" };
    let field = format!("{mark}{}", plain(field));
    match field.contains([',', '"']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_a_formula() {
        for (name, cell) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-bash", "'-bash"),
            ("+x,\"y\"", "\"'+x,\"\"y\"\"\""),
            ("\t=1", "?=1"),
            ("\r=1", "?=1"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(quoted(name), cell, "{name:?}");
        }
    }
}
