//! Detours as comma-separated values.

use super::detours::main_source;
use super::{Export, Format, Holds};
use crate::style::plain;
use anechoic_recording::Problem;
use std::io::Write;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "csv",
    title: "comma-separated values (RFC 4180): a row for each detour",
    details: "Spreadsheets, R and every data frame read it, so it has no comments: doubts about the run are stated on stderr. The columns are start_ns since the start of the run, duration_ns \
              without the loop's own iteration, cpu, and source and name of what took most of the detour, which are empty \
              without attribution; a name that begins like a formula (= + - @) has an apostrophe in front. Rows are sorted by CPU, then by time.",
    extension: "csv",
    binary: false,
    holds: Holds::Detours,
    loops_only: false,
    options: &[],
    examples: "  anechoic export csv before -o detours.csv\n  anechoic export csv before --cpus 1 | head",
    write,
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
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
