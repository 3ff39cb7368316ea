//! The screen of a comparison: whether the noise changed, in which sources, on which CPUs, at which lengths.

mod certainty;
mod culprits;
mod trials;

use crate::names::title_of;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::screen::Screen;
use crate::style::{View, capital, clip, listed, plain};
use crate::table::Table;
use crate::units::{asked, between, count, counted, long, noise, number, rate, rough_share, span};
use anechoic_analyze::compare::{
    Change, ChangedSetting, Comparison, CpuChange, Difference, FEWEST_PAIRS, LengthChange, Order,
    Side, SourceChange,
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
pub fn compare(of: &Comparison, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let side = |side: &Side| format!("{} ({})", name(side), counted(side.runs, "run", "runs"));
    // A page begins with the sentences.
    screen.in_terminal(|terminal| {
        terminal.heading(&format!("comparison: {} · {}", side(&of.before), side(&of.after)));
        terminal.gap();
        terminal.headline(&sentences(of).join(" "));
    });
    if let Some(chart) = chart_of_runs(of) {
        screen.on_page(|page| page.picture(chart, RUNS));
    }
    for warning in warnings(of) {
        screen.warning(&warning);
    }
    if let Some(trials) = &of.trials {
        screen.section("trials");
        screen.facts(commands(trials));
    }
    screen.section("both sides");
    screen.table(sides(of));
    if of.before.runs.max(of.after.runs) > 1 {
        screen.note(
            "noise: geometric mean over the runs of a side; tables below: arithmetic means, which add up",
        );
    }
    if !of.changed.is_empty() {
        screen.section("settings that differ");
        screen.table(settings(&of.changed, view));
    }
    if !of.sources.is_empty() {
        screen.section("sources, as a share of the CPU time; differences in percentage points");
        screen.table(sources(of, view));
    }
    if !of.cpus.is_empty() {
        screen.section("noise of each CPU; differences in percentage points");
        screen.table(cpus(of, view));
    }
    if of.lengths.len() > 1 {
        screen.section("detours by length, per second and CPU");
        screen.picture(chart_of_lengths(of), LENGTHS);
        screen.table(lengths(of, view));
    }
    screen.section("how certain this is");
    certainty(of).iter().for_each(|line| screen.sentence(line));
    screen
}

const RUNS: &str =
    "The noise of each run on both sides, in order of time. The verdict is about these values.";
const LENGTHS: &str = "Detours that are longer than a threshold, per second and CPU, on both sides: means over the runs.";

fn name(side: &Side) -> String {
    clip(&plain(&side.name), NAME)
}

/// Returns what was found: the change, its largest sources, what it is worth.
pub(crate) fn sentences(of: &Comparison) -> Vec<String> {
    let (before, after) = (&of.before, &of.after);
    let values = format!(
        "{} in {}, {} in {}",
        noise(before.noise),
        name(before),
        noise(after.noise),
        name(after)
    );
    let size = of.ratio.map(|ratio| fell_or_rose(ratio, of.interval));
    let size = size.unwrap_or_else(|| match after.noise < before.noise {
        true => "fell".to_owned(),
        false => "rose".to_owned(),
    });
    let first = match of.verdict {
        Change::Quieter | Change::Noisier => format!("The noise {size}: {values}."),
        Change::Unproven => {
            format!("Unproven: the noise {size} ({values}), but {}.", why_unproven(of))
        }
        Change::NotShown => {
            let at_least = of.detectable.map(|ratio| {
                let (fall, rise) = match ratio {
                    ..2.0 => (
                        format!("by {}", part(1.0 - 1.0 / ratio)),
                        format!("by {}", part(ratio - 1.0)),
                    ),
                    _ => (
                        format!("to {} times", number(1.0 / ratio)),
                        format!("to {} times", number(ratio)),
                    ),
                };
                format!(" A fall {fall} or a rise {rise} would probably have been found.")
            });
            format!(
                "No change is shown: {values}{}.{}",
                of.ratio
                    .map(|ratio| format!(" ({})", times(ratio, of.interval)))
                    .unwrap_or_default(),
                at_least.unwrap_or_default()
            )
        }
        Change::OneRunDiffers => format!(
            "These recordings differ: the noise {size}: {values}. Whether the change did it is unknown: {}.",
            too_few(of)
        ),
        Change::OneRun => format!("No verdict: {values}. {}.", capital(&too_few(of))),
    };
    let mut sentences = vec![first];
    match of.verdict {
        Change::Quieter | Change::Noisier | Change::Unproven => sentences.extend(explained(of)),
        Change::NotShown => sentences.extend(changed_alone(of)),
        Change::OneRunDiffers | Change::OneRun => {}
    }
    if let Some(job) = &of.job {
        let Difference { before, after, clear, .. } = job.difference;
        sentences.push(format!(
            "A job of {} ranks that synchronises every {} loses {} before and {} after{}.",
            count(job.ranks),
            asked(job.grain_ns),
            part(before),
            part(after),
            if clear { "" } else { ", which is no clear difference" },
        ));
    }
    sentences
}

/// Returns why a difference does not prove a change.
fn why_unproven(of: &Comparison) -> String {
    if of.order == Order::Kept {
        return "what a run keeps before the detour that ended it (--stop-on) is no sample of the run".into();
    }
    if of.control_moved() {
        return "time below the kernel, which the change hardly affects, changed too: the host may have".into();
    }
    format!(
        "the sides were measured {} apart, and nothing shows how much this host changes by itself in that time",
        long(of.apart_ns.unwrap_or_default())
    )
}

/// Writes a part of a whole: `38 %`, `0.52 %`.
fn part(of: f64) -> String {
    if of < 0.1 { noise(of) } else { rough_share(of) }
}

/// Writes `fell by 38 % (95 %: 31–44 %)`.
fn fell_or_rose(ratio: f64, interval: Option<Interval>) -> String {
    let fell = ratio < 1.0;
    if !(0.2..=2.0).contains(&ratio) {
        let verb = if fell { "fell" } else { "rose" };
        return format!("{verb} to {}", times(ratio, interval));
    }
    let percent = |of: f64| if fell { (1.0 - of) * 100.0 } else { (of - 1.0) * 100.0 };
    let interval = interval.map(|of| {
        let (low, high) = if fell { (of.high, of.low) } else { (of.low, of.high) };
        format!(" (95 %: {} %)", between(&number(percent(low)), &number(percent(high))))
    });
    let verb = if fell { "fell" } else { "rose" };
    format!("{verb} by {} %{}", number(percent(ratio)), interval.unwrap_or_default())
}

/// Writes `1.04 times, 95 %: 0.91–1.19`.
fn times(of: f64, interval: Option<Interval>) -> String {
    let interval =
        interval.map(|of| format!(", 95 %: {}", between(&number(of.low), &number(of.high))));
    format!("{} times{}", number(of), interval.unwrap_or_default())
}

/// Names sources that changed clearly where the noise as a whole did not: what varies in the rest hides them.
fn changed_alone(of: &Comparison) -> Option<String> {
    let least = LEAST_ALONE * of.before.noise.max(of.after.noise);
    let change = |of: &SourceChange| of.difference.after - of.difference.before;
    let alone = |source: &&SourceChange| {
        source.difference.clear && !source.control && change(source).abs() >= least
    };
    let words = |source: &SourceChange| {
        let Difference { before, after, .. } = source.difference;
        format!("{} ({} before, {} after)", source_name(source), noise(before), noise(after))
    };
    let named: Vec<String> = of.sources.iter().filter(alone).take(2).map(words).collect();
    (!named.is_empty()).then(|| {
        format!(
            "Alone, {} changed clearly; the rest varies too much for that to show in the sum.",
            listed(&named)
        )
    })
}

/// Returns why the runs give no verdict.
fn too_few(of: &Comparison) -> String {
    match of.order {
        Order::Duet if of.before.runs >= FEWEST_PAIRS => format!(
            "in all {} pairs the sides had the same CPUs, so the difference may be that of the CPUs",
            count(of.before.runs)
        ),
        Order::Duet => format!(
            "after {} of a duet the difference may be that of the CPUs: {FEWEST_PAIRS} pairs are needed",
            counted(of.before.runs, "pair", "pairs")
        ),
        _ => "one run does not show how much runs differ".into(),
    }
}

fn source_name(of: &SourceChange) -> String {
    clip(&title_of(&of.source, &of.name, of.control), NAME)
}

/// Returns what makes the comparison doubtful, with what to do.
fn warnings(of: &Comparison) -> Vec<String> {
    let mut warnings: Vec<String> = of.notes.iter().map(|note| capital(note) + ".").collect();
    if of.other_cpus {
        warnings.push(
            "The runs measured different CPUs: the noise of all compares different CPUs. Measure the same with --cpus.".into(),
        );
    }
    if of.thresholds_differ() {
        let (lowest, highest) = of.thresholds_ns();
        warnings.push(format!(
            "The thresholds of the runs differ ({} to {}): short detours count in some and not in others. Measure all with \
             --threshold {}ns.",
            asked(lowest),
            asked(highest),
            highest,
        ));
    }
    warnings.extend(of.trials.as_ref().and_then(not_complete));
    let unusable = of.history.as_ref().and_then(|history| history.unusable.as_ref());
    warnings.extend(unusable.map(|why| format!("The earlier runs make no verdict: {why}.")));
    let apart = of.history.as_ref().and_then(|history| history.apart_ns);
    warnings.extend(apart.map(|apart| {
        format!(
            "The nearest earlier run lies {} from these, which is more than all earlier ones lie apart: whether runs still \
             differ as they did then is not known. Add newer runs to --history.",
            long(apart)
        )
    }));
    match (of.verdict, of.order) {
        (Change::OneRun | Change::OneRunDiffers, Order::Duet) => warnings.push(format!(
            "Measure {FEWEST_PAIRS} pairs or more, better 10, and let them all end: `anechoic ab --duet --pairs 10 …`."
        )),
        (Change::OneRun | Change::OneRunDiffers, _) if of.programs => warnings.push(
            "Record each side repeatedly, and give all its recordings together: `anechoic record -o before/1 -- PROGRAM`, \
             `… -o before/2 …`, change the setting, `… -o after/1 …`, `… -o after/2 …`; then `anechoic compare before after`."
                .into(),
        ),
        (Change::OneRun | Change::OneRunDiffers, _) => warnings.push(
            "Measure both sides repeatedly: `anechoic run --repeat 5 -o before`, change the setting, \
             `anechoic run --repeat 5 -o after`; or name earlier runs of this host with --history."
                .into(),
        ),
        (_, Order::Kept) => warnings.push(
            "Measure both sides again without --stop-on: `anechoic run --repeat 5`.".into(),
        ),
        (Change::Unproven, Order::OneSession) if of.programs && !of.control_moved() => warnings.push(
            "Record both sides again, in turns: before, after, before, after; give all recordings of a side together."
                .into(),
        ),
        (Change::Unproven, Order::OneSession) if !of.control_moved() => warnings.push(
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
    if of.sources.is_empty() {
        warnings.push(
            "The sources are not compared, because a run has no attribution (`anechoic check` shows what is missing).".into(),
        );
    }
    warnings
}

fn sides(of: &Comparison) -> Table {
    let relative = |of: Option<f64>| of.map(|of| format!("± {:.1} %", of * 100.0));
    let thresholds = |of: &Side| {
        let (low, high) = of.threshold_ns;
        if low == high { asked(low) } else { between(&asked(low), &asked(high)) }
    };
    Table::of_rows(&[of.before.clone(), of.after.clone()])
        .name("side", name)
        .number("runs", |of| count(of.runs))
        .number("length", |of| span(of.wall_ns))
        .number("noise", |of| noise(of.noise))
        .some_numbers("between runs", 0, |of| relative(of.between_runs))
        .some_numbers("within a run", 1, |of| relative(of.within_runs))
        .number("detours/s", |of| rate(of.rate_per_s))
        .number("threshold", thresholds)
        .captioned(
            "Noise of both sides: geometric mean over runs, standard deviations relative to it",
        )
}

fn folded<T>(items: &[T], view: &View<'_>, table: Table) -> Table {
    match items.len().checked_sub(SHOWN) {
        Some(more @ 1..) if !view.all => {
            table.folded(SHOWN, format!("and {} more (--all)", count(more as u64)))
        }
        _ => table,
    }
}

fn settings(changed: &[ChangedSetting], view: &View<'_>) -> Table {
    let value = |of: &Option<String>| of.as_ref().map_or("unknown".into(), |of| plain(of));
    let table = Table::of_rows(changed)
        .name("setting", |of| plain(&of.name))
        .name("before", |of| value(&of.before))
        .name("after", |of| value(&of.after))
        .captioned("Settings of the machine and of the runs that differ");
    folded(changed, view, table)
}

/// Writes a difference of noise in percentage points: `-0.98`, `0.003`.
fn points(of: f64) -> String {
    let size = noise(of.abs());
    let size = size.trim_end_matches(" %").trim_start_matches('<');
    if of < 0.0 { format!("-{size}") } else { size.to_owned() }
}

/// Returns the noise before and after, the difference with its interval, and whether it is clear.
fn differences<'a, T>(
    items: &'a [T],
    head: &str,
    name: impl Fn(&T) -> String,
    of: impl Fn(&T) -> Difference,
    [before, after]: [&'static str; 2],
    [write, without_unit]: [fn(f64) -> String; 2],
) -> crate::table::Rows<'a, T> {
    let signed =
        |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, without_unit(value));
    let interval = |of: Difference| {
        of.interval.map(|of| between(&without_unit(of.low), &without_unit(of.high)))
    };
    Table::of_rows(items)
        .name(head, name)
        .number(before, |item| write(of(item).before))
        .number(after, |item| write(of(item).after))
        .number("difference", |item| signed(of(item).after - of(item).before))
        .some_numbers("95 %", 2, |item| interval(of(item)))
        .some_names("", 0, |item| Some(if of(item).clear { "clear" } else { "" }.to_owned()))
}

/// Returns what the columns of both sides are called.
fn side_heads(of: &Comparison) -> [&'static str; 2] {
    if of.trials.is_some() { ["A", "B"] } else { ["before", "after"] }
}

/// Returns a difference of shares of the time, without an interval that is as wide as from nothing less to all more.
fn of_shares(of: Difference) -> Difference {
    Difference { interval: of.interval.filter(|of| of.high - of.low < 2.0), ..of }
}

fn sources(of: &Comparison, view: &View<'_>) -> Table {
    let name = |of: &SourceChange| {
        let control = if of.control { " (control)" } else { "" };
        source_name(of) + control
    };
    let share = |of: &SourceChange| of_shares(of.difference);
    let table = differences(&of.sources, "source", name, share, side_heads(of), [noise, points])
        .captioned("Noise of each source; differences in percentage points");
    folded(&of.sources, view, table)
}

fn cpus(of: &Comparison, view: &View<'_>) -> Table {
    let name = |of: &CpuChange| of.cpu.to_string();
    let share = |of: &CpuChange| of_shares(of.difference);
    let table = differences(&of.cpus, "CPU", name, share, side_heads(of), [noise, points])
        .captioned("Noise of each CPU; differences in percentage points");
    folded(&of.cpus, view, table)
}

fn lengths(of: &Comparison, view: &View<'_>) -> Table {
    let name = |of: &LengthChange| asked(of.threshold_ns);
    let change = |of: &LengthChange| of.difference;
    let table = differences(&of.lengths, "over", name, change, side_heads(of), [rate, number])
        .captioned("Detours longer than each threshold, per second and CPU");
    folded(&of.lengths, view, table)
}

/// Draws the noise of each run, those of a pair one above the other; absent unless a side has several.
fn chart_of_runs(found: &Comparison) -> Option<Chart> {
    let sides = [(0, 'a', &found.before), (1, 'b', &found.after)];
    let curve = |(at, letter, side): (usize, char, &Side)| {
        let points: Vec<(f64, f64)> =
            (1_u32..).map(f64::from).zip(side.noise_of_runs.iter().copied()).collect();
        Curve::numbered(at, name(side), Draw::Points, &points).lettered(Some(letter))
    };
    let pairs = matches!(found.order, Order::Paired | Order::Duet);
    let what = if pairs { "pair" } else { "run of its side" };
    let chart = Chart::of(
        Axis::linear(what, Quantity::Count),
        Axis::linear("noise", Quantity::Share),
        sides.map(curve).into(),
    );
    (found.before.runs.max(found.after.runs) > 1).then(|| chart.named("runs"))
}

/// Draws the rate of detours over each threshold on both sides.
fn chart_of_lengths(of: &Comparison) -> Chart {
    let curve = |at: usize, side: &Side, rate: fn(&Difference) -> f64| {
        let points = of.lengths.iter().map(|of| (of.threshold_ns as f64, rate(&of.difference)));
        let points: Vec<(f64, f64)> = points.filter(|(_, rate)| *rate > 0.0).collect();
        let letter = ('a'..='b').nth(at);
        Curve::numbered(at, name(side), Draw::Line, &points).lettered(letter)
    };
    let curves = vec![curve(0, &of.before, |of| of.before), curve(1, &of.after, |of| of.after)];
    let x = Axis::log("detours longer than", Quantity::Time);
    let y = Axis::log("per second and CPU", Quantity::Number);
    Chart::of(x, y, curves)
        .titled("detours per second and CPU that are longer than a threshold", 10)
        .named("lengths")
}

#[cfg(test)]
mod tests {
    use super::*;

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
            programs: false,
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
    pub(super) fn source(name: &str, by: f64, clear: bool) -> SourceChange {
        let difference = Difference { before: 0.5, after: 0.5 + by, interval: None, clear };
        SourceChange { source: "thread".into(), name: name.into(), control: false, difference }
    }

    #[test]
    fn a_source_that_changed_is_named_where_the_sum_hides_it() {
        let mut of = comparison([0.05, 0.054]);
        let host = SourceChange { control: true, ..source("host", 0.4, true) };
        of.sources = vec![source("far", 0.4, false), host, source("tiny", 0.0001, true)];
        assert_eq!(sentences(&of), ["No change is shown: 5.00 % in A, 5.40 % in B (1.08 times)."]);
        let difference =
            Difference { before: 0.001, after: 0.005, ..source("new", 0.0, true).difference };
        of.sources.push(SourceChange { difference, ..source("new", 0.0, true) });
        assert_eq!(
            sentences(&of)[1],
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
        for (programs, verdict, order, expected) in cases {
            let found = Comparison { programs, verdict, order, ..comparison([0.05, 0.06]) };
            let all = warnings(&found).join(" ");
            assert!(all.contains(expected), "{programs}, {verdict:?}: {all}");
            assert!(
                !programs || !all.contains("anechoic run") && !all.contains("--history"),
                "{all}"
            );
        }
    }
}
