//! The interference matrix (Radojković 2008): the cost of interrupts on one CPU for work on another.

mod classes;
mod cost;
mod cursor;
mod pass;
mod series;

pub use anechoic_recording::topology::Proximity;
pub use classes::ClassCost;
pub use cost::Cost;

use crate::coverage::{LossSummary, losses};
use crate::facts::Facts;
use crate::samples::figures::Drawn;
use crate::samples::values::Scale;
use crate::samples::{pace, span, windows};
use anechoic_recording::injection::{InjectionKind, InjectionTiming};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Problem, Recording, Run, Series};
use classes::classes;
use pass::Pass;
use schemars::JsonSchema;
use serde::Serialize;
use series::SeriesBuilder;
use std::collections::BTreeSet;

/// How the intervals are computed.
const INTERVAL: &str = "95 % by the standard error over 20 to 40 blocks of time (Student's t), of each interrupt minus its nearest undisturbed neighbours; assumes that blocks are independent, and interrupts of everything else";

/// The cost of interrupts on each CPU for each kernel on each CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Interference {
    /// Facts of the run.
    pub run: Facts,
    /// The injections, as requested.
    pub injected: Vec<Asked>,
    /// Requested length of a repetition; absent if it differs.
    pub grain_ns: Option<u64>,
    /// The kernels in the order of the recording.
    pub kernels: Vec<KernelPace>,
    /// CPUs that were interrupted.
    pub sources: Vec<u32>,
    /// CPUs that ran kernels.
    pub cpus: Vec<u32>,
    /// Each series in the order of the recording.
    pub pairs: Vec<Pair>,
    /// The costs by distance and kernel.
    pub classes: Vec<ClassCost>,
    /// How the intervals are computed, and what they assume.
    pub interval: String,
    /// Losses by kind, as shares of the time of the series.
    pub losses: Vec<LossSummary>,
    /// Results that are not available, and why; in addition to `run.not_available`.
    pub not_available: Vec<NotAvailable>,
}

/// A requested injection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Asked {
    /// Kind of injection.
    pub kind: InjectionKind,
    /// Timing of the injection.
    pub timing: InjectionTiming,
    /// Requested rate, in Hz.
    pub rate_hz: f64,
    /// Requested length of each; 0 for bare interrupts.
    pub duration_ns: u64,
    /// Rate of ticks, of this machine or of a usual host, that the injection is in step with: whatever happens at these
    /// ticks coincides with the interrupts always or never, and appears as a cost. Absent if they are not in step.
    pub in_step_with_hz: Option<f64>,
}

/// Interrupts are in step with ticks if at least one of this many of them keeps its distance from a tick.
const IN_STEP: u64 = 4;
/// Tolerance in ticks per second.
const IN_STEP_HZ: f64 = 1.0;
/// Tick rates of hosts, in addition to that of this machine; rates of 100, 250 and 500 Hz are in step with these as
/// well.
const HOST_TICK_HZ: f64 = 1000.0;

/// Speed of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KernelPace {
    /// Name of the kernel.
    pub kernel: String,
    /// Core cycles per instruction, undisturbed; absent if the recording does not contain it.
    pub cycles_per_instruction: Option<f64>,
}

/// One kernel on one CPU while one CPU was interrupted.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// Number of the series.
    pub series: u32,
    /// The interrupted CPU.
    pub source: u32,
    /// The CPU of the kernel.
    pub cpu: u32,
    /// Distance of the two CPUs.
    pub place: Proximity,
    /// Name of the kernel.
    pub kernel: String,
    /// Number of repetitions for which it is known whether an interrupt came.
    pub repetitions: u64,
    /// Number of repetitions for which that is unknown, because events or detours were lost or switched off; they are
    /// ignored elsewhere.
    pub unknown: u64,
    /// Number of interrupts according to kernel events, in the known repetitions.
    pub interrupts: u64,
    /// Delivered rate, in Hz.
    pub delivered_hz: f64,
    /// (Mean of the repetitions with an interrupt − mean of those without) per interrupt. It includes whatever happened
    /// at the same time, and repetitions lengthened by something else contain an interrupt more often. Absent if all
    /// repetitions have one, or none has.
    pub all: Option<Cost>,
    /// Cost from repetitions with interrupts only, each compared with its nearest undisturbed neighbours.
    pub alone: Option<Cost>,
    /// The repetitions over time, for pictures alone; of the first series of each kernel at each distance.
    #[serde(skip)]
    pub drawn: Option<Drawn>,
}

