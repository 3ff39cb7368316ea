//! Passes over memory with warm and with modified caches, and after preemptions by a second context.

use super::lines::{OnMemory, Rows, Work};
use super::{Impossible, MOST_CLASSES, Measuring, megacycle};
use crate::catalogue::{Before, DataCaches, Disturbance, Entry, is_listed, largest};
use crate::clock::Clock;
use crate::context::{Context, STACK_LINES};
use crate::cpu;
use crate::machine::data_caches;
use crate::parameters::{Request, experiments};
use crate::seat::{Gate, Seat};
use crate::timed::{self, Buffers, Done, Plan};
use anechoic_kernels::calibration::{Amount, Calibration, Calls, Counter};
use anechoic_kernels::counter;
use anechoic_kernels::memory::{self, Line, MemoryKernel, Params, Workspace};
use core::hint::black_box;

/// An experiment on this machine.
#[derive(Clone, Copy)]
struct Experiment {
    entry: &'static Entry,
    kernel: &'static MemoryKernel,
    /// What is done before each pass.
    disturbance: Option<Disturbance>,
}

impl Experiment {
    fn new(entry: &'static Entry, caches: DataCaches) -> Option<Self> {
        let disturbance = entry.before.disturbance(caches);
        memory::find(entry.kernel).map(|kernel| Experiment { entry, kernel, disturbance })
    }

    /// Returns the memory that something else than the passes works on, in bytes.
    fn other(&self) -> Option<u64> {
        match self.disturbance {
            Some(Disturbance::Pass(_, bytes)) => Some(bytes),
            Some(Disturbance::Sleep(_)) | None => None,
        }
    }

    /// Returns the memory that a working set of this size needs with all that is beside it, in bytes.
    fn needs(&self, bytes: u64) -> u64 {
        let lines = |bytes| Params { bytes }.lines() as u64;
        let all = lines(bytes) + lines(self.other().unwrap_or(0)) + STACK_LINES as u64;
        all.saturating_mul(Line::BYTES)
    }
}

/// A working set, and what happens before each pass over it.
struct Sets {
    kernel: &'static MemoryKernel,
    own: Workspace<'static>,
    other: Option<Other>,
    /// The stack of the context that does it, if another one does.
    stack: Option<&'static mut [Line]>,
}

/// What happens before a pass.
enum Other {
    /// Nothing, for this many ticks.
    Wait(u64),
    /// A pass over other memory.
    Pass(&'static MemoryKernel, Workspace<'static>),
}

impl Other {
    /// Does it.
    fn run(&mut self) {
        match self {
            Other::Wait(ticks) => {
                let begin = counter::now();
                while counter::now().wrapping_sub(begin) < *ticks {}
            }
            Other::Pass(kernel, workspace) => {
                let pass = (kernel.pass)(&workspace.params);
                black_box((kernel.run)(workspace, pass));
            }
        }
    }
}

impl Sets {
    /// Prepares the memory of a seat.
    fn prepare(seat: &Seat, clock: &Clock, experiment: &Experiment, bytes: u64) -> Self {
        let params = Params { bytes };
        // SAFETY: the sets of an earlier series are gone.
        let memory = unsafe { seat.workspace() };
        let (own, rest) = memory.split_at_mut(params.lines());
        let (stack, rest) = rest.split_at_mut(STACK_LINES);
        let other = experiment.disturbance.and_then(|disturbance| match disturbance {
            Disturbance::Sleep(ns) => Some(Other::Wait(clock.ticks(ns))),
            Disturbance::Pass(kernel, bytes) => {
                let (kernel, params) = (memory::find(kernel)?, Params { bytes });
                Some(Other::Pass(kernel, (kernel.prepare)(&params, &mut rest[..params.lines()])))
            }
        });
        let preempts = matches!(experiment.entry.before, Before::Preempted { .. });
        Sets {
            kernel: experiment.kernel,
            own: (experiment.kernel.prepare)(&params, own),
            other,
            stack: preempts.then_some(stack),
        }
    }

    fn take(&mut self, plan: &Plan, buffers: &mut Buffers<'_>) -> Done {
        let Sets { kernel, own, other, stack } = self;
        let mut body = |iterations| (kernel.run)(own, iterations);
        let Some(other) = other else {
            return timed::fixed_work::<false>(plan, &mut body, &mut || {}, buffers);
        };
        let mut work = || other.run();
        let Some(stack) = stack else {
            return timed::fixed_work::<true>(plan, &mut body, &mut work, buffers);
        };
        let mut context = Context::new(stack, &mut work);
        timed::fixed_work::<true>(plan, &mut body, &mut || context.switch_to(), buffers)
    }
}

