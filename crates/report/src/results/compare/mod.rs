//! The screen of a comparison: whether the noise changed, in which sources, on which CPUs, at which lengths.

mod certainty;
mod charts;
mod culprits;
mod program;
mod row;
mod trials;

pub use row::{COMPARE, job_costs};

use crate::names::title_of;
use crate::screen::Screen;
use crate::style::{View, capital, clip, listed, plain};
use crate::table::Table;
use crate::units::{
    asked, between, count, counted, long, noise, number, number_range, rate, rough_share, span,
};
use anechoic_analyze::compare::{
    Change, Comparison, CpuChange, Difference, FEWEST_PAIRS, LengthChange, Order, Side,
    SourceChange,
};
use anechoic_analyze::stats::Interval;
use certainty::certainty;
use culprits::explained;
use trials::{commands, not_complete};

/// Widest name in a table.
const NAME: usize = 28;
/// Number of rows in a shortened table.
const SHOWN: usize = 10;
/// A source that changed while the sum did not is named if its change is this part of the noise.
const LEAST_ALONE: f64 = 0.02;

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

/// Returns what was found: the change, its largest sources, what it is worth.
pub(crate) fn sentences(found: &Comparison) -> Vec<String> {
    let (before, after) = (&found.before, &found.after);
    let values = match found.program {
        Some(_) => program::values(found),
        None => format!(
            "{} in {}, {} in {}",
            noise(before.noise),
            name(before),
            noise(after.noise),
            name(after)
        ),
    };
    let what = if found.program.is_some() { "lost share" } else { "noise" };
    let size = found.ratio.map(|ratio| fell_or_rose(ratio, found.interval));
    let size = size.unwrap_or_else(|| match after.noise < before.noise {
        true => "fell".to_owned(),
        false => "rose".to_owned(),
    });
    let first = match found.verdict {
        Change::Quieter | Change::Noisier => format!("The {what} {size}: {values}."),
        Change::Unproven if found.order == Order::Kept => {
            format!("No change is proven: {values}, but {}.", why_unproven(found))
        }
        Change::Unproven => {
            format!("Unproven: the {what} {size} ({values}), but {}.", why_unproven(found))
        }
        Change::NotShown => not_shown(found, &values),
        Change::OneRunDiffers => format!(
            "These recordings differ: the {what} {size}: {values}. Whether the change did it is unknown: {}.",
            too_few(found)
        ),
        Change::OneRun => format!("No verdict: {values}. {}.", capital(&too_few(found))),
    };
    let mut sentences = vec![first];
    sentences.extend(found.program.as_ref().and_then(|program| program::times(found, program)));
    match found.verdict {
        Change::Quieter | Change::Noisier | Change::Unproven => sentences.extend(explained(found)),
        Change::NotShown => sentences.extend(changed_alone(found)),
        Change::OneRunDiffers | Change::OneRun => {}
    }
    if let Some(job) = &found.job {
        let Difference { before, after, clear, .. } = job.difference;
        let [side, other] = in_sentences(found);
        sentences.push(format!(
            "A job of {} ranks that synchronises every {} loses {} {side} and {} {other}{}.",
            count(job.ranks),
            asked(job.grain_ns),
            part(before),
            part(after),
            if clear { "" } else { ", which is no clear difference" },
        ));
    }
    sentences
}

/// States that no change is shown, and how large one would probably have been found.
fn not_shown(found: &Comparison, values: &str) -> String {
    let at_least = found.detectable.map(|ratio| {
        let (fall, rise) = match ratio {
            ..2.0 => {
                (format!("by {}", part(1.0 - 1.0 / ratio)), format!("by {}", part(ratio - 1.0)))
            }
            _ => {
                (format!("to {} times", number(1.0 / ratio)), format!("to {} times", number(ratio)))
            }
        };
        format!(" A fall {fall} or a rise {rise} would probably have been found.")
    });
    format!(
        "No change is shown: {values}{}.{}",
        found.ratio.map(|ratio| format!(" ({})", times(ratio, found.interval))).unwrap_or_default(),
        at_least.unwrap_or_default()
    )
}

/// Returns why a difference does not prove a change.
fn why_unproven(found: &Comparison) -> String {
    if found.order == Order::Kept {
        return "what a run keeps before the detour that ended it (--stop-on) is no sample of the run".into();
    }
    if found.control_moved() {
        return "time below the kernel, which the change hardly affects, changed too: the host may have".into();
    }
    format!(
        "the sides were measured {} apart, and nothing shows how much this host changes by itself in that time",
        long(found.apart_ns.unwrap_or_default())
    )
}

