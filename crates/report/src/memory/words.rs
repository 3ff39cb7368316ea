//! What the memory experiments come to, in words.

use crate::names::source_name;
use crate::units::number;
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Cause, Experiment, REGIONS};

/// How the borders are found.
pub(crate) const BORDERS: &str = "Reported: what the machine reports, which in a guest need not be what it has. Knee: the working set at which the \
time per access crosses the geometric mean of the times in the regions on either side; – if it rises by less than 30 %.";

/// What the noise is.
pub(crate) const NOISE: &str = "Median over the working sets of a region of the variance of the ticks per access divided by their mean \
(Wächtler & Sojka 2012).";

/// What the paper found.
pub(crate) const PUBLISHED: &str = "Published (Wächtler & Sojka 2012, Table 1): of 184 comparisons of this noise the lowest, middle and highest \
were NOVA 108, 35 and 41, minimal Linux 37, 70 and 77, Debian 39, 79 and 66. The paper prints no times per access.";

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
    let name = |number: usize| match borders.get(number) {
        Some(border) => format!("to {}", border.name),
        None if number == borders.len() => "beyond".to_owned(),
        None => String::new(),
    };
    std::array::from_fn(name)
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
    let noisiest = found.measured().flat_map(|of| {
        of.regions
            .iter()
            .enumerate()
            .filter_map(move |(at, region)| Some((region.as_ref()?.ratio?, of, at)))
    });
    if let Some((ratio, of, at)) = noisiest.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let name = &regions(found)[at];
        sentences.push(format!(
            "The noisiest experiment is {} ({name}): variance / mean {}.",
            of.id,
            number(ratio)
        ));
    }
    if let Some(text) = tlb(found) {
        sentences.push(text);
    }
    if sentences.is_empty() && found.measured().next().is_none() {
        sentences.push("No experiment was measured.".into());
    }
    sentences
}

/// States what misses of the TLB cost: random reads over the whole range against those within 64 pages.
fn tlb(found: &Memory) -> Option<String> {
    let last = |id: &str| {
        let of: &Experiment = found.experiment(id)?;
        of.points.last().map(|point| (point.bytes, point.median))
    };
    let (bytes, whole) = last("bandwidth-read-random-warm")?;
    let (same, local) = last("bandwidth-read-random-local-warm")?;
    let ns = (whole - local) * found.tick_ns;
    (bytes == same && ns > 0.0).then(|| {
        format!("At {} the TLB takes up to {} ns of a random read.", size(bytes), number(ns))
    })
}

/// Explains the columns of the times.
pub(crate) fn times(found: &Memory) -> String {
    let (tick, read) = (number(found.tick_ns), found.read_ticks);
    format!(
        "Median over the working sets of a region of their mean ns per access, one line of 64 bytes. A tick is {tick} ns. The cost of a \
         counter read, {read} ticks, is subtracted from each pass; sequential accesses use vectors of 16 bytes."
    )
}

/// Names the source of outliers.
pub(crate) fn source(cause: &Cause, found: &Memory) -> String {
    source_name(&cause.source, &cause.name, &found.run)
}

/// Lists absent experiments with the reason, those with one reason together.
pub(crate) fn absent(found: &Memory) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for of in &found.experiments {
        let Some(why) = of.absent.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(&of.id),
            None => reasons.push((why, vec![&of.id])),
        }
    }
    let text = |(why, ids): (&str, Vec<&str>)| match ids.len() {
        ..=4 => format!("{}: {why}", ids.join(", ")),
        many => format!("{many} experiments from {} to {}: {why}", ids[0], ids[many - 1]),
    };
    reasons.into_iter().map(text).collect()
}
