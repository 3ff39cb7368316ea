//! Wake-up latency of made-up recordings whose results are known.

use anechoic_analyze::gate::{
    Doubt, Gate, Outcome as Decided, RULES, Requirements, conclude, examine,
};
use anechoic_analyze::wakeup::longest::{Chosen, LongestWakeups, longest_wakeups};
use anechoic_analyze::wakeup::{Latencies, Wakeup, wakeup};
use anechoic_lab::builders::{self, clock, cpu_run};
use anechoic_lab::wakeups::{Block, record_with};
use anechoic_recording::run::Outcome;
use anechoic_recording::stop::{Kept, Stop, StopCondition};
use anechoic_recording::wakeup::Sleep;
use anechoic_recording::{Fixed, Parameters, Recorder, Recording, Sample, Series};
use std::path::Path;

/// Time between two expiries in ns, which are ticks here.
const INTERVAL: u64 = 1_000_000;

/// A block: CPU, whether events were off, and latency in ns and number of expiries of each wake-up.
type Made = (u32, bool, Vec<(u64, u64)>);

fn analyzed(blocks: &[Made]) -> Wakeup {
    let dir = tempfile::tempdir().expect("a directory");
    wakeup(&recorded(dir.path(), blocks, &[])).expect("a result")
}

/// Writes a recording of these blocks, and how many wake-ups of the first ones were lost.
fn recorded(dir: &Path, blocks: &[Made], lost: &[u64]) -> Recording {
    let mut run = builders::run("wakeup", clock(1_000_000_000), vec![]);
    let (mut all, mut samples, mut now) = (vec![], vec![], 1_000);
    for (series, (cpu, events_off, taken)) in (0..).zip(blocks) {
        let first_ticks = now;
        for (index, &(latency, count)) in (0..).zip(taken) {
            let (start_ticks, end_ticks) = (now, now + latency);
            samples.push(Sample { series, index, cpu: *cpu, start_ticks, end_ticks, count });
            now += count * INTERVAL;
        }
        let samples = taken.len() as u64;
        let (last_ticks, ended) = (now, anechoic_recording::run::Ended::Complete);
        run.outcomes.push(Outcome {
            series,
            first_ticks,
            last_ticks,
            samples,
            lost: lost.get(series as usize).copied().unwrap_or(0),
            ended,
            ..Outcome::default()
        });
        let sleep = Sleep {
            interval_ns: INTERVAL,
            offset_ns: 0,
            shallow: false,
            slack_ns: 0,
            late_ns: 100_000,
            waker: None,
        };
        all.push(Series {
            series,
            round: series,
            method: "wakeup".into(),
            variant: "clock_nanosleep".into(),
            cpu: Some(*cpu),
            tid: 100,
            policy: "fifo 80".into(),
            fixed: Fixed::Work,
            grain_ticks: INTERVAL,
            asked: samples,
            parameters: Parameters {
                sleep: Some(sleep),
                events_off: *events_off,
                ..Parameters::default()
            },
        });
        now += INTERVAL;
    }
    run.cpus = [0, 1].map(|cpu| cpu_run(cpu, (1_000, now), 0)).to_vec();
    run.end_ticks = now;
    samples.sort_by_key(|sample| (sample.cpu, sample.start_ticks));
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    recorder.append(&all).expect("in order");
    for cpu in [0, 1] {
        let of_cpu: Vec<Sample> =
            samples.iter().copied().filter(|sample| sample.cpu == cpu).collect();
        recorder.append(&of_cpu).expect("in order");
    }
    recorder.finish(&run).expect("there is space");
    Recording::open(dir).expect("just written")
}

/// Latencies from 1 to `number` µs, each once, in an order without a pattern.
fn ramp(number: u64) -> Vec<(u64, u64)> {
    let us = (0..number).map(|at| at * 7_919 % number + 1);
    us.map(|us| (us * 1_000, us * 1_000 / INTERVAL + 1)).collect()
}

fn row(found: &Wakeup, cpu: Option<u32>) -> &Latencies {
    found.rows.iter().find(|row| row.cpu == cpu).expect("a row")
}

#[test]
fn quantiles_are_those_of_the_samples_and_absent_where_these_are_too_few() {
    let us = |us: u64| Some(us as f64 * 1e3);
    let cases = [
        ("none", 0, [None; 4]),
        ("one", 1, [us(1), None, None, us(1)]),
        ("five", 5, [us(3), None, None, us(5)]),
        ("one too few for p99", 999, [us(500), None, None, us(999)]),
        ("enough for p99", 1_000, [us(500), us(990), None, us(1_000)]),
        ("enough for p99.9", 10_000, [us(5_000), us(9_900), us(9_990), us(10_000)]),
    ];
    for (name, number, expected) in cases {
        let found = analyzed(&[(0, false, ramp(number))]);
        let row = row(&found, Some(0));
        assert_eq!([row.p50_ns, row.p99_ns, row.p999_ns, row.max_ns], expected, "case: {name}");
        assert_eq!((row.samples, row.late), (number, number.saturating_sub(100)), "case: {name}");
        assert_eq!(found.worst.len() as u64, number.min(5), "case: {name}");
        assert_eq!(row.late_share.is_some(), number > 0, "case: {name}");
        assert_eq!(row.survival.last().map(|point| point.value), expected[3], "case: {name}");
    }
}

