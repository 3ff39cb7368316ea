//! The sentences of a comparison: the change, its largest sources, and what it is worth.

use super::culprits::explained;
use super::{Effect, change, in_sentences, name, pace, program, source_name, verdict};
use crate::style::{capital, listed};
use crate::units::{asked, count, counted, long, noise, number, number_range, rough_share};
use anechoic_analyze::compare::{
    Change, Comparison, Difference, FEWEST_PAIRS, Order, SourceChange,
};
use anechoic_analyze::stats::Interval;

/// A source that changed while the sum did not is named if its change is this part of the noise.
const LEAST_ALONE: f64 = 0.02;

/// Returns what was found: the change, its largest sources, what it is worth.
pub(super) fn sentences(found: &Comparison) -> Vec<String> {
    let (before, after) = (&found.before, &found.after);
    let values = match found.program {
        Some(_) => program::values(found),
        None => format!(
            "{} in {}, {} in {}",
            noise(before.noise),
            name(before),
            noise(after.noise),
            name(after)
        ),
    };
    let what = if found.program.is_some() { "lost share" } else { "noise" };
    let size = found.ratio.map(|ratio| fell_or_rose(ratio, found.interval));
    let size = size.unwrap_or_else(|| match after.noise < before.noise {
        true => "fell".to_owned(),
        false => "rose".to_owned(),
    });
    let first = match found.verdict {
        Change::Quieter | Change::Noisier => format!("The {what} {size}: {values}."),
        Change::Unproven if found.order == Order::Kept => {
            format!("No change is proven: {values}, but {}.", why_unproven(found))
        }
        Change::Unproven => {
            format!("Unproven: the {what} {size} ({values}), but {}.", why_unproven(found))
        }
        Change::NotShown => not_shown(found, &values),
        Change::OneRunDiffers => format!(
            "These recordings differ: the {what} {size}: {values}. Whether the change did it is unknown: {}.",
            too_few(found)
        ),
        Change::OneRun => format!("No verdict: {values}. {}.", capital(&too_few(found))),
    };
    let mut sentences: Vec<String> =
        verdict(found.trials.as_ref(), effect(found)).into_iter().collect();
    let begin = sentences.len();
    sentences.push(first);
    let times = found.program.as_ref().map(|program| program::times(found, program));
    let are_programs = found.trials.as_ref().is_some_and(|trials| trials.record);
    let place = if are_programs { begin } else { sentences.len() };
    sentences.splice(place..place, times.into_iter().flatten());
    match found.verdict {
        Change::Quieter | Change::Noisier | Change::Unproven => sentences.extend(explained(found)),
        Change::NotShown => sentences.extend(changed_alone(found)),
        Change::OneRunDiffers | Change::OneRun => {}
    }
    sentences.extend(pace::sentences(found));
    if let Some(job) = &found.job {
        let Difference { before, after, clear, .. } = job.difference;
        let [side, other] = in_sentences(found);
        sentences.push(format!(
            "A job of {} ranks that synchronises every {} loses {} {side} and {} {other}{}.",
            count(job.ranks),
            asked(job.grain_ns),
            part(before),
            part(after),
            if clear { "" } else { ", which is no clear difference" },
        ));
    }
    sentences
}

/// Returns whether less or more is lost, by detours or by a slower pace, and whether a program clearly takes less or more time.
fn effect(found: &Comparison) -> Effect {
    let mut worse = match found.verdict {
        Change::Quieter => vec![false],
        Change::Noisier => vec![true],
        Change::NotShown => vec![],
        Change::Unproven | Change::OneRunDiffers | Change::OneRun => return Effect::Undecided,
    };
    let is_tried = found.trials.as_ref().is_some_and(|trials| !trials.settings.is_empty());
    let wall = found.program.as_ref().and_then(|program| program.wall_ns);
    let wall = wall.filter(|wall| wall.clear);
    worse.extend(wall.filter(|_| is_tried).map(|wall| wall.after > wall.before));
    worse.extend(pace::proven(found).into_iter().flatten());
    Effect::from_clear(&worse)
}

