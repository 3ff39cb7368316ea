//! Figures of a ranking: noise and time of each configuration in all experiments, and how often it has which place.

use super::{region, what};
use crate::picture::{Axis, Chart, Curve, Draw, Estimated, Place, Quantity, ROWS, Series};
use anechoic_analyze::rank::{RankedExperiment, Ranking, Standing};
use anechoic_analyze::samples::Fixed;
use std::collections::BTreeMap;

/// The value of a configuration in an experiment.
type Value = fn(&RankedExperiment, usize) -> Option<Estimated>;

/// Returns the figures of the noise with their captions: a row for each experiment, and a figure for each cache region.
pub(super) fn noise(ranking: &Ranking) -> Vec<(Chart, String)> {
    by_name(ranking, estimated_noise, &noise_axis(ranking), ["noise", NOISE])
}

/// Returns the figures of the times relative to the first configuration, likewise.
pub(super) fn times(ranking: &Ranking) -> Vec<(Chart, String)> {
    by_name(ranking, estimated_time, &times_axis(ranking), ["times", TIMES])
}

/// Returns variance divided by mean.
fn estimated_noise(experiment: &RankedExperiment, configuration: usize) -> Option<Estimated> {
    let noise = experiment.noise[configuration]?;
    let ends = noise.interval.map(|interval| (interval.low, interval.high));
    Some(Estimated { value: noise.variance_to_mean, ends })
}

/// Returns the time relative to that of the first configuration.
fn estimated_time(experiment: &RankedExperiment, configuration: usize) -> Option<Estimated> {
    let time = experiment.time[configuration]?;
    let ends = time.interval.map(|interval| (interval.low, interval.high));
    Some(Estimated { value: time.over_first?, ends })
}

const NOISE: &str = "Variance divided by mean of the samples of each configuration";
const TIMES: &str = "Time of the same work relative to the first configuration";

/// Returns figures with a row for each experiment, one for each cache region; none for a single experiment.
fn by_name(
    ranking: &Ranking,
    value: Value,
    axis: &Axis,
    [name, drawn]: [&str; 2],
) -> Vec<(Chart, String)> {
    if ranking.experiments.len() < 2 {
        return vec![];
    }
    let mut regions: BTreeMap<Option<u32>, Vec<&RankedExperiment>> = BTreeMap::new();
    for experiment in &ranking.experiments {
        regions.entry(experiment.region).or_default().push(experiment);
    }
    let mut figures = vec![];
    for experiments in regions.values() {
        let values =
            |at: usize| experiments.iter().map(|experiment| value(experiment, at)).collect();
        let series = ranking.configurations.iter().enumerate().map(|(at, configuration)| Series {
            name: configuration.name.clone(),
            letter: ('a'..='z').nth(at),
            values: values(at),
        });
        let series = with_cut_ends(series.collect());
        let names = experiments.iter().map(|experiment| what(experiment)).collect();
        let chart = Chart::by_name_on(axis.clone(), names, &series, "95 %");
        let place = region(experiments[0]);
        let caption = format!(
            "{drawn}{place}, with 95 % intervals, cut at a tenth of the lowest and ten times the highest point."
        );
        let title = format!("{}{place}", lower(drawn));
        let chart = chart.named(format!("{name}{}", place.replace(',', ""))).titled(title, ROWS);
        figures.push((chart, caption));
    }
    figures.retain(|(chart, _)| !chart.is_empty());
    figures
}

/// Returns a sentence as it stands in a title.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

fn noise_axis(ranking: &Ranking) -> Axis {
    let quantity = match ranking.fixed {
        Fixed::Work => Quantity::Time,
        Fixed::Time => Quantity::Number,
    };
    Axis::log("variance / mean", quantity)
}

/// Returns the axis of times relative to the first configuration.
fn times_axis(ranking: &Ranking) -> Axis {
    let first = ranking.configurations.first().map_or("", |first| first.name.as_str());
    Axis::log(&format!("time / time of {first}"), Quantity::Number)
}

/// Returns the range of intervals that is drawn, a tenth of the lowest to ten times the highest of these points: a few passes
/// may leave an interval over many powers of ten, on whose axis all points would lie on one line. None without points.
fn drawn_range(points: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let points = points.filter(|value| *value > 0.0);
    let lowest = points.clone().fold(f64::INFINITY, f64::min);
    let (low, high) = (lowest / 10.0, points.fold(0.0, f64::max) * 10.0);
    (low < high).then_some((low, high))
}

