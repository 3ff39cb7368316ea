//! One series' samples with what was seen in them, taken one by one: what [`Subtraction`] is made of.

use crate::samples::moments::Moments;
use crate::samples::ns;
use crate::samples::subtraction::{
    FEWEST_SAMPLES, LARGE_NS, Left, SourceEffect, Step, Subtraction, Taken, Verdict,
};
use crate::samples::subtraction_left::{Spread, accounted, left, ns_of, undisturbed};
use crate::samples::subtraction_parts::{Class, MOST_SOURCES, Parts, SourcePart, is_network};
use crate::samples::subtraction_values::{Replaced, Values};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Clock, Series};
use std::cmp::Ordering;
use std::sync::Arc;

/// What is known of a series beside its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// What a step takes undisturbed and the longest one that is no detour, where gaps were watched.
    pub(crate) step: Option<(u64, u64)>,
    /// Whether activities are known, not just detours.
    pub(crate) attributed: bool,
}

impl Known {
    pub(crate) fn of(series: &Series, attributed: bool) -> Self {
        let step = series.step_ticks.map(|step| (step, series.threshold_ticks.unwrap_or(step)));
        Self { step, attributed }
    }

    /// What is taken out, one after the other; and how many steps count as explained.
    fn ladder(self) -> (&'static [(Taken, Class)], usize) {
        const LADDER: [(Taken, Class); 6] = [
            (Taken::Ticks, Class::Tick),
            (Taken::Network, Class::Network),
            (Taken::AllSources, Class::Direct),
            (Taken::Gaps, Class::Gap),
            (Taken::VmOrHardware, Class::Host),
            (Taken::NotAttributable, Class::Unknown),
        ];
        match (self.attributed, self.step) {
            (true, Some(_)) => (&LADDER, 4),
            (true, None) => (&LADDER[..3], 3),
            (false, _) => (&[(Taken::Detours, Class::Detour)], 1),
        }
    }
}

/// What is added up over one series.
#[derive(Debug)]
pub(crate) struct SubtractionOf {
    known: Known,
    large_ticks: u64,
    /// Samples in which nothing was seen: equal at every step.
    undisturbed: Values,
    /// The others that are judged and those that are not: raw, then after each step.
    judged: Vec<Values>,
    left_out: Vec<Values>,
    sources: Vec<EffectOf>,
    large: u64,
    unknown: u64,
    overdrawn: u64,
    outside_ticks: u64,
}

/// What is added up for one source.
#[derive(Debug, Clone, Default)]
struct EffectOf {
    samples: u64,
    direct_ticks: u64,
    gap_ticks: u64,
    /// What the judged samples would be without it.
    without: Replaced,
    alone: u64,
    /// What is left of those that it alone touched, added up.
    left_ticks: u128,
}

impl SubtractionOf {
    /// Nothing yet.
    pub(crate) fn new(known: Known, clock: &Clock) -> Self {
        let steps = vec![Values::default(); known.ladder().0.len() + 1];
        Self {
            known,
            large_ticks: clock.ticks(LARGE_NS),
            undisturbed: Values::default(),
            judged: steps.clone(),
            left_out: steps,
            sources: vec![],
            large: 0,
            unknown: 0,
            overdrawn: 0,
            outside_ticks: 0,
        }
    }

    /// Adds the time of activities that lay between samples.
    pub(crate) fn add_outside(&mut self, ticks: u64) {
        self.outside_ticks = self.outside_ticks.saturating_add(ticks);
    }

    /// Adds a sample of so many ticks. `unknown`: not all that happened in it was recorded.
    pub(crate) fn add(&mut self, ticks: u64, parts: &Parts, unknown: bool) {
        if parts.pieces == 0 && !unknown {
            self.undisturbed.add(ticks); // often
            return;
        }
        let unknown = unknown || parts.class(Class::Unknown) > 0;
        let large = parts.longest_host > self.large_ticks;
        self.unknown += u64::from(unknown);
        self.large += u64::from(large && !unknown);
        self.overdrawn += u64::from(parts.sum() > ticks && self.known.attributed);
        let judged = !unknown && !large;
        let (ladder, _) = self.known.ladder();
        let steps = if judged { &mut self.judged } else { &mut self.left_out };
        steps[0].add(ticks);
        let mut rest = ticks;
        for (values, &(_, class)) in steps[1..].iter_mut().zip(ladder) {
            rest = rest.saturating_sub(self.known.part(parts, class));
            values.add(rest);
        }
        if self.known.attributed {
            self.add_sources(ticks, rest, parts, judged);
        }
    }

