//! Guesses the timer tick's function if the kernel hides its symbols.

use crate::input::Feed;
use anechoic_recording::Problem;
use anechoic_recording::{EventKind, KernelEvent};
use std::collections::BTreeMap;

/// Number of events to examine: some minutes of an ordinary CPU.
const ENOUGH: usize = 2_000_000;

/// Returns the timer function that expires most often inside local timer interrupts.
///
/// # Errors
/// Returns the errors of the feed, which is that of one CPU.
pub(crate) fn guess(events: Feed<KernelEvent>) -> Result<Option<u64>, Problem> {
    let mut inside = false;
    let mut count: BTreeMap<u64, u64> = BTreeMap::new();
    for event in events.take(ENOUGH) {
        let event = event?;
        match event.kind {
            EventKind::LocalTimerEntry => inside = true,
            EventKind::LocalTimerExit => inside = false,
            EventKind::HrtimerEntry if inside => *count.entry(event.args[1]).or_default() += 1,
            _ => {}
        }
    }
    Ok(count.into_iter().max_by_key(|(_, times)| *times).map(|(function, _)| function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_timer_in_timer_interrupts_is_the_tick() {
        let event = |kind, function| {
            Ok(KernelEvent { cpu: 0, ticks: 0, kind, pid: 0, args: [1, function, 0] })
        };
        let (entry, exit, expiry) =
            (EventKind::LocalTimerEntry, EventKind::LocalTimerExit, EventKind::HrtimerEntry);
        let mut events = vec![];
        for function in [7, 7, 8] {
            events.extend([event(entry, 0), event(expiry, function), event(exit, 0)]);
        }
        events.extend([event(expiry, 9), event(expiry, 9), event(expiry, 9)]); // in softirqs
        assert_eq!(guess(Box::new(events.into_iter())).unwrap(), Some(7));
        assert_eq!(guess(Box::new(std::iter::empty())).unwrap(), None);
    }
}
