//! The screen of a ranking: whose noise is lowest, how often, and how certain that is.

mod curves;
mod figures;
mod one_by_one;
mod row;
mod times;

pub use row::RANK;

use crate::picture::Chart;
use crate::published;
use crate::results::measured::scatter;
use crate::screen::Screen;
use crate::style::{View, clip, plain};
use crate::table::Table;
use crate::units::{asked, count, counted, fine, number, share};
use anechoic_analyze::rank::{
    Counted, Places, RankedExperiment, RankedNoise, Ranking, Standing, Variation,
};
use anechoic_analyze::samples::Fixed;
use anechoic_analyze::stats::Interval;
use anechoic_recording::methods;

/// Widest name of a configuration in a table.
const NAME: usize = 28;
/// Number of experiments that a warning names.
const NAMED: usize = 3;
/// What it means that the recordings know the cost of different reads of the counter.
const READS_DIFFER: &str = "Not every recording states the cost of the counter read that ends a pass, which waits for the work before it: the cost of a \
read that waits for nothing, which is less, was subtracted from the passes of all.";
/// Number of experiments in a shortened table.
const SHOWN: usize = 12;

/// Shows how often each configuration has the lowest noise, and the noise of each in every experiment.
#[must_use]
pub fn rank(ranking: &Ranking, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    // A page begins with the sentences.
    screen.in_terminal(|terminal| {
        terminal.heading(&about(ranking));
        terminal.gap();
        terminal.headline(&sentences(ranking).join(" "));
    });
    differences(ranking).iter().for_each(|text| screen.warning(text));
    screen.section("how often each is lowest");
    screen.on_page(|page| page.picture(figures::places(ranking).named("places"), PLACES));
    screen.table(standings(ranking));
    add_how(ranking, &mut screen);
    if let Some(table) = times::table(ranking, view) {
        let first = clip(&plain(&ranking.configurations[0].name), NAME);
        screen.section(&format!("time over {first}"));
        add_rows(figures::times(ranking), view, &mut screen);
        screen.table(table);
        screen.note("ns of one iteration of the kernel, or of one access: the median over CPUs and working sets");
        if ranking.first_is_bare {
            screen.note(times::PUBLISHED);
        }
    }
    for (number, (chart, caption)) in curves::all(ranking).into_iter().enumerate() {
        match number {
            0 => screen.picture(chart, caption),
            _ => screen.on_page(|page| page.picture(chart, caption)),
        }
    }
    add_samples(ranking, &mut screen);
    screen.section("noise in each experiment");
    add_rows(figures::noise(ranking), view, &mut screen);
    screen.table(experiments_table(ranking, view));
    screen
}

/// Describes the figure of the places.
const PLACES: &str = "How often each configuration has the lowest, middle and highest noise, as a share of all experiments.";

fn about(ranking: &Ranking) -> String {
    let configurations =
        counted(ranking.configurations.len() as u64, "configuration", "configurations");
    let experiments = counted(ranked(ranking), "experiment", "experiments");
    format!("ranking of {}: {configurations} · {experiments}", plain(&ranking.method))
}

/// Explains the table of places, and what it does not count.
fn add_how(ranking: &Ranking, screen: &mut Screen) {
    screen.note(
        "noise is the variance of the samples divided by their mean; a configuration is clearly lower if the difference \
         exceeds the variation of both",
    );
    if ranking.variation == Variation::Parts {
        screen.note(
            "the variation is that within one run: repeated runs, named as A1,A2 B1,B2, include what differs from run to run",
        );
    }
    if let Some(others) = beside_paper(ranking) {
        screen.note(&others);
    }
    if ranking.method == methods::MEMORY {
        screen.note(&published::ranking());
    }
}

/// Adds charts with a row for each experiment. A short screen shows those with few rows, because it has the table.
fn add_rows(charts: Vec<(Chart, String)>, view: &View<'_>, screen: &mut Screen) {
    for (chart, caption) in charts {
        match view.all || chart.y.names.len() <= SHOWN {
            true => screen.picture(chart, caption),
            false => screen.on_page(|page| page.picture(chart, caption)),
        }
    }
}

/// Adds the samples of each kernel over time, and their distributions, of which the terminal shows the first.
fn add_samples(ranking: &Ranking, screen: &mut Screen) {
    if ranking.one_by_one.is_empty() {
        return;
    }
    screen.section("samples");
    for (number, (kernel, title)) in one_by_one::kernels(ranking).enumerate() {
        screen.on_page(|page| page.heading(&title));
        scatter::add_pair(&title, &one_by_one::series(ranking, kernel), number == 0, screen);
    }
    one_by_one::ranges(ranking).into_iter().for_each(|table| screen.table(table));
    one_by_one::notes(ranking).iter().for_each(|text| screen.note(text));
}

