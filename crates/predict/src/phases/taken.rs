//! What each source took of each detour of a host: the timelines without one, or with one alone.

use super::timeline::{Host, Span, Timeline};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Activity, ReadError, Recording};
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

/// Where a source's time goes when a timeline is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// All other sources' time.
    Others,
    /// Only this source's.
    Alone,
}

impl Taken {
    /// Adds the next CPU of a host. `kept` are the numbers of the recorded detours that its timeline has, in order.
    ///
    /// # Errors
    /// The activities are damaged.
    pub(super) fn add_cpu(
        &mut self,
        recording: &Recording,
        cpu: &CpuRun,
        kept: &[u32],
    ) -> Result<(), ReadError> {
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

    /// The host's timelines with every detour shorter by what the source took of it, or as long as that.
    pub(super) fn timelines(&self, host: &Host, source: &SourceName, keep: Keep) -> Vec<Timeline> {
        let number = self.numbers.get(source).copied();
        let of_cpu = |((_, timeline), parts): (&(u32, Timeline), &Vec<Part>)| {
            let mut of_source = parts.iter().filter(|part| Some(part.source) == number).peekable();
            let shortened = |(index, detour): (usize, &Span)| {
                let part = of_source.next_if(|part| part.detour as usize == index);
                let taken = part.map_or(0, |part| part.ns.min(detour.length_ns()));
                let length = match keep {
                    Keep::Others => detour.length_ns() - taken,
                    Keep::Alone => taken,
                };
                Span { start_ns: detour.start_ns, end_ns: detour.start_ns + length }
            };
            let detours = timeline.detours().iter().enumerate().map(shortened);
            let detours = detours.filter(|detour| detour.start_ns < detour.end_ns).collect();
            Timeline::new(timeline.length_ns(), detours)
        };
        host.cpus().iter().zip(&self.cpus).map(of_cpu).collect()
    }
}