/// Writes a part of a whole: `38 %`, `0.52 %`.
fn part(share: f64) -> String {
    if share < 0.1 { noise(share) } else { rough_share(share) }
}

/// Writes `fell by 38 % (95 %: 31–44 %)`.
fn fell_or_rose(ratio: f64, interval: Option<Interval>) -> String {
    let fell = ratio < 1.0;
    if !(0.2..=2.0).contains(&ratio) {
        let verb = if fell { "fell" } else { "rose" };
        return format!("{verb} to {}", times(ratio, interval));
    }
    let percent = |factor: f64| if fell { (1.0 - factor) * 100.0 } else { (factor - 1.0) * 100.0 };
    // A fall is largest where the ratio is lowest.
    let interval = interval.map(|ends| {
        let (low, high) = if fell { (ends.high, ends.low) } else { (ends.low, ends.high) };
        format!(" (95 %: {} %)", number_range(percent(low), percent(high)))
    });
    let verb = if fell { "fell" } else { "rose" };
    format!("{verb} by {} %{}", number(percent(ratio)), interval.unwrap_or_default())
}

/// Writes `1.04 times, 95 %: 0.91–1.19`.
fn times(ratio: f64, interval: Option<Interval>) -> String {
    let interval = interval.map(|ends| format!(", 95 %: {}", number_range(ends.low, ends.high)));
    format!("{} times{}", number(ratio), interval.unwrap_or_default())
}

/// Names sources that changed clearly where the noise as a whole did not: what varies in the rest hides them.
fn changed_alone(found: &Comparison) -> Option<String> {
    let least = LEAST_ALONE * found.before.noise.max(found.after.noise);
    let change = |source: &SourceChange| source.difference.after - source.difference.before;
    let alone = |source: &&SourceChange| {
        source.difference.clear && !source.control && change(source).abs() >= least
    };
    let named: Vec<String> =
        found.sources.iter().filter(alone).take(2).map(|row| on_both_sides(row, found)).collect();
    (!named.is_empty()).then(|| {
        format!(
            "Alone, {} changed clearly; the rest varies too much for that to show in the sum.",
            listed(&named)
        )
    })
}

fn on_both_sides(source: &SourceChange, found: &Comparison) -> String {
    let Difference { before, after, .. } = source.difference;
    let [side, other] = in_sentences(found);
    format!("{} ({} {side}, {} {other})", source_name(source), noise(before), noise(after))
}

/// Returns what the sides are called after a number.
fn in_sentences(found: &Comparison) -> [&'static str; 2] {
    if found.trials.is_some() { ["in A", "in B"] } else { ["before", "after"] }
}

/// Returns why the runs give no verdict.
fn too_few(found: &Comparison) -> String {
    match found.order {
        Order::Duet if found.before.runs >= FEWEST_PAIRS => format!(
            "in all {} pairs the sides had the same CPUs, so the difference may be that of the CPUs",
            count(found.before.runs)
        ),
        Order::Duet => format!(
            "after {} of a duet the difference may be that of the CPUs: {FEWEST_PAIRS} pairs are needed",
            counted(found.before.runs, "pair", "pairs")
        ),
        _ => "one run does not show how much runs differ".into(),
    }
}

fn source_name(source: &SourceChange) -> String {
    clip(&title_of(&source.source, &source.name, source.control), NAME)
}

