//! Predicts where a CPU's timer ticks fall from those that were recorded, and finds the detours there.

use anechoic_recording::{Clock, Intervals};

/// Largest distance of a detour from the predicted instant of its tick.
const NEAR_NS: u64 = 25_000;
/// Time left out on either side of a switch, because switching causes detours.
const GUARD_NS: u64 = 25_000_000;
/// Smallest number of ticks in a window from which its phase is computed.
const FEWEST_TICKS: usize = 3;
/// Highest tick rate of any kernel.
const FASTEST_TICK_NS: u64 = 100_000;
/// Largest number of predicted ticks of one CPU, those of 18 hours at 250 Hz.
const MOST_TICKS: i128 = 1 << 24;

/// A window between two switches. All times of this module are counter ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    on: bool,
    start: u64,
    end: u64,
    /// Index of its pair of adjacent windows.
    pair: usize,
}

/// A timer tick to find among the detours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    at: i128,
    /// Whether events were on.
    pub(crate) on: bool,
    /// Index of the pair of adjacent windows that contains it.
    pub(crate) pair: usize,
    /// Longest detour near it so far, minus the shortest gap.
    pub(crate) found: Option<u64>,
}

/// The predicted ticks of one CPU; its detours are then added in time order.
#[derive(Debug, Clone)]
pub(crate) struct TicksBuilder {
    pub(crate) expected: Vec<Expected>,
    next: usize,
    near: u64,
    longest: u64,
}

/// What is known of one CPU before its ticks are predicted.
#[derive(Debug, Clone)]
pub(crate) struct RecordedTicks<'a> {
    /// First and last counter value of the loop.
    pub(crate) bounds: (u64, u64),
    /// Windows in which events were switched off.
    pub(crate) untraced: Intervals,
    /// Starts of the tick's handler while events were on, in time order.
    pub(crate) ticks: &'a [u64],
    /// Tick rate that the kernel was built with, if known.
    pub(crate) tick_hz: Option<u32>,
}

impl TicksBuilder {
    /// Predicts every tick of a CPU; absent if too few were recorded to compute their phase, or if their times are
    /// inconsistent.
    pub(crate) fn predict(seen: &RecordedTicks<'_>, clock: &Clock) -> Option<Self> {
        let windows = windows(seen.bounds, seen.untraced.as_slice());
        let period = period(seen, clock)?;
        let phases = phases(seen.ticks, &windows, period);
        let (first, last) = (phases.first()?, phases.last()?);
        let numbers = (first.number - period_count(first, seen.bounds.0, period))
            ..=(last.number + period_count(last, seen.bounds.1, period));
        if numbers.end() - numbers.start() > MOST_TICKS {
            return None;
        }
        let guard = clock.ticks(GUARD_NS);
        let mut expected = vec![];
        let mut from = 0;
        for number in numbers {
            let at = predicted(number, &phases, period);
            while windows.get(from).is_some_and(|window| i128::from(window.end) < at) {
                from += 1;
            }
            let Some(window) = windows.get(from) else { break };
            let inside = i128::from(window.start.saturating_add(guard)) <= at
                && at <= i128::from(window.end.saturating_sub(guard));
            if inside {
                expected.push(Expected { at, on: window.on, pair: window.pair, found: None });
            }
        }
        let near = clock.ticks(NEAR_NS).min(period as u64 / 10);
        Some(Self { expected, next: 0, near, longest: period as u64 / 2 })
    }

    /// Adds a detour by its bounds and its length without the shortest gap.
    ///
    /// A detour longer than half a period is ignored, because it is more than a tick.
    pub(crate) fn show(&mut self, start: u64, end: u64, lost: u64) {
        let near = i128::from(self.near);
        while self.expected.get(self.next).is_some_and(|e| e.at + near < i128::from(start)) {
            self.next += 1;
        }
        if lost > self.longest {
            return;
        }
        for expected in &mut self.expected[self.next..] {
            if expected.at - near > i128::from(end) {
                break;
            }
            expected.found = expected.found.max(Some(lost));
        }
    }
}

/// Returns the windows between the bounds; each window without events forms a pair with the one before it.
fn windows((first, last): (u64, u64), untraced: &[(u64, u64)]) -> Vec<Window> {
    let mut windows = vec![];
    let mut from = first;
    for (pair, &(start, end)) in untraced.iter().enumerate() {
        windows.push(Window { on: true, start: from, end: start.max(from), pair });
        windows.push(Window { on: false, start: start.max(from), end: end.max(start), pair });
        from = end.max(from);
    }
    windows.push(Window { on: true, start: from, end: last.max(from), pair: untraced.len() });
    windows
}

