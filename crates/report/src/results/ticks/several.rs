//! Several processors beside each other: what 1,000 interrupts per second take, by which estimator, and the trend from
//! the first to the last (Table 2 and Figures 4 to 6 of Tsafrir 2007).

use super::figures::STACK;
use super::words::{ESTIMATORS, nearest, share_here};
use crate::picture::{Axis, Chart, Curve, Draw, Estimated, Quantity, ROWS, Series};
use crate::published::{Figure6, published_share};
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{counted, hertz, percent, share};
use anechoic_predict::ticks::{Fitted, Model, Parts, ProcessorModel, Shares};

/// Returns the processors whose cost is significantly above 0.
fn resolved(model: &Model) -> impl Iterator<Item = (&ProcessorModel, &Parts)> {
    model.processors.iter().filter_map(|processor| Some((processor, processor.per_1000.as_ref()?)))
}

/// States how the costs change from the first to the last processor; empty for fewer than two.
pub(crate) fn trends(model: &Model) -> Vec<String> {
    let total = resolved(model).map(|(processor, parts)| (&*processor.name, parts.total));
    let total: Vec<(&str, f64)> = total.collect();
    let indirect = resolved(model)
        .filter_map(|(processor, _)| Some((&*processor.name, processor.shares?.median)));
    let indirect: Vec<(&str, f64)> = indirect.collect();
    [
        trend("The share of the CPU that 1,000 interrupts per second take", &total, percent),
        trend("The median indirect part of their cost", &indirect, share),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn trend(what: &str, values: &[(&str, f64)], text: fn(f64) -> String) -> Option<String> {
    let [(first, low), .., (last, high)] = values else { return None };
    let rises = high > low;
    let alike = values.windows(2).filter(|pair| (pair[1].1 > pair[0].1) == rises).count();
    let steps = values.len() - 1;
    let way = if rises { "rises" } else { "falls" };
    let ends = format!("from {} ({first}) to {} ({last})", text(*low), text(*high));
    let monotonic =
        if steps > 1 { format!(", in {alike} of {steps} steps") } else { String::new() };
    Some(format!("{what} {way} {ends}{monotonic}."))
}

/// Adds both tables, and how the estimators compare with what was published.
pub(crate) fn add_tables(model: &Model, screen: &mut Screen) {
    if resolved(model).next().is_none() {
        return;
    }
    screen.note("share of the CPU that 1,000 interrupts per second take");
    screen.table(parts_table(model));
    screen.gap();
    screen.note(
        "their indirect part by several estimators: fitted (median over the pairs of the cost of the interrupts that came), \
         mean over all pairs (Tsafrir's), mean over the pairs whose time rose, median over the pairs",
    );
    screen.table(estimators_table(model));
    published(model).iter().for_each(|text| screen.sentence(text));
    figure_6(model).iter().for_each(|text| screen.sentence(text));
}

/// One row of the table of parts: a processor in one mode of the handler.
struct ModeRow<'a> {
    name: &'a str,
    mode: &'a str,
    parts: &'a Parts,
    published: Option<f64>,
}

fn parts_table(model: &Model) -> Table {
    let rows: Vec<ModeRow<'_>> =
        resolved(model).flat_map(|(processor, parts)| mode_rows(processor, parts)).collect();
    Table::with_rows(&rows)
        .name("processor", |row| row.name.to_owned())
        .some_names("mode", 3, |row| Some(row.mode.to_owned()))
        .some_numbers("trap", 2, |row| row.parts.trap.map(percent))
        .some_numbers("gaps", 2, |row| row.parts.gap.map(percent))
        .number("handler", |row| percent(row.parts.handler))
        .number("indirect", |row| percent(row.parts.indirect))
        .number("all", |row| percent(row.parts.total))
        .some_numbers("published", 0, |row| row.published.map(two_digits))
        .captioned("Share of the CPU that 1,000 interrupts per second take")
}

/// Writes a published percentage as it was printed.
fn two_digits(percent: f64) -> String {
    format!("{percent:.2} %")
}

/// Returns a row for each mode, of which only the first names the processor.
fn mode_rows<'a>(processor: &'a ProcessorModel, parts: &'a Parts) -> Vec<ModeRow<'a>> {
    let published = |mode| published_share(processor, mode).map(|share| share.sum);
    let row = |mode: &'a str, parts| ModeRow { name: "", mode, parts, published: published(mode) };
    let mut rows: Vec<ModeRow<'_>> =
        processor.modes.iter().map(|mode| row(&mode.name, &mode.parts)).collect();
    if rows.is_empty() {
        rows.push(row("", parts));
    }
    rows[0].name = &processor.name;
    rows
}

fn estimators_table(model: &Model) -> Table {
    let rows: Vec<&ProcessorModel> = resolved(model).map(|(processor, _)| processor).collect();
    Table::with_rows(&rows)
        .name("processor", |processor| processor.name.clone())
        .some_numbers(ESTIMATORS[0].0, 0, |processor| estimate(processor, 0))
        .some_numbers(ESTIMATORS[1].0, 0, |processor| estimate(processor, 1))
        .some_numbers(ESTIMATORS[2].0, 0, |processor| estimate(processor, 2))
        .some_numbers(ESTIMATORS[3].0, 0, |processor| estimate(processor, 3))
        .some_numbers("pairs", 1, |processor| processor.estimators.map(|all| all.pairs.to_string()))
        .some_numbers("rose", 2, |processor| processor.estimators.map(|all| all.rises.to_string()))
        .some_numbers("published", 0, |processor| share_here(processor).map(two_digits))
        .captioned("Indirect part by estimator")
}

/// Returns the indirect part by the estimator `at`.
fn estimate(processor: &ProcessorModel, at: usize) -> Option<String> {
    processor.estimators.and_then(|all| ESTIMATORS[at].1(&all)).map(percent)
}

/// States how far each estimator is from the published values, and why the paper's own does not re-make them.
pub(crate) fn published(model: &Model) -> Option<String> {
    let known: Vec<(&ProcessorModel, f64)> = resolved(model)
        .filter_map(|(processor, _)| Some((processor, share_here(processor)?)))
        .collect();
    let size = |at| farthest(&known, at).map(|(_, value, published)| (value - published).abs());
    let best = nearest(size)?;
    let (name, mean, printed) = farthest(&known, 1)?;
    let fell = known.iter().find(|(processor, _)| processor.name == name)?.0.estimators?;
    let [fit, nearest] = [size(0)?, size(best)?].map(|points| format!("{points:.3}"));
    Some(format!(
        "Published: Table 2 of Tsafrir 2007, the mean over all pairs. From his printed times that mean differs from it by up \
         to {:.3} points ({name}: {mean:.2} % for {printed:.2} %), because the time falls in {} and these count in full. \
         Nearest is the {} ({}), at most {nearest} points off; the fit is at most {fit} points off.",
        (mean - printed).abs(),
        counted(fell.pairs - fell.rises, "pair", "pairs"),
        ESTIMATORS[best].0,
        ESTIMATORS[best].2,
    ))
}

/// Returns the processor for which the estimator `at` is farthest from the published value: its name, the estimate, and
/// the value.
fn farthest(known: &[(&ProcessorModel, f64)], at: usize) -> Option<(String, f64, f64)> {
    let estimates = known.iter().filter_map(|(processor, published)| {
        let value = ESTIMATORS[at].1(processor.estimators.as_ref()?)?;
        Some((processor.name.clone(), value, *published))
    });
    let size = |(_, value, published): &(String, f64, f64)| (value - published).abs();
    estimates.max_by(|a, b| size(a).total_cmp(&size(b)))
}

/// States how far the observed slowdown lies from the predicted one by the rule of the paper and by this model, and why;
/// nothing if the times are not those of Table 1.
pub(crate) fn figure_6(model: &Model) -> Option<String> {
    let mut printed: Vec<(&ProcessorModel, &Fitted, f64)> = vec![];
    for (processor, _) in resolved(model) {
        let Some(figure) = Figure6::from_model(processor) else { continue };
        let miss = |at: &Fitted| Some(figure.observed(&at.point)? - figure.predicted(&at.point));
        printed.extend(processor.points.iter().filter_map(|at| Some((processor, at, miss(at)?))));
    }
    let most = |(_, _, miss): &(&ProcessorModel, &Fitted, f64)| miss.abs();
    let (processor, at, miss) = printed.iter().max_by(|a, b| most(a).total_cmp(&most(b)))?;
    let here = printed.iter().filter_map(|(_, at, _)| Some((at.observed? - at.predicted?).abs()));
    Some(format!(
        "Published: Figure 6 of Tsafrir 2007 has the observed slowdown against f, the rate times the sum of Table 2. By this rule \
         his {} points lie up to {:.2} points from the diagonal ({}, {} at {}), because ticks interrupt the time that they \
         add, too: of T − B = f·T the slowdown is f/(1 − f). By the model here they lie up to {:.2} points from it. \
         `anechoic predict ticks --published --all` shows both for each point.",
        printed.len(),
        miss.abs() * 100.0,
        processor.name,
        counted(u64::from(at.point.copies), "copy", "copies"),
        hertz(at.point.nominal_hz()),
        here.fold(0.0, f64::max) * 100.0,
    ))
}

/// Returns the figures with their names and captions.
pub(crate) fn charts(model: &Model) -> Vec<(Chart, &'static str)> {
    if resolved(model).count() < 2 {
        return vec![];
    }
    vec![
        (parts_chart(model).named("parts"), PARTS),
        (shares_chart(model).named("indirect"), SHARES),
        (overhead_chart(model).named("overhead"), OVERHEAD),
    ]
}

const PARTS: &str = "Share of the CPU that 1,000 interrupts per second take on each processor: trap or gaps; direct, which \
adds the handler; all, which adds the indirect cost. A further point is the sum in another mode of the handler.";
const SHARES: &str = "Indirect part of the cost of an interrupt on each processor: median and interquartile range over all pairs of rates and \
numbers of copies.";
const OVERHEAD: &str = "Slowdown relative to no interrupts of all processors: observed against predicted. On the diagonal the model is \
exact.";

/// Returns a row for each processor with the sums of the parts, and the whole in another mode of the handler.
fn parts_chart(model: &Model) -> Chart {
    let names = resolved(model).map(|(processor, _)| processor.name.clone()).collect();
    let all = resolved(model);
    let mode = all.filter_map(|(processor, _)| processor.modes.get(1)).next();
    let mut series: Vec<Series> = STACK
        .iter()
        .map(|(name, letter, part)| {
            by_processor(model, name, *letter, |_, parts| Some(part(parts)))
        })
        .collect();
    series.extend(mode.map(|mode| {
        let total =
            |processor: &ProcessorModel, _: &Parts| Some(processor.modes.get(1)?.parts.total);
        by_processor(model, &format!("all, {}", mode.name), 'o', total)
    }));
    let axis = ("share of the CPU", Quantity::Share);
    let title = "share of the CPU that 1,000 interrupts per second take, by processor";
    Chart::by_name(names, &series, axis, "").titled(title, ROWS)
}

/// Returns a percentage of each processor.
fn by_processor(
    model: &Model,
    name: &str,
    letter: char,
    percent: impl Fn(&ProcessorModel, &Parts) -> Option<f64>,
) -> Series {
    let value = |(processor, parts)| {
        Some(Estimated { value: percent(processor, parts)? / 100.0, ends: None })
    };
    Series {
        name: name.to_owned(),
        letter: Some(letter),
        values: resolved(model).map(value).collect(),
    }
}

fn shares_chart(model: &Model) -> Chart {
    let with_shares: Vec<_> = resolved(model)
        .filter_map(|(processor, _)| Some((processor.name.clone(), processor.shares?)))
        .collect();
    let value = |(_, shares): &(String, Shares)| {
        Some(Estimated { value: shares.median, ends: Some((shares.q1, shares.q3)) })
    };
    let values = with_shares.iter().map(value).collect();
    let names = with_shares.iter().map(|(name, _)| name.clone()).collect();
    let series = [Series { name: "median".into(), letter: Some('•'), values }];
    let axis = ("indirect share", Quantity::Share);
    Chart::by_name(names, &series, axis, "interquartile range")
        .titled("indirect part of the cost of an interrupt, by processor", ROWS)
}

fn overhead_chart(model: &Model) -> Chart {
    let letters = ('a'..='z').chain('A'..='Z').map(Some).chain(std::iter::repeat(None));
    let mut curves = vec![];
    for ((number, (processor, _)), letter) in resolved(model).enumerate().zip(letters) {
        let fitted = processor.points.iter();
        let both = fitted.filter_map(|fitted| Some((fitted.predicted?, fitted.observed?)));
        let mut points: Vec<(f64, f64)> = both.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let curve = Curve::numbered(number, processor.name.clone(), Draw::Points, &points);
        curves.push(curve.lettered(letter));
    }
    let (x, y) =
        (Axis::linear("predicted", Quantity::Share), Axis::linear("observed", Quantity::Share));
    let chart = Chart::new(x, y, curves).titled("observed against predicted slowdown", ROWS);
    Chart { diagonal: true, ..chart }
}
