//! Interrupts really injected at random times, compared with the kernel's own events.
//!
//! If BPF timers or tracefs are missing, each test prints that and passes.

use super::expired::{Came, Stage, injection, median, poisson};
use anechoic_lab::turn::alone;
use anechoic_measure::inject::{Injector, Timing};
use anechoic_recording::injection::InjectionKind;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::thread;
use std::time::Duration;

/// The function of the timers of BPF programs.
const FUNCTION: &str = "bpf_timer_cb";

#[test]
fn a_spin_lasts_as_long_as_asked_and_each_is_counted() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let null = injection(InjectionKind::Interrupt, poisson(1_000), 0, stage.cpu);
    let Some(mut null) = stage.prepare(&null) else { return };
    let null_ns = median(stage.noise(FUNCTION, &mut null, Duration::from_millis(400)).own_ns);
    for (duration_us, hz) in [(5, 2_000), (50, 2_000), (500, 300), (1_000, 100), (10_000, 20)] {
        let kernel = injection(InjectionKind::Kernel, poisson(hz), duration_us, stage.cpu);
        kernel.check(false).expect("modest noise");
        let Some(mut injector) = stage.prepare(&kernel) else { return };
        let Came { spell, own_ns, .. } =
            stage.noise(FUNCTION, &mut injector, Duration::from_millis(400));
        let (count, own) = (own_ns.len() as u64, median(own_ns));
        eprintln!("{duration_us} us: {own} ns (null {null_ns} ns), {spell:?}");
        assert_eq!(spell.delivered, Some(count), "{duration_us} us");
        assert_eq!(spell.cut_short, 0, "{duration_us} us");
        // This includes entering and leaving the handler, which takes twice as long on a busy machine.
        let tolerance = 2_000 + 50 * duration_us;
        assert!(own.abs_diff(1_000 * duration_us) <= tolerance, "{duration_us} us: {own}");
    }
}

/// Returns the largest distance between the distribution of `gaps` and the exponential one with that mean
/// (Kolmogorov and Smirnov).
fn distance_from_exponential(mut gaps: Vec<f64>, mean: f64) -> f64 {
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distance = |(place, gap): (usize, &f64)| {
        let share = -f64::exp_m1(-gap / mean);
        (share - place as f64 / n).max((place as f64 + 1.0) / n - share)
    };
    gaps.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// Several spells, because nobody reads the events during one.
#[test]
fn the_distances_are_exponential_and_their_mean_is_the_asked_one() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let (mut gaps_ns, mut came, mut left_out, mut asked) = (Vec::new(), 0, 0, 0.0);
    for seed in 1..=6 {
        let mut bare = injection(InjectionKind::Interrupt, poisson(1_000), 0, stage.cpu);
        bare.timing = Timing::Poisson { period: Duration::from_millis(1), seed };
        let Some(mut injector) = stage.prepare(&bare) else { return };
        let Came { spell, at_ticks, .. } =
            stage.noise(FUNCTION, &mut injector, Duration::from_millis(500));
        let count = at_ticks.len() as u64;
        assert_eq!(spell.delivered, Some(count), "seed {seed}");
        came += count;
        left_out += spell.overruns.expect("counted");
        asked += stage.clock.ns(spell.end_ticks - spell.start_ticks) as f64 / 1e6;
        let gaps = at_ticks.windows(2).map(|pair| stage.clock.ns(pair[1] - pair[0]) as f64);
        gaps_ns.extend(gaps);
    }
    let distance = distance_from_exponential(gaps_ns, 1e6);
    eprintln!("{distance:.4}, {came} came, {left_out} left out, {asked:.0} asked");
    assert!(left_out * 2 < came, "{left_out} of {came}");
    // Four standard deviations of a Poisson law, plus the time until the first of each spell may come.
    let off = ((came + left_out) as f64 - asked).abs();
    assert!(off < 4.0 * asked.sqrt() + 20.0, "{off} of {asked}");
    // Undisturbed, 99 % of all samples of this size stay below 0.03. A host that takes a quarter of the CPU
    // adds as much; equal distances would be off by 0.63, uniform ones with the same mean by 0.14.
    assert!(distance < 0.1, "{distance}");
}

#[test]
fn the_end_needs_no_help() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let bare = injection(InjectionKind::Interrupt, poisson(4_000), 0, stage.cpu);
    let Some(mut injector) = stage.prepare(&bare) else { return };
    injector.end_after(Duration::from_millis(200));
    let Came { spell, at_ticks, .. } =
        stage.noise(FUNCTION, &mut injector, Duration::from_millis(500));
    let last_ns = stage.clock.ns(at_ticks.last().expect("some came") - spell.start_ticks);
    assert!(at_ticks.len() > 400, "{}", at_ticks.len());
    // The host may take the CPU at this moment.
    assert!(last_ns < 300_000_000, "the last came after {last_ns} ns");
}

#[test]
fn without_privilege_the_remedy_is_named() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let bare = injection(InjectionKind::Interrupt, poisson(1_000), 0, stage.cpu);
    if stage.prepare(&bare).is_none() {
        return;
    }
    let powerless = || {
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).expect("giving up rights");
        Injector::prepare(&bare, &stage.clock)
    };
    let prepared = thread::scope(|scope| scope.spawn(powerless).join().expect("no panic"));
    let error = prepared.expect_err("no right to BPF").to_string();
    assert!(error.contains("--cap-add BPF --cap-add PERFMON"), "{error}");
}

#[test]
fn a_second_spell_counts_anew() {
    let _alone = alone();
    let Some(stage) = Stage::find() else { return };
    let bare = injection(InjectionKind::Interrupt, poisson(2_000), 0, stage.cpu);
    let Some(mut injector) = stage.prepare(&bare) else { return };
    for _ in 0..2 {
        let Came { spell, own_ns, .. } =
            stage.noise(FUNCTION, &mut injector, Duration::from_millis(200));
        assert_eq!(spell.delivered, Some(own_ns.len() as u64));
        assert!(own_ns.len() > 200, "{spell:?}");
    }
}
