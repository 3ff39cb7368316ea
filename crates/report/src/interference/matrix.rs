//! The map of all pairs for one kernel: rows are the interrupted CPUs, columns the CPUs of the kernel.

use super::words::cost;
use crate::style::{Tone, View, plain, width, wrap};
use crate::units::{counted, micros};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Cost, Pair, Proximity};
use std::collections::HashMap;
use std::io::{self, Write};

/// Cells from the smallest significant cost to the largest.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// A measured cell without a significant cost.
const NOT_FELT: char = '·';
/// A cell whose cost is unknown.
const NOT_SAID: char = '?';
/// With more rows each cell is one character instead of a number.
const MOST_NUMBERED: usize = 16;
/// Number of CPUs in one part of a map of characters.
const PART: usize = 64;
/// With more rows a short screen shows the map of one kernel only.
const MANY_ROWS: usize = 16;

/// Writes a map for each kernel.
pub(super) fn write(found: &Interference, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    if found.sources.len().max(found.cpus.len()) < 2 || found.classes.is_empty() {
        return Ok(());
    }
    let Some(scale) = Scale::of(found) else { return nothing(view, out) };
    let shown = kernels(found, view);
    for (at, kernel) in shown.iter().enumerate() {
        let map = Map::of(found, kernel, scale);
        let how = if at == 0 {
            "rows: interrupted CPU; columns: CPU of the kernel; cost of one interrupt in µs"
        } else {
            ""
        };
        writeln!(out, "\n{}", view.style.paint(Tone::Heading, &plain(kernel)))?;
        for line in wrap(how, view.columns()) {
            writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
        }
        map.write(view, out)?;
    }
    let mut rest = vec![scale.legend()];
    let left = found.kernels.len() - shown.len();
    if left > 0 {
        let maps = counted(left as u64, "more map", "more maps");
        rest.push(format!("this kernel is slowed down most; --all shows {maps}"));
    }
    let cut = !view.all && found.sources.len().max(found.cpus.len()) > PART;
    if cut {
        rest.push(format!("the first {PART} CPUs; --all shows the others"));
    }
    rest.iter().try_for_each(|line| writeln!(out, "{}", view.style.paint(Tone::Quiet, line)))
}

fn nothing(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let text = "no map: no pair shows a significant cost";
    writeln!(out, "\n{}", view.style.paint(Tone::Quiet, text))
}

/// Returns the kernels whose maps are shown: all, or the one that interrupts on other CPUs slow down most.
fn kernels<'a>(found: &'a Interference, view: &View<'_>) -> Vec<&'a str> {
    let all = || found.kernels.iter().map(|pace| pace.kernel.as_str());
    if view.all || found.sources.len() <= MANY_ROWS {
        return all().collect();
    }
    let felt = |kernel: &str| {
        let others = found.classes.iter().filter(|class| class.place != Proximity::SameThread);
        let of = others.filter(|class| class.kernel == kernel && class.differs());
        of.map(|class| class.mean_ns).fold(0.0, f64::max)
    };
    // The first of equal kernels.
    let most = all().rev().max_by(|a, b| felt(a).total_cmp(&felt(b)));
    most.into_iter().collect()
}

/// The part of the largest cost from which each shade is used, chosen to separate the interrupted CPU from its
/// neighbours.
const FROM: [f64; 4] = [0.0, 0.01, 0.1, 0.5];

/// The scale of the shades.
#[derive(Debug, Clone, Copy)]
struct Scale {
    most_ns: f64,
}

impl Scale {
    /// Returns the scale for all kernels; absent without any significant cost.
    fn of(found: &Interference) -> Option<Self> {
        let costs = found.pairs.iter().filter_map(|pair| pair.alone).filter(Cost::is_felt);
        let most_ns = costs.map(|cost| cost.per_interrupt_ns).reduce(f64::max)?;
        Some(Self { most_ns })
    }

    fn shade(self, ns: f64) -> usize {
        FROM.iter().rposition(|from| ns >= from * self.most_ns).unwrap_or(0)
    }

    fn legend(self) -> String {
        let shades = SHADES.iter().zip(FROM).skip(1);
        let from: Vec<String> = shades
            .map(|(shade, from)| format!("{shade} {}", micros(from * self.most_ns)))
            .collect();
        format!(
            "{NOT_FELT} no cost found   {} less than   {} µs or more   {NOT_SAID} unknown",
            SHADES[0],
            from.join("  ")
        )
    }
}

/// The map of one kernel.
struct Map<'a> {
    sources: &'a [u32],
    cpus: &'a [u32],
    cells: HashMap<(u32, u32), &'a Pair>,
    scale: Scale,
}

