//! Computes everything that needs the detours themselves, in one pass over those of each CPU.

use super::law::{Law, LawBuilder};
use super::laws::Laws;
use super::recorded::Noise;
use super::resample::Blocks;
use super::span::Span;
use super::starts::{BothStarts, FreeStarts};
use super::sweep::Sweep;
use super::tail::Longest;
use super::taken::{SourceName, TakenSums};
use super::timeline::{Host, Timeline};
use super::together::Independent;
use super::without::Without;
use anechoic_analyze::threads::{in_order, threads};
use anechoic_recording::Problem;

/// What to compute at one grain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub grain_ns: u64,
    /// Number of blocks of time for intervals; absent if there are too few.
    pub blocks: Option<u64>,
    /// Number of the longest delays to keep; absent if no tail is wanted.
    pub longest: Option<u64>,
    /// The windows that are independent.
    pub independent: Independent,
}

/// Results of the passes over all CPUs at one grain.
#[derive(Debug)]
pub(super) struct Found {
    pub laws: Laws,
    pub blocks: Option<Blocks>,
    pub longest: Option<Longest>,
    /// For each source, the free-start law without it, and of it alone.
    pub sources: Vec<[Law; 2]>,
}

/// Passes over the detours of all CPUs once. The results do not depend on the number of threads.
pub(super) fn pass(
    noise: &Noise,
    culprits: &[SourceName],
    wanted: &[Wanted],
) -> Result<Vec<Found>, Problem> {
    let timelines = noise.hosts.iter().flat_map(Host::cpus).map(|(_, timeline)| timeline);
    let timelines: Vec<&Timeline> = timelines.collect();
    let mut sums: Vec<Sums> = wanted.iter().map(|_| Sums::new(culprits.len())).collect();
    // What is found on one CPU is dropped before that of too many others is there.
    for some in timelines.chunks(threads()) {
        for found in in_order(some.len(), |at| cpu_pass(some[at], culprits, wanted)) {
            sums.iter_mut().zip(found?).for_each(|(sums, found)| sums.add(found));
        }
    }
    Ok(sums.into_iter().map(Sums::finish).collect())
}

/// Contribution of one CPU at one grain.
struct CpuPass {
    starts: Sweep<BothStarts>,
    longest: Option<Longest>,
    /// Starts without each source.
    without: Without,
    /// Starts of each source alone, with its free time.
    alone: Vec<(Sweep<FreeStarts>, u64)>,
}

impl CpuPass {
    fn new(timeline: &Timeline, taken_ns: &[u64], wanted: &Wanted) -> Self {
        let (length_ns, free_ns) = (timeline.length_ns(), timeline.free_ns());
        let grain_ns = wanted.grain_ns;
        let starts = BothStarts::new(length_ns, timeline.lost_ns(), wanted.blocks);
        let alone = |&taken_ns: &u64| {
            let free_ns = length_ns - taken_ns;
            (Sweep::new(free_ns, grain_ns, 1, FreeStarts::default()), free_ns)
        };
        Self {
            starts: Sweep::new(free_ns, grain_ns, wanted.blocks.unwrap_or(1), starts),
            longest: wanted.longest.map(|most| Longest::new(free_ns, grain_ns, most)),
            without: Without::new(free_ns, grain_ns, taken_ns.len()),
            alone: taken_ns.iter().map(alone).collect(),
        }
    }

    fn add(&mut self, detour: Span, taken: &[(usize, u64)]) {
        self.starts.add(detour);
        if let Some(longest) = &mut self.longest {
            longest.add(detour);
        }
        self.without.add(detour, taken);
        for &(source, ns) in taken {
            self.alone[source].0.add(Span { end_ns: detour.start_ns + ns, ..detour });
        }
    }
}

fn cpu_pass(
    timeline: &Timeline,
    culprits: &[SourceName],
    wanted: &[Wanted],
) -> Result<Vec<CpuPass>, Problem> {
    let totals: Vec<u64> = culprits.iter().map(|one| timeline.taken_by(one)).collect();
    let mut found: Vec<CpuPass> =
        wanted.iter().map(|wanted| CpuPass::new(timeline, &totals, wanted)).collect();
    match timeline.recorded().filter(|_| !culprits.is_empty()) {
        None => timeline.each(|detour| found.iter_mut().for_each(|at| at.add(detour, &[])))?,
        Some(recorded) => {
            let mut sums = TakenSums::new(culprits);
            let clock = &recorded.recording().run().clock;
            timeline.each_with_activities(|detour, activities| {
                let taken = sums.add(activities, detour, clock);
                found.iter_mut().for_each(|at| at.add(detour, taken));
            })?;
        }
    }
    Ok(found)
}

/// Combines the contributions of CPUs at one grain.
struct Sums {
    free: LawBuilder,
    wall: LawBuilder,
    blocks: Option<Blocks>,
    longest: Option<Longest>,
    sources: Vec<[LawBuilder; 2]>,
}

impl Sums {
    fn new(sources: usize) -> Self {
        let (free, wall) = (LawBuilder::default(), LawBuilder::default());
        Self { free, wall, blocks: None, longest: None, sources: vec![Default::default(); sources] }
    }

    fn add(&mut self, found: CpuPass) {
        let starts = found.starts.finish();
        self.free.add(&starts.free);
        self.wall.add(&starts.wall);
        match (&mut self.blocks, starts.blocks) {
            (Some(blocks), Some(others)) => blocks.merge(others),
            (blocks, others) => *blocks = others.or(blocks.take()),
        }
        match (&mut self.longest, found.longest) {
            (Some(longest), Some(other)) => longest.merge(other),
            (longest, other) => *longest = other.or(longest.take()),
        }
        let both = found.without.finish().into_iter().zip(found.alone);
        for ([without, alone], (binned, (sweep, free_ns))) in self.sources.iter_mut().zip(both) {
            without.add(&binned);
            alone.add(&sweep.finish().binned(free_ns));
        }
    }

    fn finish(self) -> Found {
        let laws = Laws { free: self.free.finish(), wall: self.wall.finish() };
        let sources = self.sources.into_iter().map(|both| both.map(LawBuilder::finish)).collect();
        Found { laws, blocks: self.blocks, longest: self.longest, sources }
    }
}
