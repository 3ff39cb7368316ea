//! `anechoic record --repeat N`: several runs of a command, and how much of their variance noise explains.

use super::Recording;
use crate::files::is_used;
use crate::run::{run_dir, summarized};
use crate::show::Printer;
use crate::{command, exit, stop, terminal};
use anechoic_measure::run::Plan;
use anechoic_recording::Problem;
use anechoic_report::long_time;
use anechoic_report::results::variance::VARIANCE;
use anechoic_report::results::{AnyRow, Findings, Input};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Recorded runs.
#[derive(Default)]
struct Runs {
    findings: Vec<Findings>,
    /// How the command ended in the last one, if it failed.
    failed: Option<ExitStatus>,
    /// Why the last one was not recorded, if it was not.
    problem: Option<Problem>,
}

impl Recording<'_> {
    /// Records the command several times, each run into a directory of its own, and shows them together. The first run that
    /// fails is the last one, and its exit code is passed on. A signal goes to the command and ends the series.
    pub(super) fn repeat(&self) -> Result<ExitCode, Problem> {
        if is_used(self.dir) {
            return Err(Problem::not_empty(self.dir));
        }
        let runs = self.all_runs()?;
        let succeeded = runs.findings.len() - usize::from(runs.failed.is_some());
        let shown = if succeeded > 0 { self.show_runs(&runs.findings)? } else { 0 };
        if let Some(problem) = runs.problem {
            return Err(problem);
        }
        Ok(match runs.failed {
            Some(status) => command::passed_on(status),
            None if runs.findings.len() < self.args.repeat as usize => {
                ExitCode::from(shown.max(exit::WARNING))
            }
            None => ExitCode::from(shown),
        })
    }

    /// Records the runs, up to the first that fails.
    fn all_runs(&self) -> Result<Runs, Problem> {
        let (mut runs, begun, all) = (Runs::default(), Instant::now(), self.args.repeat);
        // The number in the first is passed on to the command and then gone.
        let (signal, arrived) = (stop::newest()?, stop::newest()?);
        for number in 1..=all {
            if !self.args.quiet && !self.args.json {
                announce(number, all, begun); // JSON goes to the same stream
            }
            let dir = run_dir(self.dir, number);
            let plan = Plan { repetition: Some((number, all)), ..self.plan.clone() };
            let recorded =
                self.run_once(&plan, &dir, Arc::clone(&signal), Some(Arc::clone(&arrived)));
            let summary =
                recorded.and_then(|status| Ok((status, summarized(&dir, self.args.quiet)?)));
            match summary {
                Ok((status, findings)) => {
                    runs.findings.push(findings);
                    runs.failed = status.filter(|status| !status.success());
                }
                Err(problem) => {
                    runs.problem = Some(problem);
                    break;
                }
            }
            if let Some(status) = runs.failed {
                let code = command::exit_code(status);
                terminal::print_note(format_args!(
                    "anechoic: run {number} of {all} failed with exit code {code}, and was the last one"
                ));
                break;
            }
            if arrived.load(Ordering::Acquire) != 0 {
                break;
            }
        }
        Ok(runs)
    }

    /// Shows how much of the variance between the runs noise explains; returns the exit code.
    fn show_runs(&self, runs: &[Findings]) -> Result<u8, Problem> {
        let before: Vec<&Findings> = runs.iter().collect();
        let found = VARIANCE.compute(&Input { before: &before, ..Input::from_recordings(&[]) });
        let printer = Printer::stderr(self.args.json).unsaved(self.args.no_save);
        let mut printer = printer.quiet(self.args.quiet && !self.args.json);
        let code = printer.print_result(found, Some(self.dir))?;
        printer.finish()?;
        // Runs that failed are stated, and lost events are a reason not to trust the result.
        Ok(if code == exit::WARNING { exit::NO_VERDICT } else { code })
    }
}

/// States which run begins, and how long all take that are left if they take as long as those before.
pub(crate) fn announce(number: u32, all: u32, begun: Instant) {
    let done = number - 1;
    let left = begun.elapsed().checked_div(done).map(|each| each * (all - done));
    let left = left.map_or(String::new(), |left| {
        format!(", {} left", long_time(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX)))
    });
    terminal::print_note(format_args!("anechoic: run {number} of {all}{left}"));
}
