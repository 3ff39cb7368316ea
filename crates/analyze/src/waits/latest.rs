//! The latest releases of a program's threads by timers, each with its parts and what took most of it.

use super::releases::{ReleaseParts, TickParts, cause, releases_are_known};
use super::table::ThreadTable;
use anechoic_recording::{Problem, Recording, Release};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// A late release of a thread of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateRelease {
    /// The name of the thread.
    pub name: String,
    /// Its thread id.
    pub tid: i32,
    /// The CPU on which it then executed.
    pub cpu: u32,
    /// The CPU on which its timer expired.
    pub timer_cpu: u32,
    /// For when the timer was set, in ns since the run's start.
    pub due_ns: u64,
    /// The latency, from then to the switch to the thread, in ns.
    pub latency_ns: u64,
    /// Its parts, which add up to the latency.
    pub parts: ReleaseParts,
    /// Identifier of the source that took most; `overrun`: the thread was still busy; `slack`: the timer slack.
    pub source: String,
    /// Which instance of it; empty if there is only one.
    pub source_name: String,
    /// How much that took, in ns.
    pub source_ns: u64,
    /// How much longer it may have taken, because the kernel did not report the switch to the thread, in ns.
    pub unseen_ns: u64,
}

/// The order of releases: the latest first, of equal ones the earlier.
fn rank(release: &Release) -> (Reverse<u64>, u64, u32) {
    let latency = release.end_ticks.saturating_sub(release.due_ticks);
    (Reverse(latency), release.due_ticks, release.thread)
}

/// Returns the `most` latest releases of threads that executed on these CPUs afterwards, or on any. Without releases in the
/// recording there are none.
///
/// # Errors
/// A table is damaged.
pub(crate) fn latest_releases(
    recording: &Recording,
    most: usize,
    cpus: Option<&[u32]>,
) -> Result<Vec<LateRelease>, Problem> {
    if !releases_are_known(recording) {
        return Ok(vec![]);
    }
    let mut kept: Vec<Release> = vec![];
    for releases in recording.rows::<Release>() {
        for release in releases?.iter().filter(|it| cpus.is_none_or(|cpus| cpus.contains(&it.cpu)))
        {
            let place = kept.partition_point(|kept| rank(kept) < rank(release));
            if place < most {
                kept.insert(place, release.clone());
                kept.truncate(most);
            }
        }
    }
    let table = ThreadTable::read(recording)?;
    Ok(kept.iter().filter_map(|release| late_release(release, &table, recording)).collect())
}

fn late_release(
    release: &Release,
    table: &ThreadTable,
    recording: &Recording,
) -> Option<LateRelease> {
    let (run, thread) = (recording.run(), table.thread(release.thread)?);
    let clock = &run.clock;
    let (source, source_name, ticks) = cause(release);
    Some(LateRelease {
        name: thread.name.to_string(),
        tid: thread.tid,
        cpu: release.cpu,
        timer_cpu: release.timer_cpu,
        due_ns: clock.ns(release.due_ticks.saturating_sub(run.start_ticks)),
        latency_ns: clock.ns(release.end_ticks.saturating_sub(release.due_ticks)),
        parts: TickParts::new(release).mean(1, clock),
        source: source.to_string(),
        source_name: source_name.to_string(),
        source_ns: clock.ns(ticks),
        unseen_ns: clock.ns(release.unseen_ticks),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::run::Program;
    use anechoic_recording::{ProgramThread, Recorder, Run};

    /// A tick is a ns. Releases of 9,000, 500, 9,000 and 20 ns; the last thread is not in the table of threads.
    #[test]
    fn the_latest_come_first_with_their_parts_and_their_largest_cause() {
        let release =
            |cpu: u32, thread: u32, [due, armed, expired, woken, end]: [u64; 5]| Release {
                cpu,
                due_ticks: due,
                end_ticks: end,
                thread,
                armed_ticks: armed,
                slack_ticks: 0,
                expired_ticks: expired,
                timer_cpu: 0,
                woken_ticks: woken,
                unseen_ticks: 7,
                previous_ticks: None,
                source: "thread".into(),
                name: "hog".into(),
                source_ticks: 400,
            };
        let rows = [
            release(0, 0, [1_000, 900, 1_100, 1_150, 1_500]),
            release(0, 0, [2_000, 10_000, 10_100, 10_150, 11_000]),
            release(1, 0, [1_000, 900, 9_000, 9_100, 10_000]),
            release(0, 9, [3_000, 2_000, 3_005, 3_010, 3_020]),
        ];
        let thread = ProgramThread {
            thread: 0,
            tid: 77,
            name: "control".into(),
            priority: None,
            cpus: "0-1".into(),
            first_ticks: 0,
            last_ticks: 1_000_000,
            executed_ticks: 1,
            interrupted_ticks: 0,
        };
        let run = Run {
            program: Some(Program::default()),
            end_ticks: 1_000_000,
            ..builders::run("program", builders::clock(1_000_000_000), vec![])
        };
        let dir = tempfile::tempdir().expect("a directory");
        let recorder = Recorder::create(dir.path(), &run).expect("a new directory");
        recorder.finish(&run).expect("there is space");
        let recording = Recording::open(dir.path()).expect("just written");
        assert_eq!(latest_releases(&recording, 3, None).expect("none"), []);
        let mut table = recording.derive().expect("writable");
        table.append(&[thread]).expect("in order");
        table.finish().expect("there is space");
        let mut table = recording.derive().expect("writable");
        rows.iter().for_each(|row| table.append(std::slice::from_ref(row)).expect("in order"));
        table.finish().expect("there is space");

        let seen = |most: usize, cpus: Option<&[u32]>| -> Vec<(u32, u64, u64, String, u64)> {
            let found = latest_releases(&recording, most, cpus).expect("whole");
            let row = |it: LateRelease| (it.cpu, it.due_ns, it.latency_ns, it.source, it.source_ns);
            found.into_iter().map(row).collect()
        };
        let busy = (0, 2_000, 9_000, "overrun".to_owned(), 8_000);
        let timer = (1, 1_000, 9_000, "thread".to_owned(), 400);
        let short = (0, 1_000, 500, "thread".to_owned(), 400);
        assert_eq!(seen(2, None), [timer.clone(), busy.clone()]);
        assert_eq!(seen(10, None), [timer, busy.clone(), short.clone()]);
        assert_eq!(seen(10, Some(&[0])), [busy, short]);
        let found = latest_releases(&recording, 1, None).expect("whole");
        let ReleaseParts { overrun_ns, slack_ns, timer_ns, interrupt_ns, scheduling_ns } =
            found[0].parts;
        assert_eq!(
            [overrun_ns, slack_ns, timer_ns, interrupt_ns, scheduling_ns]
                .map(|ns| ns.round() as u64),
            [0, 0, 8_000, 100, 900]
        );
        assert_eq!((found[0].tid, found[0].timer_cpu, found[0].unseen_ns), (77, 0, 7));
    }
}
