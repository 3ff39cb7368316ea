//! Computes all results of a report once, several recordings at a time.

use crate::exit;
use crate::inputs::Inputs;
use crate::progress::Busy;
use anechoic_analyze::cluster::host_name;
use anechoic_analyze::threads::in_order_at_most;
use anechoic_analyze::timeline::Budget;
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::results::cluster::CLUSTER;
use anechoic_report::results::{
    AnyRow, Beside, Findings, Found, Grouping, Input, Job, LeftOut, Methods, for_report, needed,
    together_for_report,
};
use anechoic_report::{HtmlNotShown, HtmlPart, HtmlReport, html_budget};
use std::path::PathBuf;

/// The largest number of recordings in one file; more would leave too little room for each.
const MOST: usize = 32;
/// The largest number of recordings computed at a time; each needs memory.
const MOST_AT_ONCE: usize = 8;

type Row = &'static dyn AnyRow;

/// A result of a recording that is known already. One that brings others for the page, as the summary does, has to be
/// computed for the page.
#[derive(Debug)]
pub(crate) struct Known {
    /// The directory of the recording.
    pub dir: PathBuf,
    /// The result.
    pub found: Found,
}

/// The results of one recording, and the rows that could not be computed.
type Computed = (Findings, Vec<(Row, Problem)>);

/// Computes all results of the recordings; also returns the exit code of what is wrong with some of them. Of a damaged
/// recording `partial` notes the results that are not available. What is `known` is not computed again.
///
/// # Errors
/// A recording is damaged and the report may not be `partial`, or there are too many to show.
pub(crate) fn gather(
    inputs: &Inputs,
    partial: bool,
    known: &[Known],
) -> Result<(HtmlReport, u8), Problem> {
    let recordings: Vec<&Recording> = inputs.recordings.iter().collect();
    let merged = inputs.merged().map(|cluster| Found::from_value(&CLUSTER, cluster, &[]));
    let is_merged = |row: Row| merged.is_some() && row.id() == CLUSTER.id;
    let jobs = together_for_report(&recordings, inputs.has_many_hosts());
    let shown = recordings.len() <= MOST;
    let mut report = HtmlReport {
        not_shown: if shown { None } else { Some(not_shown(inputs, &jobs)?) },
        ..HtmlReport::default()
    };
    let rows = |recording: &Recording| {
        let job_together = jobs.iter().any(|job| job.row.grouping() == Grouping::Job);
        let mut rows = if shown { for_report(recording, job_together) } else { vec![] };
        for row in jobs.iter().filter(|job| !is_merged(job.row)).flat_map(|job| needed(job.row)) {
            if rows.iter().all(|known| known.id() != row.id()) {
                rows.push(row);
            }
        }
        rows
    };
    let budget = html_budget(recordings.len());
    let busy = Busy::steps("adding up", recordings.len() as u64, false);
    let computed = in_order_at_most(MOST_AT_ONCE, recordings.len(), |at| {
        let computed = compute(recordings[at], &rows(recordings[at]), budget, known);
        busy.step();
        computed
    });
    drop(busy);
    let mut parts = Parts::begin(inputs, partial);
    for (recording, computed) in recordings.iter().zip(computed) {
        parts.add(recording, name(recording, inputs), computed)?;
    }
    for job in &jobs {
        let found = match merged.as_ref().filter(|_| is_merged(job.row)) {
            Some(merged) => Ok(merged.clone()),
            None => parts.together(job, &recordings),
        };
        match found {
            Ok(found) => report.together.found.add(found),
            // Each recording is still shown by itself.
            Err(problem) => {
                report.together.not_available.push(problem.not_available(job.row.title()));
                parts.worst = parts.worst.max(exit::print_error(&problem));
            }
        }
    }
    if shown {
        report.recordings = parts.list;
    }
    Ok((report, parts.worst))
}

