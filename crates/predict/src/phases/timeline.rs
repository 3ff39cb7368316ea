//! The detours of one CPU over time, from which every model of a parallel job is computed.

use super::longest_detours::LongestDetours;
use super::recorded_cpu::RecordedCpu;
use super::span::Span;
use super::taken::{SourceName, TakenSums};
use anechoic_recording::{Activity, Problem};
use std::collections::BTreeSet;

/// One CPU's detours in a window of time that repeats if a model needs a longer one. Detours of a recording are read
/// from it in each pass.
#[derive(Debug, Clone)]
pub struct Timeline {
    length_ns: u64,
    lost_ns: u64,
    merged: u64,
    count: u64,
    detours: Vec<Span>,
    recorded: Option<RecordedCpu>,
}

/// Detours that become longer, one after the other.
struct Longer {
    /// How many times as long a part of each becomes.
    times: f64,
    /// When the last one ends.
    free_ns: u64,
    detours: Vec<Span>,
}

impl Longer {
    /// Adds a detour, of which this time becomes longer.
    fn add(&mut self, span: Span, taken_ns: u64) {
        let kept_ns = span.length_ns() - taken_ns;
        let start_ns = span.start_ns.max(self.free_ns);
        self.free_ns = start_ns + kept_ns + (taken_ns as f64 * self.times).round() as u64;
        self.detours.push(Span { start_ns, end_ns: self.free_ns });
    }
}

impl Timeline {
    /// Returns a window of `length_ns` with these detours in any order. Parts outside the window are cut off, and
    /// detours that overlap or touch are merged and counted in [`Timeline::merged`].
    #[must_use]
    pub fn new(length_ns: u64, mut detours: Vec<Span>) -> Self {
        for detour in &mut detours {
            detour.end_ns = detour.end_ns.min(length_ns);
        }
        detours.retain(|detour| detour.start_ns < detour.end_ns);
        if !detours.is_sorted() {
            detours.sort_unstable();
        }
        let before = detours.len();
        detours.dedup_by(|next, before| {
            let one = next.start_ns <= before.end_ns;
            if one {
                before.end_ns = before.end_ns.max(next.end_ns);
            }
            one
        });
        let merged = (before - detours.len()) as u64;
        let lost_ns = detours.iter().map(|detour| detour.length_ns()).sum();
        let count = detours.len() as u64;
        Self { length_ns, lost_ns, merged, count, detours, recorded: None }
    }

    /// Returns the window of a recorded CPU.
    pub(super) fn from_recorded(recorded: RecordedCpu, length_ns: u64) -> Self {
        let found = recorded.found();
        let (lost_ns, merged, count) = (found.lost_ns, found.merged, found.count);
        Self { length_ns, lost_ns, merged, count, detours: vec![], recorded: Some(recorded) }
    }

    /// Calls `each` with every detour: in time order, disjoint, none of length 0, all inside the window.
    ///
    /// # Errors
    ///
    /// The recording can no longer be read.
    pub fn each(&self, mut each: impl FnMut(Span)) -> Result<(), Problem> {
        match &self.recorded {
            Some(recorded) => recorded.each(each),
            None => {
                self.detours.iter().for_each(|&detour| each(detour));
                Ok(())
            }
        }
    }

    /// Calls `each` with every detour and its activities, provided that no detours were merged.
    ///
    /// # Errors
    ///
    /// The recording can no longer be read.
    pub(super) fn each_with_activities(
        &self,
        each: impl FnMut(Span, &[Activity]),
    ) -> Result<(), Problem> {
        self.recorded.as_ref().map_or(Ok(()), |recorded| recorded.each_with_activities(each))
    }

    /// Returns the same window without the time that a source took: each detour is shorter by it. Nothing is known of the
    /// sources of detours in memory, which stay as they are.
    ///
    /// # Errors
    ///
    /// The recording can no longer be read.
    pub fn without(&self, source: &SourceName) -> Result<Self, Problem> {
        self.with_longer(Some(source), 0.0)
    }

    /// Returns the same window in which a source took `times` times as long of each detour, or in which each detour took
    /// `times` times as long, if no source is given. A detour that begins while a longer one is still in progress comes after
    /// it, as long as it was. What would come after the window is cut off. Nothing is known of the sources of detours in
    /// memory, which stay as they are.
    ///
    /// # Errors
    ///
    /// The recording can no longer be read.
    pub fn with_longer(&self, source: Option<&SourceName>, times: f64) -> Result<Self, Problem> {
        let mut longer = Longer { times, free_ns: 0, detours: vec![] };
        match (source, &self.recorded) {
            (None, _) => self.each(|span| longer.add(span, span.length_ns()))?,
            (Some(_), None) => return Ok(self.clone()),
            (Some(source), Some(recorded)) => {
                let clock = recorded.recording().run().clock.clone();
                let mut sums = TakenSums::new([source]);
                self.each_with_activities(|span, activities| {
                    let taken = sums.add(activities, span, &clock);
                    longer.add(span, taken.first().map_or(0, |taken| taken.1));
                })?;
            }
        }
        Ok(Self::new(self.length_ns, longer.detours))
    }

