//! One job of a cell: the ranks that synchronise over all rounds, or one rank that does not.

use super::outcome::{Basis, Happened};
use super::play::play_through;
use super::sums::Sums;
use super::track::Track;
use super::undisturbed::Base;
use super::walk::{Round, Step};
use crate::phases::{LONGEST_NS, Span, Timeline};
use std::collections::BTreeMap;

/// A job with its phases.
#[derive(Debug, Clone)]
pub(super) struct Job<'a> {
    pub rounds: Vec<Round<'a>>,
    /// The phases of all rounds, one after the other.
    pub steps: Vec<Step>,
    pub base: Base,
    /// Number and sum of the values that its undisturbed phase is the mean of, for each block.
    pub base_blocks: Vec<(f64, f64)>,
}

impl<'a> Job<'a> {
    /// Plays the rounds. The phases, of which there must be at least one, are divided into `blocks`. Absent if a phase
    /// without noise has no duration.
    pub(super) fn new(rounds: Vec<Round<'a>>, blocks: usize) -> Option<Self> {
        let mut steps: Vec<Step> = rounds.iter().flat_map(Round::walk).collect();
        let tracks = || rounds.iter().flat_map(|round| round.tracks.iter());
        let known = tracks().all(|track| track.detours.is_some());
        let calibrated = tracks().map(|track| track.calibrated_ns).max().filter(|_| !known);
        let mut cut = cut(&mut steps, blocks);
        let (base, base_blocks) = Base::find(&mut cut, calibrated);
        if !(base.ns >= 1.0 && base.ns < LONGEST_NS as f64) {
            return None;
        }
        let mut job = Self { rounds, steps, base, base_blocks };
        if known {
            let mut steps = &mut job.steps[..];
            for round in &job.rounds {
                let (own, rest) = steps.split_at_mut(round.phases());
                round.play(own, job.base.ns.round() as u64);
                steps = rest;
            }
        }
        Some(job)
    }

    /// Returns whether detours are known, so that a prediction exists.
    pub(super) fn known(&self) -> bool {
        self.base.basis != Basis::Calibrated
    }

    /// Returns each round with its phases.
    pub(super) fn by_round(&self) -> impl Iterator<Item = (&Round<'a>, &[Step])> {
        let mut from = 0;
        self.rounds.iter().map(move |round| {
            let steps = &self.steps[from..from + round.phases()];
            from += round.phases();
            (round, steps)
        })
    }

    /// Returns the sums of each block.
    pub(super) fn sums(&self) -> Vec<Sums> {
        let blocks = self.base_blocks.len();
        let mut sums = Vec::with_capacity(blocks);
        for (block, &(base, base_ns)) in self.base_blocks.iter().enumerate() {
            let mut all = Sums { base, base_ns, ..Sums::default() };
            for step in &self.steps[bounds(self.steps.len(), blocks, block)] {
                all.phases += 1.0;
                all.took_ns += step.took_ns;
                all.delay_ns += step.delay_ns as f64;
                if step.happened == Happened::InWork {
                    all.disturbed += 1.0;
                    all.disturbed_took_ns += step.took_ns;
                    all.disturbed_delay_ns += step.delay_ns as f64;
                }
            }
            sums.push(all);
        }
        self.add_through(&mut sums);
        sums
    }

    /// Adds the recursion played continuously through whole rounds to the sums of the blocks; nothing if ranks have no
    /// common clock.
    fn add_through(&self, sums: &mut [Sums]) {
        let one =
            |round: &Round<'_>| round.tracks.windows(2).all(|pair| pair[0].host == pair[1].host);
        if !self.known() || !self.rounds.iter().all(one) {
            return;
        }
        let (phases, blocks) = (self.steps.len(), sums.len());
        // Where a played phase starts is where the measured one does that goes on then.
        let (mut before, mut block) = (0, 0);
        for round in &self.rounds {
            let mut phase = 0;
            play_through(&round.tracks, self.base.ns.round() as u64, |start_ns, delay_ns| {
                while phase + 1 < round.phases() && round.starts_ns(phase + 1) <= start_ns {
                    phase += 1;
                }
                while bounds(phases, blocks, block).end <= before + phase {
                    block += 1;
                }
                sums[block].through += 1.0;
                sums[block].through_delay_ns += delay_ns as f64;
            });
            before += round.phases();
        }
    }

    /// Returns the detours of each rank in the measured rounds, one round after the other; nothing if a window is too
    /// long, or too short to play a phase.
    pub(super) fn timelines(&self) -> Option<Vec<Timeline>> {
        let mut ranks: BTreeMap<u32, Vec<&Track>> = BTreeMap::new();
        for (_, track) in self.tracks() {
            ranks.entry(track.rank).or_default().push(track);
        }
        let timelines = ranks.into_values().map(|tracks| {
            let (mut length, mut away) = (0u64, vec![]);
            for track in tracks {
                let Some((first, last)) = track.window() else { continue };
                let shifted = |ns: u64| length.saturating_add(ns.clamp(first, last) - first);
                let span =
                    |s: &Span| Span { start_ns: shifted(s.start_ns), end_ns: shifted(s.end_ns) };
                away.extend(track.away().iter().map(span));
                length = length.saturating_add(last - first);
            }
            let timeline = (length <= LONGEST_NS).then(|| Timeline::new(length, away))?;
            (timeline.free_ns() as f64 > self.base.ns + 1.0).then_some(timeline)
        });
        timelines.collect()
    }

    /// Returns all tracks with the number of their round.
    pub(super) fn tracks(&self) -> impl Iterator<Item = (u32, &'a Track)> {
        self.rounds
            .iter()
            .flat_map(|round| round.tracks.iter().map(move |&track| (round.number, track)))
    }
}

/// Returns the range of a block of phases.
fn bounds(phases: usize, blocks: usize, block: usize) -> std::ops::Range<usize> {
    let at = |block: usize| (phases as u128 * block as u128 / blocks.max(1) as u128) as usize;
    at(block)..at(block + 1)
}

fn cut(mut steps: &mut [Step], blocks: usize) -> Vec<&mut [Step]> {
    let phases = steps.len();
    let mut cut = Vec::with_capacity(blocks);
    for block in 0..blocks {
        let (own, rest) = steps.split_at_mut(bounds(phases, blocks, block).len());
        cut.push(own);
        steps = rest;
    }
    cut
}