/// Returns what makes the comparison doubtful, with what to do.
fn warnings(found: &Comparison) -> Vec<String> {
    let mut warnings: Vec<String> = found.notes.iter().map(|note| capital(note) + ".").collect();
    if found.other_cpus {
        warnings.push(
            "The runs measured different CPUs: the noise of all compares different CPUs. Measure the same with --cpus.".into(),
        );
    }
    if found.thresholds_differ() {
        let (lowest, highest) = found.thresholds_ns();
        warnings.push(format!(
            "The thresholds of the runs differ ({} to {}): short detours count in some and not in others. Measure all with \
             --threshold {}ns.",
            asked(lowest),
            asked(highest),
            highest,
        ));
    }
    warnings.extend(found.trials.as_ref().and_then(not_complete));
    let unusable = found.history.as_ref().and_then(|history| history.unusable.as_ref());
    warnings.extend(unusable.map(|why| format!("The earlier runs make no verdict: {why}.")));
    let apart = found.history.as_ref().and_then(|history| history.apart_ns);
    warnings.extend(apart.map(|apart| {
        format!(
            "The nearest earlier run lies {} from these, which is more than all earlier ones lie apart: whether runs still \
             differ as they did then is not known. Add newer runs to --history.",
            long(apart)
        )
    }));
    match (found.verdict, found.order) {
        (Change::OneRun | Change::OneRunDiffers, Order::Duet) => warnings.push(format!(
            "Measure {FEWEST_PAIRS} pairs or more, better 10, and let them all end: `anechoic ab --duet --pairs 10 …`."
        )),
        _ if found.program.is_some() => {
            warnings.extend(found.program.iter().flat_map(|program| program::warnings(found, program)));
        }
        (Change::OneRun | Change::OneRunDiffers, _) => warnings.push(
            "Measure both sides repeatedly: `anechoic run --repeat 5 -o before`, change the setting, \
             `anechoic run --repeat 5 -o after`; or name earlier runs of this host with --history."
                .into(),
        ),
        (_, Order::Kept) => warnings.push(
            "Measure both sides again without --stop-on: `anechoic run --repeat 5`.".into(),
        ),
        (Change::Unproven, Order::OneSession) if !found.control_moved() => warnings.push(
            "Measure both sides again, in turns: `anechoic ab`, or where a reboot lies between them, before, after, before, \
             after; give all runs of a side together. Or name earlier runs of this host with --history."
                .into(),
        ),
        (Change::Quieter | Change::Noisier, Order::Apart) => warnings.push(
            "The runs of each side follow each other: if the host drifts slowly, that looks like a change. \
             Alternate the sides where you can; neighbouring runs are then compared in pairs."
                .into(),
        ),
        _ => {}
    }
    if found.sources.is_empty() {
        warnings.push(
            "The sources are not compared, because a run has no attribution (`anechoic check` shows what is missing).".into(),
        );
    }
    warnings
}

fn sides(found: &Comparison) -> Table {
    let relative = |deviation: f64| format!("± {:.1} %", deviation * 100.0);
    Table::with_rows(&[found.before.clone(), found.after.clone()])
        .name("side", name)
        .number("runs", |side| count(side.runs))
        .number("length", |side| span(side.wall_ns))
        .number("noise", |side| noise(side.noise))
        .some_numbers("between runs", 0, |side| side.between_runs.map(relative))
        .some_numbers("within a run", 1, |side| side.within_runs.map(relative))
        .number("detours/s", |side| rate(side.rate_per_s))
        .number("threshold", thresholds)
        .captioned(
            "Noise of both sides: geometric mean over runs, standard deviations relative to it",
        )
}

/// Returns the threshold of a side's runs, or the lowest and the highest.
fn thresholds(side: &Side) -> String {
    let (low, high) = side.threshold_ns;
    if low == high { asked(low) } else { between(&asked(low), &asked(high)) }
}

fn folded<T>(items: &[T], view: &View<'_>, table: Table) -> Table {
    match items.len().checked_sub(SHOWN) {
        Some(more @ 1..) if !view.all => {
            table.folded(SHOWN, format!("and {} more (--all)", count(more as u64)))
        }
        _ => table,
    }
}

fn settings(found: &Comparison, view: &View<'_>) -> Table {
    let (changed, [side, other]) = (&found.changed, side_heads(found));
    let known = |value: &Option<String>| value.as_deref().map_or("unknown".into(), plain);
    let table = Table::with_rows(changed)
        .name("setting", |setting| plain(&setting.name))
        .name(side, |setting| known(&setting.before))
        .name(other, |setting| known(&setting.after))
        .captioned("Settings of the machine and of the runs that differ");
    folded(changed, view, table)
}

/// Writes a difference of noise in percentage points: `-0.98`, `0.003`.
fn points(difference: f64) -> String {
    let size = noise(difference.abs());
    let size = size.trim_end_matches(" %").trim_start_matches('<');
    if difference < 0.0 { format!("-{size}") } else { size.to_owned() }
}

/// Returns the noise before and after, the difference with its interval, and whether it is clear.
fn differences<'a, T>(
    items: &'a [T],
    head: &str,
    name: impl Fn(&T) -> String,
    change: impl Fn(&T) -> Difference,
    [before, after]: [&'static str; 2],
    [write, without_unit]: [fn(f64) -> String; 2],
) -> crate::table::Rows<'a, T> {
    let signed =
        |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, without_unit(value));
    let range = |ends: Interval| between(&without_unit(ends.low), &without_unit(ends.high));
    Table::with_rows(items)
        .name(head, name)
        .number(before, |row| write(change(row).before))
        .number(after, |row| write(change(row).after))
        .number("difference", |row| signed(change(row).after - change(row).before))
        .some_numbers("95 %", 2, |row| change(row).interval.map(range))
        .some_names("", 0, |row| Some(if change(row).clear { "clear" } else { "" }.to_owned()))
}

