//! The serial tick model: what one interrupt costs, what ticks take, and whether the times agree with it.

mod anomalies;
mod figures;
mod scheduler;
mod tables;
pub(crate) mod words;

use crate::heading;
use crate::screen::Screen;
use crate::style::{Tone, View, clip, plain, wrap};
use anechoic_predict::ticks::{Model, Origin, ProcessorModel};
use std::io::{self, Write};

/// The model of every processor.
#[must_use]
pub fn ticks(model: &Model, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(model, view, out))
}

fn print(model: &Model, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", view.style.paint(Tone::Heading, "serial tick model (Tsafrir 2007)"))?;
    match &model.origin {
        Origin::Files { times, costs } => {
            let line = clip(&plain(&format!("times: {times} · costs: {costs}")), view.columns());
            writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
        }
        Origin::Recording(facts) => {
            heading::machine(facts, view, out)?;
            heading::ended(facts, view, out)?;
        }
    }
    model.processors.iter().try_for_each(|of| processor(of, view, out))?;
    writeln!(out)?;
    paragraph(&format!("assumed: {}", model.assumptions.join("; ")), Tone::Quiet, view, out)
}

fn processor(of: &ProcessorModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let name = clip(&plain(&of.name), view.columns());
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, &name))?;
    let sentences = [Some(words::cost(of)), words::widest_pair(of), Some(words::verdict(of))];
    for sentence in sentences.into_iter().flatten() {
        wrap(&sentence, view.columns()).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    anomalies::write(of, view, out)?;
    writeln!(out)?;
    tables::points(of, view, out)?;
    writeln!(out)?;
    if !of.verdict.sample.tells_cost() {
        // Nothing follows from such a cost.
        tables::indirect_shares(of, view, out)?;
        return scheduler::write(of, view, out);
    }
    tables::per_1000(of, view, out)?;
    writeln!(out)?;
    tables::ticks(of, view, out)?;
    writeln!(out)?;
    tables::tickless(of, view, out)?;
    writeln!(out)?;
    tables::indirect_shares(of, view, out)?;
    figures::write(of, view, out)?;
    scheduler::write(of, view, out)
}

/// Text in lines of one tone.
fn paragraph(text: &str, tone: Tone, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = wrap(&plain(text), view.columns()).into_iter();
    lines.try_for_each(|line| writeln!(out, "{}", view.style.paint(tone, &line)))
}
