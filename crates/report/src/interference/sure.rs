//! How sure the matrix is: what was delivered, what could have been seen, what was lost.

use crate::certainty;
use crate::screen::Fact;
use crate::style::Tone;
use crate::units::{count, micros, rate, share};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Asked, Pair, Proximity};

/// Fewer of those asked for are a warning.
const MOST_DELIVERED: f64 = 0.98;
/// Share of cells that feel nothing and lie surely over 0 by chance, or surely under it.
const CHANCE: f64 = 0.025;
/// From so many cells on, some feel something by chance.
const MANY_CELLS: usize = 20;

/// A fact or two of each of them.
pub(super) fn facts(found: &Interference) -> Vec<Fact> {
    let mut facts: Vec<Fact> = delivered(found).into_iter().collect();
    let in_step = found.injected.iter().filter_map(in_step);
    facts.extend(in_step.map(|text| Fact::new("in step", Tone::Warning, text)));
    facts.extend(smallest(found).map(|text| Fact::new("would be seen", Tone::Good, text)));
    let unknown: u64 = found.pairs.iter().map(|pair| pair.unknown).sum();
    if unknown > 0 {
        let all: u64 = found.pairs.iter().map(|pair| pair.unknown + pair.repetitions).sum();
        let (unknown, all) = (count(unknown), count(all));
        let text = format!("{unknown} of {all} repetitions, in which events or detours were lost");
        facts.push(Fact::new("left out", Tone::Warning, text));
    }
    facts.extend(certainty::losses(&found.losses));
    facts.extend(certainty::not_available(&found.run.not_available));
    facts.extend(certainty::not_available(&found.not_available));
    facts.extend(certainty::notes(&found.run));
    facts
}

/// How many interrupts came against how many were asked for; nothing where several rates were.
fn delivered(found: &Interference) -> Option<Fact> {
    let [asked] = &found.injected[..] else { return None };
    let known = || found.pairs.iter().filter(|pair| pair.interrupts > 0);
    let low = known().map(|pair| pair.delivered_hz).reduce(f64::min)?;
    let high = known().map(|pair| pair.delivered_hz).fold(low, f64::max);
    let few = |pair: &&Pair| pair.delivered_hz < MOST_DELIVERED * asked.rate_hz;
    let few = known().filter(few).count() as u64;
    let [a, b] = [low, high].map(rate);
    let seen = if a == b { a } else { format!("{a}–{b}") };
    let mut text = format!("{} a second asked, {seen} delivered", rate(asked.rate_hz));
    if few > 0 {
        text += &format!(
            "; in {} of {} series over {} were left out by the kernel or the host",
            count(few),
            count(found.pairs.len() as u64),
            share(1.0 - MOST_DELIVERED)
        );
    }
    Some(Fact::new("interrupts", if few > 0 { Tone::Warning } else { Tone::Good }, text))
}

/// That the rate was badly chosen.
fn in_step(asked: &Asked) -> Option<String> {
    let hz = asked.in_step_with_hz?;
    Some(format!(
        "{} Hz is in step with ticks of {} Hz: what else comes with them, here or on the host, always meets these \
         interrupts or never does, and shows as a cost over or under 0; a rate such as 937 Hz is not",
        rate(asked.rate_hz),
        rate(hz)
    ))
}

/// The smallest cost that would have been found in a pair of two CPUs.
fn smallest(found: &Interference) -> Option<String> {
    let others = || found.pairs.iter().filter(|pair| pair.place != Proximity::SameThread);
    let effects = || others().filter_map(|pair| pair.alone?.smallest_effect_ns);
    let least = effects().reduce(f64::min)?;
    let most = effects().fold(least, f64::max);
    let [a, b] = [least, most].map(micros);
    let range = if a == b { a } else { format!("{a}–{b}") };
    let mut text = format!("a cost of {range} µs in a pair of CPUs (80 % power)");
    let cells = effects().count();
    if cells >= MANY_CELLS {
        let chance = count((cells as f64 * CHANCE).round() as u64);
        let cells = count(cells as u64);
        text += &format!("; of {cells} that feel nothing about {chance} would seem to");
    }
    let below = |pair: &&Pair| pair.alone.is_some_and(|c| c.differs && c.per_interrupt_ns < 0.0);
    let below = others().filter(below).count();
    if below as f64 > 2.0 * cells as f64 * CHANCE + 2.0 {
        text += &format!(
            "; {} of {} are surely under 0, which no interrupt does: the errors are larger than the \
             intervals say",
            count(below as u64),
            count(cells as u64)
        );
    }
    Some(text)
}
