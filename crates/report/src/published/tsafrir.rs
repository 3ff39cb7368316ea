//! The tables of Tsafrir 2007 on a program that sorts, as input and results of the serial tick model.

use super::{Published, TICKS, find_on};
use anechoic_predict::ticks::{Costs, Origin, Point, Processor, RateFrom, Scheduler, Table};

/// Experiment of his Table 1.
const TIMES: &str = "time to sort an array";
/// Experiment of his Figure 2.
const DIRECT: &str = "direct cost of a tick";
/// Experiment of his Table 2.
const SHARES: &str = "overhead per 1,000 ticks";
/// The mode of the handler while the times of his Table 1 were measured: the tick reads no external clock.
pub const MEASURED_MODE: &str = "PIT";

/// Returns the times of Table 1 with the costs of Figure 2 in the mode in which they were measured.
#[must_use]
pub fn serial_table() -> Table {
    let times: Vec<&Published> = TICKS.iter().filter(|cell| cell.experiment == TIMES).collect();
    let processors = times.chunk_by(|a, b| a.machine == b.machine).map(processor).collect();
    let of = |place: &str| format!("{}, {place}", TICKS[0].paper.short);
    Table { origin: Origin::Files { times: of("Table 1"), costs: of("Figure 2") }, processors }
}

fn processor(times: &[&Published]) -> Processor {
    let name = times[0].machine;
    Processor {
        name: name.to_owned(),
        points: times.iter().map(|cell| point(cell)).collect(),
        costs: Costs {
            trap_us: direct_us(name, "trap"),
            trap_min_us: None,
            handler_us: direct_us(name, &format!("{MEASURED_MODE} handler")),
            gap_us: None,
            added: vec![],
            tick: None,
        },
        own_tick_hz: None,
        scheduler: Scheduler::none("tables do not contain single ticks"),
        notes: vec![],
    }
}

/// Returns a cell of Table 1: its row is the number of copies, its column the rate.
fn point(cell: &Published) -> Point {
    let first = |text: &str| text.split(' ').next().and_then(|number| number.parse::<u32>().ok());
    let number = |text| first(text).unwrap_or_else(|| panic!("{text} begins with a number"));
    Point {
        copies: number(cell.row),
        rate_hz: f64::from(number(cell.column)),
        asked_hz: None,
        rate_from: RateFrom::Table,
        ms: number_of(cell),
        standard_error_ms: None,
        blocks: 0,
        by_block: vec![],
        sorts: None,
    }
}

fn direct_us(processor: &str, row: &str) -> f64 {
    let cell = find_on(&TICKS, processor, (DIRECT, row, "time"));
    cell.map_or_else(|| panic!("{processor} has no {row}"), number_of)
}

fn number_of(cell: &Published) -> f64 {
    cell.value.number().unwrap_or_else(|| panic!("{cell:?} is a number"))
}

/// The percentages of a CPU that 1,000 ticks per second take by Table 2, on one processor in one mode of the handler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Share of traps.
    pub trap: f64,
    /// Share of handlers.
    pub handler: f64,
    /// Share of the indirect cost.
    pub indirect: f64,
    /// Their sum, as printed.
    pub sum: f64,
}

/// Returns the row of Table 2 of a processor in a mode (`PIT` or `TSC`); none for other processors or modes.
#[must_use]
pub fn shares(processor: &str, mode: &str) -> Option<Share> {
    let of = |column| find_on(&TICKS, processor, (SHARES, mode, column)).map(number_of);
    Some(Share {
        trap: of("trap")?,
        handler: of("handler")?,
        indirect: of("indirect")?,
        sum: of("sum")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_predict::ticks::model;

    #[test]
    fn all_tables_are_there() {
        let table = serial_table();
        let names: Vec<&str> = table.processors.iter().map(|of| &*of.name).collect();
        assert_eq!(names, ["P-90", "PPro-200", "PII-350", "PIII-664", "PIII-1.133", "PIV-2.2"]);
        for of in &table.processors {
            let copies: Vec<u32> = of.points.iter().map(|point| point.copies).collect();
            assert_eq!(copies, [1, 2, 4, 8].map(|copies| [copies; 5]).concat(), "{}", of.name);
            for row in ["trap", "TSC handler", "PIT handler"] {
                assert!(direct_us(&of.name, row) > 0.0);
            }
            for mode in ["PIT", "TSC"] {
                let share = shares(&of.name, mode).expect("both modes");
                let sum = share.trap + share.handler + share.indirect;
                assert!((share.sum - sum).abs() < 0.0101, "{}, {mode}: {share:?}", of.name);
            }
        }
        assert_eq!(shares("P-90", "HPET"), None);
        // The handler in µs is that in cycles: his clocks of 90 and 350 MHz.
        for (processor, mhz) in [("P-90", 90.0), ("PII-350", 350.0)] {
            let cycles = find_on(&TICKS, processor, (DIRECT, "TSC handler", "cycles"));
            let us = cycles.map_or(0.0, number_of) / mhz;
            assert!((us - direct_us(processor, "TSC handler")).abs() < 0.03, "{processor}");
        }
    }

    #[test]
    fn his_times_give_his_table_2() {
        let model = model(&serial_table());
        for of in &model.processors {
            let published = shares(&of.name, MEASURED_MODE).expect("published");
            let fitted = of.per_1000.expect("a cost above 0");
            let near = |found: f64, published: f64, most: f64| (found - published).abs() <= most;
            assert!(near(fitted.indirect, published.indirect, 0.045), "{}: {fitted:?}", of.name);
            assert!(near(fitted.total, published.sum, 0.055), "{}: {fitted:?}", of.name);
            assert!(near(fitted.trap.expect("no gap"), published.trap, 0.015), "{}", of.name);
            assert!(near(fitted.handler, published.handler, 0.005), "{}", of.name);
        }
    }
}
