//! The pace of each kernel on each CPU: calibrated on the first CPU of each class.

use super::RunError;
use super::calibrate::{Doubt, FEWEST_STEPS, Pace, Wanted, calibrate, megacycle};
use crate::methods::Experiment;
use anechoic_kernels::work::{self, Family, Kernel};
use anechoic_recording::Fixed;
use anechoic_recording::run::Run;
use anechoic_system::cpus;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The kernel whose instructions take a core cycle each.
const CYCLE_KERNEL: &str = "intadd-chain";

/// What one CPU needs for one kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnCpu {
    pub(super) pace: Pace,
    /// What a million core cycles last, in ticks.
    pub(super) megacycle_ticks: u64,
    doubt: Doubt,
}

/// A kernel with its pace on each CPU.
type Paced = (&'static Kernel, BTreeMap<u32, OnCpu>);

/// The kernels of an experiment with their pace on each CPU.
pub(super) struct Paces {
    pub(super) kernels: Vec<Paced>,
    /// What the reader must know of it.
    pub(super) notes: Vec<String>,
}

/// Calibrates the kernels of an experiment; `stop` calls it off.
///
/// # Errors
/// [`RunError::Kernel`], [`RunError::Calibrate`], [`RunError::CalledOff`].
pub(super) fn paces(
    asked: &Experiment,
    cpus: &[u32],
    run: &Run,
    stop: &AtomicBool,
) -> Result<Paces, RunError> {
    let kernels: Vec<&'static Kernel> =
        asked.kernels.iter().map(|id| kernel(id)).collect::<Result<_, _>>()?;
    let calibrating = Calibrating { asked, cpus, run, stop };
    let mut paces = calibrating.all(&kernels, asked.pure)?;
    let unwatched: Vec<&str> =
        paces.iter().filter(|of| !is_watched(of)).map(|of| of.0.id).collect();
    let mut notes = Vec::new();
    if !asked.pure && !unwatched.is_empty() {
        if kernels.iter().any(|kernel| kernel.family != Family::Null) {
            notes.push(format!(
                "gaps inside of samples were not watched: a sample of {} has no {FEWEST_STEPS} steps to look between",
                unwatched.join(", ")
            ));
        }
        if unwatched.len() < paces.len() {
            // Where one kernel leaves no room for looks, none is watched: the series stay comparable.
            paces = calibrating.all(&kernels, true)?;
        }
    }
    let doubt = paces.iter().flat_map(|(_, on)| on.values()).map(|on| on.doubt).fold(0.0, f64::max);
    if doubt > 0.0 {
        notes.push(format!(
            "the speed of the core changed while work was calibrated: grains may be {:.1} % longer or shorter than asked",
            doubt * 100.0
        ));
    }
    Ok(Paces { kernels: paces, notes })
}

fn is_watched((_, on): &Paced) -> bool {
    on.values().all(|on| on.pace.step.is_some())
}

fn kernel(id: &str) -> Result<&'static Kernel, RunError> {
    work::find(id).ok_or_else(|| RunError::Kernel { asked: id.to_owned() })
}

struct Calibrating<'a> {
    asked: &'a Experiment,
    cpus: &'a [u32],
    run: &'a Run,
    stop: &'a AtomicBool,
}

impl Calibrating<'_> {
    fn all(&self, kernels: &[&'static Kernel], pure: bool) -> Result<Vec<Paced>, RunError> {
        let mut all: Vec<_> = kernels.iter().map(|&kernel| (kernel, BTreeMap::new())).collect();
        let mut of_class: BTreeMap<&str, Vec<OnCpu>> = BTreeMap::new();
        for &cpu in self.cpus {
            let class = self.class(cpu);
            if !of_class.contains_key(class) {
                of_class.insert(class, on_cpu(cpu, || self.on(cpu, kernels, pure))??);
            }
            for ((_, on), pace) in all.iter_mut().zip(&of_class[class]) {
                on.insert(cpu, *pace);
            }
        }
        Ok(all)
    }

    fn class(&self, cpu: u32) -> &str {
        let known = self.run.machine.cpus.iter().find(|known| known.cpu == cpu);
        known.map_or("", |known| known.class.as_str())
    }

    /// All kernels on the CPU that the calling thread is pinned to.
    fn on(
        &self,
        cpu: u32,
        kernels: &[&'static Kernel],
        pure: bool,
    ) -> Result<Vec<OnCpu>, RunError> {
        let (clock, fixed) = (&self.run.clock, self.asked.method.fixed);
        let pure = pure && fixed == Fixed::Work;
        let grain_ns = u64::try_from(self.asked.grain.as_nanos()).unwrap_or(u64::MAX);
        let wanted = Wanted { fixed, grain_ns, pure };
        let (megacycle_ticks, of_cycle) = megacycle(kernel(CYCLE_KERNEL)?, cpu, clock)?;
        let pace = |kernel: &&'static Kernel| {
            if self.stop.load(Ordering::Acquire) {
                return Err(RunError::CalledOff);
            }
            let (pace, of_pace) = calibrate(kernel, cpu, wanted, clock)?;
            Ok(OnCpu { pace, megacycle_ticks, doubt: of_cycle.max(of_pace) })
        };
        kernels.iter().map(pace).collect()
    }
}

/// Runs `measure` on a thread that is pinned to `cpu`.
pub(super) fn on_cpu<T: Send>(
    cpu: u32,
    measure: impl FnOnce() -> T + Send,
) -> Result<T, cpus::CpuError> {
    let pinned = || cpus::pin(&[cpu]).map(|()| measure());
    thread::scope(|scope| {
        let done = scope.spawn(pinned).join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
