//! The memory of all loops.

use super::buffers::{Arena, Item, Lane, Taken};
use super::place::Place;
use super::sinks::Lanes;
use anechoic_kernels::detour::Gap;

/// The kernel gives no memory for the buffers.
#[derive(Debug, thiserror::Error)]
#[error("no memory for the buffers of {cpus} CPUs: {error}; measure fewer with --cpus")]
pub struct NoMemory {
    /// Number of CPUs.
    pub cpus: usize,
    /// The kernel's error.
    pub error: rustix::io::Errno,
}

/// The memory of all loops, by lane.
pub(crate) struct Arenas(Vec<OfLoop>);

struct OfLoop {
    place: Place,
    gaps: Arena<Gap>,
    samples: Option<Arena<Taken>>,
}

impl Arenas {
    /// Allocates the memory of the loops at these places, and memory for samples if some loops take samples.
    pub(crate) fn make(places: &[Place], samples: bool) -> Result<Self, NoMemory> {
        let loops = places.iter().filter(|place| !place.is_copy()).count();
        let refused = |error| NoMemory { cpus: loops, error };
        let make = |&place: &Place| {
            let samples = samples.then(|| arena(place, loops)).transpose().map_err(refused)?;
            Ok(OfLoop { place, gaps: arena(place, loops).map_err(refused)?, samples })
        };
        places.iter().map(make).collect::<Result<_, _>>().map(Arenas)
    }

    /// Returns whether all of it is locked.
    pub(crate) fn locked(&self) -> bool {
        let locked = |of: &OfLoop| of.samples.as_ref().is_none_or(|samples| samples.locked);
        self.0.iter().all(|of| of.gaps.locked && locked(of))
    }

    pub(crate) fn lanes(&mut self) -> Vec<Lanes<'_>> {
        let lanes = self.0.iter_mut().map(|of| Lanes {
            place: of.place,
            gaps: Lane::new(&mut of.gaps),
            samples: of.samples.as_mut().map(Lane::new),
        });
        lanes.collect()
    }
}

/// Allocates what one of `loops` loops stores; copies store little.
fn arena<T: Item>(place: Place, loops: usize) -> rustix::io::Result<Arena<T>> {
    if place.is_copy() { Arena::small() } else { Arena::new(loops) }
}
