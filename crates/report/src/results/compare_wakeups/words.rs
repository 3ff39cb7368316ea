//! Whether wake-up latency changed, in words.

use super::{name, share};
use crate::results::compare::{self, Effect};
use crate::units::{asked, between, count, micro, micros};
use anechoic_analyze::compare::wakeups::{
    LateShare, WakeupChange, WakeupComparison, WakeupVerdict,
};
use anechoic_analyze::compare::{Difference, Order};

/// Number of differences that the headline names.
const MOST: usize = 3;

/// Returns what was found in sentences, of which the first is the headline.
pub(super) fn sentences(found: &WakeupComparison) -> Vec<String> {
    let clear = differing(found);
    let verdict = match found.verdict {
        WakeupVerdict::Changed => "Wake-up latency changed.",
        WakeupVerdict::NotShown
            if found.trials.as_ref().is_some_and(|trials| trials.tried().is_some()) =>
        {
            &format!("No {} on wake-up latency is shown.", compare::change(found.trials.as_ref()))
        }
        WakeupVerdict::NotShown => "No change of wake-up latency is shown.",
        WakeupVerdict::Unproven if found.order == Order::Kept => {
            "Wake-up latency differs, but it is not proven that a change did this: what is kept of a run is no sample of it."
        }
        WakeupVerdict::Unproven => {
            "Wake-up latency differs, but it is not proven that a change did this: the sides were measured more than ten \
             minutes apart."
        }
        WakeupVerdict::OneRunDiffers => {
            "No verdict: one run on a side does not show how much runs differ. These recordings differ by more than the \
             variation within them."
        }
        WakeupVerdict::OneRun if !found.rows.iter().any(shows_variation) => {
            "No verdict: one run on a side does not show how much runs differ, and these recordings have too few blocks to show \
             how much they vary within."
        }
        WakeupVerdict::OneRun => {
            "No verdict: one run on a side does not show how much runs differ. These recordings do not differ by more than \
             the variation within them."
        }
    };
    let more = clear.len().saturating_sub(MOST);
    let nothing_else = clear.is_empty();
    let tried = compare::verdict(found.trials.as_ref(), effect(found));
    let mut sentences: Vec<String> = tried.into_iter().chain([verdict.to_owned()]).collect();
    sentences.extend(clear.into_iter().take(MOST));
    if more > 0 {
        sentences.push(format!("{} more differences are in the tables.", count(more as u64)));
    }
    if nothing_else {
        sentences.extend(reach(found));
    }
    sentences
}

/// Returns whether all clear differences of all CPUs together are of the same kind.
fn effect(found: &WakeupComparison) -> Effect {
    match found.verdict {
        WakeupVerdict::Changed => {}
        WakeupVerdict::NotShown => return Effect::NotShown,
        WakeupVerdict::Unproven | WakeupVerdict::OneRun | WakeupVerdict::OneRunDiffers => {
            return Effect::Undecided;
        }
    }
    let mut later = vec![];
    for row in found.rows.iter().filter(|row| row.cpu.is_none()) {
        let clear = [row.p50_ns, row.p99_ns].into_iter().flatten().filter(|one| one.clear);
        later.extend(clear.map(|one| one.after > one.before));
        if row.late.clear {
            later.push(part(&row.late.after) > part(&row.late.before));
        }
    }
    Effect::from_clear(&later)
}

/// Returns the share of late wake-ups.
fn part(side: &LateShare) -> f64 {
    side.late as f64 / side.wakeups.max(1) as f64
}

fn shows_variation(row: &WakeupChange) -> bool {
    row.p50_ns.is_some_and(|median| median.interval.is_some())
}

