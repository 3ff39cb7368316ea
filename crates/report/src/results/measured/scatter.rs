//! Samples one by one over time, and their distributions, of several series on one axis of absolute values.

use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::results::measured::names::Named;
use crate::screen::Screen;
use crate::units::count;
use anechoic_analyze::samples::{Fixed, SeriesResult};

/// Largest number of series in a chart.
pub(crate) const CURVES: usize = 6;
/// The axis of values is logarithmic if the greatest exceeds the least by this factor.
const FAR: f64 = 10.0;

/// Returns the series of one kernel and one requested duration together, in the order of the recording; single ones too.
/// Charts draw the first [`CURVES`] of a group.
pub(crate) fn alike<'a>(series: &[Named<'a>]) -> Vec<Vec<Named<'a>>> {
    let mut groups: Vec<Vec<Named<'a>>> = vec![];
    for &named in series.iter().filter(|named| !named.result.figures.drawn.points.is_empty()) {
        let kind = |named: &Named<'a>| (&named.result.facts.variant, named.result.facts.grain_ns);
        match groups.iter_mut().find(|group| kind(&group[0]) == kind(&named)) {
            Some(group) => group.push(named),
            None => groups.push(vec![named]),
        }
    }
    groups
}

/// A series in a chart.
pub(crate) struct Drawn<'a> {
    /// Its name.
    pub title: String,
    /// Its result.
    pub result: &'a SeriesResult,
    /// What its values are multiplied by.
    pub factor: f64,
}

/// Returns the series of a recording as they are drawn.
pub(crate) fn drawn<'a>(series: &[Named<'a>]) -> Vec<Drawn<'a>> {
    let unscaled =
        |named: &Named<'a>| Drawn { title: named.title(), result: named.result, factor: 1.0 };
    series.iter().map(unscaled).collect()
}

impl Drawn<'_> {
    fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        let points = self.result.figures.drawn.points.iter();
        points.map(|(at, value)| (*at, value * self.factor))
    }

    /// Returns each of its samples as a point, by its start since that of the series.
    fn over_time(&self, number: usize) -> Curve {
        let start = self.result.facts.start_ns;
        let points: Vec<(f64, f64)> =
            self.points().map(|(at, value)| (at.saturating_sub(start) as f64, value)).collect();
        Curve::numbered(number, self.title.clone(), Draw::Points, &points)
    }

    /// Returns the share of its samples that is at most a value.
    fn distribution(&self, number: usize) -> Curve {
        let cdf = &self.result.figures.cdf;
        let steps = cdf.iter().map(|point| (point.value * self.factor, point.share));
        let foot = cdf.first().map(|least| (least.value * self.factor, 0.0));
        let points: Vec<(f64, f64)> = foot.into_iter().chain(steps).collect();
        Curve::numbered(number, self.title.clone(), Draw::Steps, &points)
            .lettered(('a'..='z').nth(number))
    }

    /// Returns its values, and how many samples have each: of more samples than are drawn one by one, those of the points
    /// of its cumulative distribution.
    fn weighted(&self) -> Vec<(f64, f64)> {
        if self.result.figures.drawn.all {
            return self.points().map(|(_, value)| (value, 1.0)).collect();
        }
        let samples = self.result.facts.samples as f64;
        let mut before = 0.0;
        let counted = self.result.figures.cdf.iter().map(|point| {
            let share = point.share - before;
            before = point.share;
            (point.value * self.factor, share * samples)
        });
        counted.collect()
    }
}

