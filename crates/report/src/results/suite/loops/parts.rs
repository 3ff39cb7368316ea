//! Samples that take a half and a third of a tick's period (Figure 15 of the paper).

use super::alone;
use crate::picture::{Chart, Curve, Draw, Mark};
use crate::published::{HALF_OF_A_TICK, Published, TICKS, find};
use crate::results::measured::histogram::by_time;
use crate::results::measured::names::{Named, shown};
use crate::results::suite::cell;
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{asked, count, micros_exact, share};
use crate::{palette, style};
use anechoic_analyze::samples::Measured;
use anechoic_analyze::samples::figures::Histogram;

/// Samples of a part of a tick's period.
pub(super) struct Part<'a> {
    /// The tick's period divided by the grain.
    divisor: u64,
    /// The first loop.
    named: Named<'a>,
}

impl<'a> Part<'a> {
    /// Returns the samples of this set; nothing if it has none.
    pub(super) fn new(divisor: u64, set: &'a Measured) -> Option<Self> {
        let named = shown(set, true).into_iter().next()?;
        named.result.distribution.is_some().then_some(Self { divisor, named })
    }

    /// Names the part: `half`.
    fn name(&self) -> String {
        match self.divisor {
            2 => "half".to_owned(),
            3 => "third".to_owned(),
            other => format!("{other}th part"),
        }
    }

    fn grain_ns(&self) -> u64 {
        self.named.result.facts.grain_ns
    }

    /// Returns the share of the samples with a tick, of those for which that is known.
    fn with_tick(&self) -> Option<f64> {
        let ticks = self.named.result.ticks.as_ref()?;
        let known = ticks.with_tick + ticks.without_tick;
        (known > 0).then(|| ticks.with_tick as f64 / known as f64)
    }

    /// Returns the median of the samples without a tick.
    fn without_ns(&self) -> Option<f64> {
        self.named.result.ticks.as_ref()?.without_median_ns
    }

    /// Returns the same with what one tick adds.
    fn with_ns(&self) -> Option<f64> {
        Some(self.without_ns()? + alone(self.named.result)?.per_tick_ns)
    }
}

/// Adds the histograms of the first loop at each part of a tick's period, beside what was published.
pub(super) fn figure_15(parts: &[Part<'_>], screen: &mut Screen) {
    if parts.is_empty() {
        return;
    }
    screen.section("samples of a half and of a third of a tick's period (Figure 15)");
    for part in parts {
        if let Some((chart, caption)) = drawn(part) {
            screen.pictured(chart, caption);
        }
    }
    screen.table(table(parts));
    screen.note(
        "without a tick: median; with one: the same, and what one tick that came alone adds; the paper has ticks at 1,000 Hz",
    );
}

/// Returns the histogram of one part with its caption.
fn drawn(part: &Part<'_>) -> Option<(Chart, String)> {
    let histogram = part.named.result.figures.histogram.as_ref()?;
    let mut chart = by_time(&part.named)?.named(format!("figure 15 {}", part.name()));
    let top = histogram.counts.iter().copied().max().unwrap_or(0) as f64;
    let names = ["without a tick", "with one tick"];
    let levels = names.into_iter().zip([part.without_ns(), part.with_ns()]);
    for (number, (name, ns)) in levels.enumerate() {
        let Some(ns) = ns.filter(|ns| covers(histogram, *ns)) else { continue };
        let points = [(ns, 0.0), (ns, top)];
        let (rest, segments) = (palette::REST, Draw::Segments);
        chart.curves.push(Curve::colored(rest, number + 1, name.to_owned(), segments, &points));
        chart.marks.push(Mark { x: ns, y: top, label: name.to_owned() });
    }
    let what = format!(
        "{}, samples of {}",
        style::plain(&part.named.result.facts.variant),
        asked(part.grain_ns())
    );
    let title = format!("Figure 15 · {what}, a {} of a tick's period", part.name());
    let with_tick = part.with_tick().map_or(String::new(), |with_tick| {
        format!(" {} of the samples had a tick.", share(with_tick))
    });
    let outside = histogram.below.saturating_add(histogram.above);
    let samples = part.named.result.facts.samples;
    let caption = format!(
        "As Figure 15 of the paper: histogram of {what}, a {} of a tick's period.{with_tick} Grey lines: the median without a tick, \
         and what one tick adds to it; {}. {} of {} samples lie outside.",
        part.name(),
        there(),
        count(outside),
        count(samples)
    );
    Some((chart.titled(title, ROWS), caption))
}

/// Rows of a chart in the terminal.
const ROWS: usize = 8;

fn covers(histogram: &Histogram, ns: f64) -> bool {
    (histogram.low..=histogram.low + histogram.width * histogram.counts.len() as f64).contains(&ns)
}

fn published(row: &str, column: &str) -> Option<&'static Published> {
    find(&TICKS, HALF_OF_A_TICK, row, column)
}

/// States what was published of the half.
fn there() -> String {
    let time = |row| published(row, "time").map_or("–".into(), |cell| cell.text());
    let [without, with] = ["without a tick", "with a tick"].map(time);
    format!("in the paper {without} and {with} at a grain of 500 µs")
}

/// Returns the times of each part, and those published.
fn table(parts: &[Part<'_>]) -> Table {
    let heads = ["grain", "with a tick", "without, µs", "with one, µs", "fasties"];
    let mut table = Table::with_names("part of a tick's period", &heads)
        .captioned("Samples of parts of a tick's period, published and measured");
    let text = |row, column| published(row, column).map_or("–".into(), |cell| cell.value.text());
    let machine = published("fasties", FASTIES).map_or("", |cell| cell.machine);
    table.row(vec![
        format!("half, {machine}"),
        "500 µs".to_owned(),
        "about a half".to_owned(),
        text("without a tick", "time"),
        text("with a tick", "time"),
        text("fasties", FASTIES),
    ]);
    for part in parts {
        let distribution = part.named.result.distribution.as_ref();
        table.row(vec![
            format!("{}, here", part.name()),
            asked(part.grain_ns()),
            cell(part.with_tick(), share),
            cell(part.without_ns(), micros_exact),
            cell(part.with_ns(), micros_exact),
            distribution.map_or("–".into(), |distribution| count(distribution.fasties.count)),
        ]);
    }
    table
}

/// Column: samples much shorter than all others.
const FASTIES: &str = "number of 10,000";
