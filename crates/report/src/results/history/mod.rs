//! The screen of the earlier runs of a host: their noise over time, how much it varies, and what one run must show.

mod row;

pub use row::HISTORY;

use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::screen::Screen;
use crate::style::{View, capital, listed, plain};
use crate::table::Table;
use crate::units::{
    asked, between, count, counted, cpu_list, local_time, noise, number, rate, ratio, span,
};
use anechoic_analyze::gate::Doubt;
use anechoic_analyze::history::{FEWEST, History, Kind, PastRun};
use anechoic_analyze::known::by_kind;
use anechoic_analyze::stats::Interval;

/// Number of runs in a shortened table, the newest.
const SHOWN: usize = 15;
/// An interval that ends beyond this many times the deviation between runs has no useful upper end.
const WIDEST: f64 = 20.0;
/// From this correlation on, successive runs are alike.
const ALIKE: f64 = 0.3;

/// Shows the noise of each run, and how much runs differ.
#[must_use]
pub(crate) fn history(found: &History, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading(&format!(
        "history: {} of {}",
        counted(found.runs.len() as u64, "run", "runs"),
        plain(&found.kind.host)
    ));
    screen.context(&kind(&found.kind));
    screen.gap();
    screen.headline(&sentences(found).join(" "));
    for warning in warnings(found) {
        screen.warning(&warning);
    }
    if found.runs.len() > 1 {
        screen.gap();
        screen.charts([chart(found)]);
    }
    screen.section("runs, the newest last");
    screen.table(runs(found, view));
    let hidden = hidden(found, view) as u64;
    left_out([hidden, found.older, found.not_whole, found.others])
        .iter()
        .for_each(|line| screen.note(line));
    screen.section("how much runs differ");
    certainty(found).iter().for_each(|line| screen.sentence(line));
    screen
}

/// Writes how the runs were measured.
pub(crate) fn kind(kind: &Kind) -> String {
    let events = match (kind.traced, kind.alternate_ns) {
        (true, None) => "with kernel events",
        (true, Some(_)) => "with kernel events on and off",
        (false, _) => "without kernel events",
    };
    if let Some(program) = &kind.program {
        return format!("program {}", plain(program));
    }
    let cpus = if kind.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let over = match kind.is_of_wakeups() {
        true => String::new(),
        false => format!("over {} · ", asked(kind.threshold_ns)),
    };
    format!(
        "{cpus} {} · {} · {over}scheduling {} · {events}",
        cpu_list(&kind.cpus),
        span(kind.wall_ns),
        kind.policy
    )
}

/// Returns what was found: how much runs differ, and what one more must show.
pub(crate) fn sentences(found: &History) -> Vec<String> {
    let Some((mean, deviation)) = found.noise.zip(found.between_runs) else {
        return vec![match found.runs.len() {
            0 | 1 => "One run does not show how much runs differ.".into(),
            _ => "Some runs have no noise, so how much they differ has no ratio.".into(),
        }];
    };
    let first = format!(
        "{} {}; runs vary by {:.1} % of it (standard deviation).",
        match &found.kind.program {
            Some(_) => "Of the time in which it wanted a CPU, a run lost",
            None => "The noise of a run is",
        },
        noise(mean),
        deviation * 100.0
    );
    let second = match found.needed {
        Some(times) => format!(
            "One run shows a change if its noise rises to {} times or falls to {}.",
            number(times),
            number(1.0 / times)
        ),
        None if found.runs.len() < FEWEST => format!(
            "After {}, one run before a change and one after it can show it.",
            counted((FEWEST - found.runs.len()) as u64, "more run", "more runs")
        ),
        None => {
            "Single runs differ too much to show a change: more earlier runs are needed.".into()
        }
    };
    let step = found.step.as_ref().map(|step| {
        let verb = if step.after < step.before { "fell" } else { "rose" };
        format!(
            "It {verb} from {} to {} at {}.",
            noise(step.before),
            noise(step.after),
            local_time(&step.since_utc)
        )
    });
    let trend = found.trend.as_ref().filter(|_| step.is_none()).map(|trend| {
        let verb = if trend.per_day < 1.0 { "falls" } else { "rises" };
        format!("It {verb} with time, to {} times in a day.", number(trend.per_day))
    });
    [first, second].into_iter().chain(step).chain(trend).collect()
}

fn warnings(found: &History) -> Vec<String> {
    let known = found.runs.iter().flat_map(|run| &run.doubts);
    let mut warnings = doubts(found.runs.len(), known);
    warnings.extend(changed_settings(&found.changed));
    warnings
}

