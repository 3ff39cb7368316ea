//! The screen of predicted slowdown: for each grain and number of ranks, and by source.

pub(crate) mod figure;
pub(crate) mod tables;
pub(crate) mod words;

use crate::screen::Screen;
use crate::style::{View, clip};
use crate::units::{asked, counted, cpu_list, long, noise};
use anechoic_predict::phases::{GrainModel, HostFacts, PhaseModel};
use anechoic_recording::run::NotAvailable;

/// Shows the prediction.
#[must_use]
pub fn phases(model: &PhaseModel, _: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading("predicted slowdown of a bulk-synchronous parallel job");
    screen.contexts(&model.hosts, host_line, ["host", "hosts"]);
    if let Some(threshold_ns) = model.threshold_ns {
        screen.context(&format!("detours over {}", asked(threshold_ns)));
    }
    model.notes.iter().for_each(|note| screen.warning(note));
    let sentences: Vec<String> =
        model.grains.iter().filter_map(|of| words::grain(model, of)).collect();
    if !sentences.is_empty() {
        screen.gap();
    }
    sentences.iter().for_each(|text| screen.headline(text));
    for of in &model.grains {
        screen.section(&format!(
            "grain {}: slowdown (time relative to no noise)",
            asked(of.grain_ns)
        ));
        grain(of, &mut screen);
    }
    if let Some(table) = tables::culprit_table(model) {
        screen.section(tables::WHOSE);
        screen.table(table);
    }
    screen.charts(figure::figure(model));
    screen.gap();
    not_available(&model.not_available, &mut screen);
    screen.note(&words::how(model));
    screen
}

/// Adds the slowdown for each number of ranks and how it was computed.
pub(crate) fn grain(of: &GrainModel, screen: &mut Screen) {
    screen.table(tables::cell_table(of));
    let notes = [words::support(of), words::tail(of), Some(words::closed_form(of))];
    notes.iter().flatten().for_each(|note| screen.note(note));
}

/// Adds what could not be computed.
pub(crate) fn not_available(missing: &[NotAvailable], screen: &mut Screen) {
    for NotAvailable { what, why, remedy } in missing {
        screen.note(&format!("not available: {what}: {why}; {remedy}"));
    }
}

/// Describes a host: CPUs, length of its recording, detours and noise.
pub(crate) fn host_line(host: &HostFacts) -> String {
    let cpus = counted(host.cpus.len() as u64, "CPU", "CPUs");
    format!(
        "{} · {cpus} ({}) for {} · {} · noise {}",
        clip(&host.name, 28),
        clip(&cpu_list(&host.cpus), 12),
        long(host.window_ns),
        counted(host.detours, "detour", "detours"),
        noise(host.noise),
    )
}
