//! What was short in made-up recordings of probes, whose truth is known.

use anechoic_analyze::Probed;
use anechoic_analyze::probed::{Shortage, probed};
use anechoic_lab::builders::{self, clock, cpu_run};
use anechoic_lab::trains::{random, unit};
use anechoic_recording::probes::{
    ADDITIONS, CHAIN, FIRST_LEVEL, LAST_LEVEL, MEMORY, Probe, SECOND_LEVEL, STREAM,
};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Fixed, Parameters, Problem, Recorder, Recording, Sample, Series};

/// A tick is a nanosecond.
const MS: u64 = 1_000_000;
/// The probes with the calm time of a step in ticks.
const PROBES: [(&str, u64); 7] = [
    (CHAIN, 60_000),
    (ADDITIONS, 33_000),
    (FIRST_LEVEL, 48_000),
    (SECOND_LEVEL, 53_000),
    (LAST_LEVEL, 20_000),
    (MEMORY, 55_000),
    (STREAM, 15_000),
];

/// How much longer each probe takes.
type Slower = [f64; 7];

const CALM: Slower = [1.0; 7];
const STREAMS: Slower = [1.0, 1.0, 1.0, 1.0, 1.9, 1.6, 1.6];
const CLOCK: Slower = [1.2, 1.2, 1.2, 1.2, 1.05, 1.0, 1.0];

fn probes() -> Vec<Probe> {
    let probe = |&(name, _): &(&str, u64)| Probe {
        name: name.into(),
        kernel: "made up".into(),
        bytes: 0,
        step_bytes: 0,
        iterations: 100,
        operations: 1_000,
        warms_up: false,
    };
    PROBES.iter().map(probe).collect()
}

/// Records CPUs whose probes are slower in each tenth of a second by this; a turn of a probe comes every 4 ms.
fn recorded(cpus: &[Vec<Slower>], deviation: f64) -> Result<Probed, Problem> {
    recorded_in_turns(cpus, deviation, 25)
}

/// The same with this number of turns in a tenth of a second.
fn recorded_in_turns(cpus: &[Vec<Slower>], deviation: f64, turns: u64) -> Result<Probed, Problem> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = builders::run("pace", clock(1_000_000_000), vec![]);
    let mut random = random(7);
    let (mut all, mut samples) = (vec![], vec![]);
    for (number, windows) in (0_u32..).zip(cpus) {
        let (mut index, first) = (0, 1_000);
        for (window, slower) in (0..).zip(windows) {
            for turn in 0..turns {
                for ((_, calm), slower) in PROBES.iter().zip(slower) {
                    let varied = 1.0 + deviation * (unit(&mut random) - 0.5);
                    let count = (*calm as f64 * slower * varied) as u64;
                    let at = first + window * 100 * MS + turn * 4 * MS;
                    let start_ticks = at + index % 7 * 500_000;
                    let end_ticks = start_ticks + 9 * count.min(50_000);
                    samples.push(Sample {
                        series: number,
                        index,
                        cpu: number,
                        start_ticks,
                        end_ticks,
                        count,
                    });
                    index += 1;
                }
            }
        }
        let last_ticks = first + windows.len() as u64 * 100 * MS;
        run.outcomes.push(Outcome {
            series: number,
            first_ticks: first,
            last_ticks,
            samples: index,
            ..Outcome::default()
        });
        run.cpus.push(cpu_run(number, (first, last_ticks), 20));
        run.end_ticks = last_ticks;
        all.push(Series {
            series: number,
            round: 0,
            method: "pace".into(),
            variant: "probes".into(),
            cpu: Some(number),
            tid: 100,
            policy: "other".into(),
            fixed: Fixed::Work,
            grain_ticks: 0,
            asked: 0,
            parameters: Parameters { copies: 1, probes: Some(probes()), ..Parameters::default() },
        });
    }
    let mut recorder = Recorder::create(dir.path(), &run).expect("a new directory");
    recorder.append(&all).expect("in order");
    recorder.append(&samples).expect("in order");
    recorder.finish(&run).expect("there is space");
    probed(&Recording::open(dir.path()).expect("just written"))
}

/// Of runs of ten seconds none has a shortage, also where samples vary by up to a fifth: then work in the core must be slower by
/// more.
#[test]
fn where_nothing_was_short_nothing_is_named() {
    for deviation in [0.02, 0.2, 0.4] {
        let found = recorded(&[vec![CALM; 100], vec![CALM; 100]], deviation).expect("a result");
        assert!(found.cpus.iter().all(|cpu| cpu.short.is_empty()), "{deviation}: {:?}", found.cpus);
        assert_eq!(found.cpus[1].windows, 100);
    }
}

