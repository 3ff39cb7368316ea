//! What the paper published on its do-nothing loops, with the same of this machine where there is one.

use crate::published::{INTERRUPTS_OF_A_RUN, LOOP, MACHINE, Published, READS, TICKS, find};
use crate::results::memory::words::size;
use crate::results::suite::cell;
use crate::table::Table;
use crate::units::{count, fine, noise, number, share};
use anechoic_analyze::samples::fine::Dominant;
use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_analyze::sources::SourceRow;
use anechoic_recording::machine::Cache;
use anechoic_recording::{Run, sources};

/// Returns the distributions that the paper publishes.
pub(super) fn distributions() -> Table {
    let cells: Vec<&Published> = TICKS.iter().filter(|cell| cell.experiment == LOOP).collect();
    let rows: Vec<&[&Published]> = cells.chunk_by(|a, b| a.row == b.row).collect();
    let heads: Vec<&str> =
        rows.first().into_iter().flat_map(|row| row.iter()).map(|cell| cell.column).collect();
    let mut table =
        Table::with_names("1 ms on M2, µs", &heads).captioned("Published distributions");
    for row in rows {
        let values = row.iter().map(|cell| cell.value.text());
        table.row(std::iter::once(row[0].row.to_owned()).chain(values).collect());
    }
    table
}

/// Whether a row of this name belongs to an interrupt of Table 5 in a set.
type Belongs = fn(&SourceRow, &Measured) -> bool;

/// Interrupts of Table 5 by their names there, and the rows that they are here.
const INTERRUPTS: [(&str, Belongs); 2] = [
    ("tick", |row, _| sources::TIMER_TICK.is(&row.source)),
    ("network", |row, set| {
        let subtractions = set.series.iter().filter_map(|series| series.subtraction.as_ref());
        let mut network = subtractions.flat_map(|subtraction| &subtraction.network);
        sources::DEVICE_IRQ.is(&row.source) && network.any(|name| *name == row.name)
    }),
];

/// Explains what is compared.
pub(super) const DIRECT: &str = "direct time: in the handler and what nests in it, without the gaps around it, as in the paper; gaps: trap, \
                                 return and, in a guest, the VM exit";

/// Returns the interrupts of a run: published, and of all these sets together.
pub(super) fn interrupts(sets: &[&Measured]) -> Table {
    let heads = ["count", "direct time", "share of the run", "gaps"];
    let mut table = Table::with_names("interrupts of a run", &heads)
        .captioned("Interrupts of a run, published and measured");
    for (name, belongs) in INTERRUPTS {
        let there = |column| find(&TICKS, INTERRUPTS_OF_A_RUN, name, column);
        let place =
            there("count").map_or(String::new(), |cell| format!("{name}, {}", cell.machine));
        let number = there("count").and_then(|cell| cell.value.number());
        let cycles = there("time").and_then(|cell| Some((cell.value.number()?, cell.unit)));
        table.row(vec![
            place,
            cell(number, |number| count(number as u64)),
            cycles
                .map_or("–".into(), |(cycles, unit)| format!("{} {unit}", count(cycles as u64))),
            there("share of the run").map_or("–".into(), Published::text),
            "–".into(),
        ]);
        let here = Taken::by(sets, belongs);
        let ours = |text: fn(&Taken) -> String| here.as_ref().map_or("–".into(), text);
        table.row(vec![
            format!("{name}, here"),
            ours(|taken| count(taken.number)),
            ours(|taken| fine(taken.direct_ns)),
            ours(|taken| noise(taken.direct_ns / taken.wall_ns)),
            ours(|taken| fine(taken.gaps_ns)),
        ]);
    }
    table
}

/// What an interrupt took of all sets.
#[derive(Default)]
struct Taken {
    number: u64,
    direct_ns: f64,
    gaps_ns: f64,
    wall_ns: f64,
}

impl Taken {
    /// Returns it for the rows of an interrupt; absent without kernel events.
    fn by(sets: &[&Measured], belongs: Belongs) -> Option<Self> {
        let mut taken = Self::default();
        for set in sets {
            let Some(sources) = &set.sources else { continue };
            let wall_ns: f64 = set.series.iter().map(|series| series.facts.wall_ns as f64).sum();
            taken.wall_ns += wall_ns;
            for row in sources.rows.iter().filter(|row| belongs(row, set)) {
                let direct =
                    row.noise * wall_ns * row.share_without_gaps / row.share.max(f64::MIN_POSITIVE);
                taken.number += row.activities;
                taken.direct_ns += direct;
                taken.gaps_ns += row.noise * wall_ns - direct;
            }
        }
        (taken.wall_ns > 0.0).then_some(taken)
    }
}

