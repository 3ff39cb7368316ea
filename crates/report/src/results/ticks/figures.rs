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
pub(super) fn figures(processor: &ProcessorModel) -> Vec<(Chart, String)> {
    if processor.pairs.len() < FEWEST {
        return vec![];
    }
    let captioned =
        |chart: Chart, caption: &str| (chart, format!("{}: {caption}", plain(&processor.name)));
    let shares = shares(processor).map(|chart| {
        let below = below(processor).map_or(String::new(), |text| format!(" {text}."));
        captioned(chart, &format!("{SHARES}{below}"))
    });
    let overhead = captioned(overhead(processor), OVERHEAD);
    shares.into_iter().chain([overhead]).chain(contributions(processor)).collect()
}

const SHARES: &str =
    "the indirect share of each pair of rates against its higher rate, and the median of all.";
const OVERHEAD: &str =
    "slowdown relative to no interrupts against their rate, observed and predicted.";

/// The parts of a share, from the first to the sum of all, and the letter of each.
pub(super) type Part = fn(&Parts) -> f64;
pub(super) const STACK: [(&str, char, Part); 3] = [
    ("all", 'i', |parts| parts.total),
    ("direct", 'h', |parts| around(parts) + parts.handler),
    ("trap or gaps", 't', around),
];

fn around(parts: &Parts) -> f64 {
    parts.gap.or(parts.trap).unwrap_or(0.0)
}

/// Returns the curves of stacked parts: the sum of all first, so that each is drawn over those that contain it.
fn stacked(line: impl Fn(Part) -> Vec<(f64, f64)>) -> Vec<Curve> {
    let stack = STACK.into_iter().enumerate().map(|(number, (name, letter, part))| {
        let curve = Curve::numbered(number, name.into(), Draw::Line, &line(part));
        Curve { area: true, ..curve.lettered(Some(letter)) }
    });
    stack.collect()
}

/// Returns what each part contributes at each rate, one chart for each mode of the handler (Figure 5 of the paper), with
/// captions.
pub(super) fn contributions(processor: &ProcessorModel) -> Vec<(Chart, String)> {
    let modes: Vec<(String, &Parts)> = match &processor.modes[..] {
        [] => processor.per_1000.iter().map(|parts| (String::new(), parts)).collect(),
        modes => modes.iter().map(|mode| (mode.name.clone(), &mode.parts)).collect(),
    };
    modes.iter().map(|(mode, parts)| contribution(processor, mode, parts)).collect()
}

/// Returns what each part contributes at each rate in one mode of the handler, with the caption.
fn contribution(processor: &ProcessorModel, mode: &str, parts: &Parts) -> (Chart, String) {
    let rates = processor.points.iter().map(|point| point.point.rate_hz);
    let most = rates.fold(MOST_USUAL_HZ, f64::max);
    let curves = stacked(|part| vec![(0.0, 0.0), (most, part(parts) * most / 1e5)]);
    let y = Axis::linear("share of the CPU", Quantity::Share);
    let y = y.over([0.0, parts.total.max(0.0) * most / 1e5]).rounded(TICKS);
    let x = Axis::linear("rate", Quantity::Frequency).over([0.0, most]);
    let handler = if mode.is_empty() { String::new() } else { format!(", {mode} handler") };
    let title = format!("share of the CPU that interrupts take against their rate{handler}");
    let name = format!("{} parts {mode}", processor.name).trim_end().to_owned();
    let stacked = "stacked: trap or gaps, handler, indirect cost.";
    let caption = format!("{}: {title}, {stacked}", plain(&processor.name));
    (Chart::new(x, y, curves).titled(title, ROWS).named(name), caption)
}

/// Returns a curve of points for each number of copies.
fn by_copies(
    processor: &ProcessorModel,
    points: impl Fn(u32) -> Vec<(f64, f64)>,
) -> impl Iterator<Item = Curve> {
    let letters = ('a'..='z').chain('A'..='Z').chain(std::iter::repeat(ALONE));
    let alone = processor.tickless.len() == 1;
    processor.tickless.iter().zip(letters).enumerate().map(move |(number, (tickless, letter))| {
        let copies = tickless.copies;
        let name = counted(u64::from(copies), "copy", "copies");
        let letter = if alone { ALONE } else { letter };
        Curve::numbered(number, name, Draw::Points, &points(copies)).lettered(Some(letter))
    })
}

/// States how many shares are drawn at the edge, because they lie below it.
fn below(processor: &ProcessorModel) -> Option<String> {
    let below = processor.pairs.iter().filter_map(|pair| pair.indirect_share);
    let below = below.filter(|&share| share < LEAST_SHARE).count() as u64;
    let shares = counted(below, "share lies", "shares lie");
    (below > 0).then(|| format!("{shares} below {:.0} %, drawn at the edge", LEAST_SHARE * 100.0))
}

fn shares(processor: &ProcessorModel) -> Option<Chart> {
    let all = processor.shares?;
    let y = Axis::linear("indirect share", Quantity::Share);
    let y = y.over([all.min.clamp(LEAST_SHARE, 0.0), 1.0]).rounded(TICKS);
    let x = Axis::log("higher rate of the pair", Quantity::Frequency);
    let x = x.over(processor.pairs.iter().map(|pair| pair.high_hz));
    let curves = by_copies(processor, |copies| {
        let pairs = processor.pairs.iter().filter(|pair| pair.copies == copies);
        pairs.filter_map(|pair| Some((pair.high_hz, pair.indirect_share?))).collect()
    });
    let title = "indirect share of each pair against its higher rate";
    let chart = Chart::new(x, y, curves.collect()).titled(title, ROWS);
    let chart = chart.named(format!("{} pairs", processor.name));
    let median = format!("⠤ median {}", share(all.median));
    let notes = [median].into_iter().chain(below(processor)).collect();
    Some(Chart { level: Some(all.median), level_name: "median", beside: true, notes, ..chart })
}

fn overhead(processor: &ProcessorModel) -> Chart {
    let rates = || processor.points.iter().map(|point| point.point.rate_hz);
    let both = processor.points.iter().flat_map(|point| [point.observed, point.predicted]);
    let x = Axis::linear("rate", Quantity::Frequency).over(rates().chain([0.0]));
    let y = Axis::linear("slowdown", Quantity::Share);
    let y = y.over(both.flatten().chain([0.0])).rounded(TICKS);
    let observed = by_copies(processor, |copies| {
        let points = processor.points.iter().filter(|fitted| fitted.point.copies == copies);
        points.filter_map(|fitted| Some((fitted.point.rate_hz, fitted.observed?))).collect()
    });
    let (low, high) = x.ends();
    let rates_hz =
        (0..=PREDICTED).map(|step| low + (high - low) * f64::from(step) / f64::from(PREDICTED));
    let predicted = rates_hz.map(|hz| (hz, processor.cost.total_us * hz / 1e6));
    let predicted = predicted.filter(|(_, part)| *part < 1.0);
    let predicted: Vec<(f64, f64)> =
        predicted.map(|(hz, part)| (hz, part / (1.0 - part))).collect();
    let quiet = palette::source_color("");
    let predicted = Curve::colored(quiet, 0, "predicted".into(), Draw::Line, &predicted);
    let curves = observed.chain([predicted]).collect();
    let title = "slowdown relative to no interrupts against the rate";
    Chart::new(x, y, curves).titled(title, ROWS).named(format!("{} slowdown", processor.name))
}
