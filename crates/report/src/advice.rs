//! Advice: one line for each of the costliest sources that a user can reduce, or everything that is known about
//! every source.

use crate::injected::is_injected;
use crate::names::{known, source_name};
use crate::screen::Screen;
use crate::style::{Tone, plain};
use crate::units::{count, cpu_list, noise};
use anechoic_analyze::Breakdown;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::sources::SourceRow;
use anechoic_recording::sources::{self, Source};
use anechoic_recording::topology;

/// Number of sources that get a line.
const LINES: usize = 2;
/// A source with a smaller share of the lost time gets no line.
const LEAST_SHARE: f64 = 0.01;
/// Other sources of the same kind are mentioned if all together cost this many times as much as the costliest.
const MENTIONED: f64 = 1.1;

/// No machine has more CPUs.
const MOST_CPUS: usize = 1 << 16;
/// Suffixes of units that systemd can move.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

/// Adds the advice.
pub(crate) fn add(sources: &Breakdown, run: &Facts, screen: &mut Screen) {
    let advised = advised(sources, run);
    if !advised.is_empty() {
        screen.section("what would help");
        advised.iter().for_each(|text| screen.item(Tone::Plain, text));
    }
}

/// Returns one sentence for the costliest source of each kind, which also mentions the other sources of that kind.
pub(crate) fn advised(sources: &Breakdown, run: &Facts) -> Vec<String> {
    let mut kinds: Vec<(&SourceRow, &str, Vec<f64>)> = vec![];
    for (place, row) in sources.rows.iter().enumerate() {
        let injected = is_injected(&row.source, &row.name, &run.injections);
        // The largest is named in any case, also if only the host or the firmware can change it.
        let named = |known: &&Source| place == 0 || known.is_in_reach();
        let known = known(&row.source).filter(named).filter(|_| !injected);
        let reduce = known.and_then(|known| reduction(known.reduce, row));
        let Some(reduce) = reduce else { continue };
        match kinds.iter_mut().find(|(first, ..)| first.source == row.source) {
            // Another function of the same kind may need another remedy.
            Some((_, same, others)) => others.extend((*same == reduce).then_some(row.noise)),
            None if row.share >= LEAST_SHARE => kinds.push((row, reduce, vec![])),
            None => {}
        }
    }
    // Kinds are ranked by their total cost, not by their costliest member.
    let cost =
        |(row, _, others): &(&SourceRow, &str, Vec<f64>)| row.noise + others.iter().sum::<f64>();
    kinds.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    kinds.iter().take(LINES).map(|of| sentence(of, cost(of), run)).collect()
}

fn sentence((row, reduce, others): &(&SourceRow, &str, Vec<f64>), all: f64, run: &Facts) -> String {
    let name = source_name(&row.source, &row.name, run);
    let own = noise(row.noise);
    let here = here(row, run).map_or(String::new(), |here| format!("; here: {here}"));
    let reduce = format!("{reduce}{here}");
    if all < MENTIONED * row.noise {
        return format!("{name} takes {own} of the CPUs' time: {reduce}");
    }
    let more = count(others.len() as u64);
    format!(
        "{name} takes {own} of the CPUs' time, {} together with {more} similar sources: {reduce}",
        noise(all)
    )
}

/// Returns what to do on this machine: with the unit or process of the thread, and the numbers of CPUs.
fn here(row: &SourceRow, run: &Facts) -> Option<String> {
    if sources::CPU_QUOTA.is(&row.source) {
        let limited = run.limits.as_ref()?.limited.as_deref()?;
        return Some(format!("the limit is that of {}", plain(limited)));
    }
    let online = topology::ranges(&run.online).flatten().take(MOST_CPUS);
    let free: Vec<u32> = online.filter(|cpu| !run.cpus.contains(cpu)).collect();
    if free.is_empty() {
        return None; // every CPU was measured, so none is known to be left for others
    }
    let (free, measured) = (cpu_list(&free), cpu_list(&run.cpus));
    if sources::TIMER_TICK.is(&row.source) {
        return Some(format!("nohz_full={measured}, which leaves CPU {free}"));
    }
    if !sources::THREAD.is(&row.source) {
        return None;
    }
    let thread = row.threads.first().filter(|of| of.command.as_deref() != Some(""))?;
    match thread.unit.as_deref() {
        Some(unit) if UNITS.iter().any(|suffix| unit.ends_with(suffix)) => {
            Some(format!("systemctl set-property --runtime {} AllowedCPUs={free}", plain(unit)))
        }
        Some(unit) if !unit.starts_with('/') => Some(format!("give {} CPU {free}", plain(unit))),
        _ => Some(format!("taskset -acp {free} {}", thread.pid?)),
    }
}

/// Adds a description of each kind of source in the table, and everything that reduces it.
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

/// Returns the line that names this row (`vmstat_update: …`, `NET_RX, …: …`), else the first line.
fn reduction(lines: &'static [&'static str], row: &SourceRow) -> Option<&'static str> {
    let function = row.functions.first().map(|first| first.function.as_str());
    let speaks_of = |line: &&&str| {
        let Some((about, _)) = line.split_once(": ") else { return false };
        about.split(", ").any(|about| about == row.name || Some(about) == function)
    };
    lines.iter().find(speaks_of).or(lines.first()).copied()
}
