//! Several processors beside each other: what 1,000 interrupts per second take, by which estimator, and the trend from
//! the first to the last (Table 2 and Figures 4 to 6 of Tsafrir 2007).

use super::figures::stacked;
use super::words::{ESTIMATORS, nearest, share_here};
use crate::picture::{Axis, Chart, Curve, Draw, Estimated, Place, Quantity, ROWS, Series};
use crate::published::{Figure6, published_share};
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{counted, hertz, percent, share};
use anechoic_predict::ticks::{Fitted, Model, Parts, ProcessorModel, Shares};

/// Returns the processors whose cost is significantly above 0.
fn resolved(model: &Model) -> impl Iterator<Item = (&ProcessorModel, &Parts)> {
    model.processors.iter().filter_map(|of| Some((of, of.per_1000.as_ref()?)))
}

/// States how the costs change from the first to the last processor; empty for fewer than two.
pub(crate) fn trends(model: &Model) -> Vec<String> {
    let named = |value: fn(&ProcessorModel, &Parts) -> Option<f64>| -> Vec<(&str, f64)> {
        resolved(model).filter_map(|(of, parts)| Some((&*of.name, value(of, parts)?))).collect()
    };
    let total = named(|_, parts| Some(parts.total));
    let indirect = named(|of, _| of.shares.map(|shares| shares.median));
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
        resolved(model).flat_map(|(of, parts)| mode_rows(of, parts)).collect();
    Table::of_rows(&rows)
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
fn two_digits(of: f64) -> String {
    format!("{of:.2} %")
}

/// Returns a row for each mode, of which only the first names the processor.
fn mode_rows<'a>(of: &'a ProcessorModel, parts: &'a Parts) -> Vec<ModeRow<'a>> {
    let row = |mode: &'a str, parts| {
        let published = published_share(of, mode).map(|share| share.sum);
        ModeRow { name: "", mode, parts, published }
    };
    let mut rows: Vec<ModeRow<'_>> =
        of.modes.iter().map(|mode| row(&mode.name, &mode.parts)).collect();
    if rows.is_empty() {
        rows.push(row("", parts));
    }
    rows[0].name = &of.name;
    rows
}

fn estimators_table(model: &Model) -> Table {
    let rows: Vec<&ProcessorModel> = resolved(model).map(|(of, _)| of).collect();
    let value = |at: usize| {
        move |of: &&ProcessorModel| {
            of.estimators.and_then(|all| ESTIMATORS[at].1(&all)).map(percent)
        }
    };
    Table::of_rows(&rows)
        .name("processor", |of| of.name.clone())
        .some_numbers(ESTIMATORS[0].0, 0, value(0))
        .some_numbers(ESTIMATORS[1].0, 0, value(1))
        .some_numbers(ESTIMATORS[2].0, 0, value(2))
        .some_numbers(ESTIMATORS[3].0, 0, value(3))
        .some_numbers("pairs", 1, |of| of.estimators.map(|all| all.pairs.to_string()))
        .some_numbers("rose", 2, |of| of.estimators.map(|all| all.rises.to_string()))
        .some_numbers("published", 0, |of| share_here(of).map(two_digits))
        .captioned("Indirect part by estimator")
}

