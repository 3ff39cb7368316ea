//! Reads a table from two CSV files.

use super::csv::{self, Row};
use super::table::{Costs, HandlerMode, MOST_POINTS, Origin, Point, Processor, Table};
use anechoic_recording::Problem;
use anechoic_recording::options::{OptionRow, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The options.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "times",
        Value::Path,
        "FILE",
        "Times of the work: CSV with the columns processor,copies,rate_hz,milliseconds",
    )
    .requires("costs"),
    OptionRow::new(
        "costs",
        Value::Path,
        "FILE",
        "Costs of an interrupt: CSV with the columns processor,trap_us,handler_us; a further column mode names the ways in \
         which the kernel handles a tick, and the first row of a processor is the one in which its times were measured",
    )
    .requires("times"),
    OptionRow::new(
        "published",
        Value::Flag,
        "",
        "Use the published times and costs of six processors (Tsafrir 2007) instead of recordings",
    ),
];

const TIMES: [&str; 4] = ["processor", "copies", "rate_hz", "milliseconds"];
const COSTS: [&str; 4] = ["processor", "?mode", "trap_us", "handler_us"];

/// Reads times (columns processor, copies, rate_hz, milliseconds) and costs (processor, trap_us, handler_us, optionally
/// mode) of kernels built with several tick rates. Costs of processors without times are left out, and named.
///
/// # Errors
///
/// A file cannot be read or parsed; the error names the line and what was expected.
pub fn read_files(times: &Path, costs_file: &Path) -> Result<Table, Problem> {
    let mut costs_of = read_costs(costs_file)?;
    let rows = csv::read(times, TIMES)?;
    if let Some(row) = rows.get(MOST_POINTS) {
        return Err(row.wrong(format!("more than {MOST_POINTS} rows"), "remove some"));
    }
    let mut processors: Vec<Processor> = vec![];
    let mut seen: HashMap<(String, u32, u64), usize> = HashMap::new();
    let mut first_lines = vec![];
    for row in &rows {
        let name = row.text(0);
        let point = point(row)?;
        let key = (name.to_owned(), point.copies, point.rate_hz.to_bits());
        if let Some(line) = seen.insert(key, row.line) {
            let why = format!(
                "a second time of {name} at copies {} and {} Hz, after line {line}",
                point.copies, point.rate_hz
            );
            return Err(row.wrong(why, "remove one"));
        }
        if let Some(known) = processors.iter_mut().find(|known| known.name == name) {
            known.points.push(point);
            continue;
        }
        let Some(costs) = costs_of.remove(name) else {
            let why = format!("{name} has no costs in {}", costs_file.display());
            return Err(row.wrong(why, "add a row with trap_us and handler_us there"));
        };
        first_lines.push(row);
        processors.push(Processor::given(name.to_owned(), vec![point], costs));
    }
    for (processor, row) in processors.iter().zip(first_lines) {
        let alone = |point: &Point| {
            let same = |other: &Point| other.copies == point.copies && other != point;
            !processor.points.iter().any(same)
        };
        if processor.points.iter().all(alone) {
            let why = format!("{} has times at only one rate", processor.name);
            let remedy = "the model needs at least two rates at the same number of copies";
            return Err(row.wrong(why, remedy));
        }
    }
    let path = |path: &Path| path.display().to_string();
    let origin = Origin::Files { times: path(times), costs: path(costs_file) };
    let left_out = |name: &String| format!("{name} has costs, but no times in {}", path(times));
    let left_out = costs_of.keys().map(left_out).collect();
    Ok(Table { origin, processors, left_out })
}

fn point(row: &Row<'_, 4>) -> Result<Point, Problem> {
    // A rate of 0: without ticks, or nothing added to them.
    Ok(Point::given(row.whole(1)?, row.number(2, true)?, row.number(3, false)?))
}

/// Returns the costs of each processor, with all its modes.
fn read_costs(file: &Path) -> Result<BTreeMap<String, Costs>, Problem> {
    let mut modes: BTreeMap<String, Vec<HandlerMode>> = BTreeMap::new();
    let rows = csv::read(file, COSTS)?;
    if let Some(row) = rows.get(MOST_POINTS) {
        return Err(row.wrong(format!("more than {MOST_POINTS} rows"), "remove some"));
    }
    for row in &rows {
        let (name, mode) = (row.text(0), row.text(1));
        let known_modes = modes.entry(name.to_owned()).or_default();
        if known_modes.iter().any(|known| known.name == mode) {
            let mode = if mode.is_empty() { String::new() } else { format!(" in mode {mode}") };
            return Err(row.wrong(format!("a second row of costs of {name}{mode}"), "remove one"));
        }
        let (trap_us, handler_us) = (row.number(2, false)?, row.number(3, false)?);
        known_modes.push(HandlerMode { name: mode.to_owned(), trap_us, handler_us });
    }
    let costs = modes.into_iter().filter_map(|(name, modes)| {
        let mut costs = Costs::from_modes(modes)?;
        costs.modes.retain(|mode| !mode.name.is_empty());
        Some((name, costs))
    });
    Ok(costs.collect())
}
