//! The detours of one recorded CPU, read from the recording on demand.

use super::longest_detours::LongestDetours;
use super::span::Span;
use super::taken::{SourceName, SourceTotals, TakenSums};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Activity, DetourView, Problem, Recording, Stint};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of a recording that was measured on all its CPUs, and the threshold of its detours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub first_ticks: u64,
    pub last_ticks: u64,
    /// Threshold in ns: shorter gaps are not detours; 0 if all are.
    pub coarsest_ns: u64,
}

/// The detours of one CPU of a recording. They are read anew for each pass, so that a recording of any length takes no
/// more memory than a row group.
#[derive(Debug, Clone)]
pub(super) struct RecordedCpu {
    recording: Arc<Recording>,
    cpu: u32,
    stints: Vec<Stint>,
    window: Window,
    found: Found,
}

/// Result of the first pass over them.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub lost_ns: u64,
    pub count: u64,
    /// Number of detours that were merged into another one, because they overlapped or touched it.
    pub merged: u64,
    /// The longest detours, before any were merged.
    pub longest: Vec<Span>,
    /// Time of each source, if the recording is attributed.
    pub taken: BTreeMap<SourceName, SourceTotals>,
}

impl RecordedCpu {
    /// Makes the first pass over the detours of a CPU, and over their activities if it is `attributed`.
    ///
    /// # Errors
    ///
    /// A table is damaged.
    pub(super) fn read(
        recording: &Arc<Recording>,
        cpu: &CpuRun,
        window: Window,
        attributed: bool,
    ) -> Result<Self, Problem> {
        let mut this = Self {
            recording: Arc::clone(recording),
            cpu: cpu.cpu,
            stints: recording.stints(cpu)?,
            window,
            found: Found::default(),
        };
        let (mut found, mut end_ns) = (Found::default(), None);
        let (mut sums, mut longest) = (TakenSums::all(), LongestDetours::default());
        this.views(attributed, |span, activities| {
            let before_ns = end_ns.unwrap_or(0);
            let merges = end_ns.is_some_and(|end_ns| span.start_ns <= end_ns);
            found.merged += u64::from(merges);
            found.count += u64::from(!merges);
            found.lost_ns += span.end_ns.saturating_sub(span.start_ns.max(before_ns));
            end_ns = end_ns.max(Some(span.end_ns));
            longest.add(span);
            sums.add(activities, span, &recording.run().clock);
        })?;
        found.taken = sums.totals();
        found.longest = longest.finish();
        this.found = found;
        Ok(this)
    }

    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    pub(super) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Calls `each` with every detour; detours that overlap or touch are merged.
    pub(super) fn each(&self, mut each: impl FnMut(Span)) -> Result<(), Problem> {
        let mut open: Option<Span> = None;
        self.views(false, |span, _| match &mut open {
            Some(before) if span.start_ns <= before.end_ns => {
                before.end_ns = before.end_ns.max(span.end_ns);
            }
            _ => open.replace(span).into_iter().for_each(&mut each),
        })?;
        open.into_iter().for_each(each);
        Ok(())
    }

    /// Calls `each` with every detour and its activities; no detours may need merging.
    pub(super) fn each_with_activities(
        &self,
        each: impl FnMut(Span, &[Activity]),
    ) -> Result<(), Problem> {
        self.views(true, each)
    }

    fn views(
        &self,
        with_activities: bool,
        mut each: impl FnMut(Span, &[Activity]),
    ) -> Result<(), Problem> {
        let recording = &self.recording;
        let mut rows = match with_activities {
            true => recording.detours_of(self.cpu, &self.stints),
            false => recording.bare_detours_of(self.cpu, &self.stints),
        };
        let coarser =
            recording.run().clock.ns(recording.run().threshold_ticks) < self.window.coarsest_ns;
        while let Some(detour) = rows.next_detour()? {
            let too_short =
                coarser && recording.run().clock.ns(detour.gap_ticks()) <= self.window.coarsest_ns;
            if let Some(span) = self.span(&detour).filter(|_| !too_short) {
                each(span, detour.activities);
            }
        }
        Ok(())
    }

    /// Returns the lost time of a detour within the window in ns; absent if there is none.
    fn span(&self, detour: &DetourView<'_>) -> Option<Span> {
        let Window { first_ticks, last_ticks, .. } = self.window;
        let clock = &self.recording.run().clock;
        let ns = |ticks: u64| clock.ns(ticks.clamp(first_ticks, last_ticks) - first_ticks);
        let span = Span { start_ns: ns(detour.lost_from_ticks()), end_ns: ns(detour.end_ticks) };
        (span.start_ns < span.end_ns).then_some(span)
    }
}
