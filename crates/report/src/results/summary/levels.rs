//! When the noise of a run changed its level.

use crate::names::source_name;
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{between, instant, noise};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::levels::{LevelChange, SourceChange};

/// The headline names a change if the ratio of the higher noise to the lower one is at least this,
const LEAST_FACTOR: f64 = 1.5;
/// and the difference is at least this.
const LEAST_NOISE: f64 = 1e-4;
/// The source that made up at least this part of a change made it mostly.
const MOSTLY: f64 = 0.5;

/// Returns the largest change of level in a sentence, if it is one that matters, and how many more there are.
pub(crate) fn sentence(summary: &Summary) -> Option<String> {
    let all = summary.levels.iter().filter(|change| matters(change));
    let size = |change: &&LevelChange| (change.after - change.before).abs();
    let largest = all.clone().max_by(|one, other| size(one).total_cmp(&size(other)))?;
    let more = match all.count() - 1 {
        0 => String::new(),
        1 => "; it changed once more".into(),
        more => format!("; it changed {more} more times"),
    };
    let noise_of_all = if summary.run.cpus.len() > 1 { "noise of all CPUs" } else { "noise" };
    let on = largest.cpu.map(|cpu| format!(", almost all of it on CPU {cpu}")).unwrap_or_default();
    let source = main_source(largest).map(|row| {
        let name = source_name(&row.source, &row.name, &summary.run);
        format!(", mostly {name} (from {} to {})", noise(row.before), noise(row.after))
    });
    Some(format!(
        "After {} the {noise_of_all} {} from {} to {}{on}{}{more}.",
        at(largest.at_s),
        if largest.after > largest.before { "rose" } else { "fell" },
        noise(largest.before),
        noise(largest.after),
        source.unwrap_or_default()
    ))
}

fn matters(change: &LevelChange) -> bool {
    let (low, high) = (change.before.min(change.after), change.before.max(change.after));
    high >= LEAST_FACTOR * low && high - low >= LEAST_NOISE
}

fn main_source(change: &LevelChange) -> Option<&SourceChange> {
    let first = change.sources.first()?;
    let part = (first.after - first.before) / (change.after - change.before);
    (part >= MOSTLY).then_some(first)
}

/// Adds all changes of the noise.
pub(crate) fn part(summary: &Summary, screen: &mut Screen) {
    table(&summary.levels, "noise changed after", &summary.run, screen);
}

/// Adds changes of a share of the time, if there are some; `name` is the head of their instants.
pub(crate) fn table(changes: &[LevelChange], name: &str, run: &Facts, screen: &mut Screen) {
    if changes.is_empty() {
        return;
    }
    let mut table = Table::with_names(name, &["95 %", "before", "after", "CPU"]);
    for change in changes {
        let interval = change.interval_s;
        table.row(vec![
            at(change.at_s),
            between(&at(interval.low), &at(interval.high)),
            noise(change.before),
            noise(change.after),
            match (change.cpu, &run.cpus[..]) {
                (Some(cpu), _) => cpu.to_string(),
                (None, [cpu]) => cpu.to_string(),
                (None, _) => "several".into(),
            },
        ]);
        let sources: Vec<String> = change.sources.iter().map(|row| with_it(row, run)).collect();
        if !sources.is_empty() {
            table.aside(&sources.join(" · "));
        }
    }
    screen.table(table);
    screen.gap();
}

fn with_it(row: &SourceChange, run: &Facts) -> String {
    let name = source_name(&row.source, &row.name, run);
    format!("{name} from {} to {}", noise(row.before), noise(row.after))
}

fn at(seconds: f64) -> String {
    instant((seconds * 1e9).round() as u64)
}
