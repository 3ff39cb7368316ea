//! The slowdown of a parallel job on more ranks than were measured.

mod figure;
mod tables;
pub(crate) mod words;

use super::described::{Grouping, Methods, Section};
use super::row::{Print, Row, is_whole};
use super::summary::METHOD;
use super::{Input, Model};
use crate::screen::Screen;
use crate::style::{View, clip};
use crate::units::{asked, counted, cpu_list, long, noise};
use anechoic_analyze::injection::Verdict;
use anechoic_predict::phases::{
    Ask, GrainModel, HostFacts, Noise, OPTIONS, PhaseModel, length_ns, predict_with,
};
use anechoic_recording::{Problem, Recording};

/// The row of the result.
pub static PHASES: Row<PhaseModel> = Row {
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: "scale",
        title: "What the noise costs at scale",
        short: "At scale",
    }),
    compute: Some(compute),
    verdict,
    model: Some(Model {
        about: "Slowdown of a bulk-synchronous parallel job on more ranks than were measured",
        details: DETAILS,
        examples: EXAMPLES,
        inputs: "Recordings, directories of recordings, or text files",
        takes_files: true,
        options: OPTIONS,
        ..Model::NEW
    }),
    print: Some(Print::with(screen)),
    ..Row::new("phases", "slowdown at scale", Grouping::Each)
};

/// Computes the prediction; it reads each recording from its directory.
fn compute(input: &Input<'_>) -> Result<PhaseModel, Problem> {
    let answers = input.answers(OPTIONS)?;
    let recordings = input.recordings.iter().map(|recording| recording.dir().to_owned());
    let paths: Vec<_> = input.files.iter().cloned().chain(recordings).collect();
    let noise = Noise::read(&paths, length_ns(&answers))?;
    predict_with(&noise, &Ask::read(&answers)?, &mut |done, total| {
        if let Some(progress) = input.progress {
            progress.0(done, total);
        }
    })
}

/// Returns `Good` if all recordings are complete.
fn verdict(_: &PhaseModel, recordings: &[&Recording]) -> Verdict {
    if recordings.iter().all(is_whole) { Verdict::Good } else { Verdict::Warning }
}

const DETAILS: &str = "Each phase of the job ends when its slowest rank ends. Reads recordings of `anechoic run`, one for \
each host, and prints the slowdown for each grain (the work between two synchronisations) and number of ranks, its \
confidence interval, and the source of noise that costs most. Also reads text files of detours: start_ns, a tab, \
duration_ns.";

const EXAMPLES: &str = "Examples:
  anechoic run -d 60s -o noise && anechoic predict phases noise
  anechoic predict phases node01 node02 --grain 500us --ranks 1..1e6
  anechoic predict phases detours.txt --length 10s --json | jq '.grains[].cells[].recursion.slowdown'

Exits with 1 if a recording was cut off or lost detours.";

/// Shows the prediction.
fn screen(model: &PhaseModel, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        terminal.heading("predicted slowdown of a bulk-synchronous parallel job");
        terminal.contexts(&model.hosts, host_line, ["host", "hosts"]);
        if let Some(threshold_ns) = model.threshold_ns {
            terminal.context(&format!("detours over {}", asked(threshold_ns)));
        }
    });
    screen.on_page(|page| page.sentence(WHAT));
    model.notes.iter().for_each(|note| screen.warning(note));
    let sentences: Vec<String> =
        model.grains.iter().filter_map(|grain| words::grain(model, grain)).collect();
    if !sentences.is_empty() {
        screen.gap();
    }
    sentences.iter().for_each(|text| screen.headline(text));
    if !view.all {
        add_briefly(model, &mut screen);
        return screen;
    }
    match figure::is_flat(model) {
        true => screen.on_page(|page| page.picture(figure::figure(model), FIGURE)),
        false => screen.picture(figure::figure(model), FIGURE),
    }
    if let Some(table) = tables::culprit_table(model) {
        screen.section(tables::WHOSE);
        screen.table(table);
    }
    screen.details("All numbers and how they were computed", numbers(model));
    screen
}

/// Adds the slowdowns for as many ranks as the recording supports.
fn add_briefly(model: &PhaseModel, screen: &mut Screen) {
    screen.gap();
    screen.table(tables::supported_table(model));
    let beyond = model.grains.iter().any(|grain| grain.cells.iter().any(|cell| !cell.supported));
    let more = if beyond { ", more ranks (for which this recording is too short)" } else { "" };
    screen.gap();
    screen.note(&format!("--all shows the figure{more} and how the numbers were computed"));
}

/// What is predicted.
const WHAT: &str = "In every phase, a bulk-synchronous job on many such CPUs waits for its slowest rank. The grain is the work between two synchronisations.";
/// Describes the figure.
const FIGURE: &str = "Predicted slowdown (time of the job relative to no noise) against the number of ranks, by grain. A point is an underestimate: the recording is too short for that number of ranks and all larger ones.";

/// Returns the slowdown for each number of ranks, and how it was computed.
fn numbers(model: &PhaseModel) -> Screen {
    let mut screen = Screen::default();
    for grain in &model.grains {
        let grain_length = asked(grain.grain_ns);
        screen.section(&format!("grain {grain_length}: slowdown (time relative to no noise)"));
        add_grain(grain, &mut screen);
    }
    screen.gap();
    screen.not_available(&model.not_available);
    screen.note(&words::how(model));
    screen
}

/// Adds the slowdown for each number of ranks and how it was computed.
fn add_grain(grain: &GrainModel, screen: &mut Screen) {
    screen.table(tables::cell_table(grain));
    let notes = [words::support(grain), words::tail(grain), Some(words::closed_form(grain))];
    notes.iter().flatten().for_each(|note| screen.note(note));
}

/// Describes a host: CPUs, length of its recording, detours and noise.
fn host_line(host: &HostFacts) -> String {
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
