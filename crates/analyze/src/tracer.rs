//! What recording events costs the machine that is measured: the same tick with and without them.
//!
//! In such a run the events are off in every other window of time. The timer tick comes at
//! fixed instants; where it fell while events were on tells where it falls while they are
//! off. One rule then picks the tick's detour in both halves, and knows nothing of events.

use crate::bootstrap::{Interval, mean_of_blocks};
use anechoic_recording::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A detour belongs to a tick if it comes this near to the predicted instant.
const NEAR_NS: u64 = 25_000;
/// Time left out on either side of a switch, which makes detours of its own.
const GUARD_NS: u64 = 10_000_000;
/// Fewer pairs of windows than this give no verdict.
pub const FEWEST_PAIRS: usize = 10;
/// Ticks that a window must have for its phase to count.
const FEWEST_TICKS: usize = 3;
/// No kernel ticks faster.
const FASTEST_TICK_NS: u64 = 100_000;
/// Ticks of one CPU that are predicted, at most: those of 18 hours at 250 Hz.
const MOST_TICKS: i128 = 1 << 24;
/// An effect of this many standard errors is found with 80 % power at the 5 % level (1.96 + 0.84).
const POWER: f64 = 2.8;

/// How much longer a tick's detour is while events are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracerCost {
    /// Pairs of adjacent windows, events on and off, that were compared.
    pub pairs: u64,
    /// Tick detours found while events were on,
    pub ticks_on: u64,
    /// and off.
    pub ticks_off: u64,
    /// Predicted ticks without a detour while events were on,
    pub missed_on: u64,
    /// and off.
    pub missed_off: u64,
    /// Mean length of a tick's detour while events were on,
    pub mean_on_ns: f64,
    /// and off.
    pub mean_off_ns: f64,
    /// Mean over the pairs of the difference on - off.
    pub difference_ns: f64,
    /// 95 % interval of that, from resampled pairs.
    pub interval: Interval,
    /// The smallest difference that this run would have found (80 % power at the 5 % level).
    pub smallest_effect_ns: f64,
}

/// A window between two switches. All times of this module are ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    on: bool,
    start: u64,
    end: u64,
    /// Which pair of adjacent windows it belongs to.
    pair: usize,
}

/// A tick that is to be found among the detours.
#[derive(Debug, Clone, Copy)]
struct Expected {
    at: i128,
    on: bool,
    pair: usize,
    /// The longest detour near it so far, the shortest gap taken off.
    found: Option<u64>,
}

/// The predicted ticks of one CPU, to which its detours are then shown in time order.
#[derive(Debug, Clone)]
pub struct TicksOf {
    expected: Vec<Expected>,
    next: usize,
    near: u64,
    longest: u64,
}

/// What is known of one CPU before its ticks can be predicted.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The loop's first and last counter value.
    pub bounds: (u64, u64),
    /// The windows in which events were off, in time order.
    pub untraced: &'a [(u64, u64)],
    /// When the tick's handler began, while events were on, in time order.
    pub ticks: &'a [u64],
    /// Ticks a second as the kernel was built, where known.
    pub tick_hz: Option<u32>,
}

