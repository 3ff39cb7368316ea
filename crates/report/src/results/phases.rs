//! The slowdown of a parallel job on more ranks than were measured.

use super::described::{Grouping, Methods};
use super::row::{Print, Row};
use super::summary::METHOD;
use super::{Input, Model};
use anechoic_analyze::injection::Verdict;
use anechoic_predict::phases::{Ask, Noise, OPTIONS, PhaseModel, length_ns, predict_with};
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, Recording};

/// The row of the result.
pub(crate) static PHASES: Row<PhaseModel> = Row {
    in_report: Methods::Only(METHOD),
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
    print: Some(Print::with(crate::phases)),
    ..Row::new("phases", "slowdown at scale", Grouping::Each)
};

/// Computes the prediction; it reads each recording from its directory.
fn compute(input: &Input<'_>) -> Result<PhaseModel, Problem> {
    let answers = input.answers(OPTIONS)?;
    let recordings = input.recordings.iter().map(|of| of.dir().to_owned());
    let paths: Vec<_> = input.files.iter().cloned().chain(recordings).collect();
    let noise = Noise::read(&paths, length_ns(&answers))?;
    predict_with(&noise, &Ask::read(&answers)?, &mut |done, of| {
        if let Some(progress) = input.progress {
            progress.0(done, of);
        }
    })
}

/// Returns `Good` if all recordings are complete.
fn verdict(_: &PhaseModel, recordings: &[&Recording]) -> Verdict {
    let whole = |recording: &&Recording| {
        let run = recording.run();
        run.state == RunState::Complete && run.cpus.iter().all(|cpu| cpu.lost_detours == 0)
    };
    if recordings.iter().all(whole) { Verdict::Good } else { Verdict::Warning }
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
