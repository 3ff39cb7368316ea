//! Hand-made costs of ticks, what is left without them, and periods.

use super::samples::Part;
use anechoic_analyze::samples::figures::Point;
use anechoic_analyze::samples::subtraction::{
    Accounted, LARGE_NS, Left, Paced, SourceEffect, Step, Subtracted, Subtraction, Verdict,
};
use anechoic_analyze::samples::tick_overhead::{Overhead, TickOverhead};
use anechoic_analyze::spectrum::{Carrier, Durations, FigurePoint, Line, Regular, Spectrum};
use anechoic_analyze::stats::Interval;

/// What one tick costs: its handler, gaps around it, what else came along, and the rest.
pub fn ticks(direct_ns: f64, gap_ns: f64, other_ns: f64, indirect_ns: f64) -> Option<TickOverhead> {
    let overhead = |other_ns: f64| {
        let per_tick_ns = direct_ns + gap_ns + other_ns + indirect_ns;
        Overhead {
            repetitions: 124,
            baseline: 4_876,
            ticks_per_repetition: 1.0,
            per_tick_ns,
            interval: Some(Interval { low: per_tick_ns * 0.98, high: per_tick_ns * 1.02 }),
            direct_ns,
            gap_ns: Some(gap_ns),
            other_ns,
            indirect_ns,
            indirect_interval: Some(Interval { low: indirect_ns - 50.0, high: indirect_ns + 50.0 }),
        }
    };
    Some(TickOverhead {
        with_tick: 124,
        without_tick: 4_876,
        unknown: 0,
        ticks: 124,
        without_median_ns: Some(100_020.0),
        overhead: Some(overhead(other_ns)),
        clean: Some(overhead(0.0)),
        modes: None,
        direct_ns: 124.0 * direct_ns,
        gap_ns: Some(124.0 * gap_ns),
        share: 0.0037,
        known_ns: 496e6,
        interval: String::new(),
        not_available: vec![],
    })
}

/// Two trains of interrupts, and something at 10 Hz that nothing is known to carry.
pub fn spectrum() -> Spectrum {
    let carrier = |source: &str, name: &str, per_beat| Carrier {
        source: source.into(),
        name: name.into(),
        function: None,
        events: 2_500,
        concentration: 0.97,
        per_beat,
        fits: 0.98,
        noise: 0.0,
        durations: None,
    };
    let line = |hz, uncertainty_hz, over_background, noise: Option<f64>, carriers| Line {
        hz,
        uncertainty_hz,
        harmonics: 4,
        strongest_hz: hz,
        over_background,
        chance: 1e-9,
        noise,
        durations: noise.map(|_| Durations {
            count: 2_490,
            mean_ns: 15_212.0,
            p25_ns: 14_830.0,
            p50_ns: 15_040.0,
            p75_ns: 15_420.0,
        }),
        carriers,
    };
    let power = |hz: f64| {
        let peak = |at: f64, height: f64| height / (1.0 + ((hz - at) / 0.8).powi(2));
        1.5 + (hz * 7.3).sin() + peak(10.0, 60.0) + peak(137.0, 80.0) + peak(250.0, 4_100.0)
    };
    Spectrum {
        false_alarm: 0.001,
        values: 10_000,
        span_s: 10.0,
        resolution_hz: Some(0.1),
        lowest_hz: Some(0.5),
        highest_hz: Some(500.0),
        tested: 9_990,
        threshold: Some(14.2),
        cap_ns: Some(120_000.0),
        lines: vec![
            line(10.0, 0.02, 61.0, None, vec![]),
            line(
                137.04,
                0.004,
                80.0,
                Some(0.000_4),
                vec![carrier("device-irq", "virtio3-input.0", 0.62)],
            ),
            line(
                250.001_2,
                0.000_7,
                4_100.0,
                Some(0.003_7),
                vec![carrier("timer-tick", "", 0.999)],
            ),
        ],
        figure: (1..=240)
            .map(|band| f64::from(band) * 500.0 / 240.0)
            .map(|hz| if (hz - 137.0).abs() < 1.05 { 137.0 } else { hz })
            .map(|hz| FigurePoint { hz, over_background: power(hz) })
            .collect(),
        regular: vec![Regular {
            source: "timer-tick".into(),
            name: String::new(),
            hz: 250.001,
            events: 2_500,
        }],
        not_visible: vec![
            "periods above 500 Hz: a window of 1 ms holds more than one of their beats".into(),
        ],
    }
}