    fn add_sources(&mut self, ticks: u64, rest: u64, parts: &Parts, judged: bool) {
        let watched = self.known.step.is_some();
        for part in &parts.sources {
            if self.sources.len() <= part.place {
                self.sources.resize(part.place + 1, EffectOf::default());
            }
            let source = &mut self.sources[part.place];
            let alone = (parts.sources.len() == 1).then_some(rest);
            source.add(part, if watched { part.gap_ticks } else { 0 });
            if judged {
                source.judge(ticks, part, alone, watched);
            }
        }
    }

    /// What the samples say. `names` are sources and names by number.
    pub(crate) fn finish(mut self, names: &[(Arc<str>, Arc<str>)], clock: &Clock) -> Subtraction {
        for values in &mut self.judged {
            values.merge(&mut self.undisturbed);
        }
        let (judged, verdict) = (self.judged[0].count(), self.verdict(clock));
        let network = names
            .iter()
            .filter(|(source, name)| &**source == "device-irq" && is_network(source, name));
        Subtraction {
            samples: judged + self.left_out[0].count(),
            judged,
            left_out_large: self.large,
            large_ns: LARGE_NS,
            left_out_unknown: self.unknown,
            undisturbed: self.undisturbed.count(),
            steps: self.steps(clock),
            sources: self.effects(names, clock),
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
        let of = |values: &mut [Values]| -> Vec<Option<Left>> {
            let Some(raw) = Spread::of(&mut values[0]) else { return vec![None; values.len()] };
            values.iter_mut().map(|values| left(values, &raw, clock)).collect()
        };
        let ladder = self.known.ladder().0.iter().map(|&(taken, _)| taken);
        std::iter::once(Taken::Nothing)
            .chain(ladder)
            .zip(of(&mut all).into_iter().zip(of(&mut self.judged)))
            .filter(|&(taken, _)| taken != Taken::NotAttributable || self.unknown > 0)
            .map(|(taken, (all, judged))| Step { taken, all, judged })
            .collect()
    }

    fn verdict(&mut self, clock: &Clock) -> Verdict {
        let (ladder, explained) = self.known.ladder();
        let raw = Spread::of(&mut self.judged[0]);
        let enough = self.judged[0].count() >= FEWEST_SAMPLES;
        let left = &mut self.judged[explained];
        let spreads = raw.zip(Spread::of(left)).filter(|_| enough);
        let floor = undisturbed(&mut self.undisturbed);
        let of = |pick: fn(&Spread) -> u64| {
            let floor = floor.as_ref().map(pick);
            spreads.map(|(raw, left)| accounted(pick(&raw), pick(&left), floor, clock))
        };
        let (iqr, p99_p1) = (of(|spread| spread.iqr_ticks), of(|spread| spread.p99_p1_ticks));
        let shares = [iqr, p99_p1].into_iter().flatten().filter_map(|accounted| accounted.share);
        Verdict {
            after: ladder[explained - 1].0,
            accounted: shares.min_by(f64::total_cmp),
            iqr,
            p99_p1,
            residual_ns: left.median_residual().map(|ticks| ns(ticks, clock)),
            counter_step_ns: ns(clock.step_ticks(), clock),
            unseen_ns: self.known.step.map(|(step, most)| ns(most.saturating_sub(step), clock)),
        }
    }

    fn effects(&mut self, names: &[(Arc<str>, Arc<str>)], clock: &Clock) -> Vec<SourceEffect> {
        let raw = &mut self.judged[0];
        let spread = Spread::of(raw);
        let undisturbed = self.undisturbed.moments();
        let sources = self.sources.iter_mut().enumerate();
        let mut rows: Vec<SourceEffect> = sources
            .filter(|(_, source)| source.samples > 0)
            .map(|(place, source)| {
                let without = Spread::with(raw, &mut source.without);
                let fall = |pick: fn(&Spread) -> f64| {
                    let falls = spread.as_ref().zip(without.as_ref());
                    falls.map(|(is, would_be)| ns_of(pick(is) - pick(would_be), clock))
                };
                let (id, name) = named(names, place);
                let mean = |ticks: u64| ns_of(ticks as f64 / source.samples as f64, clock);
                SourceEffect {
                    source: id,
                    name,
                    samples: source.samples,
                    direct_ns: mean(source.direct_ticks),
                    gap_ns: self.known.step.map(|_| mean(source.gap_ticks)),
                    p99_p1_fall_ns: fall(|spread| spread.p99_p1_ticks as f64),
                    iqr_fall_ns: fall(|spread| spread.iqr_ticks as f64),
                    deviation_fall_ns: fall(|spread| spread.deviation_ticks),
                    alone: source.alone,
                    indirect_ns: source.indirect_ns(&undisturbed, clock),
                }
            })
            .collect();
        rows.sort_by(by_effect);
        rows
    }

    fn not_available(&self, verdict: &Verdict) -> Vec<NotAvailable> {
        let mut missing = vec![];
        let mut miss = |what: &str, why: String, remedy: &str| {
            missing.push(NotAvailable { what: what.into(), why, remedy: remedy.into() });
        };
        if !self.known.attributed {
            miss(
                "direct costs by source",
                "the recording has no attribution".into(),
                "run `anechoic attribute` on it where it has kernel events, or measure where they can be recorded",
            );
        }
        if self.known.step.is_none() {
            miss(
                "gaps around interrupts",
                "the series is pure: nothing looked at the counter inside its samples".into(),
                "measure without --pure",
            );
        }
        if self.judged[0].count() < FEWEST_SAMPLES {
            miss(
                "verdict of the subtraction",
                format!("fewer than {FEWEST_SAMPLES} samples can be judged"),
                "take more samples",
            );
        } else if verdict.accounted.is_none() {
            miss(
                "verdict of the subtraction",
                "the samples are spread hardly more than undisturbed ones, or than the counter's steps".into(),
                "a longer grain holds more interrupts",
            );
        }
        missing
    }
}

impl Known {
    /// Time of one class in a sample. A detour holds one step of the work, which attribution has taken off already.
    fn part(self, parts: &Parts, class: Class) -> u64 {
        let step = if class == Class::Detour { self.step.map_or(0, |(step, _)| step) } else { 0 };
        parts.class(class).saturating_sub(parts.pieces.saturating_mul(step))
    }
}

impl EffectOf {
    fn add(&mut self, part: &SourcePart, gap_ticks: u64) {
        self.samples += 1;
        self.direct_ticks = self.direct_ticks.saturating_add(part.direct_ticks);
        self.gap_ticks = self.gap_ticks.saturating_add(gap_ticks);
    }