    /// Calls `take` with each detour that starts at one of these instants, in ns: its start, and how long each source took of
    /// it. Nothing is known of detours in memory.
    ///
    /// # Errors
    ///
    /// The recording can no longer be read.
    pub fn sources_at(
        &self,
        starts_ns: &BTreeSet<u64>,
        mut take: impl FnMut(u64, Vec<(SourceName, u64)>),
    ) -> Result<(), Problem> {
        let Some(recorded) = &self.recorded else { return Ok(()) };
        let clock = recorded.recording().run().clock.clone();
        let mut sums = TakenSums::all();
        self.each_with_activities(|span, activities| {
            if starts_ns.contains(&span.start_ns) {
                let taken = sums.add(activities, span, &clock).to_vec();
                let named = taken.into_iter().map(|(number, ns)| (sums.name(number), ns));
                take(span.start_ns, named.collect());
            }
        })
    }

    /// Returns the recorded CPU, if there is one.
    pub(super) fn recorded(&self) -> Option<&RecordedCpu> {
        self.recorded.as_ref()
    }

    /// Returns the time that a source took of all detours, in ns.
    pub(super) fn taken_by(&self, source: &SourceName) -> u64 {
        let taken = self.recorded.as_ref().and_then(|recorded| recorded.found().taken.get(source));
        taken.map_or(0, |taken| taken.ns)
    }

    /// Returns the longest detours of at most [`KEPT`](super::longest_detours::KEPT), the longest first.
    pub(super) fn longest(&self) -> Vec<Span> {
        if let Some(recorded) = &self.recorded {
            return recorded.found().longest.clone();
        }
        let mut longest = LongestDetours::default();
        self.detours.iter().for_each(|&detour| longest.add(detour));
        longest.finish()
    }

    /// Returns the number of detours.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the length of the window.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// Returns the time in detours.
    #[must_use]
    pub fn lost_ns(&self) -> u64 {
        self.lost_ns
    }

    /// Returns the time outside detours.
    #[must_use]
    pub fn free_ns(&self) -> u64 {
        self.length_ns - self.lost_ns
    }

    /// Returns the detours in memory, without those of a recording: in time order, disjoint, none of length 0, all
    /// inside the window.
    #[must_use]
    pub fn detours(&self) -> &[Span] {
        &self.detours
    }

    /// Returns the number of detours merged into another one, because they overlapped or touched it.
    #[must_use]
    pub fn merged(&self) -> u64 {
        self.merged
    }
}

/// The CPUs of one host on their common clock; all windows have the same start and length.
#[derive(Debug, Clone)]
pub struct Host {
    name: String,
    cpus: Vec<(u32, Timeline)>,
}

impl Host {
    /// Returns a host with these CPUs; `None` without CPUs, or if windows differ in length.
    #[must_use]
    pub fn new(name: String, cpus: Vec<(u32, Timeline)>) -> Option<Self> {
        let length = cpus.first()?.1.length_ns;
        cpus.iter().all(|(_, cpu)| cpu.length_ns == length).then_some(Self { name, cpus })
    }

    /// Returns the name of the host.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its CPUs by number; there is at least one.
    #[must_use]
    pub fn cpus(&self) -> &[(u32, Timeline)] {
        &self.cpus
    }

    /// Returns the length of its window.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.cpus[0].1.length_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_become_disjoint_and_sorted() {
        type Case = (&'static str, &'static [(u64, u64)], &'static [(u64, u64)], u64);
        let cases: [Case; 8] = [
            ("none", &[], &[], 0),
            ("as they are", &[(1, 3), (5, 6)], &[(1, 3), (5, 6)], 0),
            ("out of order", &[(5, 6), (1, 3)], &[(1, 3), (5, 6)], 0),
            ("overlapping", &[(1, 4), (3, 6)], &[(1, 6)], 1),
            ("one in another", &[(1, 9), (3, 6)], &[(1, 9)], 1),
            ("touching", &[(1, 3), (3, 6)], &[(1, 6)], 1),
            ("empty and backwards", &[(4, 4), (6, 5)], &[], 0),
            ("beyond the end", &[(8, 40), (12, 13)], &[(8, 10)], 0),
        ];
        let spans = |pairs: &[(u64, u64)]| -> Vec<Span> {
            pairs.iter().map(|&(start_ns, end_ns)| Span { start_ns, end_ns }).collect()
        };
        for (name, given, expected, merged) in cases {
            let timeline = Timeline::new(10, spans(given));
            assert_eq!(timeline.detours(), spans(expected), "case: {name}");
            assert_eq!(timeline.merged(), merged, "case: {name}");
            let lost: u64 = expected.iter().map(|(start, end)| end - start).sum();
            assert_eq!((timeline.lost_ns(), timeline.free_ns()), (lost, 10 - lost), "case: {name}");
        }
    }

    #[test]
    fn a_host_has_one_window() {
        let cpu = |length| Timeline::new(length, vec![]);
        assert!(Host::new("none".into(), vec![]).is_none());
        assert!(Host::new("two".into(), vec![(0, cpu(5)), (1, cpu(6))]).is_none());
        assert!(Host::new("one".into(), vec![(0, cpu(5)), (1, cpu(5))]).is_some());
    }
}
