//! How much may grow until a simulated job is slower.

use crate::names::title_of;
use crate::style::clip;
use crate::table::Table;
use crate::units::{bounds, fine};
use anechoic_simulate::{Grown, Growth, Parameters, Tolerance};

/// Growth that is not exceeded by what is looked for.
const MOST: f64 = 1_025.0;
/// Widest name of what grows.
const NAME: usize = 34;

/// Returns the heading.
pub(super) fn heading(tolerance: &Tolerance) -> String {
    format!("what may grow alone until the job is {} slower", percent(tolerance.share))
}

/// Shows how far each may grow, what may grow least first.
pub(super) fn table(tolerance: &Tolerance, parameters: &Parameters, guest: bool) -> Table {
    let parameters = *parameters;
    Table::with_rows(&tolerance.growth)
        .name("what grows", move |growth| name(growth, &parameters, guest))
        .number("may grow to", |growth| factor(growth.tolerated))
        .number("95 %", |growth| {
            let interval = growth.interval.filter(|interval| interval.low < MOST);
            bounds(interval, None, factor)
        })
        .captioned("How much may grow until the job is slower")
}

/// Says what may grow least.
pub(super) fn sentence(
    tolerance: &Tolerance,
    parameters: &Parameters,
    guest: bool,
) -> Option<String> {
    let least = tolerance.growth.first().filter(|least| least.tolerated < MOST)?;
    let (what, share) = (name(least, parameters, guest), percent(tolerance.share));
    Some(match least.tolerated > 1.0 {
        true => {
            let times = factor(least.tolerated);
            let times = times.trim_end_matches(" ×");
            format!("The job is {share} slower if {what} takes {times} times as long.")
        }
        false => format!("The job is more than {share} slower if {what} grows by a thousandth."),
    })
}

/// Names what grows, a parameter with its value.
fn name(growth: &Growth, parameters: &Parameters, guest: bool) -> String {
    match &growth.what {
        Grown::Noise => "all noise".to_owned(),
        Grown::Source { source, name } => clip(&title_of(source, name, guest), NAME),
        Grown::Parameter { parameter } => {
            let per_byte = |ps: u64| format!("{ps} ps/B");
            let ns = |ps: u64| fine(ps as f64 / 1e3);
            let value = match *parameter {
                "L" => ns(parameters.latency_ps),
                "o" => ns(parameters.overhead_ps),
                "g" => ns(parameters.gap_ps),
                "G" => per_byte(parameters.gap_per_byte_ps),
                _ => per_byte(parameters.overhead_per_byte_ps),
            };
            format!("{parameter} {value}")
        }
    }
}

/// Writes a factor: two digits of what is added.
fn factor(times: f64) -> String {
    match times {
        ..1.01 => format!("{times:.4} ×"),
        ..1.1 => format!("{times:.3} ×"),
        ..10.0 => format!("{times:.2} ×"),
        ..100.0 => format!("{times:.1} ×"),
        MOST.. => "over 1,000 ×".to_owned(),
        _ => format!("{times:.0} ×"),
    }
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}