    /// Adds a judged sample; `alone` is what is left of it where nothing else touched it.
    fn judge(&mut self, ticks: u64, part: &SourcePart, alone: Option<u64>, watched: bool) {
        let gaps = if watched { part.gap_ticks } else { 0 };
        let without = ticks.saturating_sub(part.direct_ticks).saturating_sub(gaps);
        self.without.replace(ticks, without);
        if let Some(left) = alone {
            self.alone += 1;
            self.left_ticks += u128::from(left);
        }
    }

    fn indirect_ns(&self, undisturbed: &Moments, clock: &Clock) -> Option<f64> {
        let known = self.alone > 0 && undisturbed.count() > 0;
        let left = self.left_ticks as f64 / self.alone.max(1) as f64;
        known.then(|| ns_of(left - undisturbed.mean(), clock))
    }
}

fn named(names: &[(Arc<str>, Arc<str>)], place: usize) -> (String, String) {
    match names.get(place).filter(|_| place < MOST_SOURCES) {
        Some((source, name)) => (source.to_string(), name.to_string()),
        None => (String::new(), String::new()),
    }
}

/// The largest fall of p99 − p1 first; of equals that of the quartiles, then of the deviation, then by name.
fn by_effect(a: &SourceEffect, b: &SourceEffect) -> Ordering {
    let falls = |row: &SourceEffect| {
        [row.p99_p1_fall_ns, row.iqr_fall_ns, row.deviation_fall_ns].map(|fall| fall.unwrap_or(0.0))
    };
    let by_fall = falls(b).into_iter().zip(falls(a)).map(|(b, a)| b.total_cmp(&a));
    let by_name = || (&a.source, &a.name).cmp(&(&b.source, &b.name));
    by_fall.fold(Ordering::Equal, Ordering::then).then_with(by_name)
}
