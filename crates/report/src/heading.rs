//! The first lines: which machine, what ran, and whether it ran to its end.

use crate::injected::what;
use crate::style::{Tone, View, clip, plain, width, wrap};
use crate::units::{asked, counted, cpu_list, span};
use anechoic_analyze::facts::Facts;
use anechoic_recording::run::RunState;
use std::io::{self, Write};

/// Which machine, what ran, and whether it ran to its end.
pub(crate) fn write(run: &Facts, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    machine(run, view, out)?;
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let mut ran = format!(
        "{cpus} ({}) for {} · detours over {} ({})",
        clip(&cpu_list(&run.cpus), 24),
        span(run.wall_ns),
        asked(run.threshold_ns),
        run.threshold_source,
    );
    if run.policy != "other" {
        ran += &format!(" · {}", run.policy);
    }
    if let Some((number, of)) = run.repetition {
        ran += &format!(" · run {number} of {of}");
    }
    let dated = format!("{ran} · {}", run.start_utc);
    if width(&dated) <= view.columns() {
        ran = dated;
    }
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &clip(&plain(&ran), view.columns())))?;
    for injected in &run.injections {
        let text = format!("! injected on CPU {}: {}", cpu_list(&injected.cpus), what(injected));
        let text = clip(&plain(&text), view.columns());
        writeln!(out, "{}", view.style.paint(Tone::Warning, &text))?;
    }
    ended(run, view, out)
}

/// Which machine.
pub(crate) fn machine(run: &Facts, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let release = run.kernel.split_whitespace().next().unwrap_or("unknown kernel");
    let guest = run.hypervisor.as_ref().map(|name| format!(" · guest of {name}"));
    let machine =
        format!("{} · {} · Linux {release}{}", run.host, run.model, guest.unwrap_or_default());
    let machine = clip(&plain(&machine), view.columns());
    writeln!(out, "{}", view.style.paint(Tone::Heading, &machine))
}

/// Whether it ran to its end.
pub(crate) fn ended(run: &Facts, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let ended = match &run.state {
        RunState::Complete => return Ok(()),
        RunState::Interrupted(why) => {
            format!("ended early ({why}): this is what was measured until then")
        }
        RunState::Running => {
            "cut off before its end: this is what had been saved until then".into()
        }
    };
    wrap(&plain(&ended), view.columns() - 2).iter().enumerate().try_for_each(|(line, text)| {
        let mark = if line == 0 { "! " } else { "  " };
        writeln!(out, "{}", view.style.paint(Tone::Warning, &format!("{mark}{text}")))
    })
}