/// Computes the cost of interrupts on each CPU for each kernel on each CPU. Reads each table once, in bounded memory.
///
/// For a recording without such series the result is empty and states this.
///
/// # Errors
///
/// A file is damaged.
pub fn interference(recording: &Recording) -> Result<Interference, Problem> {
    let run = recording.run();
    let known = recording.series()?;
    let pass = Pass::new(recording, &known)?;
    let in_matrix = || known.iter().zip(pass.series()).filter(|(_, open)| open.is_some());
    let all: Vec<&Series> = in_matrix().map(|((series, _), _)| series).collect();
    let followed = pass.series().iter().flatten().filter(|open| pass.follows(open)).count();
    let mut not_available = Vec::from_iter(not_followed(run, all.len(), followed));
    let grains: BTreeSet<u64> = all.iter().map(|series| series.grain_ticks).collect();
    let (kernels, injected) = (kernels(&all), asked(run, &all));
    let sources: BTreeSet<u32> = pass.series().iter().flatten().map(|open| open.source).collect();
    let cpus: BTreeSet<u32> = all.iter().filter_map(|series| series.cpu).collect();
    let made = pass.run()?;
    let pairs: Vec<Pair> =
        known.iter().zip(made).filter_map(|((series, _), made)| pair(series, made?, run)).collect();
    not_available.extend(without_cost(&pairs));
    let names: Vec<String> = kernels.iter().map(|kernel| kernel.kernel.clone()).collect();
    let windows = windows(&known);
    Ok(Interference {
        run: Facts::new(run, span(&known)),
        injected,
        grain_ns: grains.first().filter(|_| grains.len() == 1).map(|&ticks| run.clock.ns(ticks)),
        classes: classes(&pairs, &names),
        kernels,
        sources: sources.into_iter().collect(),
        cpus: cpus.into_iter().collect(),
        pairs,
        interval: INTERVAL.into(),
        losses: losses(&recording.losses()?, &windows),
        not_available,
    })
}

/// Returns each kernel in order, without repetitions.
fn kernels(all: &[&Series]) -> Vec<KernelPace> {
    let mut kernels: Vec<KernelPace> = vec![];
    for series in all {
        if !kernels.iter().any(|known| known.kernel == series.variant) {
            let cycles_per_instruction = pace::cycles_per_instruction(series);
            kernels.push(KernelPace { kernel: series.variant.clone(), cycles_per_instruction });
        }
    }
    kernels
}

/// Returns the injections of these series without repetitions.
fn asked(run: &Run, all: &[&Series]) -> Vec<Asked> {
    let used: BTreeSet<u32> = all.iter().filter_map(|series| series.parameters.injection).collect();
    let mut asked: Vec<Asked> = vec![];
    for injected in used.iter().filter_map(|&number| run.injections.get(number as usize)) {
        let rate_hz = 1e9 / injected.period_ns.max(1) as f64;
        let one = Asked {
            kind: injected.kind,
            timing: injected.timing.clone(),
            rate_hz,
            duration_ns: injected.duration_ns,
            in_step_with_hz: in_step_with(run, rate_hz)
                .filter(|_| injected.timing == InjectionTiming::Periodic),
        };
        if !asked.contains(&one) {
            asked.push(one);
        }
    }
    asked
}

/// Returns the tick rate that interrupts of this rate are in step with.
fn in_step_with(run: &Run, rate_hz: f64) -> Option<f64> {
    let own = run.machine.tick_hz.filter(|&hz| hz > 0).map(f64::from);
    let host = run.machine.hypervisor.as_ref().map(|_| HOST_TICK_HZ);
    let meets =
        |hz: &f64| (1..=IN_STEP).any(|every| slip_hz(*hz, rate_hz / every as f64) < IN_STEP_HZ);
    own.into_iter().chain(host).find(meets)
}

/// Returns how far a tick drifts against interrupts that come at most as often.
fn slip_hz(tick_hz: f64, rate_hz: f64) -> f64 {
    (tick_hz - (tick_hz / rate_hz).round().max(1.0) * rate_hz).abs()
}

fn pair(series: &Series, mut made: SeriesBuilder, run: &Run) -> Option<Pair> {
    let (cpu, source, taken) = (series.cpu?, made.source, made.taken);
    let since_start = |ticks: u64| run.clock.ns(ticks.saturating_sub(run.start_ticks));
    let drawn = made.drawn.take();
    let drawn =
        drawn.map(|scatter| scatter.finish(since_start, &Scale::new(series.fixed, &run.clock)));
    let [all, alone] = made.finish(&run.clock);
    Some(Pair {
        series: series.series,
        source,
        cpu,
        place: Proximity::between(&run.machine, source, cpu),
        kernel: series.variant.clone(),
        repetitions: taken.known,
        unknown: taken.unknown,
        interrupts: taken.interrupts,
        delivered_hz: crate::per_second(taken.interrupts, taken.wall, &run.clock),
        all,
        alone,
        drawn,
    })
}

/// Returns why there is no matrix, or not all of it.
fn not_followed(run: &Run, series: usize, followed: usize) -> Option<NotAvailable> {
    let (what, why, remedy) = match (series, run.trace.is_some()) {
        (0, _) => (
            "the interference matrix".to_owned(),
            "it contains no kernel that was measured while another CPU was interrupted",
            "measure with `anechoic measure interference`",
        ),
        (_, false) => (
            "times of interrupts".to_owned(),
            "no kernel events were recorded",
            "measure as root; `anechoic check` shows what is missing",
        ),
        _ if followed < series => (
            format!("times of interrupts in {} of {series} series", series - followed),
            "no event names perf_swevent_hrtimer: it never expired, or the names of kernel functions are hidden",
            "sysctl kernel.kptr_restrict=0, and measure again",
        ),
        _ => return None,
    };
    Some(NotAvailable::new(what, why, remedy))
}

/// Returns the pairs with interrupts whose cost alone is unknown.
fn without_cost(pairs: &[Pair]) -> Option<NotAvailable> {
    let without = |pair: &&Pair| pair.interrupts > 0 && pair.alone.is_none();
    let number = pairs.iter().filter(without).count();
    (number > 0).then(|| {
        NotAvailable::new(
            format!("cost of a single interrupt in {number} of {} series", pairs.len()),
            "no single interrupt came between undisturbed repetitions",
            "use a lower rate, use shorter repetitions, or more of them",
        )
    })
}
