//! The tables of Tsafrir 2007 on a program that sorts, as input and results of the serial tick model.

use super::{Published, TICKS, find_on};
use anechoic_predict::ticks::{
    Costs, Fitted, HandlerMode, Origin, Point, Processor, ProcessorModel, Table,
};
use std::collections::BTreeMap;

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
    let cited = |place: &str| format!("{}, {place}", TICKS[0].paper.short);
    let origin = Origin::Files { times: cited("Table 1"), costs: cited("Figure 2") };
    Table { origin, processors, left_out: vec![] }
}

fn processor(times: &[&Published]) -> Processor {
    let name = times[0].machine;
    let modes = MODES.map(|mode| HandlerMode {
        name: mode.to_owned(),
        trap_us: direct_us(name, "trap"),
        handler_us: direct_us(name, &format!("{mode} handler")),
    });
    let costs = Costs::from_modes(modes.to_vec()).expect("two modes");
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
    let percent = |column| find_on(&TICKS, processor, (SHARES, mode, column)).map(number_of);
    Some(Share {
        trap: percent("trap")?,
        handler: percent("handler")?,
        indirect: percent("indirect")?,
        sum: percent("sum")?,
    })
}

/// Returns the row of Table 2 for a mode of this model; none if the model is of other times than those of Table 1.
#[must_use]
pub fn published_share(processor: &ProcessorModel, mode: &str) -> Option<Share> {
    let share = shares(&processor.name, mode)?;
    let published = |cell: &&Published| cell.experiment == TIMES && cell.machine == processor.name;
    let mut points = TICKS.iter().filter(published).map(point);
    points.all(|point| processor.points.iter().any(|fitted| fitted.point == point)).then_some(share)
}

/// Figure 6 as the paper computes it: f is the rate times the sum of Table 2, the time B without ticks of a number of copies is
/// the mean of T·(1 − f) over the rates, and (T − B)/B is drawn against f.
#[derive(Debug, Clone)]
pub(crate) struct Figure6 {
    /// Share of the CPU that one tick per second takes.
    per_tick: f64,
    /// Time without ticks in ms by number of copies.
    without_ms: BTreeMap<u32, f64>,
}

impl Figure6 {
    /// Computes it from the times of this model; none if they are other times than those of Table 1.
    pub(crate) fn from_model(processor: &ProcessorModel) -> Option<Self> {
        let per_tick =
            published_share(processor, &processor.modes.first()?.name)?.sum / 100.0 / 1_000.0;
        let mut sums = BTreeMap::<u32, (f64, f64)>::new();
        for Fitted { point, .. } in &processor.points {
            let (sum, number) = sums.entry(point.copies).or_default();
            *sum += point.ms * (1.0 - per_tick * point.rate_hz);
            *number += 1.0;
        }
        let means = sums.into_iter().map(|(copies, (sum, number))| (copies, sum / number));
        Some(Self { per_tick, without_ms: means.collect() })
    }

    /// Returns f of a point, the predicted share.
    pub(crate) fn predicted(&self, point: &Point) -> f64 {
        self.per_tick * point.rate_hz
    }

    /// Returns (T − B)/B of a point, the observed share; none for a number of copies that is not in Table 1.
    pub(crate) fn observed(&self, point: &Point) -> Option<f64> {
        let without_ms = self.without_ms.get(&point.copies)?;
        Some(point.ms / without_ms - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_predict::ticks::model;

    #[test]
    fn his_times_and_table_2_give_the_points_of_figure_6() {
        let found = model(&serial_table());
        // Processor, copies, rate; f = rate/1,000 · the sum of Table 2; B = mean of T·(1 − f), by hand; (T − B)/B.
        let points = [
            // 12.67·0.99949, 12.72·0.9949, 12.97·0.9745, 13.40·0.949, 14.05·0.898: mean 12.658_286_26.
            ("PIII-664", 1, 10_000.0, 0.051, 13.40 / 12.658_286_26 - 1.0),
            ("PIII-664", 1, 100.0, 0.000_51, 12.67 / 12.658_286_26 - 1.0),
            // 162.97·0.736, 140.03·0.868, 129.21·0.934, 122.13·0.986_8, 121.05·0.998_68: mean 120.716_439_6.
            ("P-90", 8, 20_000.0, 0.264, 162.97 / 120.716_439_6 - 1.0),
        ];
        for (name, copies, rate_hz, f, observed) in points {
            let processor =
                found.processors.iter().find(|processor| processor.name == name).expect(name);
            let figure = Figure6::from_model(processor).expect("his own times");
            let fitted = processor
                .points
                .iter()
                .find(|at| (at.point.copies, at.point.rate_hz) == (copies, rate_hz));
            let point = &fitted.expect("a cell of Table 1").point;
            let (x, y) = (figure.predicted(point), figure.observed(point).expect("known copies"));
            assert!(
                (x - f).abs() < 1e-12 && (y - observed).abs() < 1e-6,
                "{name}: {x}, {y}, {observed}"
            );
        }
        let drawn: usize = found.processors.iter().map(|processor| processor.points.len()).sum();
        assert_eq!(drawn, 120);
        let mut other = serial_table();
        other.processors[0].points[3].ms += 0.01;
        assert!(Figure6::from_model(&model(&other).processors[0]).is_none());
    }
}
