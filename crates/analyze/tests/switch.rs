//! Context switches: direct and indirect cost of a made-up recording whose results are known.

use anechoic_analyze::Switch;
use anechoic_analyze::switch::switch;
use anechoic_lab::builders::{self, clock, cpu_run};
use anechoic_recording::run::{Outcome, Trace};
use anechoic_recording::switch::{Partners, Ring};
use anechoic_recording::{Clock, Fixed, Parameters, Recorder, Recording, Run, Sample, Series};

/// The mean cost of the counter read that ends a sample, rounded, which is part of each.
const READ: u64 = 61;

/// A series: number of members (0: without a switch), working set, whether events were off, ns of a hop in each sample.
type Made<'a> = (u32, u64, bool, &'a [u64]);

fn analyzed(series: &[Made<'_>], traced: bool) -> Switch {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = Clock { sample_read_mean_ticks: Some(61.4), ..clock(1_000_000_000) };
    let mut run = Run { ..builders::run("switch", clock, vec![]) };
    run.trace = traced.then(|| Trace {
        clock: "x86-tsc".into(),
        buffer_kb: 1024,
        events: vec![],
        missing: vec![],
        alternate_ns: None,
    });
    let (mut all, mut samples, mut now) = (vec![], vec![], 1_000);
    for (number, &(members, bytes, events_off, hops)) in (0..).zip(series) {
        let ring = Ring {
            members: if members == 0 { 8 } else { members },
            partners: Partners::Processes,
            switches: members > 0,
        };
        let first_ticks = now;
        for (index, ns) in (0..).zip(hops) {
            let (start_ticks, end_ticks) = (now, now + ns * u64::from(ring.members) + READ);
            let (series, cpu, count) = (number, 0, 1);
            samples.push(Sample { series, index, cpu, start_ticks, end_ticks, count });
            now = end_ticks;
        }
        run.outcomes.push(Outcome {
            series: number,
            first_ticks,
            last_ticks: now,
            samples: hops.len() as u64,
            wrong: u64::from(members == 4 && number == 0),
            ..Outcome::default()
        });
        all.push(Series {
            series: number,
            round: number,
            method: "switch".into(),
            variant: if bytes == 0 { "empty" } else { "read-sequential" }.into(),
            cpu: Some(0),
            tid: 100,
            policy: "other".into(),
            fixed: Fixed::Work,
            grain_ticks: 1_000,
            asked: 1024,
            parameters: Parameters {
                working_set_bytes: (bytes > 0).then_some(bytes),
                ring: Some(ring),
                events_off,
                ..Parameters::default()
            },
        });
        now += 1_000;
    }
    run.cpus = vec![cpu_run(0, (1_000, now), 20)];
    run.end_ticks = now;
    let mut recorder = Recorder::create(dir.path(), &run).expect("a new directory");
    recorder.append(&all).expect("in order");
    recorder.append(&samples).expect("in order");
    recorder.finish(&run).expect("there is space");
    switch(&Recording::open(dir.path()).expect("just written")).expect("a result")
}

/// Two blocks of a ring of 2 with an empty working set and one of 4 KiB, in which the machine becomes slower by `drift` ns a hop.
fn blocks(drift: u64) -> Vec<(u32, u64, bool, Vec<u64>)> {
    let in_block = |slower: u64| {
        // The longest sample of three does not count.
        let samples = |ns: u64| vec![ns + slower, ns + slower, 50 * ns];
        [(0, 0, 300), (2, 0, 1_000), (0, 4096, 400), (2, 4096, 1_600)]
            .map(|(members, bytes, ns)| (members, bytes, true, samples(ns)))
    };
    [in_block(0), in_block(drift)].concat()
}

fn borrowed(blocks: &[(u32, u64, bool, Vec<u64>)]) -> Vec<Made<'_>> {
    blocks.iter().map(|(members, bytes, off, ns)| (*members, *bytes, *off, &ns[..])).collect()
}

#[test]
fn the_cost_is_what_a_switch_adds_in_the_same_block() {
    let made = blocks(500);
    let found = analyzed(&borrowed(&made), true);
    assert_eq!((found.blocks, found.sizes()), (2, vec![0, 4096]));
    assert_eq!(found.rings(), [(Partners::Processes, 2)]);
    assert_eq!(found.kernel.as_deref(), Some("read-sequential"));
    let [empty, full] = [0, 4096].map(|bytes| found.point((Partners::Processes, 2), bytes));
    let (empty, full) = (empty.expect("measured"), full.expect("measured"));
    let cost = empty.cost_ns.expect("a pair");
    // The drift of 500 ns is in the hops, and in no difference.
    assert_eq!((empty.hop_ns.value, cost.value), (1_250.0, 700.0));
    assert_eq!(cost.interval.map(|interval| (interval.low, interval.high)), Some((700.0, 700.0)));
    assert!(
        empty
            .hop_ns
            .interval
            .is_some_and(|interval| interval.low < 1_000.0 && interval.high > 1_500.0)
    );
    assert_eq!((empty.indirect_ns, empty.hops), (None, 12));
    assert_eq!(full.cost_ns.expect("a pair").value, 1_200.0);
    assert_eq!(full.indirect_ns.expect("an empty one").value, 500.0);
    let without: Vec<_> =
        found.without.iter().map(|point| (point.bytes, point.hop_ns.value)).collect();
    assert_eq!(without, [(0, 550.0), (4096, 650.0)]);
    assert_eq!(found.tokens, [12, 0]);
    assert_eq!((found.events_compared, empty.events_ns), (false, None));
}

#[test]
fn rounds_with_events_show_only_what_events_cost() {
    let made: &[Made<'_>] = &[
        (0, 0, true, &[300]),
        (2, 0, true, &[1_000]),
        (2, 0, false, &[1_400]),
        (0, 0, false, &[300]),
    ];
    let found = analyzed(made, true);
    let point = found.point((Partners::Processes, 2), 0).expect("measured");
    assert_eq!(point.cost_ns.expect("a pair").value, 700.0);
    assert_eq!(point.events_ns.expect("a pair").value, 400.0);
    assert!(found.events_compared);
    // Without any events all rounds are alike.
    let found = analyzed(made, false);
    let point = found.point((Partners::Processes, 2), 0).expect("measured");
    assert_eq!((point.cost_ns.expect("a pair").value, point.events_ns), (900.0, None));
    assert_eq!((found.blocks, found.events_compared), (2, false));
}

#[test]
fn what_is_missing_is_absent_and_lost_tokens_count() {
    let found = analyzed(&[(4, 4096, true, &[1_000, 1_100])], true);
    let point = found.point((Partners::Processes, 4), 4096).expect("measured");
    assert_eq!((point.cost_ns, point.indirect_ns, point.hop_ns.interval), (None, None, None));
    assert_eq!(found.tokens, [2, 1]);
    // A run that was cut off has series without samples.
    let found = analyzed(&[(0, 0, true, &[300]), (2, 0, true, &[])], true);
    assert!(found.points.is_empty());
}
