//! The recordings of a directory, with what was found in each.

use super::{List, Listed};
use crate::results::described::Grouping;
use crate::results::found::Found;
use crate::results::row::{Print, Row};
use crate::results::{Findings, Input};
use anechoic_recording::Recording;

/// The row of the result.
pub static LIST: Row<List> = Row {
    compute: Some(|input| Ok(listed(input))),
    print: Some(Print::with(super::list)),
    ..Row::new("list", "recordings", Grouping::Listed)
};

/// Lists the recordings of the input, each with what was computed of it before.
fn listed(input: &Input<'_>) -> List {
    let none = Findings::default();
    let before = input.before.iter().copied().chain(std::iter::repeat(&none));
    let recordings = input.recordings.iter().zip(before);
    let mut recordings: Vec<Listed> =
        recordings.map(|(recording, found)| row(recording, found)).collect();
    recordings.sort_by(|a, b| (&a.start_utc, &a.path).cmp(&(&b.start_utc, &b.path)));
    List { recordings }
}

fn row(recording: &Recording, found: &Findings) -> Listed {
    let (dir, run) = (recording.dir(), recording.run());
    Listed {
        path: dir.strip_prefix(".").unwrap_or(dir).display().to_string(),
        host: run.machine.host.clone(),
        start_utc: run.start_utc.clone(),
        duration_ns: run.clock.ns(run.end_ticks.saturating_sub(run.start_ticks)),
        method: run.method.clone(),
        cpus: run.cpus.iter().map(|cpu| cpu.cpu).collect(),
        state: run.state.clone(),
        bytes: recording.bytes(),
        headline: found.iter().rev().map(Found::headline).find_map(|all| all.into_iter().next()),
    }
}
