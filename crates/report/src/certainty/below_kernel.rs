//! What the events of a recorded program do not show: the edges of interrupts, and what is below the kernel.

use crate::screen::{Fact, InBrief};
use crate::style::{Tone, plain};
use crate::units::{between, counted, length, share};
use anechoic_analyze::edges::{Edges, Interrupts};
use anechoic_analyze::program::{ProgramFacts, RecordingCost};
use std::path::Path;

/// A brief screen states steal from this part of the run time on.
const LEAST_STEAL: f64 = 0.01;
/// A recording that costs a larger part of the run time has a line there too.
const MUCH: f64 = 0.02;

/// Returns what is known of it, in a guest or on a machine without a hypervisor.
pub(super) fn facts(
    program: &ProgramFacts,
    is_guest: bool,
    interrupts: Option<&Interrupts>,
) -> Vec<Fact> {
    let found = interrupts.filter(|found| found.count > 0);
    let edges = found.map(|found| {
        let number = counted(found.count, "interrupt", "interrupts");
        match &found.edges {
            Some(edges) => {
                Fact::new("not seen", Tone::Quiet, format!("{} more at entry and exit of {number} ({})", more(edges), seen(edges)))
            }
            None => {
                let text = format!(
                    "entry and exit of {number}, each of unknown length: a recording of `anechoic run` in the same directory gives an estimate"
                );
                Fact::new("not seen", Tone::Quiet, text).in_brief(InBrief::Nothing)
            }
        }
    });
    let steal = program.account.filter(|_| is_guest).map(|account| match account.steal_ns {
        0 => {
            let none = "the hypervisor reported none while the program was recorded";
            Fact::new("steal", Tone::Good, none).in_brief(InBrief::Nothing)
        }
        ns => {
            let text = format!("{} on all CPUs while the program was recorded; the part that hit the program counts as its run time", length(ns));
            let fact = Fact::new("steal", Tone::Quiet, text);
            let is_much = ns as f64 >= LEAST_STEAL * program.ran_ns as f64;
            if is_much { fact } else { fact.in_brief(InBrief::Nothing) }
        }
    });
    let below =
        "what firmware, a hypervisor or a slow memory bus takes counts as run time of the program";
    let below =
        Fact::new("below", Tone::Quiet, below).in_brief(InBrief::Unchecked("below the kernel"));
    let cost = program.recording.map(|cost| cost_fact(cost, program.ran_ns));
    edges.into_iter().chain(steal).chain(cost).chain([below]).collect()
}

/// Returns what recording cost the program.
fn cost_fact(cost: RecordingCost, ran_ns: u64) -> Fact {
    let part = cost.ns as f64 / ran_ns.max(1) as f64;
    let text = format!(
        "about {} of its run time ({}): {}, each at the price of events between two threads that woke each other before",
        share(part),
        length(cost.ns),
        counted(cost.events, "event", "events")
    );
    let tone = if part < MUCH { Tone::Good } else { Tone::Warning };
    let fact = Fact::new("recording", tone, text);
    if part < MUCH { fact.in_brief(InBrief::Nothing) } else { fact }
}

fn more(edges: &Edges) -> String {
    match (length(edges.low_ns), length(edges.high_ns)) {
        (low, high) if low == high => low,
        (low, high) => between(&low, &high),
    }
}

/// Returns how that is known.
fn seen(edges: &Edges) -> String {
    let name = Path::new(&edges.recording).file_name();
    let name = name.map_or_else(|| edges.recording.clone(), |name| name.to_string_lossy().into());
    format!("by {} in {}", counted(edges.seen, "interrupt", "interrupts"), plain(&name))
}
