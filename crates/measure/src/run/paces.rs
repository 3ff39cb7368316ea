//! The pace of each kernel on each CPU, calibrated on the first CPU of each class.

use crate::calibrate::{Doubt, PaceRequest, calibrate, megacycle};
use crate::experiment::{Amount, Experiment, Pages, Sample};
use crate::kernel::{Kernel, Memory, user};
use anechoic_kernels::calibration::{FEWEST_STEPS, Pace};
use anechoic_recording::run::Run;
use anechoic_recording::{Problem, clock};
use anechoic_system::cpus;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The kernel whose instructions each take one core cycle.
const CYCLE_KERNEL: &str = "intadd-chain";

/// What a CPU needs for a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnCpu {
    pub(super) pace: Pace,
    /// Duration of a million core cycles, in ticks.
    pub(super) megacycle_ticks: u64,
    doubt: Doubt,
    /// Duration of an empty call, in ns, of which a user's function has one in each step.
    call_ns: f64,
}

/// A kernel with its pace on each CPU.
type Paced = (Kernel, BTreeMap<u32, OnCpu>);

/// Kernels whose samples have the same settings, with their paces.
struct Alike {
    wanted: PaceRequest,
    kernels: Vec<Paced>,
}

/// The pace of every kernel of an experiment on each of its CPUs.
pub(super) struct Paces(Vec<Alike>);

impl Paces {
    /// Calibrates the kernels of an experiment; `stop` cancels it. What the reader of the result must know is
    /// noted in `run`.
    ///
    /// # Errors
    /// Fails if a kernel cannot be calibrated, or a signal ends it.
    pub(super) fn calibrate(
        experiment: &Experiment,
        run: &mut Run,
        stop: &AtomicBool,
    ) -> Result<Self, Problem> {
        let cpus = experiment.cpus();
        let mut paces = Vec::new();
        for (wanted, kernels) in wanted(experiment) {
            let calibrating =
                Calibrating { wanted, cpus: &cpus, run, stop, pages: experiment.pages };
            let (kernels, notes) = calibrating.alike(&kernels)?;
            run.notes.extend(notes);
            paces.push(Alike { wanted, kernels });
        }
        Ok(Paces(paces))
    }

    /// Returns the pace of a sample on `cpu`. If the scheduler chooses the CPU, the first CPU's class
    /// determines the amount of work.
    pub(super) fn pace(&self, sample: &Sample, cpu: Option<u32>) -> Option<OnCpu> {
        let alike = self.0.iter().find(|alike| alike.wanted == pace_request(sample))?;
        let (_, on) = alike.kernels.iter().find(|(kernel, _)| *kernel == sample.kernel)?;
        match cpu {
            Some(cpu) => on.get(&cpu).copied(),
            None => on.values().next().copied(),
        }
    }
}

fn pace_request(sample: &Sample) -> PaceRequest {
    PaceRequest { amount: sample.amount, watched: sample.watched }
}

/// Groups the kernels of an experiment by the settings of their samples.
fn wanted(experiment: &Experiment) -> Vec<(PaceRequest, Vec<Kernel>)> {
    let mut all: Vec<(PaceRequest, Vec<Kernel>)> = Vec::new();
    for sample in experiment.cells.iter().filter_map(|cell| cell.sample()) {
        let wanted = pace_request(sample);
        let known = all.iter().position(|(known, _)| *known == wanted);
        let at = known.unwrap_or_else(|| {
            all.push((wanted, Vec::new()));
            all.len() - 1
        });
        if !all[at].1.contains(&sample.kernel) {
            all[at].1.push(sample.kernel);
        }
    }
    all
}

fn is_watched((_, on): &Paced) -> bool {
    on.values().all(|on| on.pace.step.is_some())
}

struct Calibrating<'a> {
    wanted: PaceRequest,
    cpus: &'a [u32],
    run: &'a Run,
    stop: &'a AtomicBool,
    pages: Pages,
}

impl Calibrating<'_> {
    /// Calibrates kernels with the same settings; also returns notes about them. If one of them leaves no
    /// room for counter reads, none is watched, so that the series stay comparable.
    fn alike(&self, kernels: &[Kernel]) -> Result<(Vec<Paced>, Vec<String>), Problem> {
        let mut paces = self.all(kernels, self.wanted.watched)?;
        let looks = self.wanted.watched && self.wanted.amount != Amount::Pass;
        let unwatched: Vec<&str> = paces
            .iter()
            .filter(|paced| looks && !is_watched(paced))
            .map(|paced| paced.0.id())
            .collect();
        let mut notes = Vec::new();
        if !unwatched.is_empty() {
            if kernels.iter().any(|kernel| !kernel.is_null()) {
                notes.push(format!(
                    "gaps inside samples were not recorded: a sample of {} has fewer than {FEWEST_STEPS} steps",
                    unwatched.join(", ")
                ));
            }
            if unwatched.len() < paces.len() {
                paces = self.all(kernels, false)?;
            }
        }
        notes.extend(paces.iter().filter_map(|paced| self.note_on_calls(paced)));
        let doubts = paces.iter().flat_map(|(_, on)| on.values()).map(|on| on.doubt);
        let doubt = doubts.fold(0.0, f64::max);
        if doubt > 0.0 {
            notes.push(clock::note_on_calibration(doubt));
        }
        Ok((paces, notes))
    }

    /// Returns how much of each call of a user's function is the call itself.
    fn note_on_calls(&self, (kernel, on): &Paced) -> Option<String> {
        let (name, on) = (kernel.user()?, on.values().next()?);
        let Pace { iterations, calibrated_ticks, step, .. } = on.pace;
        let (units, ticks) =
            step.map_or((iterations, calibrated_ticks), |step| (step.iterations, step.ticks));
        let (whole_us, call_ns) = (self.run.clock.ns(ticks) as f64 / 1e3, on.call_ns);
        let units = if units == 1 { "1 unit".to_owned() } else { format!("{units} units") };
        Some(format!(
            "{name} does {units} in a call, which takes {whole_us:.1} µs; an empty call takes {call_ns:.1} ns"
        ))
    }

    fn all(&self, kernels: &[Kernel], watched: bool) -> Result<Vec<Paced>, Problem> {
        let mut all: Vec<_> = kernels.iter().map(|&kernel| (kernel, BTreeMap::new())).collect();
        let mut of_class: BTreeMap<&str, Vec<OnCpu>> = BTreeMap::new();
        for &cpu in self.cpus {
            let class = self.class(cpu);
            if !of_class.contains_key(class) {
                of_class.insert(class, cpus::run_on(cpu, || self.on(kernels, watched))??);
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

    /// Calibrates all kernels on the CPU that the calling thread is pinned to.
    fn on(&self, kernels: &[Kernel], watched: bool) -> Result<Vec<OnCpu>, Problem> {
        let clock = &self.run.clock;
        let wanted = PaceRequest { watched, ..self.wanted };
        let mut memory = Memory::for_largest(kernels.iter().copied(), self.pages)?;
        let (megacycle_ticks, of_cycle) =
            megacycle(Kernel::find(CYCLE_KERNEL)?, clock, &mut memory);
        let pace = |&kernel: &Kernel| {
            if self.stop.load(Ordering::Acquire) {
                return Err(Problem::called_off());
            }
            let (pace, of_pace) = calibrate(kernel, wanted, clock, &mut memory)?;
            let call_ns = if kernel.user().is_some() { user::call_ns(clock) } else { 0.0 };
            Ok(OnCpu { pace, megacycle_ticks, doubt: of_cycle.max(of_pace), call_ns })
        };
        kernels.iter().map(pace).collect()
    }
}
