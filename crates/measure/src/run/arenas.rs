//! The memory of all loops.

use super::buffers::{Arena, Lane, Taken};
use super::job::Lanes;
use super::{Plan, RunError};
use anechoic_kernels::detour::Gap;
use anechoic_recording::Series;

/// The memory of all loops, those that are not pinned last.
pub(super) struct Arenas(Vec<OfLoop>);

struct OfLoop {
    cpu: Option<u32>,
    gaps: Arena<Gap>,
    samples: Option<Arena<Taken>>,
}

impl Arenas {
    /// Memory for the loops of a plan; for samples where there are series.
    pub(super) fn make(plan: &Plan, series: &[Series]) -> Result<Self, RunError> {
        let unpinned = series.iter().any(|series| series.cpu.is_none());
        let cpus = plan.cpus.iter().map(|&cpu| Some(cpu)).chain(unpinned.then_some(None));
        let loops = plan.cpus.len() + usize::from(unpinned);
        let refused = |error| RunError::Memory { cpus: loops, error };
        let make = |cpu| {
            let samples = (!series.is_empty()).then(|| Arena::new(loops)).transpose();
            let (gaps, samples) = (Arena::new(loops).map_err(refused)?, samples.map_err(refused)?);
            Ok(OfLoop { cpu, gaps, samples })
        };
        cpus.map(make).collect::<Result<_, _>>().map(Arenas)
    }

    /// Whether all of it is locked.
    pub(super) fn locked(&self) -> bool {
        let locked = |of: &OfLoop| of.samples.as_ref().is_none_or(|samples| samples.locked);
        self.0.iter().all(|of| of.gaps.locked && locked(of))
    }

    pub(super) fn lanes(&mut self) -> Vec<Lanes<'_>> {
        let lanes = self.0.iter_mut().map(|of| Lanes {
            cpu: of.cpu,
            gaps: Lane::new(&mut of.gaps),
            samples: of.samples.as_mut().map(Lane::new),
        });
        lanes.collect()
    }
}
