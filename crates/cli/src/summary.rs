//! `anechoic summary`

use crate::progress::Busy;
use crate::{exit, interference, measure, merge, predict, run, serial, terminal};
use anechoic_analyze::Summary;
use anechoic_recording::{Recording, find};
use anechoic_report::View;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show a recording: noise per CPU or distribution of samples, what took the time, how sure that is
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  anechoic summary anechoic-20261121T080000 --json | jq .total.noise"
)]
pub struct SummaryArgs {
    /// A recording, or a directory of recordings
    recording: PathBuf,
    /// Print JSON (schema/summary.schema.json; of samples schema/measured.schema.json, interference.schema.json,
    /// ticks.schema.json or bsp.schema.json; of several hosts cluster.schema.json), one document a recording or job
    #[arg(long)]
    json: bool,
    /// Show every source and every CPU, not only the first
    #[arg(long)]
    all: bool,
}

pub fn run(args: &SummaryArgs) -> anyhow::Result<ExitCode> {
    let mut out = terminal::stdout();
    let mut worst = 0;
    let mut summaries = Vec::new();
    let mut job_shown = false;
    let recordings = find(&args.recording)?;
    if merge::of_many_hosts(&recordings) {
        return merge::together(&recordings, &args.recording, args.json, args.all);
    }
    for recording in recordings {
        let shown = match &*recording.run().method {
            "detours" => detours(args, &recording, &mut out).map(|summary| {
                let verdict = run::verdict(&summary);
                summaries.push(summary);
                verdict
            }),
            // The hosts of a job are told together.
            "bsp" if std::mem::replace(&mut job_shown, true) => continue,
            "bsp" => predict::bsp::show(&args.recording, args.json, args.all, &mut out),
            "interference" => {
                interference::show(&recording, args.json, &view(args, &recording), &mut out)
            }
            "serial" => serial::show(&recording, args.json, &view(args, &recording), &mut out),
            _ => samples(args, &recording, &mut out),
        };
        // What is wrong with one must not hide the others.
        worst = worst.max(shown.unwrap_or_else(|error| exit::tell(&error)));
    }
    let repeated = summaries.len() > 1 && summaries.iter().all(|s| s.run.repetition.is_some());
    let repeat = anechoic_analyze::summarize_many(&summaries).filter(|_| repeated && !args.json);
    if let Some(repeat) = repeat {
        let view = terminal::view(Some(&args.recording));
        anechoic_report::repeat(&repeat, &view).write(&view, &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::from(worst))
}

/// Shows a recording of detours.
fn detours(
    args: &SummaryArgs,
    recording: &Recording,
    out: &mut dyn Write,
) -> anyhow::Result<Summary> {
    let busy = Busy::with("adding up", false);
    let summary = anechoic_analyze::summarize(recording)?;
    drop(busy);
    if args.json {
        anechoic_report::json(&summary, out)?;
    } else {
        let view = view(args, recording);
        anechoic_report::summary(&summary, &view).write(&view, out)?;
    }
    Ok(summary)
}

/// Shows a recording of samples; gives its exit code.
fn samples(args: &SummaryArgs, recording: &Recording, out: &mut dyn Write) -> anyhow::Result<u8> {
    let measured = measure::add_up(recording, false)?;
    if args.json {
        anechoic_report::json(&measured, out)?;
    } else {
        let view = view(args, recording);
        anechoic_report::measured(&measured, &view).write(&view, out)?;
    }
    Ok(measure::verdict(&measured))
}

fn view<'a>(args: &SummaryArgs, recording: &'a Recording) -> View<'a> {
    View { all: args.all, ..terminal::view(Some(recording.dir())) }
}
