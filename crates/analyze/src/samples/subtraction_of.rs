//! Processes one series' samples with everything recorded in them, for a [`Subtraction`].

use crate::samples::ns;
use crate::samples::subtraction::{
    FEWEST_SAMPLES, Ground, LARGE_NS, Left, Step, Subtracted, Subtraction, Verdict,
};
use crate::samples::subtraction_effects::EffectsBuilder;
use crate::samples::subtraction_left::{Spread, accounted, left, undisturbed};
use crate::samples::subtraction_paced::{PacedBuilder, PacedSample};
use crate::samples::subtraction_parts::{Class, Parts, is_network};
use crate::samples::subtraction_values::Values;
use crate::samples::{NOT_WATCHED, WATCH};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Clock, Series, sources};
use std::sync::Arc;

/// What is known of a series besides its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeriesTraits {
    /// Undisturbed duration of a step and the longest one that is not a detour, if gaps were watched.
    pub(crate) step: Option<(u64, u64)>,
    /// Whether activities are known, not only detours.
    pub(crate) attributed: bool,
}

impl SeriesTraits {
    pub(crate) fn new(series: &Series, attributed: bool) -> Self {
        let step = series
            .parameters
            .step_ticks
            .map(|step| (step, series.parameters.threshold_ticks.unwrap_or(step)));
        Self { step, attributed }
    }

    /// Returns what is subtracted, in order, and the number of steps that count as explained.
    fn ladder(self) -> (&'static [(Subtracted, Class)], usize) {
        const LADDER: [(Subtracted, Class); 6] = [
            (Subtracted::Ticks, Class::Tick),
            (Subtracted::Network, Class::Network),
            (Subtracted::AllSources, Class::Direct),
            (Subtracted::Gaps, Class::Gap),
            (Subtracted::VmOrHardware, Class::Host),
            (Subtracted::NotAttributable, Class::Unknown),
        ];
        match (self.attributed, self.step) {
            (true, Some(_)) => (&LADDER, 4),
            (true, None) => (&LADDER[..3], 3),
            (false, _) => (&[(Subtracted::Detours, Class::Detour)], 1),
        }
    }
}

/// Sums over one series.
#[derive(Debug)]
pub(crate) struct SubtractionBuilder {
    known: SeriesTraits,
    large_ticks: u64,
    /// Undisturbed samples, which are the same after every step.
    undisturbed: Values,
    /// The other samples, used and left out: raw, then after each step.
    judged: Vec<Values>,
    left_out: Vec<Values>,
    effects: EffectsBuilder,
    paced: PacedBuilder,
    large: u64,
    unknown: u64,
    overdrawn: u64,
    outside_ticks: u64,
}

impl SubtractionBuilder {
    /// Returns empty sums.
    pub(crate) fn new(known: SeriesTraits, clock: &Clock) -> Self {
        let steps = vec![Values::default(); known.ladder().0.len() + 1];
        Self {
            known,
            large_ticks: clock.ticks(LARGE_NS),
            undisturbed: Values::default(),
            judged: steps.clone(),
            left_out: steps,
            effects: EffectsBuilder::new(known.step.is_some()),
            paced: PacedBuilder::default(),
            large: 0,
            unknown: 0,
            overdrawn: 0,
            outside_ticks: 0,
        }
    }

    /// Adds the time of activities between samples.
    pub(crate) fn add_outside(&mut self, ticks: u64) {
        self.outside_ticks = self.outside_ticks.saturating_add(ticks);
    }

    /// Adds a sample of this many ticks. `unknown` is whether part of it was not recorded, `follows` whether it began
    /// when the previous one ended.
    pub(crate) fn add(&mut self, ticks: u64, parts: &Parts, unknown: bool, follows: bool) {
        if parts.pieces == 0 && !unknown {
            self.undisturbed.add(ticks); // often
            let (raw, left, rest) = (ticks, ticks, ticks);
            self.paced
                .add(PacedSample { raw, left, rest, judged: true, undisturbed: true }, follows);
            if self.known.attributed {
                self.effects.add_undisturbed(ticks, follows);
            }
            return;
        }
        let unknown = unknown || parts.class(Class::Unknown) > 0;
        let large = parts.longest_host > self.large_ticks;
        self.unknown += u64::from(unknown);
        self.large += u64::from(large && !unknown);
        self.overdrawn += u64::from(parts.sum() > ticks && self.known.attributed);
        let judged = !unknown && !large;
        let (ladder, explained) = self.known.ladder();
        let steps = if judged { &mut self.judged } else { &mut self.left_out };
        steps[0].add(ticks);
        let (mut rest, mut left) = (ticks, ticks);
        for (step, &(_, class)) in ladder.iter().enumerate() {
            rest = rest.saturating_sub(self.known.part(parts, class));
            steps[step + 1].add(rest);
            if step + 1 == explained {
                left = rest;
            }
        }
        self.paced.add(PacedSample { raw: ticks, left, rest, judged, undisturbed: false }, follows);
        if self.known.attributed {
            self.effects.add((ticks, rest), parts, judged, follows);
        }
    }

