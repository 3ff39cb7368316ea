//! What is periodic in a detours recording: from its detours to lines and what carries them.

use anechoic_analyze::spectrum::CpuPeriods;
use anechoic_analyze::{Readings, Wanted};
use anechoic_lab::trains::{Interruption, Train, random, scattered};
use anechoic_lab::two_cpus::{self, SECOND};
use anechoic_recording::Run;

/// Interruptions of CPU 1 by their source.
type Sources<'a> = &'a [(&'static str, Vec<Interruption>)];

/// The periods of the noisiest CPUs, where CPU 1 had these interruptions and CPU 0 none.
fn periods(run: &Run, sources: Sources<'_>) -> Vec<CpuPeriods> {
    let place = tempfile::tempdir().unwrap();
    let recording = two_cpus::record(&place.path().join("recording"), run, sources);
    let wanted = Wanted { periods: 2, ..Wanted::default() };
    Readings::read(&recording, wanted, &mut |_| {}).unwrap().periods
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
    let fast = Train { phase: 0.8, ..Train::ticks(3333.0) };
    let sources = [
        ("vm-or-hardware", scattered(200.0, 10.0, &mut random)),
        ("timer-tick", Train::ticks(250.0).play(10.0, &mut random)),
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
    let tick =
        |seconds: f64| vec![("timer-tick", Train::ticks(250.0).play(seconds, &mut random(1)))];
    let mut cut_off = two_cpus::run(10 * SECOND);
    cut_off.cpus.iter_mut().for_each(|cpu| (cpu.last_ticks, cpu.iterations) = (0, 0));
    let busy = Train { length_s: 1e-6, ..Train::ticks(125_000.0) };
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
