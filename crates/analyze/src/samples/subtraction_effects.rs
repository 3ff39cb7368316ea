//! The effect of each source on the samples of one series.

use crate::samples::neighbours::{Excess, Neighbours};
use crate::samples::subtraction::SourceEffect;
use crate::samples::subtraction_left::{Spread, ns_of};
use crate::samples::subtraction_parts::{MOST_SOURCES, OTHERS, Parts, SourcePart};
use crate::samples::subtraction_values::{Replaced, Values};
use crate::stats::Interval;
use anechoic_recording::Clock;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds up the effects of sources, sample by sample.
#[derive(Debug)]
pub(crate) struct EffectsBuilder {
    watched: bool,
    /// Samples that contain only one source, beside their undisturbed neighbours, by its number.
    near: Neighbours<usize>,
    /// Sums by number of source and name; late ones share an index.
    sources: BTreeMap<usize, EffectBuilder>,
}

/// Sums for one source.
#[derive(Debug, Default)]
struct EffectBuilder {
    samples: u64,
    direct_ticks: u64,
    gap_ticks: u64,
    /// The samples used without this source.
    without: Replaced,
    /// What nothing recorded explains of samples that contain only this source.
    indirect: Excess,
}

impl EffectBuilder {
    /// Returns the effect of this source. `spreads` are those of the samples with it and without it.
    fn effect(
        &self,
        named: Option<&(Arc<str>, Arc<str>)>,
        spreads: Option<(&Spread, &Spread)>,
        watched: bool,
        clock: &Clock,
    ) -> SourceEffect {
        let fall = |pick: fn(&Spread) -> f64| {
            spreads.map(|(is, would_be)| ns_of(pick(is) - pick(would_be), clock))
        };
        let mean = |ticks: u64| ns_of(ticks as f64 / self.samples as f64, clock);
        let indirect = self.indirect.mean().zip(self.indirect.reach());
        SourceEffect {
            source: named.map_or(String::new(), |(source, _)| source.to_string()),
            name: named.map_or(String::new(), |(_, name)| name.to_string()),
            samples: self.samples,
            direct_ns: mean(self.direct_ticks),
            gap_ns: watched.then(|| mean(self.gap_ticks)),
            p99_p1_fall_ns: fall(|spread| spread.p99_p1_ticks as f64),
            iqr_fall_ns: fall(|spread| spread.iqr_ticks as f64),
            deviation_fall_ns: fall(|spread| spread.deviation_ticks),
            alone: self.indirect.count(),
            indirect_ns: indirect.map(|(ticks, _)| ns_of(ticks, clock)),
            indirect_interval: indirect.map(|(ticks, reach)| Interval {
                low: ns_of(ticks - reach, clock),
                high: ns_of(ticks + reach, clock),
            }),
        }
    }
}

impl EffectsBuilder {
    /// Returns empty sums for a series whose gaps were watched or not.
    pub(crate) fn new(watched: bool) -> Self {
        Self { watched, near: Neighbours::default(), sources: BTreeMap::new() }
    }

    /// Adds an undisturbed sample of this many ticks. `follows` is whether it began when the previous one ended.
    pub(crate) fn add_undisturbed(&mut self, ticks: u64, follows: bool) {
        self.near.add_undisturbed(ticks, follows);
        self.collect();
    }

    /// Adds a sample of this many ticks, of which `rest` remain after subtracting everything.
    pub(crate) fn add(
        &mut self,
        (ticks, rest): (u64, u64),
        parts: &Parts,
        judged: bool,
        follows: bool,
    ) {
        let mut others: Option<SourcePart> = None;
        let mut last = OTHERS;
        for part in &parts.sources {
            let known = self.sources.contains_key(&part.place);
            if !known && (self.sources.len() >= MOST_SOURCES || part.place == OTHERS) {
                others.get_or_insert_with(|| SourcePart::empty(OTHERS)).merge(part);
            } else {
                self.add_part(ticks, part, judged);
                last = part.place;
            }
        }
        if let Some(others) = others {
            self.add_part(ticks, &others, judged);
        }
        let alone = judged && parts.sources.len() == 1;
        self.near.add_disturbed(rest, alone.then_some(last), follows);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(compared) = self.near.next() {
            self.sources.entry(compared.key).or_default().indirect.add(&compared, 0);
        }
    }

