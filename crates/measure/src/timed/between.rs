//! What a loop does between two samples.

use super::buffers::Sink;
use super::gate::Gate;
use super::preemptor::Preemptor;
use crate::ensemble::Meetings;
use crate::experiment::Preemption;
use crate::kernel::{AnyBody, Body, Kernel, Memory};
use anechoic_kernels::counter;
use anechoic_kernels::detour::Gap;
use anechoic_recording::parallel::Meeting;
use anechoic_system::cpus;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The time and place of a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopState {
    /// The counter value of the last read.
    pub(crate) last: u64,
    /// The CPU of that read, if known.
    pub(crate) on: Option<u32>,
    /// The CPU that the loop is pinned to, if any.
    pub(crate) cpu: Option<u32>,
}

/// What a timed loop does between two samples; a loop is compiled for each implementation.
pub(crate) trait Between {
    /// Runs before the first sample. Returns false if the series must end.
    fn begin<B: Body>(&mut self, body: &mut B, at: &mut LoopState, gate: &Gate) -> bool;

    /// Runs after a sample. Returns false if the series must end.
    fn go_on<B: Body>(
        &mut self,
        body: &mut B,
        at: &mut LoopState,
        gate: &Gate,
        gaps: &mut Sink<'_, '_, Gap>,
    ) -> bool;

    /// Returns the longest time between two counter reads of a wait for other ranks that is no detour; none if it does not
    /// wait.
    fn wait_threshold_ticks(&self) -> Option<u64> {
        None
    }
}

/// Does nothing: the next sample begins with the counter read that ended the last.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Between for Nothing {
    #[inline(always)]
    fn begin<B: Body>(&mut self, _: &mut B, _: &mut LoopState, _: &Gate) -> bool {
        true
    }

    #[inline(always)]
    fn go_on<B: Body>(
        &mut self,
        _: &mut B,
        _: &mut LoopState,
        _: &Gate,
        _: &mut Sink<'_, '_, Gap>,
    ) -> bool {
        true
    }
}

/// One act of a series.
#[derive(Debug, Clone)]
pub(crate) enum PreparedAct {
    Meet(Meet),
    Look,
    Repeat,
    Prepare,
    Sleep(Duration),
    Work(Kernel, u64),
    Preempt(Preemption),
    Migrate(u32),
}

impl PreparedAct {
    /// Returns whether the tool calls the system to do it.
    pub(super) fn calls_the_system(&self) -> bool {
        use PreparedAct::{Look, Meet, Migrate, Preempt, Prepare, Repeat, Sleep, Work};
        match self {
            Meet(_) | Sleep(_) | Preempt(_) | Migrate(_) => true,
            Look | Repeat | Prepare | Work(..) => false,
        }
    }

    /// Returns the kernel that the act runs on its own workspace.
    pub(super) fn kernel(&self) -> Option<Kernel> {
        match self {
            PreparedAct::Work(kernel, _) => Some(*kernel),
            _ => None,
        }
    }
}

/// Number of meetings that show how long the library's calls take.
const TRIED: usize = 21;

/// How a loop meets the loops of the other ranks.
#[derive(Debug, Clone)]
pub(crate) struct Meet {
    pub(crate) meeting: Meeting,
    pub(crate) meetings: Arc<dyn Meetings>,
    /// A longer time between two counter reads while waiting is a detour, in ticks; raised where calls of the library take
    /// longer.
    pub(crate) wait_threshold_ticks: u64,
    /// The most that it is raised to.
    pub(crate) highest_wait_threshold_ticks: u64,
    /// Whether the rank has its CPU for itself, so that a gap is a detour.
    pub(crate) alone: bool,
}

impl Meet {
    /// Waits until all ranks are ready to start their samples, and finds out how long the library's own calls take: over a
    /// network a call sends and receives, which is not noise.
    fn begin(&mut self, gate: &Gate) -> bool {
        let in_time = |now: u64| now < gate.end.load(Ordering::Relaxed);
        if !self.meetings.meet(Meeting::Barrier, &mut || in_time(counter::now())) {
            return false;
        }
        if self.meeting == Meeting::Nothing {
            return true;
        }
        let mut longest = [0_u64; TRIED];
        for longest in &mut longest {
            let mut last = counter::now();
            let mut look = || {
                let now = counter::now();
                *longest = now.saturating_sub(last).max(*longest);
                last = now;
                in_time(now)
            };
            if !self.meetings.meet(self.meeting, &mut look) || !look() {
                return false;
            }
        }
        self.wait_threshold_ticks =
            wait_threshold(longest, self.wait_threshold_ticks, self.highest_wait_threshold_ticks);
        true
    }

    /// Waits for all ranks; the counter is read while waiting, so that detours are recorded there too.
    #[inline(always)]
    fn go_on(&self, at: &mut LoopState, gate: &Gate, gaps: &mut Sink<'_, '_, Gap>) -> bool {
        if self.meeting == Meeting::Nothing {
            return true;
        }
        let look = &mut || {
            let now = counter::boundary().0;
            if now.saturating_sub(at.last) > self.wait_threshold_ticks && self.alone {
                gaps.store(Gap { start: at.last, end: now });
            }
            at.last = now;
            now < gate.end.load(Ordering::Relaxed)
        };
        let all_here = self.meetings.meet(self.meeting, look);
        look() && all_here
    }
}