/// Returns a sentence for each clear difference of all CPUs together.
fn differing(found: &WakeupComparison) -> Vec<String> {
    let mut all = vec![];
    for row in found.rows.iter().filter(|row| row.cpu.is_none()) {
        let quantiles = [("median", row.p50_ns), ("99th percentile", row.p99_ns)];
        for (what, difference) in quantiles {
            let clear = difference.filter(|difference| difference.clear);
            all.extend(clear.map(|difference| moved(what, &whose(row, found), &difference)));
        }
        if row.late.clear {
            let [before, after] = [&row.late.before, &row.late.after];
            all.push(format!(
                "{} wake-ups{} were later than {}: {}, {} before.",
                if part(after) > part(before) { "More" } else { "Fewer" },
                whose(row, found),
                asked(found.late_ns),
                share(after),
                share(before)
            ));
        }
    }
    all
}

/// Names the wake-ups of a row, to follow what is said of them; nothing if there are no others.
fn whose(row: &WakeupChange, found: &WakeupComparison) -> String {
    match name(row, found) {
        all if all == "all" => String::new(),
        name => format!(" ({name})"),
    }
}

fn moved(what: &str, whose: &str, difference: &Difference) -> String {
    let rose = difference.after > difference.before;
    let verb = if rose { "rose" } else { "fell" };
    let by = (difference.after - difference.before).abs();
    let range = difference.interval.map_or(String::new(), |ends| {
        let (low, high) = if rose { (ends.low, ends.high) } else { (-ends.high, -ends.low) };
        format!(" (95 %: {})", between(&micros(low), &micros(high)))
    });
    let after = micro(difference.after / 1e3);
    format!("The {what}{whose} {verb} by {}{range} to {after}.", micro(by / 1e3))
}

/// States how large a difference of the median may be that was not found.
fn reach(found: &WakeupComparison) -> Option<String> {
    let row = found.rows.first()?;
    let ends = row.p50_ns?.interval?;
    let range = between(&micros(ends.low), &micros(ends.high));
    Some(format!("The median{} moved by {range} µs with 95 % confidence.", whose(row, found)))
}

/// Returns what to do for a verdict, or for a more certain one.
pub(super) fn advice(found: &WakeupComparison) -> Vec<String> {
    let other = found.other_cpus.then(|| {
        "The runs measured different CPUs, so the difference may be that of the CPUs. Measure the same with --cpus.".to_owned()
    });
    let advice = match (found.verdict, found.order) {
        (WakeupVerdict::OneRun | WakeupVerdict::OneRunDiffers, _) => {
            "Measure both sides three times or more, in turns, and give all recordings of a side: \
             `anechoic compare a1,a2,a3 b1,b2,b3`."
        }
        (_, Order::Kept) => "Measure both sides without --stop-on, or without --keep.",
        (WakeupVerdict::Unproven, _) => "Measure both sides again, in turns.",
        (WakeupVerdict::Changed, Order::Apart) => {
            "The runs of each side follow each other: if the host drifts slowly, that looks like a change. Measure in turns \
             where you can; neighbouring runs are then compared in pairs."
        }
        _ => return other.into_iter().collect(),
    };
    other.into_iter().chain([advice.to_owned()]).collect()
}

/// States where the intervals come from.
pub(super) fn certainty(found: &WakeupComparison) -> String {
    let how = match (found.by_blocks, found.order) {
        (true, _) => "the variation of the medians of blocks within the recordings",
        (_, Order::Paired) => "the differences of neighbouring runs of both sides",
        (_, Order::Mixed) => "the variation between runs, which are mixed in time",
        (_, Order::Sessions) => {
            "the variation between sessions, which lie more than ten minutes apart"
        }
        (_, Order::Duet) => "the differences of runs at the same time on two sets of CPUs",
        (_, Order::Apart | Order::OneSession | Order::Kept) => {
            "the variation between runs, widened by the correlation of successive ones"
        }
    };
    format!(
        "Intervals (95 %, Student's t) are from {how}. A difference is clear if one of its size, among all in its table, has a \
         probability below 5 % without a change (Holm). For late wake-ups their numbers must show it, and the runs, if there \
         are several."
    )
}
