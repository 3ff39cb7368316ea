//! Spectra of a recording's series, from the tables to the lines and what carries them.

use anechoic_analyze::samples::Measured;
use anechoic_analyze::spectrum::{Line, Spectrum};
use anechoic_analyze::{measure, measure_with_spectra};
use anechoic_lab::trains::{Interruption, Train, fixed_work, random, scattered, together};
use anechoic_lab::two_cpus::{self, MICRO, SECOND};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{
    Activity, ActivityKind, Fixed, Parameters, Recorder, Recording, Run, Sample, Series,
};

const SECONDS: f64 = 10.0;
/// Work done in a window in which nothing happens.
const UNITS: u64 = 500;

/// Interruptions by their source.
type Sources = Vec<(&'static str, Vec<Interruption>)>;

fn sources(trains: &[(&'static str, Train)]) -> Sources {
    let mut random = random(4);
    let mut sources: Sources = vec![("vm-or-hardware", scattered(200.0, SECONDS, &mut random))];
    sources.extend(trains.iter().map(|(name, train)| (*name, train.play(SECONDS, &mut random))));
    sources
}

fn ticks(seconds: f64) -> u64 {
    (seconds * SECOND as f64).round() as u64
}

fn series(fixed: Fixed, grain_ticks: u64) -> Series {
    Series {
        series: 0,
        method: "fwq".into(),
        variant: "sum".into(),
        cpu: Some(1),
        tid: 100,
        policy: "other".into(),
        grain_ticks,
        fixed,
        asked: 1_000_000,
        round: 0,
        parameters: Parameters {
            iterations: 100,
            calibrated_ticks: grain_ticks,
            instructions: 1,
            copies: 1,
            ..Parameters::default()
        },
    }
}

fn sample(index: usize, start_ticks: u64, end_ticks: u64, count: u64) -> Sample {
    Sample { series: 0, index: index as u64, cpu: 1, start_ticks, end_ticks, count }
}

/// What fixed work sees, beginning one second into the run.
fn work(noise: &[Interruption], grain_s: f64) -> Vec<Sample> {
    let (starts, excess) = fixed_work(noise, grain_s, SECONDS, &mut random(5));
    let end = |index: usize| SECOND + ticks(starts[index] + grain_s + excess[index]);
    (0..starts.len()).map(|i| sample(i, SECOND + ticks(starts[i]), end(i), 1)).collect()
}

/// The same of fixed time.
fn windows(noise: &[Interruption], window_s: f64) -> Vec<Sample> {
    let mut lost = vec![0.0; (SECONDS / window_s) as usize];
    for &(at, length) in noise {
        if let Some(lost) = lost.get_mut((at / window_s) as usize) {
            *lost += length;
        }
    }
    let grain = ticks(window_s);
    let count = |lost: f64| UNITS - ((lost / window_s).min(1.0) * UNITS as f64) as u64;
    let start = |index: usize| SECOND + index as u64 * grain;
    let window =
        |(index, lost): (usize, &f64)| sample(index, start(index), start(index + 1), count(*lost));
    lost.iter().enumerate().map(window).collect()
}

fn activities(sources: &Sources) -> Vec<Activity> {
    let named = sources.iter().flat_map(|(name, played)| played.iter().map(|at| (*name, *at)));
    let mut named: Vec<_> = named.collect();
    named.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let mut rows = vec![];
    for (detour, (source, (at, length))) in (0..).zip(named) {
        let (start, ticks) = (SECOND + ticks(at), ticks(length));
        let (gap, own) = (ticks / 4, ticks - ticks / 4);
        let row = |kind, from, length| two_cpus::activity((1, detour), kind, source, from, length);
        rows.push(row(ActivityKind::EntryGap, start, gap));
        let mut ran = row(ActivityKind::Activity, start + gap, own);
        ran.function = (source == "timer").then(|| "perf_swevent_hrtimer".into());
        rows.push(ran);
    }
    rows
}

fn spectrum(series: &Series, samples: &[Sample], sources: Option<&Sources>) -> Spectrum {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    let outcome = Outcome {
        series: 0,
        first_ticks: samples[0].start_ticks,
        last_ticks: samples[samples.len() - 1].end_ticks,
        samples: samples.len() as u64,
        lost: 0,
        wrong: 0,
        ended: Ended::Complete,
        ..Outcome::default()
    };
    let run = Run { method: "fwq".into(), outcomes: vec![outcome], ..two_cpus::run(12 * SECOND) };
    let mut recorder = Recorder::create(&dir, &run).unwrap();
    recorder.append(std::slice::from_ref(series)).unwrap();
    samples.chunks(10_000).for_each(|part| recorder.append(part).unwrap());
    recorder.finish(&run).unwrap();
    let recording = Recording::open(&dir).unwrap();
    if let Some(sources) = sources {
        let mut writer = recording.derive::<Activity>().unwrap();
        writer.append(&activities(sources)).unwrap();
        writer.finish().unwrap();
        recording.write_attribution(&Attribution::default()).unwrap();
    }
    let recording = Recording::open(&dir).unwrap();
    assert!(measure(&recording).unwrap().series[0].spectrum.is_none());
    let mut measured: Measured = measure_with_spectra(&recording).unwrap();
    measured.series.remove(0).spectrum.unwrap()
}

/// Rate to a tenth of a hertz, and the first carrier.
fn named(line: &Line) -> (f64, Option<&str>) {
    let carrier = line.carriers.first().map(|carrier| carrier.source.as_str());
    ((line.hz * 10.0).round() / 10.0, carrier)
}

#[test]
fn lines_of_a_series_and_what_carries_them() {
    let fast = Train { phase: 0.8, ..Train::ticks(1000.0) };
    let sources = sources(&[("timer-tick", Train::ticks(250.0)), ("timer", fast)]);
    let noise = together(&sources.iter().map(|(_, played)| played.clone()).collect::<Vec<_>>());
    let grain = 100 * MICRO;
    let cases = [
        ("work", series(Fixed::Work, grain), work(&noise, 1e-4)),
        ("time", series(Fixed::Time, grain), windows(&noise, 1e-4)),
    ];
    for (name, series, samples) in cases {
        let found = spectrum(&series, &samples, Some(&sources));
        let lines: Vec<_> = found.lines.iter().map(named).collect();
        assert_eq!(lines, [(250.0, Some("timer-tick")), (1000.0, Some("timer"))], "case: {name}");
        let carrier = &found.lines[1].carriers[0];
        assert_eq!(carrier.function.as_deref(), Some("perf_swevent_hrtimer"), "case: {name}");
        assert!(carrier.per_beat > 0.99 && carrier.fits > 0.99, "case: {name}: {carrier:?}");
        // With its gap: 20 µs times 0.75 to 1.5.
        let durations = carrier.durations.as_ref().unwrap();
        assert!((durations.mean_ns - 22_500.0).abs() < 500.0, "case: {name}: {durations:?}");
        let found = spectrum(&series, &samples, None);
        let lines: Vec<_> = found.lines.iter().map(named).collect();
        assert_eq!(lines, [(250.0, None), (1000.0, None)], "case: {name}, not attributed");
    }
}

#[test]
fn a_train_too_fast_for_the_window_is_told_by_its_carrier() {
    let sources = sources(&[("timer-tick", Train::ticks(250.0)), ("timer", Train::ticks(3333.0))]);
    let noise = together(&sources.iter().map(|(_, played)| played.clone()).collect::<Vec<_>>());
    let series = series(Fixed::Time, 250 * MICRO);
    let found = spectrum(&series, &windows(&noise, 2.5e-4), Some(&sources));
    let lines: Vec<_> = found.lines.iter().map(named).collect();
    assert_eq!(lines, [(250.0, Some("timer-tick"))]);
    let told = |text: &String| text.contains("timer at 3333.0 Hz");
    assert!(found.not_visible.iter().any(told), "{:?}", found.not_visible);
}

#[test]
fn what_does_not_fit_into_memory_is_put_together_or_left_out() {
    // 1.3 million samples of 7 µs, then as many of 60 µs.
    for (name, grain_s, count, highest_hz) in
        [("short", 7e-6, 1_300_000, 10_000.0), ("long", 60e-6, 1_200_000, 8_000.0)]
    {
        let grain = ticks(grain_s);
        let samples: Vec<Sample> = (0..count)
            .map(|index| {
                let start = SECOND + index as u64 * grain;
                sample(index, start, start + grain, 1)
            })
            .collect();
        let found = spectrum(&series(Fixed::Work, grain), &samples, None);
        let highest = found.highest_hz.unwrap();
        assert!((highest - highest_hz).abs() < 1.0, "case: {name}: {highest} Hz");
        assert!(found.values <= 1 << 20, "case: {name}: {} values", found.values);
        assert!(found.lines.is_empty(), "case: {name}");
        let said = match name {
            "short" => "2 samples are combined into one",
            _ => "151424 samples were left out",
        };
        assert!(
            found.not_visible.iter().any(|text| text.contains(said)),
            "{:?}",
            found.not_visible
        );
    }
}

/// What took the time is known from the sources of the detours; where none has one, there is nothing to name.
#[test]
fn sources_come_with_the_spectra_where_detours_have_them() {
    let place = tempfile::tempdir().unwrap();
    let run = two_cpus::run(30 * SECOND);
    let sources = |name: &str, played: &Sources| {
        let recording = two_cpus::record(&place.path().join(name), &run, played);
        let measured = measure_with_spectra(&recording).unwrap();
        measured.sources.map(|found| found.rows.len())
    };
    assert_eq!(sources("one", &vec![("thread", vec![(3.0, 5e-6)])]), Some(1));
    assert_eq!(sources("none", &vec![]), None);
}