/// Returns what the columns of both sides are called.
fn side_heads(found: &Comparison) -> [&'static str; 2] {
    if found.trials.is_some() { ["A", "B"] } else { ["before", "after"] }
}

/// Returns a difference of shares of the time, without an interval that is as wide as from nothing less to all more.
fn share_difference(difference: Difference) -> Difference {
    let interval = difference.interval.filter(|ends| ends.high - ends.low < 2.0);
    Difference { interval, ..difference }
}

fn sources(found: &Comparison, view: &View<'_>) -> Table {
    let control = |source: &SourceChange| if source.control { " (control)" } else { "" };
    let name = |source: &SourceChange| source_name(source) + control(source);
    let share = |source: &SourceChange| share_difference(source.difference);
    let heads = side_heads(found);
    let table = differences(&found.sources, "source", name, share, heads, [noise, points])
        .captioned("Noise of each source; differences in percentage points");
    folded(&found.sources, view, table)
}

fn cpus(found: &Comparison, view: &View<'_>) -> Table {
    let name = |change: &CpuChange| change.cpu.to_string();
    let share = |change: &CpuChange| share_difference(change.difference);
    let table = differences(&found.cpus, "CPU", name, share, side_heads(found), [noise, points])
        .captioned("Noise of each CPU; differences in percentage points");
    folded(&found.cpus, view, table)
}

fn lengths(found: &Comparison, view: &View<'_>) -> Table {
    let name = |change: &LengthChange| asked(change.threshold_ns);
    let rates = |change: &LengthChange| change.difference;
    let table = differences(&found.lengths, "over", name, rates, side_heads(found), [rate, number])
        .captioned("Detours longer than each threshold, per second and CPU");
    folded(&found.lengths, view, table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::compare::ProgramChange;

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

    /// Returns recorded programs of these names that took a second on either side.
    fn program_of(names: [&str; 2]) -> ProgramChange {
        let same = Difference { before: 1e9, after: 1e9, interval: None, clear: false };
        ProgramChange {
            names: names.map(|name| vec![name.to_owned()]),
            wall_ns: Some(same),
            cpu_ns: same,
            is_account: true,
            lost_ns: same,
        }
    }

    #[test]
    fn different_programs_are_named() {
        for (names, warned) in [(["make", "make"], false), (["make", "ninja"], true)] {
            let program = Some(program_of(names));
            let found = Comparison { program, ..comparison([0.05, 0.06]) };
            let all = warnings(&found).join(" ");
            assert_eq!(all.contains("make in A, ninja in B"), warned, "{names:?}: {all}");
        }
    }

    #[test]
    fn a_source_that_changed_is_named_where_the_sum_hides_it() {
        let mut found = comparison([0.05, 0.054]);
        let host = SourceChange { control: true, ..source("host", 0.4, true) };
        found.sources = vec![source("far", 0.4, false), host, source("tiny", 0.0001, true)];
        assert_eq!(
            sentences(&found),
            ["No change is shown: 5.00 % in A, 5.40 % in B (1.08 times)."]
        );
        let difference =
            Difference { before: 0.001, after: 0.005, ..source("new", 0.0, true).difference };
        found.sources.push(SourceChange { difference, ..source("new", 0.0, true) });
        assert_eq!(
            sentences(&found)[1],
            "Alone, thread new (0.10 % before, 0.50 % after) changed clearly; the rest varies too much for that to show in the sum."
        );
    }

    /// What repeats runs of loops does not repeat those of a program.
    #[test]
    fn advice_is_what_can_be_done_with_the_recordings() {
        let cases = [
            (false, Change::OneRun, Order::Apart, "anechoic run --repeat 5"),
            (true, Change::OneRun, Order::Apart, "anechoic record -o before/1"),
            (false, Change::Unproven, Order::OneSession, "anechoic ab"),
            (true, Change::Unproven, Order::OneSession, "Record both sides again"),
        ];
        for (is_program, verdict, order, expected) in cases {
            let program = is_program.then(|| program_of(["make", "make"]));
            let found = Comparison { program, verdict, order, ..comparison([0.05, 0.06]) };
            let all = warnings(&found).join(" ");
            assert!(all.contains(expected), "{is_program}, {verdict:?}: {all}");
            assert!(
                !is_program || !all.contains("anechoic run") && !all.contains("--history"),
                "{all}"
            );
        }
    }
}
