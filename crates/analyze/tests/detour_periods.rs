//! What is periodic in a detours recording: from its detours to lines and what carries them.

use anechoic_analyze::spectrum::CpuPeriods;
use anechoic_analyze::{Readings, Wanted};
use anechoic_lab::trains::{Interruption, Train, random, scattered};
use anechoic_lab::two_cpus::{self, SECOND, SHORTEST};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::{Activity, ActivityKind, Detour, Recorder, Recording, Run};

/// Interruptions of CPU 1 by their source.
type Sources<'a> = &'a [(&'static str, Vec<Interruption>)];

fn ticks(seconds: f64) -> u64 {
    (seconds * SECOND as f64).round() as u64
}

/// The periods of the noisiest CPUs, where CPU 1 had these interruptions and CPU 0 none.
fn periods(run: &Run, sources: Sources<'_>) -> Vec<CpuPeriods> {
    let mut all: Vec<(&str, Interruption)> =
        sources.iter().flat_map(|(name, played)| played.iter().map(|at| (*name, *at))).collect();
    all.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let (mut detours, mut activities) = (vec![], vec![]);
    let mut free_ticks = 0;
    for (source, (at, length)) in all {
        let start_ticks = ticks(at).max(free_ticks);
        let length_ticks = ticks(length);
        let key = (1, detours.len() as u64);
        let kind = ActivityKind::Activity;
        activities.push(two_cpus::activity(key, kind, source, start_ticks, length_ticks));
        free_ticks = start_ticks + length_ticks + SHORTEST + 1;
        detours.push(Detour { cpu: 1, start_ticks, end_ticks: free_ticks - 1 });
    }
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("recording");
    let mut recorder = Recorder::create(&dir, run).unwrap();
    detours.chunks(100_000).for_each(|part| recorder.append(part).unwrap());
    recorder.finish(run).unwrap();
    let recording = Recording::open(&dir).unwrap();
    let mut writer = recording.derive::<Activity>().unwrap();
    activities.chunks(100_000).for_each(|part| writer.append(part).unwrap());
    writer.finish().unwrap();
    recording.write_attribution(&Attribution::default()).unwrap();
    let wanted = Wanted { periods: 2, ..Wanted::default() };
    let recording = Recording::open(&dir).unwrap();
    Readings::of(&recording, wanted, &mut |_| {}).unwrap().periods
}

/// Rate to a tenth of a hertz, and the first carrier.
fn lines(found: &CpuPeriods) -> Vec<(f64, Option<&str>)> {
    let named = found.spectrum.lines.iter().map(|line| {
        let carrier = line.carriers.first().map(|carrier| carrier.source.as_str());
        ((line.hz * 10.0).round() / 10.0, carrier)
    });
    named.collect()
}

#[test]
fn lines_of_the_detours_and_what_carries_them() {
    let mut random = random(4);
    let fast = Train { phase: 0.8, ..Train::of(3333.0) };
    let sources = [
        ("vm-or-hardware", scattered(200.0, 10.0, &mut random)),
        ("timer-tick", Train::of(250.0).play(10.0, &mut random)),
        ("timer", fast.play(10.0, &mut random)),
    ];
    let found = periods(&two_cpus::run(10 * SECOND), &sources);
    let cpus: Vec<u32> = found.iter().map(|found| found.cpu).collect();
    assert_eq!(cpus, [1], "the other CPU had no detours");
    assert_eq!(lines(&found[0]), [(250.0, Some("timer-tick")), (3333.0, Some("timer"))]);
    // 250 and 3333 times 20 µs times 0.75 to 1.5.
    let noise: Vec<f64> = found[0].spectrum.lines.iter().map(|line| line.noise.unwrap()).collect();
    assert!((noise[0] - 0.0056).abs() < 0.001 && (noise[1] - 0.075).abs() < 0.01, "{noise:?}");
}

#[test]
fn noise_without_a_period_has_no_line() {
    let sources = [("thread", scattered(500.0, 10.0, &mut random(9)))];
    let found = periods(&two_cpus::run(10 * SECOND), &sources);
    assert_eq!(lines(&found[0]), []);
    assert!(!found[0].spectrum.figure.is_empty(), "it is drawn all the same");
}

/// A run that was cut off does not know its end; one that is long or full of detours is looked at in part.
#[test]
fn runs_that_are_not_looked_at_as_a_whole() {
    let tick = |seconds: f64| vec![("timer-tick", Train::of(250.0).play(seconds, &mut random(1)))];
    let mut cut_off = two_cpus::run(10 * SECOND);
    cut_off.cpus.iter_mut().for_each(|cpu| (cpu.last_ticks, cpu.iterations) = (0, 0));
    let busy = Train { length_s: 1e-6, ..Train::of(125_000.0) };
    let busy = vec![("timer", busy.play(10.0, &mut random(2)))];
    let cases = [
        ("cut off", cut_off, tick(5.0), 5.0, None),
        ("long", two_cpus::run(40 * SECOND), tick(40.0), 20.0, Some("after the first 20 s")),
        ("busy", two_cpus::run(10 * SECOND), busy, 8.39, Some("after the first 8 s")),
    ];
    for (name, run, sources, span_s, says) in cases {
        let found = &periods(&run, &sources)[0];
        let spectrum = &found.spectrum;
        assert!((spectrum.span_s - span_s).abs() < 0.01, "case: {name}: {} s", spectrum.span_s);
        let said = says.is_none_or(|says| spectrum.not_visible.iter().any(|t| t.contains(says)));
        assert!(said, "case: {name}: {:?}", spectrum.not_visible);
        assert!(spectrum.values <= 1 << 20, "case: {name}: {}", spectrum.values);
        if name != "busy" {
            assert_eq!(lines(found), [(250.0, Some("timer-tick"))], "case: {name}");
        }
    }
}
