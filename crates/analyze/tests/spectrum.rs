//! Lines of made-up noise: found where they are, and nowhere else.

use anechoic_analyze::spectrum::{Input, Options, SourceEvents, Spectrum, carriers, lines};
use anechoic_lab::trains::*;

/// Noise around the trains: single interruptions and bursts.
fn with_noise(trains: &[Train], seconds: f64, seed: u64) -> Vec<Interruption> {
    let mut random = random(seed);
    let mut parts: Vec<_> = trains.iter().map(|train| train.play(seconds, &mut random)).collect();
    parts.push(scattered(200.0, seconds, &mut random));
    parts.push(bursts(3.0, seconds, &mut random));
    together(&parts)
}

/// How noise is seen: by fixed work, by fixed time, or by a loop that sees every interruption.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Work(f64),
    Time(f64),
    Events,
}

fn spectrum(seen: Seen, noise: &[Interruption], seconds: f64) -> Spectrum {
    let mut random = random(99);
    let options = Options::default();
    match seen {
        Seen::Work(grain_s) => {
            let (starts_s, excess_s) = fixed_work(noise, grain_s, seconds, &mut random);
            lines(&Input::Repetitions { starts_s: &starts_s, excess_s: &excess_s }, &options)
        }
        Seen::Time(window_s) => {
            let lost_s = fixed_time(noise, window_s, 1e-6, seconds, &mut random);
            lines(&Input::Windows { window_s, lost_s: &lost_s }, &options)
        }
        Seen::Events => {
            let inside = noise.iter().filter(|(at, _)| *at < seconds);
            let (starts_s, lengths): (Vec<f64>, Vec<f64>) = inside.copied().unzip();
            let between_s = (0.0, seconds);
            let lengths_s = Some(lengths.as_slice());
            lines(&Input::Events { starts_s: &starts_s, lengths_s, between_s }, &options)
        }
    }
}

fn rates(spectrum: &Spectrum) -> Vec<f64> {
    spectrum.lines.iter().map(|line| line.hz).collect()
}

#[test]
fn trains_are_found_and_nothing_else() {
    use Seen::{Events, Time, Work};
    let train = Train::ticks;
    let late = |hz, phase| Train { phase, ..Train::ticks(hz) };
    let skipping = |hz| Train { skipped: 0.3, ..Train::ticks(hz) };
    let small = |hz| Train { length_s: 4e-6, ..Train::ticks(hz) };
    type Case<'a> = (&'a str, &'a [Train], &'a [Seen], &'a [f64]);
    let cases: &[Case<'_>] = &[
        ("nothing", &[], &[Work(1e-4), Work(1e-3), Time(1e-4), Time(1e-3), Events], &[]),
        (
            "the tick",
            &[train(250.0)],
            &[Work(1e-4), Work(2.5e-4), Work(1e-3), Time(1e-4), Time(2.5e-4), Time(1e-3), Events],
            &[250.0],
        ),
        (
            "a tick off the grid of windows",
            &[train(249.937)],
            &[Work(1e-4), Time(1e-4)],
            &[249.937],
        ),
        (
            "137 Hz beside the tick",
            &[train(250.0), train(137.0)],
            &[Work(1e-4), Work(1e-3), Time(1e-4), Time(1e-3), Events],
            &[137.0, 250.0],
        ),
        (
            "1,000 Hz, a multiple of the tick",
            &[train(250.0), late(1000.0, 0.9)],
            &[Work(1e-4), Work(2.5e-4), Time(1e-4), Time(2.5e-4), Events],
            &[250.0, 1000.0],
        ),
        (
            "the same, where one in four meets a tick",
            &[train(250.0), late(1000.0, 0.48)],
            &[Work(1e-4), Time(1e-4), Events],
            &[250.0, 1000.0],
        ),
        (
            "3,333 Hz",
            &[train(250.0), train(3333.0)],
            &[Work(1e-4), Time(1e-4), Events],
            &[250.0, 3333.0],
        ),
        (
            "all together",
            &[train(250.0), train(137.0), late(1000.0, 0.9), train(3333.0)],
            &[Work(1e-4), Time(1e-4), Events],
            &[137.0, 250.0, 1000.0, 3333.0],
        ),
        (
            "1,000 Hz is beyond a grain of 1 ms",
            &[train(250.0), late(1000.0, 0.9)],
            &[Work(1e-3), Time(1e-3)],
            &[250.0],
        ),
        (
            "three beats of ten are skipped",
            &[skipping(250.0)],
            &[Work(1e-4), Time(1e-4), Events],
            &[250.0],
        ),
        ("small interrupts", &[small(250.0)], &[Work(1e-4), Events], &[250.0]),
    ];
    let seconds = 10.0;
    for (name, trains, ways, expected) in cases {
        let noise = with_noise(trains, seconds, 7);
        for &seen in *ways {
            let found = spectrum(seen, &noise, seconds);
            let near = |(hz, expected): (&f64, &f64)| (hz / expected - 1.0).abs() < 1e-4;
            let rates = rates(&found);
            assert!(
                rates.len() == expected.len() && rates.iter().zip(*expected).all(near),
                "case: {name}, {seen:?}: {rates:?}"
            );
            let resolution = found.resolution_hz.expect("there is a spectrum");
            assert!((resolution - 0.2).abs() < 0.01, "case: {name}, {seen:?}: {resolution} Hz");
        }
    }
}

