//! The effect of each source on the samples of one series.

use crate::samples::moments::Moments;
use crate::samples::subtraction::SourceEffect;
use crate::samples::subtraction_left::{Spread, ns_of};
use crate::samples::subtraction_parts::{MOST_SOURCES, OTHERS, Parts, SourcePart};
use crate::samples::subtraction_values::{Replaced, Values};
use crate::stats::Interval;
use crate::stats::{student_t, welch_degrees};
use anechoic_recording::Clock;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds up the effects of sources, sample by sample.
#[derive(Debug)]
pub(crate) struct EffectsBuilder {
    watched: bool,
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
    /// What remains of samples that contain only this source.
    alone: Moments,
}

impl EffectsBuilder {
    /// Returns empty sums for a series whose gaps were watched or not.
    pub(crate) fn new(watched: bool) -> Self {
        Self { watched, sources: BTreeMap::new() }
    }

    /// Adds a sample of this many ticks, of which `rest` remain after subtracting everything.
    pub(crate) fn add(&mut self, ticks: u64, rest: u64, parts: &Parts, judged: bool) {
        let alone = (parts.sources.len() == 1).then_some(rest);
        let mut others: Option<SourcePart> = None;
        for part in &parts.sources {
            let known = self.sources.contains_key(&part.place);
            if !known && (self.sources.len() >= MOST_SOURCES || part.place == OTHERS) {
                others.get_or_insert_with(|| SourcePart::empty(OTHERS)).merge(part);
            } else {
                self.add_part(ticks, part, alone, judged);
            }
        }
        if let Some(others) = others {
            self.add_part(ticks, &others, alone, judged);
        }
    }

    fn add_part(&mut self, ticks: u64, part: &SourcePart, alone: Option<u64>, judged: bool) {
        let source = self.sources.entry(part.place).or_default();
        let gap_ticks = if self.watched { part.gap_ticks } else { 0 };
        source.samples += 1;
        source.direct_ticks = source.direct_ticks.saturating_add(part.direct_ticks);
        source.gap_ticks = source.gap_ticks.saturating_add(gap_ticks);
        if judged {
            let without = ticks.saturating_sub(part.direct_ticks).saturating_sub(gap_ticks);
            source.without.replace(ticks, without);
            source.alone.add(alone.as_slice());
        }
    }

    /// Returns the effects on the samples `raw`, the largest first. `names` are sources and names by number.
    pub(crate) fn rows(
        &mut self,
        raw: &mut Values,
        undisturbed: &Moments,
        names: &[(Arc<str>, Arc<str>)],
        clock: &Clock,
    ) -> Vec<SourceEffect> {
        let spread = Spread::of(raw);
        let watched = self.watched;
        let row = |(&place, source): (&usize, &mut EffectBuilder)| {
            let without = Spread::with(raw, &mut source.without);
            let fall = |pick: fn(&Spread) -> f64| {
                let falls = spread.as_ref().zip(without.as_ref());
                falls.map(|(is, would_be)| ns_of(pick(is) - pick(would_be), clock))
            };
            let mean = |ticks: u64| ns_of(ticks as f64 / source.samples as f64, clock);
            let indirect = source.indirect(undisturbed);
            let named = names.get(place);
            SourceEffect {
                source: named.map_or(String::new(), |(source, _)| source.to_string()),
                name: named.map_or(String::new(), |(_, name)| name.to_string()),
                samples: source.samples,
                direct_ns: mean(source.direct_ticks),
                gap_ns: watched.then(|| mean(source.gap_ticks)),
                p99_p1_fall_ns: fall(|spread| spread.p99_p1_ticks as f64),
                iqr_fall_ns: fall(|spread| spread.iqr_ticks as f64),
                deviation_fall_ns: fall(|spread| spread.deviation_ticks),
                alone: source.alone.count(),
                indirect_ns: indirect.map(|(ticks, _)| ns_of(ticks, clock)),
                indirect_interval: indirect.map(|(ticks, reach)| Interval {
                    low: ns_of(ticks - reach, clock),
                    high: ns_of(ticks + reach, clock),
                }),
            }
        };
        let mut rows: Vec<SourceEffect> = self.sources.iter_mut().map(row).collect();
        rows.sort_by(by_effect);
        rows
    }
}

impl EffectBuilder {
    /// Returns the mean excess of samples that contain only this source over undisturbed ones, and half of its 95 %
    /// interval, in ticks.
    fn indirect(&self, undisturbed: &Moments) -> Option<(f64, f64)> {
        let square = |moments: &Moments| Some(moments.variance()? / moments.count() as f64);
        let squares = [square(&self.alone)?, square(undisturbed)?];
        let degrees = [&self.alone, undisturbed].map(|moments| moments.count() - 1);
        let t = student_t(welch_degrees(squares, degrees));
        let reach = t * (squares[0] + squares[1]).sqrt();
        Some((self.alone.mean() - undisturbed.mean(), reach))
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