impl TicksOf {
    /// Predicts every tick of a CPU; absent where too few were seen to know their phase, or their times make no sense.
    #[must_use]
    pub fn predict(seen: &Seen<'_>, clock: &Clock) -> Option<Self> {
        let windows = windows(seen.bounds, seen.untraced);
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

    /// Shows a detour: its bounds and its length without the shortest gap.
    ///
    /// One longer than half a period is passed by: it is more than a tick.
    pub fn show(&mut self, start: u64, end: u64, lost: u64) {
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

/// Compares the two halves over all CPUs; absent for fewer than [`FEWEST_PAIRS`] pairs.
#[must_use]
pub fn cost(cpus: &[TicksOf], clock: &Clock) -> Option<TracerCost> {
    let expected = || cpus.iter().flat_map(|cpu| &cpu.expected);
    let pairs = expected().map(|e| e.pair + 1).max().unwrap_or(0);
    let mut sums = vec![[(0u64, 0u64); 2]; pairs];
    let mut missed = [0, 0];
    for tick in expected() {
        match tick.found {
            Some(lost) => {
                let (count, ticks) = &mut sums[tick.pair][usize::from(tick.on)];
                *count += 1;
                *ticks += lost;
            }
            None => missed[usize::from(tick.on)] += 1,
        }
    }
    sums.retain(|[off, on]| off.0 > 0 && on.0 > 0);
    if sums.len() < FEWEST_PAIRS {
        return None;
    }
    let ns = |(count, ticks): (u64, u64)| clock.seconds(ticks) * 1e9 / count as f64;
    let differences: Vec<f64> = sums.iter().map(|&[off, on]| ns(on) - ns(off)).collect();
    let resampled = mean_of_blocks(&differences)?;
    let half = |half: usize| {
        sums.iter().fold((0, 0), |sum, pair| (sum.0 + pair[half].0, sum.1 + pair[half].1))
    };
    Some(TracerCost {
        pairs: sums.len() as u64,
        ticks_on: half(1).0,
        ticks_off: half(0).0,
        missed_on: missed[1],
        missed_off: missed[0],
        mean_on_ns: ns(half(1)),
        mean_off_ns: ns(half(0)),
        difference_ns: differences.iter().sum::<f64>() / differences.len() as f64,
        interval: resampled.interval,
        smallest_effect_ns: POWER * resampled.standard_error,
    })
}

/// The windows between the bounds; each window without events makes a pair with the one before it.
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

/// Period of the tick: as the kernel was built, else the median distance of those seen.
fn period(seen: &Seen<'_>, clock: &Clock) -> Option<i128> {
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

/// The tick's phase in one window: number of a tick in its middle, and when that tick comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Phase {
    number: i128,
    at: i128,
}

/// Phase in each window with events, from the median distance of its ticks to an even grid.
///
/// Numbers follow from one tick to the next, so a period that is a little wrong (the
/// counter against the kernel's clock) only makes the phase drift from window to window.
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

/// Periods between a phase and an instant.
fn period_count(phase: &Phase, instant: u64, period: i128) -> i128 {
    (phase.at - i128::from(instant)).abs() / period + 1
}

/// When the tick of this number comes: in a straight line between the phases around it.
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
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    const MS: u64 = 1_000_000;

    /// One CPU over 20 s, events off in every other 250 ms, a tick each 4.0001 ms: of `on` ns
    /// with events, `off` ns without, and both with 4 µs of spread; short detours in between.
    fn synthetic(on: u64, off: u64, seed: u64) -> TicksOf {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let untraced: Vec<(u64, u64)> =
            (0..40).map(|i| ((i * 500 + 250) * MS, (i * 500 + 500) * MS)).collect();
        let is_off = |at: u64| untraced.iter().any(|&(start, end)| start <= at && at < end);
        let mut detours = vec![];
        let mut ticks = vec![];
        for number in 0..4999 {
            let late = random.random_range(0..3_000);
            let start = MS + number * 4_000_100 + late;
            let length = if is_off(start) { off } else { on } + random.random_range(0..8_000);
            detours.push((start, start + length));
            if !is_off(start) {
                ticks.push(start + 9_000);
            }
            detours.push((start + 2 * MS, start + 2 * MS + 300));
        }
        let seen = Seen {
            bounds: (0, 20_000 * MS),
            untraced: &untraced,
            ticks: &ticks,
            tick_hz: Some(250),
        };
        let mut found = TicksOf::predict(&seen, &clock_ns()).expect("the phase is known");
        detours.iter().for_each(|&(start, end)| found.show(start, end, end - start));
        found
    }

    #[test]
    fn finds_the_difference_and_says_what_it_could_not_have_found() {
        for (name, on, off) in [("dearer", 21_500, 20_000), ("alike", 20_000, 20_000)] {
            let cost = cost(&[synthetic(on, off, 1), synthetic(on, off, 2)], &clock_ns());
            let cost = cost.expect("enough pairs");
            let truth = on as f64 - off as f64;
            assert!((cost.difference_ns - truth).abs() < 150.0, "{name}: {cost:?}");
            assert!(cost.interval.low <= truth && truth <= cost.interval.high, "{name}: {cost:?}");
            assert!((20.0..400.0).contains(&cost.smallest_effect_ns), "{name}: {cost:?}");
            assert_eq!((cost.pairs, cost.missed_on, cost.missed_off), (40, 0, 0), "{name}");
            // 20 ms of each 250 ms are guard: 230 / 4 = 57 ticks a window.
            assert!((4500..4650).contains(&cost.ticks_on), "{name}: {cost:?}");
            assert!((4500..4650).contains(&cost.ticks_off), "{name}: {cost:?}");
        }
    }

    #[test]
    fn says_nothing_of_too_little() {
        let none = Seen { bounds: (0, 10), untraced: &[], ticks: &[], tick_hz: Some(250) };
        let clock = clock_ns();
        assert!(TicksOf::predict(&none, &clock).is_none(), "no ticks");
        let unknown = Seen { ticks: &[5], tick_hz: None, ..none };
        assert!(TicksOf::predict(&unknown, &clock).is_none(), "no period");
        assert_eq!(cost(&[], &clock), None);
        let backwards = Seen {
            bounds: (50, 10),
            untraced: &[(30, 20), (5, 40)],
            ticks: &[40, 8, 9, u64::MAX],
            tick_hz: Some(1),
        };
        let found = TicksOf::predict(&backwards, &clock);
        assert!(found.is_none_or(|ticks| ticks.expected.is_empty()), "nonsense in, nothing out");
    }

    #[test]
    fn a_stop_is_not_a_tick() {
        let mut ticks = synthetic(20_000, 20_000, 3);
        ticks.next = 0;
        ticks.expected.iter_mut().for_each(|e| e.found = None);
        ticks.show(0, 2_500 * MS, 2_500 * MS);
        assert!(ticks.expected.iter().all(|e| e.found.is_none()));
        assert_eq!(ticks.next, 0, "the ticks in the stop may still be found");
    }
}