#[test]
fn the_highest_frequency_is_that_of_the_grain() {
    let noise = with_noise(&[Train::ticks(250.0)], 5.0, 3);
    let cases = [
        (Seen::Work(1e-4), 4600.0, 4810.0),
        (Seen::Work(1e-3), 460.0, 481.0),
        (Seen::Time(2.5e-4), 1900.0, 1921.0),
        (Seen::Events, 9999.0, 10_001.0),
    ];
    for (seen, least, most) in cases {
        let found = spectrum(seen, &noise, 5.0);
        let highest = found.highest_hz.expect("there is a spectrum");
        assert!((least..most).contains(&highest), "{seen:?}: {highest} Hz");
        assert!(found.not_visible.iter().any(|text| text.contains("above")), "{seen:?}");
        assert!(found.figure.len() <= 240 && found.figure.len() > 100, "{seen:?}");
    }
}

#[test]
fn a_line_tells_how_long_its_interrupts_are() {
    let noise = with_noise(&[Train::ticks(250.0)], 10.0, 11);
    for seen in [Seen::Work(1e-4), Seen::Time(1e-4)] {
        let found = spectrum(seen, &noise, 10.0);
        let line = &found.lines[0];
        let durations = line.durations.as_ref().expect("values carry it");
        // 20 µs times 0.75 to 1.5, evenly; a sample is a unit of work too long or too short.
        assert!((durations.mean_ns - 22_500.0).abs() < 1_500.0, "{seen:?}: {durations:?}");
        assert!((durations.p25_ns - 18_750.0).abs() < 1_500.0, "{seen:?}: {durations:?}");
        assert!((durations.p75_ns - 26_250.0).abs() < 1_500.0, "{seen:?}: {durations:?}");
        assert!(durations.count.abs_diff(2500) < 50, "{seen:?}: {durations:?}");
        let noise = line.noise.expect("time was lost");
        assert!((noise / 5.6e-3 - 1.0).abs() < 0.1, "{seen:?}: {noise}");
        assert!(line.harmonics >= 15, "{seen:?}: {} harmonics", line.harmonics);
    }
}

#[test]
fn uncertainty_covers_the_error() {
    let (mut squares, mut seen) = (0.0, 0.0);
    for seed in 0..40 {
        let hz = 200.0 + 3.7 * seed as f64;
        // Far weaker than the noise, so that the error is not that of the interpolation.
        let train = Train { length_s: 3e-6, ..Train::ticks(hz) };
        let noise = with_noise(&[train], 4.0, seed);
        let found = spectrum(Seen::Work(1e-3), &noise, 4.0);
        if let Some(line) = found.lines.iter().find(|line| (line.hz - hz).abs() < 1.0) {
            squares += ((line.hz - hz) / line.uncertainty_hz).powi(2);
            seen += 1.0;
        }
    }
    let spread = (squares / f64::max(seen, 1.0)).sqrt();
    assert!(seen >= 10.0 && (0.3..1.5).contains(&spread), "{seen} lines, error / stated {spread}");
}

#[test]
fn giants_do_not_hide_a_train() {
    let mut random = random(5);
    let seconds = 10.0;
    // Four times as much time in twenty giants as in all ticks.
    let giants = (0..20).map(|number| (0.5 * f64::from(number) + 0.013, 10e-3)).collect();
    let noise = together(&[giants, Train::ticks(250.0).play(seconds, &mut random)]);
    for seen in [Seen::Work(1e-4), Seen::Time(1e-4)] {
        let found = spectrum(seen, &noise, seconds);
        assert!(
            rates(&found).iter().any(|hz| (hz - 250.0).abs() < 0.05),
            "{seen:?}: {:?}",
            rates(&found)
        );
        assert!(found.cap_ns.is_some_and(|cap| cap < 2e6), "{seen:?}: {:?}", found.cap_ns);
    }
}

