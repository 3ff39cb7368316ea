//! The cost of recording events for the measured machine: the same tick with and without them.
//!
//! In such a run events are switched off in every other window of time. The timer tick comes at fixed instants, so tick
//! times are extrapolated from the traced windows into the untraced ones. One rule then selects the tick's detour in
//! both, without using events.

use crate::fold::{CpuLoops, Fold};
use crate::split::SplitDetour;
use crate::stats::{Interval, Spread, detectable};
use crate::ticks::{RecordedTicks, TicksBuilder};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{
    Activity, ActivityKind, Clock, Loops, LossKind, Losses, Problem, Recording, Run, sources,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Smallest number of pairs of windows for a verdict.
const FEWEST_PAIRS: usize = 10;

/// How much longer a tick's detour is while events are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracerCost {
    /// Number of compared pairs of adjacent windows, with and without events.
    pub pairs: u64,
    /// Number of tick detours found with events.
    pub ticks_on: u64,
    /// Number of tick detours found without events.
    pub ticks_off: u64,
    /// Number of predicted ticks without a detour, with events.
    pub missed_on: u64,
    /// Number of predicted ticks without a detour, without events.
    pub missed_off: u64,
    /// By the median tick of each window: the additional cost of an ordinary tick.
    pub median: Difference,
    /// By the mean tick of each window, which fully includes long detours that coincide with a tick.
    pub mean: Difference,
}

/// Length of a tick with and without events, over pairs of windows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Length of a tick with events, the mean over the windows.
    pub on_ns: f64,
    /// Length of a tick without events, the mean over the windows.
    pub off_ns: f64,
    /// Mean over the pairs of the length with events minus that without.
    pub difference_ns: f64,
    /// Its 95 % interval from the spread of the pairs.
    pub interval: Interval,
    /// Smallest difference that this run would have detected (80 % power at the 5 % level).
    pub smallest_effect_ns: f64,
}

/// Largest number of compared ticks over all CPUs, two hours of one CPU at 250 Hz; later ticks are left out.
const MOST_TICKS: usize = 1 << 21;

/// Returns whether events were switched on and off alternately, so that their cost can be measured.
pub(crate) fn alternates(run: &Run) -> bool {
    run.trace.as_ref().is_some_and(|trace| trace.alternate_ns.is_some())
}

/// Start of the tick's handler in each detour with a tick, for a run that switched events on and off.
#[derive(Debug, Default)]
pub(crate) struct TracedTicks {
    /// Largest number for one CPU; 0 if they are not wanted.
    most: usize,
    by_cpu: BTreeMap<u32, Vec<u64>>,
}

impl TracedTicks {
    /// Returns an empty collection.
    pub(crate) fn new(run: &Run) -> Self {
        let most = if alternates(run) { MOST_TICKS / run.cpus.len().max(1) } else { 0 };
        Self { most, by_cpu: BTreeMap::new() }
    }

    /// Compares ticks with and without events. This reads the detours again, because tick times without events are only
    /// known after all detours have been read.
    ///
    /// # Errors
    ///
    /// The table of detours is damaged.
    pub(crate) fn finish(
        &self,
        recording: &Recording,
        loops: &Loops,
        losses: &Losses,
        not_available: &mut Vec<NotAvailable>,
    ) -> Result<Option<TracerCost>, Problem> {
        if self.most == 0 {
            return Ok(None);
        }
        let run = recording.run();
        let mut cpus = vec![];
        for (cpu, stints) in loops.by_cpu(run) {
            let Some(ticks) = self.by_cpu.get(&cpu.cpu) else { continue };
            let (Some(first), Some(last)) = (stints.first(), stints.last()) else { continue };
            let full = ticks.last().filter(|_| ticks.len() >= self.most);
            let seen = RecordedTicks {
                bounds: (first.first_ticks, full.copied().unwrap_or(last.last_ticks)),
                untraced: losses.on_cpu(cpu.cpu, &[LossKind::Untraced]),
                ticks,
                tick_hz: run.machine.tick_hz,
            };
            let Some(mut ticks) = TicksBuilder::predict(&seen, &run.clock) else { continue };
            let mut detours = recording.bare_detours_of(cpu.cpu, stints);
            while let Some(detour) = detours.next_detour()? {
                ticks.show(detour.start_ticks, detour.end_ticks, detour.lost_ticks);
            }
            cpus.push(ticks);
        }
        let cost = cost(&cpus, &run.clock);
        if cost.is_none() {
            not_available.push(NotAvailable::new(
                "cost of recording events",
                format!("fewer than {FEWEST_PAIRS} pairs of windows with ticks in both"),
                "measure for longer",
            ));
        }
        Ok(cost)
    }
}

impl Fold for TracedTicks {
    fn begin_cpu(&mut self, cpu: &CpuLoops<'_>) {
        if self.most > 0 {
            self.by_cpu.insert(cpu.cpu.cpu, vec![]);
        }
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let most = self.most;
        if most == 0 {
            return;
        }
        // The interrupt and the timer that expires in it are both the tick's: the first counts.
        let tick = detour.view.activities.iter().find(|activity| is_tick(activity));
        let Some(ticks) = self.by_cpu.get_mut(&detour.view.cpu) else { return };
        if ticks.len() < most {
            ticks.extend(tick.map(|tick| tick.start_ticks));
        }
    }
}

