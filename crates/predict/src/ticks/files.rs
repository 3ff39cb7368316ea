//! Reads a table from two CSV files.

use super::csv::{self, Row};
use super::scheduler::Scheduler;
use super::table::{Costs, MOST_POINTS, Origin, Point, Processor, RateFrom, Table};
use anechoic_recording::Problem;
use anechoic_recording::options::{OptionRow, Value};
use std::collections::HashMap;
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
        "Costs of an interrupt: CSV with the columns processor,trap_us,handler_us",
    )
    .requires("times"),
];

const TIMES: [&str; 4] = ["processor", "copies", "rate_hz", "milliseconds"];
const COSTS: [&str; 3] = ["processor", "trap_us", "handler_us"];

/// Reads times (columns processor, copies, rate_hz, milliseconds) and costs (processor, trap_us, handler_us) of kernels
/// built with several tick rates. Costs of processors without times are ignored.
///
/// # Errors
///
/// A file cannot be read or parsed; the error names the line and what was expected.
pub fn read_files(times: &Path, costs: &Path) -> Result<Table, Problem> {
    let costs_of = read_costs(costs)?;
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
        let Some(costs_of) = costs_of.get(name) else {
            let why = format!("{name} has no costs in {}", costs.display());
            return Err(row.wrong(why, "add a row with trap_us and handler_us there"));
        };
        first_lines.push(row);
        processors.push(Processor {
            name: name.to_owned(),
            points: vec![point],
            costs: costs_of.clone(),
            own_tick_hz: None,
            scheduler: Scheduler::none("tables do not contain single ticks"),
            notes: vec![],
        });
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
    Ok(Table { origin: Origin::Files { times: path(times), costs: path(costs) }, processors })
}

fn point(row: &Row<'_, 4>) -> Result<Point, Problem> {
    Ok(Point {
        copies: row.whole(1)?,
        // 0: without ticks, or nothing added to them.
        rate_hz: row.number(2, true)?,
        asked_hz: None,
        rate_from: RateFrom::Table,
        ms: row.number(3, false)?,
        standard_error_ms: None,
        blocks: 0,
        by_block: vec![],
        sorts: None,
    })
}

fn read_costs(file: &Path) -> Result<HashMap<String, Costs>, Problem> {
    let mut costs = HashMap::new();
    for row in csv::read(file, COSTS)? {
        let of = Costs {
            trap_us: row.number(1, false)?,
            trap_min_us: None,
            handler_us: row.number(2, false)?,
            gap_us: None,
            added: vec![],
            tick: None,
        };
        let name = row.text(0).to_owned();
        if costs.insert(name, of).is_some() {
            let why = format!("a second row of costs of {}", row.text(0));
            return Err(row.wrong(why, "remove one"));
        }
    }
    Ok(costs)
}