/// States how far each estimator is from the published values, and why the paper's own does not re-make them.
pub(crate) fn published(model: &Model) -> Option<String> {
    let known: Vec<(&ProcessorModel, f64)> =
        resolved(model).filter_map(|(of, _)| Some((of, share_here(of)?))).collect();
    let off = |at: usize| {
        let off = |(of, published): &(&ProcessorModel, f64)| {
            let value = ESTIMATORS[at].1(of.estimators.as_ref()?)?;
            Some((of.name.clone(), value, *published))
        };
        let size = |(_, value, published): &(String, f64, f64)| (value - published).abs();
        known.iter().filter_map(off).max_by(|a, b| size(a).total_cmp(&size(b)))
    };
    let size = |at| off(at).map(|(_, value, published)| (value - published).abs());
    let best = nearest(size)?;
    let (name, mean, printed) = off(1)?;
    let fell = known.iter().find(|(of, _)| of.name == name)?.0.estimators?;
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

/// States how far the observed slowdown lies from the predicted one by the rule of the paper and by this model, and why;
/// nothing if the times are not those of Table 1.
pub(crate) fn figure_6(model: &Model) -> Option<String> {
    let mut printed: Vec<(&ProcessorModel, &Fitted, f64)> = vec![];
    for (of, _) in resolved(model) {
        let Some(figure) = Figure6::of(of) else { continue };
        let miss = |at: &Fitted| Some(figure.observed(&at.point)? - figure.predicted(&at.point));
        printed.extend(of.points.iter().filter_map(|at| Some((of, at, miss(at)?))));
    }
    let most = |(_, _, miss): &(&ProcessorModel, &Fitted, f64)| miss.abs();
    let (of, at, miss) = printed.iter().max_by(|a, b| most(a).total_cmp(&most(b)))?;
    let here = printed.iter().filter_map(|(_, at, _)| Some((at.observed? - at.predicted?).abs()));
    Some(format!(
        "Published: Figure 6 of Tsafrir 2007 has the observed slowdown against f, the rate times the sum of Table 2. By this rule \
         his {} points lie up to {:.2} points from the diagonal ({}, {} at {}), because ticks interrupt the time that they \
         add, too: of T − B = f·T the slowdown is f/(1 − f). By the model here they lie up to {:.2} points from it. \
         `anechoic predict ticks --published --all` shows both for each point.",
        printed.len(),
        miss.abs() * 100.0,
        of.name,
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

const PARTS: &str = "Share of the CPU that 1,000 interrupts per second take on each processor, stacked: trap or gaps, handler, indirect \
cost. A further line shows the sum in another mode of the handler.";
const SHARES: &str = "Indirect part of the cost of an interrupt on each processor: median and interquartile range over all pairs of rates and \
numbers of copies.";
const OVERHEAD: &str = "Slowdown relative to no interrupts of all processors: observed against predicted. On the diagonal the model is \
exact.";

/// Returns the axis on which each processor has its place.
fn processors(model: &Model) -> Axis {
    let place = |(at, (of, _)): (usize, (&ProcessorModel, _))| Place {
        at: at as f64,
        name: of.name.clone(),
    };
    Axis::named("processor", resolved(model).enumerate().map(place).collect())
}

fn parts_chart(model: &Model) -> Chart {
    let line = |value: &dyn Fn(&ProcessorModel, &Parts) -> Option<f64>| -> Vec<(f64, f64)> {
        let at = |(at, (of, parts)): (usize, _)| Some((at as f64, value(of, parts)? / 100.0));
        resolved(model).enumerate().filter_map(at).collect()
    };
    let mut curves = stacked(|part| line(&|_, parts| Some(part(parts))));
    let other = |of: &ProcessorModel, _: &Parts| Some(of.modes.get(1)?.parts.total);
    let mode = resolved(model).find_map(|(of, _)| Some(of.modes.get(1)?.name.clone()));
    curves.extend(mode.map(|mode| {
        let number = curves.len();
        Curve::numbered(number, format!("all, {mode}"), Draw::Line, &line(&other))
            .lettered(Some('o'))
    }));
    let y = Axis::linear("share of the CPU", Quantity::Share);
    let y = y.over(curves.iter().flat_map(|curve| curve.y.clone()).chain([0.0])).rounded(5);
    let title = "share of the CPU that 1,000 interrupts per second take, by processor";
    Chart::of(processors(model), y, curves).titled(title, ROWS)
}

fn shares_chart(model: &Model) -> Chart {
    let with_shares: Vec<_> =
        resolved(model).filter_map(|(of, _)| Some((of.name.clone(), of.shares?))).collect();
    let value = |(_, of): &(String, Shares)| {
        Some(Estimated { value: of.median, ends: Some((of.q1, of.q3)) })
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
    let curve = |((number, (of, _)), letter): ((usize, (&ProcessorModel, _)), _)| {
        let both =
            of.points.iter().filter_map(|fitted| Some((fitted.predicted?, fitted.observed?)));
        let mut points: Vec<(f64, f64)> = both.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve::numbered(number, of.name.clone(), Draw::Points, &points).lettered(letter)
    };
    let curves = resolved(model).enumerate().zip(letters).map(curve).collect();
    let (x, y) =
        (Axis::linear("predicted", Quantity::Share), Axis::linear("observed", Quantity::Share));
    let chart = Chart::of(x, y, curves).titled("observed against predicted slowdown", ROWS);
    Chart { diagonal: true, ..chart }
}
