//! The screen of what a service monitored: its rates over time, what was unusual, and what ran then.

mod row;

pub use row::MONITORED;

use crate::names::title_of;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::screen::Screen;
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{counted, local_time, long, more, number, per_time, rough_share};
use anechoic_analyze::monitor::{
    LevelStep, Missing, Monitored, NamedShare, RateRow, RateSpan, Saved, Why, rate_by_row,
};
use anechoic_recording::rates::{RateUnit, ShownBy};

/// Number of unusual times in a shortened table, the newest.
const SHOWN: usize = 8;
/// Number of sources or threads that are named of what ran.
const NAMED: usize = 3;
/// What is usual is not known before, in s.
const FEWEST_S: f64 = 660.0;
/// A chart has hours from this length on, and minutes below.
const HOURS_S: f64 = 7_200.0;

/// Writes a rate: `12 %` of the time of a CPU, or `2,300/s`.
#[must_use]
pub fn amount_of_rate(value: f64, unit: RateUnit) -> String {
    match unit {
        RateUnit::CpuTime | RateUnit::Time => match value * 100.0 {
            0.0 => "0 %".into(),
            tiny if tiny < 0.001 => "<0.001 %".into(),
            percent => format!("{} %", number(percent)),
        },
        RateUnit::Number => per_time(value),
    }
}

/// Shows the rates, what was unusual, and what ran then.
#[must_use]
pub(crate) fn monitored(found: &Monitored, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let length = long((found.read_s * 1e9) as u64);
    screen.heading(&format!("monitored: {} of {}", length, plain(&found.host)));
    screen.context(&format!("{} to {}", local_time(&found.start_utc), local_time(&found.end_utc)));
    screen.context(&format!("saves on {}", plain(&found.saves_on.join(", "))));
    screen.gap();
    screen.headline(&sentences(found).join(" "));
    warnings(found).iter().for_each(|text| screen.warning(text));
    if let Some(row) = foremost(found) {
        screen.gap();
        screen.charts([chart(found, row)]);
    }
    if !found.unusual.is_empty() {
        screen.section("what was unusual, the newest last");
        let hidden = if view.all { 0 } else { found.unusual.len().saturating_sub(SHOWN) };
        screen.table(unusual(found, hidden));
        if hidden > 0 {
            let all = found.unusual.len();
            let left = more(all, all - hidden, "earlier one", "earlier ones").unwrap_or_default();
            screen.note(&format!("{left} (--all)"));
        }
    }
    let others = found
        .saved
        .iter()
        .enumerate()
        .filter(|(at, _)| !found.unusual.iter().any(|one| one.saved == Some(*at as u64)));
    let others: Vec<&Saved> = others.map(|(_, saved)| saved).collect();
    if !others.is_empty() {
        screen.section("what else was saved, the newest last");
        let hidden = if view.all { 0 } else { others.len().saturating_sub(SHOWN) };
        others[hidden..].iter().for_each(|saved| screen.line(&saved_for(saved)));
    }
    let steps: Vec<(&RateRow, &LevelStep)> =
        found.rates.iter().flat_map(|row| row.steps.iter().map(move |step| (row, step))).collect();
    if !steps.is_empty() {
        screen.section("levels that changed");
        for (row, step) in steps.iter().take(if view.all { usize::MAX } else { SHOWN }) {
            screen.line(&changed(row, step));
        }
    }
    screen.section("rates of all readings");
    screen.table(rates(found));
    screen
}

/// Returns what was found.
pub(crate) fn sentences(found: &Monitored) -> Vec<String> {
    if found.rates.is_empty() {
        return vec!["No counter was read twice.".into()];
    }
    let mut sentences = vec![match found.unusual.len() as u64 {
        0 if found.read_s < FEWEST_S => {
            "It was too short to know what is usual: that takes eleven minutes.".into()
        }
        0 => "No rate left its usual range, and none exceeded a limit.".into(),
        n => format!("{} a rate was unusual or too high.", counted(n, "time", "times")),
    }];
    let saved = found.saved.len() as u64;
    if saved > 0 {
        let recordings = counted(saved, "recording was", "recordings were");
        sentences.push(format!("{recordings} saved of what ran then."));
    }
    if let Some((most, times)) = most_unusual(found).filter(|_| found.unusual.len() > 1) {
        let times = counted(times as u64, "time", "times");
        sentences.push(format!("Most often it was {}: {times}.", plain(most)));
    }
    sentences
}

/// Returns the rate that was unusual most often, and how often.
fn most_unusual(found: &Monitored) -> Option<(&str, usize)> {
    let times = |name: &str| found.unusual.iter().filter(|one| one.name == name).count();
    let names = found.unusual.iter().map(|one| &*one.name);
    names.map(|name| (name, times(name))).max_by_key(|(_, times)| *times)
}

fn warnings(found: &Monitored) -> Vec<String> {
    let Missing { times, length_s } = found.missing;
    let missing = (times > 0).then(|| {
        format!(
            "No counter was read for {} ({}): the service or the machine did not run.",
            long((length_s * 1e9) as u64),
            counted(times, "time", "times")
        )
    });
    missing.into_iter().chain(found.notes.iter().map(|note| plain(note))).collect()
}

