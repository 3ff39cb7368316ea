//! The direct cost of an interrupt, from empty system calls and from detours of a watched loop that contain a single
//! interrupt.

use super::recorded_rates::is_added;
use super::recorded_rounds::{SeriesOutcome, lacks};
use super::table::{Costs, SeenCost};
use anechoic_analyze::stats::standard_error;
use anechoic_recording::{Activity, ActivityKind, Clock, Problem, Recording, Sample, sources};
use std::collections::{BTreeMap, HashMap};

/// Name of the work that makes empty system calls.
const TRAP: &str = "trap";
/// Identifiers of sources.
pub(super) const TICK: &str = sources::TIMER_TICK.id;
const TIMER: &str = sources::TIMER.id;

/// Returns the costs on one CPU.
///
/// # Errors
/// The recording has no system calls, or no detours with added interrupts.
pub(super) fn costs(
    recording: &Recording,
    cpu: u32,
    known: &[SeriesOutcome],
) -> Result<Costs, Problem> {
    let run = recording.run();
    let trap = trap(recording, cpu, known)?;
    let trap = trap.ok_or_else(|| {
        lacks(recording, "it contains no system calls (trap)", "measure again to the end")
    })?;
    if run.trace.is_none() {
        let remedy = "measure again where kernel events can be recorded; `anechoic check` shows what is missing";
        return Err(lacks(
            recording,
            "without kernel events the cost of an interrupt is unknown",
            remedy,
        ));
    }
    if recording.attribution()?.is_none() {
        let remedy = "run `anechoic attribute` on it first";
        return Err(lacks(recording, "its detours have not been attributed", remedy));
    }
    let seen = WatchedDetours::read(recording, cpu, known)?;
    let added = seen.added_all().cost(None, &run.clock).ok_or_else(|| {
        let what = "no detour of the watched loop contains a single added interrupt only";
        lacks(
            recording,
            what,
            "measure for longer; kernel.kptr_restrict=2 hides all names of functions",
        )
    })?;
    let asked = |injection: u32| {
        let period_ns = run.injections.get(injection as usize)?.period_ns;
        Some(1e9 / period_ns.max(1) as f64)
    };
    let by_rate = seen.added.iter();
    Ok(Costs {
        trap_us: trap.mean_us,
        trap_min_us: Some(trap.min_us),
        trap_sd_us: trap.sd_us,
        handler_us: added.handler_us,
        gap_us: Some(added.gap_us),
        added: by_rate.filter_map(|(&at, sums)| sums.cost(asked(at), &run.clock)).collect(),
        tick: seen.tick.cost(run.machine.tick_hz.map(f64::from), &run.clock),
        modes: vec![],
    })
}

/// The time of a system call in µs.
struct Trap {
    mean_us: f64,
    min_us: f64,
    /// Standard deviation of the samples, each the mean of many calls.
    sd_us: Option<f64>,
}

/// Returns the time of a system call; absent if none was measured.
fn trap(recording: &Recording, cpu: u32, known: &[SeriesOutcome]) -> Result<Option<Trap>, Problem> {
    let system_calls = known
        .iter()
        .filter(|(series, _)| series.variant == TRAP && series.parameters.injection.is_none());
    let calls: HashMap<u32, u64> = system_calls
        .map(|(series, _)| (series.series, series.parameters.iterations.max(1)))
        .collect();
    let (mut ticks, mut all_calls) = (0.0, 0.0);
    let mut each = vec![];
    for samples in recording.rows_of_cpu::<Sample>(cpu) {
        for sample in samples? {
            let Some(&calls) = calls.get(&sample.series) else { continue };
            let taken = sample.end_ticks.saturating_sub(sample.start_ticks) as f64;
            ticks += taken;
            all_calls += calls as f64;
            each.push(taken / calls as f64 * us_per_tick(&recording.run().clock));
        }
    }
    Ok((ticks > 0.0).then(|| Trap {
        mean_us: ticks / all_calls * us_per_tick(&recording.run().clock),
        min_us: each.iter().copied().fold(f64::INFINITY, f64::min),
        sd_us: standard_error(&each).map(|error| error * (each.len() as f64).sqrt()),
    }))
}

/// Microseconds per counter tick.
pub(super) fn us_per_tick(clock: &Clock) -> f64 {
    1e9 / clock.frequency_millihertz.max(1) as f64
}

