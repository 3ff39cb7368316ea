//! The sentences on a simulated job.

use super::{path, tolerance, wave};
use crate::names::title_of;
use crate::style::clip;
use crate::units::{asked, bounds, bytes, count, counted, fine, share, slowdown};
use anechoic_simulate::{
    DrawnFacts, Fate, Model, NetworkEffect, NoiseFacts, Phase, Replica, Simulation, Slowdown,
    TracedFacts,
};

/// Describes what ranks did.
pub(super) fn job(found: &Simulation) -> String {
    let job = &found.job;
    let mut parts = vec![job.name.clone(), counted(u64::from(job.ranks), "rank", "ranks")];
    if let (Some(iterations), Some(grain_ns)) = (job.iterations, job.grain_ns) {
        parts.push(format!("{} × {}", count(u64::from(iterations)), asked(grain_ns)));
    }
    parts.push(counted(job.messages, "message", "messages"));
    if let Some(length) = job.bytes {
        parts.push(bytes(length));
    }
    parts.join(" · ")
}

/// Describes what was traced.
pub(super) fn traced(traced: &TracedFacts) -> String {
    let calls = counted(traced.calls, "call", "calls");
    let ranks = counted(u64::from(traced.ranks), "traced rank", "traced ranks");
    match traced.copies {
        1 => format!("{calls} of {ranks}"),
        copies => format!("{calls} of {ranks}, simulated {copies} times"),
    }
}

/// Describes how long the traced program took, beside the simulation without noise.
pub(super) fn traced_times(traced: &TracedFacts, quiet_ns: f64) -> String {
    let (whole, computed) = (fine(traced.traced_ns as f64), fine(traced.computation_ns as f64));
    format!(
        "traced {whole}, {computed} of it computation · simulated without noise {}",
        fine(quiet_ns)
    )
}

/// Describes the network by its parameters.
pub(super) fn parameters(found: &Simulation) -> String {
    let parameters = &found.parameters;
    let ns = |ps: u64| fine(ps as f64 / 1e3);
    let mut parts = vec![
        format!("L {}", ns(parameters.latency_ps)),
        format!("o {}", ns(parameters.overhead_ps)),
        format!("g {}", ns(parameters.gap_ps)),
        format!("G {} ps/B", parameters.gap_per_byte_ps),
    ];
    if parameters.overhead_per_byte_ps > 0 {
        parts.push(format!("O {} ps/B", parameters.overhead_per_byte_ps));
    }
    if parameters.eager_bytes < u64::MAX {
        parts.push(format!("S {} B", count(parameters.eager_bytes)));
    }
    parts.join(" · ")
}

/// Describes what messages take that is drawn, a line for each file.
pub(super) fn drawn(network: &NetworkEffect) -> Vec<String> {
    let latencies = network.latencies.iter();
    let latencies = latencies.map(|facts| file("L", facts, |ps| fine(ps as f64 / 1e3)));
    let gaps = network.gaps_per_byte.iter();
    latencies.chain(gaps.map(|facts| file("G", facts, |ps| format!("{ps} ps/B")))).collect()
}

fn file(what: &str, facts: &DrawnFacts, unit: fn(u64) -> String) -> String {
    let name = facts.file.rsplit('/').next().unwrap_or(&facts.file);
    let values = counted(facts.values, "value", "values");
    let [least, median, most] = [facts.least_ps, facts.median_ps, facts.most_ps].map(unit);
    format!(
        "{what} of each message: {values} of {}, {least} to {most}, median {median}",
        clip(name, 24)
    )
}

/// Describes the seed, whose noise comes together, and the rules; nothing if it is our own without noise.
pub(super) fn phase(found: &Simulation) -> Option<String> {
    let mut parts = vec![];
    match (&found.noise, &found.network_noise) {
        (Some(noise), _) => {
            parts.push(format!("seed {}", noise.seed));
            parts.push(together(noise).to_owned());
        }
        (None, Some(network)) => parts.push(format!("seed {} · no noise on CPUs", network.seed)),
        (None, None) => {}
    }
    parts.extend(rules(found.model).map(str::to_owned));
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Says whose noise comes together.
fn together(noise: &NoiseFacts) -> &'static str {
    match (noise.phase, &noise.law) {
        (_, Some(law)) if is_delay_alone(law, noise) => "on a machine without other noise",
        (Phase::Common, _) => "all CPUs begin at the same place of their noise",
        (Phase::Host, _) if !noise.hosts.is_empty() => "hosts begin at random, their CPUs together",
        _ => "each CPU has noise of its own",
    }
}

/// Names the rules of a simulation that are not ours.
fn rules(model: Model) -> Option<&'static str> {
    match model {
        Model::Anechoic => None,
        Model::Rounds => Some("round by round"),
        Model::LogGopSim => Some("rules of LogGOPSim"),
        Model::Atlahs => Some("rules of ATLAHS"),
    }
}

/// Returns whether a single delay is all noise of CPUs.
fn is_delay_alone(law: &str, noise: &NoiseFacts) -> bool {
    law.starts_with("one delay") && noise.hosts.is_empty()
}

