//! Judges the rules of a gate CPU by CPU, while the detours of a recording are read.

use super::Finding;
use super::rules::Rule;
use super::tally::{Tally, Watched};
use crate::fold::{CpuLoops, Fold};
use crate::loops::{watched_from_to, watched_ticks};
use crate::split::SplitDetour;
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
    /// Whether each source counts, by its number.
    places: Vec<Counts>,
    seen: Option<Tally>,
    /// The same and what is unknown, for a rule on sources.
    possible: Option<Tally>,
    findings: Vec<Finding>,
}

/// Judges rules on each CPU; its memory does not grow with the number of detours.
#[derive(Debug)]
pub(super) struct GateFold<'a> {
    threshold_ns: u64,
    rules: Vec<Judging<'a>>,
    /// When the CPU was watched last.
    last_ticks: u64,
    /// Its longest detour.
    longest_ticks: u64,
    /// The time of all its detours.
    lost_ticks: u64,
}

impl<'a> GateFold<'a> {
    pub(super) fn new(rules: &'a [Rule], threshold_ns: u64) -> Self {
        let judging =
            |rule| Judging { rule, places: vec![], seen: None, possible: None, findings: vec![] };
        Self {
            threshold_ns,
            rules: rules.iter().map(judging).collect(),
            last_ticks: 0,
            longest_ticks: 0,
            lost_ticks: 0,
        }
    }

    /// Returns the findings of each rule, one for each CPU that was watched.
    pub(super) fn finish(self) -> Vec<Vec<Finding>> {
        self.rules.into_iter().map(|of| of.findings).collect()
    }
}

impl Fold for GateFold<'_> {
    fn begin_cpu(&mut self, of: &CpuLoops<'_>) {
        let (first_ticks, last_ticks) = watched_from_to(of.run, of.cpu);
        (self.last_ticks, self.longest_ticks, self.lost_ticks) = (last_ticks, 0, 0);
        for judging in &mut self.rules {
            let over_ticks = of.run.clock.ticks(judging.rule.counts_over_ns());
            let tally = Tally::new(first_ticks, last_ticks, over_ticks, &of.run.clock);
            judging.possible = judging.rule.source.as_ref().map(|_| tally.clone());
            judging.seen = Some(tally);
        }
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        self.last_ticks = self.last_ticks.max(detour.view.end_ticks);
        self.longest_ticks = self.longest_ticks.max(detour.view.lost_ticks);
        self.lost_ticks = self.lost_ticks.saturating_add(detour.view.lost_ticks);
        self.rules.iter_mut().for_each(|judging| judging.add(detour));
    }

    fn end_cpu(&mut self, of: &CpuLoops<'_>) {
        let wall_ticks = watched_ticks(of.run, of.cpu, self.last_ticks, self.lost_ticks);
        for judging in self.rules.iter_mut().filter(|_| wall_ticks > 0) {
            let Some(seen) = &judging.seen else { continue };
            let watched = Watched {
                cpu: of.cpu.cpu,
                clock: &of.run.clock,
                wall_ticks,
                of_program: of.run.program.is_some(),
                last_ticks: self.last_ticks,
                threshold_ns: self.threshold_ns,
                lost_detours: of.cpu.lost_detours,
                longest_ticks: self.longest_ticks,
                seen,
                possible: judging.possible.as_ref().unwrap_or(seen),
            };
            judging.findings.extend(judging.rule.judge(&watched));
        }
    }
}

impl Judging<'_> {
    fn add(&mut self, detour: &SplitDetour<'_>) {
        let Some(seen) = &mut self.seen else { return };
        let end_ticks = detour.view.end_ticks;
        let Some(possible) = &mut self.possible else {
            return seen.add(end_ticks, detour.view.lost_ticks);
        };
        for (source, name) in &detour.names[self.places.len().min(detour.names.len())..] {
            self.places.push(counts(self.rule, source, name));
        }
        let taken = |which: &[Counts]| {
            let counted = detour.charges.iter().filter(|of| which.contains(&self.places[of.place]));
            counted.fold((0_u64, false), |sum, of| (sum.0.saturating_add(of.ticks), true))
        };
        if let (ticks, true) = taken(&[Counts::Yes]) {
            seen.add(end_ticks, ticks);
        }
        // A detour that was not attributed may be anything.
        let unknown = (detour.view.lost_ticks, true);
        let all = if detour.charges.is_empty() {
            unknown
        } else {
            taken(&[Counts::Yes, Counts::Perhaps])
        };
        if let (ticks, true) = all {
            possible.add(end_ticks, ticks);
        }
    }
}

fn counts(rule: &Rule, source: &Arc<str>, name: &Arc<str>) -> Counts {
    match &rule.source {
        Some(pattern) if !pattern.covers(source, name) => match &**source == NOT_ATTRIBUTABLE.id {
            true => Counts::Perhaps,
            false => Counts::No,
        },
        _ => Counts::Yes,
    }
}
