//! The result of a measured job in sentences.

use crate::units::{asked, between, count, counted, exact, loss, share, time};
use anechoic_predict::bsp::{Basis, Bsp, Cell, Estimate, Explanation, Happened, Part, Played};
use anechoic_recording::parallel::Meeting;

/// Ratios that differ from 1 by at most this much count as agreement.
const AGREES: f64 = 0.1;

/// Explains the columns of the table.
pub(crate) const LEGEND: &str = "measured: mean phase divided by undisturbed phase, minus 1; recursion: the same, \
                                 computed from the detours that the ranks recorded; ratio: measured divided by \
                                 recursion; ≥: lower bound (97.5 %) where few blocks of time decide";

/// Returns the headline of a job.
pub(crate) fn headline(found: &Bsp) -> String {
    verdict(found).unwrap_or_else(|| {
        "The slowdown of this job could not be predicted; the reasons are below.".into()
    })
}

/// Names the synchronisation of a cell.
pub(crate) fn meeting(cell: &Cell) -> String {
    match cell.injection {
        Some(number) => format!("{}, noise {number}", cell.meeting.name()),
        None => cell.meeting.name().to_owned(),
    }
}

/// States from which duration on detours of waiting ranks count, if the library's calls are long.
pub(crate) fn waits(found: &Bsp) -> Option<String> {
    /// The threshold where they are short, in ns.
    const SHORT: u64 = 2_000;
    let threshold = found.wait_threshold_ns.filter(|ns| *ns > SHORT + SHORT / 100)?;
    Some(format!(
        "waiting ranks: detours over {}; the library's own calls take up to half",
        time(threshold as f64)
    ))
}

/// Names a cell.
pub(crate) fn name(cell: &Cell) -> String {
    match cell.meeting {
        Meeting::Nothing => format!("{}, no sync", asked(cell.grain_ns)),
        _ => format!("{}, {}", asked(cell.grain_ns), meeting(cell)),
    }
}

/// States whether prediction and measurement agree, and where they differ most.
pub(crate) fn verdict(found: &Bsp) -> Option<String> {
    let compared: Vec<(&Cell, Estimate)> =
        found.cells.iter().filter_map(|cell| Some((cell, cell.ratio?))).collect();
    let off = |case: &(&Cell, Estimate)| (case.1.value - 1.0).abs();
    let worst = compared.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    let agreeing = compared.iter().filter(|case| off(case) <= AGREES).count();
    let mut text = match (agreeing, compared.len()) {
        (1, 1) => "Predicted and measured slowdown agree within 10 %".to_owned(),
        (_, 1) => "Predicted and measured slowdown differ by more than 10 %".to_owned(),
        (0, cases) => {
            format!("Predicted and measured slowdown differ by more than 10 % in all {cases} cases")
        }
        (some, cases) => {
            let some = if some == cases { "all".to_owned() } else { format!("{some} of") };
            format!("Predicted and measured slowdown agree within 10 % in {some} {cases} cases")
        }
    };
    if compared.len() > 1 {
        text += &format!("; they differ most at {}", name(worst.0));
    }
    text += &format!(
        ": measured {}, predicted {}",
        loss(worst.0.measured.value),
        worst.0.predicted.map_or("–".into(), |predicted| loss(predicted.value)),
    );
    if off(worst) > AGREES {
        if worst.1.interval.is_some_and(|interval| interval.low <= 1.0 && 1.0 <= interval.high) {
            text += ", a difference that is not significant";
        }
        if let Some(why) =
            worst.0.explanation.as_ref().and_then(|explanation| most_of(worst.0, explanation))
        {
            text += &format!("; {why}");
        }
        if let Some(wander) = wanders(worst.0) {
            text += &format!(
                "; the undisturbed phase drifted by {} during the run, more than noise cost",
                share(wander)
            );
        }
    }
    Some(text + ".")
}

/// Returns the drift of the undisturbed phase if it exceeds the cost of noise.
fn wanders(cell: &Cell) -> Option<f64> {
    cell.undisturbed.wander.filter(|&wander| wander > cell.measured.value)
}

/// States where most of the difference lies.
fn most_of(cell: &Cell, explanation: &Explanation) -> Option<String> {
    let difference = cell.measured.value - cell.anew?.value;
    let apart = |part: &Part| part.measured - part.predicted;
    // A part of the opposite sign explains nothing.
    let most = explanation.parts.iter().max_by(|a, b| {
        (apart(a) * difference.signum()).total_cmp(&(apart(b) * difference.signum()))
    })?;
    if (explanation.speed / difference) > 0.5 {
        return Some(
            "most of the difference comes from the speed of the core, which changed".into(),
        );
    }
    Some(match most.happened {
        Happened::InWork => match explanation.extra_ns {
            Some(extra) => format!(
                "{} of the difference comes from phases with a detour in the work, each {} {} than its detours account \
                 for",
                part_of(apart(most), difference),
                time(extra.value.abs()),
                if extra.value < 0.0 { "shorter" } else { "longer" },
            ),
            None => "the difference comes from phases with a detour in the work".into(),
        },
        happened => {
            format!(
                "{} of the difference comes from phases with {}",
                part_of(apart(most), difference),
                what(happened)
            )
        }
    })
}

