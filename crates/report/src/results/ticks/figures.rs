//! Figures of the tick model: the indirect share of every pair, observed against predicted slowdown, and what each part
//! contributes.

use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::style::plain;
use crate::units::{counted, share};
use anechoic_predict::ticks::{Parts, ProcessorModel};

/// With fewer pairs there is no figure.
const FEWEST: usize = 3;
/// Number of axis ticks to which a vertical axis is rounded.
const TICKS: usize = 5;
/// The mark of the points if there is only one number of copies.
const ALONE: char = '•';
/// The rates of a figure reach at least up to this one.
const MOST_USUAL_HZ: f64 = 1_000.0;
/// The lower edge of the figure of shares: a pair of similar rates may have any share below 1.
const LEAST_SHARE: f64 = -1.0;
/// Number of points of the predicted curve.
const PREDICTED: u32 = 200;

/// Returns the figures with their captions, or none if there are few pairs.
pub(super) fn figures(of: &ProcessorModel) -> Vec<(Chart, String)> {
    if of.pairs.len() < FEWEST {
        return vec![];
    }
    let captioned =
        |chart: Chart, caption: &str| (chart, format!("{}: {caption}", plain(&of.name)));
    let shares = shares(of).map(|chart| {
        let below = below(of).map_or(String::new(), |text| format!(" {text}."));
        captioned(chart, &format!("{SHARES}{below}"))
    });
    let overhead = captioned(overhead(of), OVERHEAD);
    shares.into_iter().chain([overhead]).chain(contributions(of)).collect()
}

const SHARES: &str =
    "the indirect share of each pair of rates against its higher rate, and the median of all.";
const OVERHEAD: &str =
    "slowdown relative to no interrupts against their rate, observed and predicted.";

/// The parts of a share, from the first to the sum of all, and the letter of each.
type Part = fn(&Parts) -> f64;
const STACK: [(&str, char, Part); 3] = [
    ("all", 'i', |parts| parts.total),
    ("direct", 'h', |parts| around(parts) + parts.handler),
    ("trap or gaps", 't', around),
];

fn around(parts: &Parts) -> f64 {
    parts.gap.or(parts.trap).unwrap_or(0.0)
}

/// Returns the curves of stacked parts: the sum of all first, so that each is drawn over those that contain it.
pub(super) fn stacked(line: impl Fn(Part) -> Vec<(f64, f64)>) -> Vec<Curve> {
    let curve = |(number, (name, letter, part)): (usize, (&str, char, Part))| {
        let curve = Curve::numbered(number, name.into(), Draw::Line, &line(part));
        Curve { area: true, ..curve.lettered(Some(letter)) }
    };
    STACK.into_iter().enumerate().map(curve).collect()
}

/// Returns what each part contributes at each rate, one chart for each mode of the handler (Figure 5 of the paper), with
/// captions.
pub(super) fn contributions(of: &ProcessorModel) -> Vec<(Chart, String)> {
    let chart = |(mode, parts): &(String, &Parts)| {
        let most = of.points.iter().map(|point| point.point.rate_hz).fold(MOST_USUAL_HZ, f64::max);
        let curves = stacked(|part| vec![(0.0, 0.0), (most, part(parts) * most / 1e5)]);
        let y = Axis::linear("share of the CPU", Quantity::Share);
        let y = y.over([0.0, parts.total.max(0.0) * most / 1e5]).rounded(TICKS);
        let x = Axis::linear("rate", Quantity::Frequency).over([0.0, most]);
        let handler = if mode.is_empty() { String::new() } else { format!(", {mode} handler") };
        let title = format!("share of the CPU that interrupts take against their rate{handler}");
        let name = format!("{} parts {mode}", of.name).trim_end().to_owned();
        let parts = "stacked: trap or gaps, handler, indirect cost.";
        let caption = format!("{}: {title}, {parts}", plain(&of.name));
        (Chart::of(x, y, curves).titled(title, ROWS).named(name), caption)
    };
    let modes: Vec<(String, &Parts)> = match &of.modes[..] {
        [] => of.per_1000.iter().map(|parts| (String::new(), parts)).collect(),
        modes => modes.iter().map(|mode| (mode.name.clone(), &mode.parts)).collect(),
    };
    modes.iter().map(chart).collect()
}

