//! How the verdict of a comparison was reached, and what would make it more certain.

use crate::style::capital;
use crate::units::{count, counted, local_time, ratio, span};
use anechoic_analyze::compare::{Comparison, OnFile, Order};

/// The probability below which a difference counts.
const SIGNIFICANT: f64 = 0.05;

/// Returns how the verdict was reached, and what would make it more certain.
pub(super) fn certainty(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![];
    if let (Some(history), Some(probability)) = (&comparison.history, comparison.probability) {
        lines.push(format!(
            "{} Two of them differ as much with a probability of {} (rank among the differences of all pairs). Below 5 % it \
             {}.",
            earlier(history),
            chance(probability),
            effect(probability),
        ));
    } else if let Some(probability) = comparison.probability {
        let how = match comparison.order {
            Order::Paired => "neighbouring runs of both sides are compared in pairs",
            Order::Mixed => "the runs of both sides are mixed in time",
            Order::Sessions => "means of sessions, which lie more than ten minutes apart",
            Order::Apart | Order::OneSession => "widened by the correlation of successive runs",
            Order::Duet => {
                "both sides ran at the same time; what the two sets of CPUs differ by is taken off"
            }
            Order::Kept => "a run is no sample",
        };
        lines.push(format!(
            "Without a change, so large a difference of the runs has a probability of {} (Student's t; {how}). Below 5 % it \
             {}.",
            chance(probability),
            effect(probability),
        ));
    }
    let ranks = comparison
        .mann_whitney
        .map(|probability| format!("by ranks (Mann and Whitney) {}", chance(probability)));
    let apart = comparison.length_distance.map(|distance| {
        format!(
            "the distributions of lengths differ by up to {} at these thresholds (Kolmogorov and Smirnov)",
            ratio(distance)
        )
    });
    let beside: Vec<String> = ranks.into_iter().chain(apart).collect();
    if !beside.is_empty() {
        lines.push(format!("{}; these are not part of the verdict.", capital(&beside.join("; "))));
    }
    let plan = comparison
        .plan
        .iter()
        .map(|choice| format!("{} runs of {}", count(choice.runs), span(choice.wall_ns)));
    let plan: Vec<String> = plan.collect();
    if let Some(first) = comparison.plan.first().filter(|_| comparison.program.is_some()) {
        // The variation within a run of a program is not known.
        lines.push(format!(
            "To find a change of 10 % with a probability of 80 %, record {} runs on each side.",
            count(first.runs)
        ));
    } else if !plan.is_empty() {
        lines.push(format!(
            "To find a change of 10 % with a probability of 80 %, measure on each side {}.",
            plan.join(", or ")
        ));
    }
    lines
}

/// States what a probability below 5 % means for this one.
fn effect(probability: f64) -> &'static str {
    if probability < SIGNIFICANT { "counts as a change" } else { "would count as a change" }
}

/// Writes how many earlier runs there are, since when, and how much they differ.
fn earlier(history: &OnFile) -> String {
    let spread = history.between_runs.map(|deviation| {
        format!("; they vary by {:.1} % of their noise (standard deviation)", deviation * 100.0)
    });
    let [first, last] = [&history.first_utc, &history.last_utc]
        .map(|utc| utc.as_deref().map(local_time).unwrap_or_default());
    format!(
        "How much single runs differ is known from {} of this host from {first} to {last}{}.",
        counted(history.runs, "earlier run", "earlier runs"),
        spread.unwrap_or_default()
    )
}

/// Writes a probability: `0.3 %`, `below 0.1 %`.
fn chance(probability: f64) -> String {
    match probability * 100.0 {
        ..0.1 => "below 0.1 %".into(),
        percent @ ..9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}
