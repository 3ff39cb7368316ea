//! How long spectra take, how often they raise a false alarm, and how weak a train they find:
//! `cargo bench -p anechoic-analyze --bench spectrum`. With `-- explore` the lines of made-up noise.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

#[path = "../tests/spectrum_trains/mod.rs"]
mod spectrum_trains;

use anechoic_analyze::spectrum::{Input, Options, Spectrum, lines};
use spectrum_trains::*;
use std::time::Instant;

fn show(name: &str, spectrum: &Spectrum, took: f64) {
    println!(
        "{name}: {} values {:.2} s res {:?} high {:?} thr {:.1} cap {:?} [{:.0} ms]",
        spectrum.values,
        spectrum.span_s,
        spectrum.resolution_hz,
        spectrum.highest_hz,
        spectrum.threshold.unwrap_or(0.0),
        spectrum.cap_ns,
        took * 1e3
    );
    for line in &spectrum.lines {
        println!(
            "   {:10.4} ± {:.5} Hz, harmonics {}, {:.0}x at {:.1}, chance {:.1e}, noise {:.5}, {:?}",
            line.hz,
            line.uncertainty_hz,
            line.harmonics,
            line.over_background,
            line.strongest_hz,
            line.chance,
            line.noise.unwrap_or(0.0),
            line.durations.as_ref().map(|d| (
                d.count,
                d.mean_ns as u64,
                d.p25_ns as u64,
                d.p75_ns as u64
            ))
        );
    }
}

fn false_alarms(count: usize, trials: u64) {
    for (name, make) in SURROGATES {
        let t = Instant::now();
        let mut made = 0.0;
        let (mut any_w, mut any_r, mut hz) = (0, 0, vec![]);
        for seed in 0..trials {
            let mut random = random(seed);
            let m = Instant::now();
            let values = make(count, &mut random);
            made += m.elapsed().as_secs_f64();
            let s = lines(
                &Input::Windows { window_s: SURROGATE_STEP_S, lost_s: &values },
                &Options::default(),
            );
            any_w += u64::from(!s.lines.is_empty());
            hz.extend(s.lines.iter().map(|l| l.hz.round()));
            // The same as durations of fixed work.
            let mut at = 0.0;
            let starts: Vec<f64> = values
                .iter()
                .map(|v| {
                    let now = at;
                    at += SURROGATE_STEP_S + v;
                    now
                })
                .collect();
            let s = lines(
                &Input::Repetitions { starts_s: &starts, excess_s: &values },
                &Options::default(),
            );
            any_r += u64::from(!s.lines.is_empty());
        }
        println!(
            "{count} {name}: windows {any_w}, repetitions {any_r} of {trials}; {:.1} s, made {made:.1} s {:?}",
            t.elapsed().as_secs_f64(),
            &hz[..hz.len().min(20)]
        );
    }
}

fn recording(dir: &str) {
    let recording = anechoic_recording::Recording::open(std::path::Path::new(dir)).unwrap();
    let t = Instant::now();
    let mut measured = anechoic_analyze::measure(&recording).unwrap();
    let read = t.elapsed().as_secs_f64();
    let t = Instant::now();
    anechoic_analyze::spectrum::add_spectra(&recording, &mut measured).unwrap();
    println!("measure {read:.2} s, spectra {:.2} s", t.elapsed().as_secs_f64());
    for series in &measured.series {
        let Some(s) = &series.spectrum else { continue };
        show(
            &format!(
                "series {} {} cpu {:?} {}",
                series.facts.number, series.facts.variant, series.facts.cpu, series.facts.policy
            ),
            s,
            0.0,
        );
        for line in &s.lines {
            for c in &line.carriers {
                println!(
                    "        {:9.3}: {} {:?} {:?} events {} conc {:.3} per beat {:.3} fits {:.3} p25 {:?} p75 {:?}",
                    line.hz,
                    c.source,
                    c.name,
                    c.function,
                    c.events,
                    c.concentration,
                    c.per_beat,
                    c.fits,
                    c.durations.as_ref().map(|d| d.p25_ns),
                    c.durations.as_ref().map(|d| d.p75_ns)
                );
            }
        }
        for n in &s.not_visible {
            println!("        not visible: {n}");
        }
    }
}

