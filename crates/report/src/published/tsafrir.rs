//! The tables of Tsafrir 2007 on a program that sorts, as input and results of the serial tick model.

use super::{Published, TICKS, find_on};
use anechoic_predict::ticks::{
    Costs, HandlerMode, Origin, Point, Processor, ProcessorModel, Table,
};

/// Experiment of his Table 1.
const TIMES: &str = "time to sort an array";
/// Experiment of his Figure 2.
const DIRECT: &str = "direct cost of a tick";
/// Experiment of his Table 2.
const SHARES: &str = "overhead per 1,000 ticks";
/// The modes of the handler. The times of Table 1 were measured in the first, in which a tick reads no external clock.
const MODES: [&str; 2] = ["PIT", "TSC"];

/// Returns the times of Table 1 with the costs of Figure 2 in both modes of the handler.
#[must_use]
pub fn serial_table() -> Table {
    let times: Vec<&Published> = TICKS.iter().filter(|cell| cell.experiment == TIMES).collect();
    let processors = times.chunk_by(|a, b| a.machine == b.machine).map(processor).collect();
    let of = |place: &str| format!("{}, {place}", TICKS[0].paper.short);
    let origin = Origin::Files { times: of("Table 1"), costs: of("Figure 2") };
    Table { origin, processors, left_out: vec![] }
}

fn processor(times: &[&Published]) -> Processor {
    let name = times[0].machine;
    let mode = |mode: &str| HandlerMode {
        name: mode.to_owned(),
        trap_us: direct_us(name, "trap"),
        handler_us: direct_us(name, &format!("{mode} handler")),
    };
    let costs = Costs::of_modes(MODES.map(mode).to_vec()).expect("two modes");
    Processor::given(name.to_owned(), times.iter().map(|cell| point(cell)).collect(), costs)
}

/// Returns a cell of Table 1: its row is the number of copies, its column the rate.
fn point(cell: &Published) -> Point {
    let first = |text: &str| text.split(' ').next().and_then(|number| number.parse::<u32>().ok());
    let number = |text| first(text).unwrap_or_else(|| panic!("{text} begins with a number"));
    Point::given(number(cell.row), f64::from(number(cell.column)), number_of(cell))
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

/// Returns the row of Table 2 of a processor in a mode; none for other processors or modes.
fn shares(processor: &str, mode: &str) -> Option<Share> {
    let of = |column| find_on(&TICKS, processor, (SHARES, mode, column)).map(number_of);
    Some(Share {
        trap: of("trap")?,
        handler: of("handler")?,
        indirect: of("indirect")?,
        sum: of("sum")?,
    })
}

/// Returns the row of Table 2 for a mode of this model; none if the model is of other times than those of Table 1.
#[must_use]
pub fn published_share(of: &ProcessorModel, mode: &str) -> Option<Share> {
    let share = shares(&of.name, mode)?;
    let published = |cell: &&Published| cell.experiment == TIMES && cell.machine == of.name;
    let same = |cell: &Published| {
        let of_cell = point(cell);
        of.points.iter().any(|fitted| fitted.point == of_cell)
    };
    TICKS.iter().filter(published).all(same).then_some(share)
}
