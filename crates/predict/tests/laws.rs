//! The laws of one delay from recordings of delays whose rate is known.

use anechoic_lab::builders;
use anechoic_lab::trains::{exponential, random};
use anechoic_predict::laws::{Laws, OPTIONS, Observed, laws};
use anechoic_predict::phases::{Ask, Noise, predict};
use anechoic_recording::options::Answers;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{Detour, Fixed, Parameters, Recorder, Recording, Run, Sample, Series};
use std::path::Path;

const MS: f64 = 1e6;
const SHORTEST: u64 = 20;

/// Delays of one length on one CPU. Between two of them the CPU has `every_ns` of free time in the mean; one tick of the
/// counter is a ns.
struct Delays {
    length_ns: f64,
    every_ns: f64,
    number: usize,
}

impl Delays {
    /// The noise that they are.
    fn noise(&self) -> f64 {
        self.length_ns / (self.length_ns + self.every_ns)
    }

    fn run(method: &str, end: f64) -> Run {
        let cpus = vec![builders::cpu_run(0, (0, end as u64), SHORTEST)];
        Run { threshold_ticks: 200, ..builders::run(method, builders::clock(1_000_000_000), cpus) }
    }

    /// Records their detours.
    fn detours(&self, dir: &Path) -> Recording {
        let (mut random, mut now, mut detours) = (random(11), 0.0, vec![]);
        for _ in 0..self.number {
            now += exponential(self.every_ns, &mut random).max(1_000.0);
            let start_ticks = now as u64;
            now += self.length_ns;
            detours.push(Detour { cpu: 0, start_ticks, end_ticks: now as u64 + SHORTEST });
        }
        let run = Self::run("detours", now + self.every_ns);
        let mut recorder = Recorder::create(dir, &run).expect("a directory");
        recorder.append(&detours).expect("in order");
        recorder.finish(&run).expect("written");
        Recording::open(dir).expect("just written")
    }

    /// Records loops of 1 ms that they interrupt, and returns the share of loops that they delay.
    fn loops(&self, dir: &Path) -> (Recording, f64) {
        let (mut random, mut now, mut samples, mut delayed) = (random(12), 0.0, vec![], 0);
        let mut free = exponential(self.every_ns, &mut random);
        for index in 0..20_000 {
            let start_ticks = now as u64;
            now += MS;
            free -= MS;
            delayed += u32::from(free < 0.0);
            while free < 0.0 {
                now += self.length_ns;
                free += exponential(self.every_ns, &mut random);
            }
            let end_ticks = now as u64;
            samples.push(Sample { series: 0, index, cpu: 0, start_ticks, end_ticks, count: 1 });
        }
        let asked = samples.len() as u64;
        let series = Series {
            series: 0,
            method: "loops".into(),
            variant: "counter".into(),
            cpu: Some(0),
            tid: 100,
            policy: "other".into(),
            grain_ticks: MS as u64,
            fixed: Fixed::Work,
            asked,
            round: 0,
            parameters: Parameters { copies: 1, ..Parameters::default() },
        };
        let outcome = Outcome {
            series: 0,
            first_ticks: 0,
            last_ticks: now as u64,
            samples: asked,
            ended: Ended::Complete,
            ..Outcome::default()
        };
        let run = Run { outcomes: vec![outcome], ..Self::run("loops", now) };
        let mut recorder = Recorder::create(dir, &run).expect("a directory");
        recorder.append(&[series]).expect("in order");
        recorder.append(&samples).expect("in order");
        recorder.finish(&run).expect("written");
        (Recording::open(dir).expect("just written"), f64::from(delayed) / asked as f64)
    }
}

fn laws_from(recording: &Recording) -> Laws {
    let answers = Answers::read(OPTIONS, &[("grain", "1ms"), ("ranks", "1,16")]).expect("sound");
    laws(&answers, Some(Observed::from_recording(recording).expect("delays"))).expect("laws")
}

/// Returns half the distance that one in a hundred drawings of this number of delays exceeds, as a share.
fn chance(number: usize) -> f64 {
    2.6 / (number as f64).sqrt()
}

#[test]
fn one_rank_loses_the_noise_of_its_detours_however_large() {
    let place = tempfile::tempdir().expect("a place for it");
    let cases =
        [("small", 10_000.0, 4.0 * MS), ("a quarter", MS, 3.0 * MS), ("large", 2.0 * MS, 2.0 * MS)];
    for (name, length_ns, every_ns) in cases {
        let delays = Delays { length_ns, every_ns, number: 20_000 };
        let dir = place.path().join(name);
        let found = laws_from(&delays.detours(&dir));
        let grain = &found.grains[0];
        let near = |found: f64, expected: f64| {
            assert!(
                (found / expected - 1.0).abs() < chance(delays.number),
                "{name}: {found}, not {expected}"
            );
        };
        near(grain.p, MS / every_ns);
        near(grain.ranks[0].slowdown - 1.0, 1.0 / (1.0 - delays.noise()) - 1.0);
        // The detours themselves, without a law of one delay.
        let ask = Ask { grains_ns: vec![MS as u64], ranks: vec![1], ..Ask::default() };
        let phases =
            predict(&Noise::read(&[dir], None).expect("a recording"), &ask).expect("a prediction");
        let phases = phases.grains[0].cells[0].free_start.slowdown;
        let both = (grain.ranks[0].slowdown - 1.0) / (phases - 1.0);
        assert!((both - 1.0).abs() < 0.01, "{name}: {both} of {phases}");
    }
}

#[test]
fn p_of_loops_is_the_share_of_delayed_ones() {
    let place = tempfile::tempdir().expect("a place for it");
    for (name, every_ns) in [("rare", 50.0 * MS), ("a quarter", 3.3 * MS)] {
        let delays = Delays { length_ns: 2.0 * MS, every_ns, number: 0 };
        let (recording, delayed) = delays.loops(&place.path().join(name));
        let found = laws_from(&recording);
        let grain = &found.grains[0];
        assert!((grain.p / delayed - 1.0).abs() < 0.001, "{name}: {} of {delayed}", grain.p);
        let one = grain.ranks[0].slowdown - 1.0;
        let expected = delays.length_ns / every_ns;
        let reach = chance((20_000.0 * MS / every_ns) as usize);
        assert!((one / expected - 1.0).abs() < reach, "{name}: {one}, not {expected}");
    }
}
