//! Time lost by a slower pace between the detours, of made-up recordings whose truth is known.

use anechoic_analyze::blocks::bounds;
use anechoic_analyze::pace::Pace;
use anechoic_analyze::summarize;
use anechoic_lab::trains::{exponential, random, unit};
use anechoic_lab::two_cpus::{self, SECOND, SHORTEST};
use anechoic_recording::{Detour, LoopPace, Recorder, Recording, Run};
use rand_pcg::Pcg64Mcg;

/// Ticks of a millisecond.
const MS: u64 = SECOND / 1_000;
/// Ticks of a calm iteration.
const CALM: f64 = 25.0;

/// Returns the pace of two CPUs of which each went this many times slower than calm in each millisecond.
fn pace(slower: [&[f64]; 2]) -> Pace {
    pace_in(slower, |_| ())
}

fn pace_in(slower: [&[f64]; 2], change: impl Fn(&mut Run)) -> Pace {
    found(slower, change).expect("paces were recorded")
}

fn found(slower: [&[f64]; 2], change: impl Fn(&mut Run)) -> Option<Pace> {
    let place = tempfile::tempdir().expect("a place for it");
    let mut run = two_cpus::run(slower[0].len() as u64 * MS);
    change(&mut run);
    let dir = place.path().join("run");
    let mut recorder = Recorder::create(&dir, &run).expect("a new directory");
    for (cpu, slower) in (0..).zip(slower) {
        let row = |(at, slower): (u64, &f64)| {
            let iterations = (MS as f64 / CALM / slower) as u64;
            let work_ticks = (iterations as f64 * CALM * slower).round() as u64;
            LoopPace { cpu, start_ticks: at * MS, end_ticks: (at + 1) * MS, work_ticks, iterations }
        };
        let rows: Vec<LoopPace> = (0..).zip(slower).map(row).collect();
        recorder.append(&rows).expect("in order");
    }
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(&dir).expect("just written");
    summarize(&recording).expect("a summary").pace
}

/// Milliseconds of a calm loop, which vary by this share, normally distributed.
fn calm(count: usize, deviation: f64, random: &mut Pcg64Mcg) -> Vec<f64> {
    let normal = |random: &mut Pcg64Mcg| {
        (-2.0 * unit(random).ln()).sqrt() * (std::f64::consts::TAU * unit(random)).cos()
    };
    (0..count).map(|_| 1.0 + deviation * normal(random)).collect()
}

/// Of 400 series of two seconds none has slow time, also where milliseconds vary three times as much as in a guest on a shared
/// host.
#[test]
fn calm_loops_lose_nothing() {
    let mut random = random(1);
    for deviation in [0.0005, 0.0015] {
        for _ in 0..100 {
            let [one, two] = [(); 2].map(|()| calm(2_000, deviation, &mut random));
            let found = pace([&one, &two]);
            assert!(found.slow < 1e-5 && found.levels.is_empty(), "{found:?}");
            for cpu in &found.cpus {
                assert!((cpu.calm_ns / 10.0 - 1.0).abs() < 5e-4 && cpu.clearly_slow == 0.0);
                assert!(cpu.slower_than_class < 5e-4);
            }
        }
    }
}

/// Five milliseconds in two seconds that are slower by 1 %: 50 µs of lost time, within a fifth.
#[test]
fn steps_of_one_per_cent_over_five_milliseconds_are_found() {
    let mut random = random(2);
    let quiet = calm(2_000, 0.0005, &mut random);
    let found = (0..100).filter(|step| {
        let mut slow = calm(2_000, 0.0005, &mut random);
        let at = 20 + step * 19;
        slow[at..at + 5].iter_mut().for_each(|slower| *slower *= 1.01);
        let lost_s = pace([&quiet, &slow]).cpus[1].slow * 2.0;
        (lost_s / (0.005 * (1.0 - 1.0 / 1.01)) - 1.0).abs() <= 0.2
    });
    let found = found.count();
    assert!(found >= 95, "{found} of 100");
}

/// CPU 1 takes 1.2 times as long for 400 of each 1,000 ms: it does 1/1.2 of its work then.
#[test]
fn the_lost_time_is_what_calm_would_have_done() {
    let mut random = random(3);
    let quiet = calm(10_000, 0.0005, &mut random);
    let mut slow = quiet.clone();
    for second in slow.chunks_mut(1_000) {
        second[..400].iter_mut().for_each(|slower| *slower *= 1.2);
    }
    let found = pace([&quiet, &slow]);
    let expected = 0.4 * (1.0 - 1.0 / 1.2);
    let [calm, cpu] = &found.cpus[..] else { panic!("{found:?}") };
    assert!((cpu.slow - expected).abs() < 5e-4 && calm.slow < 1e-5, "{found:?}");
    assert!((found.slow - expected / 2.0).abs() < 5e-4 && (found.lost - found.slow).abs() < 1e-9);
    assert!((cpu.clearly_slow - 0.4).abs() < 1e-3 && (cpu.p99_slowdown - 0.2).abs() < 2e-3);
    assert!((found.step_s - 0.17).abs() < 1e-3 && cpu.by_time.len() == 59, "{found:?}");
    let sum: f64 = cpu.by_time.iter().sum();
    assert!((sum * found.step_s / 10.0 - expected).abs() < 2e-3, "{sum}");
    let interval = cpu.interval.expect("ten alike seconds");
    assert!(interval.low < expected && expected < interval.high, "{interval:?}");
}

