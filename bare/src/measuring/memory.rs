//! Passes over memory with warm and with modified caches.

use super::lines::{OnMemory, Rows, Work};
use super::{Impossible, MOST_CLASSES, Measuring, megacycle};
use crate::calibrate::{self, Pace, rounded};
use crate::clock::Clock;
use crate::cpu;
use crate::machine::last_cache_bytes;
use crate::parameters::{EXPERIMENTS, Request};
use crate::seat::{Gate, Seat};
use crate::timed::{self, Buffers, Done, Plan};
use anechoic_kernels::memory::{self, Line, MemoryKernel, Params, Workspace};
use core::hint::black_box;

/// A working set, and what is modified before each pass over it.
struct Sets {
    kernel: &'static MemoryKernel,
    own: Workspace<'static>,
    other: Option<(&'static MemoryKernel, Workspace<'static>)>,
}

impl Sets {
    /// Prepares the memory of a seat.
    fn prepare(seat: &Seat, kernel: &'static MemoryKernel, bytes: u64, other: Option<u64>) -> Self {
        let params = Params { bytes };
        // SAFETY: the sets of an earlier series are gone.
        let memory = unsafe { seat.workspace() };
        let (own, rest) = memory.split_at_mut(params.lines());
        let own = (kernel.prepare)(&params, own);
        let modifier = memory::find("write-sequential");
        let other = modifier.zip(other).map(|(kernel, bytes)| {
            let params = Params { bytes };
            (kernel, (kernel.prepare)(&params, rest))
        });
        Sets { kernel, own, other }
    }

    fn take(&mut self, plan: &Plan, buffers: &mut Buffers<'_>) -> Done {
        let Sets { kernel, own, other } = self;
        let mut body = |iterations| (kernel.run)(own, iterations);
        match other {
            None => timed::fixed_work::<false>(plan, &mut body, &mut || {}, buffers),
            Some((kernel, workspace)) => {
                let passes = (kernel.pass)(&workspace.params);
                let mut between = || _ = black_box((kernel.run)(workspace, passes));
                timed::fixed_work::<true>(plan, &mut body, &mut between, buffers)
            }
        }
    }
}

impl Measuring {
    pub(super) fn memory(&mut self, request: &Request<'_>) -> Result<(), Impossible> {
        let last_cache = last_cache_bytes();
        let largest = request.sizes.1.unwrap_or(if request.quick { 2 } else { 4 } * last_cache);
        let available = self.seats[0].room();
        let mut result = Ok(());
        for &(experiment, kernel, dirty) in EXPERIMENTS {
            let kernel = memory::find(kernel).filter(|_| request.has_experiment(experiment));
            let other = dirty.then_some(last_cache);
            let Some(kernel) = kernel else { continue };
            for bytes in sizes(request.sizes.0, largest, request.quick) {
                if bytes.saturating_add(other.unwrap_or(0)) > available {
                    result = Err(Impossible::Memory(experiment, bytes));
                    break;
                }
                self.working_set(request, (experiment, kernel), bytes, other);
            }
        }
        result
    }

    fn working_set(
        &mut self,
        request: &Request<'_>,
        (experiment, kernel): (&'static str, &'static MemoryKernel),
        bytes: u64,
        other: Option<u64>,
    ) {
        let clock = self.clock;
        let samples = passes(request, other.is_some());
        for group in self.groups() {
            self.in_turn::<()>(group, &mut [None; MOST_CLASSES], |seat, _| {
                let mut sets = Sets::prepare(seat, kernel, bytes, other);
                seat.pages = [cpu::page_bytes(sets.own.lines.as_ptr().addr() as u64), 0];
                pace(seat, &clock, &mut sets.own, kernel);
                seat.plan = Plan {
                    samples: samples.1,
                    within: Some((clock.ticks(request.duration_ns / samples.2), samples.0)),
                    ..seat.plan
                };
                None
            });
            let gate = Gate::new(group.len());
            self.all(group, |seat| {
                let mut sets = Sets::prepare(seat, kernel, bytes, other);
                let plan = seat.plan;
                sets.take(&Plan { samples: 1, ..plan }, &mut seat.buffers);
                seat.timed(&gate, |buffers| sets.take(&plan, buffers));
            });
            let memory = OnMemory { experiment, bytes, other, counts_pages: false };
            let work = Work {
                request,
                kernel: kernel.id,
                instructions: kernel.instructions,
                memory: Some(memory),
                rows: if other.is_some() { Rows::Apart } else { Rows::Samples },
            };
            self.wrote(group.len(), &work);
        }
    }
}

/// Returns the least and the largest number of passes, and which part of the time they have.
fn passes(request: &Request<'_>, dirty: bool) -> (u64, u64, u64) {
    let most = if dirty { 256 } else { 1024 };
    if request.quick { (4, most / 8, 4) } else { (10, most, 1) }
}

/// Calibrates a pass over a working set, which is a sample, and plans the loop.
pub(super) fn pace(seat: &mut Seat, clock: &Clock, own: &mut Workspace<'_>, kernel: &MemoryKernel) {
    let params = own.params;
    let iterations = (kernel.pass)(&params).max(1);
    let mut body = |iterations| (kernel.run)(own, iterations);
    let ticks = calibrate::pass(clock, &mut body, iterations);
    seat.megacycle_ticks = megacycle(clock);
    seat.pace = Ok(Pace {
        iterations,
        calibrated_ticks: rounded(ticks),
        megaiteration_ticks: rounded(ticks * 1e6 / iterations as f64),
        step: None,
    });
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
    let size = |bytes: f64| rounded(bytes / Line::BYTES as f64).max(1) * Line::BYTES;
    let all = octaves.flat_map(move |octave| {
        EIGHTHS[..parts].iter().map(move |part| size(octave as f64 * part))
    });
    all.filter(move |&bytes| bytes <= largest)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::sizes;
    use std::vec::Vec;

    #[test]
    fn working_sets_are_those_of_the_command() {
        // As `Points::sizes` of crates/measure/src/methods/memory.rs computes them.
        let command =
            |step: u32| ((4096.0 * (f64::from(step) / 8.0).exp2() / 64.0).round() as u64) * 64;
        let all: Vec<u64> = sizes(4096, 4 << 30, false).collect();
        assert_eq!(all.len(), 20 * 8 + 1);
        assert!(all.iter().copied().eq((0..).map(command).take(161)));
        assert_eq!(
            sizes(4096, 70_000, true).collect::<Vec<_>>(),
            [4096, 8192, 16384, 32768, 65536]
        );
    }
}
