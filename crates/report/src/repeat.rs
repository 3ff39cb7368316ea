//! Several runs: mean and spread of their noise.

use crate::style::{Tone, View};
use crate::table::{Align, Table};
use crate::units::{count, length, noise, rate};
use anechoic_analyze::Repeat;
use anechoic_analyze::repeat::Spread;
use std::io::{self, Write};

/// More CPUs than this are folded to the worst of them.
const MOST_ROWS: usize = 16;

/// Writes mean ± standard deviation of the noise over several runs.
///
/// # Errors
/// Those of `out`.
pub fn repeat(repeat: &Repeat, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let heading = format!("noise over {} runs (mean ± standard deviation)", count(repeat.runs));
    writeln!(out, "{}", view.style.paint(Tone::Heading, &heading))?;
    let right = |head| (head, Align::Right);
    let mut table = Table::new(&["CPU", "mean", "± sd", "least", "most", "runs"].map(right));
    let mut cpus: Vec<_> = repeat.cpus.iter().collect();
    let folded = cpus.len() > MOST_ROWS && !view.all;
    if folded {
        cpus.sort_by(|a, b| b.noise.mean.total_cmp(&a.noise.mean).then(a.cpu.cmp(&b.cpu)));
        cpus.truncate(MOST_ROWS);
    }
    for cpu in cpus {
        table.row(cells(cpu.cpu.to_string(), &cpu.noise));
    }
    table.row(cells("all".into(), &repeat.noise));
    table.write(view.style, out)?;
    if folded {
        let line = format!("the {MOST_ROWS} worst of {} CPUs", repeat.cpus.len());
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    curve(repeat, view, out)
}

/// Rate and noise against the threshold, mean ± standard deviation.
fn curve(repeat: &Repeat, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    if repeat.curve.is_empty() {
        return Ok(());
    }
    let right = |head| (head, Align::Right);
    let mut table = Table::new(&["detours over", "per s", "± sd", "noise", "± sd"].map(right));
    for point in &repeat.curve {
        let sd = |spread: &Spread, text: fn(f64) -> String| spread.sd.map_or("–".into(), text);
        table.row(vec![
            length(point.threshold_ns),
            rate(point.rate_per_s.mean),
            sd(&point.rate_per_s, rate),
            noise(point.noise.mean),
            sd(&point.noise, noise),
        ]);
    }
    writeln!(out)?;
    table.write(view.style, out)
}

fn cells(name: String, spread: &Spread) -> Vec<String> {
    let sd = spread.sd.map_or("–".into(), noise);
    let Spread { mean, min, max, runs, .. } = *spread;
    vec![name, noise(mean), sd, noise(min), noise(max), count(runs)]
}
