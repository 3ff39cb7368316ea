//! One measurement after the other, on one CPU after the other or on several at the same time: calibrates, runs the timed
//! loop, adds the outcome to the result.

mod lines;
mod memory;
mod paging;

use crate::clock::{self, Clock, ReadCost};
use crate::cpu::{CachesOff, Place};
use crate::crew::Crew;
use crate::methods;
use crate::parameters::Request;
use crate::seat::{Gate, Seat};
use crate::text::Text;
use crate::timed::{self, Buffers, Plan};
use anechoic_kernels::calibration::{Amount, Calibration, Calls, Counter};
use anechoic_kernels::work::{self, Family};
use core::fmt::{self, Display, Formatter};
use core::slice;
use lines::{Rows, Work};

/// A gap must last this many iterations of the detour loop to be a detour, and this many steps of a coarse counter.
const THRESHOLD: [u64; 2] = [8, 4];
/// Kinds of CPUs of a machine for which a calibration is kept.
const MOST_CLASSES: usize = 8;

/// Why something was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impossible {
    /// The grain of this kernel is too short; this many nanoseconds are enough.
    TooShort(&'static str, u64),
    /// The requested number of samples, which do not fit, and the largest number that does.
    Samples(u64, usize),
    /// In this experiment, working sets of this many bytes and more do not fit; so it is in this many others.
    Memory(&'static str, u64, u32),
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
            Self::Memory(experiment, bytes, others) => {
                write!(
                    f,
                    "{experiment}: working sets of {bytes} bytes and more do not fit into memory"
                )?;
                match others {
                    0 => Ok(()),
                    1 => write!(f, "; nor do the largest of another experiment"),
                    others => write!(f, "; nor do the largest of {others} other experiments"),
                }
            }
        }
    }
}

/// What all measurements need.
pub struct Measuring {
    /// The counter.
    pub clock: Clock,
    /// The cost of reading it.
    pub reads: ReadCost,
    /// The result.
    pub text: Text<'static>,
    /// All CPUs.
    pub crew: Crew,
    /// The CPUs that measure.
    pub cpus: &'static [usize],
    /// Whether these measure at the same time.
    pub together: bool,
    /// Whether caches are off in all measurements.
    pub caches_off: bool,
    /// Seats for as many CPUs as measure at the same time.
    pub seats: &'static mut [Seat],
    /// Number of the next series.
    pub series: u32,
    /// Number of the next series or group of simultaneous ones.
    pub round: u32,
}

impl Measuring {
    /// Measures what one line of the parameters asks for. Interrupts must be off and the table of
    /// [`crate::interrupts`] in use.
    ///
    /// # Errors
    /// Fails at the first part that is not possible on this machine.
    pub fn request(&mut self, request: &Request<'_>) -> Result<(), Impossible> {
        let room = self.seats[0].buffers.samples.room();
        match request.samples {
            Some(samples) if samples >= room as u64 => {
                return Err(Impossible::Samples(samples, room - 1));
            }
            _ => {}
        }
        match request.method {
            methods::DETOURS => {
                self.groups().for_each(|group| self.detours(request, group));
                Ok(())
            }
            methods::MEMORY => self.memory(request),
            methods::PAGING => self.paging(request),
            _ => request.kernels().try_for_each(|kernel| self.plain(request, kernel)),
        }
    }

