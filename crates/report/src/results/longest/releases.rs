//! The latest releases of a program's threads by timers, each with its parts.

use crate::names::source_name;
use crate::screen::Screen;
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{instant, length, time};
use anechoic_analyze::LongestDetours;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::waits::{LateRelease, ReleaseParts};

/// Number of releases in a shortened table.
const FEW: usize = 3;

/// Adds the latest releases, if the recording has any.
pub(super) fn add(found: &LongestDetours, view: &View<'_>, screen: &mut Screen) {
    if found.releases.is_empty() {
        return;
    }
    screen.section("the latest releases of its threads by timers");
    let parts: Vec<String> = found.releases.iter().map(parts).collect();
    let mut table = table(&found.releases, &found.run);
    table.asides(parts.iter().map(String::as_str));
    screen.table(table.first(FEW, view.all, |more| format!("{more} more")));
}

fn table(releases: &[LateRelease], run: &Facts) -> Table {
    Table::with_rows(releases)
        .number("late", |release| length(release.latency_ns))
        .number("due at", |release| instant(release.due_ns))
        .number("CPU", |release| release.cpu.to_string())
        .name("thread", |release| format!("{} {}", plain(&release.name), release.tid))
        .name("by", |release| by(release, run))
        .captioned("The latest releases of the threads of the program by timers")
        .last_takes_rest()
}

/// Returns what took most of a release, and how much.
fn by(release: &LateRelease, run: &Facts) -> String {
    let name = source_name(&release.source, &release.source_name, run);
    match release.source_ns >= release.latency_ns / 10 * 9 {
        true => name,
        false => format!("{name} {}", length(release.source_ns)),
    }
}

/// Returns the parts of a release in order, with the CPU of the timer if that is another one.
fn parts(release: &LateRelease) -> String {
    let elsewhere = (release.timer_cpu != release.cpu)
        .then(|| format!("its timer expired on CPU {}", release.timer_cpu));
    let unseen = (release.unseen_ns > 0)
        .then(|| format!("up to {} more, the switch was not reported", length(release.unseen_ns)));
    let all = [Some(release_parts(&release.parts)), elsewhere, unseen];
    all.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Names the parts of a release that took time.
pub(crate) fn release_parts(parts: &ReleaseParts) -> String {
    let all = [
        ("itself", parts.overrun_ns),
        ("slack", parts.slack_ns),
        ("timer", parts.timer_ns),
        ("interrupt", parts.interrupt_ns),
        ("scheduling", parts.scheduling_ns),
    ];
    let some = all.into_iter().filter(|(_, ns)| *ns >= 1.0);
    let named: Vec<String> = some.map(|(name, ns)| format!("{name} {}", time(ns))).collect();
    named.join(", ")
}
