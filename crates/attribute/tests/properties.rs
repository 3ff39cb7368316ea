//! For any events, the parts of every detour add up to it.

use crate::stage::*;
use anechoic_recording::event::Role;
use anechoic_recording::{
    Activity, ActivityKind, Counter, Detour, EVENTS, KernelEvent, Loss, Stint,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Any event, with numbers from a small set so that entries and exits often match.
fn event() -> impl Strategy<Value = (u64, KernelEvent)> {
    let number =
        || prop_oneof![8 => 0_u64..4, 1 => Just(u64::MAX), 1 => Just(19), 1 => Just(0x100)];
    let pid = || prop_oneof![4 => Just(VICTIM), 1 => Just(0), 2 => 42..44, 1 => Just(7)];
    let args = (prop_oneof![number(), pid().prop_map(|pid| pid as u64)], number(), number());
    (0_u64..40, 0..EVENTS.len(), pid(), args, 0_u32..2).prop_map(|(step, kind, pid, args, cpu)| {
        let cpu = if EVENTS[kind].role == Role::Cause { cpu } else { 1 };
        (
            step,
            KernelEvent {
                cpu,
                ticks: 0,
                kind: EVENTS[kind].kind,
                pid,
                args: [args.0, args.1, args.2],
            },
        )
    })
}

/// Rows separated by the given steps.
fn in_time<T>(steps: Vec<(u64, T)>, mut at: impl FnMut(&mut T, u64)) -> Vec<T> {
    let mut ticks = 0;
    steps
        .into_iter()
        .map(|(step, mut row)| {
            ticks += step;
            at(&mut row, ticks);
            row
        })
        .collect()
}

prop_compose! {
    fn detours()(gaps in vec((0_u64..60, 0_u64..400), 0..12)) -> Vec<Detour> {
        let mut ticks = 0;
        gaps.into_iter().map(|(apart, long)| {
            let start = ticks + apart;
            ticks = start + long;
            detour(start, ticks)
        }).collect()
    }
}

/// `None` is a detours run; otherwise some series, all with recorded gaps or none.
fn stints() -> impl Strategy<Value = Option<Vec<Stint>>> {
    let series = vec((0_u64..200, 0_u64..1_500, 1_u64..300, any::<bool>()), 0..5);
    let series = (series, any::<bool>()).prop_map(|(series, watched)| {
        let mut ticks = 0;
        let next = |(apart, long, step, fifo)| {
            let first = ticks + apart;
            ticks = first + long;
            stint(first, ticks, if watched { step } else { 0 }, fifo)
        };
        Some(series.into_iter().map(next).collect())
    });
    prop_oneof![Just(None), series]
}

prop_compose! {
    fn play()(
        stints in stints(),
        detours in detours(),
        events in vec(event(), 0..120),
        losses in vec((0_u64..2_000, 0_u64..50), 0..3),
        readings in vec((1_u64..200, 0_u64..100), 0..10),
        fifo in any::<bool>(),
    ) -> Play {
        let events = in_time(events, |event, ticks| event.ticks = ticks);
        let mut play = Play::new(detours, events);
        play.losses = losses.into_iter().map(|(start, long)| loss("events", start, start + long)).collect();
        let mut value = 0;
        play.steal = in_time(readings, |_, _| ()).into_iter().scan(0, |ticks, ns| {
            *ticks += 130;
            value += ns;
            Some(Counter { name: "steal_ns".into(), cpu: 1, ticks: *ticks, value })
        }).collect();
        play.run.steal_readings = !play.steal.is_empty();
        play.stints = stints;
        play.run.policy = if fifo { "fifo 50" } else { "other" }.into();
        play
    }
}

/// The rows of one detour of `stint`; `None` means no loop's.
fn check_detour(detour: &Detour, stint: Option<&Stint>, losses: &[Loss], rows: &[&Activity]) {
    let Some(stint) = stint else { return assert!(rows.is_empty(), "{rows:#?}") };
    let length = (detour.end_ticks - detour.start_ticks).saturating_sub(stint.shortest_gap_ticks);
    let sum = rows.iter().map(|row| row.self_ticks).sum::<u64>();
    if stint.watched {
        assert_eq!(sum, length, "{detour:?}: {rows:#?}");
    } else {
        use ActivityKind::{EntryGap, ExitGap, InnerGap, Unexplained};
        let gap =
            |row: &&&Activity| matches!(row.kind, EntryGap | InnerGap | ExitGap | Unexplained);
        assert!(sum <= length && rows.iter().find(gap).is_none(), "{detour:?}: {rows:#?}");
    }
    let lost = losses
        .iter()
        .any(|loss| loss.start_ticks <= detour.end_ticks && loss.end_ticks >= detour.start_ticks);
    let dark =
        rows.iter().any(|row| row.kind == ActivityKind::NotAttributable && row.name.is_empty());
    assert_eq!(dark, lost);
    for (index, row) in rows.iter().enumerate() {
        assert!(row.start_ticks <= row.end_ticks, "{row:?}");
        assert!(
            row.start_ticks >= detour.start_ticks && row.end_ticks <= detour.end_ticks,
            "{row:?}"
        );
        assert!(row.self_ticks <= row.end_ticks - row.start_ticks, "{row:?}");
        assert!(anechoic_recording::sources::find(&row.source).is_some(), "{row:?}");
        assert!(row.steal_ns.unwrap_or(0) <= row.self_ticks, "{row:?}");
        if let Some(parent) = row.parent {
            let parent = rows[parent as usize];
            assert!(
                (parent.start_ticks..=parent.end_ticks).contains(&row.start_ticks),
                "{row:?} in {parent:?}"
            );
            assert!(row.end_ticks <= parent.end_ticks, "{row:?} in {parent:?}");
            assert!((row.parent.unwrap() as usize) < index, "a parent comes first");
        }
    }
    assert!(rows.is_sorted_by_key(|row| row.start_ticks), "{rows:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_and_nest(play in play()) {
        let (detours, losses, copy) = (play.detours.clone(), play.losses.clone(), play.clone());
        let whole = whole_run(&play.run, &play.run.cpus[0]);
        let stints = play.stints.clone().unwrap_or(whole);
        let (attribution, rows) = play.attribute();
        for (index, detour) in detours.iter().enumerate() {
            let rows: Vec<&Activity> = rows.iter().filter(|row| row.detour == index as u64).collect();
            let stint = Stint::around(&stints, detour.start_ticks, detour.end_ticks);
            check_detour(detour, stint.map(|place| &stints[place]), &losses, &rows);
        }
        prop_assert!(rows.iter().all(|row| row.detour < detours.len() as u64));
        prop_assert!(rows.is_sorted_by_key(|row| row.detour));
        prop_assert!(attribution.alignment.outside <= attribution.alignment.events);
        prop_assert!(attribution.steal_placed_ns <= attribution.steal_read_ns);
        prop_assert_eq!(copy.attribute(), (attribution, rows), "the same input gives the same rows");
    }
}
