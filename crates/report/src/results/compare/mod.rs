//! The screen of a comparison: whether the noise changed, in which sources, on which CPUs, at which lengths.

mod certainty;
mod charts;
mod culprits;
mod pace;
mod program;
mod row;
mod sentences;
mod tables;
mod trials;
mod warnings;

pub use row::{COMPARE, job_costs};

use crate::names::title_of;
use crate::screen::Screen;
use crate::style::{View, clip, plain};
use crate::units::counted;
use anechoic_analyze::compare::{Comparison, Side, SourceChange};
use certainty::certainty;
use sentences::sentences;
pub(in crate::results) use tables::differences;
use tables::{cpus, lengths, points, settings, side_heads, sides, sources};
pub(in crate::results) use trials::{Effect, change, commands, not_complete, to_keep, verdict};
use warnings::warnings;

/// Widest name in a table.
const NAME: usize = 28;

/// Shows whether the noise changed, and where.
#[must_use]
pub fn compare(found: &Comparison, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let side = |side: &Side| format!("{} ({})", name(side), counted(side.runs, "run", "runs"));
    // A page begins with the sentences.
    screen.in_terminal(|terminal| {
        terminal.heading(&format!("comparison: {} · {}", side(&found.before), side(&found.after)));
        terminal.gap();
        terminal.headline(&sentences(found).join(" "));
    });
    if let Some(chart) = charts::runs(found) {
        screen.on_page(|page| page.picture(chart, charts::RUNS));
    }
    for warning in warnings(found) {
        screen.warning(&warning);
    }
    if let Some(trials) = &found.trials {
        screen.section("trials");
        screen.facts(commands(trials));
        to_keep(trials, &mut screen);
    }
    match &found.program {
        Some(program) => program::add(found, program, &mut screen),
        None => {
            screen.section("both sides");
            screen.table(sides(found));
        }
    }
    if found.before.runs.max(found.after.runs) > 1 {
        screen.note(
            match found.program {
                Some(_) => "lost: geometric mean over the runs of a side; tables below: arithmetic means, which add up",
                None => "noise: geometric mean over the runs of a side; tables below: arithmetic means, which add up",
            },
        );
    }
    if !found.changed.is_empty() {
        screen.section("settings that differ");
        screen.table(settings(found, view));
    }
    if !found.sources.is_empty() {
        screen.section(match found.program {
            Some(_) => "sources, as a share of the time in which it wanted a CPU; differences in percentage points",
            None => "sources, as a share of the CPU time; differences in percentage points",
        });
        screen.table(sources(found, view));
    }
    if !found.cpus.is_empty() {
        screen.section("noise of each CPU; differences in percentage points");
        screen.table(cpus(found, view));
    }
    if let Some(pace) = &found.pace {
        screen.section("pace between the detours, as a share of the CPU time");
        screen.table(pace::shares(found, pace));
        screen.table(pace::calm(found, pace));
    }
    if found.lengths.len() > 1 {
        screen.section("detours by length, per second and CPU");
        screen.picture(charts::lengths(found), charts::LENGTHS);
        screen.table(lengths(found, view));
    }
    screen.section("how certain this is");
    certainty(found).iter().for_each(|line| screen.sentence(line));
    screen
}

fn name(side: &Side) -> String {
    clip(&plain(&side.name), NAME)
}

fn source_name(source: &SourceChange) -> String {
    clip(&title_of(&source.source, &source.name, source.control), NAME)
}

/// What the tests of several files build.
/// Returns what the sides are called after a number.
fn in_sentences(found: &Comparison) -> [&'static str; 2] {
    if found.trials.is_some() { ["in A", "in B"] } else { ["before", "after"] }
}

#[cfg(test)]
mod tests {
    use anechoic_analyze::compare::{Change, Comparison, Difference, Order, Side, SourceChange};

    fn side(name: &str, noise: f64) -> Side {
        Side {
            name: name.into(),
            runs: 10,
            noise_of_runs: vec![noise; 10],
            noise,
            between_runs: None,
            within_runs: None,
            rate_per_s: 0.0,
            wall_ns: 1,
            threshold_ns: (1, 1),
        }
    }

    /// Returns a comparison of sides with this noise, in which nothing else is known.
    pub(super) fn comparison([before, after]: [f64; 2]) -> Comparison {
        Comparison {
            before: side("A", before),
            after: side("B", after),
            program: None,
            verdict: Change::NotShown,
            order: Order::Paired,
            apart_ns: None,
            ratio: Some(after / before),
            interval: None,
            probability: None,
            mann_whitney: None,
            length_distance: None,
            detectable: None,
            plan: vec![],
            notes: vec![],
            changed: vec![],
            sources: vec![],
            cpus: vec![],
            other_cpus: false,
            pace: None,
            lengths: vec![],
            job: None,
            trials: None,
            history: None,
        }
    }

    /// Returns a thread that took 0.5 of the time, and this much more after the change.
    pub(super) fn source(name: &str, rise: f64, clear: bool) -> SourceChange {
        let difference = Difference { before: 0.5, after: 0.5 + rise, interval: None, clear };
        SourceChange { source: "thread".into(), name: name.into(), control: false, difference }
    }
}