    /// Returns the CPUs that measure at the same time, one group after the other.
    fn groups(&self) -> slice::Chunks<'static, usize> {
        self.cpus.chunks(if self.together { self.cpus.len() } else { 1 })
    }

    /// Lets each CPU of a group work on its seat, all at the same time.
    fn all(&mut self, group: &[usize], work: impl Fn(&mut Seat) + Sync) {
        let caches_off = self.caches_off;
        self.crew.each(group, self.seats, |seat| {
            let _off = caches_off.then(CachesOff::begin);
            work(seat);
        });
    }

    /// Lets each CPU of a group work on its seat, one after the other while the rest is halted. `work` also gets what it
    /// returned on an earlier CPU of the same kind.
    fn in_turn<R: Copy + Send + Sync>(
        &mut self,
        group: &[usize],
        known: &mut [Option<(u64, R)>; MOST_CLASSES],
        work: impl Fn(&mut Seat, Option<R>) -> Option<R> + Sync,
    ) {
        let caches_off = self.caches_off;
        for (seat, &cpu) in self.seats.iter_mut().zip(group) {
            seat.cpu = cpu;
            let mut found = None;
            let mut place = (seat, &mut found);
            self.crew.each(&[cpu], slice::from_mut(&mut place), |(seat, found)| {
                let _off = caches_off.then(CachesOff::begin);
                let class = Place::here().class;
                let earlier = known.iter().flatten().find(|known| known.0 == class);
                **found = work(seat, earlier.map(|known| known.1)).map(|new| (class, new));
            });
            if let Some(free) = known.iter_mut().find(|known| known.is_none()) {
                *free = found;
            }
        }
    }

    fn detours(&mut self, request: &Request<'_>, group: &'static [usize]) {
        let iteration = self.reads.mean_millis * THRESHOLD[0] / 1000;
        let usual = iteration.max(THRESHOLD[1] * self.reads.step());
        let threshold = request.threshold_ns.map_or(usual, |ns| self.clock.ticks(ns)).max(1);
        let origin = if request.threshold_ns.is_some() { "asked" } else { "calibrated" };
        let duration = self.clock.ticks(request.duration_ns);
        let warm_up = duration.min(self.clock.ticks(1_000_000));
        let gate = Gate::new(group.len());
        self.in_turn::<()>(group, &mut [None; MOST_CLASSES], |_, _| None);
        self.all(group, |seat| {
            timed::watch(warm_up, threshold, &mut seat.buffers);
            seat.timed(&gate, |buffers| timed::watch(duration, threshold, buffers));
        });
        for place in 0..group.len() {
            let number = self.next();
            let (cpu, round) = (self.seats[place].cpu, self.round);
            self.text.line(format_args!(
                "series {number} cpu={cpu} round={round} method=detours threshold={threshold} origin={origin} duration={duration}"
            ));
            self.ran(number, place, Rows::None);
        }
        self.round += 1;
    }

    fn plain(
        &mut self,
        request: &Request<'_>,
        kernel: &'static work::Kernel,
    ) -> Result<(), Impossible> {
        let amount = match (request.iterations, request.method) {
            (_, methods::FTQ) => Amount::Window { ns: request.grain_ns },
            (Some((sample, step)), _) => Amount::Iterations { sample, step },
            (None, _) => Amount::Grain { ns: request.grain_ns, watched: !request.pure },
        };
        let (clock, counter) = (self.clock, self.counter());
        let caches_off = self.caches_off;
        let windows = request.method == methods::FTQ;
        let samples = request.samples.unwrap_or(1);
        let take = |plan: &Plan, buffers: &mut Buffers<'_>| {
            let mut body = |iterations| (kernel.run)(iterations);
            match windows {
                true => timed::fixed_time(plan, &mut body, buffers),
                false => timed::fixed_work::<false>(plan, &mut body, &mut || {}, buffers),
            }
        };
        let mut known = [None; MOST_CLASSES];
        for group in self.groups() {
            self.in_turn(group, &mut known, |seat, earlier| {
                let mut body = |iterations| (kernel.run)(iterations);
                let mut on = Calibration::new(counter);
                seat.megacycle_ticks = megacycle(&mut on);
                seat.pace = earlier.unwrap_or_else(|| match kernel.family {
                    Family::Null => Ok(on.null_pace(&mut body, amount)),
                    // Without caches a million iterations take a tenth of a second.
                    Family::DoNothing if !caches_off => on.pace(&mut body, Calls::Million, amount),
                    _ => on.pace(&mut body, Calls::Long, amount),
                });
                seat.doubt_ppm = (on.take_doubt() * 1e6) as u64;
                let pace = seat.pace.unwrap_or_default();
                let step = pace.step.map_or(pace.iterations, |step| step.iterations);
                seat.plan = Plan {
                    iterations: step,
                    expected: (kernel.expected)(step),
                    steps: pace.step.map_or(1, |step| step.in_sample),
                    threshold_ticks: pace.step.map_or(u64::MAX, |step| step.threshold_ticks),
                    samples,
                    within: None,
                    window_ticks: clock.ticks(request.grain_ns),
                };
                Some(seat.pace)
            });
            if let Some(too_short) =
                self.seats[..group.len()].iter().find_map(|seat| seat.pace.err())
            {
                return Err(Impossible::TooShort(kernel.id, too_short.least_ns));
            }
            let gate = Gate::new(group.len());
            self.all(group, |seat| {
                let plan = seat.plan;
                // This touches the code of the loop.
                take(&Plan { samples: samples.min(2), ..plan }, &mut seat.buffers);
                seat.timed(&gate, |buffers| take(&plan, buffers));
            });
            let work = Work {
                request,
                kernel: kernel.id,
                instructions: kernel.instructions,
                memory: None,
                rows: if windows { Rows::Windows } else { Rows::Samples },
            };
            self.wrote(group.len(), &work);
        }
        Ok(())
    }

    fn counter(&self) -> Counter {
        clock::counter(&self.clock, &self.reads)
    }

    fn next(&mut self) -> u32 {
        let number = self.series;
        self.series += 1;
        number
    }
}

/// Returns the duration of a million chained additions, one core cycle each, in ticks.
fn megacycle(on: &mut Calibration) -> u64 {
    work::find("intadd-chain").map_or(0, |chain| {
        on.megacycle(&mut |iterations| (chain.run)(iterations), chain.instructions)
    })
}
