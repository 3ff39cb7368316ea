//! What happened in a detour, in order.

use crate::longest::steal_ns;
use crate::timeline::story_rows;
use anechoic_recording::event::Role;
use anechoic_recording::{
    ActivityKind, Clock, DelayKind, DetourView, EventKind, KernelEvent, Problem, Recording, Run,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A detour with what happened in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetourStory {
    /// CPU of the detour.
    pub cpu: u32,
    /// Index among the detours of the CPU, from 0 in time order.
    pub index: u64,
    /// Start in ns since the run's start.
    pub start_ns: u64,
    /// Length in ns, minus the shortest gap.
    pub length_ns: u64,
    /// Hypervisor steal in it; absent if it was not read.
    pub steal_ns: Option<u64>,
    /// Its activities in order; of more than asked for those that took most. Empty if it was not attributed.
    pub activities: Vec<StoryActivity>,
    /// Number of activities that are left out.
    pub more: u64,
    /// Time of the activities that are left out.
    pub more_ns: u64,
    /// The thread of a recorded program that it delayed most; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<Victim>,
    /// Start and end on the counter.
    #[serde(skip)]
    pub(crate) ticks: (u64, u64),
    /// The thread on top of which an interrupt began it.
    #[serde(skip)]
    pub(crate) current: Option<i32>,
}

/// What happened during a part of a detour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoryActivity {
    /// Start in ns since the detour's start.
    pub start_ns: u64,
    /// Time in ns without nested activities.
    pub self_ns: u64,
    /// Depth of nesting.
    pub depth: u32,
    /// Role of the activity in the detour.
    pub kind: ActivityKind,
    /// Identifier of the source that it is charged to.
    pub source: String,
    /// Name within the source: device, vector, thread; empty if there is only one.
    pub name: String,
    /// The thread that ran instead of the measured one, if its switch was recorded.
    pub pid: Option<i32>,
    /// Kernel function, if known.
    pub function: Option<String>,
    /// CPU of the thread that armed, queued, sent or woke it, if known.
    pub sent_by_cpu: Option<u32>,
    /// The task that did, if known.
    pub sent_by_task: Option<String>,
}

/// A thread of a program that a detour delayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Victim {
    /// Its name.
    pub name: String,
    /// Its thread id.
    pub tid: i32,
    /// Why it waited; absent if it was interrupted.
    pub kind: Option<DelayKind>,
    /// Number of other threads of the program that waited there in the detour.
    pub others: u64,
}

/// Returns the story of a detour with so many activities at most, without the ids of its threads.
pub(crate) fn story(view: &DetourView<'_>, run: &Run, most: usize) -> DetourStory {
    let (rows, clock) = (view.activities, &run.clock);
    let numbers: Vec<u32> = (0..).take(rows.len()).collect();
    let (parts, more, more_ns) = story_rows(rows, &numbers, view.start_ticks, clock, most);
    let activities = parts.into_iter().map(|part| {
        let row = &rows[part.source as usize]; // each has the number of its row
        StoryActivity {
            start_ns: part.start_ns,
            self_ns: part.self_ns,
            depth: part.depth,
            kind: part.kind,
            source: row.source.as_ref().into(),
            name: row.name.as_ref().into(),
            pid: None,
            function: part.function.as_deref().map(str::to_owned),
            sent_by_cpu: part.sent_by_cpu,
            sent_by_task: part.sent_by_task.as_deref().map(str::to_owned),
        }
    });
    DetourStory {
        cpu: view.cpu,
        index: view.index,
        start_ns: clock.ns(view.start_ticks.saturating_sub(run.start_ticks)),
        length_ns: clock.ns(view.lost_ticks),
        steal_ns: steal_ns(rows),
        activities: activities.collect(),
        more,
        more_ns,
        victim: None,
        ticks: (view.start_ticks, view.end_ticks),
        current: None,
    }
}

