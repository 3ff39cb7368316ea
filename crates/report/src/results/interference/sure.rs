//! How reliable the matrix is: what was delivered, what could have been detected, what was lost.

use crate::certainty;
use crate::screen::Fact;
use crate::style::Tone;
use crate::units::{count, micros, rate, share};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Asked, Pair, Proximity};

/// A smaller share of delivered interrupts causes a warning.
const MOST_DELIVERED: f64 = 0.98;
/// Share of cells without a cost that are significantly above 0 by chance, and the same below 0.
const CHANCE: f64 = 0.025;
/// From this number of cells on, some are expected to show a cost by chance.
const MANY_CELLS: usize = 20;

/// Returns one or two facts on each of these.
pub(super) fn facts(found: &Interference) -> Vec<Fact> {
    let mut facts: Vec<Fact> = delivered(found).into_iter().collect();
    let in_step = found.injected.iter().filter_map(in_step);
    facts.extend(in_step.map(|text| Fact::new("in step", Tone::Warning, text)));
    facts.extend(smallest(found).map(|text| Fact::new("detectable", Tone::Good, text)));
    let unknown: u64 = found.pairs.iter().map(|pair| pair.unknown).sum();
    if unknown > 0 {
        let all: u64 = found.pairs.iter().map(|pair| pair.unknown + pair.repetitions).sum();
        let (unknown, all) = (count(unknown), count(all));
        let text = format!("{unknown} of {all} repetitions in which events or detours were lost");
        facts.push(Fact::new("left out", Tone::Warning, text));
    }
    facts.extend(certainty::losses(&found.losses));
    facts.extend(certainty::not_available(&found.run.not_available));
    facts.extend(certainty::not_available(&found.not_available));
    facts.extend(certainty::notes(&found.run));
    facts
}

/// Compares the delivered with the requested rate of interrupts; nothing if several rates were requested.
fn delivered(found: &Interference) -> Option<Fact> {
    let [asked] = &found.injected[..] else { return None };
    let known = || found.pairs.iter().filter(|pair| pair.interrupts > 0);
    let low = known().map(|pair| pair.delivered_hz).reduce(f64::min)?;
    let high = known().map(|pair| pair.delivered_hz).fold(low, f64::max);
    let few = |pair: &&Pair| pair.delivered_hz < MOST_DELIVERED * asked.rate_hz;
    let few = known().filter(few).count() as u64;
    let [a, b] = [low, high].map(rate);
    let seen = if a == b { a } else { format!("{a}–{b}") };
    let mut text = format!("{} Hz requested, {seen} Hz delivered", rate(asked.rate_hz));
    if few > 0 {
        text += &format!(
            "; in {} of {} series the kernel or the host skipped more than {}",
            count(few),
            count(found.pairs.len() as u64),
            share(1.0 - MOST_DELIVERED)
        );
    }
    Some(Fact::new("interrupts", if few > 0 { Tone::Warning } else { Tone::Good }, text))
}

/// Warns if the rate is in step with another one.
fn in_step(asked: &Asked) -> Option<String> {
    let hz = asked.in_step_with_hz?;
    Some(format!(
        "{} Hz is in step with ticks of {} Hz: whatever happens at these ticks, here or on the host, coincides with the \
         interrupts always or never and appears as a cost above or below 0; choose a rate such as 937 Hz",
        rate(asked.rate_hz),
        rate(hz)
    ))
}

/// States the smallest cost that would have been detected in a pair of two CPUs.
fn smallest(found: &Interference) -> Option<String> {
    let others = || found.pairs.iter().filter(|pair| pair.place != Proximity::SameThread);
    let effects = || others().filter_map(|pair| pair.alone?.smallest_effect_ns);
    let least = effects().reduce(f64::min)?;
    let most = effects().fold(least, f64::max);
    let [a, b] = [least, most].map(micros);
    let range = if a == b { a } else { format!("{a}–{b}") };
    let mut text = format!("a cost of {range} µs per pair of CPUs with 80 % power");
    let cells = effects().count();
    if cells >= MANY_CELLS {
        let chance = count((cells as f64 * CHANCE).round() as u64);
        let cells = count(cells as u64);
        text +=
            &format!("; of {cells} pairs without a cost about {chance} would show one by chance");
    }
    let below = |pair: &&Pair| pair.alone.is_some_and(|c| c.differs && c.per_interrupt_ns < 0.0);
    let below = others().filter(below).count();
    if below as f64 > 2.0 * cells as f64 * CHANCE + 2.0 {
        text += &format!(
            "; {} of {} are significantly below 0, which is impossible: the intervals are too narrow",
            count(below as u64),
            count(cells as u64)
        );
    }
    Some(text)
}