fn main() {
    if let Some(dir) = std::env::args().skip_while(|a| a != "recording").nth(1) {
        return recording(&dir);
    }
    if std::env::args().any(|a| a == "one") {
        let times: Vec<f64> = (0..4096).map(f64::from).collect();
        for (n, to) in [(600, 700.0), (4096, 5000.0), (600, 600.0), (4096, 4096.0)] {
            let t = Instant::now();
            let s = lines(
                &Input::Events { starts_s: &times[..n], lengths_s: None, between_s: (0.0, to) },
                &Options::default(),
            );
            show(&format!("1 Hz {n} {to}"), &s, t.elapsed().as_secs_f64());
        }
        return;
    }
    let args: Vec<String> = std::env::args().collect();
    if args.iter().any(|a| a == "fa") {
        let count: usize = args[2].parse().unwrap();
        let trials = args[3].parse().unwrap();
        return false_alarms(count, trials);
    }
    let seconds = 10.0;
    for hzs in [
        &[250.0][..],
        &[250.0, 137.0],
        &[250.0, 1000.0],
        &[250.0, 3333.0],
        &[250.0, 1000.0, 137.0, 3333.0],
        &[],
    ] {
        for grain in [100e-6, 250e-6, 1e-3] {
            let mut random = random(7);
            let mut parts: Vec<_> = hzs
                .iter()
                .enumerate()
                .map(|(i, &hz)| {
                    Train { phase: 0.37 + 0.11 * i as f64, ..Train::of(hz) }
                        .play(seconds, &mut random)
                })
                .collect();
            parts.push(scattered(200.0, seconds, &mut random));
            parts.push(bursts(3.0, seconds, &mut random));
            let all = together(&parts);
            let (starts, excess) = fixed_work(&all, grain, seconds, &mut random);
            let t = Instant::now();
            let s = lines(
                &Input::Repetitions { starts_s: &starts, excess_s: &excess },
                &Options::default(),
            );
            show(&format!("FWQ {grain} {hzs:?}"), &s, t.elapsed().as_secs_f64());
            let lost = fixed_time(&all, grain, 0.5e-6, seconds, &mut random);
            let t = Instant::now();
            let s = lines(&Input::Windows { window_s: grain, lost_s: &lost }, &Options::default());
            show(&format!("FTQ {grain} {hzs:?}"), &s, t.elapsed().as_secs_f64());
        }
        let mut random = random(7);
        let mut parts: Vec<_> = hzs
            .iter()
            .enumerate()
            .map(|(i, &hz)| {
                Train { phase: 0.37 + 0.11 * i as f64, ..Train::of(hz) }.play(seconds, &mut random)
            })
            .collect();
        parts.push(scattered(200.0, seconds, &mut random));
        parts.push(bursts(3.0, seconds, &mut random));
        let all = together(&parts);
        let starts: Vec<f64> = all.iter().map(|e| e.0).filter(|&at| at < seconds).collect();
        let t = Instant::now();
        let s = lines(
            &Input::Events { starts_s: &starts, lengths_s: None, between_s: (0.0, seconds) },
            &Options::default(),
        );
        show(&format!("events {hzs:?}"), &s, t.elapsed().as_secs_f64());
    }
    let seconds = 100.0;
    let mut random = random(8);
    let parts = [
        Train::of(250.0).play(seconds, &mut random),
        Train::of(1000.0).play(seconds, &mut random),
        Train::of(137.0).play(seconds, &mut random),
        scattered(200.0, seconds, &mut random),
        bursts(3.0, seconds, &mut random),
    ];
    let all = together(&parts);
    let (starts, excess) = fixed_work(&all, 97e-6, seconds, &mut random);
    let t = Instant::now();
    let s =
        lines(&Input::Repetitions { starts_s: &starts, excess_s: &excess }, &Options::default());
    show("million", &s, t.elapsed().as_secs_f64());
}