/// Sums over the detours that contain one kind of interrupt and nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    count: u64,
    handler_ticks: u64,
    gap_ticks: u64,
    /// Sums over the detours of the squares of these, divided by the number of interrupts in the detour.
    handler_squares: f64,
    gap_squares: f64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.handler_ticks = self.handler_ticks.saturating_add(other.handler_ticks);
        self.gap_ticks = self.gap_ticks.saturating_add(other.gap_ticks);
        self.handler_squares += other.handler_squares;
        self.gap_squares += other.gap_squares;
    }

    /// Returns these sums of one detour, with their squares.
    fn squared(self) -> Self {
        let square = |ticks: u64| (ticks as f64).powi(2) / self.count.max(1) as f64;
        let (handler_squares, gap_squares) = (square(self.handler_ticks), square(self.gap_ticks));
        Self { handler_squares, gap_squares, ..self }
    }

    /// Returns the standard deviation of a time in µs from the sum of its squares in ticks; absent for a single detour.
    fn sd_us(&self, squares: f64, mean_us: f64, clock: &Clock) -> Option<f64> {
        let mean_square = squares * us_per_tick(clock).powi(2) / self.count as f64;
        let variance = (mean_square - mean_us.powi(2)).max(0.0);
        (self.count > 1).then(|| variance.sqrt())
    }

    /// Returns the means; absent without detours.
    fn cost(&self, rate_hz: Option<f64>, clock: &Clock) -> Option<SeenCost> {
        let us = |ticks: u64| ticks as f64 * us_per_tick(clock) / self.count as f64;
        let (handler_us, gap_us) = (us(self.handler_ticks), us(self.gap_ticks));
        (self.count > 0).then(|| SeenCost {
            rate_hz,
            count: self.count,
            handler_us,
            handler_sd_us: self.sd_us(self.handler_squares, handler_us, clock),
            gap_us,
            gap_sd_us: self.sd_us(self.gap_squares, gap_us, clock),
        })
    }
}

/// The detours in the watched series of one CPU.
#[derive(Debug, Default)]
struct WatchedDetours {
    /// Sums for each injection.
    added: BTreeMap<u32, Sums>,
    tick: Sums,
}

impl WatchedDetours {
    fn read(recording: &Recording, cpu: u32, known: &[SeriesOutcome]) -> Result<Self, Problem> {
        let mut watched: Vec<&SeriesOutcome> =
            known.iter().filter(|(series, _)| series.parameters.step_ticks.is_some()).collect();
        watched.sort_by_key(|(_, outcome)| outcome.first_ticks);
        let (mut seen, mut detour) = (Self::default(), Detour::default());
        let mut number = None;
        for activities in recording.rows_of_cpu::<Activity>(cpu) {
            for activity in &activities? {
                if number != Some(activity.detour) {
                    seen.take(&std::mem::take(&mut detour), &watched);
                    number = Some(activity.detour);
                    detour.start_ticks = activity.start_ticks;
                }
                detour.add(activity);
            }
        }
        seen.take(&detour, &watched);
        Ok(seen)
    }

    /// Adds a detour if it lies in a watched series.
    fn take(&mut self, detour: &Detour, watched: &[&SeriesOutcome]) {
        let begun =
            watched.partition_point(|(_, outcome)| outcome.first_ticks <= detour.start_ticks);
        let Some((series, outcome)) = begun.checked_sub(1).map(|at| watched[at]) else { return };
        if detour.start_ticks >= outcome.last_ticks {
            return;
        }
        match (detour.alone(), series.parameters.injection) {
            (Some(Alone::Tick(sums)), _) => self.tick.add(&sums),
            (Some(Alone::Added(sums)), Some(injection)) => {
                self.added.entry(injection).or_default().add(&sums);
            }
            _ => {}
        }
    }

    /// Returns the sums over all added interrupts at any rate.
    fn added_all(&self) -> Sums {
        let mut all = Sums::default();
        self.added.values().for_each(|sums| all.add(sums));
        all
    }
}

/// An interrupt that came alone, or several of one kind.
#[derive(Debug, PartialEq)]
enum Alone {
    Tick(Sums),
    Added(Sums),
}

/// The content of one detour so far.
#[derive(Debug, Default)]
struct Detour {
    start_ticks: u64,
    tick: Sums,
    added: Sums,
    others: u64,
}

impl Detour {
    fn add(&mut self, activity: &Activity) {
        let kind = match (&*activity.source, is_added(&activity.name)) {
            (TICK, _) => &mut self.tick,
            (TIMER, true) => &mut self.added,
            _ => {
                self.others += 1;
                return;
            }
        };
        match activity.kind {
            ActivityKind::EntryGap | ActivityKind::InnerGap | ActivityKind::ExitGap => {
                kind.gap_ticks = kind.gap_ticks.saturating_add(activity.self_ticks);
            }
            ActivityKind::Activity => {
                // The interrupt and the timer that expires in it are two rows: the outer one counts.
                kind.count += u64::from(activity.parent.is_none());
                kind.handler_ticks = kind.handler_ticks.saturating_add(activity.self_ticks);
            }
            _ => self.others += 1,
        }
    }

    /// Returns the only kind of interrupt in the detour; `None` if there is anything else, or if events are missing.
    fn alone(&self) -> Option<Alone> {
        let only = |this: &Sums, other: &Sums| {
            this.count > 0 && self.others == 0 && *other == Sums::default()
        };
        if only(&self.tick, &self.added) {
            return Some(Alone::Tick(self.tick.squared()));
        }
        only(&self.added, &self.tick).then(|| Alone::Added(self.added.squared()))
    }
}
