//! No bound of the noise is over all of the time, and a run that was cut off is divided by the time that it watched.

use super::{SECOND, judge};
use anechoic_analyze::gate::Doubt;
use anechoic_lab::two_cpus;
use anechoic_recording::run::RunState;

#[test]
fn few_long_detours_have_a_bound_within_the_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = two_cpus::run(10 * SECOND);
    let recording =
        two_cpus::record(&dir.path().join("long"), &run, &[("thread", vec![(3.0, 4.0)])]);
    for text in ["max-noise 1%", "max-noise thread=1%"] {
        let found = judge(&recording, text);
        // A sample of one: a longer one, or several, may come in the next 10 s.
        assert_eq!(found.findings[1].at_most, Some(1.0), "case: {text}");
    }
}

#[test]
fn a_run_that_was_cut_off_is_divided_by_what_it_watched() {
    let dir = tempfile::tempdir().expect("a directory");
    let detour = [("thread", vec![(3.0, 1e-3)])];
    let mut run = two_cpus::run(10 * SECOND);
    run.state = RunState::Running;
    run.cpus.iter_mut().for_each(|cpu| (cpu.last_ticks, cpu.iterations) = (0, 0));
    let cut_off = two_cpus::record(&dir.path().join("cut off"), &run, &detour);
    // The same detour in a run that ended just after it.
    let whole = two_cpus::run(SECOND * 3_002 / 1_000);
    let whole = two_cpus::record(&dir.path().join("whole"), &whole, &detour);
    let [cut_off, whole] = [cut_off, whole].map(|recording| judge(&recording, "max-noise 50%"));
    assert!(
        cut_off.doubts.iter().any(|doubtful| doubtful.doubt == Doubt::CutOff),
        "{:?}",
        cut_off.doubts
    );
    let most = cut_off.decisive().and_then(|finding| finding.at_most).expect("a bound");
    let expected = whole.findings[1].at_most.expect("a bound");
    assert!((most / expected - 1.0).abs() < 0.02, "{most}, of a whole run {expected}");
}
