//! The screen of wake-up latency: how late threads were woken, by interval, kind of idle, what wakes and CPU.

mod charts;
pub(crate) mod kinds;
mod row;
pub(crate) mod stopped;
pub(crate) mod words;

pub use row::WAKEUP;

use crate::certainty;
use crate::heading;
use crate::names::source_name;
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{asked, count, counted, cpu_list, instant, micros, number, span, timestamp};
use anechoic_analyze::Wakeup;
use anechoic_analyze::wakeup::{Causes, Latencies, Stage, Worst};
use anechoic_recording::wakeup::WakingCall;

/// With more rows than this a short screen shows those with the longest wake-ups.
const MOST_ROWS: usize = 4;
/// Number of the longest wake-ups that a short screen lists.
const FEW: usize = 3;
/// Number of sources that a short screen lists.
const MOST_SOURCES: usize = 3;
/// What was not measured, or is not known from so few wake-ups.
const NOTHING: &str = "–";

/// Shows how late timers woke threads.
#[must_use]
pub fn wakeup(found: &Wakeup, view: &View<'_>) -> Screen {
    let mut screen = heading::begun(&found.run, &what(found));
    // A page begins with these.
    screen.in_terminal(|terminal| {
        words::sentences(found).iter().for_each(|sentence| terminal.headline(sentence));
    });
    // A short screen of a measurement that ended so shows that wake-up, and of the others only their latencies.
    let is_shown = found.stopped.as_ref().is_some_and(|stopped| stopped.wakeup.is_some());
    let only_on_page = is_shown && !view.all;
    stopped::add(found.stopped.as_ref(), &found.run, view.all, &mut screen);
    if !found.rows.is_empty() {
        screen.section("Wake-up latency, µs");
        screen.table(latencies(found, view));
        screen.on_page(|page| page.note(&words::columns(found)));
    }
    if let Some(causes) = &found.causes {
        let went = went(found, causes, view);
        match only_on_page {
            true => screen.on_page(|page| page.append(went)),
            false => screen.append(went),
        }
    }
    if !found.worst.is_empty() {
        let mut others = Screen::default();
        others.section("Longest wake-ups");
        let most = if view.all { usize::MAX } else { FEW };
        let worst = &found.worst[..most.min(found.worst.len())];
        others.table(longest(found, worst));
        match only_on_page {
            true => screen.on_page(|page| page.append(others)),
            false => screen.append(others),
        }
    }
    screen.on_page(|page| {
        let causes = found.causes.as_ref();
        let (tails, of_all) = charts::tails(found);
        page.picture(tails, of_all);
        let explained = [causes.and_then(charts::stages), causes.and_then(charts::bands)];
        let pictures = explained.into_iter().chain([charts::longest(found)]).flatten();
        pictures.for_each(|(chart, caption)| page.picture(chart, caption));
    });
    screen.gap();
    screen.facts(facts(found));
    screen.path_and_more(view);
    screen.in_brief(view)
}

/// Describes the measurement.
fn what(found: &Wakeup) -> String {
    let mut intervals: Vec<u64> = found.rows.iter().map(|row| row.interval_ns).collect();
    intervals.dedup();
    let intervals: Vec<String> = intervals.into_iter().map(asked).collect();
    let cpus = match found.run.cpus.len() {
        0 => "any CPU".to_owned(),
        number => {
            format!("{} ({})", counted(number as u64, "CPU", "CPUs"), cpu_list(&found.run.cpus))
        }
    };
    let mut calls: Vec<Option<WakingCall>> = found.rows.iter().map(|row| row.call).collect();
    calls.sort_unstable();
    calls.dedup();
    let calls: Vec<&str> = calls.into_iter().map(words::by).collect();
    let wakes = match intervals.is_empty() {
        true => "no wake-ups".into(),
        false => format!("{} every {}", calls.join(", "), intervals.join(", ")),
    };
    format!(
        "wakeup: {wakes} · {cpus} · {} · {} in {} · {}",
        found.run.policy,
        counted(found.samples(), "wake-up", "wake-ups"),
        span(found.run.wall_ns),
        timestamp(&found.run.start_utc),
    )
}

fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NOTHING.into(), micros)
}

/// Returns the CPU of a row, or that it is for all of them.
fn place(cpu: Option<u32>) -> String {
    cpu.map_or_else(|| "all".into(), |cpu| cpu.to_string())
}

pub(crate) fn idle(shallow: bool) -> String {
    if shallow { "shallow" } else { "any" }.into()
}

/// Returns the name of a stage.
pub(crate) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Timer => "timer",
        Stage::Interrupt => "interrupt",
        Stage::Call => "call",
        Stage::Scheduling => "scheduling",
        Stage::Return => "return",
    }
}

/// Returns whether several kinds of idle were measured.
fn compares_idle(found: &Wakeup) -> bool {
    found.rows.iter().any(|row| row.shallow) && found.rows.iter().any(|row| !row.shallow)
}

/// Returns whether another thread's call woke some of the threads.
fn has_calls(found: &Wakeup) -> bool {
    found.rows.iter().any(|row| row.call.is_some())
}

/// Returns the CPU from which the threads of a row were woken.
fn from(waker_cpu: Option<u32>) -> String {
    waker_cpu.map_or_else(|| NOTHING.into(), |cpu| cpu.to_string())
}

fn latencies(found: &Wakeup, view: &View<'_>) -> Table {
    let mut rows: Vec<&Latencies> = found.rows.iter().collect();
    if rows.len() > MOST_ROWS && !view.all {
        // First those of all CPUs, then those with the longest wake-ups; these stay in their order.
        let rank = |row: &Latencies| (row.cpu.is_none(), row.max_ns.unwrap_or(0.0));
        let mut ranked = rows.clone();
        ranked.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
        let shown = &ranked[..MOST_ROWS];
        rows.sort_by_key(|row| !shown.iter().any(|kept| std::ptr::eq(*kept, *row)));
    }
    let late = format!("> {}", asked(found.late_ns));
    let idles = compares_idle(found);
    let calls = has_calls(found);
    let overruns = found.rows.iter().any(|row| row.overruns > 0);
    let table = Table::with_rows(&rows)
        .name("interval", |row| asked(row.interval_ns))
        .some_names("idle", 0, |row| idles.then(|| idle(row.shallow)))
        .some_names("woken by", 0, |row| calls.then(|| words::name(row.call).into()))
        .number("CPU", |row| place(row.cpu))
        .some_numbers("from", 1, |row| calls.then(|| from(row.waker_cpu)))
        .number("wake-ups", |row| count(row.samples))
        .some_numbers("overruns", 1, |row| overruns.then(|| count(row.overruns)))
        .number("p50", |row| time(row.p50_ns))
        .number("p99", |row| time(row.p99_ns))
        .number("p99.9", |row| time(row.p999_ns))
        .number("max", |row| time(row.max_ns))
        .number(&late, |row| count(row.late))
        .number("share", |row| words::late_share(row.late_share));
    let table = table.captioned("Wake-up latency by interval and CPU, µs");
    table.first(MOST_ROWS, view.all, |more| {
        format!(
            "{} with shorter ones; --all shows all",
            counted(more as u64, "more row", "more rows")
        )
    })
}

fn longest(found: &Wakeup, worst: &[Worst]) -> Table {
    let overruns = worst.iter().any(|wake| wake.overruns > 0);
    let (idles, calls) = (compares_idle(found), has_calls(found));
    Table::with_rows(worst)
        .number("at", |wake| instant(wake.at_ns))
        .number("CPU", |wake| wake.cpu.to_string())
        .name("interval", |wake| asked(wake.interval_ns))
        .some_names("idle", 0, |wake| idles.then(|| idle(wake.shallow)))
        .some_names("woken by", 0, |wake| calls.then(|| words::waker(wake.waker)))
        .number("took", |wake| format!("{} µs", micros(wake.latency_ns)))
        .some_numbers("overruns", 1, |wake| overruns.then(|| count(wake.overruns)))
        .some_names("most of it", 0, |wake| words::cause(found, wake))
        .captioned("The longest wake-ups")
}