#[test]
fn cpus_are_also_added_up_and_events_compared_block_by_block() {
    let plain = |ns: u64, number: usize| vec![(ns, 1); number];
    // The machine becomes slower; events add 2 µs in each block.
    let blocks = [20_000, 30_000, 50_000].map(|ns| {
        [
            (0, false, plain(ns + 2_000, 8)),
            (0, true, plain(ns, 2)),
            (1, false, plain(ns + 4_000, 4)),
            (1, true, plain(ns, 1)),
        ]
    });
    let found = analyzed(&blocks.concat());
    let [first, second, all] = [Some(0), Some(1), None].map(|cpu| row(&found, cpu));
    assert_eq!([first.samples, second.samples, all.samples], [24, 12, 36]);
    let added = |row: &Latencies| row.events_ns.expect("compared").value;
    assert_eq!([added(first), added(second), added(all)], [2_000.0, 4_000.0, 3_000.0]);
    assert_eq!((all.min_ns, all.p50_ns), (Some(22_000.0), Some(32_000.0)));
    assert!(all.late == 0 && found.samples() == 36);
}

#[test]
fn expiries_that_a_late_thread_missed_are_overruns_and_its_wake_up_counts() {
    let mut taken = vec![(20_000, 1); 10];
    taken[4] = (3_500_000, 4);
    taken[9] = (150_000, 1);
    let found = analyzed(&[(1, false, taken)]);
    let row = row(&found, Some(1));
    assert_eq!((row.samples, row.overruns, row.late), (10, 3, 2));
    let first = &found.worst[0];
    assert_eq!((first.cpu, first.latency_ns, first.overruns), (1, 3_500_000.0, 3));
    let share = row.late_share.expect("known");
    assert!(share.low < 0.2 && share.high > 0.2, "{share:?}");
}

/// Judges a rule on 3,000 wake-ups of 20 µs on each CPU besides these, of which `lost` were lost.
fn gate(rule: &str, blocks: &[Made], lost: u64) -> Gate {
    let dir = tempfile::tempdir().expect("a directory");
    let plain = [0, 1].map(|cpu| (cpu, false, vec![(20_000, 1); 3_000]));
    let recording = recorded(dir.path(), &[&plain, blocks].concat(), &[lost]);
    let (id, limit) = rule.split_once(' ').expect("a rule and its limit");
    let rule = RULES.iter().find(|row| row.id == id).expect(id).read(limit).expect(limit);
    let (rules, required) = ([rule], Requirements::default());
    let examined = examine(&recording, &rules, &required, &mut |_| ()).expect("a readable table");
    conclude(vec![examined], &rules, required, None, vec![])
}

#[test]
fn a_gate_judges_every_wake_up_of_each_cpu() {
    let (pass, undecided, fail) = (Decided::Pass, Decided::Undecided, Decided::Fail);
    let late = |cpu, events_off, number| vec![(cpu, events_off, vec![(60_000, 1); number])];
    let cases = [
        ("max-wakeup 50us", vec![], 0, pass, 0, 0),
        ("max-wakeup 50us", vec![], 1, undecided, 0, 0),
        ("max-wakeup 50us", late(1, false, 1), 0, fail, 1, 1),
        // Those without events are wake-ups too.
        ("max-wakeup 50us", late(1, true, 3), 0, fail, 1, 3),
        ("max-wakeup 60us", late(1, true, 3), 0, pass, 1, 0),
        ("max-late >50us=1/1000", vec![], 0, pass, 0, 0),
        ("max-late >50us=1/1e6", vec![], 0, undecided, 0, 0),
        ("max-late >50us=1/1000", vec![], 1, undecided, 0, 0),
        ("max-late >50us=0.1%", late(0, false, 12), 0, undecided, 0, 12),
        ("max-late >50us=0.1%", late(1, false, 300), 0, fail, 1, 300),
        ("max-late >60us=0.1%", late(1, false, 300), 0, pass, 0, 0),
    ];
    for (rule, blocks, lost, expected, cpu, events) in cases {
        let gate = gate(rule, &blocks, lost);
        let decisive = gate.rules[0].decisive().expect("both CPUs were judged");
        assert_eq!(gate.outcome, expected, "{rule}, {lost} lost: {gate:#?}");
        assert_eq!((decisive.cpu, decisive.events), (Some(cpu), events), "{rule}: {gate:#?}");
        let samples: u64 =
            gate.rules[0].findings.iter().filter_map(|f| Some(f.wakeups?.samples)).sum();
        let more: usize = blocks.iter().map(|(.., taken)| taken.len()).sum();
        assert_eq!(samples, 6_000 + more as u64, "{rule}");
    }
}

