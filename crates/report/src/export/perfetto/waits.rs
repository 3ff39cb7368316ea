//! The waits of a recorded program's threads, on a track for each thread.

use super::{Trace, begin};
use crate::style::plain;
use anechoic_analyze::waits::{StackNumbers, read_calls, with_stacks};
use anechoic_recording::{Delay, DelayKind, Problem, ProgramThread};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of waits that are put in order at once.
const SORTED: usize = 1 << 18;
/// The first track of a thread: above those of all CPUs, below those of iterations.
const FIRST: u64 = 1 << 34;

/// The thread id and the name of each thread, by its number.
type Names = BTreeMap<u32, (i32, Arc<str>)>;
type Waits = Vec<(Delay, StackNumbers)>;

pub(super) fn write(trace: &mut Trace<'_>) -> Result<(), Problem> {
    let recording = trace.export.recording();
    let threads = recording.rows::<ProgramThread>().each();
    let names = threads.map(|row| row.map(|row| (row.thread, (row.tid, row.name))));
    let names: Names = names.collect::<Result<_, _>>()?;
    let mut waits: Waits = vec![];
    with_stacks(recording, &mut |wait, stacks| {
        if trace.export.has(wait.cpu) {
            waits.push((wait.clone(), stacks));
        }
        if waits.len() < SORTED { Ok(()) } else { trace.waits(&mut waits, &names) }
    })?;
    trace.waits(&mut waits, &names)
}

impl Trace<'_> {
    /// Writes these waits, those of each thread in time order.
    fn waits(&mut self, waits: &mut Waits, names: &Names) -> Result<(), Problem> {
        let stacks = waits.iter().flat_map(|(_, stacks)| [stacks.own, stacks.holder]);
        let calls = read_calls(self.export.recording(), &stacks.flatten().collect())?;
        waits.sort_by_key(|(wait, _)| (wait.thread, wait.start_ticks, wait.end_ticks));
        for (wait, stacks) in waits.drain(..) {
            let track = FIRST + u64::from(wait.thread);
            let described = names.get(&wait.thread).map(|(tid, name)| format!("{name} ({tid})"));
            self.describe(track, &described.unwrap_or_else(|| format!("thread {}", wait.thread)))?;
            let name = |number: u32| names.get(&number).map_or("", |(_, name)| &**name);
            let waker = wait.waker_thread.map(name).unwrap_or_default();
            let ns = |ticks: u64| self.export.run().clock.ns(ticks).to_string();
            let mut slice = begin(track, &title(&wait, waker), wait.kind.name())
                .note("cpu", &wait.cpu.to_string())
                .note("held_ns", &ns(wait.held_ticks))
                .note("own_ns", &ns(wait.own_ticks));
            if let Some(tid) = wait.holder.filter(|&tid| tid > 0) {
                slice = slice.note("holder", &tid.to_string());
            }
            if let Some(slept_ticks) = wait.slept_ticks {
                slice = slice.note("slept_ns", &ns(slept_ticks));
            }
            if !waker.is_empty() {
                slice = slice.note("woken_by", waker);
            }
            for (name, number) in [("calls", stacks.own), ("holder_calls", stacks.holder)] {
                if let Some(calls) = number.and_then(|number| calls.get(&number)) {
                    slice = slice.note(name, &plain(&calls.folded()));
                }
            }
            self.event(wait.start_ticks, slice)?;
            self.end(track, Some(wait.end_ticks))?;
        }
        Ok(())
    }
}

/// Returns the name of a wait: who had the CPU for most of it.
fn title(wait: &Delay, waker: &str) -> String {
    let behind = match wait.holder {
        Some(0) => "while the CPU is idle".to_owned(),
        None if wait.holder_name.is_empty() => "for a CPU".to_owned(),
        _ => format!("behind {}", wait.holder_name),
    };
    match wait.kind {
        DelayKind::Blocked => format!("blocked by {waker}, which waits {behind}"),
        DelayKind::Woken | DelayKind::Preempted | DelayKind::Begun => format!("waits {behind}"),
    }
}
