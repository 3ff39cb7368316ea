//! Hypervisor steal: which part of which gap the host reports to have taken, and so whether the gap is the
//! host's.

use crate::input::Feed;
use anechoic_recording::{Activity, ActivityKind, Clock, Counter, Intervals, Problem, sources};
use std::collections::VecDeque;
use std::sync::Arc;

/// Steal that the host reported between two readings of one CPU.
#[derive(Debug, Clone, Copy)]
struct Change {
    from: u64,
    to: u64,
    ns: u64,
}

/// Holds rows back until the steal reading after them is known.
///
/// Steal is reported between readings, not per detour: the steal of an interval is assigned to its gaps and
/// unexplained detours, longest first, each at most up to its own length.
pub(crate) struct StealStage<'a> {
    readings: Feed<'a, Counter>,
    last: Option<Counter>,
    change: Option<Change>,
    lost: Intervals,
    clock: Clock,
    /// Whether steal was read at all.
    read: bool,
    held: VecDeque<Activity>,
    ready: Vec<Activity>,
    /// The steal that was read, and the part of it that was assigned to rows, in ns.
    pub(crate) total_ns: u64,
    pub(crate) placed_ns: u64,
    started: bool,
    host: Arc<str>,
    nameless: Arc<str>,
}

impl<'a> StealStage<'a> {
    pub(crate) fn new(
        readings: Feed<'a, Counter>,
        lost: Intervals,
        clock: Clock,
        read: bool,
    ) -> Self {
        Self {
            readings,
            last: None,
            change: None,
            lost,
            clock,
            read,
            held: VecDeque::new(),
            ready: Vec::new(),
            total_ns: 0,
            placed_ns: 0,
            started: false,
            host: sources::VM_OR_HARDWARE.id.into(),
            nameless: "".into(),
        }
    }

    /// Returns the finished rows in time order; the caller takes them.
    pub(crate) fn ready(&mut self) -> &mut Vec<Activity> {
        &mut self.ready
    }

    /// Takes the rows of the next detour.
    pub(crate) fn take(&mut self, rows: &mut Vec<Activity>) -> Result<(), Problem> {
        if !self.read {
            self.ready.append(rows);
            return Ok(());
        }
        if !std::mem::replace(&mut self.started, true) {
            self.change = self.next_change()?;
        }
        let end = rows.iter().map(|row| row.end_ticks).max().unwrap_or(0);
        for mut row in rows.drain(..) {
            let examined = is_gap(row.kind) && !self.lost.touch(row.start_ticks, row.end_ticks);
            row.steal_ns = examined.then_some(0);
            self.held.push_back(row);
        }
        while let Some(change) = self.change.filter(|change| change.to <= end) {
            self.place(change);
            self.change = self.next_change()?;
        }
        self.release();
        Ok(())
    }

    /// Assigns the remaining steal.
    pub(crate) fn finish(&mut self) -> Result<(), Problem> {
        while let Some(change) = self.change {
            self.place(change);
            self.change = self.next_change()?;
        }
        self.release();
        Ok(())
    }

    /// Releases the rows that later readings cannot reach.
    fn release(&mut self) {
        let from = self.change.map_or(u64::MAX, |change| change.from);
        while let Some(mut row) = self.held.pop_front_if(|row| row.end_ticks <= from) {
            self.charge_host(&mut row);
            self.ready.push(row);
        }
    }

    /// Charges a gap to the host if the host took most of it: the interrupt beside it was merely late.
    fn charge_host(&self, row: &mut Activity) {
        let stolen = row.steal_ns.unwrap_or(0);
        if stolen > 0 && 2 * stolen >= self.clock.ns(row.self_ticks) {
            row.source = Arc::clone(&self.host);
            row.name = Arc::clone(&self.nameless);
        }
    }

    fn next_change(&mut self) -> Result<Option<Change>, Problem> {
        while let Some(reading) = self.readings.next().transpose()? {
            let (to, value) = (reading.ticks, reading.value);
            let Some(last) = self.last.replace(reading) else { continue };
            if value > last.value {
                return Ok(Some(Change { from: last.ticks, to, ns: value - last.value }));
            }
        }
        Ok(None)
    }

    fn place(&mut self, change: Change) {
        self.total_ns = self.total_ns.saturating_add(change.ns);
        let overlap = |row: &Activity| {
            let (from, to) = (row.start_ticks.max(change.from), row.end_ticks.min(change.to));
            // Not more than the row's own time, from which the loop's time is already subtracted.
            let room = self.clock.ns(row.self_ticks).saturating_sub(row.steal_ns.unwrap_or(0));
            self.clock.ns(to.saturating_sub(from)).min(room)
        };
        let mut gaps: Vec<(u64, usize)> = (self.held.iter().enumerate())
            .filter(|(_, row)| row.steal_ns.is_some())
            .map(|(index, row)| (overlap(row), index))
            .collect();
        gaps.sort_unstable_by_key(|(length, index)| (std::cmp::Reverse(*length), *index));
        let mut left = change.ns;
        for (length, index) in gaps {
            let part = left.min(length);
            let row = &mut self.held[index];
            row.steal_ns = row.steal_ns.map(|ns| ns + part);
            self.placed_ns += part;
            left -= part;
            if left == 0 {
                break;
            }
        }
    }
}

/// Returns whether nothing of the kernel ran in the row, so that the host may have.
fn is_gap(kind: ActivityKind) -> bool {
    use ActivityKind::{EntryGap, ExitGap, InnerGap, Unexplained};
    matches!(kind, EntryGap | InnerGap | ExitGap | Unexplained)
}
