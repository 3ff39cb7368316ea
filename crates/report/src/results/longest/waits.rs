//! The longest waits of the threads of a program, each with who had the CPU.

use crate::names::{calls, holder};
use crate::screen::Screen;
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{instant, length};
use anechoic_analyze::LongestDetours;
use anechoic_analyze::waits::{HolderKind, LongWait};
use anechoic_recording::DelayKind;

/// Number of waits in a shortened table.
const FEW: usize = 5;
/// Number of calls that are named.
const CALLS: usize = 4;

/// Adds the longest waits, if the recording has any.
pub(super) fn add(found: &LongestDetours, view: &View<'_>, screen: &mut Screen) {
    if found.waits.is_empty() {
        return;
    }
    screen.section("the longest waits of its threads, also behind threads of the same program");
    let calls: Vec<String> = found.waits.iter().map(where_they_were).collect();
    let mut table = table(&found.waits);
    table.asides(calls.iter().map(String::as_str));
    screen.table(table.first(FEW, view.all, |more| format!("{more} more")));
}

fn table(waits: &[LongWait]) -> Table {
    Table::with_rows(waits)
        .number("waited", |wait| length(wait.length_ns))
        .number("at", |wait| instant(wait.start_ns))
        .number("CPU", |wait| wait.cpu.to_string())
        .name("thread", |wait| format!("{} {}", plain(&wait.name), wait.tid))
        .name("behind", behind)
        .captioned("The longest waits of the threads of the program")
        .last_takes_rest()
}

/// Returns where both threads were in their code, as far as that is known.
fn where_they_were(wait: &LongWait) -> String {
    let own = wait.calls.as_ref().map(|own| match wait.kind {
        DelayKind::Preempted => format!("it was in {}", calls(own, CALLS)),
        _ => format!("it had slept in {}", calls(own, CALLS)),
    });
    // What did not hold it up has no name: then it was a wake-up.
    let named = wait.behind_calls.as_ref().filter(|_| !wait.behind.name.is_empty());
    let other =
        named.map(|other| format!("{} left in {}", plain(&wait.behind.name), calls(other, CALLS)));
    [own, other].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Describes what had the CPU, and why the thread did not execute.
fn behind(wait: &LongWait) -> String {
    let tid = wait.behind_tid.map_or(String::new(), |tid| format!(" {tid}"));
    let mut text = match wait.behind.kind {
        HolderKind::OwnThread => format!("{}{tid} (own)", plain(&wait.behind.name)),
        HolderKind::OtherThread => format!("{}{tid}", plain(&wait.behind.name)),
        _ => holder(&wait.behind),
    };
    if wait.held_ns < wait.length_ns / 10 * 9 {
        text += &format!(" {}", length(wait.held_ns));
    }
    let why = match (wait.kind, &wait.woken_by) {
        (DelayKind::Preempted, _) => "preempted".to_owned(),
        (DelayKind::Begun, _) => "just begun".to_owned(),
        (DelayKind::Blocked, Some(by)) => format!("blocked by {}, which waited", plain(by)),
        (_, Some(by)) => format!("woken by {}", plain(by)),
        _ => "woken".to_owned(),
    };
    let inversion = if wait.inversion { " · priority inversion" } else { "" };
    format!("{text} · {why}{inversion}")
}
