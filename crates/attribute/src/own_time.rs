//! The loop's own part of a detour: one iteration or step, part of it before and part after the interruption.

use crate::frame::{Frame, What};

/// Subtracts the loop's own time (the shortest gap, in ticks) from the frames of a detour.
///
/// The loop had begun an iteration or step before it was interrupted and ended it afterwards, so its time is
/// in the entry gap and the exit gap, in proportion to their lengths. What exceeds these is subtracted from
/// the inner gaps, and the rest from the longest frames. Only `self_ticks` change; their sum decreases by
/// `ticks`, or to 0.
pub(crate) fn take_off(frames: &mut [Frame], ticks: u64) {
    let Some(last) = frames.len().checked_sub(1) else { return };
    let first = frames.iter().position(|frame| frame.what != What::Gap).unwrap_or(last);
    let left = off_gaps(frames, ticks, (0..first).chain([last]));
    let left = off_gaps(frames, left, first..last);
    off_longest(frames, left);
}

/// Subtracts `ticks` from the gaps among these frames, in proportion; returns what exceeds them.
fn off_gaps(frames: &mut [Frame], ticks: u64, places: impl Iterator<Item = usize> + Clone) -> u64 {
    if ticks == 0 {
        return 0;
    }
    let is_gap = |frames: &[Frame], place: &usize| frames[*place].what == What::Gap;
    let lengths = places.clone().filter(|place| is_gap(frames, place));
    let mut room = lengths.map(|place| frames[place].self_ticks).fold(0, u64::saturating_add);
    let rest = ticks.saturating_sub(room);
    let mut left = ticks - rest;
    for place in places {
        if is_gap(frames, &place) {
            let own = &mut frames[place].self_ticks;
            // The remainder fits into the remaining gaps, so the last gap takes the rest of it.
            let part = u128::from(left) * u128::from(*own) / u128::from(room.max(1));
            let part = u64::try_from(part).unwrap_or(left);
            room -= *own;
            left -= part;
            *own -= part;
        }
    }
    rest
}

/// Subtracts `ticks` from the longest frame, then from the next, until nothing is left.
fn off_longest(frames: &mut [Frame], mut ticks: u64) {
    if ticks == 0 {
        return;
    }
    let mut longest: Vec<&mut u64> = frames.iter_mut().map(|frame| &mut frame.self_ticks).collect();
    longest.sort_by_key(|own| std::cmp::Reverse(**own));
    for own in longest {
        let part = ticks.min(*own);
        *own -= part;
        ticks -= part;
    }
}

/// Keeps only the kernel's activities: in the gaps between them an unwatched loop may have worked.
pub(crate) fn drop_gaps(frames: &mut Vec<Frame>) {
    let mut kept = 0;
    let place = |frame: &Frame| {
        let place = kept;
        kept += u32::from(frame.what != What::Gap);
        place
    };
    let places: Vec<u32> = frames.iter().map(place).collect();
    frames.retain(|frame| frame.what != What::Gap);
    for frame in frames {
        frame.parent = frame.parent.and_then(|parent| places.get(parent as usize).copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::VictimState;

    const IRQ: What = What::Irq(24);

    fn frames(parts: &[(What, u64)]) -> Vec<Frame> {
        let frame = |&(what, self_ticks): &(What, u64)| Frame {
            what,
            state: VictimState::Running,
            fifo: false,
            start: 0,
            end: self_ticks,
            self_ticks,
            parent: None,
            function: 0,
            sender: None,
        };
        parts.iter().map(frame).collect()
    }

    #[test]
    fn gaps_bear_the_loops_time_before_what_ran() {
        use What::Gap;
        type Case = (&'static str, u64, &'static [(What, u64)], &'static [u64]);
        let cases: [Case; 11] = [
            ("in proportion", 40, &[(Gap, 30), (IRQ, 5), (Gap, 90)], &[20, 5, 60]),
            ("without a remainder", 10, &[(Gap, 1), (IRQ, 5), (Gap, 14)], &[1, 5, 4]),
            ("all of both", 120, &[(Gap, 30), (IRQ, 5), (Gap, 90)], &[0, 5, 0]),
            ("entry alone", 10, &[(Gap, 30), (IRQ, 90)], &[20, 90]),
            ("exit alone", 10, &[(IRQ, 90), (Gap, 30)], &[90, 20]),
            (
                "inner ones last",
                9,
                &[(Gap, 4), (IRQ, 9), (Gap, 9), (IRQ, 9), (Gap, 4)],
                &[0, 9, 8, 9, 0],
            ),
            ("an inner one alone", 9, &[(IRQ, 9), (Gap, 9), (IRQ, 90)], &[9, 0, 90]),
            ("more than the gaps", 50, &[(Gap, 30), (IRQ, 50), (IRQ, 60)], &[0, 50, 40]),
            ("more than the longest", 99, &[(IRQ, 50), (IRQ, 60)], &[11, 0]),
            ("more than there is", u64::MAX, &[(Gap, 30), (IRQ, u64::MAX / 2)], &[0, 0]),
            ("no event", 10, &[(What::NoEvent, 90)], &[80]),
        ];
        for (name, ticks, parts, expected) in cases {
            let mut frames = frames(parts);
            take_off(&mut frames, ticks);
            let found: Vec<u64> = frames.iter().map(|frame| frame.self_ticks).collect();
            assert_eq!(found, expected, "case: {name}");
        }
        take_off(&mut [], 10);
    }

    #[test]
    fn without_gaps_parents_are_still_parents() {
        let mut frames =
            frames(&[(What::Gap, 5), (IRQ, 1), (IRQ, 2), (What::Gap, 5), (IRQ, 3), (IRQ, 4)]);
        (frames[2].parent, frames[5].parent) = (Some(1), Some(4));
        drop_gaps(&mut frames);
        let found: Vec<_> = frames.iter().map(|frame| (frame.self_ticks, frame.parent)).collect();
        assert_eq!(found, [(1, None), (2, Some(0)), (3, None), (4, Some(2))]);
    }
}
