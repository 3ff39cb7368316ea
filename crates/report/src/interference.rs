//! The screen of the interference matrix: whose interrupts are felt where.

mod matrix;
pub(crate) mod rows;
pub(crate) mod sure;
pub(crate) mod words;

use crate::heading;
use crate::screen::Screen;
use crate::style::{Tone, View, clip, wrap};
use crate::units::{asked, count, counted, cpu_list, rate, span};
use anechoic_analyze::Interference;
use anechoic_recording::injection::InjectionKind;
use std::io::{self, Write};

/// What interrupts of each CPU cost each kernel on each CPU: by distance beside Table 1 of Radojković
/// 2008, and as a map of all pairs.
#[must_use]
pub fn interference(found: &Interference, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(found, view, out))
}

fn print(found: &Interference, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading::machine(&found.run, view, out)?;
    for line in wrap(&what(found), view.columns()) {
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &clip(&line, view.columns())))?;
    }
    heading::ended(&found.run, view, out)?;
    writeln!(out)?;
    for line in wrap(&words::sentences(found), view.columns()) {
        writeln!(out, "{}", view.style.paint(Tone::Heading, &line))?;
    }
    rows::write(found, view, out)?;
    matrix::write(found, view, out)?;
    writeln!(out)?;
    sure::write(found, view, out)?;
    if let Some(path) = view.path {
        let line = format!("recording: {}", path.display());
        writeln!(out, "\n{}", view.style.paint(Tone::Quiet, &line))?;
    }
    Ok(())
}

/// `interference: timer interrupts at 937 Hz on one CPU, 100 µs of a kernel on another · …`.
pub(crate) fn what(found: &Interference) -> String {
    let injected: Vec<String> = found
        .injected
        .iter()
        .map(|asked_for| {
            let kind = match asked_for.kind {
                InjectionKind::Interrupt => "timer interrupts".to_owned(),
                InjectionKind::Kernel => {
                    format!("timer interrupts of {}", asked(asked_for.duration_ns))
                }
                InjectionKind::Thread => format!("a thread for {}", asked(asked_for.duration_ns)),
            };
            format!("{kind} at {} Hz", rate(asked_for.rate_hz))
        })
        .collect();
    let noise = if injected.is_empty() { "nothing".to_owned() } else { injected.join(", ") };
    let grain = found.grain_ns.map_or(String::new(), |ns| format!("{} of ", asked(ns)));
    let list = |cpus: &[u32]| clip(&cpu_list(cpus), 24);
    let each = found.pairs.iter().map(|pair| pair.repetitions + pair.unknown).max().unwrap_or(0);
    let series = counted(found.pairs.len() as u64, "series", "series");
    format!(
        "interference: {noise} on one CPU (of {}), {grain}a kernel on another (of {}) · {series} of {} repetitions in {} · {}",
        list(&found.sources),
        list(&found.cpus),
        count(each),
        span(found.run.wall_ns),
        found
            .run
            .start_utc
            .split_once('.')
            .map_or(found.run.start_utc.as_str(), |(second, _)| second),
    )
}
