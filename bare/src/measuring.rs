//! One measurement after the other: calibrates, runs the timed loop, adds the outcome to the result.

use crate::arena::Arena;
use crate::calibrate::{self, Amount, Pace, rounded};
use crate::clock::{Clock, ReadCost};
use crate::cpu;
use crate::machine::{Counters, last_cache_bytes};
use crate::methods;
use crate::parameters::{EXPERIMENTS, Request};
use crate::text::Text;
use crate::timed::{self, Buffers, Done, Plan};
use anechoic_kernels::memory::{self, Line, MemoryKernel, Params};
use anechoic_kernels::work::{self, Family};
use core::fmt::{self, Display, Formatter};

/// A gap must last this many iterations of the detour loop to be a detour, and this many steps of a coarse counter.
const THRESHOLD: [u64; 2] = [8, 4];

/// Why something was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impossible {
    /// The grain of this kernel is too short; this many nanoseconds are enough.
    TooShort(&'static str, u64),
    /// The requested number of samples, which do not fit, and the largest number that does.
    Samples(u64, usize),
    /// In this experiment, working sets of this many bytes and more do not fit.
    Memory(&'static str, u64),
}

impl Display for Impossible {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(kernel, least_ns) => {
                write!(
                    f,
                    "{kernel}: the grain is too short to measure; ask for at least {least_ns} ns"
                )
            }
            Self::Samples(asked, room) => {
                write!(f, "{asked} samples do not fit into memory; ask for at most {room}")
            }
            Self::Memory(experiment, bytes) => {
                write!(
                    f,
                    "{experiment}: working sets of {bytes} bytes and more do not fit into memory"
                )
            }
        }
    }
}

/// What all measurements need.
#[derive(Debug)]
pub struct Measuring {
    /// The counter.
    pub clock: Clock,
    /// The cost of reading it.
    pub reads: ReadCost,
    /// The result.
    pub text: Text<'static>,
    /// Where the loops store theirs.
    pub buffers: Buffers<'static>,
    /// What kernels work on.
    pub workspace: &'static mut [Line],
    /// Number of the next series.
    series: u32,
}

/// What is known of a series beside its request.
struct Work {
    kernel: &'static str,
    instructions: u32,
    pace: Pace,
    /// The memory experiment, with the sizes of its working set, of its pages, and of what is modified in between.
    memory: Option<(&'static str, [u64; 2], Option<u64>)>,
}

impl Measuring {
    /// Starts with nothing measured.
    #[must_use]
    pub fn new(arena: Arena, clock: Clock) -> Self {
        let Arena { buffers, text, workspace } = arena;
        Measuring { clock, reads: ReadCost::default(), text, buffers, workspace, series: 0 }
    }

    /// Measures what one line of the parameters asks for. Interrupts must be off and the table of
    /// [`crate::interrupts`] in use.
    ///
    /// # Errors
    /// Fails at the first part that is not possible on this machine.
    pub fn request(&mut self, request: &Request<'_>) -> Result<(), Impossible> {
        let room = self.buffers.samples.room();
        match request.samples {
            Some(samples) if samples >= room as u64 => {
                return Err(Impossible::Samples(samples, room - 1));
            }
            _ => {}
        }
        match request.method {
            methods::DETOURS => {
                self.detours(request);
                Ok(())
            }
            methods::MEMORY => self.memory(request),
            _ => request.kernels().try_for_each(|kernel| self.plain(request, kernel)),
        }
    }

    fn detours(&mut self, request: &Request<'_>) {
        let iteration = self.reads.mean_millis * THRESHOLD[0] / 1000;
        let usual = iteration.max(THRESHOLD[1] * self.reads.step());
        let threshold = request.threshold_ns.map_or(usual, |ns| self.clock.ticks(ns)).max(1);
        let origin = if request.threshold_ns.is_some() { "asked" } else { "calibrated" };
        let duration = self.clock.ticks(request.duration_ns);
        let number = self.next();
        self.text.line(format_args!(
            "series {number} method=detours threshold={threshold} origin={origin} duration={duration}"
        ));
        let warm_up = duration.min(self.clock.ticks(1_000_000));
        timed::watch(warm_up, threshold, &mut self.buffers);
        self.timed(number, |buffers| timed::watch(duration, threshold, buffers));
        self.gaps();
    }

