//! The rounds of sorts in a recording of `anechoic measure serial`.

use anechoic_recording::injection::InjectionKind;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{Problem, ProblemKind, Recording, Series};
use std::collections::{BTreeMap, BTreeSet};

/// Names of the kernels that are measured beside the work: the null system call, and the loop that records interrupts.
const BESIDE: [&str; 2] = ["trap", "intadd-chain"];

/// Returns whether a series of `anechoic measure serial` is of the work whose time is modelled: sorts, or another work.
#[must_use]
pub fn is_work(series: &Series) -> bool {
    !BESIDE.contains(&&*series.variant)
}

/// A series with its outcome.
pub(super) type SeriesOutcome = (Series, Outcome);

/// One round of sorts: its copies ran at the same time, under one rate of added interrupts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Round {
    pub(super) copies: u32,
    pub(super) injection: Option<u32>,
    /// Number of its block among the rounds with as many copies.
    pub(super) block: u32,
    pub(super) start_ticks: u64,
    pub(super) end_ticks: u64,
    pub(super) sorts: u64,
}

/// Returns an error: something that the model needs is missing in the recording.
pub(super) fn lacks(recording: &Recording, why: &str, remedy: &str) -> Problem {
    ProblemKind::NoVerdict.problem(why, remedy).about(recording.dir().display())
}

/// Returns the completed rounds of sorts by start, and notes on what was left out.
pub(super) fn rounds(recording: &Recording, known: &[SeriesOutcome]) -> (Vec<Round>, Vec<String>) {
    let mut by_round: BTreeMap<u32, Vec<&SeriesOutcome>> = BTreeMap::new();
    for one in known.iter().filter(|(series, _)| is_work(series)) {
        by_round.entry(one.0.round).or_default().push(one);
    }
    let (all, kinds) =
        (by_round.len(), by_round.values().filter(|round| !is_kind(recording, round)));
    let others = kinds.count();
    let blocks = blocks(by_round.values().map(|round| &round[0].0));
    let mut rounds: Vec<Round> = by_round
        .values()
        .zip(blocks)
        .filter(|(round, _)| is_kind(recording, round))
        .filter_map(|(round, block)| complete(round, block))
        .collect();
    rounds.sort_by_key(|round| (round.start_ticks, round.end_ticks));
    let mut notes = vec![];
    if others > 0 {
        notes.push(format!("{others} rounds with noise other than bare interrupts are left out"));
    }
    let partial = all - others - rounds.len();
    if partial > 0 {
        notes.push(format!("{partial} incomplete rounds are left out"));
    }
    (rounds, notes)
}

/// Returns the number of each round's block. A number of copies goes through all rates before it starts again, so a
/// rate that recurs begins the next block.
fn blocks<'a>(rounds: impl Iterator<Item = &'a Series>) -> Vec<u32> {
    let mut by_copies: BTreeMap<u32, (u32, BTreeSet<Option<u32>>)> = BTreeMap::new();
    let mut blocks = vec![];
    for series in rounds {
        let (block, seen) = by_copies.entry(series.parameters.copies).or_default();
        if !seen.insert(series.parameters.injection) {
            *block += 1;
            *seen = BTreeSet::from([series.parameters.injection]);
        }
        blocks.push(*block);
    }
    blocks
}

/// Returns whether nothing, or bare interrupts only, was added in a round.
fn is_kind(recording: &Recording, round: &[&SeriesOutcome]) -> bool {
    let injections = &recording.run().injections;
    round.iter().all(|(series, _)| {
        let injected = series.parameters.injection.map(|at| injections.get(at as usize));
        injected.is_none_or(|one| one.is_some_and(|one| one.kind == InjectionKind::Interrupt))
    })
}

/// Returns what distinguishes the rounds of a block.
fn settings(series: &Series) -> (u32, Option<u32>) {
    (series.parameters.copies, series.parameters.injection)
}

/// Returns whether a series ended as requested.
fn is_whole(series: &Series, outcome: &Outcome) -> bool {
    matches!(outcome.ended, Ended::Complete | Ended::Steady | Ended::Unsteady)
        || outcome.samples >= series.asked
}

/// Returns the round if all of its copies exist and completed as requested.
fn complete(round: &[&SeriesOutcome], block: u32) -> Option<Round> {
    let (first, _) = round.first()?;
    let whole = |(series, outcome): &&SeriesOutcome| {
        settings(series) == settings(first) && is_whole(series, outcome)
    };
    let outcomes = || round.iter().map(|(_, outcome)| outcome);
    let start_ticks = outcomes().map(|outcome| outcome.first_ticks).min()?;
    let end_ticks = outcomes().map(|outcome| outcome.last_ticks).max()?;
    let sorts = outcomes().map(|outcome| outcome.samples).fold(0, u64::saturating_add);
    let (copies, injection) = (first.parameters.copies, first.parameters.injection);
    let complete = round.iter().all(whole) && round.len() == copies as usize;
    let sound = complete && sorts > 0 && end_ticks > start_ticks;
    sound.then_some(Round { copies, injection, block, start_ticks, end_ticks, sorts })
}
