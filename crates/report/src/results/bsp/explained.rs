//! What explains the difference between measured and predicted: phases by what happened in them, ranks, sources.

use super::words;
use crate::names::title_of;
use crate::screen::Screen;
use crate::style::{View, clip, plain};
use crate::table::Table;
use crate::units::{count, counted, exact, loss, more, noise, share};
use anechoic_predict::bsp::{Bsp, Cell, Explanation, RankFacts, SourceTime};

/// Number of cells that a short screen explains.
const CELLS: usize = 4;
/// Number of ranks on a short screen.
const RANKS: usize = 8;
/// Number of sources on a short screen.
const SOURCES: usize = 5;

/// Adds an explanation for each cell, or on a short screen for those that are furthest off.
pub(super) fn add(found: &Bsp, view: &View<'_>, screen: &mut Screen) {
    let mut cells: Vec<&Cell> = found.cells.iter().collect();
    if !view.all && cells.len() > CELLS {
        let off = |cell: &Cell| cell.ratio.map_or(0.0, |ratio| (ratio.value - 1.0).abs());
        cells.sort_by(|a, b| off(b).total_cmp(&off(a)));
        cells.truncate(CELLS);
    }
    let open = found.cells.len() <= CELLS;
    for cell in &cells {
        screen.in_terminal(|terminal| terminal.section(&title(cell)));
        let explained = Screen::from_fn(|screen| add_cell(found, cell, view, screen));
        screen.details_on_paper(&title(cell), open, explained);
    }
    if let Some(more) = more(found.cells.len(), cells.len(), "case", "cases") {
        screen.gap();
        screen.note(&format!("--all shows {more}"));
    }
}

/// Adds what explains the difference of one cell.
fn add_cell(found: &Bsp, cell: &Cell, view: &View<'_>, screen: &mut Screen) {
    left_out(cell).iter().for_each(|text| screen.warning(text));
    if let Some(explanation) = &cell.explanation {
        screen.table(parts(cell, explanation));
    }
    sentences(cell).iter().for_each(|text| screen.note(text));
    ranks(found, cell, view, screen);
    if let Some(sources @ [_, ..]) = cell.sources.as_deref() {
        let ranked = ranked(sources, found.guest, view.all);
        screen.note(&format!("sources that delayed the last rank: {ranked}"));
    }
}

/// Returns the case and its number of phases: `1 ms, barrier: 3,000 phases`.
fn title(cell: &Cell) -> String {
    format!("{}: {}", words::name(cell), counted(cell.phases, "phase", "phases"))
}

/// Returns a warning if phases of a case are missing.
fn left_out(cell: &Cell) -> Option<String> {
    let left = (cell.left_out > 0).then(|| counted(cell.left_out, "phase", "phases"))?;
    Some(format!("{left} left out because some rank recorded them incompletely"))
}

/// Returns what explains the difference, and where the numbers come from, in sentences.
fn sentences(cell: &Cell) -> Vec<String> {
    let explained = cell.explanation.iter().flat_map(|explanation| {
        [
            words::extra(explanation),
            words::edges(cell),
            words::speed(cell, explanation),
            words::longest(explanation),
        ]
    });
    explained.chain([Some(words::undisturbed(cell)), words::laws(cell)]).flatten().collect()
}

/// Returns the phases by what happened in them.
fn parts(cell: &Cell, explanation: &Explanation) -> Table {
    let heads = ["phases", "measured", "recursion", "difference"];
    let mut table = Table::with_names("phases with", &heads);
    for part in explanation.parts.iter().filter(|part| part.phases > 0) {
        let name = words::what(part.happened);
        table.row(part_cells(name, part.phases, part.measured, part.predicted));
    }
    let predicted = cell.anew.map_or(0.0, |estimate| estimate.value);
    table.row(part_cells("all", cell.phases, cell.measured.value, predicted));
    table.captioned("Phases by what happened in them")
}