/// Explains the times between two reads of the counter.
pub(super) const DELTAS: &str = "next: the second most frequent time; on the paper's machine that inside fasties. longest run: successive samples \
                                 with that time";

/// Explains the machines.
pub(super) const MACHINES: &str =
    "CPU clock here: the rate of the counter, at which the core need not run";

/// Returns the times between two reads of the counter with nothing in between: published, and of the series of this set.
pub(super) fn deltas(set: Option<&Measured>) -> Table {
    let heads = ["usual", "share", "next", "share", "longest run"];
    let mut table = Table::with_names("between two reads, in ticks", &heads)
        .captioned("Times between two reads of the counter, published and measured");
    let there = |row, column| find(&TICKS, READS, row, column);
    let number = |cell: Option<&Published>| cell.map_or("–".into(), |cell| cell.value.text());
    let usual = there("usual", "length");
    table.row(vec![
        usual.map_or(String::new(), |cell| cell.machine.to_owned()),
        number(usual),
        "–".into(),
        number(there("of a fastie", "length")),
        "–".into(),
        number(there("of a fastie", "longest run")),
    ]);
    for series in set.into_iter().flat_map(|set| &set.series) {
        table.row(deltas_of(series));
    }
    table
}

fn deltas_of(series: &SeriesResult) -> Vec<String> {
    let values = series.fine.as_ref().map_or(&[][..], |fine| &fine.dominant[..]);
    let (usual, next) = (values.first(), values.get(1));
    let ticks =
        |dominant: Option<&Dominant>| dominant.map_or("–".into(), |dominant| count(dominant.raw));
    let part = |dominant: Option<&Dominant>| cell(dominant.map(|dominant| dominant.share), share);
    let run = next.and_then(|next| next.longest_run).map_or("–".into(), count);
    let cpu = series.facts.cpu.map_or("here".to_owned(), |cpu| format!("here, CPU {cpu}"));
    vec![cpu, ticks(usual), part(usual), ticks(next), part(next), run]
}

/// Returns the machines of the paper with a column for the one of this run.
pub(super) fn machines(here: Option<&Run>) -> Table {
    let cells: Vec<&Published> = TICKS.iter().filter(|cell| cell.experiment == MACHINE).collect();
    let machines: Vec<&[&Published]> = cells.chunk_by(|a, b| a.machine == b.machine).collect();
    let heads = machines.iter().map(|facts| facts[0].machine).chain(["here"]);
    let mut table = Table::with_names("machine", &heads.collect::<Vec<_>>())
        .captioned("The machines of the paper, and this one");
    for (place, first) in machines.first().into_iter().flat_map(|facts| facts.iter().enumerate()) {
        let name = format!("{} {}", first.row, first.column);
        let there =
            machines.iter().map(|facts| facts.get(place).map_or("–".into(), |cell| cell.text()));
        let ours = here.and_then(|run| fact(run, first)).unwrap_or_else(|| "–".into());
        table.row(std::iter::once(name).chain(there).chain([ours]).collect());
    }
    table
}

/// Returns the fact of this machine that the published one is compared with.
fn fact(run: &Run, published: &Published) -> Option<String> {
    let measured = run.cpus.first()?.cpu;
    let cpus = || run.machine.cpus.iter().filter(|cpu| cpu.cpu == measured);
    let cache = |level, kind| cache_size(cpus().flat_map(|cpu| &cpu.caches), level, kind);
    match (published.row, published.column) {
        ("CPU", _) => Some(format!("{} GHz", number(run.clock.frequency_millihertz as f64 / 1e12))),
        ("memory", "size") => Some(run.machine.memory_bytes).filter(|bytes| *bytes > 0).map(size),
        ("cache", "L2") => cache(2, "Data"),
        ("cache", "L1 data") => cache(1, "Data"),
        ("cache", "L1 code") => cache(1, "Instruction"),
        _ => None,
    }
}

/// Returns the size of the first cache of this level that is of this kind or for both instructions and data.
fn cache_size<'a>(
    mut caches: impl Iterator<Item = &'a Cache>,
    level: u32,
    kind: &str,
) -> Option<String> {
    let is = |cache: &&Cache| cache.level == level && [kind, "Unified"].contains(&&*cache.kind);
    caches.find(is).map(|cache| size(cache.size_bytes))
}
