//! Sentences and numbers of a job that was measured.

use crate::units::{self, asked, between, count, counted, exact, loss, ratio, share, time};
use anechoic_predict::bsp::{Basis, Bsp, Cell, Estimate, Explanation, Happened, Part, Played};
use anechoic_recording::parallel::Meeting;

/// A ratio that is not further from 1 counts as agreement.
const AGREES: f64 = 0.1;

/// What the columns of the table are.
pub(crate) const LEGEND: &str = "measured: mean phase over undisturbed phase, less 1; recursion: the same from the \
                                 detours that the ranks saw meanwhile; ratio: measured over recursion";

/// The headline of a job.
pub(crate) fn headline(found: &Bsp) -> String {
    verdict(found)
        .unwrap_or_else(|| "What noise cost this job was not predicted: see below why.".into())
}

/// The interval of a loss, in percent and as exact as itself.
pub(crate) fn loss_interval(of: &Estimate) -> String {
    of.interval.map_or("–".into(), |interval| {
        units::loss_interval(of.value, interval.low, interval.high)
    })
}

/// The interval of a ratio.
pub(crate) fn ratio_interval(of: &Estimate) -> String {
    of.interval.map_or("–".into(), |of| between(&ratio(of.low), &ratio(of.high)))
}

/// How the ranks met.
pub(crate) fn meeting(cell: &Cell) -> String {
    match cell.injection {
        Some(number) => format!("{}, noise {number}", cell.meeting.name()),
        None => cell.meeting.name().to_owned(),
    }
}

/// Which cell it is.
pub(crate) fn name(cell: &Cell) -> String {
    match cell.meeting {
        Meeting::Nothing => format!("{}, no meeting", asked(cell.grain_ns)),
        _ => format!("{}, {}", asked(cell.grain_ns), meeting(cell)),
    }
}

/// Whether recursion and measurement agree, and where they part most.
pub(crate) fn verdict(found: &Bsp) -> Option<String> {
    let told: Vec<(&Cell, Estimate)> =
        found.cells.iter().filter_map(|cell| Some((cell, cell.ratio?))).collect();
    let off = |of: &(&Cell, Estimate)| (of.1.value - 1.0).abs();
    let worst = told.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    let agreeing = told.iter().filter(|of| off(of) <= AGREES).count();
    let mut text = match (agreeing, told.len()) {
        (1, 1) => "The recursion agrees with what was measured within 10 %".to_owned(),
        (_, 1) => "The recursion is off what was measured by more than 10 %".to_owned(),
        (all, of) if all == of => {
            format!("The recursion agrees with what was measured within 10 % in all {of} cases")
        }
        (some, of) => {
            format!(
                "The recursion agrees with what was measured within 10 % in {some} of {of} cases"
            )
        }
    };
    if told.len() > 1 {
        text += &format!("; furthest apart at {}", name(worst.0));
    }
    text += &format!(
        ": measured {}, predicted {}",
        loss(worst.0.measured.value),
        worst.0.predicted.map_or("–".into(), |of| loss(of.value)),
    );
    if off(worst) > AGREES {
        if worst.1.interval.is_some_and(|of| of.low <= 1.0 && 1.0 <= of.high) {
            text += ", which may be chance";
        }
        if let Some(why) = worst.0.explanation.as_ref().and_then(|of| most_of(worst.0, of)) {
            text += &format!("; {why}");
        }
        if let Some(wander) = wanders(worst.0) {
            text += &format!(
                "; the undisturbed phase changed by {} over the run, more than was lost",
                share(wander)
            );
        }
    }
    Some(text + ".")
}

/// How much the undisturbed phase changed, where that is more than what noise cost.
fn wanders(cell: &Cell) -> Option<f64> {
    cell.undisturbed.wander.filter(|&wander| wander > cell.measured.value)
}

/// What most of the difference lies in.
fn most_of(cell: &Cell, of: &Explanation) -> Option<String> {
    let difference = cell.measured.value - cell.anew?.value;
    let apart = |part: &Part| part.measured - part.predicted;
    // A part that goes the other way explains nothing.
    let most = of.parts.iter().max_by(|a, b| {
        (apart(a) * difference.signum()).total_cmp(&(apart(b) * difference.signum()))
    })?;
    if (of.speed / difference) > 0.5 {
        return Some("most of that is the speed of the core, which changed meanwhile".into());
    }
    Some(match most.happened {
        Happened::InWork => match of.extra_ns {
            Some(extra) => format!(
                "{} of that is in phases with a detour in the work, each {} {} than its detours tell",
                part_of(apart(most), difference),
                time(extra.value.abs()),
                if extra.value < 0.0 { "shorter" } else { "longer" },
            ),
            None => "it is in phases with a detour in the work".into(),
        },
        happened => {
            format!(
                "{} of that is in phases with {}",
                part_of(apart(most), difference),
                what(happened)
            )
        }
    })
}

