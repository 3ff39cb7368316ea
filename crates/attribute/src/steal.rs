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

    /// Returns finished rows in time order, about this many more than the caller left, the last detour whole; the caller takes
    /// them.
    ///
    /// Where steal rarely changes, rows of many seconds are held. They are handed on in pieces, so that they are never in memory
    /// twice.
    pub(crate) fn ready(&mut self, most: usize) -> &mut Vec<Activity> {
        let from = self.change.map_or(u64::MAX, |change| change.from);
        let most = self.ready.len().saturating_add(most);
        loop {
            let begun = self.ready.last().map(|row| row.detour);
            let is_next = |row: &mut Activity| {
                row.end_ticks <= from && (self.ready.len() < most || Some(row.detour) == begun)
            };
            let Some(mut row) = self.held.pop_front_if(is_next) else { return &mut self.ready };
            self.charge_host(&mut row);
            self.ready.push(row);
        }
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
        Ok(())
    }

    /// Assigns the remaining steal.
    pub(crate) fn finish(&mut self) -> Result<(), Problem> {
        while let Some(change) = self.change {
            self.place(change);
            self.change = self.next_change()?;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders::{activity, clock};
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;
    use std::cmp::Reverse;

    const KINDS: [ActivityKind; 5] = [
        ActivityKind::EntryGap,
        ActivityKind::InnerGap,
        ActivityKind::Activity,
        ActivityKind::ExitGap,
        ActivityKind::Unexplained,
    ];

    fn reading(ticks: u64, value: u64) -> Counter {
        Counter { name: "steal_ns".into(), cpu: 0, ticks, value }
    }

    /// Returns detours of up to four rows in a row.
    fn random_detours(random: &mut Pcg64Mcg) -> Vec<Vec<Activity>> {
        let mut at = 0;
        let mut row = |detour: u64, random: &mut Pcg64Mcg| {
            let (kind, length) = (KINDS[random.random_range(0..5)], random.random_range(1..60));
            let row = activity((0, detour), kind, "thread", at, length);
            at += length;
            // A part of it may be the loop's own time.
            Activity { self_ticks: length - random.random_range(0..=length / 3), ..row }
        };
        let mut detours = vec![];
        for detour in 0..random.random_range(1..12) {
            let rows = (0..random.random_range(1..5)).map(|_| row(detour, random)).collect();
            detours.push(rows);
        }
        detours
    }

    /// Assigns the steal to all rows at once; returns them with what was read and what was assigned.
    fn at_once(
        rows: &[Activity],
        readings: &[Counter],
        lost: &[(u64, u64)],
    ) -> (Vec<Activity>, u64, u64) {
        let mut rows = rows.to_vec();
        for row in &mut rows {
            let is_lost =
                lost.iter().any(|(from, to)| row.start_ticks <= *to && *from <= row.end_ticks);
            row.steal_ns = (row.kind != ActivityKind::Activity && !is_lost).then_some(0);
        }
        let (mut total, mut placed) = (0, 0);
        for pair in readings.windows(2) {
            let mut left = pair[1].value.saturating_sub(pair[0].value);
            total += left;
            let room = |row: &Activity| {
                let from = row.start_ticks.max(pair[0].ticks);
                let within = row.end_ticks.min(pair[1].ticks).saturating_sub(from);
                row.steal_ns.map_or(0, |stolen| within.min(row.self_ticks - stolen))
            };
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by_key(|at| (Reverse(room(&rows[*at])), *at));
            let rooms: Vec<u64> = rows.iter().map(room).collect();
            for at in order {
                let part = rooms[at].min(left);
                rows[at].steal_ns = rows[at].steal_ns.map(|stolen| stolen + part);
                (left, placed) = (left - part, placed + part);
            }
        }
        for row in &mut rows {
            let stolen = row.steal_ns.unwrap_or(0);
            if stolen > 0 && stolen >= row.self_ticks - stolen {
                row.source = "vm-or-hardware".into();
            }
        }
        (rows, total, placed)
    }

    /// The rows are passed on as soon as no later reading reaches them, which changes nothing.
    #[test]
    fn steal_is_assigned_as_if_all_rows_were_known() {
        let mut random = Pcg64Mcg::seed_from_u64(31);
        let mut to_host = 0;
        for trial in 0..1_000 {
            let detours = random_detours(&mut random);
            let rows = detours.concat();
            let end = rows.last().map_or(0, |row| row.end_ticks);
            let (mut ticks, mut value, mut readings) = (0, 500, vec![]);
            while ticks < end + 50 && trial % 20 > 0 {
                readings.push(reading(ticks, value));
                ticks += random.random_range(1..90);
                value += if random.random_bool(0.6) { random.random_range(0..80) } else { 0 };
            }
            let lost = if trial % 3 == 0 { vec![(end / 2, end / 2 + 20)] } else { vec![] };
            let (expected, total, placed) = at_once(&rows, &readings, &lost);
            let feed = Box::new(readings.clone().into_iter().map(Ok));
            let mut stage =
                StealStage::new(feed, Intervals::merge(lost), clock(1_000_000_000), true);
            let mut found = vec![];
            for mut rows in detours {
                stage.take(&mut rows).expect("readings in memory");
                assert!(rows.is_empty());
                found.append(stage.ready(usize::MAX));
                let held = stage.held.front().map(|row| row.end_ticks);
                let from = stage.change.map(|change| change.from);
                assert!(held.is_none_or(|end| from.is_some_and(|from| from < end)), "{trial}");
            }
            stage.finish().expect("readings in memory");
            found.append(stage.ready(usize::MAX));
            assert_eq!(found, expected, "{trial}: {readings:?}");
            assert_eq!((stage.total_ns, stage.placed_ns), (total, placed), "{trial}");
            to_host += found.iter().filter(|row| &*row.source == "vm-or-hardware").count();
        }
        assert!(to_host > 500, "{to_host}");
    }

    #[test]
    fn without_readings_rows_pass_as_they_are() {
        let mut rows = vec![activity((0, 0), ActivityKind::EntryGap, "timer-tick", 5, 10)];
        let expected = rows.clone();
        let feed = Box::new([reading(0, 0), reading(20, 20)].into_iter().map(Ok));
        let mut stage = StealStage::new(feed, Intervals::default(), clock(1_000_000_000), false);
        stage.take(&mut rows).expect("readings in memory");
        assert_eq!(std::mem::take(stage.ready(usize::MAX)), expected);
        assert_eq!((stage.total_ns, rows.len()), (0, 0));
    }
}