/// Shows where the time of the wake-ups went: their parts, and what ran meanwhile.
fn went(found: &Wakeup, causes: &Causes, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let parts = words::classes(causes);
    if parts.is_empty() {
        return screen;
    }
    let mut mean = Screen::default();
    mean.section("Mean parts, from the expiry or the waking call to the thread, µs");
    let calls = has_calls(found);
    mean.table(
        Table::with_rows(&parts)
            .name("wake-ups", |(name, _)| name.clone())
            .number("timer", |(_, parts)| micros(parts.timer_ns))
            .number("interrupt", |(_, parts)| micros(parts.interrupt_ns))
            .some_numbers("call", 1, |(_, parts)| calls.then(|| micros(parts.call_ns)))
            .number("scheduling", |(_, parts)| micros(parts.scheduling_ns))
            .number("return", |(_, parts)| micros(parts.return_ns))
            .captioned("Mean parts of wake-ups, µs"),
    );
    match view.all {
        true => screen.append(mean),
        // A short screen has them as a fact.
        false => screen.on_page(|page| page.append(mean)),
    }
    screen.section("What made wake-ups late, % of the latency that is explained");
    let percent =
        |share: Option<f64>| share.map_or_else(|| NOTHING.into(), |share| number(share * 100.0));

    let sources = Table::with_rows(&causes.sources)
        .name("source", |source| source_name(&source.source, &source.name, &found.run))
        .number("late", |source| percent(source.share_late))
        .number("above p99", |source| percent(source.share_above_p99))
        .number("all", |source| percent(Some(source.share)))
        .number("wake-ups", |source| count(source.wakeups))
        .captioned("What took the time of wake-ups, % of the latency that is explained")
        .first(MOST_SOURCES, view.all, |left| counted(left as u64, "more source", "more sources"));
    screen.table(sources);
    if !causes.idle.is_empty() {
        let mut idle = Screen::default();
        idle.section("Wake-ups by the idle state that their CPU left, µs");
        idle.table(by_idle_state(causes));
        match view.all {
            true => screen.append(idle),
            false => screen.on_page(|page| page.append(idle)),
        }
    }
    screen
}

fn by_idle_state(causes: &Causes) -> Table {
    Table::with_rows(&causes.idle)
        .name("idle state", |idle| words::idle_state(idle).into())
        .number("exit promised", |idle| time(idle.promised_ns))
        .number("wake-ups", |idle| count(idle.wakeups))
        .number("timer p50", |idle| micros(idle.timer_p50_ns))
        .number("timer max", |idle| micros(idle.timer_max_ns))
        .number("wake-up p50", |idle| micros(idle.p50_ns))
        .captioned("Wake-ups by the idle state that their CPU left, µs; timer: from the expiry to the interrupt")
}

/// Returns facts on the policy, the kernel events, losses, and what is missing.
fn facts(found: &Wakeup) -> Vec<Fact> {
    let lost: u64 = found.whole().map(|row| row.lost).sum();
    let lost = (lost > 0).then(|| counted(lost, "wake-up was lost", "wake-ups were lost"));
    let policy = (!found.rows.is_empty()).then(|| words::policy(found));
    let mut facts: Vec<Fact> =
        policy.into_iter().map(|text| Fact::new("policy", Tone::Plain, text)).collect();
    facts.extend(words::events(found).map(|text| Fact::new("events", Tone::Plain, text)));
    facts.extend(words::explained(found).map(|(tone, text)| Fact::new("explained", tone, text)));
    facts.extend(words::parts(found).map(|text| Fact::new("mean parts", Tone::Plain, text)));
    let passes = words::working_set(found);
    facts.extend(passes.map(|text| Fact::new("working set", Tone::Plain, text)));
    facts.extend(lost.map(|text| Fact::new("losses", Tone::Bad, text)));
    facts.extend(certainty::not_available(&found.run.not_available));
    facts.extend(certainty::notes(&found.run));
    facts
}