/// Nobody knows what was calm on a CPU that was slow all the time, but another one of its class was faster.
#[test]
fn a_cpu_that_is_always_slow_is_compared_with_its_class() {
    let mut random = random(4);
    let one = calm(2_000, 0.0005, &mut random);
    let two: Vec<f64> = one.iter().map(|slower| slower * 1.1).collect();
    let found = pace([&one, &two]);
    let by: Vec<f64> = found.cpus.iter().map(|cpu| cpu.slower_than_class).collect();
    assert!(by[0] == 0.0 && (by[1] - 0.1).abs() < 1e-3 && found.slow < 1e-5, "{found:?}");
    let of_two_classes = |run: &mut Run| run.cpus[1].class = "another".into();
    let found = pace_in([&one, &two], of_two_classes);
    assert!(found.cpus.iter().all(|cpu| cpu.slower_than_class == 0.0), "{found:?}");
}

#[test]
fn a_neighbour_that_begins_is_a_change_of_level() {
    let mut random = random(5);
    let quiet = calm(10_000, 0.0005, &mut random);
    let mut slow = quiet.clone();
    slow[4_000..].iter_mut().for_each(|slower| *slower *= 1.3);
    let found = pace([&quiet, &slow]);
    let [change] = &found.levels[..] else { panic!("{:?}", found.levels) };
    assert!((change.at_s - 4.0).abs() <= 0.02 && change.cpu == Some(1), "{change:?}");
    assert!(change.before < 1e-4 && (change.after - 0.5 * (1.0 - 1.0 / 1.3)).abs() < 1e-3);
}

/// Where some rows are missing nobody knows what was slow; where the threshold is long, interrupts would be; what a killed run
/// watched is known only up to its last detour.
#[test]
fn what_is_not_known_is_not_stated() {
    let whole = vec![1.0; 2_000];
    let longer = |run: &mut Run| run.cpus[1].last_ticks += 50 * MS;
    let coarse = |run: &mut Run| run.threshold_ticks = 2 * SECOND / 1_000_000;
    let killed = |run: &mut Run| run.cpus[1].iterations = 0;
    assert!(found([&whole, &whole], |_| ()).is_some());
    assert_eq!(found([&whole, &whole], longer), None);
    assert_eq!(found([&whole, &whole], coarse), None);
    assert_eq!(found([&whole, &whole], killed), None);
}

/// A recording of an earlier version has no paces.
#[test]
fn what_was_not_recorded_is_absent() {
    let place = tempfile::tempdir().expect("a place for it");
    let run = two_cpus::run(SECOND);
    let mut recorder = Recorder::create(place.path().join("run").as_path(), &run).expect("new");
    let detour = Detour { cpu: 0, start_ticks: 1_000, end_ticks: 2_000 + SHORTEST };
    recorder.append(&[detour]).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(&place.path().join("run")).expect("just written");
    assert_eq!(summarize(&recording).expect("a summary").pace, None);
}

/// Neighbours that come some times in a run of ten seconds, for 0.2 s on average: intervals are wrong in at most what they
/// state, or there is none; lower bounds likewise.
#[test]
fn bounds_of_few_slow_times_hold() {
    const PARTS: usize = 1_000;
    const PART: u64 = 1_000_000;
    let mut random = random(6);
    for expected in [0.1, 0.5, 1.0, 2.0, 5.0, 20.0] {
        let (mut given, mut wrong, mut above, runs) = (0, 0, 0, 2_000);
        // A fifth of the time is lost while a neighbour runs, which may have begun before the run.
        let truth = 0.2 * (1.0 - (-expected * 0.02_f64).exp());
        for _ in 0..runs {
            let mut busy = vec![0.0_f64; PARTS];
            let mut at = -5.0 + exponential(10.0 / expected, &mut random);
            while at < 10.0 {
                let to = at + exponential(0.2, &mut random);
                for (part, busy) in busy.iter_mut().enumerate() {
                    let from = part as f64 * 0.01;
                    *busy = (*busy + (to.min(from + 0.01) - at.max(from)).max(0.0) / 0.01).min(1.0);
                }
                at += exponential(10.0 / expected, &mut random);
            }
            let lost: Vec<u64> =
                busy.iter().map(|busy| (busy * 0.2 * PART as f64) as u64).collect();
            let found = bounds(&[&lost], PART);
            above += usize::from(found.at_least.is_some_and(|least| least > truth));
            if let Some(interval) = found.interval {
                given += 1;
                wrong += usize::from(truth < interval.low || truth > interval.high);
            }
        }
        let found =
            format!("{expected}: {given} intervals, {wrong} wrong; {above} above the truth");
        assert!(wrong <= given * 5 / 100 + 3 && above <= runs * 25 / 1_000, "{found}");
    }
}
