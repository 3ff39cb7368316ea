//! The screen of a ranking: whose noise is lowest, how often, and how certain that is.

pub(crate) mod curves;
pub(crate) mod one_by_one;
pub(crate) mod times;

use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity};
use crate::published;
use crate::screen::Screen;
use crate::style::{View, clip, plain};
use crate::table::Table;
use crate::units::{asked, count, counted, fine, number, share};
use anechoic_analyze::rank::{Counted, RankedExperiment, Ranking, Standing, Variation};
use anechoic_analyze::samples::Fixed;
use anechoic_recording::methods;

/// Widest name of a configuration in a table.
const NAME: usize = 28;
/// Number of experiments in a shortened table.
const SHOWN: usize = 12;

/// Shows how often each configuration has the lowest noise, and the noise of each in every experiment.
#[must_use]
pub fn rank(ranking: &Ranking, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let configurations =
        counted(ranking.configurations.len() as u64, "configuration", "configurations");
    let experiments = counted(ranked(ranking), "experiment", "experiments");
    screen.heading(&format!(
        "ranking of {}: {configurations} · {experiments}",
        plain(&ranking.method)
    ));
    screen.gap();
    let found = sentences(ranking);
    screen.headline(&found.join(" "));
    differences(ranking).iter().for_each(|text| screen.warning(text));
    screen.section("how often each is lowest");
    screen.table(standings(ranking));
    screen.note(
        "noise is the variance of the samples divided by their mean; a configuration is clearly lower if the difference \
         exceeds the variation of both",
    );
    if ranking.variation == Variation::Parts {
        screen.note(
            "the variation is that within one run: repeated runs, named as A1,A2 B1,B2, include what differs from run to run",
        );
    }
    if ranking.method == methods::MEMORY {
        screen.line(&published::ranking());
        screen.gap();
        screen.charts(curves::for_terminal(ranking));
    }
    if let Some(table) = times::table(ranking, view) {
        screen
            .section(&format!("time over {}", clip(&plain(&ranking.configurations[0].name), NAME)));
        screen.charts(times::chart(ranking));
        screen.table(table);
        screen.note("ns of one iteration of the kernel, or of one access: the median over CPUs and working sets");
        if ranking.first_is_bare {
            screen.note(times::PUBLISHED);
        }
    }
    if let Some(chart) = one_by_one::for_terminal(ranking) {
        screen.section("samples");
        screen.charts(Some(chart));
        one_by_one::ranges(ranking).into_iter().for_each(|table| screen.table(table));
        one_by_one::notes(ranking).iter().for_each(|text| screen.note(text));
    }
    screen.section("noise in each experiment");
    screen.charts(noise_chart(ranking));
    screen.table(experiments_table(ranking, view));
    screen
}

/// Returns what the configurations have not measured alike.
pub(crate) fn differences(ranking: &Ranking) -> Vec<String> {
    let left_out = ranking.working_sets_left_out;
    let sets = (left_out > 0).then(|| {
        let sets = counted(left_out, "working set is", "working sets are");
        format!("{sets} left out, because not every recording has measured them.")
    });
    let unequal = ranking.unequal_samples;
    let samples = (unequal > 0).then(|| {
        let of = counted(unequal, "experiment", "experiments");
        format!("The repetitions of {of} differ: a configuration with fewer is less certain.")
    });
    sets.into_iter().chain(samples).chain(times::unit(ranking).map(str::to_owned)).collect()
}

/// Returns what was found: who is lowest most often, and in how many experiments nobody is.
pub(crate) fn sentences(ranking: &Ranking) -> Vec<String> {
    let of = ranked(ranking);
    let experiments = counted(of, "experiment", "experiments");
    let variation = match ranking.variation {
        Variation::Runs => "the variation from run to run",
        Variation::Parts => "the variation within a run",
    };
    let best =
        ranking.configurations.iter().rev().max_by_key(|of| (of.clearly_lowest, of.lowest.count));
    let mut sentences = vec![];
    match best.filter(|best| best.clearly_lowest > 0) {
        Some(best) => sentences.push(format!(
            "{} has the lowest noise in {} of {experiments}; in {} of them the difference exceeds {variation}.",
            clip(&plain(&best.name), NAME),
            certain(&best.lowest),
            count(best.clearly_lowest),
        )),
        None if of == 1 => sentences.push(format!(
            "No configuration is clearly the quietest: none is lower than all others by more than {variation}."
        )),
        None => sentences.push(format!(
            "No configuration is clearly the quietest: in none of {experiments} is one lower than all others by more than \
             {variation}."
        )),
    }
    if ranking.tied > 0 && of > 1 {
        let which = if ranking.tied == of { "all".to_owned() } else { count(ranking.tied) };
        sentences.push(format!(
            "In {which} of them even the lowest and the highest differ by less than {variation}."
        ));
    }
    let absent = ranking.experiments.len() as u64 - of;
    if absent > 0 {
        let (absent, it) = (
            counted(absent, "experiment is", "experiments are"),
            if absent == 1 { "it" } else { "them" },
        );
        sentences
            .push(format!("{absent} not ranked, because a configuration has not measured {it}."));
    }
    sentences.extend(times::sentences(ranking));
    sentences
}

