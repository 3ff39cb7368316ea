//! The headline of a recording of samples.

use crate::names::source_name;
use crate::results::measured::loss::Loss;
use crate::results::measured::names::{Named, noisiest, shown, words};
use crate::results::measured::{periods, subtraction, ticks};
use crate::units::{asked, count, counted, fine, fine_beside, noise, share};
use anechoic_analyze::samples::distribution::Distribution;
use anechoic_analyze::samples::{Fixed, Measured};
use anechoic_recording::methods;

/// Returns the sentences of the headline.
pub(crate) fn sentences(measured: &Measured) -> Vec<String> {
    let shown = shown(measured, true);
    let Some(worst) = noisiest(&shown) else { return vec!["No sample was taken.".into()] };
    let Some(distribution) = &worst.result.distribution else { return vec![] };
    let detail = match measured.method.as_str() {
        methods::TICK => ticks::sentence(measured),
        methods::LOOPS => subtraction::sentence(measured, worst.result.facts.number),
        _ => {
            let noise = noise_of(worst.result.facts.fixed, distribution);
            let spectrum = worst.result.spectrum.as_ref();
            spectrum.and_then(|found| periods::sentence(found, noise, &measured.run))
        }
    };
    let first = Some(samples(&worst, distribution, shown.len()));
    [first, largest(measured), detail].into_iter().flatten().collect()
}

/// Names the largest source of the table.
fn largest(measured: &Measured) -> Option<String> {
    let row = measured.sources.as_ref()?.rows.first()?;
    let name = source_name(&row.source, &row.name, &measured.run);
    Some(format!("The largest source, {name}, took {} of the time in detours.", share(row.share)))
}

/// Returns the share of all time that noise took: of fixed work the noise is relative to the shortest time, of fixed time it
/// is that share already.
fn noise_of(fixed: Fixed, distribution: &Distribution) -> Option<f64> {
    distribution.noise.map(|noise| match fixed {
        Fixed::Work => noise / (1.0 + noise),
        Fixed::Time => noise,
    })
}

/// Describes the samples of the noisiest series.
fn samples(named: &Named<'_>, distribution: &Distribution, number: usize) -> String {
    let facts = &named.result.facts;
    let loss = Loss::new(facts, distribution);
    let noise = distribution.noise.map_or("not available".into(), noise);
    let who = match number {
        1 => words(facts),
        _ => format!("{}, the noisiest of {number} series", words(facts)),
    };
    let worst = loss.worst(distribution);
    if worst == loss.best {
        let all = counted(distribution.samples, "sample", "samples");
        return match loss.fixed {
            Fixed::Work => format!("Each of {all} took {} ({who}).", fine(worst)),
            Fixed::Time => {
                format!("Each of {all} held {} units of work ({who}).", count(worst as u64))
            }
        };
    }
    match loss.fixed {
        Fixed::Work => {
            let seen = loss.lost(distribution.mean);
            format!(
                "The same work took {} at best, {} on average (noise {noise}) and {} at worst ({who}).",
                fine_beside(loss.best, seen),
                fine_beside(distribution.mean, seen),
                fine_beside(worst, loss.lost(worst) / 10.0),
            )
        }
        Fixed::Time => format!(
            "A window of {} held {} units of work at best, {} on average (noise {noise}) and {} at worst ({who}).",
            asked(facts.grain_ns),
            count(loss.best as u64),
            loss.value(distribution.mean, 0.0),
            count(worst as u64),
        ),
    }
}
