//! The screen of the earlier wake-ups of a host: their latencies over time, and how much they vary.

mod row;

pub use row::WAKEUP_HISTORY;

use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::history::{changed_settings, doubts, kind, left_out, spread};
use crate::results::wakeup::{kinds, words};
use crate::screen::Screen;
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{asked, count, counted, local_time, micro, micros, number};
use anechoic_analyze::history::{
    LeftOut, PastLatencies, PastWakeups, Step, Trend, Variation, WakeupHistory, WakeupSeries,
};
use anechoic_analyze::wakeup::Kind;

/// Number of runs in a shortened table, the newest.
const SHOWN: usize = 10;
/// Number of kinds of wake-ups in a shortened table.
const MOST_KINDS: usize = 16;
/// Number of changes that are stated.
const MOST_CHANGES: usize = 4;
/// The median of each kind is stated if there are no more.
const FEW_KINDS: usize = 2;
/// What is not known from so few wake-ups.
const NOTHING: &str = "–";

/// Shows the latencies of each run, and how much runs differ.
#[must_use]
pub(crate) fn wakeup_history(found: &WakeupHistory, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading(&format!(
        "history of wake-ups: {} of {}",
        counted(found.runs.len() as u64, "run", "runs"),
        plain(&found.kind.host)
    ));
    screen.context(&kind(&found.kind));
    screen.gap();
    screen.headline(&sentences(found).join(" "));
    let known = found.runs.iter().flat_map(|run| &run.doubts);
    doubts(found.runs.len(), known).iter().for_each(|text| screen.warning(text));
    ended(found).iter().for_each(|text| screen.warning(text));
    changed_settings(&found.changed).iter().for_each(|text| screen.warning(text));
    if !view.all && found.series.len() > 1 {
        screen.section("means over the runs, µs, how much runs vary, and late ones of the newest");
        screen.table(by_kind(found));
        left_out([0, found.older, found.not_whole, found.others])
            .iter()
            .for_each(|line| screen.note(line));
        screen.note("--all shows each run");
        return screen;
    }
    let hidden = if view.all { 0 } else { found.runs.len().saturating_sub(SHOWN) };
    let names: Vec<Kind> = found.series.iter().map(|series| series.kind).collect();
    for series in &found.series {
        let name = kinds::name(series.kind, &names);
        if found.runs.len() > 1 {
            screen.gap();
            screen.charts([chart(found, series, name.as_deref())]);
        }
        let of_kind = name.map_or(String::new(), |name| format!(" {name}"));
        screen.section(&format!("runs{of_kind}, µs, the newest last"));
        screen.table(runs(found, series, hidden));
    }
    let LeftOut { not_whole, older, others } =
        LeftOut { not_whole: found.not_whole, older: found.older, others: found.others };
    left_out([hidden as u64, older, not_whole, others]).iter().for_each(|line| screen.note(line));
    let certain: Vec<String> =
        found.series.iter().flat_map(|series| certainty(series, &names)).collect();
    if !certain.is_empty() {
        screen.section("how much runs differ");
        certain.iter().for_each(|line| screen.sentence(line));
    }
    screen
}

/// States how many runs ended because a wake-up was late, and what is not judged therefore.
fn ended(found: &WakeupHistory) -> Option<String> {
    let mut all = found.runs.iter().filter_map(|run| run.ended_at);
    let condition = all.next()?;
    Some(format!(
        "{} of {}: ended because a wake-up was late (--stop-on '{condition}'), so that the longest ones and the shares of late ones are not judged.",
        count(1 + all.count() as u64),
        counted(found.runs.len() as u64, "run", "runs"),
    ))
}

fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NOTHING.into(), micros)
}

