//! The memory of all loops.

use super::buffers::{Arena, BlockExchange, Item, StoredSample};
use super::place::LoopPlace;
use super::sinks::LoopBuffers;
use anechoic_kernels::detour::Gap;
use anechoic_recording::{Problem, ProblemKind};

/// The memory of all loops, by lane.
pub(crate) struct Arenas(Vec<LoopMemory>);

struct LoopMemory {
    place: LoopPlace,
    gaps: Arena<Gap>,
    samples: Option<Arena<StoredSample>>,
}

impl Arenas {
    /// Allocates the memory of the loops at these places, and memory for samples if some loops take samples.
    pub(crate) fn make(places: &[LoopPlace], samples: bool) -> Result<Self, Problem> {
        let loops = places.iter().filter(|place| !place.is_copy()).count();
        let refused = |error| {
            let why = format!("no memory for the buffers of {loops} CPUs: {error}");
            ProblemKind::Unavailable.problem(why, "measure fewer with --cpus")
        };
        let make = |&place: &LoopPlace| {
            let samples = samples.then(|| arena(place, loops)).transpose().map_err(refused)?;
            Ok(LoopMemory { place, gaps: arena(place, loops).map_err(refused)?, samples })
        };
        places.iter().map(make).collect::<Result<_, _>>().map(Arenas)
    }

    /// Returns whether all of it is locked.
    pub(crate) fn locked(&self) -> bool {
        let locked =
            |memory: &LoopMemory| memory.samples.as_ref().is_none_or(|samples| samples.locked());
        self.0.iter().all(|memory| memory.gaps.locked() && locked(memory))
    }

    pub(crate) fn lanes(&mut self) -> Vec<LoopBuffers<'_>> {
        let lanes = self.0.iter_mut().map(|memory| LoopBuffers {
            place: memory.place,
            gaps: BlockExchange::new(&mut memory.gaps),
            samples: memory.samples.as_mut().map(BlockExchange::new),
        });
        lanes.collect()
    }
}

/// Allocates what one of `loops` loops stores; copies store little.
fn arena<T: Item>(place: LoopPlace, loops: usize) -> rustix::io::Result<Arena<T>> {
    if place.is_copy() { Arena::small() } else { Arena::new(loops) }
}
