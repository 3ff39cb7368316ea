//! Single ticks during rounds of sorts, and the context switches after them, from kernel events.
//!
//! No loop watches there because the copies sort, so a tick is only known by the events that enclose it.

use super::recorded_costs::{TICK, us_per_tick};
use super::recorded_rates::unseen;
use super::recorded_rounds::{Round, SeriesOutcome, is_work};
use super::scheduler::{RoundCost, Scheduler};
use anechoic_analyze::stats::quantile;
use anechoic_recording::{
    Activity, Clock, EventKind, KernelEvent, Name, NameKind, Problem, Recording,
};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Largest number of ticks per round, those of an hour at 250 Hz.
const MOST_TICKS: usize = 900_000;

/// Returns the time of ticks and switches on one CPU during rounds without added interrupts, because these keep the
/// kernel's code in the caches. `rounds` are sorted by start.
pub(super) fn scheduler(
    recording: &Recording,
    cpu: u32,
    known: &[SeriesOutcome],
    rounds: &[Round],
) -> Result<Scheduler, Problem> {
    let functions = tick_functions(recording, cpu)?;
    if functions.is_empty() {
        return Ok(Scheduler::none(
            "no tick with a known function was recorded in the watched loop",
        ));
    }
    let quiet: Vec<Round> =
        rounds.iter().filter(|round| round.injection.is_none()).copied().collect();
    if quiet.is_empty() {
        let why = "all sorts had added interrupts: include `none` in --rates";
        return Ok(Scheduler::none(why));
    }
    let lost = unseen(recording, cpu, &quiet)?;
    if lost.iter().all(|&lost| lost) {
        let why = "kernel events were lost or switched off in each round without added interrupts";
        return Ok(Scheduler::none(why));
    }
    let sorts = known.iter().filter(|(series, _)| is_work(series));
    let mut seeing = Seeing {
        functions,
        tids: sorts.map(|(series, _)| series.tid).collect(),
        ..Seeing::default()
    };
    let mut costs = vec![];
    let mut current = None;
    for events in recording.rows_of_cpu::<KernelEvent>(cpu) {
        for event in events? {
            let begun = quiet.partition_point(|round| round.start_ticks <= event.ticks);
            let inside =
                begun.checked_sub(1).filter(|&at| event.ticks < quiet[at].end_ticks && !lost[at]);
            if inside != current {
                costs.extend(
                    current.and_then(|at| seeing.leave(&quiet[at], &recording.run().clock)),
                );
                current = inside;
            }
            if inside.is_some() {
                seeing.take(&event);
            }
        }
    }
    costs.extend(current.and_then(|at: usize| seeing.leave(&quiet[at], &recording.run().clock)));
    if costs.is_empty() {
        return Ok(Scheduler::none("no tick came alone in the rounds without added interrupts"));
    }
    Ok(Scheduler::from_rounds(&costs))
}

/// Returns the addresses of the functions that expired in what attribution calls the tick.
fn tick_functions(recording: &Recording, cpu: u32) -> Result<HashSet<u64>, Problem> {
    let mut functions: BTreeSet<Arc<str>> = BTreeSet::new();
    for activities in recording.rows_of_cpu::<Activity>(cpu) {
        let ticks = activities?.into_iter().filter(|activity| &*activity.source == TICK);
        functions.extend(ticks.filter_map(|activity| activity.function));
    }
    let mut addresses = HashSet::new();
    for names in recording.rows::<Name>() {
        let is_tick =
            |name: &&Name| name.kind == NameKind::Symbol && functions.contains(&*name.name);
        addresses.extend(names?.iter().filter(is_tick).map(|name| name.key));
    }
    Ok(addresses)
}

/// An interrupt that has not ended.
#[derive(Debug, Clone, Copy)]
struct Open {
    start_ticks: u64,
    /// Start of the tick's function.
    function_start: Option<u64>,
    function_ticks: Option<u64>,
    /// Whether it contained only the tick so far.
    alone: bool,
}

/// State while the events of a round are read; lengths are counter ticks.
#[derive(Debug, Default)]
struct Seeing {
    functions: HashSet<u64>,
    /// Thread ids of the copies.
    tids: BTreeSet<i32>,
    open: Option<Open>,
    /// End of the interrupt, if the previous event ended an interrupt with only a tick.
    ended: Option<u64>,
    ticks: Vec<u64>,
    function_ticks: Vec<u64>,
    choices: Vec<u64>,
}

impl Seeing {
    fn take(&mut self, event: &KernelEvent) {
        let before = self.ended.take();
        match event.kind {
            EventKind::LocalTimerEntry | EventKind::IrqEntry => {
                let (function_start, function_ticks) = (None, None);
                let start_ticks = event.ticks;
                // One within another is not alone.
                let alone = self.open.is_none();
                self.open = Some(Open { start_ticks, function_start, function_ticks, alone });
            }
            EventKind::LocalTimerExit | EventKind::IrqExit => self.close(event.ticks),
            EventKind::HrtimerEntry
                if event.args.iter().any(|arg| self.functions.contains(arg)) =>
            {
                if let Some(open) = &mut self.open {
                    open.alone &= open.function_start.replace(event.ticks).is_none();
                }
            }
            EventKind::HrtimerExit => {
                if let Some(open) = &mut self.open {
                    let taken = open.function_start.map(|start| event.ticks.saturating_sub(start));
                    open.alone &= open.function_ticks.is_none() && taken.is_some();
                    open.function_ticks = taken;
                }
            }
            EventKind::Switch => {
                let next = i32::try_from(event.args[0]).ok();
                let copies = [Some(event.pid), next];
                let among_copies =
                    copies.iter().flatten().filter(|tid| self.tids.contains(tid)).count() == 2;
                self.choices.extend(
                    before.filter(|_| among_copies).map(|end| event.ticks.saturating_sub(end)),
                );
                self.open = None;
            }
            _ => {
                if let Some(open) = &mut self.open {
                    open.alone = false;
                }
            }
        }
    }

    /// Handles the end of an interrupt.
    fn close(&mut self, ticks: u64) {
        let alone = self.open.take().filter(|open| open.alone);
        let whole = alone.and_then(|open| Some((open.start_ticks, open.function_ticks?)));
        let Some((start, function_ticks)) = whole.filter(|_| self.ticks.len() < MOST_TICKS) else {
            return;
        };
        self.ticks.push(ticks.saturating_sub(start));
        self.function_ticks.push(function_ticks);
        self.ended = Some(ticks);
    }

    /// Ends a round and returns its medians, if it had ticks.
    fn leave(&mut self, round: &Round, clock: &Clock) -> Option<RoundCost> {
        (self.open, self.ended) = (None, None);
        let [ticks, function_ticks, choices] =
            [&mut self.ticks, &mut self.function_ticks, &mut self.choices].map(std::mem::take);
        let (count, switches) = (ticks.len() as u64, choices.len() as u64);
        Some(RoundCost {
            copies: round.copies,
            block: round.block,
            ticks: count,
            tick_us: median_us(ticks, clock)?,
            function_us: median_us(function_ticks, clock)?,
            switches,
            choice_us: median_us(choices, clock),
        })
    }
}

/// Returns the median, because a host that takes the CPU away during a tick makes it arbitrarily long.
fn median_us(mut ticks: Vec<u64>, clock: &Clock) -> Option<f64> {
    ticks.sort_unstable();
    let us: Vec<f64> = ticks.iter().map(|&ticks| ticks as f64 * us_per_tick(clock)).collect();
    quantile(&us, 0.5)
}