/// Adds the samples of several series over time and their distributions, beside each other on a page; the terminal shows
/// the distributions if they are `brief`.
pub(crate) fn add_pair(title: &str, series: &[Drawn<'_>], brief: bool, screen: &mut Screen) {
    let over_time = over_time(series).named(format!("{title} over time"));
    let at_most = match fixed(series) {
        Fixed::Work => "share of the samples that took at most this long",
        Fixed::Time => "share of the windows that held at most this much work",
    };
    let distributions = distributions(series)
        .named(format!("{title} distribution"))
        .titled(format!("{title}: {at_most}"), ROWS);
    screen.pair(|pair| {
        pair.on_page(|page| page.picture(over_time, caption(series)));
        match brief {
            true => pair.picture(distributions, caption_of_distributions(series)),
            false => {
                pair.on_page(|page| page.picture(distributions, caption_of_distributions(series)))
            }
        }
    });
}

/// Draws each sample by its start, relative to the first of its series, and its value.
pub(crate) fn over_time(series: &[Drawn<'_>]) -> Chart {
    let curves = series.iter().take(CURVES).enumerate();
    let curves = curves.map(|(number, drawn)| drawn.over_time(number)).collect();
    Chart::new(
        Axis::linear("since the start of the series", Quantity::Time),
        values(series),
        curves,
    )
}

/// Draws the share of the samples that is at most a value.
pub(crate) fn distributions(series: &[Drawn<'_>]) -> Chart {
    let curves = series.iter().take(CURVES).enumerate();
    let curves = curves.map(|(number, drawn)| drawn.distribution(number)).collect();
    Chart::new(values(series), Axis::linear("share of the samples", Quantity::Share), curves)
}

/// Number of bins of the times of several series together.
const BINS: usize = 80;

/// Draws how many samples of each series have a value, in bins that all series share.
pub(crate) fn counts(series: &[Drawn<'_>]) -> Chart {
    let values: Vec<Vec<(f64, f64)>> = series.iter().take(CURVES).map(Drawn::weighted).collect();
    let all = || values.iter().flatten().map(|(value, _)| *value);
    let least = all().fold(f64::INFINITY, f64::min);
    let width = (all().fold(least, f64::max) - least) / BINS as f64;
    let edge = |bin: usize| least + bin as f64 * width;
    let mut curves = vec![];
    for (one, values) in series.iter().zip(&values) {
        let mut counts = [0.0; BINS];
        for (value, count) in values {
            counts[(((value - least) / width) as usize).min(BINS - 1)] += count;
        }
        let bins = counts.iter().enumerate().map(|(bin, count)| (edge(bin), *count));
        let points: Vec<(f64, f64)> =
            [(least, 0.0)].into_iter().chain(bins).chain([(edge(BINS), 0.0)]).collect();
        let number = curves.len();
        let curve = Curve::numbered(number, one.title.clone(), Draw::Steps, &points);
        curves.push(curve.lettered(('a'..='z').nth(number)));
    }
    let x = Axis::linear("time of a sample", Quantity::Time);
    Chart::new(x, Axis::linear("number of samples", Quantity::Number), curves)
}

/// Describes the chart of counts.
pub(crate) const CAPTION_OF_COUNTS: &str =
    "Number of samples by their time, in 80 equal stretches from the shortest to the longest.";

/// Names the values of the chart over time.
pub(crate) fn what(series: &[Drawn<'_>]) -> &'static str {
    match fixed(series) {
        Fixed::Work => "time of each sample by its start",
        Fixed::Time => "work of each window by its start",
    }
}

/// Describes the chart over time: which samples are drawn.
pub(crate) fn caption(series: &[Drawn<'_>]) -> String {
    let what = match fixed(series) {
        Fixed::Work => "The time of each sample by its start",
        Fixed::Time => "The work of each window by its start",
    };
    let drawn = series.iter().take(CURVES);
    let samples = drawn.map(|one| one.result.facts.samples).fold(0, u64::saturating_add);
    match series.iter().all(|one| one.result.figures.drawn.all) {
        true => format!("{what}: all {} samples.", count(samples)),
        false => format!(
            "{what}: of {} samples the least and the greatest in each of 500 equal stretches of time of a series.",
            count(samples)
        ),
    }
}

/// Describes the chart of distributions.
pub(crate) fn caption_of_distributions(series: &[Drawn<'_>]) -> &'static str {
    match fixed(series) {
        Fixed::Work => "Share of the samples that took at most this long.",
        Fixed::Time => "Share of the windows that held at most this much work.",
    }
}

/// Returns the axis of the values of series.
fn values(series: &[Drawn<'_>]) -> Axis {
    let axis = match fixed(series) {
        Fixed::Work => Axis::linear("time of a sample", Quantity::Time),
        Fixed::Time => Axis::linear("work in a window", Quantity::Number),
    };
    axis_for(axis, series.iter().flat_map(Drawn::points).map(|point| point.1))
}

/// Makes the axis of these values logarithmic if they are far apart.
pub(crate) fn axis_for(axis: Axis, values: impl Iterator<Item = f64>) -> Axis {
    let both = |(least, greatest): (f64, f64), value: f64| (least.min(value), greatest.max(value));
    let (least, greatest) = values.fold((f64::INFINITY, 0.0), both);
    Axis { log: least > 0.0 && greatest > FAR * least, ..axis }
}

fn fixed(series: &[Drawn<'_>]) -> Fixed {
    series.first().map_or(Fixed::Work, |first| first.result.facts.fixed)
}