/// Returns a curve of points for each number of copies.
fn by_copies(
    of: &ProcessorModel,
    points: impl Fn(u32) -> Vec<(f64, f64)>,
) -> impl Iterator<Item = Curve> {
    let letters = ('a'..='z').chain('A'..='Z').chain(std::iter::repeat(ALONE));
    let alone = of.tickless.len() == 1;
    of.tickless.iter().zip(letters).enumerate().map(move |(number, (tickless, letter))| {
        let copies = tickless.copies;
        let name = counted(u64::from(copies), "copy", "copies");
        let letter = if alone { ALONE } else { letter };
        Curve::numbered(number, name, Draw::Points, &points(copies)).lettered(Some(letter))
    })
}

/// States how many shares are drawn at the edge, because they lie below it.
fn below(of: &ProcessorModel) -> Option<String> {
    let below = of.pairs.iter().filter_map(|pair| pair.indirect_share);
    let below = below.filter(|&share| share < LEAST_SHARE).count() as u64;
    let shares = counted(below, "share lies", "shares lie");
    (below > 0).then(|| format!("{shares} below {:.0} %, drawn at the edge", LEAST_SHARE * 100.0))
}

fn shares(of: &ProcessorModel) -> Option<Chart> {
    let all = of.shares?;
    let y = Axis::linear("indirect share", Quantity::Share);
    let y = y.over([all.min.clamp(LEAST_SHARE, 0.0), 1.0]).rounded(TICKS);
    let x = Axis::log("higher rate of the pair", Quantity::Frequency);
    let x = x.over(of.pairs.iter().map(|pair| pair.high_hz));
    let points = |copies| {
        let pairs = of.pairs.iter().filter(|pair| pair.copies == copies);
        pairs.filter_map(|pair| Some((pair.high_hz, pair.indirect_share?))).collect()
    };
    let title = "indirect share of each pair against its higher rate";
    let chart = Chart::of(x, y, by_copies(of, points).collect()).titled(title, ROWS);
    let chart = chart.named(format!("{} pairs", of.name));
    let median = format!("⠤ median {}", share(all.median));
    let notes = [median].into_iter().chain(below(of)).collect();
    Some(Chart { level: Some(all.median), beside: true, notes, ..chart })
}

fn overhead(of: &ProcessorModel) -> Chart {
    let rates = || of.points.iter().map(|point| point.point.rate_hz);
    let both = of.points.iter().flat_map(|point| [point.observed, point.predicted]);
    let x = Axis::linear("rate", Quantity::Frequency).over(rates().chain([0.0]));
    let y = Axis::linear("slowdown", Quantity::Share);
    let y = y.over(both.flatten().chain([0.0])).rounded(TICKS);
    let points = |copies| {
        let points = of.points.iter().filter(|fitted| fitted.point.copies == copies);
        points.filter_map(|fitted| Some((fitted.point.rate_hz, fitted.observed?))).collect()
    };
    let predicted = |step| {
        let (low, high) = x.ends();
        let rate_hz = low + (high - low) * f64::from(step) / f64::from(PREDICTED);
        let part = of.cost.total_us * rate_hz / 1e6;
        (part < 1.0).then(|| (rate_hz, part / (1.0 - part)))
    };
    let predicted: Vec<(f64, f64)> = (0..=PREDICTED).filter_map(predicted).collect();
    let quiet = palette::of_source("");
    let predicted = Curve::colored(quiet, 0, "predicted".into(), Draw::Line, &predicted);
    let curves = by_copies(of, points).chain([predicted]).collect();
    let title = "slowdown relative to no interrupts against the rate";
    Chart::of(x, y, curves).titled(title, ROWS).named(format!("{} slowdown", of.name))
}