#[test]
fn shares_and_slowdowns_are_those_of_the_windows() {
    let windows = |slow: Slower, from: usize| {
        (0..100).map(|at| if (from..from + 30).contains(&at) { slow } else { CALM }).collect()
    };
    let found = recorded(&[windows(STREAMS, 20), windows(CLOCK, 40)], 0.02).expect("a result");
    let [first, second] = &found.cpus[..] else { panic!("two CPUs: {found:?}") };
    let ([stream], [slow]) = (&first.short[..], &second.short[..]) else {
        panic!("one each: {found:?}")
    };
    assert_eq!((stream.what, slow.what), (Shortage::Bandwidth, Shortage::Clock));
    for short in [stream, slow] {
        assert!((short.share - 0.3).abs() < 1e-9, "{short:?}");
        assert_eq!(short.on_all, Some(0.0), "each had its own");
    }
    assert!((stream.slower - 0.6).abs() < 0.02 && (slow.slower - 0.2).abs() < 0.02, "{found:?}");
    let when = |by_time: &[Option<f64>]| {
        by_time.iter().position(|share| share.is_some_and(|share| share > 0.0))
    };
    assert_eq!((when(&stream.by_time), when(&slow.by_time)), (Some(10), Some(20)));
    assert!((found.step_s - 0.2).abs() < 1e-9 && stream.by_time.len() == 50, "{found:?}");
    let chain = &second.probes[0];
    assert!((chain.calm_ns - 60.0).abs() < 1.0, "{chain:?}");
    assert!(
        (chain.slower - 0.06).abs() < 0.01 && (chain.p99_slower - 0.2).abs() < 0.02,
        "{chain:?}"
    );
    // All CPUs at the same time.
    let both = recorded(&[windows(STREAMS, 20), windows(STREAMS, 35)], 0.02).expect("a result");
    assert_eq!(both.cpus[0].short[0].on_all, Some(0.5));
    let alone = recorded(&[windows(STREAMS, 20)], 0.02).expect("a result");
    assert_eq!(alone.cpus[0].short[0].on_all, None);
}

/// A run of one window has too little; without samples nothing is known.
#[test]
fn few_windows_have_no_interval() {
    let found = recorded(&[vec![STREAMS, CALM, CALM]], 0.0).expect("a result");
    let [short] = &found.cpus[0].short[..] else { panic!("{found:?}") };
    assert_eq!((short.interval, found.cpus[0].windows), (None, 3));
    let none = recorded(&[vec![]], 0.0).expect("a result");
    assert_eq!((none.cpus[0].windows, &none.cpus[0].probes[..]), (0, &[][..]), "nothing is known");
}

/// Neighbours that stream for half a second on average, some times in a run of twenty: the interval of their share of the time
/// has the truth in 95 of 100 runs, or there is none.
#[test]
fn intervals_of_shares_hold_for_few_shortages() {
    const RUNS: u32 = 60;
    let mut random = random(8);
    for expected in [0.5, 2.0, 5.0, 20.0] {
        let truth = 0.5 / (0.5 + 20.0 / expected);
        let (mut given, mut wrong) = (0, 0);
        for _ in 0..RUNS {
            let (mut at, mut busy) = (-60.0, false);
            let mut windows = vec![CALM; 200];
            while at < 20.0 {
                let mean = if busy { 0.5 } else { 20.0 / expected };
                let to = at - mean * unit(&mut random).ln();
                let touched = |(number, _): &(usize, &mut Slower)| {
                    let begins = *number as f64 * 0.1;
                    // A window belongs to what has most of it.
                    busy && begins + 0.05 >= at && begins + 0.05 < to
                };
                windows
                    .iter_mut()
                    .enumerate()
                    .filter(touched)
                    .for_each(|(_, slow)| *slow = STREAMS);
                (at, busy) = (to, !busy);
            }
            let found = recorded_in_turns(&[windows], 0.02, 3).expect("a result");
            let interval = found.cpus[0].short.first().and_then(|short| short.interval);
            if let Some(interval) = interval {
                given += 1;
                wrong += u32::from(truth < interval.low || truth > interval.high);
            }
        }
        // Two and a half standard deviations more than one in twenty of all.
        assert!(wrong <= given / 20 + 4, "{expected}: {wrong} of {given} are wrong");
    }
}
