//! The memory of all loops.

use super::buffers::{Arena, BUDGET, BlockExchange, Item, StoredSample};
use super::pacing::PaceSpan;
use super::place::LoopPlace;
use super::sinks::LoopBuffers;
use anechoic_kernels::detour::Gap;
use anechoic_recording::{Problem, ProblemKind};

/// Memory for the samples of all loops that only sleep and are woken, in bytes. On two CPUs it holds 26 s of wake-ups every
/// 100 µs, and 2.6 s of those every 10 µs; the writer looks four times in this time at least.
const WAKING_BUDGET: usize = 16 << 20;

/// The memory of all loops, by lane.
pub(crate) struct Arenas(Vec<LoopMemory>);

/// What loops store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Gaps alone.
    Gaps,
    /// Samples, and gaps in them.
    Samples,
    /// Wake-ups. Nothing is watched between them.
    WakeUps,
}

struct LoopMemory {
    place: LoopPlace,
    gaps: Arena<Gap>,
    samples: Option<Arena<StoredSample>>,
    paces: Option<Arena<PaceSpan>>,
}

impl Arenas {
    /// Allocates the memory of the loops at these places.
    pub(crate) fn make(places: &[LoopPlace], stored: Stored) -> Result<Self, Problem> {
        let loops = places.iter().filter(|place| !place.is_copy()).count();
        let refused = |error| {
            let why = format!("no memory for the buffers of {loops} CPUs: {error}");
            ProblemKind::Unavailable.problem(why, "measure fewer with --cpus")
        };
        let make = |place: &LoopPlace| LoopMemory::make(*place, stored, loops).map_err(refused);
        places.iter().map(make).collect::<Result<_, _>>().map(Arenas)
    }

    /// Returns whether all of it is locked.
    pub(crate) fn locked(&self) -> bool {
        self.0.iter().all(LoopMemory::is_locked)
    }

    pub(crate) fn lanes(&mut self) -> Vec<LoopBuffers<'_>> {
        let lanes = self.0.iter_mut().map(|memory| LoopBuffers {
            place: memory.place,
            gaps: BlockExchange::new(&mut memory.gaps),
            samples: memory.samples.as_mut().map(BlockExchange::new),
            paces: memory.paces.as_mut().map(BlockExchange::new),
        });
        lanes.collect()
    }
}

impl LoopMemory {
    fn make(place: LoopPlace, stored: Stored, loops: usize) -> rustix::io::Result<Self> {
        let (gaps, samples) = match stored {
            Stored::Gaps => (Some(BUDGET), None),
            Stored::Samples => (Some(BUDGET), Some(BUDGET)),
            Stored::WakeUps => (None, Some(WAKING_BUDGET)),
        };
        let gaps = arena(place, gaps, loops)?;
        let samples = samples.map(|budget| arena(place, Some(budget), loops)).transpose()?;
        let paces = (stored == Stored::Gaps).then(Arena::small).transpose()?;
        Ok(Self { place, gaps, samples, paces })
    }

    fn is_locked(&self) -> bool {
        self.gaps.locked()
            && self.samples.as_ref().is_none_or(Arena::locked)
            && self.paces.as_ref().is_none_or(Arena::locked)
    }
}

/// Allocates what one of `loops` loops stores, which share this budget; copies, and loops without a budget, store little.
fn arena<T: Item>(
    place: LoopPlace,
    budget: Option<usize>,
    loops: usize,
) -> rustix::io::Result<Arena<T>> {
    match budget.filter(|_| !place.is_copy()) {
        Some(bytes) => Arena::new(bytes, loops),
        None => Arena::small(),
    }
}
