//! What a comparison shows of recorded programs: their times, and what to do for a verdict.

use super::{differences, in_sentences, name, side_heads};
use crate::screen::Screen;
use crate::style::{clip, listed, plain};
use crate::table::Table;
use crate::units::{asked, between, count, noise, number, rate, span, time};
use anechoic_analyze::compare::{
    Change, Comparison, Difference, Order, ProgramChange, ReleaseChange, Side,
};

/// Widest name of a program.
const NAME: usize = 20;
/// Number of threads that are named whose releases are not compared.
const FEW: usize = 5;

/// Returns how much each side lost.
pub(super) fn values(found: &Comparison) -> String {
    let (before, after) = (&found.before, &found.after);
    format!(
        "{} of the time in which it wanted a CPU in {}, {} in {}",
        noise(before.noise),
        name(before),
        noise(after.noise),
        name(after)
    )
}

/// Returns for how long the programs of both sides ran, and their CPU time, in sentences.
pub(super) fn times(found: &Comparison, program: &ProgramChange) -> Vec<String> {
    let sides = in_sentences(found);
    let wall = program.wall_ns.map(|times| on_both("From start to end it took", sides, times));
    // Of programs that were not recorded to their end, parts of any length would be compared.
    let cpu = (program.is_account && program.wall_ns.is_some())
        .then(|| on_both("Its CPU time was", sides, program.cpu_ns));
    wall.into_iter().chain(cpu).collect()
}

/// Returns a time of both sides and its difference, in a sentence.
fn on_both(begin: &str, [side, other]: [&str; 2], times: Difference) -> String {
    let interval = times.interval.map(|ends| {
        let unclear = match times.clear {
            true => "",
            // What is clear is decided for all times of the program together.
            false if ends.low > 0.0 || ends.high < 0.0 => {
                ", which among three times is no clear difference"
            }
            false => ", which is no clear difference",
        };
        let difference = signed(times.after - times.before);
        let range = between(&signed(ends.low), &signed(ends.high));
        format!(" ({difference}; 95 %: {range}{unclear})")
    });
    let (before, after) = (ns(times.before), ns(times.after));
    format!("{begin} {before} {side} and {after} {other}{}.", interval.unwrap_or_default())
}

/// Writes a time; below 10 ms in two digits.
fn ns(ns: f64) -> String {
    match ns.abs() {
        ..9_950_000.0 => time(ns.abs()),
        ns => span(ns.round() as u64),
    }
}

/// Writes a difference of times with its sign.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", ns(value))
}

/// Writes an end of an interval; the sign of a positive difference is added where it is shown.
fn with_minus(value: f64) -> String {
    if value < 0.0 { signed(value) } else { ns(value) }
}

/// Adds the sides, and the times of the programs.
pub(super) fn add(found: &Comparison, program: &ProgramChange, screen: &mut Screen) {
    screen.section("both sides");
    screen.table(sides(found, program));
    screen.section("times of the program, means over the runs");
    let cpu = if program.is_account { "CPU time (kernel)" } else { "executed" };
    let rows = [
        ("wall time", program.wall_ns),
        (cpu, Some(program.cpu_ns)),
        ("lost", Some(program.lost_ns)),
    ];
    let rows: Vec<(&str, Difference)> =
        rows.into_iter().filter_map(|(what, times)| Some((what, times?))).collect();
    let table = differences(
        &rows,
        "",
        |row| row.0.to_owned(),
        |row| row.1,
        side_heads(found),
        [ns, with_minus],
    );
    screen.table(table.captioned("Times of the program on both sides, means over the runs"));
    add_releases(found, program, screen);
}

/// Adds how late timers released the threads that all runs have.
fn add_releases(found: &Comparison, program: &ProgramChange, screen: &mut Screen) {
    let only = || only_on_one_side(found, program);
    if program.releases.is_empty() {
        only().iter().for_each(|line| screen.note(line));
        return;
    }
    let latencies: Vec<(String, Difference)> =
        program.releases.iter().flat_map(latencies).collect();
    screen.section("latency of releases by timers, means over the runs");
    screen.table(by_thread(
        &latencies,
        found,
        [ns, with_minus],
        "Latency of the releases of threads by timers on both sides, means over the runs",
    ));
    let late = |row: &ReleaseChange| Some((thread(&row.name), row.late_share?));
    let late: Vec<(String, Difference)> = program.releases.iter().filter_map(late).collect();
    if let Some(late_ns) = program.late_ns.filter(|_| !late.is_empty()) {
        screen.section(&format!("late releases, over {}: percent of all", asked(late_ns)));
        let caption = "Share of late releases on both sides, in percent";
        screen.table(by_thread(&late, found, [percent, percent], caption));
    }
    only().iter().for_each(|line| screen.note(line));
}

