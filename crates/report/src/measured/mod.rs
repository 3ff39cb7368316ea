//! The screen of one recording of a method: what it means, the series, pictures, how sure.

pub(crate) mod columns;
pub(crate) mod doubts;
mod fine;
pub(crate) mod headline;
pub(crate) mod intro;
pub(crate) mod loss;
pub(crate) mod names;
pub(crate) mod periods;
mod pictures;
pub(crate) mod series;
pub(crate) mod subtraction;
pub(crate) mod tail;
pub(crate) mod ticks;

pub use periods::spectrum;

use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::{certainty, heading};
use anechoic_analyze::samples::Measured;
use std::io::{self, Write};

/// All that one recording of a method says.
#[must_use]
pub fn measured(measured: &Measured, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(measured, view, out))
}

fn print(measured: &Measured, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading::machine(&measured.run, view, out)?;
    intro::write(measured, view, out)?;
    heading::ended(&measured.run, view, out)?;
    writeln!(out)?;
    headline::write(measured, view, out)?;
    writeln!(out)?;
    series::write(measured, view, out)?;
    doubts::write(measured, view, out)?;
    pictures::write(measured, view, out)?;
    tail::write(measured, view, out)?;
    fine::write(measured, view, out)?;
    periods::section(measured, view, out)?;
    ticks::write(measured, view, out)?;
    subtraction::write(measured, view, out)?;
    writeln!(out)?;
    certainty(measured, view, out)?;
    if let Some(path) = view.path {
        let line = format!("recording: {}", path.display());
        writeln!(out, "\n{}", view.style.paint(Tone::Quiet, &line))?;
    }
    Ok(())
}

/// Whether the work was right, what was lost, what could not be had.
fn certainty(measured: &Measured, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (tone, text) = doubts::work(measured);
    certainty::line("work", tone, &text, view, out)?;
    certainty::write_losses(&measured.losses, view, out)?;
    certainty::not_available(&measured.run.not_available, view, out)?;
    certainty::not_available(&measured.not_available, view, out)?;
    certainty::not_available(&doubts::not_said(measured), view, out)?;
    certainty::notes(&measured.run, view, out)
}
