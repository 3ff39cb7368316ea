//! The section on where the numbers come from: command, versions, clock, events.

use super::{Part, Section};
use crate::page::state::Page;
use crate::page::tables;
use crate::style::plain;
use crate::units::{counted, rate, time, timestamp};
use anechoic_analyze::Summary;
use anechoic_recording::run::{DrainPolicy, Trace};
use anechoic_recording::{Clock, methods};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "provenance",
    title: "Where the numbers come from",
    short: "Provenance",
    has: |part| part.run.is_some(),
    render,
};

fn render(part: &Part, _: &mut Page) -> Markup {
    let Some(run) = &part.run else { return html! {} };
    let drain = match run.drain {
        DrainPolicy::AtEnd => "not written out before the end",
        DrainPolicy::HighWater => "written out during the run",
    };
    let attributed = part.get::<Summary>().and_then(|summary| summary.sources.as_ref());
    html! {
        (tables::facts(vec![
            ("Recording", Some(plain(&part.name))),
            ("Command", Some(plain(&run.command.join(" ")))),
            ("Start", Some(timestamp(&run.start_utc))),
            ("End", run.end_utc.as_deref().map(timestamp)),
            ("Measured by", Some(format!("anechoic {}", plain(&run.tool_version)))),
            ("Attributed by", attributed.map(|found| format!("anechoic {}", plain(&found.attributed_by)))),
            ("Recording format", Some(run.format_version.to_string())),
            ("Scheduling policy", Some(plain(&run.policy))),
            ("Scheduler's quantum", run.quantum_ns.map(|ns| time(ns as f64))),
            ("Threshold", (run.method == methods::DETOURS).then(|| format!("{} ({})", time(run.clock.ns(run.threshold_ticks) as f64), plain(&run.threshold_source)))),
            ("Buffers", Some(drain.into())),
            ("Counter", Some(counter(&run.clock))),
            ("One counter read", Some(read(&run.clock))),
            ("Kernel events", run.trace.as_ref().map(events)),
            ("Hypervisor steal", run.steal_readings.then(|| "read at every tick".into())),
        ]))
    }
}

fn counter(clock: &Clock) -> String {
    let hz = clock.frequency_millihertz as f64 / 1e3;
    let residual = clock.residual_ppm.map(|ppm| {
        // Zero has no minus sign.
        let ppm = (ppm * 100.0).round() / 100.0 + 0.0;
        format!(", {ppm:.2} ppm relative to the kernel's clock")
    });
    let invariant = if clock.invariant { "" } else { ", not invariant" };
    format!(
        "{} at {:.3} MHz (by {}{}){invariant}",
        plain(&clock.counter),
        hz / 1e6,
        plain(&clock.frequency_source),
        residual.unwrap_or_default()
    )
}

fn read(clock: &Clock) -> String {
    let ns = |ticks: f64| time(ticks * clock.seconds(1) * 1e9);
    let step = clock.step_ticks() as f64;
    format!("{} on average; the counter steps by {}", ns(clock.read_mean_ticks), ns(step))
}

fn events(trace: &Trace) -> String {
    let kinds = counted(trace.events.len() as u64, "kind", "kinds");
    let missing = match trace.missing.len() {
        0 => String::new(),
        _ => format!("; missing on this kernel: {}", plain(&trace.missing.join(", "))),
    };
    let buffer = rate(trace.buffer_kb as f64);
    format!("{kinds}, clock {}, {buffer} KiB per CPU{missing}", plain(&trace.clock))
}
