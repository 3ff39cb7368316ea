//! The interference matrix (Radojković 2008): what an interrupt of one CPU costs work on another.

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
use crate::samples::{pace, wall_ticks, windows};
use anechoic_recording::injection::{InjectionKind, InjectionTiming};
use anechoic_recording::run::{NotAvailable, Outcome};
use anechoic_recording::{Problem, Recording, Run, Series};
use classes::classes;
use pass::Pass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use series::SeriesOf;
use std::collections::BTreeSet;

/// How the intervals were made.
const INTERVAL: &str = "95 % by the standard error over 20 to 40 blocks of time (Student's t), of each interrupt minus its nearest undisturbed neighbours; assumes that blocks are independent, and interrupts of everything else";

/// What interrupts of each CPU cost each kernel on each CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interference {
    /// What ran where.
    pub run: Facts,
    /// What interrupted, each that was asked for.
    pub injected: Vec<Asked>,
    /// How long a repetition was to last; absent where that differs.
    pub grain_ns: Option<u64>,
    /// The kernels, in the order of the recording.
    pub kernels: Vec<KernelPace>,
    /// CPUs that were interrupted.
    pub sources: Vec<u32>,
    /// CPUs that worked.
    pub cpus: Vec<u32>,
    /// Each series, in the order of the recording.
    pub pairs: Vec<Pair>,
    /// The same by distance and kernel.
    pub classes: Vec<ClassCost>,
    /// How the intervals were made, and what they assume.
    pub interval: String,
    /// What was lost, by kind, as shares of the time that the series took.
    pub losses: Vec<LossSummary>,
    /// What could not be said, and why; beside `run.not_available`.
    pub not_available: Vec<NotAvailable>,
}

/// Noise as it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// How it was made.
    pub kind: InjectionKind,
    /// When it came.
    pub timing: InjectionTiming,
    /// How often a second.
    pub rate_hz: f64,
    /// How long each was to last; 0 for bare interrupts.
    pub duration_ns: u64,
    /// Rate of ticks, of this machine or of a usual host, that these are in step with: what else comes with them
    /// meets these interrupts always or never, and shows as a cost that is none. Absent where they are not.
    pub in_step_with_hz: Option<f64>,
}

/// Interrupts are in step with ticks if one of every so many of them, at most, is always as far from a tick,
const IN_STEP: u64 = 4;
/// to within so many ticks a second.
const IN_STEP_HZ: f64 = 1.0;
/// Ticks of hosts: 100, 250 and 500 a second are in step with these, too.
const HOST_TICK_HZ: f64 = 1000.0;

/// How fast a kernel is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPace {
    /// The kernel.
    pub kernel: String,
    /// Core cycles of one instruction, undisturbed; absent where the recording does not tell.
    pub cycles_per_instruction: Option<f64>,
}

/// One kernel on one CPU while one CPU was interrupted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Number of its series.
    pub series: u32,
    /// The CPU that was interrupted.
    pub source: u32,
    /// The CPU that worked.
    pub cpu: u32,
    /// How near they are.
    pub place: Proximity,
    /// The kernel.
    pub kernel: String,
    /// Repetitions of which it is known whether an interrupt came.
    pub repetitions: u64,
    /// Repetitions of which that is not known: events or detours were lost or off. They count nowhere else.
    pub unknown: u64,
    /// Interrupts that the kernel's events tell of, in the known repetitions.
    pub interrupts: u64,
    /// How often a second they came.
    pub delivered_hz: f64,
    /// (Mean of the repetitions with an interrupt − mean of those without) per interrupt. What came at the same
    /// time by chance is in it, and repetitions that something else made long meet an interrupt more often.
    /// Absent where all repetitions have one, or none has.
    pub all: Option<Cost>,
    /// The same of repetitions in which nothing else was seen, each against its nearest neighbours without.
    pub alone: Option<Cost>,
}

/// What interrupts of each CPU cost each kernel on each CPU. Reads each table once, in bounded memory.
///
/// A recording without such series gives an empty result that says so.
///
/// # Errors
/// A file is damaged.
pub fn interference(recording: &Recording) -> Result<Interference, Problem> {
    let run = recording.run();
    let known = recording.series()?;
    let pass = Pass::new(recording, &known)?;
    let of_matrix = || known.iter().zip(pass.series()).filter(|(_, open)| open.is_some());
    let all: Vec<&Series> = of_matrix().map(|((series, _), _)| series).collect();
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
    let wall = windows.iter().map(wall_ticks).fold(0, u64::saturating_add);
    Ok(Interference {
        run: Facts::of(run, span(&known)),
        injected,
        grain_ns: grains.first().filter(|_| grains.len() == 1).map(|&ticks| run.clock.ns(ticks)),
        classes: classes(&pairs, &names),
        kernels,
        sources: sources.into_iter().collect(),
        cpus: cpus.into_iter().collect(),
        pairs,
        interval: INTERVAL.into(),
        losses: losses(&recording.losses()?, &windows, wall),
        not_available,
    })
}

/// From the first start to the last end of all series: they ran one after the other.
fn span(known: &[(Series, Outcome)]) -> u64 {
    let first = known.iter().map(|(_, outcome)| outcome.first_ticks).min().unwrap_or(0);
    let last = known.iter().map(|(_, outcome)| outcome.last_ticks).max().unwrap_or(0);
    last.saturating_sub(first)
}

/// Each kernel once, in the order in which they come.
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

/// What interrupted these series, each kind of it once.
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

/// Ticks that interrupts of this rate are in step with.
fn in_step_with(run: &Run, rate_hz: f64) -> Option<f64> {
    let own = run.machine.tick_hz.filter(|&hz| hz > 0).map(f64::from);
    let host = run.machine.hypervisor.as_ref().map(|_| HOST_TICK_HZ);
    let meets = |hz: f64| {
        // Ticks from one of every so many interrupts to the next.
        let slip = |every: u64| {
            let every_hz = rate_hz / every as f64;
            (hz - (hz / every_hz).round().max(1.0) * every_hz).abs()
        };
        (1..=IN_STEP).any(|every| slip(every) < IN_STEP_HZ)
    };
    own.into_iter().chain(host).find(|&hz| meets(hz))
}

fn pair(series: &Series, made: SeriesOf, run: &Run) -> Option<Pair> {
    let (cpu, source, taken) = (series.cpu?, made.source, made.taken);
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
    })
}

/// Why there is no matrix, or not all of it.
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
    Some(NotAvailable { what, why: why.into(), remedy: remedy.into() })
}

/// Pairs of which interrupts were seen, but not what one alone costs.
fn without_cost(pairs: &[Pair]) -> Option<NotAvailable> {
    let without = |pair: &&Pair| pair.interrupts > 0 && pair.alone.is_none();
    let number = pairs.iter().filter(without).count();
    (number > 0).then(|| NotAvailable {
        what: format!("cost of a single interrupt in {number} of {} series", pairs.len()),
        why: "no single interrupt came between undisturbed repetitions".into(),
        remedy: "use a lower rate, use shorter repetitions, or more of them".into(),
    })
}