/// What is left of samples of these parts.
pub fn subtraction(parts: &[Part]) -> Subtraction {
    let taken = [
        Subtracted::Nothing,
        Subtracted::Ticks,
        Subtracted::Network,
        Subtracted::AllSources,
        Subtracted::Gaps,
        Subtracted::VmOrHardware,
        Subtracted::NotAttributable,
    ];
    let judged: Vec<&Part> = parts.iter().filter(|part| part.host <= LARGE_NS as f64).collect();
    let left = |step: usize| {
        let rest = |part: &&Part| {
            let all = [part.direct * 0.9, 0.0, part.direct * 0.1, part.gaps, part.host, 0.0];
            part.work + all.iter().skip(step).sum::<f64>()
        };
        let mut values: Vec<f64> = judged.iter().map(rest).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let raw = Spread::new(&left(0));
    let steps: Vec<Step> = taken
        .iter()
        .enumerate()
        .map(|(step, &taken)| Step { taken, all: None, judged: Some(left_over(&left(step), &raw)) })
        .collect();
    let undisturbed: Vec<f64> = {
        let quiet = judged.iter().filter(|part| part.direct == 0.0 && part.host == 0.0);
        let mut values: Vec<f64> = quiet.map(|part| part.work).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (quiet, last) = (Spread::new(&undisturbed), Spread::new(&left(4)));
    let accounted = |raw_ns: f64, left_ns: f64, undisturbed_ns: f64| Accounted {
        raw_ns,
        left_ns,
        undisturbed_ns: Some(undisturbed_ns),
        share: Some(((raw_ns - left_ns) / (raw_ns - undisturbed_ns)).min(1.0)),
    };
    let p99_p1 = accounted(raw.p99_p1, last.p99_p1, quiet.p99_p1);
    let source = |source: &str, name: &str, samples, direct_ns, falls| SourceEffect {
        source: source.into(),
        name: name.into(),
        samples,
        direct_ns,
        gap_ns: Some(direct_ns * 3.1),
        p99_p1_fall_ns: Some(falls),
        iqr_fall_ns: Some(falls * 0.02),
        deviation_fall_ns: Some(falls * 0.4),
        alone: samples / 2,
        indirect_ns: Some(212.0),
        indirect_interval: Some(Interval { low: 180.0, high: 245.0 }),
    };
    // Less of the quartiles' distance is accounted for than of p99 − p1.
    let paced = [
        accounted(raw.iqr * 0.9, last.iqr * 0.9 + raw.iqr * 0.05, quiet.iqr * 0.9),
        accounted(raw.p99_p1 * 0.9, last.p99_p1 * 0.7, quiet.p99_p1 * 0.68),
    ];
    Subtraction {
        samples: parts.len() as u64,
        judged: judged.len() as u64,
        left_out_large: (parts.len() - judged.len()) as u64,
        large_ns: LARGE_NS,
        left_out_unknown: 0,
        undisturbed: undisturbed.len() as u64,
        steps,
        sources: vec![
            source("timer-tick", "", 5_010, 3_700.0, 15_300.0),
            source("thread", "kworker/1:1", 20, 31_000.0, 410.0),
            source("softirq", "RCU", 812, 1_210.0, 40.0),
        ],
        verdict: Verdict {
            after: Subtracted::Gaps,
            accounted: p99_p1.share,
            iqr: Some(accounted(raw.iqr, last.iqr, quiet.iqr)),
            p99_p1: Some(p99_p1),
            paced: Some(Paced {
                samples: judged.len() as u64 - 4,
                accounted: paced[0].share,
                iqr: paced[0],
                p99_p1: paced[1],
            }),
            residual_ns: Some(30.0),
            counter_step_ns: 10.0,
            unseen_ns: Some(260.0),
        },
        network: vec![],
        outside_ns: 0.0,
        overdrawn: 0,
        not_available: vec![],
    }
}

struct Spread {
    deviation: f64,
    iqr: f64,
    p99_p1: f64,
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl Spread {
    fn new(sorted: &[f64]) -> Self {
        let mean = mean(sorted);
        let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
        Self {
            deviation: (squares / sorted.len() as f64).sqrt(),
            iqr: at(sorted, 0.75) - at(sorted, 0.25),
            p99_p1: at(sorted, 0.99) - at(sorted, 0.01),
        }
    }
}

fn left_over(sorted: &[f64], raw: &Spread) -> Left {
    let spread = Spread::new(sorted);
    let explained = |left: f64, raw: f64| Some(1.0 - left / raw);
    let shares = [0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.76, 0.78, 0.8, 0.85, 0.9, 0.95];
    let shares = shares.into_iter().chain([0.98, 0.99, 0.995, 0.999, 1.0]);
    Left {
        samples: sorted.len() as u64,
        mean_ns: mean(sorted),
        standard_deviation_ns: spread.deviation,
        iqr_ns: spread.iqr,
        p99_p1_ns: spread.p99_p1,
        min_ns: sorted[0],
        max_ns: sorted[sorted.len() - 1],
        variance_explained: explained(spread.deviation.powi(2), raw.deviation.powi(2)),
        iqr_explained: explained(spread.iqr, raw.iqr),
        p99_p1_explained: explained(spread.p99_p1, raw.p99_p1),
        curve: shares.map(|share| Point { value: at(sorted, share), share }).collect(),
    }
}
