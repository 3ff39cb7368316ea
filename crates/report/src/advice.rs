//! What would help: for the costliest sources that a user can reduce, one line each; or for every
//! source all that is known.

use crate::injected::is_injected;
use crate::names::{known, source_name};
use crate::screen::Screen;
use crate::style::Tone;
use crate::units::{count, noise};
use anechoic_analyze::Breakdown;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::sources::SourceRow;

/// Sources that get a line, at most.
const LINES: usize = 2;
/// A source that took less of the lost time gets none.
const LEAST_SHARE: f64 = 0.01;
/// Others of its kind are mentioned where all cost so many times as much as the costliest.
const MENTIONED: f64 = 1.1;

/// Adds the advice.
pub(crate) fn add(sources: &Breakdown, run: &Facts, screen: &mut Screen) {
    let advised = advised(sources, run);
    if !advised.is_empty() {
        screen.section("what would help");
        advised.iter().for_each(|text| screen.item(Tone::Plain, text));
    }
}

/// What would help, a sentence for the costliest source of each kind, which speaks of the others of that kind, too.
pub(crate) fn advised(sources: &Breakdown, run: &Facts) -> Vec<String> {
    let mut kinds: Vec<(&SourceRow, &str, Vec<f64>)> = vec![];
    for row in &sources.rows {
        let injected = is_injected(&row.source, &row.name, &run.injections);
        let known = known(&row.source).filter(|known| known.is_in_reach() && !injected);
        let reduce = known.and_then(|known| reduction(known.reduce, row));
        let Some(reduce) = reduce else { continue };
        match kinds.iter_mut().find(|(first, ..)| first.source == row.source) {
            // What helps against another function of the same kind is another matter.
            Some((_, same, others)) => others.extend((*same == reduce).then_some(row.noise)),
            None if row.share >= LEAST_SHARE => kinds.push((row, reduce, vec![])),
            None => {}
        }
    }
    // The kind that costs most comes first, not the kind with the costliest member.
    let cost =
        |(row, _, others): &(&SourceRow, &str, Vec<f64>)| row.noise + others.iter().sum::<f64>();
    kinds.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    kinds.iter().take(LINES).map(|of| sentence(of, cost(of), run)).collect()
}

fn sentence((row, reduce, others): &(&SourceRow, &str, Vec<f64>), all: f64, run: &Facts) -> String {
    let name = source_name(&row.source, &row.name, run);
    let own = noise(row.noise);
    if all < MENTIONED * row.noise {
        return format!("{name} costs {own} of the CPUs' time: {reduce}");
    }
    let more = count(others.len() as u64);
    format!(
        "{name} costs {own} of the CPUs' time, with {more} more like it {}: {reduce}",
        noise(all)
    )
}

/// Adds what each kind of source in the table is and all that reduces it.
pub(crate) fn glossary(sources: &Breakdown, run: &Facts, screen: &mut Screen) {
    let mut described: Vec<&str> = vec![];
    for row in &sources.rows {
        let Some(source) = known(&row.source).filter(|of| !described.contains(&of.id)) else {
            continue;
        };
        described.push(source.id);
        screen.section(&source_name(&row.source, "", run));
        screen.indented(source.what);
        source.reduce.iter().for_each(|reduce| screen.item(Tone::Plain, reduce));
    }
}

/// The line that speaks of this very row (`vmstat_update: …`, `NET_RX, …: …`), else the first.
fn reduction(lines: &'static [&'static str], row: &SourceRow) -> Option<&'static str> {
    let function = row.functions.first().map(|first| first.function.as_str());
    let speaks_of = |line: &&&str| {
        let Some((about, _)) = line.split_once(": ") else { return false };
        about.split(", ").any(|about| about == row.name || Some(about) == function)
    };
    lines.iter().find(speaks_of).or(lines.first()).copied()
}