/// Returns the period of the tick: as the kernel was built, else the median distance of recorded ticks.
fn period(seen: &RecordedTicks<'_>, clock: &Clock) -> Option<i128> {
    let known =
        seen.tick_hz.filter(|&hz| hz > 0).map(|hz| clock.ticks(1_000_000_000 / u64::from(hz)));
    let period = known.or_else(|| {
        let mut distances: Vec<u64> =
            seen.ticks.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
        let middle = distances.len() / 2;
        (!distances.is_empty()).then(|| *distances.select_nth_unstable(middle).1)
    })?;
    (period >= clock.ticks(FASTEST_TICK_NS).max(1)).then_some(i128::from(period))
}

/// Phase of the tick in one window: number of a tick in its middle, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Phase {
    number: i128,
    at: i128,
}

/// Computes the phase in each window with events, from the median distance of its ticks to an even grid.
///
/// Ticks are numbered consecutively, so a slightly wrong period (counter against the kernel's clock) only makes the
/// phase drift between windows.
fn phases(ticks: &[u64], windows: &[Window], period: i128) -> Vec<Phase> {
    let mut numbered = Vec::with_capacity(ticks.len());
    let mut number = 0;
    let mut before = ticks.first().copied().unwrap_or(0);
    for &at in ticks {
        number += (i128::from(at) - i128::from(before) + period / 2).div_euclid(period);
        numbered.push((number, i128::from(at)));
        before = at;
    }
    windows
        .iter()
        .filter(|window| window.on)
        .filter_map(|window| {
            let from = numbered.partition_point(|&(_, at)| at < i128::from(window.start));
            let to = numbered.partition_point(|&(_, at)| at <= i128::from(window.end));
            let inside = &numbered[from..to.max(from)];
            if inside.len() < FEWEST_TICKS {
                return None;
            }
            let mut offsets: Vec<i128> = inside.iter().map(|(n, at)| at - n * period).collect();
            let middle = offsets.len() / 2;
            let offset = *offsets.select_nth_unstable(middle).1;
            let number = inside[middle].0;
            Some(Phase { number, at: number * period + offset })
        })
        .collect()
}

/// Returns the number of periods between a phase and an instant.
fn period_count(phase: &Phase, instant: u64, period: i128) -> i128 {
    (phase.at - i128::from(instant)).abs() / period + 1
}

/// Returns the time of the tick with this number, by linear interpolation between the phases around it.
fn predicted(number: i128, phases: &[Phase], period: i128) -> i128 {
    let after = phases.partition_point(|phase| phase.number < number);
    match (after.checked_sub(1).map(|before| phases[before]), phases.get(after)) {
        (Some(a), Some(b)) => a.at + (number - a.number) * (b.at - a.at) / (b.number - a.number),
        (Some(one), None) => one.at + (number - one.number) * period,
        (None, Some(one)) => one.at + (number - one.number) * period,
        (None, None) => number * period,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    #[test]
    fn says_nothing_of_too_little_and_of_nonsense() {
        let none = RecordedTicks {
            bounds: (0, 10),
            untraced: Intervals::default(),
            ticks: &[],
            tick_hz: Some(250),
        };
        let clock = clock_ns();
        assert!(TicksBuilder::predict(&none, &clock).is_none(), "no ticks");
        let unknown = RecordedTicks { ticks: &[5], tick_hz: None, ..none.clone() };
        assert!(TicksBuilder::predict(&unknown, &clock).is_none(), "no period");
        let endless = RecordedTicks { bounds: (0, u64::MAX), ticks: &[1, 2, 3, 4], ..none };
        assert!(TicksBuilder::predict(&endless, &clock).is_none(), "six hundred years of ticks");
        let backwards = RecordedTicks {
            bounds: (50, 10),
            untraced: Intervals::merge([(30, 20), (5, 40)]),
            ticks: &[40, 8, 9, u64::MAX],
            tick_hz: Some(1),
        };
        let found = TicksBuilder::predict(&backwards, &clock);
        assert!(found.is_none_or(|ticks| ticks.expected.is_empty()), "nonsense in, nothing out");
    }

    #[test]
    fn a_stop_is_not_a_tick_and_hides_none() {
        let ms = 1_000_000;
        let seen: Vec<u64> = (1..100).map(|tick| tick * 4 * ms).collect();
        let seen = RecordedTicks {
            bounds: (0, 400 * ms),
            untraced: Intervals::default(),
            ticks: &seen,
            tick_hz: Some(250),
        };
        let mut ticks = TicksBuilder::predict(&seen, &clock_ns()).expect("the phase is known");
        ticks.show(0, 250 * ms, 250 * ms);
        assert!(ticks.expected.iter().all(|tick| tick.found.is_none()));
        // Of two detours near one tick the longer is it; one that is 30 µs away is none.
        let at = 252 * ms;
        for (start, end) in
            [(at - 9_000, at - 5_000), (at, at + 20_000), (at + 30_000, at + 90_000)]
        {
            ticks.show(start, end, end - start);
        }
        let found: Vec<u64> = ticks.expected.iter().filter_map(|tick| tick.found).collect();
        assert_eq!(found, [20_000]);
    }
}
