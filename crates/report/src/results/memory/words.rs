//! What the memory experiments come to, in words.

use crate::published::{BASTONI, THIEBAUT, ranking};
use crate::units::{counted, number, rough_share, share, time};
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Border, Experiment, Prediction, REGIONS};
use anechoic_analyze::stats::quantile;
use anechoic_recording::Policy;

/// What a reported border is.
const REPORTED: &str =
    "Reported: what the machine reports, which in a guest need not be what it has.";
/// What a measured border is.
const STEPS: &str = "the working set at which the time of such an access steps from one level to the next; – if no step \
of 30 % or more belongs to this cache. Of a cache that other CPUs or guests use too, sequential accesses keep more, because they use its lines again \
sooner.";

/// Explains the columns of borders that the table has.
pub(crate) fn borders(found: &Memory) -> String {
    let any = |knee: fn(&Border) -> Option<u64>| {
        found.borders.iter().any(|border| knee(border).is_some())
    };
    match (any(|border| border.knee_bytes), any(|border| border.sequential_knee_bytes)) {
        (false, false) => format!("{REPORTED} No step of the time per access was measured."),
        (true, true) => format!("{REPORTED} Random, sequential: {STEPS}"),
        (true, false) => format!("{REPORTED} Random: {STEPS}"),
        (false, true) => format!("{REPORTED} Sequential: {STEPS}"),
    }
}

/// Why there are no borders.
pub(crate) const NO_CACHES: &str =
    "This machine does not report its caches, so all working sets are in one region.";

/// What the noise is.
pub(crate) const NOISE: &str = "Median over the working sets of a region of the variance of the ticks per access divided by their mean \
(Wächtler & Sojka 2012).";

/// What the operating system's part of the variance is.
pub(crate) const OS_SHARE: &str = "Median over the working sets of a region of the part of the variance that disappears when the time of \
kernel activities inside each pass is subtracted from it; – if these are not recorded, as after a migration.";

/// What the prediction is.
pub(crate) const PREDICTION: &str = "Lines: measured median. Points: predicted from the warm curve and the lines that the preemptor \
displaces in each cache.";

/// States what the paper found.
pub(crate) fn published() -> String {
    format!("Published: {}. The paper prints no times per access.", ranking())
}

/// What the paper states on scheduling.
const QUANTUM: &str = "Published (section 2): on NOVA a quantum of 100 ms and no thread of higher priority; nothing is stated for Linux";

/// Writes a size in bytes.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value.fract() == 0.0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

/// Names the regions.
pub(crate) fn regions(found: &Memory) -> [String; REGIONS] {
    let borders = &found.borders;
    std::array::from_fn(|number| match borders.get(number) {
        None if borders.is_empty() && number == 0 => "all sizes".to_owned(),
        Some(border) => format!("to {}", border.name),
        None if number == borders.len() => "beyond".to_owned(),
        None => String::new(),
    })
}

/// States the time of random reads in each region, and what preemptions cost.
pub(crate) fn sentences(found: &Memory) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(reads) = found.experiment("bandwidth-read-random-warm") {
        let names = regions(found);
        let regions = reads.regions.iter().zip(names);
        let times: Vec<String> = regions
            .filter_map(|(region, name)| {
                let ns = region.as_ref()?.ticks * found.tick_ns;
                Some(format!("{} ns ({name})", number(ns)))
            })
            .collect();
        sentences.push(format!("A random read takes {}.", times.join(", ")));
    }
    let noisiest = found.measured().flat_map(|experiment| {
        experiment
            .regions
            .iter()
            .enumerate()
            .filter_map(move |(at, region)| Some((region.as_ref()?.ratio?, experiment, at)))
    });
    if let Some((ratio, experiment, at)) = noisiest.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let name = &regions(found)[at];
        sentences.push(format!(
            "The noisiest experiment is {} ({name}): variance / mean {}.",
            experiment.id,
            number(ratio)
        ));
    }
    sentences.extend(
        [tlb(found), os_share(found), delays(found), prediction(found)].into_iter().flatten(),
    );
    if sentences.is_empty() && found.measured().next().is_none() {
        sentences.push("No experiment was measured.".into());
    }
    sentences
}

/// States how well the delay after a preemption follows from the warm curve and the preemptor's footprint.
fn prediction(found: &Memory) -> Option<String> {
    let predicted: Vec<(&Experiment, Prediction)> = found
        .measured()
        .filter_map(|experiment| Some((experiment, experiment.prediction?)))
        .collect();
    let median = |measure: fn(&Prediction) -> f64| {
        let mut errors: Vec<f64> = predicted.iter().map(|(_, found)| measure(found)).collect();
        errors.sort_by(f64::total_cmp);
        quantile(&errors, 0.5)
    };
    let (error, warm) =
        (median(|prediction| prediction.error)?, median(|prediction| prediction.warm_error)?);
    let (worst, worst_of) = predicted.iter().max_by(|a, b| a.1.error.total_cmp(&b.1.error))?;
    let curves = counted(predicted.len() as u64, "curve", "curves");
    Some(format!(
        "The time after a preemption, predicted from the warm curve and the preemptor's footprint ({}), differs from the \
         measured one by {} in the median of {curves}, the warm curve itself by {}; most for {}, by {}.",
        THIEBAUT.short,
        rough_share(error),
        rough_share(warm),
        worst.id,
        rough_share(worst_of.error)
    ))
}

