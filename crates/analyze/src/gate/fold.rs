//! Judges the rules of a gate CPU by CPU, while the detours of a recording are read.

use super::program::Counted;
use super::rules::Rule;
use super::tally::{Tally, Watched};
use super::{Finding, LargestSource, Outcome};
use crate::fold::{CpuLoops, Fold};
use crate::loops::{watched_from_to, watched_ticks};
use crate::split::{Charge, SplitDetour};
use anechoic_recording::sources::NOT_ATTRIBUTABLE;
use std::sync::Arc;

/// Whether a source counts for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Yes,
    /// It is unknown what took the time.
    Perhaps,
    No,
}

/// A rule with its sums over the CPU that is being read.
#[derive(Debug)]
struct Judging<'a> {
    rule: &'a Rule,
    longest_allowed_ns: Option<u64>,
    /// Whether each source counts, by its number.
    places: Vec<Counts>,
    /// Time that each of the counted sources took of the detours that are long enough, by its number.
    taken_ticks: Vec<u64>,
    seen: Option<Tally>,
    /// The same and what is unknown, for a rule on sources.
    possible: Option<Tally>,
    findings: Vec<Finding>,
    /// What it counts on all CPUs of a program.
    counted: Counted,
}

impl<'a> Judging<'a> {
    /// Begins to judge a rule of a gate that has `rules`.
    fn new(rule: &'a Rule, rules: &[Rule]) -> Self {
        Self {
            rule,
            longest_allowed_ns: rule.longest_allowed_ns(rules),
            places: vec![],
            taken_ticks: vec![],
            seen: None,
            possible: None,
            findings: vec![],
            counted: Counted::default(),
        }
    }
}

/// Judges rules on each CPU; its memory does not grow with the number of detours.
#[derive(Debug)]
pub(super) struct GateFold<'a> {
    threshold_ns: u64,
    rules: Vec<Judging<'a>>,
    /// Source and name by number.
    names: Vec<(Arc<str>, Arc<str>)>,
    /// When the CPU was watched last.
    last_ticks: u64,
    /// Its longest detour.
    longest_ticks: u64,
    /// The time of all its detours.
    lost_ticks: u64,
}

impl<'a> GateFold<'a> {
    pub(super) fn new(rules: &'a [Rule], threshold_ns: u64) -> Self {
        Self {
            threshold_ns,
            rules: rules.iter().map(|rule| Judging::new(rule, rules)).collect(),
            names: vec![],
            last_ticks: 0,
            longest_ticks: 0,
            lost_ticks: 0,
        }
    }

    /// Returns the findings of each rule, one for each CPU that was watched, and what it counts in the run of a program.
    pub(super) fn finish(self) -> (Vec<Vec<Finding>>, Vec<Counted>) {
        self.rules.into_iter().map(|judging| (judging.findings, judging.counted)).unzip()
    }
}

impl Fold for GateFold<'_> {
    fn begin_cpu(&mut self, here: &CpuLoops<'_>) {
        let (first_ticks, last_ticks) = watched_from_to(here.run, here.cpu);
        (self.last_ticks, self.longest_ticks, self.lost_ticks) = (last_ticks, 0, 0);
        for judging in &mut self.rules {
            let over_ticks = here.run.clock.ticks(judging.rule.counts_over_ns());
            let tally = Tally::new(first_ticks, last_ticks, over_ticks, &here.run.clock);
            judging.possible = judging.rule.selects().then(|| tally.clone());
            judging.seen = Some(tally);
            judging.taken_ticks.fill(0);
        }
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        self.last_ticks = self.last_ticks.max(detour.view.end_ticks);
        self.longest_ticks = self.longest_ticks.max(detour.view.lost_ticks);
        self.lost_ticks = self.lost_ticks.saturating_add(detour.view.lost_ticks);
        self.names.extend_from_slice(&detour.names[self.names.len().min(detour.names.len())..]);
        self.rules.iter_mut().for_each(|judging| judging.add(detour));
    }

    fn end_cpu(&mut self, here: &CpuLoops<'_>) {
        let watched_ticks = watched_ticks(here.run, here.cpu, self.last_ticks, self.lost_ticks);
        let has_program = here.run.program.is_some();
        for judging in self.rules.iter_mut().filter(|_| watched_ticks > 0) {
            if has_program && judging.rule.judges_runs() {
                judging.count(here, watched_ticks, self.longest_ticks, &self.names);
                continue;
            }
            let Some(seen) = &judging.seen else { continue };
            let unseen_ns = judging.rule.unseen_ns(here.run);
            let watched = Watched {
                cpu: here.cpu.cpu,
                clock: &here.run.clock,
                wall_ticks: watched_ticks.saturating_add(here.run.clock.ticks(unseen_ns)),
                last_ticks: self.last_ticks,
                threshold_ns: self.threshold_ns,
                lost_detours: here.cpu.lost_detours,
                longest_ticks: self.longest_ticks,
                longest_allowed_ns: judging.longest_allowed_ns,
                seen,
                possible: judging.possible.as_ref().unwrap_or(seen),
            };
            let Some(mut finding) = judging.rule.judge(&watched) else { continue };
            if finding.outcome == Outcome::Fail {
                finding.largest_source = judging.largest_source(&self.names);
            }
            judging.findings.push(finding);
        }
    }
}