/// Returns the runs that have this kind of wake-ups, one row each, without the oldest.
fn runs(found: &WakeupHistory, series: &WakeupSeries, hidden: usize) -> Table {
    let row = |run: &PastWakeups| run.latencies.iter().find(|row| row.kind == series.kind).copied();
    let rows: Vec<(&PastWakeups, PastLatencies)> =
        found.runs[hidden..].iter().filter_map(|run| Some((run, row(run)?))).collect();
    let late = format!("> {}", asked(found.late_ns));
    Table::with_rows(&rows)
        .name("started", |(run, _)| local_time(&run.start_utc))
        .name("recording", |(run, _)| plain(&run.path))
        .number("wake-ups", |(_, row)| count(row.samples))
        .number("p50", |(_, row)| time(row.p50_ns))
        .number("p99", |(_, row)| time(row.p99_ns))
        .number("p99.9", |(_, row)| time(row.p999_ns))
        .number("max", |(_, row)| time(row.max_ns))
        .number(&late, |(_, row)| count(row.late))
        .number("share", |(_, row)| words::late_share(row.late_share))
        .captioned("Wake-ups of each run, of all its CPUs, µs")
}

/// Returns the kinds of wake-ups, one row each, with how much their runs differ.
fn by_kind(found: &WakeupHistory) -> Table {
    let names: Vec<Kind> = found.series.iter().map(|series| series.kind).collect();
    let mean = |variation: Option<&Variation>| time(variation.and_then(|it| it.mean));
    let late = format!("> {}", asked(found.late_ns));
    Table::with_rows(&found.series)
        .name("kind", |series| kinds::name(series.kind, &names).unwrap_or_default())
        .number("p50", |series| mean(Some(&series.p50)))
        .number("varies", |series| varies(Some(&series.p50)))
        .number("p99", |series| mean(series.p99.as_ref()))
        .number("varies ", |series| varies(series.p99.as_ref()))
        .number("longest", |series| mean(series.max.as_ref()))
        .number(&late, |series| newest(found, series.kind).map_or(NOTHING.into(), |row| count(row.late)))
        .captioned("Kinds of wake-ups: geometric means over the runs, and standard deviations between them")
        .first(MOST_KINDS, false, |more| format!("and {} more", count(more as u64)))
}

/// Writes how much a value varies from run to run.
fn varies(variation: Option<&Variation>) -> String {
    let deviation = variation.and_then(|it| it.between_runs);
    deviation.map_or_else(|| NOTHING.into(), |part| format!("± {:.1} %", part * 100.0))
}

/// Returns the wake-ups of this kind in the newest run.
fn newest(found: &WakeupHistory, kind: Kind) -> Option<&PastLatencies> {
    found.runs.last()?.latencies.iter().find(|row| row.kind == kind)
}

/// Draws the quantiles of the runs in their order.
fn chart(found: &WakeupHistory, series: &WakeupSeries, name: Option<&str>) -> Chart {
    type Value = fn(&PastLatencies) -> Option<f64>;
    let values: [(&str, Value); 3] =
        [("median", |row| row.p50_ns), ("p99", |row| row.p99_ns), ("longest", |row| row.max_ns)];
    let mut curves = vec![];
    for (at, (what, value)) in values.into_iter().enumerate() {
        let row = |run: &PastWakeups| {
            run.latencies.iter().find(|row| row.kind == series.kind).and_then(value)
        };
        let points: Vec<(f64, f64)> = (1_u32..)
            .zip(&found.runs)
            .filter_map(|(number, run)| Some((f64::from(number), row(run)?)))
            .collect();
        if !points.is_empty() {
            curves.push(Curve::numbered(at, what.into(), Draw::Points, &points));
        }
    }
    let of_kind = name.map_or(String::new(), |name| format!(" {name}"));
    let title = format!("wake-up latency{of_kind} of each run, in order of time");
    let x = Axis::linear("run", Quantity::Count);
    Chart::new(x, Axis::log("latency", Quantity::Time), curves).titled(&title, 10)
}

