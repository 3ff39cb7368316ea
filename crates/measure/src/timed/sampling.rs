//! How a loop takes the samples of a series.

use super::between::{Acts, Nothing, PreparedAct};
use super::gate::Gate;
use super::preemptor::Preemptor;
use super::ring::{Circle, Ring};
use super::sinks::{Done, Sinks};
use crate::experiment::{self, OwnMemory, Pages, Preemption};
use crate::kernel::{AnyBody, Body, Kernel, Memory};
use crate::mapping::Obtained;
use anechoic_kernels::counter;
use anechoic_recording::Problem;
use anechoic_recording::paging::{Allocation, Verified};
use anechoic_recording::run::OwnThread;
use anechoic_recording::switch::{PARTNER, Partners};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::Ordering;

/// How to take the samples of a series.
#[derive(Debug, Clone)]
pub(crate) struct Sampling {
    pub(crate) series: u32,
    /// The CPU, or `None` if the scheduler chooses.
    pub(crate) cpu: Option<u32>,
    pub(crate) step: Step,
    /// Number of counter reads in a sample of fixed work: 1 if gaps are not watched.
    pub(crate) steps: u64,
    /// Length of a window in ticks, if the time is fixed.
    pub(crate) window_ticks: Option<u64>,
    pub(crate) samples: u64,
    /// The series ends after this many ticks if it has this many samples.
    pub(crate) within: Option<(u64, u64)>,
    pub(crate) maiv_ppm: Option<u32>,
    pub(crate) between: Vec<PreparedAct>,
    pub(crate) fifo: bool,
    /// Whether other loops of this process share its CPU.
    pub(crate) shares_cpu: bool,
    /// The memory of its kernel, if it is not that of all series.
    pub(crate) memory: Option<OwnMemory>,
    /// The ring in which each sample is one way around.
    pub(crate) ring: Option<experiment::Ring>,
}

/// A number of iterations of a kernel, done between two counter reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) kernel: Kernel,
    pub(crate) iterations: u64,
    /// The value that the kernel must return.
    expected: u64,
    /// A longer time between two counter reads is a detour, in ticks; `u64::MAX` if none is recorded.
    pub(crate) threshold_ticks: u64,
}

impl Step {
    pub(crate) fn new(kernel: Kernel, iterations: u64, threshold_ticks: u64) -> Self {
        Step { kernel, iterations, expected: kernel.expected(iterations), threshold_ticks }
    }

    /// Returns whether long steps are recorded as detours.
    pub(super) fn is_watched(&self) -> bool {
        self.threshold_ticks < u64::MAX
    }

    /// Does the work and returns whether its result was right.
    #[inline(always)]
    pub(super) fn is_right(&self, body: &mut impl Body) -> bool {
        body.is_right(self.iterations, self.expected)
    }
}

/// The memory of the jobs of one loop, which run one after the other.
#[derive(Debug)]
pub(crate) struct Workspaces {
    own: Memory,
    /// The workspaces of the kernels that run between samples, in the order of these.
    others: Vec<Memory>,
    /// The thread that preempts the loop between samples, if one does.
    pub(crate) preemptor: Option<Preemptor>,
    /// The partners in its rings.
    rings: Vec<Ring>,
}

