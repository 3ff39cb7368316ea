//! Computes activities from measured rows, in one pass over the events of all CPUs.
//!
//! Memory is bounded by the longest detour or sample and by what was sent but not yet received: no table is
//! held as a whole.

use crate::audit::Auditor;
use crate::causes::Causes;
use crate::cpu_matcher::CpuMatcher;
use crate::frame::Sender;
use crate::input::{CpuInput, Input};
use crate::label::Labels;
use crate::quota::Refills;
use anechoic_recording::attribution::{Alignment, Attribution};
use anechoic_recording::event::Role;
use anechoic_recording::run::Run;
use anechoic_recording::{
    Activity, ActivityKind, EventKind, KernelEvent, Members, Merge, Problem, sources,
};
use std::collections::HashMap;

/// Number of rows of one CPU that are passed on together.
const BATCH: usize = 1 << 16;
/// Number of rows of one CPU that wait until its loop's thread appears in an event.
const HELD: usize = 1 << 20;

/// Takes rows of one CPU in time order; called repeatedly.
pub type Sink<'a> = dyn FnMut(&[Activity]) -> Result<(), Problem> + 'a;

/// Attributes every detour and passes its rows to `sink`.
///
/// The same input gives the same rows in the same order. The `self_ticks` of the rows of each detour add up
/// to `end - start - shortest gap` of its stint. Detours outside all stints get no rows.
///
/// For a sample (see [`CpuInput::detours`]) only the kernel's activities get rows, and one "not attributable"
/// row if events were lost: the rest may be the sample's own work. An activity without an exit event (a page
/// fault) then has no length.
///
/// # Errors
/// Returns the errors of the feeds and of the sink.
pub fn run(input: Input, sink: &mut Sink) -> Result<Attribution, Problem> {
    let run = input.run;
    let tolerance = run.clock.step_ticks();
    let auditor = Auditor::new(run, input.counters);
    let mut engine = Engine {
        run,
        labels: Labels::new(run, input.names),
        program: run.program.as_ref().map(|program| Members::new(program).knowing(&run.threads)),
        causes: Causes::new(process(run)),
        refills: Refills::new(run),
        alignment: Alignment { tolerance_ticks: tolerance, ..Alignment::default() },
        auditor,
        lanes: Vec::new(),
        lane_of_cpu: HashMap::new(),
        lane_of_victim: HashMap::new(),
        appearances: Vec::new(),
    };
    for cpu in input.cpus {
        engine.add_lane(cpu, tolerance)?;
    }
    let mut events = Merge::new(input.events)?;
    while let Some(event) = events.next_event()? {
        engine.event(&event, sink)?;
    }
    engine.finish(sink)
}

/// Returns the threads of the tool: a signal to one of them may be meant for all.
fn process(run: &Run) -> Vec<i32> {
    let loops = run.cpus.iter().map(|cpu| cpu.tid);
    loops.chain(run.own_threads.iter().map(|thread| thread.tid)).collect()
}

struct Engine<'a> {
    run: &'a Run,
    labels: Labels,
    /// The threads of the recorded program, if one was.
    program: Option<Members>,
    causes: Causes,
    refills: Refills,
    alignment: Alignment,
    auditor: Auditor,
    lanes: Vec<CpuMatcher<'a>>,
    lane_of_cpu: HashMap<u32, usize>,
    lane_of_victim: HashMap<i32, usize>,
    /// By lane.
    appearances: Vec<Appearance>,
}

/// Whether the thread of a CPU's loop appears in the events there. If it does not, nothing shows which of them interrupted
/// the loop: it may have another number in the events, as in a PID namespace.
struct Appearance {
    cpu: u32,
    tid: i32,
    events: u64,
    appears: bool,
}

impl Appearance {
    fn is_unrelated(&self) -> bool {
        !self.appears && self.events > SURELY_APPEARS
    }
}

/// A CPU with more events than these has some of its loop's thread: each timer tick that interrupts the loop is one.
const SURELY_APPEARS: u64 = 1_000;

impl<'a> Engine<'a> {
    fn add_lane(&mut self, input: CpuInput<'a>, tolerance: u64) -> Result<(), Problem> {
        let run = self.run;
        let Some(cpu) = run.cpus.iter().find(|cpu| cpu.cpu == input.cpu) else { return Ok(()) };
        let index = self.lanes.len();
        self.lane_of_cpu.insert(cpu.cpu, index);
        let appears = run.program.is_some(); // its threads are those that events show
        if !appears {
            self.lane_of_victim.insert(cpu.tid, index);
        }
        if let Some(program) = self.program.as_mut().filter(|_| !input.losses.is_empty()) {
            program.lose_some();
        }
        self.appearances.push(Appearance { cpu: cpu.cpu, tid: cpu.tid, events: 0, appears });
        self.lanes.push(CpuMatcher::new(cpu, input, &run.clock, tolerance, run.steal_readings)?);
        Ok(())
    }