/// Returns the time of the charges of these kinds, and whether there are any.
fn taken(charges: &[Charge], places: &[Counts], which: &[Counts]) -> (u64, bool) {
    let counted = charges.iter().filter(|charge| which.contains(&places[charge.place]));
    counted.fold((0_u64, false), |sum, charge| (sum.0.saturating_add(charge.ticks), true))
}

impl Judging<'_> {
    fn add(&mut self, detour: &SplitDetour<'_>) {
        for (source, name) in &detour.names[self.places.len().min(detour.names.len())..] {
            self.places.push(counts(self.rule, source, name));
            self.taken_ticks.push(0);
        }
        let Some(seen) = &mut self.seen else { return };
        let end_ticks = detour.view.end_ticks;
        let whole = (detour.view.lost_ticks, true);
        let sum_of = |which: &[Counts]| taken(detour.charges, &self.places, which);
        let certain = if self.possible.is_none() { whole } else { sum_of(&[Counts::Yes]) };
        if let (ticks, true) = certain {
            let is_long = seen.add(end_ticks, ticks);
            let counts = |charge: &&Charge| self.places[charge.place] == Counts::Yes;
            let counted = detour.charges.iter().filter(counts);
            for charge in counted.filter(|_| is_long) {
                let sum = &mut self.taken_ticks[charge.place];
                *sum = sum.saturating_add(charge.ticks);
            }
        }
        let Some(possible) = &mut self.possible else { return };
        // A detour that was not attributed may be anything.
        let all =
            if detour.charges.is_empty() { whole } else { sum_of(&[Counts::Yes, Counts::Perhaps]) };
        if let (ticks, true) = all {
            possible.add(end_ticks, ticks);
        }
    }

    /// Adds what counts on a CPU in the run of a program.
    fn count(
        &mut self,
        here: &CpuLoops<'_>,
        wanted_ticks: u64,
        longest_ticks: u64,
        names: &[(Arc<str>, Arc<str>)],
    ) {
        let Some(seen) = &self.seen else { return };
        let clock = &here.run.clock;
        self.counted.seen.add(seen, clock);
        self.counted.possible.add(self.possible.as_ref().unwrap_or(seen), clock);
        self.counted.wanted_ns += clock.ns(wanted_ticks) as f64;
        self.counted.longest_ns = self.counted.longest_ns.max(clock.ns(longest_ticks) as f64);
        for (named, ticks) in names.iter().zip(&self.taken_ticks).filter(|(_, ticks)| **ticks > 0) {
            let sum = self.counted.taken_ticks.entry(named.clone()).or_default();
            *sum = sum.saturating_add(*ticks);
        }
    }

    /// Returns the source that took most of what counts; absent if no source is known.
    fn largest_source(&self, names: &[(Arc<str>, Arc<str>)]) -> Option<LargestSource> {
        let all = self.taken_ticks.iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
        let by_place = self.taken_ticks.iter().enumerate();
        let (place, ticks) = by_place.rev().max_by_key(|(_, ticks)| **ticks)?;
        let (source, name) = names.get(place).filter(|_| *ticks > 0)?;
        Some(LargestSource {
            source: source.to_string(),
            name: name.to_string(),
            share: crate::share(*ticks, all),
        })
    }
}

fn counts(rule: &Rule, source: &Arc<str>, name: &Arc<str>) -> Counts {
    let named = rule.source.as_ref().is_none_or(|pattern| pattern.covers(source, name));
    match named {
        true => Counts::Yes,
        false if &**source == NOT_ATTRIBUTABLE.id => Counts::Perhaps,
        false => Counts::No,
    }
}
