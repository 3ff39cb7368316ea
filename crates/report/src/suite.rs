//! The papers' sets of experiments: what was measured here beside what was published.

mod cmt;
mod loops;
mod ticks;

pub use cmt::suite_cmt;
pub use loops::suite_loops;

use crate::heading;
use crate::published::{Paper, Published};
use crate::style::{Tone, View, clip, plain, width, wrap};
use crate::table::{Align, Table};
use crate::units::{asked, count, counted, cpu_list};
use anechoic_analyze::samples::{Measured, SeriesFacts, SeriesResult};
use std::io::{self, Write};

/// The widest name of a kernel.
const KERNEL: usize = 14;

/// The paper, and the machine of the first set.
fn heading(
    title: &str,
    paper: &Paper,
    sets: &[Measured],
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", view.style.paint(Tone::Heading, title))?;
    for line in wrap(paper.full, view.columns()) {
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    match sets.first() {
        Some(set) => heading::machine(&set.run, view, out),
        None => writeln!(out, "nothing was measured: there is no set"),
    }
}

/// What one set was, and whether all of it is there. `what` are its samples called.
fn set_heading(set: &Measured, what: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let facts = || set.series.iter().map(|series| &series.facts);
    let grains: Vec<String> = distinct(facts().map(|facts| asked(facts.grain_ns)));
    let most: Vec<String> = distinct(facts().map(|facts| count(facts.asked)));
    let cpus = if set.run.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let mut line = format!(
        "{what} of {}, up to {} a series, {cpus} {}",
        grains.join(", "),
        most.join(", "),
        clip(&cpu_list(&set.run.cpus), 24)
    );
    if facts().all(|facts| !facts.watched) {
        line += ", not watched inside";
    }
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, &clip(&line, view.columns())))?;
    heading::ended(&set.run, view, out)?;
    let partial = facts().filter(|facts| !facts.is_whole()).count() as u64;
    if partial > 0 {
        let line = format!(
            "! not whole: {}; the set's own screen says why",
            counted(partial, "series", "series")
        );
        writeln!(out, "{}", view.style.paint(Tone::Warning, &line))?;
    }
    Ok(())
}

/// The texts without those that came before, in order.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.fold(vec![], |mut all, text| {
        if !all.contains(&text) {
            all.push(text);
        }
        all
    })
}

/// Heads of the columns that tell series apart.
const IDENTITY: [(&str, Align); 3] =
    [("kernel", Align::Left), ("CPU", Align::Right), ("policy", Align::Left)];

/// Whether the policies of a set differ, so that each row must name its own.
fn differs_in_policy(set: &Measured) -> bool {
    let policy = |series: &SeriesResult| series.facts.policy.clone();
    distinct(set.series.iter().map(policy)).len() > 1
}

/// A table that begins with what tells the series of a set apart.
fn table(set: &Measured, heads: &[(&str, Align)]) -> Table {
    let identity = if differs_in_policy(set) { 3 } else { 2 };
    Table::new(&[&IDENTITY[..identity], heads].concat())
}

/// Kernel, CPU and, where they differ, policy.
fn identity(set: &Measured, facts: &SeriesFacts) -> Vec<String> {
    let cpu = facts.cpu.map_or("any".into(), |cpu| cpu.to_string());
    let mut cells = vec![clip(&plain(&facts.variant), KERNEL), cpu];
    if differs_in_policy(set) {
        cells.push(plain(&facts.policy));
    }
    cells
}

/// Microseconds: two decimals, thousands apart.
fn us(ns: f64) -> String {
    let hundredths = (ns.abs() / 10.0).round() as u64;
    let sign = if ns < 0.0 && hundredths > 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", count(hundredths / 100), hundredths % 100)
}

/// A cell of what may not be there.
fn cell(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or("–".into(), text)
}

/// What a paper published, a line a number.
fn published(cells: &[Published], view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let widest = cells.iter().map(|cell| width(&cell.text())).max().unwrap_or(0);
    for cell in cells {
        let value = cell.text();
        let space = " ".repeat(widest - width(&value));
        let text = format!("{}: {} ({})", cell.experiment, cell.row, cell.place);
        for (line, text) in wrap(&text, view.columns() - widest - 2).iter().enumerate() {
            let value = if line == 0 { format!("{space}{value}") } else { " ".repeat(widest) };
            writeln!(out, "{value}  {text}")?;
        }
    }
    Ok(())
}

/// A point of a list.
fn bullet(text: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    wrap(text, view.columns() - 2)
        .iter()
        .enumerate()
        .try_for_each(|(line, text)| writeln!(out, "{}{text}", if line == 0 { "· " } else { "  " }))
}

/// A heading over what follows a set.
fn section(title: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, title))
}

/// Where the recordings lie.
fn tail(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(path) = view.path else { return Ok(()) };
    let line = format!("recordings: {}", path.display());
    writeln!(out, "\n{}", view.style.paint(Tone::Quiet, &line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds() {
        let cases = [
            (0.0, "0.00"),
            (14_123.4, "14.12"),
            (1_003_214.9, "1,003.21"),
            (-2_346.0, "-2.35"),
            (-1.0, "0.00"),
            (f64::NAN, "0.00"),
        ];
        for (ns, expected) in cases {
            assert_eq!(us(ns), expected, "{ns} ns");
        }
    }
}
