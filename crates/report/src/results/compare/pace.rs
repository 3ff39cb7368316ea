//! What a slower pace between the detours took on both sides.

use super::in_sentences;
use super::tables::{differences, points, share_difference, side_heads};
use crate::table::Table;
use crate::units::{noise, number};
use anechoic_analyze::compare::{Comparison, Difference, Order, PaceChange};
use anechoic_analyze::pace::RESOLUTION;

/// Returns which changes of the pace are proven: of what a slower pace took, and of the calm pace itself. True is worse.
pub(super) fn proven(found: &Comparison) -> [Option<bool>; 2] {
    let unproven = matches!(found.order, Order::Kept | Order::OneSession) || found.control_moved();
    let Some(pace) = found.pace.filter(|_| !unproven) else { return [None; 2] };
    let rose = |row: Difference| row.after > row.before;
    let is_larger = (pace.calm_ns.after / pace.calm_ns.before - 1.0).abs() >= RESOLUTION;
    [
        pace.slow.clear.then(|| rose(pace.slow)),
        (pace.calm_ns.clear && is_larger).then(|| rose(pace.calm_ns)),
    ]
}

/// Returns how the pace changed, if that is proven.
pub(super) fn sentences(found: &Comparison) -> Vec<String> {
    let Some(PaceChange { slow, calm_ns, .. }) = found.pace else { return vec![] };
    let [side, other] = in_sentences(found);
    let [slow_changed, calm_changed] = proven(found);
    let slow = slow_changed.map(|_| {
        format!(
            "Between the detours a slower pace took {} {side} and {} {other}.",
            noise(slow.before),
            noise(slow.after)
        )
    });
    let calm = calm_changed.map(|_| {
        format!(
            "An iteration at the calm pace took {:.2} ns {side} and {:.2} ns {other}.",
            calm_ns.before, calm_ns.after
        )
    });
    slow.into_iter().chain(calm).collect()
}

/// Returns what was lost, by detours and by a slower pace.
pub(super) fn shares(found: &Comparison, pace: &PaceChange) -> Table {
    let rows = [("a slower pace", pace.slow), ("with detours", pace.lost)];
    let name = |row: &(&str, Difference)| row.0.to_owned();
    let share = |row: &(&str, Difference)| share_difference(row.1);
    differences(&rows, "lost by", name, share, side_heads(found), [noise, points]).captioned(
        "Time lost by a slower pace, and with the detours; differences in percentage points",
    )
}

/// Returns the calm pace.
pub(super) fn calm(found: &Comparison, pace: &PaceChange) -> Table {
    let name = |_: &Difference| "calm".to_owned();
    let rows = [pace.calm_ns];
    let write: fn(f64) -> String = |ns| format!("{ns:.2} ns");
    differences(&rows, "iteration", name, |row| *row, side_heads(found), [write, number])
        .captioned("Time of an iteration at the calm pace")
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;
    use super::*;

    fn pace(slow: bool, calm: (f64, bool)) -> PaceChange {
        let row = |before, after, clear| Difference { before, after, interval: None, clear };
        PaceChange {
            slow: row(0.002, 0.03, slow),
            lost: row(0.05, 0.08, false),
            calm_ns: row(10.0, calm.0, calm.1),
        }
    }

    /// A slower pace is worse; a pace that changed by less than it is known to did not change.
    #[test]
    fn what_is_proven_of_the_pace_is_said() {
        let cases = [
            (pace(true, (10.0, false)), Order::Paired, [Some(true), None]),
            (pace(true, (9.0, true)), Order::Mixed, [Some(true), Some(false)]),
            (pace(false, (10.04, true)), Order::Paired, [None; 2]),
            (pace(false, (10.06, true)), Order::Paired, [None, Some(true)]),
            (pace(true, (9.0, true)), Order::OneSession, [None; 2]),
            (pace(true, (9.0, true)), Order::Kept, [None; 2]),
        ];
        for (pace, order, expected) in cases {
            let found = Comparison { pace: Some(pace), order, ..comparison([0.05, 0.05]) };
            assert_eq!(proven(&found), expected, "{pace:?}, {order:?}");
            assert_eq!(sentences(&found).len(), expected.iter().flatten().count());
        }
        let found = Comparison { pace: Some(pace(true, (9.0, true))), ..comparison([0.05, 0.05]) };
        assert_eq!(
            sentences(&found),
            [
                "Between the detours a slower pace took 0.20 % before and 3.00 % after.",
                "An iteration at the calm pace took 10.00 ns before and 9.00 ns after.",
            ]
        );
    }
}