    /// Handles what is known of the CPU quota of the run's control group from an event.
    fn quota(&mut self, event: &KernelEvent) -> Result<(), Problem> {
        let (program, victims) = (self.program.as_ref(), &self.lane_of_victim);
        let is_victim =
            |tid| program.is_some_and(|program| program.has(tid)) || victims.contains_key(&tid);
        if self.refills.event(event, self.labels.names(), is_victim) {
            for lane in &mut self.lanes {
                let (program, left) = (self.program.as_ref(), self.refills.left_ticks);
                self.refills.left_ticks -= lane.refill(event.ticks, program, &self.labels, left)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &KernelEvent, sink: &mut Sink) -> Result<(), Problem> {
        self.quota(event)?;
        match self.lane_of_cpu.get(&event.cpu) {
            Some(index) => {
                self.auditor.event(event);
                let lane = &mut self.lanes[*index];
                let appearance = &mut self.appearances[*index];
                appearance.events += 1;
                appearance.appears |= event.pid == appearance.tid;
                lane.event(
                    event,
                    self.program.as_ref(),
                    &mut self.causes,
                    &self.labels,
                    &self.run.clock,
                    &mut self.alignment,
                )?;
                let enough = if appearance.appears { BATCH } else { HELD };
                hand_on(lane, appearance, enough, sink)?;
            }
            None if event.kind.role() == Role::Cause => {
                let sender =
                    Sender { cpu: event.cpu, pid: event.pid, ticks: event.ticks, within: None };
                self.causes.note(event, sender);
            }
            None => {}
        }
        if event.kind == EventKind::Waking
            && let Some(index) = self.lane_of_victim.get(&(event.args[0] as i32))
        {
            self.lanes[*index].wake(event, &self.labels)?;
        }
        if let Some(program) = &mut self.program {
            program.event(event);
        }
        Ok(())
    }

    fn finish(mut self, sink: &mut Sink) -> Result<Attribution, Problem> {
        for (lane, appearance) in self.lanes.iter_mut().zip(&self.appearances) {
            lane.finish(self.program.as_ref(), &self.labels, |lane| {
                hand_on(lane, appearance, BATCH, sink)
            })?;
            hand_on(lane, appearance, 1, sink)?;
        }
        let (audit, mut untraced) = self.auditor.finish();
        let unrelated = self.appearances.iter().filter(|appearance| appearance.is_unrelated());
        untraced.extend(unrelated.map(|appearance| {
            format!("the loop of CPU {} (so nothing there is attributable)", appearance.cpu)
        }));
        let steal = |ns: fn(&CpuMatcher) -> u64| {
            self.run.steal_readings.then(|| self.lanes.iter().map(ns).fold(0, u64::saturating_add))
        };
        Ok(Attribution {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            alignment: self.alignment,
            audit,
            untraced,
            steal_read_ns: steal(|lane| lane.steal.total_ns),
            steal_placed_ns: steal(|lane| lane.steal.placed_ns),
            releases_left_out: None,
        })
    }
}

/// Passes on the finished rows of a lane while there are enough.
fn hand_on(
    lane: &mut CpuMatcher,
    appearance: &Appearance,
    enough: usize,
    sink: &mut Sink,
) -> Result<(), Problem> {
    loop {
        let ready = lane.steal.ready(BATCH);
        if ready.len() < enough {
            return Ok(());
        }
        if appearance.is_unrelated() {
            withhold_sources(ready);
        }
        sink(ready)?;
        ready.clear();
    }
}

/// Makes one row that is not attributable of the rows of each detour.
fn withhold_sources(rows: &mut Vec<Activity>) {
    rows.dedup_by(|row, first| {
        let same = row.detour == first.detour;
        if same {
            first.start_ticks = first.start_ticks.min(row.start_ticks);
            first.end_ticks = first.end_ticks.max(row.end_ticks);
            first.self_ticks += row.self_ticks;
            first.steal_ns = first.steal_ns.map(|steal| steal + row.steal_ns.unwrap_or(0));
        }
        same
    });
    for row in rows {
        *row = Activity {
            parent: None,
            kind: ActivityKind::NotAttributable,
            source: sources::NOT_ATTRIBUTABLE.id.into(),
            name: "".into(),
            function: None,
            sent_by_cpu: None,
            sent_by_task: None,
            ..row.clone()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_without_sources_is_one_row_of_the_same_time() {
        let row = |detour: u64, start_ticks: u64, end_ticks: u64, self_ticks: u64| Activity {
            cpu: 1,
            start_ticks,
            end_ticks,
            self_ticks,
            detour,
            parent: Some(0),
            kind: ActivityKind::EntryGap,
            source: "thread".into(),
            name: "loop".into(),
            function: Some("f".into()),
            victim_state: "".into(),
            sent_by_cpu: Some(2),
            sent_by_task: Some("sender".into()),
            steal_ns: Some(self_ticks),
            thread: None,
        };
        let mut rows = vec![row(0, 10, 20, 4), row(0, 12, 18, 6), row(3, 40, 50, 10)];
        withhold_sources(&mut rows);
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.detour, row.start_ticks, row.end_ticks, row.self_ticks, row.steal_ns))
            .collect();
        assert_eq!(seen, [(0, 10, 20, 10, Some(10)), (3, 40, 50, 10, Some(10))]);
        for row in rows {
            assert_eq!((&*row.source, &*row.name), ("not-attributable", ""));
            assert!(row.parent.is_none() && row.function.is_none() && row.sent_by_task.is_none());
        }
    }
}