fn part_cells(name: &str, phases: u64, measured: f64, predicted: f64) -> Vec<String> {
    let [measured, predicted, difference] = [measured, predicted, measured - predicted].map(loss);
    vec![name.to_owned(), count(phases), measured, predicted, difference]
}

/// Adds the ranks: all, or on a short screen the costliest.
fn ranks(found: &Bsp, cell: &Cell, view: &View<'_>, screen: &mut Screen) {
    let mut ranks: Vec<&RankFacts> = cell.of_ranks.iter().collect();
    let all = view.all || ranks.len() <= RANKS;
    if !all {
        ranks.sort_by(|a, b| b.cost.total_cmp(&a.cost).then(a.rank.cmp(&b.rank)));
        ranks.truncate(RANKS);
    }
    screen.table(rank_table(found, cell, &ranks));
    rank_legend(cell).iter().for_each(|text| screen.note(text));
    if !all {
        let number = count(cell.of_ranks.len() as u64);
        screen.note(&format!("the {RANKS} costliest of {number} ranks; --all shows the others"));
    }
}

/// Returns the ranks, one row each.
fn rank_table(found: &Bsp, cell: &Cell, ranks: &[&RankFacts]) -> Table {
    let table = Table::with_rows(ranks)
        .number("rank", |rank| rank.rank.to_string())
        .name("where", |rank| place(found, rank))
        .number("noise", |rank| rank.noise.map_or("–".into(), noise))
        .number("work", |rank| rank.work_ns.map_or("–".into(), exact))
        .number("disturbed", |rank| rank.disturbed_work_ns.map_or("–".into(), exact));
    let table = if cell.of_ranks.iter().any(|rank| rank.alone.is_some()) {
        table
            .number("measured", |rank| {
                rank.alone.map_or("–".into(), |alone| loss(alone.measured))
            })
            .number("1/(1 - noise) - 1", |rank| {
                rank.alone.and_then(|alone| alone.law).map_or("–".into(), loss)
            })
    } else {
        table
            .number("last", |rank| share(rank.last as f64 / cell.phases.max(1) as f64))
            .number("delayed", |rank| count(rank.last_disturbed))
            .number("cost", |rank| loss(rank.cost))
    };
    table.captioned("Ranks")
}

/// Explains the columns of the ranks.
fn rank_legend(cell: &Cell) -> Option<String> {
    let alone = cell.of_ranks.iter().any(|rank| rank.alone.is_some());
    let last = if alone {
        ""
    } else {
        "; last: share of the phases in which the rank came last; delayed: number of these with a detour; cost: \
         slowdown by these"
    };
    let known = cell.of_ranks.iter().any(|rank| rank.disturbed_work_ns.is_some());
    known.then(|| {
        format!(
            "work: time in undisturbed phases; disturbed: time in phases with a detour, minus the detour{last}"
        )
    })
}

fn place(found: &Bsp, rank: &RankFacts) -> String {
    let cpu = rank.cpu.map_or("not pinned".into(), |cpu| format!("CPU {cpu}"));
    let host = usize::try_from(rank.host).ok().and_then(|host| found.hosts.get(host));
    match host.filter(|_| found.hosts.len() > 1) {
        Some(host) => format!("{} {cpu}", clip(&plain(&host.name), 14)),
        None => cpu,
    }
}

/// Lists sources with their shares.
fn ranked(sources: &[SourceTime], guest: bool, all: bool) -> String {
    let shown = if all { sources.len() } else { SOURCES };
    let named = sources.iter().take(shown).map(|source| {
        let title = title_of(&source.source, &source.name, guest);
        format!("{} {}", clip(&title, 36), share(source.share))
    });
    let mut named: Vec<String> = named.collect();
    if sources.len() > shown {
        let rest: f64 = sources[shown..].iter().map(|source| source.share).sum();
        named.push(format!("{} more {}", sources.len() - shown, share(rest)));
    }
    named.join(" · ")
}
