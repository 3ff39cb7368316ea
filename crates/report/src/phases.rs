//! What noise costs a parallel job: the slowdown for each grain and number of ranks, and whose it is.

mod figure;
pub(crate) mod tables;
pub(crate) mod words;

use crate::screen::Screen;
use crate::style::{Tone, View, clip, plain, wrap};
use crate::units::{asked, counted, cpu_list, noise};
use anechoic_predict::phases::{GrainModel, HostFacts, PhaseModel};
use std::io::{self, Write};

/// Hosts that are named, at most.
const HOSTS: usize = 4;

/// The prediction.
#[must_use]
pub fn phases(model: &PhaseModel, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(model, view, out))
}

fn print(model: &PhaseModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = "what noise costs a bulk-synchronous parallel job";
    writeln!(out, "{}", view.style.paint(Tone::Heading, title))?;
    for host in model.hosts.iter().take(HOSTS) {
        let line = clip(&plain(&host_line(host)), view.columns());
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    if let Some(more) = model.hosts.len().checked_sub(HOSTS).filter(|&more| more > 0) {
        let more = counted(more as u64, "more host", "more hosts");
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &format!("and {more}")))?;
    }
    if let Some(threshold_ns) = model.threshold_ns {
        let line = format!("detours over {}", asked(threshold_ns));
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    for note in &model.notes {
        paragraph(&format!("! {note}"), Tone::Warning, view, out)?;
    }
    for (number, text) in model.grains.iter().filter_map(|of| words::grain(model, of)).enumerate() {
        if number == 0 {
            writeln!(out)?;
        }
        sentence(&text, view, out)?;
    }
    model.grains.iter().try_for_each(|of| grain(of, view, out))?;
    tables::culprits(model, view, out)?;
    figure::write(model, view, out)?;
    writeln!(out)?;
    for gone in &model.not_available {
        let text = format!("not available: {}: {}; {}", gone.what, gone.why, gone.remedy);
        paragraph(&text, Tone::Quiet, view, out)?;
    }
    paragraph(&words::how(model), Tone::Quiet, view, out)
}

pub(crate) fn host_line(host: &HostFacts) -> String {
    let cpus = counted(host.cpus.len() as u64, "CPU", "CPUs");
    format!(
        "{} · {cpus} ({}) for {} · {} · noise {}",
        clip(&host.name, 28),
        clip(&cpu_list(&host.cpus), 12),
        words::long(host.window_ns),
        counted(host.detours, "detour", "detours"),
        noise(host.noise),
    )
}

fn grain(of: &GrainModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("grain {}: time / time without noise", asked(of.grain_ns));
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, &title))?;
    tables::cells(of, view, out)?;
    let lines = [words::support(of), words::tail(of), Some(words::closed_form(of))];
    let mut lines = lines.into_iter().flatten();
    lines.try_for_each(|line| paragraph(&line, Tone::Quiet, view, out))
}

fn sentence(text: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    wrap(&plain(text), view.columns()).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Text in lines of one tone.
fn paragraph(text: &str, tone: Tone, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = wrap(&plain(text), view.columns()).into_iter();
    lines.try_for_each(|line| writeln!(out, "{}", view.style.paint(tone, &line)))
}
