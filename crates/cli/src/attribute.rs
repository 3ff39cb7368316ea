//! `anechoic attribute`

use crate::exit;
use crate::inputs::InputArgs;
use crate::progress::Busy;
use crate::terminal;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::{Problem, Recording, methods};
use anechoic_report::{count, counted, shown};
use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Name the causes of a recording's detours again, from its stored kernel events
///
/// Needs no privileges and can run on any machine, for example with a later version or on a laptop.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  anechoic attribute anechoic-20261121T080000 && anechoic sources anechoic-20261121T080000"
)]
pub struct AttributeArgs {
    #[command(flatten)]
    input: InputArgs,
}

/// How long another process may attribute the same recording before this one says that it waits.
const WAITS_SILENTLY: Duration = Duration::from_secs(1);
/// Pause between two looks at that.
const NAP: Duration = Duration::from_millis(20);

/// Derives what is derived from a recording. While another process does so, it waits, because that may take as long as the
/// recording is large; who waits for longer than a moment learns what for.
///
/// # Errors
/// Those of attribution.
pub(crate) fn attribute(recording: &Recording) -> Result<Attribution, Problem> {
    let begun = Instant::now();
    while recording.is_held() {
        if begun.elapsed() > WAITS_SILENTLY {
            terminal::print_note(format_args!(
                "anechoic: waiting for another anechoic that attributes {}; Ctrl-C ends the wait",
                shown(recording.dir())
            ));
            break;
        }
        thread::sleep(NAP);
    }
    anechoic_attribute::attribute(recording)
}

pub fn run(args: &AttributeArgs) -> Result<ExitCode, Problem> {
    let inputs = args.input.open()?;
    let (mut worst, mut out) = (inputs.report_unread(), terminal::stdout());
    for recording in &inputs.recordings {
        let shown = shown(recording.dir());
        if recording.run().trace.is_none() {
            writeln!(
                out,
                "{shown}: no kernel events were recorded, so there is nothing to attribute"
            )?;
            continue;
        }
        let busy = Busy::with("attributing", false);
        let attributed = attribute(recording);
        drop(busy);
        let alignment = match attributed {
            Ok(attribution) => attribution.alignment,
            Err(problem) => {
                worst = worst.max(exit::print_error(&problem));
                continue;
            }
        };
        if recording.run().program.is_some() {
            writeln!(out, "{shown}: kernel events attributed to the detours of its program")?;
            continue;
        }
        if alignment.events == 0 && recording.run().method != methods::DETOURS {
            writeln!(
                out,
                "{shown}: kernel events attributed to whole samples, because gaps inside them were not recorded"
            )?;
            continue;
        }
        writeln!(
            out,
            "{shown}: {} attributed, {} outside detours",
            counted(alignment.events, "kernel event", "kernel events"),
            count(alignment.outside)
        )?;
    }
    out.flush()?;
    Ok(ExitCode::from(worst))
}
