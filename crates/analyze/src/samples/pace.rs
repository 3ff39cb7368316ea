//! What one instruction of a kernel took, and the core's frequency that follows.

use crate::samples::distribution::Distribution;
use crate::samples::measured::{Fixed, SeriesFacts, SeriesResult};
use anechoic_recording::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel whose instructions take one core cycle each: every addition waits for the one before.
pub const CYCLE_KERNEL: &str = "intadd-chain";

/// How fast the kernel ran undisturbed, from the third decile (see `Distribution::third_decile_mean`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// Nanoseconds of one instruction of the kernel's kind.
    pub ns_per_instruction: f64,
    /// Counter ticks of one instruction.
    pub ticks_per_instruction: f64,
    /// Core cycles of one instruction, and where they come from.
    pub cycles: Option<Cycles>,
    /// Why there are no cycles.
    pub why_no_cycles: Option<String>,
}

/// Core cycles, by comparison with a chain of additions, each of which takes one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cycles {
    /// Cycles of one instruction.
    pub per_instruction: f64,
    /// The core's frequency while the chain of additions ran, in MHz.
    pub core_mhz: f64,
    /// The series of the chain of additions: of the same CPU, or of the fastest of the same class.
    pub series: u32,
    /// Whether it ran on the same CPU.
    pub same_cpu: bool,
}

impl Pace {
    /// Of one series, without cycles; absent where the kernel has no instructions of its kind or did none.
    ///
    /// `window_ns` is what a window of fixed time lasts, `tick_ns` a tick.
    pub(crate) fn of(
        facts: &SeriesFacts,
        distribution: &Distribution,
        window_ns: f64,
        tick_ns: f64,
    ) -> Option<Self> {
        let unit = facts.iterations as f64 * f64::from(facts.instructions);
        let ns_per_instruction = match facts.fixed {
            Fixed::Work => distribution.third_decile_mean / unit,
            Fixed::Time => window_ns / (distribution.third_decile_mean * unit),
        };
        (ns_per_instruction.is_finite() && ns_per_instruction > 0.0).then(|| Self {
            ns_per_instruction,
            ticks_per_instruction: ns_per_instruction / tick_ns,
            cycles: None,
            why_no_cycles: None,
        })
    }
}

/// A series that tells the length of a core cycle.
struct Reference<'a> {
    series: u32,
    cpu: u32,
    class: Option<&'a str>,
    cycle_ns: f64,
}

/// Compares the pace of every series with that of the chain of additions, where the recording has one.
pub(crate) fn add_cycles(results: &mut [SeriesResult], run: &Run) {
    let class = |cpu: u32| run.cpus.iter().find(|c| c.cpu == cpu).map(|c| c.class.as_str());
    let reference = |result: &SeriesResult| {
        let (facts, pace) = (&result.facts, result.pace.as_ref()?);
        let cpu = facts.cpu.filter(|_| facts.variant == CYCLE_KERNEL)?;
        let cycle_ns = pace.ns_per_instruction;
        Some(Reference { series: facts.number, cpu, class: class(cpu), cycle_ns })
    };
    let references: Vec<Reference> = results.iter().filter_map(reference).collect();
    for result in results {
        let Some(pace) = &mut result.pace else { continue };
        match cycles(&result.facts, pace.ns_per_instruction, &references, class) {
            Ok(cycles) => pace.cycles = Some(cycles),
            Err(why) => pace.why_no_cycles = Some(why),
        }
    }
}

fn cycles<'a>(
    facts: &SeriesFacts,
    ns_per_instruction: f64,
    references: &[Reference<'a>],
    class: impl Fn(u32) -> Option<&'a str>,
) -> Result<Cycles, String> {
    let cpu = facts.cpu.ok_or("the series was not pinned to a CPU")?;
    let fastest = |fits: &dyn Fn(&&Reference) -> bool| {
        let fitting = references.iter().filter(fits);
        fitting.min_by(|a, b| a.cycle_ns.total_cmp(&b.cycle_ns))
    };
    let same_class = |other: &&Reference| other.class.is_some() && other.class == class(cpu);
    // Its own pace first, so that a chain of additions has one cycle an instruction.
    let found = fastest(&|other| other.series == facts.number)
        .or_else(|| fastest(&|other| other.cpu == cpu))
        .or_else(|| fastest(&same_class));
    let found = found.ok_or_else(|| {
        format!(
            "no series of {CYCLE_KERNEL} on CPU {cpu} or one of its class tells how long a cycle is"
        )
    })?;
    Ok(Cycles {
        per_instruction: ns_per_instruction / found.cycle_ns,
        core_mhz: 1e3 / found.cycle_ns,
        series: found.series,
        same_cpu: found.cpu == cpu,
    })
}