fn part_of(part: f64, all: f64) -> String {
    if part >= all { "all".into() } else { share(part / all) }
}

/// Names what happened in a phase.
pub(crate) fn what(happened: Happened) -> &'static str {
    match happened {
        Happened::InWork => "a detour in the work",
        Happened::InWait => "detours only while waiting",
        Happened::Nothing => "no detour",
        Happened::Unexplained => "no detour, but long",
    }
}

/// Explains how the undisturbed phase was obtained.
pub(crate) fn undisturbed(cell: &Cell) -> String {
    let undisturbed = &cell.undisturbed;
    let phases = counted(undisturbed.phases, "phase", "phases");
    let mut text = match undisturbed.basis {
        Basis::Undisturbed => format!("undisturbed: mean of {phases} without detours"),
        Basis::Corrected => format!(
            "undisturbed: median of {phases} minus the detours of their last rank, because too few phases have no \
             detour; the ratio is then not an independent test"
        ),
        Basis::Calibrated => {
            return "undisturbed: the calibrated work without synchronisation, because detours are unknown"
                .into();
        }
    };
    if let Some(interval) = undisturbed.ns.interval {
        text += &format!(", {} to {}", exact(interval.low), exact(interval.high));
    }
    if cell.meeting != Meeting::Nothing {
        text += &format!("; {} of it is synchronisation", time(undisturbed.meeting_ns.max(0.0)));
    }
    if let Some(wander) = undisturbed.wander {
        text += &format!("; it drifted by {} during the run", share(wander));
    }
    text
}

/// States the brackets of the recursion.
pub(crate) fn laws(cell: &Cell) -> Option<String> {
    let laws = cell.brackets?;
    Some(format!(
        "the same number of independent ranks would lose {} (phases begin at random in undisturbed time: free start) \
         to {} (in all time: wall start)",
        loss(laws.free_start),
        loss(laws.wall_start)
    ))
}

/// States what a detour costs in addition to its length.
pub(crate) fn extra(explanation: &Explanation) -> Option<String> {
    let extra = explanation.extra_ns?;
    let interval = extra.interval.map_or(String::new(), |interval| {
        format!(" (95 %: {})", between(&time(interval.low), &time(interval.high)))
    });
    let more = if extra.value < 0.0 { "less" } else { "more" };
    let much = time(extra.value.abs());
    Some(format!(
        "a phase with a detour in its work took {much} {more} than its detours account for{interval}"
    ))
}

/// States the recursion restarted at each phase, if it differs from the continuous one.
pub(crate) fn edges(cell: &Cell) -> Option<String> {
    let (through, anew) = (cell.predicted?.value, cell.anew?.value);
    let worth = cell.played == Some(Played::Through) && (anew - through).abs() > 0.02 * through;
    worth.then(|| {
        format!(
            "the recursion column restarts at each phase: {} in all, compared with {} if it runs on; a phase that lasts \
             longer or shorter than predicted can otherwise miss a detour at its edge or count it twice",
            loss(anew),
            loss(through)
        )
    })
}

/// States what the speed of the core adds, if that matters.
pub(crate) fn speed(cell: &Cell, explanation: &Explanation) -> Option<String> {
    let worth = explanation.speed.abs() > 0.02 * cell.measured.value.abs();
    let more = if explanation.speed < 0.0 { "shorter" } else { "longer" };
    worth.then(|| {
        format!(
            "the speed of the core accounts for {} of the difference: undisturbed phases near disturbed ones were \
             {more} too",
            loss(explanation.speed)
        )
    })
}

/// Lists the phases that no detour explains.
pub(crate) fn longest(explanation: &Explanation) -> Option<String> {
    let part = explanation.parts.iter().find(|part| part.happened == Happened::Unexplained)?;
    let long = counted(part.phases, "phase", "phases");
    let each: Vec<String> = explanation
        .longest
        .iter()
        .map(|phase| {
            format!(
                "{} at {} of round {} (phase {}, rank {} last, {} of work)",
                time(phase.took_ns),
                time(phase.at_ns as f64),
                phase.round,
                count(phase.phase),
                phase.last,
                time(phase.work_ns)
            )
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "{long} longer than {} that no detour explains; the longest: {}",
            exact(explanation.long_ns),
            each.join(", ")
        )
    })
}
