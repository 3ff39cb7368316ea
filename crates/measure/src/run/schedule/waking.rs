//! The series of threads that sleep and are woken.

use super::super::wake_cost;
use super::{Loop, Rounds};
use crate::experiment::{Cell, Policy, Wake};
use crate::timed::waker::Calls;
use crate::timed::waking::Waking;
use crate::timed::working_set::WorkingSet;
use anechoic_recording::wakeup::{Sleep, Waker, WakingCall};
use anechoic_recording::{Fixed, Parameters, Problem, Series};
use std::sync::Arc;
use std::time::Duration;

impl Rounds<'_> {
    /// Adds the series of a thread that sleeps, and returns how it does.
    pub(super) fn waking(
        &mut self,
        cell: &Cell,
        wake: &Wake,
        (lane, cpu): Loop,
    ) -> Result<Waking, Problem> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let interval_ns = ns(wake.interval);
        let threads = self.places.len().max(1) as u64;
        let offset_ns = if wake.staggered { interval_ns / threads * lane as u64 } else { 0 };
        let priority = cell.policy.priority();
        let has_slack = wake.call.is_none() && cell.policy == Policy::Other;
        let waker_cpu = cpu.map_or(0, |cpu| *self.experiment.wakers.get(&cpu).unwrap_or(&cpu));
        let sleep = Sleep {
            interval_ns,
            offset_ns,
            shallow: wake.shallow,
            slack_ns: if has_slack { wake_cost::timer_slack_ns() } else { 0 },
            late_ns: ns(wake.late),
            waker: wake.call.map(|call| Waker { call, cpu: waker_cpu }),
        };
        let number = self.number();
        self.series.push(Series {
            series: number,
            round: self.rounds.len() as u32,
            method: self.experiment.method.to_owned(),
            variant: wake.call.map_or("clock_nanosleep", WakingCall::name).to_owned(),
            cpu,
            tid: 0,
            policy: cell.policy.recorded(),
            fixed: Fixed::Work,
            grain_ticks: self.run.clock.ticks(interval_ns),
            asked: wake.expiries,
            parameters: Parameters {
                copies: 1,
                sleep: Some(sleep),
                working_set_bytes: Some(wake.set_bytes).filter(|&bytes| bytes > 0),
                events_off: cell.events_off,
                ..Parameters::default()
            },
        });
        let waker = match wake.call {
            None => None,
            Some(call) => Some((call, self.calls(lane, waker_cpu)?)),
        };
        Ok(Waking {
            series: number,
            cpu,
            priority,
            deadline: cell.policy == Policy::Deadline,
            interval_ns,
            lead_ns: ns(wake.lead()),
            offset_ns,
            expiries: wake.expiries,
            clock: self.run.clock.clone(),
            waker,
            set: (wake.set_bytes > 0).then(|| self.working_set(lane, wake.set_bytes)),
        })
    }

    /// Returns the working set of a lane, in all rounds.
    fn working_set(&mut self, lane: usize, bytes: u64) -> Arc<WorkingSet> {
        let set = self.sets.entry(lane).or_insert_with(|| Arc::new(WorkingSet::new(bytes)));
        Arc::clone(set)
    }

    /// Returns what the thread of a lane shares with the one that wakes it, in all rounds.
    fn calls(&mut self, lane: usize, waker_cpu: u32) -> Result<Arc<Calls>, Problem> {
        let before = self.rounds.iter().filter_map(|round| round.job_of(lane)?.calls());
        match before.last() {
            Some(calls) => Ok(Arc::clone(calls)),
            None => Calls::new(waker_cpu).map(Arc::new),
        }
    }
}
