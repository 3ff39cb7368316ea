//! Probes of the pace: pieces of work of different kinds in turn, with the time of each.

use super::buffers::StoredSample;
use super::gate::Gate;
use super::sinks::{Done, SeriesResult, Sinks, moved};
use crate::mapping::{Mapping, Obtained, Pages};
use anechoic_kernels::counter;
use anechoic_kernels::memory::{self, Line, MemoryKernel, Params, Workspace};
use anechoic_kernels::work;
use anechoic_recording::probes::{Probe, STEPS};
use anechoic_recording::run::Ended;
use anechoic_recording::{Problem, ProblemKind};
use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// How to probe a CPU.
#[derive(Debug)]
pub(crate) struct Probing {
    pub(crate) series: u32,
    /// The CPU.
    pub(crate) cpu: Option<u32>,
    pub(crate) fifo: bool,
    pub(crate) probes: Vec<Probe>,
    /// What the probes work on, once the loop's thread has prepared it.
    pub(crate) prepared: Mutex<Option<Prepared>>,
}

/// The code of the probes, and their memory.
#[derive(Debug)]
pub(crate) struct Prepared {
    mapping: Mapping,
    codes: Vec<Code>,
}

/// The code of a probe.
#[derive(Debug, Clone, Copy)]
enum Code {
    Plain(&'static work::Kernel),
    OnMemory(&'static MemoryKernel),
}

/// A probe at work.
struct Working<'m> {
    code: Code,
    iterations: u64,
    /// The value that each step must return.
    expected: u64,
    /// The parts of its memory, on which it works one after the other.
    parts: Vec<Workspace<'m>>,
    next: usize,
    warms_up: bool,
}

/// A sample of a probe.
struct Sampled {
    start: u64,
    end: u64,
    on: Option<u32>,
    /// The middle of its steps, in ticks.
    middle: u64,
    right: bool,
}

impl Probing {
    /// Allocates and prepares the memory of the probes, unless that was done before.
    ///
    /// # Errors
    /// Fails if the kernel gives no such memory, or if there is no such kernel.
    pub(crate) fn prepare(&self) -> Result<(), Problem> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if prepared.is_some() {
            return Ok(());
        }
        let codes = self.probes.iter().map(code).collect::<Result<Vec<Code>, Problem>>()?;
        let bytes: u64 = self.probes.iter().map(|probe| probe.bytes).sum();
        let mapping = Mapping::obtain(usize::try_from(bytes).unwrap_or(usize::MAX), Pages::Base)?;
        let mut made = Prepared { mapping, codes };
        for mut working in made.working(&self.probes, true) {
            working.warm_up();
            black_box(working.step());
        }
        *prepared = Some(made);
        Ok(())
    }

    /// Returns which pages its memory has; none before it was prepared.
    pub(crate) fn obtained(&self) -> Option<Obtained> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.as_ref().map(|made| made.mapping.obtained())
    }

    /// Probes until the end of the round.
    pub(crate) fn run(&self, gate: &Gate, sinks: &mut Sinks<'_, '_>) -> Done {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = prepared.as_mut().map_or(vec![], |made| made.working(&self.probes, false));
        let first_ticks = counter::now();
        let (mut last_ticks, mut taken, mut wrong) = (first_ticks, 0, 0);
        let ended = 'all: loop {
            if all.is_empty() {
                break Ended::NoMemory;
            }
            for probe in &mut all {
                let sample = match probe.sample(last_ticks) {
                    Ok(sample) => sample,
                    Err(ended) => break 'all ended,
                };
                last_ticks = sample.end;
                if moved(self.cpu, sample.on) {
                    break 'all Ended::Offline;
                }
                let (Sampled { start, end, middle, right, .. }, index) = (sample, taken);
                let cpu = self.cpu.unwrap_or(0);
                if let Some(samples) = &mut sinks.samples {
                    let count = u32::try_from(middle).unwrap_or(u32::MAX);
                    samples.store(StoredSample { index, start, end, count, cpu });
                }
                wrong += u64::from(!right);
                taken += 1;
                if end >= gate.end.load(Ordering::Relaxed) {
                    break 'all Ended::Complete;
                }
            }
        };
        let lost = sinks.lost_samples();
        let series = SeriesResult {
            series: self.series,
            samples: taken,
            wrong,
            lost,
            ended,
            ..SeriesResult::default()
        };
        Done::with_series(first_ticks, last_ticks, series)
    }
}

/// Finds the code of a probe.
fn code(probe: &Probe) -> Result<Code, Problem> {
    let plain = work::find(&probe.kernel).map(Code::Plain);
    let found = plain.or_else(|| memory::find(&probe.kernel).map(Code::OnMemory));
    found.ok_or_else(|| {
        let why = format!("there is no work kernel '{}'", probe.kernel);
        ProblemKind::Usage.problem(why, "`anechoic measure kernels` lists them")
    })
}

impl Prepared {
    /// Returns the probes at work on their parts of the memory, which is filled if it is `new`.
    fn working(&mut self, probes: &[Probe], new: bool) -> Vec<Working<'_>> {
        let mut lines = self.mapping.lines();
        let mut all = Vec::with_capacity(probes.len());
        for (probe, &code) in probes.iter().zip(&self.codes) {
            let (own, others) = lines.split_at_mut((probe.bytes / Line::BYTES) as usize);
            lines = others;
            let params = Params { bytes: probe.step_bytes };
            let (expected, parts) = match code {
                Code::Plain(kernel) => ((kernel.expected)(probe.iterations), vec![]),
                Code::OnMemory(kernel) => {
                    let parts = own.chunks_exact_mut(params.lines().max(1));
                    let parts = match new {
                        true => parts.map(|lines| (kernel.prepare)(&params, lines)).collect(),
                        false => parts.map(|lines| Workspace { lines, params }).collect(),
                    };
                    ((kernel.expected)(&params, probe.iterations), parts)
                }
            };
            let Probe { iterations, warms_up, .. } = *probe;
            all.push(Working { code, iterations, expected, parts, next: 0, warms_up });
        }
        all
    }
}

impl Working<'_> {
    /// Takes a sample, which may not begin before `last`. Returns why there is none: the counter jumped back.
    fn sample(&mut self, last: u64) -> Result<Sampled, Ended> {
        self.warm_up();
        let start = counter::now();
        if start < last {
            return Err(Ended::Clock);
        }
        let (mut end, mut on, mut right) = (start, None, true);
        let mut times = [0; STEPS];
        for time in &mut times {
            right &= self.step();
            let (now, here) = counter::boundary();
            if now < end {
                return Err(Ended::Clock);
            }
            *time = now - end;
            (end, on) = (now, here);
        }
        times.sort_unstable();
        Ok(Sampled { start, end, on, middle: times[STEPS / 2], right })
    }

    /// Passes over the memory, if the probe is of a cache that others of its rotation may have emptied.
    fn warm_up(&mut self) {
        let parts = if self.warms_up { self.parts.len() } else { 0 };
        for _ in 0..parts {
            black_box(self.step());
        }
    }

    /// Does a step of work. Returns whether its value was right.
    #[inline(always)]
    fn step(&mut self) -> bool {
        let value = match self.code {
            Code::Plain(kernel) => (kernel.run)(self.iterations),
            Code::OnMemory(kernel) => {
                let at = self.next;
                self.next = if at + 1 == self.parts.len() { 0 } else { at + 1 };
                (kernel.run)(&mut self.parts[at], self.iterations)
            }
        };
        value == self.expected
    }
}
