//! How long spectra take, how often noise without a period has a line, and how small a train is found:
//! `cargo bench -p anechoic-analyze --bench spectrum -- [VALUES] [TRIALS]`.
//!
//! The goal is a million samples in less than 2 s. VALUES and TRIALS are those of a spectrum and of a kind of noise
//! for the false alarms.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

use anechoic_analyze::spectrum::{Input, Options, Spectrum, lines};
use anechoic_lab::trains::*;
use std::time::Instant;

/// Repetitions of each cell of the table of power.
const OF_POWER: u64 = 40;
/// How long the runs of that table are, in seconds.
const POWER_SECONDS: f64 = 10.0;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let number = |at: usize, usual: u64| arguments.get(at).map_or(usual, |a| a.parse().unwrap());
    speed();
    false_alarms(number(0, 1 << 14) as usize, number(1, 1000));
    power();
}

fn repetitions(starts_s: &[f64], excess_s: &[f64]) -> Spectrum {
    lines(&Input::Repetitions { starts_s, excess_s }, &Options::default())
}

fn windows(lost_s: &[f64]) -> Spectrum {
    lines(&Input::Windows { window_s: SURROGATE_STEP_S, lost_s }, &Options::default())
}

/// A million repetitions, windows and events with four trains in them, and without any.
fn speed() {
    let seconds = 100.0;
    for (name, trains) in [("four trains", &[250.0, 137.0, 1000.0, 3333.0][..]), ("none", &[])] {
        let mut random = random(8);
        let train = |(number, hz): (usize, &f64)| Train {
            phase: 0.37 + 0.17 * number as f64,
            ..Train::ticks(*hz)
        };
        let trains = trains.iter().enumerate().map(train);
        let mut parts: Vec<_> = trains.map(|train| train.play(seconds, &mut random)).collect();
        parts.push(scattered(200.0, seconds, &mut random));
        parts.push(bursts(3.0, seconds, &mut random));
        let noise = together(&parts);
        let (starts_s, excess_s) = fixed_work(&noise, 90e-6, seconds, &mut random);
        timed(&format!("repetitions, {name}"), || repetitions(&starts_s, &excess_s));
        let lost_s = fixed_time(&noise, SURROGATE_STEP_S, 1e-6, seconds, &mut random);
        timed(&format!("windows, {name}"), || windows(&lost_s));
        let starts_s: Vec<f64> = noise.iter().map(|e| e.0).filter(|&at| at < seconds).collect();
        let input =
            Input::Events { starts_s: &starts_s, lengths_s: None, between_s: (0.0, seconds) };
        timed(&format!("events, {name}"), || lines(&input, &Options::default()));
    }
}

fn timed(name: &str, spectrum: impl Fn() -> Spectrum) {
    let start = Instant::now();
    let found = spectrum();
    let took = start.elapsed().as_secs_f64();
    let rates: Vec<String> = found.lines.iter().map(|line| format!("{:.3}", line.hz)).collect();
    println!("{:>9} values, {name:<24} {took:5.2} s; lines at {}", found.values, rates.join(" "));
}

/// How many spectra of noise without a period have lines. Stated: 1 %.
fn false_alarms(values: usize, trials: u64) {
    for (name, make) in SURROGATES {
        let (mut window_alarms, mut repetition_alarms, mut event_alarms) = (0, 0, 0);
        for seed in 0..trials {
            let mut random = random(seed);
            let lost_s = make(values, &mut random);
            window_alarms += u64::from(!windows(&lost_s).lines.is_empty());
            let starts_s = starts(&lost_s);
            repetition_alarms += u64::from(!repetitions(&starts_s, &lost_s).lines.is_empty());
            let hit = starts_s.iter().zip(&lost_s).filter(|(_, lost)| **lost > 3e-6);
            let events_s: Vec<f64> = hit.map(|(at, _)| *at + 1e-4 * unit(&mut random)).collect();
            let input = Input::Events {
                starts_s: &events_s,
                lengths_s: None,
                between_s: (0.0, starts_s[values - 1] + 1e-3),
            };
            event_alarms += u64::from(!lines(&input, &Options::default()).lines.is_empty());
        }
        println!(
            "{trials} spectra of {values} values, {name}: with a line, of windows {window_alarms}, of repetitions \
             {repetition_alarms}, of events {event_alarms}"
        );
    }
}

/// How often a train is found among single interruptions and bursts, in ten seconds of fixed work of 100 µs.
fn power() {
    let lengths = [1e-6, 2e-6, 3e-6, 5e-6, 7e-6, 10e-6, 20e-6];
    let noises = [
        ("100 single/s", 100.0, 0.0),
        ("1000 single/s", 1e3, 0.0),
        ("5 bursts/s", 1e2, 5.0),
        ("50 bursts/s", 1e2, 50.0),
    ];
    println!("share of trains found, by length of their interrupts (µs, typical)");
    print!("{:>24}", "");
    lengths.iter().for_each(|length| print!("{:>6.0}", length * 1e6));
    println!();
    for (name, single_hz, bursts_hz) in noises {
        for hz in [137.0, 250.0, 1000.0, 3333.0] {
            print!("{name:>14} {hz:>6.0} Hz");
            for length_s in lengths {
                let found = (0..OF_POWER).filter(|&seed| {
                    let mut random = random(seed);
                    let train = Train { length_s, ..Train::ticks(hz) };
                    let mut parts = vec![train.play(POWER_SECONDS, &mut random)];
                    parts.push(scattered(single_hz, POWER_SECONDS, &mut random));
                    if bursts_hz > 0.0 {
                        parts.push(bursts(bursts_hz, POWER_SECONDS, &mut random));
                    }
                    let noise = together(&parts);
                    let (starts_s, excess_s) =
                        fixed_work(&noise, 100e-6, POWER_SECONDS, &mut random);
                    let found = repetitions(&starts_s, &excess_s);
                    found.lines.iter().any(|line| (line.hz / hz - 1.0).abs() < 1e-3)
                });
                print!("{:>6.2}", found.count() as f64 / OF_POWER as f64);
            }
            println!();
        }
    }
}