/// Returns what the configurations have not measured alike.
fn differences(ranking: &Ranking) -> Vec<String> {
    let left_out = ranking.working_sets_left_out;
    let sets = (left_out > 0).then(|| {
        let sets = counted(left_out, "working set is", "working sets are");
        format!("{sets} left out, because not every recording has measured them.")
    });
    let unequal = ranking.unequal_samples;
    let single = without_variance(ranking);
    let samples = (unequal > 0).then(|| {
        let experiments = counted(unequal, "experiment", "experiments");
        format!(
            "The repetitions of {experiments} differ: a configuration with fewer is less certain."
        )
    });
    let reads = ranking.reads_differ.then(|| READS_DIFFER.to_owned());
    let unit = times::unit(ranking).map(str::to_owned);
    [sets, single, samples, reads, unit].into_iter().flatten().collect()
}

/// Returns which experiments have series of a single sample, and that these have no variance.
fn without_variance(ranking: &Ranking) -> Option<String> {
    let series = match ranking.without_variance {
        0 => return None,
        1 => "1 series has a single sample, which has no variance".to_owned(),
        many => format!("{} series have a single sample, which has no variance", count(many)),
    };
    let unknown = ranking.experiments.iter().filter(|experiment| lacks_variance(experiment));
    let unknown: Vec<String> = unknown.map(words).collect();
    let listed = unknown[..unknown.len().min(NAMED)].join("; ");
    let noise = match unknown.len() {
        0 => "The noise is that of the others".to_owned(),
        1..=NAMED => format!("Their times are compared, but not the noise of {listed}"),
        many => format!(
            "Their times are compared, but not the noise of {} experiments: {listed} and {} more",
            count(many as u64),
            count((many - NAMED) as u64)
        ),
    };
    Some(format!("{series}. {noise}."))
}

/// Returns whether an experiment is not ranked although all configurations have measured it: the noise of one is not known.
fn lacks_variance(experiment: &RankedExperiment) -> bool {
    let mut measured = experiment.time.iter().zip(&experiment.noise);
    experiment.tied.is_none() && measured.all(|(time, noise)| time.is_some() || noise.is_some())
}

/// States how often each configuration has which place in the experiments that are none of the paper's.
fn beside_paper(ranking: &Ranking) -> Option<String> {
    let places =
        |standing: &Standing| Some((clip(&plain(&standing.name), NAME), standing.beside_paper?));
    let places: Option<Vec<(String, Places)>> = ranking.configurations.iter().map(places).collect();
    let places = places.filter(|places| !places.is_empty())?;
    let others = ranking.experiments.iter().filter(|experiment| experiment.beside_paper);
    let ranked = others.filter(|experiment| experiment.tied.is_some()).count();
    // Of two configurations none is in the middle.
    let several = places.len() > 2;
    let texts = places.iter().map(|(name, places)| {
        let middle = if several {
            format!(", in the middle in {}", count(places.middle))
        } else {
            String::new()
        };
        format!(
            "{name} is lowest in {}{middle}, highest in {}",
            count(places.lowest),
            count(places.highest)
        )
    });
    Some(format!(
        "not counted above: {} of experiments that are none of the paper's: {}",
        counted(ranked as u64, "value", "values"),
        texts.collect::<Vec<_>>().join("; ")
    ))
}

/// Returns what was found: who is lowest most often, and in how many experiments nobody is.
pub(crate) fn sentences(ranking: &Ranking) -> Vec<String> {
    let ranked = ranked(ranking);
    let experiments = counted(ranked, "experiment", "experiments");
    let variation = match ranking.variation {
        Variation::Runs => "the variation from run to run",
        Variation::Parts => "the variation within a run",
    };
    // Of equal ones the first named is the best, because `max_by_key` returns the last.
    let standings = ranking.configurations.iter().rev();
    let best = standings.max_by_key(|standing| (standing.clearly_lowest, standing.lowest.count));
    let mut sentences = vec![];
    match best.filter(|best| best.clearly_lowest > 0) {
        Some(best) => sentences.push(format!(
            "{} has the lowest noise in {} of {experiments}; in {} of them the difference exceeds {variation}.",
            clip(&plain(&best.name), NAME),
            certain(&best.lowest),
            count(best.clearly_lowest),
        )),
        None if ranked == 0 => sentences.push("The noise of no experiment is known for all configurations.".to_owned()),
        None if ranked == 1 => sentences.push(format!(
            "No configuration is clearly the quietest: none is lower than all others by more than {variation}."
        )),
        None => sentences.push(format!(
            "No configuration is clearly the quietest: in none of {experiments} is one lower than all others by more than \
             {variation}."
        )),
    }
    if ranking.tied > 0 && ranked > 1 {
        let which = if ranking.tied == ranked { "all".to_owned() } else { count(ranking.tied) };
        sentences.push(format!(
            "In {which} of them even the lowest and the highest differ by less than {variation}."
        ));
    }
    let absent = counted_experiments(ranking)
        .filter(|experiment| experiment.tied.is_none() && !lacks_variance(experiment))
        .count() as u64;
    if absent > 0 {
        let them = if absent == 1 { "it" } else { "them" };
        let absent = counted(absent, "experiment is", "experiments are");
        sentences
            .push(format!("{absent} not ranked, because a configuration has not measured {them}."));
    }
    sentences.extend(times::sentences(ranking));
    sentences
}