    /// Returns the result. `names` are sources and names by number.
    pub(crate) fn finish(mut self, names: &[(Arc<str>, Arc<str>)], clock: &Clock) -> Subtraction {
        for values in &mut self.judged {
            values.merge(&mut self.undisturbed);
        }
        let (judged, verdict) = (self.judged[0].count(), self.verdict(clock));
        let network = names
            .iter()
            .filter(|(source, name)| sources::DEVICE_IRQ.is(source) && is_network(source, name));
        let sources = self.effects.rows(&mut self.judged[0], names, clock);
        Subtraction {
            samples: judged + self.left_out[0].count(),
            judged,
            left_out_large: self.large,
            large_ns: LARGE_NS,
            left_out_unknown: self.unknown,
            undisturbed: self.undisturbed.count(),
            steps: self.steps(clock),
            sources,
            not_available: self.not_available(&verdict),
            verdict,
            network: network.map(|(_, name)| name.to_string()).collect(),
            outside_ns: ns(self.outside_ticks, clock),
            overdrawn: self.overdrawn,
        }
    }

    fn steps(&mut self, clock: &Clock) -> Vec<Step> {
        let mut all = self.judged.clone();
        for (all, left_out) in all.iter_mut().zip(&mut self.left_out) {
            all.merge(left_out);
        }
        let ladder = self.known.ladder().0.iter().map(|&(taken, _)| taken);
        std::iter::once(Subtracted::Nothing)
            .chain(ladder)
            .zip(
                left_in_steps(&mut all, clock)
                    .into_iter()
                    .zip(left_in_steps(&mut self.judged, clock)),
            )
            .filter(|&(taken, _)| taken != Subtracted::NotAttributable || self.unknown > 0)
            .map(|(taken, (all, judged))| Step { taken, all, judged })
            .collect()
    }

    fn verdict(&mut self, clock: &Clock) -> Verdict {
        let (ladder, explained) = self.known.ladder();
        let raw = Spread::from_values(&mut self.judged[0]);
        let enough = self.judged[0].count() >= FEWEST_SAMPLES;
        let left = &mut self.judged[explained];
        let spreads = raw.zip(Spread::from_values(left)).filter(|_| enough);
        let floor = undisturbed(&mut self.undisturbed);
        let accounted_by = |pick: fn(&Spread) -> u64| {
            let floor = floor.as_ref().map(pick);
            spreads.map(|(raw, left)| accounted(pick(&raw), pick(&left), floor, clock))
        };
        let (iqr, p99_p1) =
            (accounted_by(|spread| spread.iqr_ticks), accounted_by(|spread| spread.p99_p1_ticks));
        Verdict {
            after: ladder[explained - 1].0,
            accounted: Ground::least_accounted(iqr, p99_p1).map(|ground| ground.share),
            iqr,
            p99_p1,
            paced: std::mem::take(&mut self.paced).finish(clock),
            residual_ns: left.median_residual().map(|ticks| ns(ticks, clock)),
            counter_step_ns: ns(clock.step_ticks(), clock),
            unseen_ns: self.known.step.map(|(step, most)| ns(most.saturating_sub(step), clock)),
        }
    }

    fn not_available(&self, verdict: &Verdict) -> Vec<NotAvailable> {
        let mut missing = vec![];
        let mut miss =
            |what, why: String, remedy| missing.push(NotAvailable::new(what, why, remedy));
        if !self.known.attributed {
            miss(
                "direct costs by source",
                "the recording has no attribution".into(),
                "run `anechoic attribute` on it if it has kernel events, or measure where they can be recorded",
            );
        }
        if self.known.step.is_none() {
            miss("gaps around interrupts", NOT_WATCHED.into(), WATCH);
        }
        if self.judged[0].count() < FEWEST_SAMPLES {
            miss(
                "verdict of the subtraction",
                format!("fewer than {FEWEST_SAMPLES} samples can be used"),
                "take more samples",
            );
        } else if verdict.accounted.is_none() {
            miss(
                "verdict of the subtraction",
                "the spread of the samples hardly exceeds that of undisturbed samples, or the counter's resolution".into(),
                "a longer grain contains more interrupts",
            );
        }
        missing
    }
}

/// Returns what is left of the spread of the samples in each step; the first of `values` are the samples themselves.
fn left_in_steps(values: &mut [Values], clock: &Clock) -> Vec<Option<Left>> {
    let Some(raw) = Spread::from_values(&mut values[0]) else { return vec![None; values.len()] };
    values.iter_mut().map(|values| left(values, &raw, clock)).collect()
}

impl SeriesTraits {
    /// Returns the time of one class in a sample. A detour contains one step of the work, which attribution has already
    /// subtracted.
    fn part(self, parts: &Parts, class: Class) -> u64 {
        let step = if class == Class::Detour { self.step.map_or(0, |(step, _)| step) } else { 0 };
        parts.class(class).saturating_sub(parts.pieces.saturating_mul(step))
    }
}
