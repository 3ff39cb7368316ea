//! What makes a comparison doubtful, with what to do.

use super::program;
use super::trials::not_complete;
use crate::style::capital;
use crate::units::{asked, long};
use anechoic_analyze::compare::{Change, Comparison, FEWEST_PAIRS, Order};

/// Returns what makes the comparison doubtful, with what to do.
pub(super) fn warnings(found: &Comparison) -> Vec<String> {
    let mut warnings: Vec<String> = found.notes.iter().map(|note| capital(note) + ".").collect();
    if found.other_cpus {
        warnings.push(
            "The runs measured different CPUs: the noise of all compares different CPUs. Measure the same with --cpus.".into(),
        );
    }
    if found.thresholds_differ() {
        let (lowest, highest) = found.thresholds_ns();
        warnings.push(format!(
            "The thresholds of the runs differ ({} to {}): short detours count in some and not in others. Measure all with \
             --threshold {}ns.",
            asked(lowest),
            asked(highest),
            highest,
        ));
    }
    warnings.extend(found.trials.as_ref().and_then(not_complete));
    let unusable = found.history.as_ref().and_then(|history| history.unusable.as_ref());
    warnings.extend(unusable.map(|why| format!("The earlier runs make no verdict: {why}.")));
    let apart = found.history.as_ref().and_then(|history| history.apart_ns);
    warnings.extend(apart.map(|apart| {
        format!(
            "The nearest earlier run lies {} from these, which is more than all earlier ones lie apart: whether runs still \
             differ as they did then is not known. Add newer runs to --history.",
            long(apart)
        )
    }));
    match &found.program {
        Some(program) => warnings.extend(program::warnings(found, program)),
        None => warnings.extend(advice(found)),
    }
    if found.sources.is_empty() {
        warnings.push(
            "The sources are not compared, because a run has no attribution (`anechoic check` shows what is missing).".into(),
        );
    }
    warnings
}

/// Returns what to do for a verdict, or for a more certain one; absent where nothing can be done.
fn advice(found: &Comparison) -> Option<String> {
    let advice = match (found.verdict, found.order) {
        (Change::OneRun | Change::OneRunDiffers, Order::Duet) => {
            return Some(format!(
                "Measure {FEWEST_PAIRS} pairs or more, better 10, and let them all end: `anechoic ab --duet --pairs 10 …`."
            ));
        }
        (Change::OneRun | Change::OneRunDiffers, _) => {
            "Measure both sides repeatedly: `anechoic run --repeat 5 -o before`, change the setting, \
             `anechoic run --repeat 5 -o after`; or name earlier runs of this host with --history."
        }
        (_, Order::Kept) => {
            "Measure both sides again without --stop-on: `anechoic run --repeat 5`."
        }
        (Change::Unproven, Order::OneSession) if !found.control_moved() => {
            "Measure both sides again, in turns: `anechoic ab`, or where a reboot lies between them, before, after, before, \
             after; give all runs of a side together. Or name earlier runs of this host with --history."
        }
        (Change::Quieter | Change::Noisier, Order::Apart) => {
            "The runs of each side follow each other: if the host drifts slowly, that looks like a change. \
             Alternate the sides where you can; neighbouring runs are then compared in pairs."
        }
        _ => return None,
    };
    Some(advice.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;
    use super::*;
    use crate::screen::Screen;
    use crate::style::View;
    use anechoic_analyze::compare::{Difference, LeftOutThreads, ProgramChange};

    /// Returns recorded programs of these names that took a second on either side.
    fn program_of(names: [&str; 2]) -> ProgramChange {
        let same = Difference { before: 1e9, after: 1e9, interval: None, clear: false };
        ProgramChange {
            names: names.map(|name| vec![name.to_owned()]),
            wall_ns: Some(same),
            cpu_ns: same,
            is_account: true,
            lost_ns: same,
            releases: vec![],
            releases_left_out: LeftOutThreads::default(),
            late_ns: None,
        }
    }

    #[test]
    fn different_programs_are_named() {
        for (names, warned) in [(["make", "make"], false), (["make", "ninja"], true)] {
            let program = Some(program_of(names));
            let found = Comparison { program, ..comparison([0.05, 0.06]) };
            let all = warnings(&found).join(" ");
            assert_eq!(all.contains("make in A, ninja in B"), warned, "{names:?}: {all}");
        }
    }

    #[test]
    fn threads_whose_releases_are_not_compared_are_named_in_one_line() {
        let shown = |only: [&[&str]; 2], some_runs: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let releases_left_out =
                LeftOutThreads { only: only.map(owned), some_runs: owned(some_runs) };
            let program = ProgramChange { releases_left_out, ..program_of(["make", "make"]) };
            let found = comparison([0.05, 0.06]);
            let screen = Screen::from_fn(|screen| program::add(&found, &program, screen));
            let text = screen.to_text(&View::default());
            text.lines().filter(|line| line.contains("releases")).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(shown([&[], &[]], &[]), "");
        assert_eq!(shown([&["logger"], &[]], &[]), "ten releases or more only in A: logger");
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(
            shown([&[], &many], &["x", "y"]),
            "ten releases or more only in B: a, b, c, d, e and 2 more; ten releases or more only in some runs of a side: x and y"
        );
    }

    /// What repeats runs of loops does not repeat those of a program.
    #[test]
    fn advice_is_what_can_be_done_with_the_recordings() {
        let cases = [
            (false, Change::OneRun, Order::Apart, "anechoic run --repeat 5"),
            (true, Change::OneRun, Order::Apart, "anechoic record -o before/1"),
            (false, Change::Unproven, Order::OneSession, "anechoic ab"),
            (true, Change::Unproven, Order::OneSession, "Record both sides again"),
        ];
        for (is_program, verdict, order, expected) in cases {
            let program = is_program.then(|| program_of(["make", "make"]));
            let found = Comparison { program, verdict, order, ..comparison([0.05, 0.06]) };
            let all = warnings(&found).join(" ");
            assert!(all.contains(expected), "{is_program}, {verdict:?}: {all}");
            assert!(
                !is_program || !all.contains("anechoic run") && !all.contains("--history"),
                "{all}"
            );
        }
    }
}
