//! Detours, or the rows of another table, as comma-separated values.

use super::detours::main_source;
use super::{Export, Format, Holds};
use crate::style::plain;
use anechoic_recording::options::{OptionRow, Value};
use anechoic_recording::{
    Boundaries, Cell, Detour, EachTable, Problem, ProblemKind, Recording, Row, each_table,
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
              --table writes the rows of another table of the recording, in their order there: docs/format.md describes the columns. `threads` and \
              `delays` have the threads of a recorded program and each time in which one waited, and `marks` its marks.",
    extension: "csv",
    binary: false,
    holds: Holds::Detours,
    loops_only: false,
    options: OPTIONS,
    examples: "  anechoic export csv before -o detours.csv\n  anechoic export csv before --cpus 1 | head\n  anechoic export csv before --table activities -o activities.csv",
    write,
};

const DETOURS: &str = Detour::TABLE.name;
static OPTIONS: &[OptionRow] =
    &[OptionRow::new("table", Value::Choice(tables), "NAME", "Table whose rows are written")
        .default(DETOURS)];

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
    match export.answers.one("table")? {
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
        if !recording.dir().join(self.table).is_dir() {
            return Err(is_absent(self.table, recording));
        }
        let names: Vec<&str> = R::TABLE.columns().map(|column| column.name).collect();
        write!(self.out, "{}\r\n", names.join(","))?;
        let mut line = String::new();
        for row in recording.rows::<R>().each() {
            let row = row?;
            if row.cpu().is_some_and(|cpu| !self.export.has(cpu)) {
                continue;
            }
            line.clear();
            row.cells(&boundaries, &mut |cell| {
                match cell {
                    Cell::Text(text) => line.push_str(&quoted(text)),
                    number => line.push_str(&number.to_string()),
                }
                line.push(',');
            });
            line.pop();
            write!(self.out, "{line}\r\n")?;
        }
        Ok(())
    }
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