/// A watch of an hour in which no wake-up was over 200 µs, of which the last second is kept: what it watched decides limits from
/// that condition on, and nothing else. Without what it watched a second would be too short for anything.
#[test]
fn a_watch_in_which_nothing_came_is_decided_by_what_was_watched() {
    let dir = tempfile::tempdir().expect("a directory");
    let (undecided, pass) = (Decided::Undecided, Decided::Pass);
    let dropped_ns = 3_600_000_000_000;
    let cases = [
        ("max-wakeup 200us", Some(dropped_ns), pass),
        ("max-wakeup 1ms", Some(dropped_ns), pass),
        ("max-wakeup 199us", Some(dropped_ns), undecided),
        ("max-late >200us=1/10", Some(dropped_ns), undecided),
        ("max-wakeup 200us", Some(1_000_000_000), undecided),
        ("max-wakeup 200us", None, undecided),
    ];
    for (number, (text, dropped_ns, expected)) in cases.into_iter().enumerate() {
        let block = Block::new(0, vec![20_000; 1_000]);
        let kept = dropped_ns.map(|dropped_ns| Kept { asked_ns: 1_000_000_000, dropped_ns });
        let stop = Stop { condition: StopCondition::Wakeup(200_000), met: None, kept };
        let recording = record_with(&dir.path().join(number.to_string()), &[block], |run| {
            run.stop_on = Some(stop);
        });
        let read = |text: &str| {
            let (id, limit) = text.split_once(' ').expect("a rule and its limit");
            RULES.iter().find(|row| row.id == id).expect(id).read(limit).expect(limit)
        };
        // Another rule for which the watch says nothing changes nothing.
        let (rules, required) = ([read(text), read("max-late >1us=1/10")], Requirements::default());
        let examined = examine(&recording, &rules, &required, &mut |_| ()).expect("readable");
        let gate = conclude(vec![examined], &rules, required, None, vec![]);
        assert_eq!(gate.rules[0].outcome, expected, "{text}, {dropped_ns:?}: {gate:#?}");
        let hours = gate.rules[0].decisive().map_or(0.0, |found| found.wall_ns as f64 / 3.6e12);
        assert_eq!(hours > 0.99, expected == pass, "{text}: {hours}");
    }
}

#[test]
fn rules_on_lost_time_are_not_judged_on_wake_ups_nor_few_of_these() {
    let cases = [
        ("max-noise 99%", vec![], Doubt::Latencies),
        ("max-rate >50us=1/s", vec![], Doubt::Latencies),
        ("max-detour 1s", vec![], Doubt::Latencies),
        ("max-wait 1s", vec![], Doubt::NoProgram),
    ];
    for (rule, blocks, doubt) in cases {
        let gate = gate(rule, &blocks, 0);
        assert_eq!(gate.outcome, Decided::Undecided, "{rule}");
        assert_eq!(gate.rules[0].doubts[0].doubt, doubt, "{rule}");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let recording = recorded(dir.path(), &[(0, false, vec![])], &[]);
    let rule = RULES.iter().find(|row| row.id == "max-wakeup").expect("listed").read("1s");
    let (rules, required) = ([rule.expect("a limit")], Requirements::default());
    let examined = examine(&recording, &rules, &required, &mut |_| ()).expect("a readable table");
    let gate = conclude(vec![examined], &rules, required, None, vec![]);
    assert_eq!(gate.outcome, Decided::Undecided);
    assert_eq!(gate.rules[0].doubts[0].doubt, Doubt::NotMeasured { cpu: Some(0) });
}

#[test]
fn the_longest_wake_ups_come_first_and_only_of_chosen_cpus() {
    let dir = tempfile::tempdir().expect("a directory");
    let blocks = [
        (0, false, vec![(20_000, 1), (900_000, 1), (30_000, 1)]),
        (1, false, vec![(2_500_000, 3), (40_000, 1)]),
        // Without events nothing is known of it.
        (0, true, vec![(5_000_000, 6)]),
    ];
    let recording = recorded(dir.path(), &blocks, &[]);
    let chosen = Chosen { most: 3, activities: 16, cpus: None, without: &[] };
    let found = longest_wakeups(&recording, &chosen).expect("readable");
    let lengths = |found: &LongestWakeups| -> Vec<u64> {
        found.wakeups.iter().map(|long| long.story.length_ns).collect()
    };
    assert_eq!((found.total, lengths(&found)), (5, vec![2_500_000, 900_000, 40_000]));
    assert_eq!(found.without_events, 1, "it is counted");
    assert_eq!((found.wakeups[0].overruns, found.wakeups[0].parts), (2, None));
    let on = Chosen { cpus: Some(&[0]), ..chosen };
    let found = longest_wakeups(&recording, &on).expect("readable");
    assert_eq!((found.total, lengths(&found)), (3, vec![900_000, 30_000, 20_000]));
    let absent = Chosen { cpus: Some(&[7]), ..chosen };
    assert!(longest_wakeups(&recording, &absent).is_err(), "CPU 7 was not measured");
    let without = Chosen { without: &["thread"], ..chosen };
    assert!(longest_wakeups(&recording, &without).is_err(), "no sources are known");
}