/// Returns the rate to draw: the one that was unusual most often, else the one whose level changed, else pressure.
fn foremost(found: &Monitored) -> Option<&RateRow> {
    let named = |name: &str| found.rates.iter().find(|row| row.name == name);
    let drawn = most_unusual(found)
        .and_then(|(name, _)| named(name))
        .or_else(|| found.rates.iter().find(|row| !row.steps.is_empty()))
        .or_else(|| named("cpu-pressure"))
        .or_else(|| found.rates.first());
    drawn.filter(|row| row.spans.len() > 2)
}

fn chart(found: &Monitored, row: &RateRow) -> Chart {
    let last_s = row.spans.last().map_or(0.0, |span| span.start_s);
    let (unit, name) = if last_s > HOURS_S { (3_600.0, "hours") } else { (60.0, "minutes") };
    let curves = vec![
        Curve::numbered(0, "median".into(), Draw::Line, &points(row, unit, |span| span.median)),
        Curve::numbered(
            1,
            "highest second".into(),
            Draw::Points,
            &points(row, unit, |span| span.max),
        ),
    ];
    let quantity = match row.unit {
        RateUnit::CpuTime | RateUnit::Time => Quantity::Share,
        RateUnit::Number => Quantity::Number,
    };
    let what = match row.unit {
        RateUnit::CpuTime => "share of one CPU",
        RateUnit::Time => "share of the time",
        RateUnit::Number => "per second",
    };
    let since = local_time(&found.start_utc);
    let x = Axis::linear(&format!("{name} since {since}"), Quantity::Number);
    Chart::new(x, Axis::linear(what, quantity), curves)
        .titled(format!("{}: {}", plain(&row.name), title(&row.name)), 8)
}

fn points(row: &RateRow, unit: f64, value: fn(&RateSpan) -> f64) -> Vec<(f64, f64)> {
    row.spans.iter().map(|span| (span.start_s / unit, value(span))).collect()
}

/// Returns what a rate is.
fn title(name: &str) -> &'static str {
    rate_by_row(name).map_or("", |rate| rate.title)
}

fn unusual(found: &Monitored, hidden: usize) -> Table {
    let mut table = Table::with_names("since", &["rate", "was", "usual, at most"]);
    for one in &found.unusual[hidden..] {
        let usual = match one.why {
            Why::Limit { most } => format!("limit {}", amount_of_rate(most, one.unit)),
            Why::Range { usual_most, .. } => amount_of_rate(usual_most, one.unit),
        };
        let amount = amount_of_rate(one.value, one.unit);
        table.row(vec![local_time(&one.since_utc), plain(&one.name), amount, usual]);
        let saved = one.saved.and_then(|at| found.saved.get(at as usize));
        let shown_by = rate_by_row(&one.name).map_or(ShownBy::Nothing, |rate| rate.shown_by);
        if let Some(saved) = saved {
            table.aside(&what_ran(saved, shown_by));
        }
    }
    table.captioned("Times at which a rate was unusual, with what ran then")
}

/// Names those with the largest shares.
fn shares(names: &[NamedShare]) -> String {
    let named = names.iter().take(NAMED);
    let named = named.map(|one| format!("{} {}", plain(&one.name), rough_share(one.share)));
    named.collect::<Vec<_>>().join(", ")
}

/// Returns what of a recording shows why a rate was high.
fn what_ran(saved: &Saved, shown_by: ShownBy) -> String {
    let what = match shown_by {
        ShownBy::Holders => format!("others waited for {}", shares(&saved.had_cpus)),
        ShownBy::Threads => format!("CPU time: {}", shares(&saved.executed)),
        ShownBy::Softirqs => shares(&saved.softirqs),
        ShownBy::Switches => format!("switches to {}", shares(&saved.switched_to)),
        ShownBy::Forks => format!("begun by {}", shares(&saved.forked)),
        ShownBy::Interrupts => {
            let named = saved.interrupts.iter().take(NAMED);
            let named = named.map(|one| {
                format!("{} {}", title_of(&one.source, &one.name, true), per_time(one.per_s))
            });
            named.collect::<Vec<_>>().join(", ")
        }
        ShownBy::Nothing => "below the kernel".into(),
    };
    let name = saved.path.rsplit('/').next().unwrap_or_default();
    format!("{}: {what}", plain(name))
}

/// States why a recording was saved, and who had the CPUs in it while others waited.
fn saved_for(saved: &Saved) -> String {
    let reasons = match &saved.reasons[..] {
        [] => "it is not known why".to_owned(),
        reasons => plain(&reasons.join("; ")),
    };
    format!("{} {}: {}", local_time(&saved.start_utc), reasons, what_ran(saved, ShownBy::Holders))
}

fn changed(row: &RateRow, step: &LevelStep) -> String {
    let verb = if step.after < step.before { "fell" } else { "rose" };
    format!(
        "{} {verb} from {} to {} at {}",
        plain(&row.name),
        amount_of_rate(step.before, row.unit),
        amount_of_rate(step.after, row.unit),
        local_time(&step.since_utc)
    )
}

fn rates(found: &Monitored) -> Table {
    let amount = |row: &RateRow, value: f64| amount_of_rate(value, row.unit);
    Table::with_rows(&found.rates)
        .name("rate", |row| plain(&row.name))
        .number("median", |row| amount(row, row.median))
        .number("p99", |row| row.p99.map_or_else(|| "–".into(), |p99| amount(row, p99)))
        .number("max", |row| amount(row, row.max))
        .name("in the second", |row| local_time(&row.max_utc))
        .some_names("what it is", 1, |row| Some(title(&row.name).into()))
        .captioned(
            "Rates, one reading a second: shares of the time of one CPU, or numbers per second",
        )
}