/// Returns the number of experiments that all configurations have measured.
fn ranked(ranking: &Ranking) -> u64 {
    ranking.experiments.iter().filter(|of| of.tied.is_some()).count() as u64
}

/// Returns a count with the interval of its share: `108 (59 %, 95 %: 52–66 %)`.
fn certain(of: &Counted) -> String {
    let interval = of.interval.map(|interval| {
        format!(", 95 %: {:.0}–{:.0} %", interval.low * 100.0, interval.high * 100.0)
    });
    format!("{} ({}{})", count(of.count), share(of.share), interval.unwrap_or_default())
}

pub(crate) fn standings(ranking: &Ranking) -> Table {
    let counted = |of: &Counted| format!("{} ({:.0} %)", count(of.count), of.share * 100.0);
    let interval = |of: &Standing| {
        let range = |of: anechoic_analyze::stats::Interval| {
            format!("{:.0}–{:.0} %", of.low * 100.0, of.high * 100.0)
        };
        of.lowest.interval.map_or("–".into(), range)
    };
    Table::of_rows(&ranking.configurations)
        .name("configuration", |of| clip(&plain(&of.name), NAME))
        .number("runs", |of| count(of.runs))
        .number("lowest", |of| counted(&of.lowest))
        .number("95 %", interval)
        .number("middle", |of| counted(&of.middle))
        .number("highest", |of| counted(&of.highest))
        .number("clearly lowest", |of| count(of.clearly_lowest))
        .number("clearly highest", |of| count(of.clearly_highest))
        .number("absent", |of| count(of.absent))
        .number("time", times::median)
        .captioned("How often each configuration is lowest")
        .leaving_out(&["runs", "middle", "absent"])
}

/// Returns the noise of every configuration in every experiment, with the one that is clearly lowest.
pub(crate) fn experiments_table(ranking: &Ranking, view: &View<'_>) -> Table {
    let name = |at: usize| clip(&plain(&ranking.configurations[at].name), NAME);
    let mut heads = vec!["experiment"];
    let names: Vec<String> = (0..ranking.configurations.len()).map(name).collect();
    heads.extend(names.iter().map(String::as_str));
    heads.push("clearly lowest");
    let mut table = Table::of_named(heads[0], &heads[1..]);
    for experiment in &ranking.experiments {
        let mut cells = vec![words(experiment)];
        cells.extend(experiment.noise.iter().map(|noise| match (noise, ranking.fixed) {
            (None, _) => "–".to_owned(),
            (Some(noise), Fixed::Work) => fine(noise.variance_to_mean),
            (Some(noise), Fixed::Time) => number(noise.variance_to_mean),
        }));
        cells.push(match (experiment.clearly_lowest, experiment.tied) {
            (Some(at), _) => names[at].clone(),
            (None, Some(true)) => "none differ".to_owned(),
            (None, Some(false)) => "–".to_owned(),
            (None, None) => "not ranked".to_owned(),
        });
        table.row(cells);
    }
    let table = table.captioned("Variance divided by mean in each experiment");
    match ranking.experiments.len().checked_sub(SHOWN) {
        Some(more @ 1..) if !view.all => {
            table.folded(SHOWN, format!("and {} more (--all)", count(more as u64)))
        }
        _ => table,
    }
}

/// Describes an experiment: `read-sequential, in L2`, `intadd, 1 ms`.
fn words(of: &RankedExperiment) -> String {
    let mut words = plain(&of.experiment).to_string();
    if of.grain_ns > 0 {
        words += &format!(", {}", asked(of.grain_ns));
    }
    if of.copies > 1 {
        words += &format!(", {} copies", of.copies);
    }
    if let Some(injected) = &of.injected {
        words += &format!(", {}", plain(injected));
    }
    if let (Some(build), Some(bytes)) = (&of.build, of.matrix_bytes) {
        words += &format!(
            ", {}, {}",
            crate::memory::words::size(bytes),
            crate::paging::words::build(build)
        );
    }
    words += &match (of.region, &of.cache) {
        (None, _) => String::new(),
        (Some(_), Some(cache)) => format!(", in {}", plain(cache)),
        (Some(_), None) => ", beyond the caches".to_owned(),
    };
    words
}