/// States that no change is shown, and how large one would probably have been found.
fn not_shown(found: &Comparison, values: &str) -> String {
    let at_least = found.detectable.map(|ratio| {
        let (fall, rise) = match ratio {
            ..2.0 => {
                (format!("by {}", part(1.0 - 1.0 / ratio)), format!("by {}", part(ratio - 1.0)))
            }
            _ => {
                (format!("to {} times", number(1.0 / ratio)), format!("to {} times", number(ratio)))
            }
        };
        format!(" A fall {fall} or a rise {rise} would probably have been found.")
    });
    let what = match effect(found) {
        Effect::NotShown => change(found.trials.as_ref()),
        // Its time or its pace changed.
        _ if found.program.is_some() => "change of the lost share".to_owned(),
        _ => "change of the noise".to_owned(),
    };
    format!(
        "No {what} is shown: {values}{}.{}",
        found.ratio.map(|ratio| format!(" ({})", times(ratio, found.interval))).unwrap_or_default(),
        at_least.unwrap_or_default()
    )
}

/// Returns why a difference does not prove a change.
fn why_unproven(found: &Comparison) -> String {
    if found.order == Order::Kept {
        return "what a run keeps before the detour that ended it (--stop-on) is no sample of the run".into();
    }
    if found.control_moved() {
        return "time below the kernel, which the change hardly affects, changed too: the host may have".into();
    }
    format!(
        "the sides were measured {} apart, and nothing shows how much this host changes by itself in that time",
        long(found.apart_ns.unwrap_or_default())
    )
}

/// Writes a part of a whole: `38 %`, `0.52 %`.
fn part(share: f64) -> String {
    if share < 0.1 { noise(share) } else { rough_share(share) }
}

/// Writes `fell by 38 % (95 %: 31–44 %)`.
fn fell_or_rose(ratio: f64, interval: Option<Interval>) -> String {
    let fell = ratio < 1.0;
    if !(0.2..=2.0).contains(&ratio) {
        let verb = if fell { "fell" } else { "rose" };
        return format!("{verb} to {}", times(ratio, interval));
    }
    let percent = |factor: f64| if fell { (1.0 - factor) * 100.0 } else { (factor - 1.0) * 100.0 };
    // A fall is largest where the ratio is lowest.
    let interval = interval.map(|ends| {
        let (low, high) = if fell { (ends.high, ends.low) } else { (ends.low, ends.high) };
        format!(" (95 %: {} %)", number_range(percent(low), percent(high)))
    });
    let verb = if fell { "fell" } else { "rose" };
    format!("{verb} by {} %{}", number(percent(ratio)), interval.unwrap_or_default())
}

/// Writes `1.04 times, 95 %: 0.91–1.19`.
fn times(ratio: f64, interval: Option<Interval>) -> String {
    let interval = interval.map(|ends| format!(", 95 %: {}", number_range(ends.low, ends.high)));
    format!("{} times{}", number(ratio), interval.unwrap_or_default())
}

/// Names sources that changed clearly where the noise as a whole did not: what varies in the rest hides them.
fn changed_alone(found: &Comparison) -> Option<String> {
    let least = LEAST_ALONE * found.before.noise.max(found.after.noise);
    let change = |source: &SourceChange| source.difference.after - source.difference.before;
    let alone = |source: &&SourceChange| {
        source.difference.clear && !source.control && change(source).abs() >= least
    };
    let named: Vec<String> =
        found.sources.iter().filter(alone).take(2).map(|row| on_both_sides(row, found)).collect();
    (!named.is_empty()).then(|| {
        format!(
            "Alone, {} changed clearly; the rest varies too much for that to show in the sum.",
            listed(&named)
        )
    })
}

fn on_both_sides(source: &SourceChange, found: &Comparison) -> String {
    let Difference { before, after, .. } = source.difference;
    let [side, other] = in_sentences(found);
    format!("{} ({} {side}, {} {other})", source_name(source), noise(before), noise(after))
}

