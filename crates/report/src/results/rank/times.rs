//! How long the same work takes in each configuration, compared with the first.

use super::{NAME, SHOWN, words};
use crate::style::{View, clip, plain};
use crate::table::Table;
use crate::units::{between, change, count, counted, fine};
use anechoic_analyze::rank::{IterationTime, Ranking, Standing, TimesOverFirst, Unit};

/// What is published about systems with and without an operating system's noise.
pub(super) const PUBLISHED: &str = "Gerofi et al. (SC 2021): Linux, tuned for the machine Fugaku, takes on average 4 % longer than the lightweight kernel \
McKernel, and up to 29 % in the worst application.";

/// Returns for each configuration but the first how much longer it takes for the same work.
pub(super) fn sentences(ranking: &Ranking) -> Vec<String> {
    let Some((first, others)) = ranking.configurations.split_first() else { return vec![] };
    let first = match ranking.first_is_bare {
        true => format!("{}, which has no operating system", short(&first.name)),
        false => short(&first.name),
    };
    let sentences = (1..).zip(others).filter_map(|(at, standing)| {
        let over = standing.over_first?;
        let found = ranking.experiments.iter().filter(|found| has_ratio(found.time[at])).count();
        let (than, range) = (than(&over), range(&over, found as u64));
        Some(format!("For the same work {} takes {than} {first}{range}.", short(&standing.name)))
    });
    sentences.collect()
}

/// Writes the name of a configuration.
fn short(name: &str) -> String {
    clip(&plain(name), NAME)
}

/// States how the median over the experiments compares with the first configuration.
fn than(over: &TimesOverFirst) -> String {
    let size = change((over.median - 1.0).abs());
    match (size.strip_prefix('+'), over.median < 1.0) {
        (None, _) => "as long as".to_owned(),
        (Some(size), true) => format!("{size} less time than"),
        (Some(size), false) => format!("{size} longer than"),
    }
}

/// States over which experiments the median is, how far they lie apart, and how many are clear.
fn range(over: &TimesOverFirst, experiments: u64) -> String {
    match (experiments, over.clear) {
        (1, 0) => ", but the variation within and between runs may explain that".to_owned(),
        (1, _) => String::new(),
        (many, clear) => format!(
            ": the median of {}, from {} to {}; {} clear",
            counted(many, "experiment", "experiments"),
            change(over.lowest - 1.0),
            change(over.highest - 1.0),
            match clear {
                0 => "none of them is".to_owned(),
                1 => "one of them is".to_owned(),
                clear if clear == many => "all of them are".to_owned(),
                clear => format!("{} of them are", count(clear)),
            }
        ),
    }
}

/// Returns what the times are compared in, where it is not time, and what that means.
pub(super) fn unit(ranking: &Ranking) -> Option<&'static str> {
    match ranking.unit {
        Unit::Time => None,
        Unit::CoreCycles => Some(
            "Times are compared in core cycles, because the cores ran at different speeds (calibrated by a chain of additions \
             before each run). Memory does not follow the speed of the core.",
        ),
        Unit::Emulated => Some(
            "Times are not compared: the processor of a recording was emulated in software, where durations, and so their noise, mean nothing.",
        ),
        Unit::Unknown => Some(
            "Times are not compared: a recording does not state how fast its cores ran, so a difference could be theirs.",
        ),
    }
}

/// Returns the time of an iteration of every configuration in every experiment, and its ratio to the first.
pub(super) fn table(ranking: &Ranking, view: &View<'_>) -> Option<Table> {
    let others =
        ranking.configurations.iter().filter(|standing| standing.over_first.is_some()).count();
    if others == 0 {
        return None;
    }
    let mut heads = vec!["experiment".to_owned()];
    for (at, standing) in ranking.configurations.iter().enumerate() {
        heads.push(clip(&plain(&standing.name), NAME));
        if at > 0 {
            heads.extend(["over".to_owned(), "95 %".to_owned()]);
        }
    }
    let rest: Vec<&str> = heads[1..].iter().map(String::as_str).collect();
    let mut table = Table::with_names(&heads[0], &rest);
    for experiment in &ranking.experiments {
        let mut cells = vec![words(experiment)];
        for (at, time) in experiment.time.iter().enumerate() {
            cells.push(time.map_or("–".into(), |time| fine(time.mean_ns)));
            if at > 0 {
                let over = time.and_then(|time| time.over_first);
                let interval = time.and_then(|time| time.interval);
                cells.push(over.map_or("–".into(), |over| change(over - 1.0)));
                let interval = interval
                    .map(|bounds| between(&change(bounds.low - 1.0), &change(bounds.high - 1.0)));
                cells.push(interval.unwrap_or("–".into()));
            }
        }
        table.row(cells);
    }
    let table = table.captioned(
        "Time of one iteration or access in ns, and how much more that is than in the first column",
    );
    Some(match ranking.experiments.len().checked_sub(SHOWN) {
        Some(more @ 1..) if !view.all => {
            table.folded(SHOWN, format!("and {} more (--all)", count(more as u64)))
        }
        _ => table,
    })
}

fn has_ratio(time: Option<IterationTime>) -> bool {
    time.is_some_and(|time| time.over_first.is_some())
}

/// Returns the ratio that stands for a configuration in the table of places, `+3.2 %`.
pub(super) fn median(standing: &Standing) -> String {
    standing.over_first.map_or("–".into(), |over| change(over.median - 1.0))
}