/// Cuts the ends of intervals to the range that is drawn.
fn with_cut_ends(mut series: Vec<Series>) -> Vec<Series> {
    let values = series.iter().flat_map(|one| one.values.iter().flatten());
    if let Some((low, high)) = drawn_range(values.map(|point| point.value)) {
        for point in series.iter_mut().flat_map(|one| one.values.iter_mut().flatten()) {
            point.ends = point.ends.map(|(from, to)| (from.clamp(low, high), to.clamp(low, high)));
        }
    }
    series
}

/// Draws how often each configuration is lowest, in the middle and highest, as bars beside each other.
pub(super) fn places(ranking: &Ranking) -> Chart {
    let width = 0.8 / ranking.configurations.len().max(1) as f64;
    let curves = ranking.configurations.iter().enumerate();
    let curves = curves.map(|(number, standing)| bars(number, standing, width)).collect();
    let places = ["lowest", "middle", "highest"].into_iter().enumerate();
    let places = places.map(|(at, name)| Place { at: at as f64, name: name.into() }).collect();
    Chart::new(
        Axis::named("place", places),
        Axis::linear("share of the experiments", Quantity::Share),
        curves,
    )
}

/// Returns the bars of a configuration, one at each place.
fn bars(number: usize, standing: &Standing, width: f64) -> Curve {
    let shares = [standing.lowest, standing.middle, standing.highest].map(|counted| counted.share);
    let starts = [0.0, 1.0, 2.0].map(|place| place - 0.4 + number as f64 * width);
    let points: Vec<(f64, f64)> =
        starts.into_iter().zip(shares).map(|(from, share)| (from + width / 2.0, share)).collect();
    let spans = starts.map(|from| (from, from + width * 0.9)).to_vec();
    Curve::numbered(number, standing.name.clone(), Draw::Bars, &points).spanning(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::rank::{Counted, Curves, RankedNoise, Unit, Variation};
    use anechoic_analyze::stats::Interval;

    /// Experiments have their names, one figure for each cache region, on a logarithmic axis.
    #[test]
    fn experiments_are_named_by_region() {
        let noise = |value: f64| {
            let interval = Some(Interval { low: value / 1e9, high: value * 2.0 });
            Some(RankedNoise { variance_to_mean: value, interval, place: None })
        };
        let experiment = |name: &str, region: u32, values: [f64; 2]| RankedExperiment {
            experiment: name.into(),
            grain_ns: 0,
            copies: 1,
            injected: None,
            region: Some(region),
            cache: (region < 2).then(|| format!("L{region}")),
            build: None,
            matrix_bytes: None,
            beside_paper: false,
            time: vec![None; 2],
            noise: values.map(noise).to_vec(),
            clearly_lowest: None,
            clearly_highest: None,
            tied: Some(true),
        };
        let none = Counted { count: 0, share: 0.0, interval: None };
        let standing = |name: &str| Standing {
            name: name.into(),
            runs: 1,
            lowest: none,
            middle: none,
            highest: none,
            equal: 0,
            clearly_lowest: 0,
            clearly_highest: 0,
            absent: 0,
            beside_paper: None,
            over_first: None,
        };
        let ranking = Ranking {
            method: "memory".into(),
            fixed: Fixed::Work,
            variation: Variation::Parts,
            unit: Unit::Time,
            first_is_bare: false,
            configurations: ["one", "other"].map(standing).into(),
            working_sets_left_out: 0,
            without_variance: 0,
            unequal_samples: 0,
            reads_differ: false,
            tied: 0,
            curves: Curves::default(),
            one_by_one: vec![],
            experiments: vec![
                experiment("reads", 1, [1.0, 10.0]),
                experiment("reads", 2, [2.0, 20.0]),
                experiment("writes", 1, [1e3, 1e4]),
            ],
        };
        let figures = super::noise(&ranking);
        let [(first, caption), (beyond, _)] = &figures[..] else { panic!("{figures:?}") };
        assert_eq!([&*first.name, &*beyond.name], ["noise in L1", "noise beyond the caches"]);
        assert!(caption.starts_with("Variance divided by mean") && caption.contains(", in L1,"));
        let names = |chart: &Chart| {
            chart.y.names.iter().rev().map(|place| place.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            (names(first), names(beyond)),
            (vec!["reads".into(), "writes".into()], vec!["reads".into()])
        );
        assert!(first.x.log);
        // A tenth of the lowest point, 1, is as far as intervals go.
        let lowest = first
            .curves
            .iter()
            .flat_map(|curve| curve.x.iter().copied())
            .fold(f64::INFINITY, f64::min);
        assert!((lowest - 0.1).abs() < 1e-9, "{lowest}");
        assert!(times(&ranking).is_empty());
    }
}