/// States which settings changed between the runs; nothing if none did.
pub(crate) fn changed_settings(changed: &[String]) -> Option<String> {
    let names: Vec<String> = changed.iter().map(|name| plain(name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} changed between these runs, which may be part of how much they differ.",
            capital(&listed(&names))
        )
    })
}

/// Returns what runs knew that makes their noise doubtful: one line for each kind, in the words of the run where it is
/// worst.
pub(crate) fn doubts<'a>(number: usize, doubts: impl Iterator<Item = &'a Doubt>) -> Vec<String> {
    let all = counted(number as u64, "run", "runs");
    let kinds = by_kind(doubts.map(|doubt| ((), doubt))).into_iter();
    let lines = kinds.filter_map(|(worst, runs): (&Doubt, Vec<()>)| {
        let most = if runs.len() > 1 && worst.part() > 0.0 { " (the most)" } else { "" };
        let runs = count(runs.len() as u64);
        Some(format!("{runs} of {all}{most}: {}", plain(&worst.known_in_words()?)))
    });
    lines.collect()
}

/// Draws the noise of the runs in their order.
fn chart(found: &History) -> Chart {
    let point = |(number, run): (u32, &PastRun)| (f64::from(number), run.noise);
    let points: Vec<(f64, f64)> = (1..).zip(&found.runs).map(point).collect();
    let curve = Curve::numbered(0, "noise of a run".into(), Draw::Points, &points);
    let x = Axis::linear("run", Quantity::Count);
    let y = Axis::linear("noise", Quantity::Share);
    let chart = Chart::new(x, y, vec![curve]).titled("noise of each run, in order of time", 10);
    Chart { level: found.noise, level_name: "geometric mean", ..chart }
}

fn runs(found: &History, view: &View<'_>) -> Table {
    let first = hidden(found, view);
    let range = |ends: Interval| between(&noise(ends.low), &noise(ends.high));
    Table::with_rows(&found.runs[first..])
        .name("started", |run| local_time(&run.start_utc))
        .name("recording", |run| plain(&run.path))
        .number("noise", |run| noise(run.noise))
        .some_numbers("95 % within the run", 1, |run| run.interval.map(range))
        .number("detours/s", |run| rate(run.rate_per_s))
        .captioned("Noise of each run, over all its CPUs")
}

/// Returns how many of the oldest runs the table leaves out.
fn hidden(found: &History, view: &View<'_>) -> usize {
    if view.all { 0 } else { found.runs.len().saturating_sub(SHOWN) }
}

/// Returns what is not in the table, or not in the history.
pub(crate) fn left_out([hidden, older, not_whole, others]: [u64; 4]) -> Vec<String> {
    let [one, many] = ["earlier run is not shown", "earlier runs are not shown"];
    let all = [
        (hidden, format!("{}; --all shows all", counted(hidden, one, many))),
        (older, format!("{} left out", counted(older, "older run is", "older runs are"))),
        (
            not_whole,
            format!(
                "{} left out: ended early, lost detours, had a counter whose rate is wrong, or kept only the part before what ended it",
                counted(not_whole, "run is", "runs are")
            ),
        ),
        (
            others,
            format!(
                "{} left out: other hosts, CPUs, lengths or options than the newest run",
                counted(others, "run is", "runs are")
            ),
        ),
    ];
    all.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text).collect()
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// Returns within which bounds a standard deviation is.
fn sure(deviation: f64, interval: Interval) -> String {
    let bound = |part: f64| format!("{:.1}", part * 100.0);
    match interval.high < WIDEST * deviation {
        true => format!("95 %: {}", between(&bound(interval.low), &bound(interval.high))),
        false => "too few runs for an upper limit".to_owned(),
    }
}

/// Returns a standard deviation with its bounds.
pub(crate) fn spread(deviation: f64, interval: Interval) -> String {
    format!("{} ({})", percent(deviation), sure(deviation, interval))
}

/// Returns how much runs differ, and how that was found.
fn certainty(found: &History) -> Vec<String> {
    let mut lines = vec![];
    if let (Some(deviation), Some(interval)) = (found.between_runs, found.between_runs_interval) {
        lines.push(format!(
            "Standard deviation between runs: {} of the noise ({}).",
            percent(deviation),
            sure(deviation, interval)
        ));
    }
    if let Some(correlation) = found.successive {
        let so = match correlation {
            ALIKE.. => "they are alike, because the host drifts: the interval above is too narrow",
            _ => "they hardly depend on each other",
        };
        lines.push(format!("Correlation of successive runs: {}; {so}.", ratio(correlation)));
    }
    lines.push(format!(
        "With {} earlier runs or more, one run before a change and one after it are enough: `anechoic compare BEFORE AFTER \
         --history DIR` finds a change if fewer than 5 % of all pairs of earlier runs differ as much.",
        count(FEWEST as u64)
    ));
    lines
}