#[test]
fn time_slices_of_another_thread_do_not_hide_trains() {
    let mut random = random(6);
    let seconds = 10.0;
    let tick = Train::ticks(250.0).play(seconds, &mut random);
    // At every other tick or so another thread takes over until the next.
    let slices: Vec<Interruption> = tick
        .iter()
        .filter(|_| rand::RngExt::random::<f64>(&mut random) < 0.3)
        .map(|&(at, length)| (at + length, 3.9e-3))
        .collect();
    let fast = Train { phase: 0.9, ..Train::ticks(1000.0) }.play(seconds, &mut random);
    let other = Train::ticks(137.0).play(seconds, &mut random);
    let noise = together(&[slices, tick, fast, other, scattered(200.0, seconds, &mut random)]);
    let found = spectrum(Seen::Work(1e-4), &noise, seconds);
    for hz in [137.0, 250.0, 1000.0] {
        let line = found.lines.iter().find(|line| (line.hz / hz - 1.0).abs() < 1e-3);
        let line = line.unwrap_or_else(|| panic!("no {hz} Hz in {:?}", rates(&found)));
        let durations = line.durations.as_ref().expect("values carry it");
        assert!(durations.p50_ns < 60_000.0, "{hz} Hz: {durations:?}");
    }
}

/// A binomial count of `trials` with a chance of 1 % each exceeds this once in a hundred times.
fn bound(trials: u64) -> u64 {
    let mut chance = 0.99f64.powi(trials as i32);
    let mut sum = chance;
    let mut count = 0;
    while sum < 0.99 {
        chance *= (trials - count) as f64 / (count + 1) as f64 * 0.01 / 0.99;
        sum += chance;
        count += 1;
    }
    count
}

#[test]
fn noise_without_a_period_has_no_lines() {
    assert_eq!(bound(1000), 18);
    // Stated: 1 %. The count of spectra with any line is within the 99 % bound of the binomial law.
    for (kind, (name, make)) in SURROGATES.into_iter().enumerate() {
        let (windows, repetitions) = if kind < 3 { (1000, 200) } else { (200, 100) };
        let mut any = [0, 0];
        for seed in 0..windows {
            let lost_s = make(2048, &mut random(seed));
            let window_s = SURROGATE_STEP_S;
            let found = lines(&Input::Windows { window_s, lost_s: &lost_s }, &Options::default());
            any[0] += u64::from(!found.lines.is_empty());
            if seed < repetitions {
                let starts_s = starts(&lost_s);
                let input = Input::Repetitions { starts_s: &starts_s, excess_s: &lost_s };
                any[1] += u64::from(!lines(&input, &Options::default()).lines.is_empty());
            }
        }
        for (any, trials) in any.into_iter().zip([windows, repetitions]) {
            assert!(any <= bound(trials), "{name}: {any} of {trials} spectra have lines");
        }
    }
}

#[test]
fn a_clear_train_is_found_in_every_kind_of_noise() {
    for (name, make) in SURROGATES {
        let mut found = 0;
        for seed in 0..50 {
            let mut random = random(1000 + seed);
            let mut lost_s = make(8192, &mut random);
            // 100 µs in each of the 112 periods of 137 Hz.
            for beat in 0..112 {
                let window = (f64::from(beat) / 137.0 / SURROGATE_STEP_S) as usize;
                lost_s[window.min(8191)] += 100e-6;
            }
            let window_s = SURROGATE_STEP_S;
            let spectrum =
                lines(&Input::Windows { window_s, lost_s: &lost_s }, &Options::default());
            found += usize::from(rates(&spectrum).iter().any(|hz| (hz - 137.0).abs() < 0.137));
        }
        assert!(found >= 45, "{name}: {found} of 50");
    }
}