impl Workspaces {
    /// Allocates the largest memory that these jobs need, and starts the thread that preempts them.
    ///
    /// # Errors
    /// Fails if there is no such memory or no such thread.
    pub(crate) fn for_largest<'j>(
        all: impl Iterator<Item = &'j Sampling> + Clone,
        pages: Pages,
    ) -> Result<Self, Problem> {
        let places = all.clone().map(|one| one.other_kernels().count()).max().unwrap_or(0);
        let other = |place| {
            Memory::for_largest(all.clone().filter_map(|one| one.other_kernels().nth(place)), pages)
        };
        let mut tasks: Vec<Preemption> = Vec::new();
        for task in all.clone().flat_map(Sampling::preemptions) {
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        let shared = all.clone().filter(|one| one.memory.is_none());
        let on = all.clone().find_map(|one| one.cpu);
        let cpu = on.filter(|_| !tasks.is_empty());
        Ok(Workspaces {
            rings: on.map_or(Ok(Vec::new()), |cpu| rings(cpu, all.clone(), pages))?,
            own: Memory::for_largest(shared.map(|one| one.step.kernel), pages)?,
            others: (0..places).map(other).collect::<Result<_, _>>()?,
            preemptor: cpu.map(|cpu| Preemptor::spawn(cpu, tasks, pages)).transpose()?,
        })
    }

    /// Returns what the reader of the result must know.
    pub(super) fn notes(&self) -> Vec<String> {
        let of_preemptor = self.preemptor.as_ref().and_then(|preemptor| preemptor.note.clone());
        of_preemptor.into_iter().chain(self.own.note_on_locks()).collect()
    }

    /// Returns why nothing more can be measured, if so.
    pub(super) fn gave_up(&self) -> Option<String> {
        self.rings.iter().find_map(Ring::lost)
    }

    /// Returns the threads that take the loop's CPU.
    pub(super) fn threads(&self) -> Vec<OwnThread> {
        let preemptor = self.preemptor.iter().map(|preemptor| OwnThread {
            policy: preemptor.policy(),
            ..OwnThread::new(preemptor.tid(), OwnThread::PREEMPTING)
        });
        let partners = self.rings.iter().flat_map(Ring::threads);
        let partners = partners.map(|tid| OwnThread::new(tid, PARTNER));
        preemptor.chain(partners).collect()
    }

    /// Returns which pages the loop's own memory has.
    pub(crate) fn obtained(&self) -> Obtained {
        self.own.obtained()
    }
}

/// Starts the partners of all rings of these jobs on `cpu`: for each kind of partners those of the largest ring.
fn rings<'j>(
    cpu: u32,
    all: impl Iterator<Item = &'j Sampling> + Clone,
    pages: Pages,
) -> Result<Vec<Ring>, Problem> {
    let rings = Partners::ALL.into_iter().filter_map(|partners| {
        let rings = all.clone().filter_map(|one| Some((one.ring?, one.step.kernel)));
        let rings = rings.filter(move |(ring, _)| ring.partners == partners);
        let sizes = rings.clone().map(|(ring, _)| if ring.switches { ring.members } else { 1 });
        let mut tasks: Vec<Kernel> = Vec::new();
        for (_, kernel) in rings {
            if !tasks.contains(&kernel) {
                tasks.push(kernel);
            }
        }
        sizes.max().map(|size| Ring::spawn(cpu, (partners, size), tasks, pages))
    });
    rings.collect()
}

/// The code and the memory of a series, ready to start.
#[derive(Debug)]
pub(crate) struct Ready<'m> {
    body: AnyBody<'m>,
    acts: Acts<'m>,
    circle: Option<Circle<'m>>,
    /// The memory of the series, if it has its own.
    pub(crate) allocation: Option<Allocation>,
}

impl Sampling {
    /// Returns the kernels that run between samples.
    fn other_kernels(&self) -> impl Iterator<Item = Kernel> {
        self.between.iter().filter_map(PreparedAct::kernel)
    }

    /// Returns what a preempting thread does between samples.
    fn preemptions(&self) -> impl Iterator<Item = Preemption> {
        self.between.iter().filter_map(|act| match act {
            PreparedAct::Preempt(how) => Some(*how),
            _ => None,
        })
    }

    /// Returns whether the loop leaves its CPU between samples.
    pub(crate) fn wanders(&self) -> bool {
        self.between.iter().any(|act| matches!(act, PreparedAct::Migrate(_)))
    }

    /// Returns whether the loop waits for other loops between samples.
    pub(crate) fn meets(&self) -> bool {
        self.between.iter().any(|act| matches!(act, PreparedAct::Meet(_)))
    }