    fn plain(
        &mut self,
        request: &Request<'_>,
        kernel: &'static work::Kernel,
    ) -> Result<(), Impossible> {
        let run = kernel.run;
        let mut body = |iterations| run(iterations);
        let amount = match (request.iterations, request.method) {
            (_, methods::FTQ) => Amount::Window(request.grain_ns),
            (Some((sample, step)), _) => Amount::Iterations(sample, step),
            (None, _) => Amount::Grain(request.grain_ns, !request.pure),
        };
        let pace = match kernel.family {
            Family::Null => Ok(calibrate::null(&self.reads, &mut body, amount)),
            _ => calibrate::pace(&self.clock, &self.reads, &mut body, amount),
        };
        let pace = pace.map_err(|least_ns| Impossible::TooShort(kernel.id, least_ns))?;
        let step = pace.step.map_or(pace.iterations, |step| step.iterations);
        let window_ticks = self.clock.ticks(request.grain_ns);
        let plan = Plan {
            iterations: step,
            expected: (kernel.expected)(step),
            steps: pace.step.map_or(1, |step| step.in_sample),
            threshold_ticks: pace.step.map_or(u64::MAX, |step| step.threshold_ticks),
            samples: request.samples.unwrap_or(0),
            within: None,
            window_ticks,
        };
        let windows = request.method == methods::FTQ;
        let mut take = |plan: &Plan, buffers: &mut Buffers<'_>| match windows {
            true => timed::fixed_time(plan, &mut body, buffers),
            false => timed::fixed_work::<false>(plan, &mut body, &mut || {}, buffers),
        };
        let work =
            Work { kernel: kernel.id, instructions: kernel.instructions, pace, memory: None };
        let number = self.describe(request, &work, &plan);
        take(&Plan { samples: 2, ..plan }, &mut self.buffers); // touches the code of the loop
        self.timed(number, |buffers| take(&plan, buffers));
        match windows {
            true => self.samples("w", |row, _| [Some(row[0]), None]),
            false => self.samples("s", |row, _| [Some(row[1] - row[0]), None]),
        }
        self.gaps();
        Ok(())
    }