/// Explains why too many recordings are not shown one by one.
fn not_shown(inputs: &Inputs, jobs: &[Job<'_>]) -> Result<HtmlNotShown, Problem> {
    let several_hosts = jobs.iter().any(|job| job.row.grouping() != Grouping::Runs);
    let count = inputs.recordings.len();
    let Some(first) = inputs.recordings.first().filter(|_| several_hosts) else {
        let place = inputs.place().map_or("this".into(), |place| place.display().to_string());
        let why = format!("{place} has {count} recordings, and a report can show up to {MOST}");
        let remedy = "name one of them, or a directory with fewer";
        return Err(ProblemKind::Usage.problem(why, remedy));
    };
    let example = format!("anechoic report {} -o {}.html", first.dir().display(), host_name(first));
    Ok(HtmlNotShown { recordings: count as u64, most: MOST as u64, example })
}

/// Returns the name of a recording: its directory, or for nested directories its path in the named one.
fn name(recording: &Recording, inputs: &Inputs) -> String {
    let below = inputs.place().and_then(|place| recording.dir().strip_prefix(place).ok());
    if let Some(below) = below.filter(|below| below.components().count() > 1) {
        return below.display().to_string();
    }
    let name = recording.dir().file_name();
    name.map_or("recording".into(), |name| name.to_string_lossy().into_owned())
}

/// The recordings collected so far.
struct Parts {
    list: Vec<HtmlPart>,
    left_out: Vec<LeftOut>,
    /// Whether results may be missing because a recording is damaged.
    partial: bool,
    worst: u8,
}

impl Parts {
    fn begin(inputs: &Inputs, partial: bool) -> Self {
        Self { list: vec![], left_out: inputs.left_out(), partial, worst: 0 }
    }

    /// Adds a recording. A damaged table is an error; a result that cannot be computed is noted in the
    /// report.
    fn add(
        &mut self,
        recording: &Recording,
        name: String,
        computed: Computed,
    ) -> Result<(), Problem> {
        let (found, failed) = computed;
        let run = Some(recording.run().clone());
        let mut part = HtmlPart { name, run, found, not_available: vec![] };
        for (row, problem) in failed {
            if row.in_report() == Methods::None {
                let (place, why) = (recording.dir().to_owned(), problem.to_string());
                self.left_out.push(LeftOut { place, why });
                self.worst = self.worst.max(exit::print_error(&problem));
            } else if problem.kind == ProblemKind::Data && !self.partial {
                return Err(problem);
            } else {
                if problem.kind == ProblemKind::Data {
                    self.worst = self.worst.max(problem.kind.exit_code());
                }
                part.not_available.push(problem.not_available(row.title()));
            }
        }
        self.list.push(part);
        Ok(())
    }

    /// Computes a result of several recordings from the results of each.
    fn together(&self, job: &Job<'_>, all: &[&Recording]) -> Result<Found, Problem> {
        let is_of_job = |recording: &Recording| {
            job.recordings.iter().any(|member| member.dir() == recording.dir())
        };
        let members = all.iter().zip(&self.list).filter(|(recording, _)| is_of_job(recording));
        let before: Vec<&Findings> = members.map(|(_, part)| &part.found).collect();
        let input = Input {
            left_out: &self.left_out,
            before: &before,
            ..Input::from_recordings(&job.recordings)
        };
        job.row.compute(&input)
    }
}

/// Computes these rows; also returns the rows that failed.
fn compute(recording: &Recording, rows: &[Row], budget: Budget, known: &[Known]) -> Computed {
    let (mut found, mut failed) = (Findings::default(), vec![]);
    let page = Beside::with_room(budget);
    let recordings = [recording];
    let input = Input::from_recordings(&recordings);
    for &row in rows {
        let same = |earlier: &&Known| {
            earlier.dir == recording.dir() && earlier.found.row().id() == row.id()
        };
        let result = match known.iter().find(same) {
            Some(known) => Ok(known.found.clone()),
            None => row.compute(&Input { page: Some(&page), ..input }),
        };
        match result {
            Ok(result) => found.add(result),
            Err(problem) => failed.push((row, problem)),
        }
        page.take().into_iter().for_each(|beside| found.add(beside));
    }
    (found, failed)
}