/// Returns the longest time between two counter reads of a wait that is no detour: twice the longest of an ordinary meeting,
/// between two bounds. The median does not see noise that hits fewer than half of the meetings.
fn wait_threshold(mut longest: [u64; TRIED], low: u64, high: u64) -> u64 {
    longest.sort_unstable();
    longest[TRIED / 2].saturating_mul(2).clamp(low, high)
}

/// Acts that are done one after the other.
#[derive(Debug)]
pub(crate) struct Acts<'m> {
    acts: Vec<(PreparedAct, Option<AnyBody<'m>>)>,
    preemptor: Option<&'m Preemptor>,
    /// Number of iterations in a step of the work, and of steps in a sample.
    sample: (u64, u64),
    /// Whether all time between two samples is watched.
    looks_on: bool,
}

impl<'m> Acts<'m> {
    /// Prepares a workspace for each kernel among the acts.
    pub(super) fn prepare(
        acts: &[PreparedAct],
        sample: (u64, u64),
        memory: &'m mut [Memory],
        preemptor: Option<&'m Preemptor>,
    ) -> Self {
        let mut memory = memory.iter_mut();
        let prepared = |act: &PreparedAct| {
            let body = act.kernel().and_then(|kernel| Some((kernel, memory.next()?)));
            (act.clone(), body.map(|(kernel, memory)| AnyBody::prepare(kernel, memory)))
        };
        let looks_on = acts.iter().all(|act| matches!(act, PreparedAct::Meet(_)));
        Acts { acts: acts.iter().map(prepared).collect(), preemptor, sample, looks_on }
    }

    /// Creates an empty list of acts.
    pub(super) fn none() -> Self {
        Acts { acts: Vec::new(), preemptor: None, sample: (0, 0), looks_on: true }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.acts.is_empty()
    }

    /// Does all acts, with this way to meet.
    fn all<B: Body>(
        &mut self,
        body: &mut B,
        at: &mut LoopState,
        mut meet: impl FnMut(&mut Meet, &mut LoopState) -> bool,
    ) -> bool {
        let (iterations, steps) = self.sample;
        for (act, other) in &mut self.acts {
            match act {
                PreparedAct::Meet(how) => {
                    if !meet(how, at) {
                        return false;
                    }
                }
                PreparedAct::Look => {} // after all acts
                PreparedAct::Repeat => {
                    for _ in 0..steps {
                        black_box(body.run(iterations));
                    }
                }
                PreparedAct::Prepare => body.prepare(),
                PreparedAct::Sleep(time) => thread::sleep(*time),
                PreparedAct::Work(_, iterations) => {
                    black_box(other.as_mut().map(|other| other.run(*iterations)));
                }
                PreparedAct::Preempt(how) => {
                    if self.preemptor.is_some_and(|preemptor| !preemptor.preempt(*how)) {
                        return false;
                    }
                }
                PreparedAct::Migrate(cpu) => {
                    // If the migration fails, the next sample ends on another CPU, which ends the series.
                    let _ = cpus::pin(&[*cpu]);
                    at.cpu = Some(*cpu);
                }
            }
        }
        true
    }
}

impl Between for Acts<'_> {
    fn begin<B: Body>(&mut self, body: &mut B, at: &mut LoopState, gate: &Gate) -> bool {
        self.all(body, at, |meet, _| meet.begin(gate))
    }

    #[inline(always)]
    fn go_on<B: Body>(
        &mut self,
        body: &mut B,
        at: &mut LoopState,
        gate: &Gate,
        gaps: &mut Sink<'_, '_, Gap>,
    ) -> bool {
        let goes_on = self.all(body, at, |meet, at| meet.go_on(at, gate, gaps));
        if !self.looks_on {
            (at.last, at.on) = counter::boundary();
        }
        goes_on
    }

    fn wait_threshold_ticks(&self) -> Option<u64> {
        let thresholds = self.acts.iter().filter_map(|(act, _)| match act {
            PreparedAct::Meet(how) if how.alone && how.meeting != Meeting::Nothing => {
                Some(how.wait_threshold_ticks)
            }
            _ => None,
        });
        thresholds.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_of_the_library_raise_the_threshold_of_a_wait_and_rare_noise_does_not() {
        let with = |usual: u64, disturbed: usize| {
            let mut longest = [usual; TRIED];
            longest[..disturbed].fill(1_000_000);
            longest
        };
        let cases = [
            ("short calls", with(300, 0), 2_000),
            ("short calls, and a tick in ten meetings", with(300, 10), 2_000),
            ("a network", with(9_000, 0), 18_000),
            ("a network, and noise in ten meetings", with(9_000, 10), 18_000),
            ("noise in most meetings", with(300, 11), 100_000),
            ("never waited", with(0, 0), 2_000),
        ];
        for (name, longest, expected) in cases {
            assert_eq!(wait_threshold(longest, 2_000, 100_000), expected, "case: {name}");
        }
    }
}
