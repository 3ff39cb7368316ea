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
    details: "Spreadsheets, R and every data frame read it. The columns are start_ns since the start of the run, duration_ns \
              without the loop's own iteration, cpu, and source and name of what took most of the detour, which are empty \
              without attribution. Rows are sorted by CPU, then by time.",
    extension: "csv",
    binary: false,
    holds: Holds::Detours,
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

/// Returns a field without control characters, in quotes if it has a comma or a quote.
fn quoted(field: &str) -> String {
    let field = plain(field);
    match field.contains([',', '"']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}