fn part_of(part: f64, all: f64) -> String {
    if part >= all { "all".into() } else { share(part / all) }
}

/// What happened in a phase.
pub(crate) fn what(happened: Happened) -> &'static str {
    match happened {
        Happened::InWork => "a detour in the work",
        Happened::InWait => "detours only while waiting",
        Happened::Nothing => "no detour",
        Happened::Unexplained => "no detour, yet long",
    }
}

/// Where the undisturbed phase comes from.
pub(crate) fn undisturbed(cell: &Cell) -> String {
    let of = &cell.undisturbed;
    let phases = counted(of.phases, "phase", "phases");
    let mut text = match of.basis {
        Basis::Undisturbed => format!("undisturbed: mean of {phases} without a detour"),
        Basis::Corrected => format!(
            "undisturbed: too few phases have no detour; median of {phases} less the detours of their last rank, which \
             takes for granted what the ratio asks"
        ),
        Basis::Calibrated => {
            return "undisturbed: as calibrated, without the meeting, for detours are not known"
                .into();
        }
    };
    if let Some(interval) = of.ns.interval {
        text += &format!(", {} to {}", exact(interval.low), exact(interval.high));
    }
    if cell.meeting != Meeting::Nothing {
        text += &format!("; the meeting takes {} of it", time(of.meeting_ns.max(0.0)));
    }
    if let Some(wander) = of.wander {
        text += &format!("; it changed by {} over the run", share(wander));
    }
    text
}

/// The laws around the recursion.
pub(crate) fn laws(cell: &Cell) -> Option<String> {
    let laws = cell.brackets?;
    Some(format!(
        "as many independent ranks would lose {} (free start) to {} (wall start)",
        loss(laws.free_start),
        loss(laws.wall_start)
    ))
}

/// What a detour costs beside its time.
pub(crate) fn extra(of: &Explanation) -> Option<String> {
    let extra = of.extra_ns?;
    let interval = extra.interval.map_or(String::new(), |interval| {
        format!(" (95 %: {} to {})", time(interval.low), time(interval.high))
    });
    let more = if extra.value < 0.0 { "less" } else { "more" };
    let told = time(extra.value.abs());
    Some(format!(
        "a phase with a detour in its work took {told} {more} than its detours tell{interval}"
    ))
}

/// What the recursion says where it is begun anew at each phase, where that is something else.
pub(crate) fn edges(cell: &Cell) -> Option<String> {
    let (through, anew) = (cell.predicted?.value, cell.anew?.value);
    let worth = cell.played == Some(Played::Through) && (anew - through).abs() > 0.02 * through;
    worth.then(|| {
        format!(
            "the recursion column is that of each phase by itself, {} in all, and not {}: a phase that lasts more or less \
             than the undisturbed one may miss a detour at its edge, or meet it twice",
            loss(anew),
            loss(through)
        )
    })
}

/// What the core's speed adds, where that is worth telling.
pub(crate) fn speed(cell: &Cell, of: &Explanation) -> Option<String> {
    let worth = of.speed.abs() > 0.02 * cell.measured.value.abs();
    let more = if of.speed < 0.0 { "shorter" } else { "longer" };
    worth.then(|| {
        format!(
            "the speed of the core makes {} of the difference: where phases were disturbed, undisturbed ones were \
             {more} too",
            loss(of.speed)
        )
    })
}

/// The phases that nothing explains.
pub(crate) fn longest(of: &Explanation) -> Option<String> {
    let longest = of.longest.first()?;
    let part = of.parts.iter().find(|part| part.happened == Happened::Unexplained)?;
    let long = counted(part.phases, "phase", "phases");
    let each: Vec<String> = of
        .longest
        .iter()
        .map(|phase| {
            format!(
                "{} at {} of round {} (phase {}, rank {} last, {} at work)",
                time(phase.took_ns),
                time(phase.at_ns as f64),
                phase.round,
                count(phase.phase),
                phase.last,
                time(phase.work_ns)
            )
        })
        .collect();
    let named = if longest.took_ns > 0.0 { each.join(", ") } else { String::new() };
    Some(format!("{long} over {} that no detour explains; the longest: {named}", exact(of.long_ns)))
}