/// Returns what was found: how much longer the job takes, and what became of the noise.
pub(super) fn headline(found: &Simulation) -> Vec<String> {
    let quiet = fine(found.quiet_ns);
    let Some(whole) = &found.slowdown else {
        let mut sentences = vec![format!("Without noise, the last rank finishes after {quiet}.")];
        let tolerance = found.tolerance.as_ref();
        sentences.extend(
            tolerance
                .and_then(|tolerance| tolerance::sentence(tolerance, &found.parameters, false)),
        );
        return sentences;
    };
    let simulations = match found.replicas.len() {
        1 => "in one simulation".to_owned(),
        number => format!("in the median of {} simulations", count(number as u64)),
    };
    let range = match whole.interval {
        Some(interval) => format!(" (95 %: {})", bounds(Some(interval), None, slowdown)),
        None => String::new(),
    };
    let mut sentences = vec![format!(
        "With noise, the job takes {} times as long {simulations}{range}; without noise {quiet}.",
        slowdown(whole.median)
    )];
    sentences.push(fate(found, whole));
    if let (Some(network), Some(_)) = (&found.network_noise, &found.noise) {
        let interval = match network.interval {
            Some(interval) => {
                let range = bounds(Some(interval), None, |cost| format!("{cost:+.3}"));
                format!(", 95 %: {range}")
            }
            None => String::new(),
        };
        sentences.push(format!(
            "Without noise of the network the median would be {} instead of {} ({:+.3}{interval}).",
            slowdown(network.without),
            slowdown(whole.median),
            network.cost
        ));
    }
    sentences.extend(costliest(found, whole));
    let guest = found.noise.as_ref().is_some_and(|noise| noise.guest);
    sentences.extend(path::sentence(found, guest));
    if let Some(wave) = &found.wave {
        let is_alone = found.noise.as_ref().is_some_and(|noise| noise.hosts.is_empty());
        sentences.extend(wave::sentences(wave, found, is_alone));
    }
    let tolerance = found.tolerance.as_ref();
    sentences.extend(
        tolerance.and_then(|tolerance| tolerance::sentence(tolerance, &found.parameters, guest)),
    );
    sentences.extend(whole.by_loggopsim.map(|by_loggopsim| {
        let (ours, theirs) = (slowdown(whole.median), slowdown(by_loggopsim));
        match ours == theirs {
            true => format!("By the rules of LogGOPSim the median is the same, {ours}."),
            false => format!("By the rules of LogGOPSim the median is {theirs} instead of {ours}."),
        }
    }));
    sentences
}

/// Names the source that costs most, if any does beyond doubt.
fn costliest(found: &Simulation, whole: &Slowdown) -> Option<String> {
    let source = found.sources.first()?;
    source.interval.filter(|interval| interval.low > 0.0)?;
    let guest = found.noise.as_ref().is_some_and(|noise| noise.guest);
    Some(format!(
        "Without {} ({} of the noise) the median would be {} instead of {}.",
        title_of(&source.source, &source.name, guest),
        share(source.share),
        slowdown(source.without),
        slowdown(whole.median)
    ))
}

/// Returns what became of the noise.
fn fate(found: &Simulation, whole: &Slowdown) -> String {
    let fate = match whole.fate {
        Some(Fate::Nothing) => return "Noise met no rank at work.".to_owned(),
        Some(Fate::Absorbed) if whole.delay_ns.abs() < 0.5 => {
            ": it was absorbed, while ranks waited"
        }
        Some(Fate::Absorbed) => ": part of it was absorbed, while ranks waited",
        Some(Fate::PassedOn) => ": it was passed on",
        Some(Fate::Amplified) => ": it was amplified, because ranks delayed each other in turn",
        None if found.network_noise.is_some() => ", together with noise of the network",
        None => ", the single delay included",
    };
    let (job_ns, change) = match whole.delay_ns < 0.0 {
        true if found.network_noise.is_some() => (-whole.delay_ns, "shorter"),
        true => (-whole.delay_ns, "shorter, because messages came in another order"),
        false => (whole.delay_ns, "longer"),
    };
    if found.noise.is_none() {
        return format!("Noise of the network made the job {} {change}.", fine(job_ns));
    }
    format!(
        "Noise took {} from a rank on average and {} at most, and made the job {} {change}{fate}.",
        fine(whole.lost_ns),
        fine(whole.most_lost_ns),
        fine(job_ns),
    )
}

/// Explains the columns of the table of simulations.
pub(super) const COLUMNS: &str = "late ranks: those that finish later than without noise; lost per rank: by how much noise \
lengthened what a rank did, the mean and the most of all ranks";

/// Says what of the simulations is not shown.
pub(super) fn left_out(replicas: &[Replica]) -> String {
    let finish = || replicas.iter().map(|replica| replica.finish_ns);
    let (least, most) = (finish().fold(f64::MAX, f64::min), finish().fold(0.0, f64::max));
    format!(
        "the {} simulations finish after {} to {}; --all shows each",
        count(replicas.len() as u64),
        fine(least),
        fine(most)
    )
}
