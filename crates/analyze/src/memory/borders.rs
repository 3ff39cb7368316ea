//! The borders between the regions of working sets: what the machine reports, and where the time of an access rises.

use super::Experiment;
use super::knees::knees;
use anechoic_recording::Run;
use anechoic_recording::machine::Cache;
use schemars::JsonSchema;
use serde::Serialize;

/// Experiments of random accesses, whose curve shows the caches; the clearest first.
const RANDOM: [&str; 4] = [
    "bandwidth-read-random-local-warm",
    "bandwidth-read-random-warm",
    "bandwidth-write-random-local-warm",
    "bandwidth-write-random-warm",
];
/// The same for sequential accesses, whose lines the CPU loads before they are needed.
const SEQUENTIAL: [&str; 2] = ["bandwidth-read-sequential-warm", "bandwidth-write-sequential-warm"];

/// The border between two regions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Border {
    /// Name of the cache: `L1`, `L2`, `L3`.
    pub name: String,
    /// Size of the cache that the machine reports, in bytes.
    pub reported_bytes: u64,
    /// The working set at which the median time of a random access steps from the level in this cache to the next one, in
    /// bytes; absent if it has no such step.
    pub knee_bytes: Option<u64>,
    /// The same for sequential accesses. They use the lines of a cache again sooner, so they keep more of a cache that others
    /// use too.
    #[serde(default)]
    pub sequential_knee_bytes: Option<u64>,
}

impl Border {
    /// Returns the border at the size of a cache, before it is measured.
    fn new(cache: &Cache) -> Self {
        Self {
            name: format!("L{}", cache.level),
            reported_bytes: cache.size_bytes,
            knee_bytes: None,
            sequential_knee_bytes: None,
        }
    }
}

/// Returns the caches of data of the measured CPU, from the first level on. A machine that hides them has none.
pub(crate) fn caches(run: &Run) -> Vec<&Cache> {
    let cpu = run.cpus.first().map(|cpu| cpu.cpu);
    let known = run.machine.cpus.iter().find(|known| Some(known.cpu) == cpu);
    let mut caches: Vec<_> = known.iter().flat_map(|known| &known.caches).collect();
    caches.retain(|cache| cache.kind != "Instruction" && cache.size_bytes > 0);
    caches.sort_by_key(|cache| cache.level);
    caches.dedup_by_key(|cache| cache.level);
    caches.truncate(super::REGIONS - 1);
    caches
}

/// Returns the borders at the sizes of the caches, with the measured knees.
pub(super) fn borders(caches: &[&Cache], experiments: &[Experiment]) -> Vec<Border> {
    let mut borders: Vec<Border> = caches.iter().map(|cache| Border::new(cache)).collect();
    find_knees(&mut borders, experiments);
    borders
}

/// Finds the knees of all borders in the curves of these experiments.
pub(super) fn find_knees(borders: &mut [Border], experiments: &[Experiment]) {
    let sizes: Vec<u64> = borders.iter().map(|border| border.reported_bytes).collect();
    let [random, sequential] =
        [&RANDOM[..], &SEQUENTIAL].map(|curves| knees_in(curves, experiments, &sizes));
    for ((border, random), sequential) in borders.iter_mut().zip(random).zip(sequential) {
        border.knee_bytes = random;
        border.sequential_knee_bytes = sequential;
    }
}

/// Returns the knees at these sizes in the first of `curves` that was measured.
fn knees_in(curves: &[&str], experiments: &[Experiment], sizes: &[u64]) -> Vec<Option<u64>> {
    let measured = experiments.iter().filter(|experiment| !experiment.points.is_empty());
    let find = |id: &&str| measured.clone().find(|experiment| experiment.id == *id);
    let points = curves.iter().find_map(find).map_or(&[][..], |curve| &curve.points);
    let points: Vec<(u64, f64)> = points.iter().map(|point| (point.bytes, point.median)).collect();
    knees(&points, sizes)
}