impl Measuring {
    pub(super) fn memory(&mut self, request: &Request<'_>) -> Result<(), Impossible> {
        let (caches, assumed) = data_caches();
        if assumed {
            let DataCaches { first, second, last } = caches;
            self.text.line(format_args!("assumed-caches {first} {second} {last}"));
        }
        let largest = request.sizes.1.unwrap_or(largest(caches.last, request.quick));
        let available = self.seats[0].room();
        let (mut first, mut others) = (None, 0);
        let asked = experiments().filter(|entry| request.has_experiment(entry.id));
        for experiment in asked.filter_map(|entry| Experiment::new(entry, caches)) {
            for bytes in sizes(request.sizes.0, largest, request.quick) {
                if experiment.needs(bytes) > available {
                    match first {
                        None => first = Some((experiment.entry.id, bytes)),
                        Some(_) => others += 1,
                    }
                    break;
                }
                self.working_set(request, &experiment, bytes);
            }
        }
        first.map_or(Ok(()), |(id, bytes)| Err(Impossible::Memory(id, bytes, others)))
    }

    fn working_set(&mut self, request: &Request<'_>, experiment: &Experiment, bytes: u64) {
        let (clock, counter) = (self.clock, self.counter());
        let (least, most) = experiment.entry.before.passes(bytes, request.quick);
        let time_ns = request.duration_ns / if request.quick { 4 } else { 1 };
        for group in self.groups() {
            self.in_turn::<()>(group, &mut [None; MOST_CLASSES], |seat, _| {
                let mut sets = Sets::prepare(seat, &clock, experiment, bytes);
                seat.pages = [cpu::page_bytes(sets.own.lines.as_ptr().addr() as u64), 0];
                pace(seat, counter, &mut sets.own, experiment.kernel);
                seat.plan = Plan {
                    samples: most,
                    within: Some((clock.ticks(time_ns), least)),
                    ..seat.plan
                };
                None
            });
            let gate = Gate::new(group.len());
            self.all(group, |seat| {
                let mut sets = Sets::prepare(seat, &clock, experiment, bytes);
                let plan = seat.plan;
                sets.take(&Plan { samples: 1, ..plan }, &mut seat.buffers);
                seat.timed(&gate, |buffers| sets.take(&plan, buffers));
            });
            let memory = OnMemory {
                experiment: experiment.entry.id,
                bytes,
                other: experiment.other(),
                counts_pages: false,
            };
            let work = Work {
                request,
                kernel: experiment.kernel.id,
                instructions: experiment.kernel.instructions,
                memory: Some(memory),
                rows: if experiment.disturbance.is_some() { Rows::Apart } else { Rows::Samples },
            };
            self.wrote(group.len(), &work);
        }
    }
}

/// Calibrates a pass over a working set, which is a sample, and plans the loop.
pub(super) fn pace(
    seat: &mut Seat,
    counter: Counter,
    own: &mut Workspace<'_>,
    kernel: &MemoryKernel,
) {
    let params = own.params;
    let iterations = (kernel.pass)(&params).max(1);
    let mut body = |iterations| (kernel.run)(own, iterations);
    let mut on = Calibration::new(counter);
    seat.pace = on.pace(&mut body, Calls::Long, Amount::Pass { iterations });
    seat.megacycle_ticks = megacycle(&mut on);
    seat.doubt_ppm = (on.take_doubt() * 1e6) as u64;
    seat.plan = Plan {
        iterations,
        expected: (kernel.expected)(&params, iterations),
        steps: 1,
        threshold_ticks: u64::MAX,
        ..Plan::default()
    };
}

/// Returns the sizes of working sets: eight per octave or one, in whole lines, as the command has them.
fn sizes(smallest: u64, largest: u64, quick: bool) -> impl Iterator<Item = u64> {
    /// Powers of 2 in steps of an eighth of an octave.
    const EIGHTHS: [f64; 8] = [
        1.0,
        1.090_507_732_665_257_7,
        1.189_207_115_002_721,
        1.296_839_554_651_009_6,
        core::f64::consts::SQRT_2,
        1.542_210_825_407_940_7,
        1.681_792_830_507_429,
        1.834_008_086_409_342_4,
    ];
    let octaves =
        (0..).map(move |octave| smallest << octave).take_while(move |&bytes| bytes <= largest);
    let parts = if quick { 1 } else { 8 };
    let size = |bytes: f64| ((bytes / Line::BYTES as f64 + 0.5) as u64).max(1) * Line::BYTES;
    let all = octaves.flat_map(move |octave| {
        EIGHTHS[..parts].iter().map(move |part| size(octave as f64 * part))
    });
    all.filter(move |&bytes| bytes <= largest && is_listed(bytes))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{is_listed, sizes};
    use std::vec::Vec;

    #[test]
    fn working_sets_are_those_of_the_command() {
        // As `Points::sizes` of crates/measure/src/methods/memory.rs computes them.
        let command =
            |step: u32| ((4096.0 * (f64::from(step) / 8.0).exp2() / 64.0).round() as u64) * 64;
        let all: Vec<u64> = sizes(4096, 4 << 30, false).collect();
        let dense = 15 * 8 + 1;
        assert!(
            all.iter().copied().eq((0..=20 * 8).map(command).filter(|&bytes| is_listed(bytes)))
        );
        assert_eq!((all[dense - 1], all[dense..].len()), (128 << 20, 5));
        assert_eq!(
            sizes(4096, 70_000, true).collect::<Vec<_>>(),
            [4096, 8192, 16384, 32768, 65536]
        );
    }
}
