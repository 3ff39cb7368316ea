//! What each source took of each detour of a host.

use super::costs::Culprit;
use super::timeline::Span;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Activity, Problem, Recording};
use std::collections::HashMap;
use std::sync::Arc;

/// A source of noise and which of its kind: thread, device, vector.
pub type SourceName = (Arc<str>, Arc<str>);

/// What one source took of one detour.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    detour: u32,
    source: u32,
    ns: u64,
}

/// What sources took of the detours of one host.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    sources: Vec<SourceName>,
    numbers: HashMap<SourceName, u32>,
    /// By CPU of the host, in order of the detours.
    cpus: Vec<Vec<Part>>,
}

impl Taken {
    /// Adds the next CPU of a host with its detours. `kept` are their numbers among the recorded ones, in order.
    /// A source takes of a detour no more than its length.
    ///
    /// # Errors
    /// The activities are damaged.
    pub(super) fn add_cpu(
        &mut self,
        recording: &Recording,
        cpu: &CpuRun,
        kept: &[u32],
        detours: &[Span],
    ) -> Result<(), Problem> {
        let clock = &recording.run().clock;
        let mut parts: Vec<Part> = Vec::new();
        let mut place = 0;
        // Where the parts of the detour that is read now begin.
        let mut first = 0;
        for rows in recording.rows_of_cpu::<Activity>(cpu.cpu) {
            for activity in rows? {
                while kept.get(place).is_some_and(|&kept| u64::from(kept) < activity.detour) {
                    place += 1;
                    first = parts.len();
                }
                if kept.get(place).map(|&kept| u64::from(kept)) != Some(activity.detour) {
                    continue;
                }
                let source = self.number(&activity);
                let ns = clock.ns(activity.self_ticks);
                match parts[first..].iter_mut().find(|part| part.source == source) {
                    Some(part) => part.ns = part.ns.saturating_add(ns),
                    None => parts.push(Part { detour: place as u32, source, ns }),
                }
            }
        }
        for part in &mut parts {
            part.ns = part.ns.min(detours[part.detour as usize].length_ns());
        }
        self.cpus.push(parts);
        Ok(())
    }

    fn number(&mut self, activity: &Activity) -> u32 {
        let name = (activity.source.clone(), activity.name.clone());
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.sources.push(name.clone());
            (self.sources.len() - 1) as u32
        })
    }

    /// Each source with its time in ns, and the most that it took of one detour.
    pub(super) fn totals(&self) -> Vec<(SourceName, u64, u64)> {
        let mut totals: Vec<_> =
            self.sources.iter().map(|source| (source.clone(), 0u64, 0)).collect();
        for part in self.cpus.iter().flatten() {
            let total = &mut totals[part.source as usize];
            total.1 = total.1.saturating_add(part.ns);
            total.2 = total.2.max(part.ns);
        }
        totals
    }

    /// What these sources took of the detours of one CPU of the host.
    pub(super) fn of_cpu(&self, cpu: usize, culprits: &[Culprit]) -> PartsOfCpu<'_> {
        let place = |source: &SourceName| culprits.iter().position(|one| one.source == *source);
        PartsOfCpu {
            parts: &self.cpus[cpu],
            places: self.sources.iter().map(place).collect(),
            taken_ns: vec![0; culprits.len()],
        }
    }
}

/// What some sources took of the detours of one CPU.
#[derive(Debug)]
pub(super) struct PartsOfCpu<'a> {
    parts: &'a [Part],
    /// By source of the host, which of them it is.
    places: Vec<Option<usize>>,
    taken_ns: Vec<u64>,
}

impl PartsOfCpu<'_> {
    /// What each took of all detours.
    pub(super) fn totals(&self) -> Vec<u64> {
        let mut totals = vec![0; self.taken_ns.len()];
        for part in self.parts {
            if let Some(place) = self.places[part.source as usize] {
                totals[place] += part.ns;
            }
        }
        totals
    }

    /// What each took of a detour. Detours are asked for in their order.
    pub(super) fn of_detour(&mut self, number: u32) -> &[u64] {
        self.taken_ns.fill(0);
        let here = self.parts.iter().take_while(|part| part.detour <= number).count();
        for part in self.parts[..here].iter().filter(|part| part.detour == number) {
            if let Some(place) = self.places[part.source as usize] {
                self.taken_ns[place] = part.ns;
            }
        }
        self.parts = &self.parts[here..];
        &self.taken_ns
    }
}
