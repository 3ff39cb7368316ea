//! `anechoic list`

use crate::exit;
use crate::inputs::Inputs;
use crate::progress::Busy;
use crate::show::{ComputedResults, ShowArgs};
use crate::terminal;
use anechoic_analyze::threads::in_order_at_most;
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::list::LIST;
use anechoic_report::results::{AnyRow, Findings, Input, for_summary};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The largest number of recordings that are read at a time; each needs memory.
const MOST_AT_ONCE: usize = 4;

/// List the recordings of a directory: when, how long and on which CPUs they were measured, and what was found
///
/// The newest is the last line. It is also the recording that `summary`, `sources`, `report`, `attribute` and
/// `predict` read if none is named. Times are those of this machine's time zone, in JSON those of UTC.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic list\n  anechoic list /data --json | jq -r '.recordings[-1].path'",
    mut_arg("json", |arg| arg.help("Print JSON (schema/list.schema.json)")),
    mut_arg("all", |arg| arg.hide(true)) // it always shows all
)]
pub struct ListArgs {
    /// Directory with recordings [default: this directory]
    dir: Option<PathBuf>,
    #[command(flatten)]
    show: ShowArgs,
}

pub fn run(args: &ListArgs) -> Result<ExitCode, Problem> {
    let dir = args.dir.as_deref().unwrap_or(Path::new("."));
    let mut printer = args.show.printer()?;
    let inputs = Inputs::below(dir)?;
    let worst = inputs.report_unread();
    let recordings: Vec<&Recording> = inputs.recordings.iter().collect();
    let (distinct, numbers) = distinct(&recordings);
    let busy = Busy::steps("reading", distinct.len() as u64, false);
    let found = in_order_at_most(MOST_AT_ONCE, distinct.len(), |at| {
        let found = shown(distinct[at]);
        busy.step();
        found
    });
    drop(busy);
    let worst = found.iter().map(|(_, code)| *code).fold(worst, u8::max);
    let before: Vec<&Findings> = numbers.iter().map(|&number| &found[number].0).collect();
    let list = LIST.compute(&Input { before: &before, ..Input::from_recordings(&recordings) })?;
    printer.print(&list, Some(dir))?;
    printer.finish()?;
    match inputs.denied {
        0 => {}
        1 => terminal::print_note("anechoic: one more directory cannot be read by this user"),
        denied => terminal::print_note(format_args!(
            "anechoic: {denied} more directories cannot be read by this user"
        )),
    }
    Ok(ExitCode::from(worst))
}

/// Returns the recordings without those that are another name of one before, and for each name the number of its recording
/// among them: links to recordings are read once.
fn distinct<'a>(recordings: &[&'a Recording]) -> (Vec<&'a Recording>, Vec<usize>) {
    let (mut distinct, mut known) = (vec![], HashMap::new());
    let mut number = |recording: &&'a Recording| {
        let dir = recording.dir().canonicalize().unwrap_or_else(|_| recording.dir().to_owned());
        *known.entry(dir).or_insert_with(|| {
            distinct.push(*recording);
            distinct.len() - 1
        })
    };
    let numbers = recordings.iter().map(&mut number).collect();
    (distinct, numbers)
}

/// Computes what `anechoic summary` shows of a recording; an error is printed and returned as an exit code.
fn shown(recording: &Recording) -> (Findings, u8) {
    let (mut findings, mut worst) = (Findings::default(), 0);
    for job in for_summary(&[recording], false) {
        let (found, code) = ComputedResults::default().compute(&job, &[]);
        worst = worst.max(code);
        match found {
            Ok(found) => findings.add(found),
            Err(problem) => worst = worst.max(exit::print_error(&problem)),
        }
    }
    (findings, worst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::two_cpus;

    #[test]
    fn a_recording_with_two_names_is_read_once() {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name);
        for name in ["a", "b"] {
            let _ = two_cpus::record(&at(name), &two_cpus::run(two_cpus::SECOND), &[]);
        }
        std::os::unix::fs::symlink("b", at("latest")).expect("a link");
        let open = |name| Recording::open(&at(name)).expect("just written");
        let all = [open("a"), open("b"), open("latest")];
        let (distinct, numbers) = distinct(&all.each_ref());
        assert_eq!((distinct.len(), numbers), (2, vec![0, 1, 1]));
    }
}
