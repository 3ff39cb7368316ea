//! What is written can be read again: every table, every CPU, any rows.

use anechoic_lab::sample;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::run::RunState;
use anechoic_recording::{
    Activity, ActivityKind, Boundaries, Counter, CpuRow, Detour, KernelEvent, Loss, Name, Recorder,
    Recording, Row,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::sync::Arc;

fn all<R: Row>(recording: &Recording) -> Vec<R> {
    recording.rows().collect::<Result<Vec<_>, _>>().unwrap().concat()
}

fn on_cpu<R: CpuRow>(recording: &Recording, cpu: u32) -> Vec<R> {
    recording.rows_of_cpu(cpu).collect::<Result<Vec<_>, _>>().unwrap().concat()
}

/// Small numbers, the largest, and everything between.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..10_u64, u64::MAX - 9..=u64::MAX, any::<u64>()]
}

fn arc() -> impl Strategy<Value = Arc<str>> {
    prop_oneof!["[a-c]{0,2}", any::<String>()].prop_map(Arc::from)
}

prop_compose! {
    fn detour_rows()(mut ticks in vec(numbers(), 0..200), cpu in any::<u32>()) -> Vec<Detour> {
        ticks.sort_unstable();
        ticks.chunks_exact(2).map(|t| Detour { cpu, start_ticks: t[0], end_ticks: t[1] }).collect()
    }
}

prop_compose! {
    fn counter()(name in any::<String>(), cpu in 0..3_u32, ticks in numbers(), value in numbers()) -> Counter {
        Counter { name, cpu, ticks, value }
    }
}

prop_compose! {
    fn activity()(
        (start_ticks, length, self_ticks, detour) in (0..u64::MAX / 2, 0..u64::MAX / 2, numbers(), numbers()),
        (parent, sent_by_cpu, steal_ns) in (option::of(any::<u32>()), option::of(any::<u32>()), option::of(numbers())),
        (source, name, victim_state) in (arc(), arc(), arc()),
        (function, sent_by_task) in (option::of(arc()), option::of(arc())),
        thread in option::of(any::<i32>()),
        kind in prop_oneof![Just(ActivityKind::OffCpu), Just(ActivityKind::InnerGap)],
    ) -> Activity {
        let end_ticks = start_ticks + length;
        Activity {
            cpu: 3, start_ticks, end_ticks, self_ticks, detour, parent, kind, source, name, function,
            victim_state, sent_by_cpu, sent_by_task, steal_ns, thread,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_rows_come_back(
        detours in detour_rows(),
        counters in vec(counter(), 0..50),
        activities in vec(activity(), 0..50),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(dir.path(), &sample::run(RunState::Running)).unwrap();
        detours.chunks(7).for_each(|rows| recorder.append(rows).unwrap());
        recorder.append(&counters).unwrap();
        recorder.finish(&sample::run(RunState::Complete)).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        let mut derived = recording.derive::<Activity>().unwrap();
        derived.append(&activities).unwrap();
        derived.finish().unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        let mut by_cpu = counters;
        by_cpu.sort_by_key(|row| row.cpu);
        prop_assert_eq!(all::<Detour>(&recording), detours);
        prop_assert_eq!(all::<Counter>(&recording), by_cpu);
        prop_assert_eq!(all::<Activity>(&recording), activities);
    }

    #[test]
    fn boundaries_are_the_exact_division(
        millihertz in prop_oneof![1..5_000_000_u64, 1_000_000_000..6_000_000_000_000_u64, any::<u64>()],
        start_ticks in numbers(),
        ticks in vec(prop_oneof![numbers(), 0..1_u64 << 48], 50),
    ) {
        let mut run = sample::run(RunState::Running);
        run.clock.frequency_millihertz = millihertz;
        run.start_ticks = start_ticks;
        let boundaries = Boundaries::new(&run.clock, run.start_ticks);
        for ticks in ticks.into_iter().flat_map(|t| [t, start_ticks.saturating_add(t)]) {
            prop_assert_eq!(boundaries.since_start(ticks), run.clock.ns(ticks.saturating_sub(start_ticks)));
        }
    }
}

#[test]
fn every_table_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    sample::write(dir.path());
    let recording = Recording::open(dir.path()).unwrap();
    recording.verify().unwrap();
    assert_eq!(recording.run(), &sample::run(RunState::Complete));
    assert!(!recording.cut_off());
    assert_eq!(recording.attribution().unwrap(), Some(Attribution::default()));
    for cpu in [0, 1] {
        assert_eq!(on_cpu::<Detour>(&recording, cpu), sample::detours(cpu));
        assert_eq!(on_cpu::<KernelEvent>(&recording, cpu), sample::events(cpu));
        assert_eq!(on_cpu::<Activity>(&recording, cpu), sample::activities(cpu));
        let losses: Vec<_> = sample::losses().into_iter().filter(|row| row.cpu == cpu).collect();
        assert_eq!(on_cpu::<Loss>(&recording, cpu), losses);
        let counters: Vec<_> = sample::counters().into_iter().filter(|r| r.cpu == cpu).collect();
        assert_eq!(on_cpu::<Counter>(&recording, cpu), counters);
    }
    assert_eq!(all::<Detour>(&recording), [sample::detours(0), sample::detours(1)].concat());
    assert_eq!(all::<Name>(&recording), sample::names());
    assert_eq!(on_cpu::<Detour>(&recording, 7), []);
}

/// Other programs write a row group for each row, or few of them.
#[test]
fn many_small_row_groups_are_read_like_a_large_one() {
    const ROWS: u64 = 2_000;
    let dir = tempfile::tempdir().unwrap();
    let row = |at: u64| Detour {
        cpu: 0,
        start_ticks: sample::START + 1_000 * at,
        end_ticks: sample::START + 1_000 * at + 100,
    };
    let rows: Vec<Detour> = (0..ROWS).map(row).collect();
    for group in [1, 3, ROWS as usize] {
        let dir = dir.path().join(group.to_string());
        let mut recorder = Recorder::create(&dir, &sample::run(RunState::Running)).unwrap();
        rows.chunks(group).for_each(|rows| recorder.append(rows).unwrap());
        recorder.finish(&sample::run(RunState::Complete)).unwrap();
        let recording = Recording::open(&dir).unwrap();
        let groups: Vec<_> = recording.rows::<Detour>().map(Result::unwrap).collect();
        assert_eq!(groups.len(), rows.len().div_ceil(group));
        assert_eq!(groups.concat(), rows, "groups of {group}");
    }
}