/// Returns why the runs give no verdict.
fn too_few(found: &Comparison) -> String {
    match found.order {
        Order::Duet if found.before.runs >= FEWEST_PAIRS => format!(
            "in all {} pairs the sides had the same CPUs, so the difference may be that of the CPUs",
            count(found.before.runs)
        ),
        Order::Duet => format!(
            "after {} of a duet the difference may be that of the CPUs: {FEWEST_PAIRS} pairs are needed",
            counted(found.before.runs, "pair", "pairs")
        ),
        _ => "one run does not show how much runs differ".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{comparison, source};
    use super::*;
    use anechoic_analyze::compare::{ProgramChange, Trials, TriedSetting};

    #[test]
    fn a_setting_helps_if_all_that_is_clear_got_better() {
        for (worse, expected) in [
            (&[false, false][..], Effect::Helps),
            (&[true], Effect::Hurts),
            (&[false, true, false], Effect::Both),
            (&[], Effect::NotShown),
        ] {
            assert_eq!(Effect::from_clear(worse), expected, "{worse:?}");
        }
    }

    #[test]
    fn the_verdict_on_a_setting_comes_first() {
        let trials = Trials {
            commands: Default::default(),
            settings: vec![TriedSetting {
                name: "vm.stat_interval".into(),
                file: "/proc/sys/vm/stat_interval".into(),
                before: "1".into(),
                value: "10".into(),
                in_effect: None,
            }],
            during: false,
            record: false,
            after: None,
            seed: 1,
            duet: None,
            swapped: vec![false, true],
            complete: vec![1, 2],
        };
        for (verdict, expected) in [
            (Change::Quieter, "vm.stat_interval=10 helped. The noise"),
            (Change::Noisier, "vm.stat_interval=10 made it worse. The noise"),
            (Change::NotShown, "No effect of vm.stat_interval=10 is shown: 5.00 % in A"),
            (Change::Unproven, "It is undecided whether vm.stat_interval=10 helps. Unproven"),
            (Change::OneRun, "It is undecided whether vm.stat_interval=10 helps. No verdict"),
        ] {
            let made = comparison([0.05, 0.054]);
            let found = Comparison { verdict, trials: Some(trials.clone()), ..made.clone() };
            let text = sentences(&found).join(" ");
            assert!(text.starts_with(expected), "{verdict:?}: {text}");
            let text = sentences(&Comparison { verdict, ..made }).join(" ");
            assert!(!text.contains("vm.stat_interval"), "two commands: {text}");
        }
        // A program that is clearly faster was helped, whatever it lost.
        let times = |after, clear| Difference { before: 300.0, after, interval: None, clear };
        for (wall, verdict, expected) in [
            (times(250.0, true), Change::NotShown, "vm.stat_interval=10 helped. From start"),
            (times(250.0, false), Change::NotShown, "From start"),
            (times(250.0, true), Change::Noisier, "vm.stat_interval=10 helped in one way and"),
        ] {
            let program = ProgramChange {
                names: Default::default(),
                wall_ns: Some(wall),
                cpu_ns: times(200.0, false),
                is_account: true,
                lost_ns: times(1.0, false),
                releases: vec![],
                releases_left_out: Default::default(),
                late_ns: None,
            };
            let trials = Some(Trials { record: true, ..trials.clone() });
            let made = comparison([0.05, 0.054]);
            let found = Comparison { verdict, program: Some(program), trials, ..made };
            let text = sentences(&found).join(" ");
            assert!(text.starts_with(expected), "{text}");
            let effect = text.contains("No effect of vm.stat_interval=10 is shown: 5.00 %");
            assert_eq!(effect, verdict == Change::NotShown && !wall.clear, "{text}");
        }
    }

    #[test]
    fn a_source_that_changed_is_named_where_the_sum_hides_it() {
        let mut found = comparison([0.05, 0.054]);
        let host = SourceChange { control: true, ..source("host", 0.4, true) };
        found.sources = vec![source("far", 0.4, false), host, source("tiny", 0.0001, true)];
        assert_eq!(
            sentences(&found),
            ["No change is shown: 5.00 % in A, 5.40 % in B (1.08 times)."]
        );
        let difference =
            Difference { before: 0.001, after: 0.005, ..source("new", 0.0, true).difference };
        found.sources.push(SourceChange { difference, ..source("new", 0.0, true) });
        assert_eq!(
            sentences(&found)[1],
            "Alone, thread new (0.10 % before, 0.50 % after) changed clearly; the rest varies too much for that to show in the sum."
        );
    }
}
