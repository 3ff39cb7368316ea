//! Detours joined with their activities, however the tables are cut into row groups.

use anechoic_lab::sample::{self, START};
use anechoic_recording::run::RunState;
use anechoic_recording::{
    Activity, ActivityKind, Detour, Loss, LossKind, Recorder, Recording, Run, Strays,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

/// The shortest gap of the sample run's CPUs, which is subtracted from each gap.
fn detour(number: u64) -> Detour {
    let start_ticks = START + number * 10_000;
    Detour { cpu: 1, start_ticks, end_ticks: start_ticks + 500 + number }
}

fn activity(detour: u64, self_ticks: u64) -> Activity {
    let start_ticks = START + detour.min(1_000) * 10_000;
    Activity {
        cpu: 1,
        start_ticks,
        end_ticks: start_ticks + self_ticks,
        self_ticks,
        detour,
        parent: None,
        kind: ActivityKind::Activity,
        source: "timer-tick".into(),
        name: "".into(),
        function: None,
        victim_state: "running".into(),
        sent_by_cpu: None,
        sent_by_task: None,
        steal_ns: None,
        thread: None,
    }
}

fn write(
    dir: &Path,
    run: &Run,
    detours: &[Vec<Detour>],
    activities: &[Vec<Activity>],
) -> Recording {
    let mut recorder = Recorder::create(dir, run).unwrap();
    detours.iter().for_each(|group| recorder.append(group).unwrap());
    recorder.finish(run).unwrap();
    let recording = Recording::open(dir).unwrap();
    let mut writer = recording.derive::<Activity>().unwrap();
    activities.iter().for_each(|group| writer.append(group).unwrap());
    writer.finish().unwrap();
    recording
}

/// Returns index, lost ticks and activities' own times of each detour, and the activities of none.
fn joined(recording: &Recording) -> (Vec<(u64, u64, Vec<u64>)>, Strays) {
    let loops = recording.loops().unwrap();
    let (cpu, stints) = loops.by_cpu(recording.run()).nth(1).unwrap();
    let mut views = recording.detours_of(cpu.cpu, stints);
    let mut found = vec![];
    while let Some(view) = views.next_detour().unwrap() {
        let own = view.activities.iter().map(|activity| activity.self_ticks);
        assert_eq!(view.lost_from_ticks() + view.lost_ticks, view.end_ticks);
        found.push((view.index, view.lost_ticks, own.collect()));
    }
    (found, views.finish().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_activity_comes_with_its_detour(
        counts in vec(0..4_u64, 1..40),
        (detours_each, activities_each) in (1..9_usize, 1..9_usize),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let detours: Vec<Detour> = (0..counts.len() as u64).map(detour).collect();
        let rows = |(number, &count): (usize, &u64)| {
            (0..count).map(move |part| activity(number as u64, 100 * number as u64 + part + 1))
        };
        let activities: Vec<Activity> = counts.iter().enumerate().flat_map(rows).collect();
        let groups = |size| detours.chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>();
        let cut: Vec<_> = activities.chunks(activities_each).map(<[_]>::to_vec).collect();
        let run = sample::run(RunState::Complete);
        let recording =
            write(&dir.path().join("recording"), &run, &groups(detours_each), &cut);
        let (found, strays) = joined(&recording);
        let shortest = run.cpus[1].shortest_gap_ticks;
        let expected: Vec<_> = detours
            .iter()
            .enumerate()
            .map(|(number, detour)| {
                let rows = activities.iter().filter(|row| row.detour == number as u64);
                let lost = detour.end_ticks - detour.start_ticks - shortest;
                (number as u64, lost, rows.map(|row| row.self_ticks).collect::<Vec<_>>())
            })
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(strays, Strays::default());
    }
}

#[test]
fn activities_of_no_detour_are_strays() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample::run(RunState::Complete);
    let detours = vec![vec![detour(0), detour(1)], vec![detour(2)]];
    // One after its detour has passed, one of a detour that does not exist, one with the largest number.
    let activities = [(0, 1), (1, 2), (0, 40), (2, 3), (7, 50), (u64::MAX, 60)];
    let activities = activities.map(|(detour, ticks)| vec![activity(detour, ticks)]);
    let recording = write(&dir.path().join("recording"), &run, &detours, &activities);
    let (found, strays) = joined(&recording);
    let own: Vec<_> = found.into_iter().map(|(index, _, own)| (index, own)).collect();
    assert_eq!(own, [(0, vec![1]), (1, vec![2]), (2, vec![3])]);
    assert_eq!(strays, Strays { activities: 3, self_ticks: 150 });
}

#[test]
fn losses_are_merged_by_kind_and_cpu() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recording");
    let run = sample::run(RunState::Complete);
    let mut recorder = Recorder::create(&path, &run).unwrap();
    let loss = |what: &str, cpu, start, end, count| Loss {
        what: what.into(),
        cpu,
        start_ticks: START + start,
        end_ticks: START + end,
        count,
    };
    let rows = [
        loss("events", 1, 0, 10, 5),
        loss("events", 1, 5, 20, 0),
        loss("untraced", 1, 20, 30, 0),
        loss("detours", 1, 50, 60, 7),
        loss("events", 0, 0, 90, 1),
    ];
    recorder.append(&rows).unwrap();
    recorder.finish(&run).unwrap();
    let losses = Recording::open(&path).unwrap().losses().unwrap();
    let lost = |kinds: &[&str]| {
        let kinds: Vec<LossKind> = kinds.iter().map(|&kind| kind.into()).collect();
        losses.on_cpu(1, &kinds).as_slice().to_vec()
    };
    assert_eq!(lost(&["events", "untraced"]), [(START, START + 30)]);
    assert_eq!(lost(&["events", "detours"]), [(START, START + 20), (START + 50, START + 60)]);
    assert_eq!(lost(&["steal"]), []);
    let counts: Vec<_> =
        losses.iter().map(|(kind, cpu, losses)| (kind.as_str(), cpu, losses.count)).collect();
    assert_eq!(counts, [("detours", 1, 7), ("events", 0, 1), ("events", 1, 5), ("untraced", 1, 0)]);
}