/// Names the threads whose releases are not compared, because some runs have none of them or few.
fn only_on_one_side(found: &Comparison, program: &ProgramChange) -> Vec<String> {
    let names = &program.releases_left_out;
    let sides = [&found.before, &found.after].map(name);
    let only = sides.iter().zip(&names.only).filter(|(_, names)| !names.is_empty());
    let only =
        only.map(|(side, names)| format!("ten releases or more only in {side}: {}", first(names)));
    let some = (!names.some_runs.is_empty()).then(|| {
        format!("ten releases or more only in some runs of a side: {}", first(&names.some_runs))
    });
    only.chain(some).collect()
}

/// Names the first threads of a list, and states how many more there are.
fn first(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(FEW).map(|name| thread(name)).collect();
    match names.len().saturating_sub(FEW) {
        0 => listed(&shown),
        more => format!("{} and {} more", shown.join(", "), count(more as u64)),
    }
}

fn by_thread(
    rows: &[(String, Difference)],
    found: &Comparison,
    format: [fn(f64) -> String; 2],
    caption: &'static str,
) -> Table {
    let name = |row: &(String, Difference)| row.0.clone();
    differences(rows, "released", name, |row| row.1, side_heads(found), format).captioned(caption)
}

/// Returns the rows of a thread, the quantiles of its latency.
fn latencies(row: &ReleaseChange) -> Vec<(String, Difference)> {
    let quantiles = [("median", Some(row.p50_ns)), ("99 %", row.p99_ns)];
    let rows = quantiles.into_iter().filter_map(|(quantile, times)| {
        Some((format!("{quantile}, {}", thread(&row.name)), times?))
    });
    rows.collect()
}

fn thread(name: &str) -> String {
    clip(&plain(name), NAME)
}

/// Writes a share in percent.
fn percent(share: f64) -> String {
    number(100.0 * share)
}

fn sides(found: &Comparison, program: &ProgramChange) -> Table {
    let relative = |deviation: f64| format!("± {:.1} %", deviation * 100.0);
    let names = program.names.each_ref().map(|names| named(names));
    let rows: Vec<(Side, String)> =
        [found.before.clone(), found.after.clone()].into_iter().zip(names).collect();
    Table::with_rows(&rows)
        .name("side", |row| name(&row.0))
        .name("program", |row| row.1.clone())
        .number("runs", |row| count(row.0.runs))
        .number("lost", |row| noise(row.0.noise))
        .some_numbers("between runs", 0, |row| row.0.between_runs.map(relative))
        .number("detours/s", |row| rate(row.0.rate_per_s))
        .captioned("What the programs of both sides lost of the time in which they wanted a CPU: geometric mean over runs")
}

fn named(names: &[String]) -> String {
    listed(&names.iter().map(|name| clip(&plain(name), NAME)).collect::<Vec<_>>())
}

/// Returns what makes a comparison of programs doubtful, with what to do.
pub(super) fn warnings(found: &Comparison, program: &ProgramChange) -> Vec<String> {
    let mut warnings = vec![];
    let is_meant = found.trials.as_ref().is_some_and(|trials| trials.record);
    if !program.is_same() && !is_meant {
        let [before, after] = program.names.each_ref().map(|names| named(names));
        let (side, other) = (name(&found.before), name(&found.after));
        warnings.push(format!(
            "These are recordings of different programs: {before} in {side}, {after} in {other}. A difference may be that of the programs."
        ));
    }
    let advice = match (found.verdict, found.order) {
        (Change::OneRun | Change::OneRunDiffers, _) => {
            "Record each side repeatedly, and give all its recordings together: `anechoic record -o before/1 -- PROGRAM`, \
             `… -o before/2 …`, change the setting, `… -o after/1 …`, `… -o after/2 …`; then `anechoic compare before after`."
        }
        (Change::Unproven, Order::OneSession) if !found.control_moved() => {
            "Record both sides again, in turns: before, after, before, after; give all recordings of a side together."
        }
        (_, Order::Kept) => "Record both sides again without --stop-on.",
        (Change::Quieter | Change::Noisier, Order::Apart) => {
            "The runs of each side follow each other: if the host drifts slowly, that looks like a change. Alternate the sides \
             where you can; neighbouring runs are then compared in pairs."
        }
        _ => return warnings,
    };
    warnings.push(advice.into());
    warnings
}
