//! The spread that remains as the time of the kernel is subtracted step by step (Tsafrir 2007, Figure 11).

use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::measured::names::Named;
use crate::results::measured::survival;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::samples::subtraction::{Left, Subtracted, Subtraction};

/// Draws the share of the samples that take longer, after each step; times are relative to the shortest raw sample. Returns
/// the chart with its caption.
pub(crate) fn over_shortest(
    named: Named<'_>,
    subtraction: &Subtraction,
    run: &Facts,
) -> (Chart, String) {
    let title = named.title();
    let all = || subtraction.steps.iter().filter_map(|step| Some((step, step.judged.as_ref()?)));
    let shortest = all().map(|(_, left)| left.min_ns).fold(f64::INFINITY, f64::min);
    let curves = survival::from_all(all().map(|(_, left)| survivors(left, shortest)).collect());
    let curves = all().zip(curves).enumerate().map(|(number, ((step, _), points))| {
        let what = taken(step.taken, run);
        // Each further one begins with "and".
        let name = match step.taken {
            Subtracted::Nothing => format!("{what} subtracted"),
            Subtracted::Ticks => format!("subtracted: {what}"),
            _ => what,
        };
        Curve::numbered(number, name, Draw::Steps, &points)
    });
    let chart = Chart::new(
        Axis::log("over the shortest", Quantity::Time),
        Axis::log("share of the samples", Quantity::Share),
        curves.collect(),
    )
    .named(&title);
    let caption = format!(
        "Share of the samples that take at least this much longer, {title}: raw and after each step of the subtraction. Without spread the curve is a vertical line."
    );
    (chart, caption)
}

/// Names what a step subtracts.
pub(crate) fn taken(taken: Subtracted, run: &Facts) -> String {
    match taken {
        Subtracted::Nothing => "nothing",
        Subtracted::Ticks => "ticks, direct time",
        Subtracted::Network => "and network, direct",
        Subtracted::AllSources => "and all sources, direct",
        Subtracted::Gaps if run.hypervisor.is_some() => "and gaps, VM exits in them",
        Subtracted::Gaps => "and gaps: trap, return",
        Subtracted::VmOrHardware if run.hypervisor.is_some() => "and VM exits, hardware",
        Subtracted::VmOrHardware => "and hardware",
        Subtracted::NotAttributable => "and unattributable time",
        Subtracted::Detours => "all detours",
    }
    .into()
}

/// Returns the share of the samples that take longer, by how much longer than the shortest.
fn survivors(left: &Left, shortest: f64) -> Vec<(f64, f64)> {
    let mut above = 1.0;
    let mut points = vec![];
    for point in &left.curve {
        points.push((point.value - shortest, above));
        above = 1.0 - point.share;
    }
    points
}