fn is_tick(activity: &Activity) -> bool {
    activity.kind == ActivityKind::Activity && sources::TIMER_TICK.is(&activity.source)
}

/// The ticks of one window; lengths are counter ticks.
type WindowTicks = Vec<u64>;

/// Compares windows with and without events over all CPUs; absent for fewer than [`FEWEST_PAIRS`] pairs.
fn cost(cpus: &[TicksBuilder], clock: &Clock) -> Option<TracerCost> {
    let expected = || cpus.iter().flat_map(|cpu| &cpu.expected);
    let pairs = expected().map(|tick| tick.pair + 1).max().unwrap_or(0);
    // Of each pair the windows without events (0) and with them (1).
    let mut windows: Vec<[WindowTicks; 2]> = vec![Default::default(); pairs];
    let mut missed = [0, 0];
    for tick in expected() {
        let half = usize::from(tick.on);
        match tick.found {
            Some(lost) => windows[tick.pair][half].push(lost),
            None => missed[half] += 1,
        }
    }
    windows.retain(|pair| pair.iter().all(|window| !window.is_empty()));
    if windows.len() < FEWEST_PAIRS {
        return None;
    }
    windows.iter_mut().flatten().for_each(|window| window.sort_unstable());
    let ticks = |half: usize| windows.iter().map(|pair| pair[half].len() as u64).sum();
    let ns = |ticks: u64| clock.seconds(ticks) * 1e9;
    Some(TracerCost {
        pairs: windows.len() as u64,
        ticks_on: ticks(1),
        ticks_off: ticks(0),
        missed_on: missed[1],
        missed_off: missed[0],
        median: difference(&windows, |window| ns(window[window.len() / 2]))?,
        mean: difference(&windows, |window| ns(window.iter().sum()) / window.len() as f64)?,
    })
}

/// Returns the difference of `quantity` between the windows of each pair.
fn difference(
    windows: &[[WindowTicks; 2]],
    quantity: impl Fn(&WindowTicks) -> f64,
) -> Option<Difference> {
    let values: Vec<[f64; 2]> =
        windows.iter().map(|[off, on]| [quantity(off), quantity(on)]).collect();
    let mean =
        |value: fn(&[f64; 2]) -> f64| values.iter().map(value).sum::<f64>() / values.len() as f64;
    let differences: Vec<f64> = values.iter().map(|[off, on]| on - off).collect();
    let (spread, difference_ns) = (Spread::from_blocks(&differences)?, mean(|[off, on]| on - off));
    Some(Difference {
        on_ns: mean(|[_, on]| *on),
        off_ns: mean(|[off, _]| *off),
        difference_ns,
        interval: spread.around(difference_ns),
        smallest_effect_ns: detectable(spread.reach(), spread.standard_error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;
    use crate::ticks::RecordedTicks;
    use anechoic_recording::Intervals;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    const MS: u64 = 1_000_000;

    /// One CPU over 20 s, events off in every other 250 ms, a tick each 4.0001 ms: of `on` ns
    /// with events, `off` ns without, and both with 4 µs of spread; short detours in between.
    fn synthetic(on: u64, off: u64, seed: u64) -> TicksBuilder {
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
        let seen = RecordedTicks {
            bounds: (0, 20_000 * MS),
            untraced: Intervals::merge(untraced.iter().copied()),
            ticks: &ticks,
            tick_hz: Some(250),
        };
        let mut found = TicksBuilder::predict(&seen, &clock_ns()).expect("the phase is known");
        detours.iter().for_each(|&(start, end)| found.show(start, end, end - start));
        found
    }

    #[test]
    fn finds_the_difference_and_says_what_it_could_not_have_found() {
        for (name, on, off) in [("dearer", 21_500, 20_000), ("alike", 20_000, 20_000)] {
            let cost = cost(&[synthetic(on, off, 1), synthetic(on, off, 2)], &clock_ns());
            let cost = cost.expect("enough pairs");
            let truth = on as f64 - off as f64;
            for d in [cost.mean, cost.median] {
                assert!((d.difference_ns - truth).abs() < 300.0, "{name}: {d:?}");
                assert!(d.interval.low <= truth && truth <= d.interval.high, "{name}: {d:?}");
                assert!((20.0..600.0).contains(&d.smallest_effect_ns), "{name}: {d:?}");
            }
            assert_eq!((cost.pairs, cost.missed_on, cost.missed_off), (40, 0, 0), "{name}");
            // 50 ms of each 250 ms are guard: 200 / 4 = 50 ticks a window.
            assert!((3950..4050).contains(&cost.ticks_on), "{name}: {cost:?}");
            assert!((3950..4050).contains(&cost.ticks_off), "{name}: {cost:?}");
        }
    }

    #[test]
    fn too_few_pairs_say_nothing() {
        assert_eq!(cost(&[], &clock_ns()), None);
        let mut ticks = synthetic(1, 1, 1);
        ticks.expected.retain(|tick| tick.pair < FEWEST_PAIRS - 1);
        assert_eq!(cost(&[ticks], &clock_ns()), None);
    }
}
