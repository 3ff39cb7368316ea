//! Where measured and predicted part: phases by what happened in them, ranks, sources.

use super::{paragraph, words};
use crate::names::known;
use crate::style::{Tone, View, clip, plain};
use crate::table::{Align, Table};
use crate::units::{count, counted, noise, share};
use anechoic_predict::bsp::{Bsp, Cell, Explanation, RankFacts, SourceTime};
use std::io::{self, Write};

/// Cells that are explained, unless all are wanted.
const CELLS: usize = 4;
/// Ranks that are told of, unless all are wanted.
const RANKS: usize = 8;
/// Sources that are named, unless all are wanted.
const SOURCES: usize = 5;

/// Writes an explanation for each cell, or for those that need one most.
pub(super) fn write(found: &Bsp, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut cells: Vec<&Cell> = found.cells.iter().collect();
    if !view.all && cells.len() > CELLS {
        let off = |cell: &Cell| cell.ratio.map_or(0.0, |ratio| (ratio.value - 1.0).abs());
        cells.sort_by(|a, b| off(b).total_cmp(&off(a)));
        cells.truncate(CELLS);
    }
    cells.iter().try_for_each(|cell| explain(found, cell, view, out))?;
    match found.cells.len() - cells.len() {
        0 => Ok(()),
        more => {
            let text = format!("{} with --all", counted(more as u64, "more case", "more cases"));
            writeln!(out, "\n{}", view.style.paint(Tone::Quiet, &text))
        }
    }
}

fn explain(found: &Bsp, cell: &Cell, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, &title(cell)))?;
    if let Some(text) = left_out(cell) {
        paragraph(&format!("! {text}"), Tone::Warning, view, out)?;
    }
    if let Some(explanation) = &cell.explanation {
        parts(cell, explanation).fit(view.columns()).write(view.style, out)?;
    }
    for line in told(cell) {
        paragraph(&line, Tone::Quiet, view, out)?;
    }
    ranks(found, cell, view, out)?;
    match cell.sources.as_deref() {
        Some(sources @ [_, ..]) => {
            let line = format!("what made the last rank late: {}", ranked(sources, view.all));
            paragraph(&line, Tone::Quiet, view, out)
        }
        _ => Ok(()),
    }
}

/// The case and how many phases it had: `1 ms, barrier: 3,000 phases`.
pub(crate) fn title(cell: &Cell) -> String {
    format!("{}: {}", words::name(cell), counted(cell.phases, "phase", "phases"))
}

/// What a case lacks.
pub(crate) fn left_out(cell: &Cell) -> Option<String> {
    let left = (cell.left_out > 0).then(|| counted(cell.left_out, "phase", "phases"))?;
    Some(format!("{left} left out, which not all ranks recorded as a whole"))
}

/// What explains the difference, and where the numbers come from, in sentences.
pub(crate) fn told(cell: &Cell) -> Vec<String> {
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

/// Phases by what happened in them.
pub(crate) fn parts(cell: &Cell, of: &Explanation) -> Table {
    let right = |head| (head, Align::Right);
    let heads = [right("phases"), right("measured"), right("recursion"), right("difference")];
    let mut table = Table::new(&[&[("phases with", Align::Left)], &heads[..]].concat());
    let mut row = |name: &str, phases: u64, measured: f64, predicted: f64| {
        let numbers = [measured, predicted, measured - predicted].map(words::loss);
        let mut cells = vec![name.to_owned(), count(phases)];
        cells.extend(numbers);
        table.row(cells);
    };
    for part in of.parts.iter().filter(|part| part.phases > 0) {
        row(words::what(part.happened), part.phases, part.measured, part.predicted);
    }
    let predicted = cell.anew.map_or(0.0, |of| of.value);
    row("all", cell.phases, cell.measured.value, predicted);
    table
}

/// The ranks: all, or those that cost most.
fn ranks(found: &Bsp, cell: &Cell, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut ranks: Vec<&RankFacts> = cell.of_ranks.iter().collect();
    let all = view.all || ranks.len() <= RANKS;
    if !all {
        ranks.sort_by(|a, b| b.cost.total_cmp(&a.cost).then(a.rank.cmp(&b.rank)));
        ranks.truncate(RANKS);
    }
    rank_table(found, cell, &ranks).fit(view.columns()).write(view.style, out)?;
    if let Some(text) = rank_legend(cell) {
        paragraph(&text, Tone::Quiet, view, out)?;
    }
    if !all {
        let text = format!(
            "{} ranks that cost most of {}; the others with --all",
            RANKS,
            count(cell.of_ranks.len() as u64)
        );
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &text))?;
    }
    Ok(())
}

/// Ranks, a row each.
pub(crate) fn rank_table(found: &Bsp, cell: &Cell, ranks: &[&RankFacts]) -> Table {
    let left = |head| (head, Align::Left);
    let right = |head| (head, Align::Right);
    let alone = cell.of_ranks.iter().any(|rank| rank.alone.is_some());
    let mut heads =
        vec![right("rank"), left("where"), right("noise"), right("work"), right("disturbed")];
    heads.extend(match alone {
        true => vec![right("measured"), right("1/(1 - noise) - 1")],
        false => vec![right("last"), right("of those"), right("cost")],
    });
    let mut table = Table::new(&heads);
    for rank in ranks {
        let mut row = vec![
            rank.rank.to_string(),
            place(found, rank),
            rank.noise.map_or("–".into(), noise),
            rank.work_ns.map_or("–".into(), words::exact),
            rank.disturbed_work_ns.map_or("–".into(), words::exact),
        ];
        row.extend(match rank.alone {
            Some(alone) => {
                vec![words::loss(alone.measured), alone.law.map_or("–".into(), words::loss)]
            }
            None => vec![
                share(rank.last as f64 / cell.phases.max(1) as f64),
                count(rank.last_disturbed),
                words::loss(rank.cost),
            ],
        });
        table.row(row);
    }
    table
}

/// What its columns are, where that is not plain.
pub(crate) fn rank_legend(cell: &Cell) -> Option<String> {
    let alone = cell.of_ranks.iter().any(|rank| rank.alone.is_some());
    let last = if alone { "" } else { "; of those: where a rank had a detour" };
    let known = cell.of_ranks.iter().any(|rank| rank.disturbed_work_ns.is_some());
    known.then(|| {
        format!(
            "work: in undisturbed phases; disturbed: in those with a detour in it, less the detour{last}"
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

/// What a source is called.
pub(crate) fn source(of: &SourceTime) -> String {
    let title = known(&of.source).map_or(of.source.as_str(), |known| known.title);
    let name = if of.name.is_empty() { String::new() } else { format!(" {}", of.name) };
    plain(&format!("{title}{name}"))
}

/// Sources with their shares.
fn ranked(sources: &[SourceTime], all: bool) -> String {
    let shown = if all { sources.len() } else { SOURCES };
    let name = |of: &SourceTime| format!("{} {}", clip(&source(of), 36), share(of.share));
    let mut told: Vec<String> = sources.iter().take(shown).map(name).collect();
    if sources.len() > shown {
        let rest: f64 = sources[shown..].iter().map(|of| of.share).sum();
        told.push(format!("{} more {}", sources.len() - shown, share(rest)));
    }
    told.join(" · ")
}
