//! The screen of one run.

use crate::screen::Screen;
use crate::style::{Tone, View};
use crate::{advice, certainty, cpus, curve, heading, longest, self_test, sources, suspects};
use anechoic_analyze::Summary;
use std::io::{self, Write};

/// All that one run says: how noisy, what took the time, how sure, what would help.
#[must_use]
pub fn summary(summary: &Summary, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(summary, view, out))
}

fn print(summary: &Summary, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let run = &summary.run;
    heading::write(run, view, out)?;
    writeln!(out)?;
    cpus::write(summary, view, out)?;
    writeln!(out)?;
    if let Some(found) = &summary.sources {
        sources::table(found, run, view, out)?;
        writeln!(out)?;
    } else if let Some(found) = &summary.suspects {
        suspects::write(found, run, view, out)?;
        writeln!(out)?;
    }
    if !summary.curve.is_empty() {
        curve::write(summary, view, out)?;
        writeln!(out)?;
    }
    if !summary.longest.is_empty() && summary.sources.is_some() {
        longest::write(&summary.longest, run, view, out)?;
        writeln!(out)?;
    }
    certainty::write(summary, view, out)?;
    self_test::last(run, view, out)?;
    if let Some(found) = &summary.sources {
        advice::write(found, run, view, out)?;
    }
    if let Some(path) = view.path {
        let line = format!("recording: {}", path.display());
        writeln!(out, "\n{}", view.style.paint(Tone::Quiet, &line))?;
    }
    Ok(())
}