    fn memory(&mut self, request: &Request<'_>) -> Result<(), Impossible> {
        let last_cache = last_cache_bytes();
        let largest = request.sizes.1.unwrap_or(if request.quick { 2 } else { 4 } * last_cache);
        let available = self.workspace.len() as u64 * Line::BYTES;
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
        // Another mutable borrow beside `self` is impossible, so the memory is taken out for the time.
        let memory = core::mem::take(&mut self.workspace);
        let params = Params { bytes };
        let (own, rest) = memory.split_at_mut(params.lines());
        let page = cpu::page_bytes(own.as_ptr().addr() as u64);
        let mut workspace = (kernel.prepare)(&params, own);
        let mut body = |iterations| (kernel.run)(&mut workspace, iterations);
        let modifier = memory::find("write-sequential").filter(|_| other.is_some());
        let modified = Params { bytes: other.unwrap_or(0) };
        let mut others = modifier.map(|kernel| (kernel, (kernel.prepare)(&modified, rest)));
        let mut between = || {
            if let Some((kernel, workspace)) = &mut others {
                core::hint::black_box((kernel.run)(workspace, (kernel.pass)(&modified)));
            }
        };
        let iterations = (kernel.pass)(&params).max(1);
        let ticks = calibrate::pass(&self.clock, &mut body, iterations);
        let pace = Pace {
            iterations,
            calibrated_ticks: rounded(ticks),
            megaiteration_ticks: rounded(ticks * 1e6 / iterations as f64),
            step: None,
        };
        let repetitions = if other.is_some() { 256 } else { 1024 };
        let (least, most, share) =
            if request.quick { (4, repetitions / 8, 4) } else { (10, repetitions, 1) };
        let plan = Plan {
            iterations,
            expected: (kernel.expected)(&params, iterations),
            steps: 1,
            threshold_ticks: u64::MAX,
            samples: most,
            within: Some((self.clock.ticks(request.duration_ns / share), least)),
            window_ticks: 0,
        };
        let mut take = |plan: &Plan, buffers: &mut Buffers<'_>| match other {
            None => timed::fixed_work::<false>(plan, &mut body, &mut between, buffers),
            Some(_) => timed::fixed_work::<true>(plan, &mut body, &mut between, buffers),
        };
        let work = Work {
            kernel: kernel.id,
            instructions: kernel.instructions,
            pace,
            memory: Some((experiment, [bytes, page], other)),
        };
        let number = self.describe(request, &work, &plan);
        take(&Plan { samples: 1, ..plan }, &mut self.buffers);
        self.timed(number, |buffers| take(&plan, buffers));
        self.workspace = memory;
        match other {
            None => self.samples("s", |row, _| [Some(row[1] - row[0]), None]),
            Some(_) => {
                self.samples("t", |row, last_end| [Some(row[0] - last_end), Some(row[1] - row[0])]);
            }
        }
    }

    fn next(&mut self) -> u32 {
        let number = self.series;
        self.series += 1;
        number
    }

    /// Adds the line that describes a series of samples, and returns its number.
    fn describe(&mut self, request: &Request<'_>, work: &Work, plan: &Plan) -> u32 {
        let number = self.next();
        let &Work { kernel, instructions, pace, memory } = work;
        let cycle = work::find("intadd-chain").map_or(0, |chain| {
            let mut body = |iterations| (chain.run)(iterations);
            let iteration = calibrate::iteration(&self.clock, &mut body);
            rounded(iteration * 1e6 / f64::from(chain.instructions))
        });
        let grain = match () {
            () if memory.is_some() || request.iterations.is_some() => pace.calibrated_ticks,
            () => self.clock.ticks(request.grain_ns),
        };
        self.text.line(format_args!(
            "series {number} method={} kernel={kernel} fixed={} grain={grain} asked={} iterations={} calibrated={} \
             instructions={instructions} megaiteration={} megacycle={cycle}{}{}{}{}{}{}{}{}",
            request.method,
            if request.method == methods::FTQ { "time" } else { "work" },
            plan.samples,
            pace.iterations,
            pace.calibrated_ticks,
            pace.megaiteration_ticks,
            Given("step-iterations", pace.step.map(|step| step.iterations)),
            Given("step", pace.step.map(|step| step.ticks)),
            Given("threshold", pace.step.map(|step| step.threshold_ticks)),
            Given("within", plan.within.map(|within| within.0)),
            Given("experiment", memory.map(|memory| memory.0)),
            Given("bytes", memory.map(|memory| memory.1[0])),
            Given("page", memory.map(|memory| memory.1[1])),
            Given("other", memory.and_then(|memory| memory.2)),
        ));
        number
    }

    /// Runs a timed loop and adds how it went.
    fn timed(&mut self, number: u32, take: impl FnOnce(&mut Buffers<'_>) -> Done) {
        self.buffers.samples.clear();
        self.buffers.gaps.clear();
        let enabled = cpu::interrupts_enabled();
        let before = Counters::read();
        let done = take(&mut self.buffers);
        let after = Counters::read();
        let enabled = u8::from(enabled || cpu::interrupts_enabled());
        let [interrupts, nmis] = [0, 1].map(|of| after.delivered[of] - before.delivered[of]);
        let performance = |of: usize| Some(after.performance?[of] - before.performance?[of]);
        let smis = after.smis.zip(before.smis).map(|(after, before)| after - before);
        self.text.line(format_args!(
            "ran {number} start={} end={} taken={} wrong={} lost={} lost-gaps={} shortest={} enabled={enabled} \
             interrupts={interrupts} nmis={nmis}{}{}{}{}",
            done.first_ticks,
            done.last_ticks,
            done.taken,
            done.wrong,
            self.buffers.samples.lost,
            self.buffers.gaps.lost,
            done.shortest_ticks,
            Given("step", done.step_ticks),
            Given("aperf", performance(0)),
            Given("mperf", performance(1)),
            Given("smis", smis),
        ));
    }

    /// Adds the samples: `each` makes one or two numbers of a row and the end of the row before.
    fn samples(&mut self, word: &str, each: impl Fn([u64; 2], u64) -> [Option<u64>; 2]) {
        let rows = self.buffers.samples.all();
        let mut last_end = rows.first().map_or(0, |row| row[0]);
        for rows in rows.chunks(ROWS_OF_LINE) {
            let mut numbers = Numbers::default();
            for &row in rows {
                each(row, last_end).into_iter().flatten().for_each(|number| numbers.push(number));
                last_end = row[1];
            }
            self.text.line(format_args!("{word}{numbers}"));
        }
    }

    /// Adds the gaps, each as its distance from the last one's end and its length; the first from the counter's zero.
    fn gaps(&mut self) {
        let mut last_end = 0;
        for rows in self.buffers.gaps.all().chunks(ROWS_OF_LINE) {
            let mut numbers = Numbers::default();
            for row in rows {
                numbers.push(row[0] - last_end);
                numbers.push(row[1] - row[0]);
                last_end = row[1];
            }
            self.text.line(format_args!("g{numbers}"));
        }
    }
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

/// Rows whose numbers share a line.
const ROWS_OF_LINE: usize = 16;

/// The numbers of a line.
#[derive(Default)]
struct Numbers {
    numbers: [u64; 2 * ROWS_OF_LINE],
    count: usize,
}

impl Numbers {
    fn push(&mut self, number: u64) {
        self.numbers[self.count] = number;
        self.count += 1;
    }
}

impl Display for Numbers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.numbers[..self.count].iter().try_for_each(|number| write!(f, " {number}"))
    }
}

/// A name and a value, or nothing if there is no value.
struct Given<T>(&'static str, Option<T>);

impl<T: Display> Display for Given<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.1.iter().try_for_each(|value| write!(f, " {}={value}", self.0))
    }
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