/// Returns what was found: how much runs differ, and what changed.
pub(crate) fn sentences(found: &WakeupHistory) -> Vec<String> {
    if found.runs.is_empty() {
        return vec!["No run can be compared.".into()];
    }
    if found.runs.len() < 2 {
        return vec!["One run does not show how much runs differ.".into()];
    }
    if found.series.is_empty() {
        return vec!["The runs have no interval and kind of idle in common.".into()];
    }
    let names: Vec<Kind> = found.series.iter().map(|series| series.kind).collect();
    let us = |ns: f64| micro(ns / 1e3);
    let share = |share: f64| format!("{} %", number(share * 100.0));
    let (mut sentences, mut changes) = (together(found), vec![]);
    for series in &found.series {
        let whose =
            kinds::name(series.kind, &names).map_or(String::new(), |name| format!(" ({name})"));
        let known = series.p50.mean.zip(series.p50.between_runs);
        if let Some((mean, deviation)) = known.filter(|_| found.series.len() <= FEW_KINDS) {
            sentences.push(format!(
                "The median of a run is {}{whose}; runs vary by {:.1} % of it (standard deviation).",
                us(mean),
                deviation * 100.0
            ));
        }
        let late = series.late.as_ref().map(|late| ("share of late ones", late));
        let p99 = series.p99.as_ref().map(|p99| ("99th percentile", p99));
        let max = series.max.as_ref().map(|max| ("longest wake-up", max));
        let times = [Some(("median", &series.p50)), p99, max];
        for (what, variation) in times.into_iter().flatten() {
            changes.extend(moved(what, &whose, variation, &us));
        }
        changes.extend(late.and_then(|(what, variation)| moved(what, &whose, variation, &share)));
    }
    let more = changes.len().saturating_sub(MOST_CHANGES);
    sentences.extend(changes.into_iter().take(MOST_CHANGES));
    if more > 0 {
        sentences.push(format!("{} more changes are in the JSON.", count(more as u64)));
    }
    if sentences.is_empty() {
        sentences.push("How much the runs differ is not known: some have no such wake-ups.".into());
    }
    sentences
}

/// States how much the medians of many kinds vary; nothing for few, of which each is stated.
fn together(found: &WakeupHistory) -> Vec<String> {
    let known = found.series.iter().filter_map(|series| series.p50.between_runs);
    let ends = known.fold(None, |ends: Option<(f64, f64)>, part| match ends {
        None => Some((part, part)),
        Some((low, high)) => Some((low.min(part), high.max(part))),
    });
    let ends = ends.filter(|_| found.series.len() > FEW_KINDS);
    let sentence = ends.map(|(low, high)| {
        format!(
            "The medians of {} kinds of wake-ups vary by {:.1} to {:.1} % from run to run (standard deviation).",
            count(found.series.len() as u64),
            low * 100.0,
            high * 100.0
        )
    });
    sentence.into_iter().collect()
}

/// States that a value changed at a time, or changes with time.
fn moved(
    what: &str,
    whose: &str,
    variation: &Variation,
    write: &dyn Fn(f64) -> String,
) -> Option<String> {
    let step = variation.step.as_ref().map(|step| at_once(what, whose, step, write));
    step.or_else(|| variation.trend.as_ref().map(|trend| slowly(what, whose, trend)))
}

fn at_once(what: &str, whose: &str, step: &Step, write: &dyn Fn(f64) -> String) -> String {
    let verb = if step.after < step.before { "fell" } else { "rose" };
    let (before, after) = (write(step.before), write(step.after));
    let since = local_time(&step.since_utc);
    format!("The {what}{whose} {verb} from {before} to {after} at {since}.")
}

fn slowly(what: &str, whose: &str, trend: &Trend) -> String {
    let verb = if trend.per_day < 1.0 { "falls" } else { "rises" };
    let times = number(trend.per_day);
    format!("The {what}{whose} {verb} with time, to {times} times in a day.")
}

/// Returns how much runs differ, and how that was found.
fn certainty(series: &WakeupSeries, names: &[Kind]) -> Vec<String> {
    let whose = kinds::name(series.kind, names).map_or(String::new(), |name| format!(" {name}"));
    let p99 = series.p99.as_ref().map(|p99| ("99th percentile", p99));
    let max = series.max.as_ref().map(|max| ("longest wake-up", max));
    let all = [Some(("median", &series.p50)), p99, max];
    let lines = all.into_iter().flatten().filter_map(|(what, variation)| {
        let (deviation, interval) = (variation.between_runs?, variation.between_runs_interval?);
        Some(format!(
            "Standard deviation between runs: {} of the {what}{whose}.",
            spread(deviation, interval)
        ))
    });
    lines.collect()
}