/// Returns the experiments that are counted.
fn counted_experiments(ranking: &Ranking) -> impl Iterator<Item = &RankedExperiment> {
    ranking.experiments.iter().filter(|experiment| !experiment.beside_paper)
}

/// Returns the number of counted experiments in which the noise of all configurations is known.
fn ranked(ranking: &Ranking) -> u64 {
    counted_experiments(ranking).filter(|experiment| experiment.tied.is_some()).count() as u64
}

/// Returns a count with the interval of its share: `108 (59 %, 95 %: 52–66 %)`.
fn certain(places: &Counted) -> String {
    let interval = places.interval.map(|interval| {
        format!(", 95 %: {:.0}–{:.0} %", interval.low * 100.0, interval.high * 100.0)
    });
    format!("{} ({}{})", count(places.count), share(places.share), interval.unwrap_or_default())
}

fn standings(ranking: &Ranking) -> Table {
    let cell =
        |places: &Counted| format!("{} ({:.0} %)", count(places.count), places.share * 100.0);
    let range = |ends: Interval| format!("{:.0}–{:.0} %", ends.low * 100.0, ends.high * 100.0);
    let several = ranking.configurations.len() > 2;
    let equal = ranking.configurations.iter().any(|standing| standing.equal > 0);
    Table::with_rows(&ranking.configurations)
        .name("configuration", |standing| clip(&plain(&standing.name), NAME))
        .number("runs", |standing| count(standing.runs))
        .number("lowest", |standing| cell(&standing.lowest))
        .number("95 %", |standing| standing.lowest.interval.map_or("–".into(), range))
        .some_numbers("middle", 0, |standing| several.then(|| cell(&standing.middle)))
        .number("highest", |standing| cell(&standing.highest))
        .some_numbers("equal", 0, |standing| equal.then(|| count(standing.equal)))
        .number("clearly lowest", |standing| count(standing.clearly_lowest))
        .number("clearly highest", |standing| count(standing.clearly_highest))
        .number("absent", |standing| count(standing.absent))
        .number("time", times::median)
        .captioned("How often each configuration is lowest")
        .leaving_out(&["clearly highest", "runs", "absent"])
}

/// Returns the noise of every configuration in every experiment, with the one that is clearly lowest.
fn experiments_table(ranking: &Ranking, view: &View<'_>) -> Table {
    let name = |standing: &Standing| clip(&plain(&standing.name), NAME);
    let mut heads = vec!["experiment"];
    let names: Vec<String> = ranking.configurations.iter().map(name).collect();
    heads.extend(names.iter().map(String::as_str));
    heads.push("clearly lowest");
    let mut table = Table::with_names(heads[0], &heads[1..]);
    for experiment in &ranking.experiments {
        let mut cells = vec![words(experiment)];
        cells.extend(experiment.noise.iter().zip(&experiment.time).map(
            |measured| match measured {
                (Some(noise), _) => noise_cell(noise, ranking.fixed),
                (None, Some(_)) => "1 sample".to_owned(),
                (None, None) => "–".to_owned(),
            },
        ));
        cells.push(match (experiment.clearly_lowest, experiment.tied) {
            (Some(lowest), _) => names[lowest].clone(),
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

fn noise_cell(noise: &RankedNoise, fixed: Fixed) -> String {
    match fixed {
        Fixed::Work => fine(noise.variance_to_mean),
        Fixed::Time => number(noise.variance_to_mean),
    }
}

/// Describes an experiment: `read-sequential, in L2`, `intadd, 1 ms`.
fn words(experiment: &RankedExperiment) -> String {
    what(experiment) + &region(experiment)
}

/// Describes an experiment without its cache region.
fn what(experiment: &RankedExperiment) -> String {
    let mut words = plain(&experiment.experiment).to_string();
    if experiment.grain_ns > 0 {
        words += &format!(", {}", asked(experiment.grain_ns));
    }
    if experiment.copies > 1 {
        words += &format!(", {} copies", experiment.copies);
    }
    if let Some(injected) = &experiment.injected {
        words += &format!(", {}", plain(injected));
    }
    if let (Some(build), Some(bytes)) = (&experiment.build, experiment.matrix_bytes) {
        words += &format!(
            ", {}, {}",
            crate::results::memory::words::size(bytes),
            crate::results::paging::words::build(build)
        );
    }
    words
}

/// Describes the cache region of an experiment: `, in L2`; empty if it has none.
fn region(experiment: &RankedExperiment) -> String {
    match (experiment.region, &experiment.cache) {
        (None, _) => String::new(),
        (Some(_), Some(cache)) => format!(", in {}", plain(cache)),
        (Some(_), None) => ", beyond the caches".to_owned(),
    }
}