/// Draws the noise of every configuration in all experiments, with its interval.
pub(crate) fn noise_chart(ranking: &Ranking) -> Option<Chart> {
    if ranking.experiments.len() < 2 {
        return None;
    }
    let quantity = match ranking.fixed {
        Fixed::Work => Quantity::Time,
        Fixed::Time => Quantity::Number,
    };
    let curves = ranking.configurations.iter().enumerate().map(|(at, of)| {
        let noise = (1..).zip(&ranking.experiments);
        let (mut points, mut spans) = (vec![], vec![]);
        for (number, noise) in noise.filter_map(|(number, of)| Some((number, of.noise[at]?))) {
            let value = noise.variance_to_mean;
            points.push((f64::from(number), value));
            spans.push(
                noise.interval.map_or((value, value), |interval| (interval.low, interval.high)),
            );
        }
        let letter = ('a'..='z').nth(at);
        Curve::numbered(at, of.name.clone(), Draw::Points, &points).spanning(spans).lettered(letter)
    });
    let curves = with_cut_intervals(curves.collect());
    let x = Axis::linear("experiment", Quantity::Count);
    let y = Axis::log("variance / mean", quantity);
    Some(
        Chart::of(x, y, curves)
            .titled("variance / mean by experiment, in the order of the table", 10),
    )
}

/// Cuts intervals at a tenth of the lowest and at ten times the highest point of all curves: a few passes may leave an
/// interval over many powers of ten, on whose axis all points would lie on one line.
fn with_cut_intervals(curves: Vec<Curve>) -> Vec<Curve> {
    let points = || curves.iter().flat_map(|curve| curve.y.iter().copied()).filter(|y| *y > 0.0);
    let (low, high) =
        (points().fold(f64::INFINITY, f64::min) / 10.0, points().fold(0.0, f64::max) * 10.0);
    if low >= high {
        return curves;
    }
    let cut = |curve: Curve| {
        let spans = curve.spans.iter();
        let spans = spans.map(|of| (of.0.clamp(low, high), of.1.clamp(low, high))).collect();
        curve.spanning(spans)
    };
    curves.into_iter().map(cut).collect()
}

/// Draws how often each configuration is lowest, in the middle and highest, as bars beside each other.
pub(crate) fn places_chart(ranking: &Ranking) -> Chart {
    type Of = fn(&Standing) -> &Counted;
    const PLACES: [(&str, Of); 3] =
        [("lowest", |of| &of.lowest), ("middle", |of| &of.middle), ("highest", |of| &of.highest)];
    let width = 0.8 / ranking.configurations.len().max(1) as f64;
    let curve = |(number, of): (usize, &Standing)| {
        let from = |place: usize| place as f64 - 0.4 + number as f64 * width;
        let bars = PLACES.iter().enumerate();
        let points: Vec<(f64, f64)> =
            bars.map(|(at, (_, counted))| (from(at) + width / 2.0, counted(of).share)).collect();
        let spans = (0..PLACES.len()).map(|at| (from(at), from(at) + width * 0.9)).collect();
        Curve::numbered(number, of.name.clone(), Draw::Bars, &points).spanning(spans)
    };
    let curves = ranking.configurations.iter().enumerate().map(curve).collect();
    let place =
        |(at, (name, _)): (usize, &(&str, Of))| Place { at: at as f64, name: (*name).into() };
    let places = PLACES.iter().enumerate().map(place).collect();
    Chart::of(Axis::named("place", places), Axis::linear("share", Quantity::Share), curves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_far_beyond_the_points_are_cut() {
        let curve = |points: &[(f64, f64)], spans: Vec<(f64, f64)>| {
            Curve::numbered(0, "one".into(), Draw::Points, points).spanning(spans)
        };
        let far = curve(&[(1.0, 2.0), (2.0, 0.0)], vec![(1e-13, 1e12), (0.0, 0.0)]);
        let near = curve(&[(1.0, 8.0)], vec![(0.5, 60.0)]);
        let cut = with_cut_intervals(vec![far, near]);
        // A tenth of 2, and ten times 8.
        assert_eq!(cut[0].spans, [(0.2, 80.0), (0.2, 0.2)]);
        assert_eq!(cut[1].spans, [(0.5, 60.0)]);
        assert_eq!(with_cut_intervals(vec![curve(&[], vec![])])[0].spans, []);
    }
}