    /// Prepares the workspaces and touches code and data.
    ///
    /// # Errors
    /// Fails if the kernel gives no memory for a series that has its own.
    pub(crate) fn prepare<'m>(&self, workspaces: &'m mut Workspaces) -> Result<Ready<'m>, Problem> {
        let Workspaces { own, others, preemptor, rings } = workspaces;
        if let Some(memory) = self.memory {
            own.renew(self.step.kernel, memory)?;
        }
        let allocation = own.own().filter(|_| self.memory.is_some()).map(|(bytes, found)| {
            let (pages, verified) = (found.pages.bytes.clone(), found.pages.verified);
            let memory_node = found.node;
            Allocation { bytes, pages, verified, memory_node, ..self.no_allocation() }
        });
        let mut body = AnyBody::prepare(self.step.kernel, own);
        if self.memory.is_none() {
            // A whole pass, which touches all of it.
            black_box(body.run(self.step.kernel.pass()));
        }
        let repeat = (self.step.iterations, self.steps);
        let acts = Acts::prepare(&self.between, repeat, others, preemptor.as_ref());
        let rings: &'m [Ring] = rings;
        let circle = self.ring.and_then(|plan| {
            let ring = rings.iter().find(|ring| ring.partners() == plan.partners)?;
            ring.circle(plan, self.step.kernel, self.fifo)
        });
        circle.iter().for_each(Circle::prepare);
        Ok(Ready { body, acts, circle, allocation })
    }

    /// Returns an empty description of the memory of the series.
    pub(crate) fn no_allocation(&self) -> Allocation {
        Allocation {
            series: self.series,
            bytes: 0,
            pages: BTreeMap::new(),
            verified: Verified::Not,
            memory_node: None,
            refused: None,
            counted_iterations: 0,
            counts: BTreeMap::new(),
        }
    }

    /// Returns the number of kernel iterations in a series of this many samples, with the pass before the first.
    pub(crate) fn iterations_of(&self, samples: u64) -> u64 {
        let sample = self.step.iterations * self.steps;
        samples * sample + u64::from(self.within.is_some()) * self.step.iterations
    }

    /// Touches the code of the timed loop itself, with one step that ends after the end and stores nothing.
    pub(crate) fn warm_up(&self, ready: Ready<'_>, sinks: &mut Sinks<'_, '_>) {
        let gate = Gate::new(1);
        gate.start.store(counter::now(), Ordering::Relaxed);
        gate.end.store(0, Ordering::Relaxed);
        let step = Step { threshold_ticks: u64::MAX, ..self.step };
        let window_ticks = self.window_ticks.map(|_| u64::MAX / 2);
        let once = Sampling { step, window_ticks, maiv_ppm: None, ..self.clone() };
        let acts = if self.between.is_empty() { None } else { Some(Acts::none()) };
        once.dispatch(ready.body, (acts, ready.circle), &gate, sinks);
    }

    /// Takes the samples.
    pub(crate) fn run(&self, ready: Ready<'_>, gate: &Gate, sinks: &mut Sinks<'_, '_>) -> Done {
        let Ready { body, acts, circle, .. } = ready;
        let acts = Some(acts).filter(|acts| !acts.is_empty());
        self.dispatch(body, (acts, circle), gate, sinks)
    }

    /// Takes the samples in the loop that is compiled for this kind of kernel.
    fn dispatch(
        &self,
        body: AnyBody<'_>,
        (acts, circle): (Option<Acts<'_>>, Option<Circle<'_>>),
        gate: &Gate,
        sinks: &mut Sinks<'_, '_>,
    ) -> Done {
        match (body, circle) {
            (AnyBody::Plain(body), None) => self.take(body, acts, gate, sinks),
            (AnyBody::User(body), None) => self.take(body.within(&gate.end), acts, gate, sinks),
            (AnyBody::Memory(body), None) => self.take(body, acts, gate, sinks),
            (body, Some(circle)) => self.take(circle.around(body, gate), acts, gate, sinks),
        }
    }

    fn take(
        &self,
        mut body: impl Body,
        acts: Option<Acts<'_>>,
        gate: &Gate,
        sinks: &mut Sinks<'_, '_>,
    ) -> Done {
        match (self.window_ticks, acts) {
            (Some(window), _) => self.fixed_time(window, &mut body, gate, sinks),
            (None, None) => self.fixed_work(&mut body, &mut Nothing, gate, sinks),
            (None, Some(mut acts)) => self.fixed_work(&mut body, &mut acts, gate, sinks),
        }
    }
}
