//! The screen of a user's own function: what happens to the caches before a call, and how much longer the call takes.

use super::words::size;
use super::{facts, words};
use crate::heading;
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{between, count, counted, number as plain_number, span, time, timestamp};
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Calls, Own};
use anechoic_recording::memory::catalogue::{DataCaches, Disturbance};
use anechoic_recording::memory::{Before, Level, MEMORY_EXPERIMENTS, Preemptor};

/// What the columns are.
const COLUMNS: &str = "Median call: the median over the blocks. Added: how much longer the median call takes than with warm caches, mean over the \
blocks; all intervals hold together with 95 %. The call alone is timed, not what happens before it.";

/// What follows where the other CPUs write.
const BESIDE: &str = " while the other CPUs write to the shared cache";

/// Shows what each experiment adds to a call.
pub(super) fn screen(found: &Memory, own: &Own, view: &View<'_>) -> Screen {
    let mut screen = heading::begun(&found.run, &what(found, own));
    screen.in_terminal(|terminal| {
        sentences(found, own).iter().for_each(|sentence| terminal.headline(sentence));
    });
    screen.section("what happens before a call, and what it adds");
    screen.table(table(found, own));
    screen.note(COLUMNS);
    screen.warnings_or(facts(found), view.all);
    screen.path_and_more(view);
    screen.in_brief(view)
}

/// Describes the measurement.
fn what(found: &Memory, own: &Own) -> String {
    let calls = own.calls.iter().map(|calls| calls.calls).sum();
    let place = found.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let pages: Vec<String> = found.page_bytes.iter().map(|&bytes| size(bytes)).collect();
    let workspace = match own.bytes {
        0 => "no workspace".to_owned(),
        bytes if pages.is_empty() => format!("a workspace of {}", size(bytes)),
        bytes => format!("a workspace of {} in pages of {}", size(bytes), pages.join(" and ")),
    };
    format!(
        "memory: {}{place} · {workspace} · {} of {} · {} calls in {} · {}",
        own.work,
        own.calls.len(),
        counted(found.experiments.len() as u64, "experiment", "experiments"),
        count(calls),
        span(found.run.wall_ns),
        timestamp(&found.run.start_utc),
    )
}

/// States how long a call takes, and what adds most to it.
pub(super) fn sentences(found: &Memory, own: &Own) -> Vec<String> {
    if own.calls.is_empty() {
        return vec![format!("No call of {} was measured.", own.work)];
    }
    let warm = own.calls.iter().find(|calls| is_warm(&calls.experiment));
    let mut sentences: Vec<String> = warm
        .map(|warm| {
            let beside = if is_disturbed(&warm.experiment) { BESIDE } else { "" };
            format!(
                "A call of {} takes {} with warm caches{beside}.",
                own.work,
                time(warm.median_ns)
            )
        })
        .into_iter()
        .collect();
    let compared: Vec<&Calls> = own.calls.iter().filter(|calls| calls.added_95.is_some()).collect();
    let sure = |calls: &&&Calls| calls.added_95.is_some_and(|added| added.low > 0.0);
    let longest = compared
        .iter()
        .filter(sure)
        .max_by(|a, b| a.added_ns.partial_cmp(&b.added_ns).unwrap_or(std::cmp::Ordering::Equal));
    match (longest, warm) {
        (Some(longest), Some(_)) => {
            let number = compared.iter().filter(sure).count();
            let lengthen = if number == 1 { "lengthens" } else { "lengthen" };
            let warm_ns = longest.median_ns - longest.added_ns.unwrap_or(0.0);
            let beside = if is_disturbed(&longest.experiment) { BESIDE } else { "" };
            sentences.push(format!(
                "{number} of {} {lengthen} it beyond doubt, most of all {}{beside}: by {}, {} times as long.",
                counted(compared.len() as u64, "experiment", "experiments"),
                before(found, &longest.experiment),
                added(longest).unwrap_or_default(),
                plain_number(longest.median_ns / warm_ns.max(1.0)),
            ));
        }
        (None, Some(_)) if !compared.is_empty() => sentences.push(format!(
            "Whether {} it is not decided.",
            counted(compared.len() as u64, "experiment lengthens", "experiments lengthen")
        )),
        _ => {}
    }
    sentences.extend(words::os_share(found));
    sentences
}

fn table(found: &Memory, own: &Own) -> Table {
    let is_mixed = own.calls.iter().any(|calls| !is_disturbed(&calls.experiment));
    let others = |calls: &Calls| is_disturbed(&calls.experiment).then(|| "write".to_owned());
    Table::with_rows(&own.calls)
        .name("before each call", |calls| before(found, &calls.experiment))
        .some_names("other CPUs", 0, |calls| others(calls).filter(|_| is_mixed))
        .number("calls", |calls| count(calls.calls))
        .number("median call", |calls| time(calls.median_ns))
        .some_numbers("added", 0, added)
        .some_numbers("longest", 1, |calls| Some(time(calls.longest_ns)))
        .captioned("What happens before a call, and how much longer the call takes")
}

/// Writes the added time with its interval.
fn added(calls: &Calls) -> Option<String> {
    let interval = calls.added_95?;
    let ends = between(&time(interval.low), &time(interval.high));
    Some(format!("{} ({ends})", time(calls.added_ns?)))
}

/// Says what happens before each call of an experiment.
fn before(found: &Memory, id: &str) -> String {
    let Some(listed) = MEMORY_EXPERIMENTS.iter().find(|listed| listed.id == id) else {
        return id.to_owned();
    };
    let other = found.experiment(id).and_then(|experiment| experiment.other_bytes).map(size);
    let other = other.unwrap_or_else(|| "memory".into());
    match (listed.before, listed.before.disturbance(DataCaches::USUAL)) {
        (_, Some(Disturbance::Sleep(ns))) => {
            format!("a preemption that sleeps {}", time(ns as f64))
        }
        (Before::Warm, _) => "another call (warm caches)".to_owned(),
        (Before::Dirty, _) => "filling the caches with modified lines".to_owned(),
        (Before::Preempted { by: Preemptor::RunsCode, .. }, _) => {
            format!("a preemption that runs {other} of code")
        }
        (Before::Preempted { by, .. }, _) => {
            let does = if by == Preemptor::Reads { "reads" } else { "writes" };
            format!("a preemption that {does} {other}")
        }
        (Before::Migrated(Level::L2), _) => "a migration within the L2 cache".to_owned(),
        (Before::Migrated(Level::L3), _) => "a migration within the L3 cache".to_owned(),
        (Before::Migrated(Level::Neither), _) => "a migration without a common cache".to_owned(),
    }
}

/// Returns whether nothing but another call comes before each call of an experiment.
fn is_warm(id: &str) -> bool {
    MEMORY_EXPERIMENTS.iter().any(|listed| listed.id == id && listed.before == Before::Warm)
}

/// Returns whether the other CPUs write to the shared cache during an experiment.
fn is_disturbed(id: &str) -> bool {
    MEMORY_EXPERIMENTS.iter().any(|listed| listed.id == id && listed.co_runner)
}