impl<'a> Map<'a> {
    fn of(found: &'a Interference, kernel: &str, scale: Scale) -> Self {
        let mut cells: HashMap<(u32, u32), &Pair> = HashMap::new();
        let weight = |pair: &Pair| pair.alone.map_or(0, |cost| cost.interrupts);
        // Of a pair measured twice the map shows the series with more interrupts.
        for pair in found.pairs.iter().filter(|pair| pair.kernel == kernel) {
            let cell = cells.entry((pair.source, pair.cpu)).or_insert(pair);
            if weight(pair) > weight(cell) {
                *cell = pair;
            }
        }
        Self { sources: &found.sources, cpus: &found.cpus, cells, scale }
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let label = self.sources.iter().map(|cpu| width(&cpu.to_string())).max().unwrap_or(1);
        let texts: HashMap<(u32, u32), String> =
            self.cells.iter().map(|(&at, pair)| (at, number(pair))).collect();
        let widest = texts.values().map(|text| width(text)).max().unwrap_or(0);
        // A cell is two spaces, a shade and its number.
        let cell = widest.max(3) + 4;
        let fits = label + self.cpus.len() * cell <= view.columns();
        if fits && self.sources.len() <= MOST_NUMBERED {
            return self.numbers(&texts, label, cell, view, out);
        }
        for cpus in parts(self.cpus, view.all) {
            for sources in parts(self.sources, view.all) {
                self.shades(sources, cpus, label, view, out)?;
            }
        }
        Ok(())
    }

    /// Writes a shade and a number for each cell.
    fn numbers(
        &self,
        texts: &HashMap<(u32, u32), String>,
        label: usize,
        cell: usize,
        view: &View<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let heads: String = self.cpus.iter().map(|cpu| format!("{cpu:>cell$}")).collect();
        writeln!(out, "{}{}", " ".repeat(label), view.style.paint(Tone::Heading, &heads))?;
        for &source in self.sources {
            let mut line = format!("{source:>label$}");
            for &cpu in self.cpus {
                let (shade, tone) = self.glyph(source, cpu);
                let text = texts.get(&(source, cpu)).map_or("", String::as_str);
                let number = format!("{shade}{text:>0$}", cell - 3);
                line += &format!("  {}", view.style.paint(tone, &number));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Writes a character for each cell.
    fn shades(
        &self,
        sources: &[u32],
        cpus: &[u32],
        label: usize,
        view: &View<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for digits in digits(cpus) {
            let line = format!("{} {digits}", " ".repeat(label));
            writeln!(out, "{}", view.style.paint(Tone::Heading, line.trim_end()))?;
        }
        for &source in sources {
            let cells: Vec<(char, Tone)> =
                cpus.iter().map(|&cpu| self.glyph(source, cpu)).collect();
            let runs = cells.chunk_by(|a, b| a.1 == b.1).map(|run| {
                let text: String = run.iter().map(|(shade, _)| shade).collect();
                view.style.paint(run[0].1, &text)
            });
            let line = format!("{source:>label$} {}", runs.collect::<String>());
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Returns the character and tone of a cell.
    fn glyph(&self, source: u32, cpu: u32) -> (char, Tone) {
        let Some(pair) = self.cells.get(&(source, cpu)) else { return (' ', Tone::Quiet) };
        match pair.alone {
            Some(cost) if cost.is_felt() => {
                let shade = self.scale.shade(cost.per_interrupt_ns);
                let tones = [Tone::Bar, Tone::Bar, Tone::Warning, Tone::Bad];
                (SHADES[shade], tones[shade])
            }
            Some(cost) if cost.interval.is_some() => (NOT_FELT, Tone::Quiet),
            _ => (NOT_SAID, Tone::Quiet),
        }
    }
}

/// Returns the cost of an interrupt as the text of a cell.
fn number(pair: &Pair) -> String {
    pair.alone.as_ref().and_then(cost).unwrap_or_default()
}

/// Splits the CPUs into parts and returns all of them, or the first.
fn parts(cpus: &[u32], all: bool) -> impl Iterator<Item = &[u32]> {
    cpus.chunks(PART).take(if all { usize::MAX } else { 1 })
}

/// Returns vertical CPU numbers, one line for each digit; leading digits appear only where they change.
fn digits(cpus: &[u32]) -> Vec<String> {
    let most = cpus.iter().map(|cpu| width(&cpu.to_string())).max().unwrap_or(1);
    let line = |place: usize| {
        let digit = |cpu: &u32| format!("{cpu:>most$}").chars().nth(place).unwrap_or(' ');
        let last = place + 1 == most;
        let changes = |at: usize| {
            let head = |cpu: &u32| cpu / 10_u32.saturating_pow((most - place - 1) as u32);
            at == 0 || head(&cpus[at]) != head(&cpus[at - 1])
        };
        let shown = |(at, cpu)| if last || changes(at) { digit(cpu) } else { ' ' };
        cpus.iter().enumerate().map(shown).collect()
    };
    (0..most).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_from_top_to_bottom() {
        let cpus: Vec<u32> = (8..13).collect();
        assert_eq!(digits(&cpus), ["  1  ", "89012"]);
        assert_eq!(digits(&[0, 1]), ["01"]);
        assert_eq!(digits(&[99, 100, 4_294_967_295]).len(), 10);
        assert_eq!(digits(&[]), [""]);
    }

    #[test]
    fn shades_are_parts_of_the_largest() {
        let scale = Scale { most_ns: 15_000.0 };
        let shades = [-1.0, 10.0, 150.0, 1_400.0, 1_500.0, 7_500.0, 15_000.0, f64::NAN];
        assert_eq!(shades.map(|ns| scale.shade(ns)), [0, 0, 1, 1, 2, 3, 3, 0]);
        let legend =
            "· no cost found   ░ less than   ▒ 0.15  ▓ 1.50  █ 7.50 µs or more   ? unknown";
        assert_eq!(scale.legend(), legend);
    }
}