/// States what part of the variance is the operating system's, in each region.
pub(crate) fn os_share(found: &Memory) -> Option<String> {
    let parts = (0..)
        .zip(regions(found))
        .filter_map(|(at, name)| Some(format!("{} ({name})", share(os_share_in(found, at)?))));
    let parts: Vec<String> = parts.collect();
    let rest = if found.run.hypervisor.is_some() { " or the host's" } else { "" };
    (!parts.is_empty()).then(|| {
        format!(
            "Without the time of the operating system's activities the variance falls by {}; the rest is the memory \
             system's{rest}.",
            parts.join(", ")
        )
    })
}

/// Returns the median over the experiments of the part that is the operating system's in a region.
fn os_share_in(found: &Memory, region: usize) -> Option<f64> {
    let shares =
        found.measured().filter_map(|experiment| experiment.regions[region].as_ref()?.os_share);
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(f64::total_cmp);
    quantile(&shares, 0.5)
}

/// States whether a migration takes longer than a preemption, with idle CPUs and beside a co-runner.
fn delays(found: &Memory) -> Option<String> {
    let states = [false, true].into_iter();
    let states: Vec<String> = states.filter_map(|co_runner| delay(found, co_runner)).collect();
    (!states.is_empty()).then(|| {
        format!(
            "A random access takes longer after a migration than after a preemption that displaces the second-level cache \
             {}; {} found that migrations are not always dearer.",
            states.join(", "),
            BASTONI.short
        )
    })
}

/// States in how many working sets a migration takes longer, with or without a co-runner.
fn delay(found: &Memory, co_runner: bool) -> Option<String> {
    let delay = found.delays.iter().find(|delay| delay.co_runner == co_runner)?;
    let state = if co_runner { "beside a co-runner" } else { "with idle CPUs" };
    Some(format!(
        "{state} in {} of {} working sets ({} times as long in the median)",
        delay.dearer,
        delay.points,
        number(delay.ratio)
    ))
}

/// States what misses of the TLB cost: random reads over the whole range against those within 64 pages.
fn tlb(found: &Memory) -> Option<String> {
    let whole = found.experiment("bandwidth-read-random-warm")?.points.last()?;
    let local = found.experiment("bandwidth-read-random-local-warm")?.points.last()?;
    let ns = (whole.median - local.median) * found.tick_ns;
    (whole.bytes == local.bytes && ns > 0.0).then(|| {
        format!("At {} the TLB takes up to {} ns of a random read.", size(whole.bytes), number(ns))
    })
}

/// States how the measuring thread was scheduled, beside the paper.
pub(crate) fn scheduling(found: &Memory) -> String {
    let policy = &found.run.policy;
    let quantum = match found.quantum_ns {
        Some(ns) => format!("has a quantum of {}", time(ns as f64)),
        None => "has a quantum that the kernel does not report".into(),
    };
    let loops = match (policy.is_other(), policy.is_fifo()) {
        (true, _) => {
            format!("the measuring thread is an ordinary one (SCHED_OTHER) and {quantum}")
        }
        (false, true) => {
            format!("the measuring thread is of {} and has no quantum", real_time(policy))
        }
        (false, false) => "nothing schedules the measuring thread".into(),
    };
    let preemptor = found.preemptor.as_ref();
    let preempted = preemptor
        .map_or(String::new(), |other| format!("; a thread of {} preempts it", real_time(other)));
    format!("{loops}{preempted}. {QUANTUM}")
}

/// Writes a real-time policy, as `SCHED_FIFO priority 2`.
fn real_time(policy: &Policy) -> String {
    match policy.as_str().split_once(' ') {
        Some((name, priority)) => format!("SCHED_{} priority {priority}", name.to_uppercase()),
        None => policy.to_string(),
    }
}

/// Explains the columns of the times.
pub(crate) fn times(found: &Memory) -> String {
    let (tick, read) = (number(found.tick_ns), found.read_ticks);
    format!(
        "Median over the working sets of a region of their mean ns per access, one line of 64 bytes. A tick is {tick} ns. The cost of a \
         counter read, {read} ticks, is subtracted from each pass; sequential accesses use vectors of 16 bytes."
    )
}

/// Lists absent experiments with the reason, those with one reason together.
pub(crate) fn absent(found: &Memory) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for experiment in &found.experiments {
        let Some(why) = experiment.absent.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(&experiment.id),
            None => reasons.push((why, vec![&experiment.id])),
        }
    }
    let lines = reasons.into_iter().map(|(why, ids)| match ids.len() {
        ..=4 => format!("{}: {why}", ids.join(", ")),
        many => format!("{many} experiments from {} to {}: {why}", ids[0], ids[many - 1]),
    });
    lines.collect()
}