/// Adds the ids of the threads that ran in these detours, from the switches among the kernel events.
pub(crate) fn name_threads(
    stories: &mut [DetourStory],
    recording: &Recording,
) -> Result<(), Problem> {
    let clock = &recording.run().clock;
    let mut cpus: Vec<u32> = stories.iter().map(|story| story.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        let mut on_cpu: Vec<_> = stories.iter_mut().filter(|story| story.cpu == cpu).collect();
        for events in recording.rows_of_cpu::<KernelEvent>(cpu) {
            for event in &events? {
                match event.kind.role() {
                    Role::Enter(_) => on_cpu.iter_mut().for_each(|story| story.begin(event)),
                    _ if event.kind == EventKind::Switch => {
                        on_cpu.iter_mut().for_each(|story| story.switch(event, clock));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

impl DetourStory {
    /// Notes the thread on top of which this handler began the detour.
    fn begin(&mut self, event: &KernelEvent) {
        if event.ticks == self.ticks.0 && self.current.is_none() {
            self.current = Some(event.pid);
        }
    }

    /// Notes which thread ran from this switch on.
    fn switch(&mut self, event: &KernelEvent, clock: &Clock) {
        let (start, end) = self.ticks;
        if !(start..=end).contains(&event.ticks) {
            return;
        }
        let at_ns = clock.ns(event.ticks - start);
        let pid = i32::try_from(event.args[0]).ok().filter(|&pid| pid > 0);
        let off_cpu = |row: &&mut StoryActivity| row.kind == ActivityKind::OffCpu;
        let later = self.activities.iter_mut().filter(off_cpu).filter(|row| row.start_ns >= at_ns);
        later.for_each(|row| row.pid = pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::longest::LongestBuilder;
    use crate::split::Split;
    use crate::testing::{activity, clock_ns, detour};
    use anechoic_lab::builders::run;

    /// A detour of 100 ns from 1,000 on: a gap, a thread with an interrupt in it, another thread.
    fn rows() -> Vec<anechoic_recording::Activity> {
        let at = |start_ticks, row| anechoic_recording::Activity { start_ticks, ..row };
        let mut interrupt = at(1_020, activity(0, ActivityKind::Activity, "timer-tick", "", 10));
        interrupt.parent = Some(1);
        interrupt.sent_by_task = Some("bash".into());
        vec![
            at(1_000, activity(0, ActivityKind::EntryGap, "thread", "first", 5)),
            at(1_005, activity(0, ActivityKind::OffCpu, "thread", "first", 45)),
            interrupt,
            at(1_060, activity(0, ActivityKind::OffCpu, "thread", "second", 40)),
        ]
    }

    fn switch(ticks: u64, next: u64) -> KernelEvent {
        KernelEvent { cpu: 0, ticks, kind: EventKind::Switch, pid: 1, args: [next, 0, 0] }
    }

    #[test]
    fn a_story_has_its_parts_in_order_with_the_threads_that_ran() {
        let (run, rows) = (run("detours", clock_ns(), vec![]), rows());
        let make = |view: &DetourView<'_>, run: &Run| story(view, run, 16);
        let mut longest = LongestBuilder::new(&run, 1, make);
        for view in [detour(0, 99), DetourView { activities: &rows, ..detour(1_000, 100) }] {
            longest.detour(&Split::default().split(view));
        }
        assert_eq!(longest.seen, 2);
        let mut found = longest.finish();
        let story = &mut found[0];
        for event in [switch(999, 7), switch(1_005, 17), switch(1_060, 18), switch(1_101, 9)] {
            story.switch(&event, &run.clock);
        }
        let parts: Vec<_> = story
            .activities
            .iter()
            .map(|row| (row.start_ns, row.self_ns, row.depth, row.name.as_str(), row.pid))
            .collect();
        let expected = [
            (0, 5, 0, "first", None),
            (5, 45, 0, "first", Some(17)),
            (20, 10, 1, "", None),
            (60, 40, 0, "second", Some(18)),
        ];
        assert_eq!((story.length_ns, parts), (100, expected.to_vec()));
        assert_eq!(story.activities[2].sent_by_task.as_deref(), Some("bash"));
    }
}