#[test]
fn nonsense_has_no_lines_and_says_so() {
    let (good, short) = (vec![1.0; 4096], vec![1.0; 10]);
    let times: Vec<f64> = (0..4096).map(f64::from).collect();
    let mut nan = good.clone();
    nan[7] = f64::NAN;
    let mut backwards = times.clone();
    backwards.swap(5, 6);
    let same = vec![5.0; 4096];
    let windows = |window_s, lost_s| Input::Windows { window_s, lost_s };
    let repetitions = |starts_s, excess_s| Input::Repetitions { starts_s, excess_s };
    let events = |starts_s, between_s| Input::Events { starts_s, lengths_s: None, between_s };
    let cases = [
        ("nothing", windows(1e-3, &[])),
        ("too few", windows(1e-3, &short)),
        ("constant", windows(1e-3, &good)),
        ("not a number", windows(1e-3, &nan)),
        ("windows of no length", windows(0.0, &good)),
        ("windows of endless length", windows(f64::INFINITY, &good)),
        ("constant work", repetitions(&times, &good)),
        ("two lengths", repetitions(&times, &short)),
        ("backwards", repetitions(&backwards, &good)),
        ("all at once", repetitions(&same, &good)),
        ("a time that is none", repetitions(&nan, &good)),
        ("no events", events(&[], (0.0, 1.0))),
        ("events at one instant", events(&same, (0.0, 10.0))),
        ("events outside", events(&times, (0.0, 10.0))),
        ("an endless time", events(&times, (0.0, f64::INFINITY))),
        ("no time at all", events(&same, (5.0, 5.0))),
    ];
    for (name, input) in cases {
        let found = lines(&input, &Options::default());
        assert!(found.lines.is_empty(), "case: {name}: {:?}", rates(&found));
        assert!(!found.not_visible.is_empty(), "case: {name}");
    }
    let values: Vec<f64> = (0..4096).map(|i| if i % 3 == 0 { 1e308 } else { -1e-308 }).collect();
    let close: Vec<f64> = times[..600].iter().map(|at| at / 100.0).collect();
    for (false_alarm, highest_hz) in
        [(0.0, 40.0), (f64::NAN, -5.0), (7.0, f64::NAN), (-1.0, 1e300), (0.01, 0.0)]
    {
        let options = Options { false_alarm, highest_hz };
        let _ = lines(&windows(1e-3, &values), &options);
        let _ = lines(&repetitions(&times, &values), &options);
        let _ = lines(&events(&close, (0.0, 7.0)), &options);
    }
}

#[test]
fn a_line_is_carried_by_the_source_in_step_with_it() {
    let seconds = 10.0;
    let mut random = random(21);
    let split = |played: Vec<Interruption>| -> (Vec<f64>, Vec<f64>) { played.into_iter().unzip() };
    let tick = split(Train::ticks(250.0).play(seconds, &mut random));
    let softirq: (Vec<f64>, Vec<f64>) = (
        tick.0.iter().step_by(2).map(|at| at + 15e-6).collect(),
        tick.0.iter().step_by(2).map(|_| 2e-6).collect(),
    );
    let fast = Train { phase: 0.9, ..Train::ticks(1000.0) };
    let fast = split(fast.play(seconds, &mut random));
    let daemon = split(bursts(20.0, seconds, &mut random));
    // In step by chance: 2,000 at once, twice.
    let burst: Vec<f64> =
        (0..4000).map(|i| f64::from(i / 2000) * 4.0 + f64::from(i) * 1e-8).collect();
    let burst = (burst, vec![1e-6; 4000]);
    let source = |source, name: &'static str, events: &'_ (Vec<f64>, Vec<f64>)| {
        let (starts, lengths) = events.clone();
        (source, name, starts, lengths)
    };
    let sources = [
        source("daemon", "", &daemon),
        source("softirq", "TIMER", &softirq),
        source("ipi", "", &burst),
        source("hrtimer", "", &fast),
        source("timer-tick", "", &tick),
    ];
    let events: Vec<SourceEvents<'_>> = sources
        .iter()
        .map(|(source, name, starts_s, lengths_s)| SourceEvents {
            source,
            name,
            function: None,
            starts_s,
            lengths_s,
        })
        .collect();
    for (hz, expected) in [
        (250.0, &["timer-tick", "softirq"][..]),
        (1000.0, &["hrtimer"]),
        (125.0, &["softirq"]),
        (333.0, &[]),
    ] {
        let found = carriers(hz, seconds, None, &events);
        let names: Vec<&str> = found.iter().map(|carrier| carrier.source.as_str()).collect();
        assert_eq!(names, expected, "{hz} Hz");
        if hz == 250.0 {
            let durations = found[0].durations.as_ref().expect("it has lengths");
            assert!((durations.p50_ns - 22_500.0).abs() < 500.0, "{durations:?}");
            assert!(found[0].per_beat > 0.99 && found[0].fits > 0.99, "{:?}", found[0]);
        }
    }
}