    fn add_part(&mut self, ticks: u64, part: &SourcePart, judged: bool) {
        let source = self.sources.entry(part.place).or_default();
        let gap_ticks = if self.watched { part.gap_ticks } else { 0 };
        source.samples += 1;
        source.direct_ticks = source.direct_ticks.saturating_add(part.direct_ticks);
        source.gap_ticks = source.gap_ticks.saturating_add(gap_ticks);
        if judged {
            let without = ticks.saturating_sub(part.direct_ticks).saturating_sub(gap_ticks);
            source.without.replace(ticks, without);
        }
    }

    /// Returns the effects on the samples `raw`, the largest first. `names` are sources and names by number.
    pub(crate) fn rows(
        &mut self,
        raw: &mut Values,
        names: &[(Arc<str>, Arc<str>)],
        clock: &Clock,
    ) -> Vec<SourceEffect> {
        self.near.break_off();
        self.collect();
        let spread = Spread::from_values(raw);
        let watched = self.watched;
        let mut rows: Vec<SourceEffect> = vec![];
        for (&place, source) in &mut self.sources {
            let without = Spread::with(raw, &mut source.without);
            let spreads = spread.as_ref().zip(without.as_ref());
            rows.push(source.effect(names.get(place), spreads, watched, clock));
        }
        rows.sort_by(by_effect);
        rows
    }
}

/// Order of effects: the largest fall of p99 − p1 first, then of the interquartile range, then of the deviation, then
/// by name.
fn by_effect(a: &SourceEffect, b: &SourceEffect) -> Ordering {
    let falls = |row: &SourceEffect| {
        [row.p99_p1_fall_ns, row.iqr_fall_ns, row.deviation_fall_ns].map(|fall| fall.unwrap_or(0.0))
    };
    let by_fall = falls(b).into_iter().zip(falls(a)).map(|(b, a)| b.total_cmp(&a));
    let by_name = || (&a.source, &a.name).cmp(&(&b.source, &b.name));
    by_fall.fold(Ordering::Equal, Ordering::then).then_with(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::trains::{exponential, random};
    use rand::RngExt;

    /// Returns mean and half interval of the indirect cost of a daemon that wakes mostly while the core is slow by 20 µs of
    /// 1 ms, and costs `indirect` besides its own 5 µs.
    fn daemon(indirect: f64, seed: u64) -> (f64, f64) {
        let (mut effects, mut random, mut slow) = (EffectsBuilder::new(true), random(seed), false);
        for _ in 0..4_000 {
            slow ^= random.random::<f64>() < 0.001;
            let work =
                if slow { 1_020_000.0 } else { 1_000_000.0 } + exponential(500.0, &mut random);
            if random.random::<f64>() < if slow { 0.05 } else { 0.005 } {
                let rest = (work + indirect) as u64;
                effects.add((rest + 5_000, rest), &Parts::one_piece(0, 5_000), true, true);
            } else {
                effects.add_undisturbed(work as u64, true);
            }
        }
        effects.near.break_off();
        effects.collect();
        let found = &effects.sources[&0].indirect;
        found.mean().zip(found.reach()).expect("it woke")
    }

    #[test]
    fn who_wakes_while_the_core_is_slow_did_not_slow_it() {
        for indirect in [0.0, 2_000.0] {
            let (runs, mut covered) = (200, 0);
            for seed in 1..=runs {
                let (mean, reach) = daemon(indirect, seed);
                covered += u32::from((mean - indirect).abs() <= reach);
            }
            let covered = f64::from(covered) / runs as f64;
            println!("{indirect} ns: covers {covered}");
            assert!(covered >= 0.91, "{indirect} ns: covers {covered}");
        }
    }
}
