//! The screen of the recordings of a directory.

mod row;

pub use row::LIST;

use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{bytes, cpu_list, local_time, span};
use anechoic_recording::run::RunState;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Recordings in the order of their starts, the newest last.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct List {
    /// The recordings.
    pub recordings: Vec<Listed>,
}

/// A recording and what was found in it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Listed {
    /// Its directory.
    pub path: String,
    /// Host name.
    pub host: String,
    /// Start of the run, RFC 3339 in UTC.
    pub start_utc: String,
    /// Time from the start of the loops to the end of the last one; to the planned end if the run was cut off.
    pub duration_ns: u64,
    /// Method of measurement: `detours`, `fwq`, ….
    pub method: String,
    /// Measured CPUs.
    pub cpus: Vec<u32>,
    /// How the run ended.
    pub state: RunState,
    /// Size of its files.
    pub bytes: u64,
    /// What was found, in one sentence; absent if nothing could be computed.
    pub headline: Option<String>,
}

/// Shows recordings in the order of their starts, the newest last, each with the sentence that states what was found.
#[must_use]
pub(crate) fn list(list: &List, view: &View<'_>) -> Screen {
    let mut table = Table::with_rows(&list.recordings)
        .name("recording", |listed| name(listed, view.path))
        .name("started", |listed| local_time(&listed.start_utc))
        .name("method", |listed| listed.method.clone())
        .number("time", |listed| span(listed.duration_ns))
        .name("CPUs", |listed| cpu_list(&listed.cpus))
        .number("size", |listed| bytes(listed.bytes))
        .some_names("", 0, |listed| state(&listed.state))
        .captioned("Recordings")
        .leaving_out(&["CPUs", "size", "time"]);
    table.asides(list.recordings.iter().map(|listed| listed.headline.as_deref().unwrap_or("")));
    Screen::from_fn(|screen| screen.table(table))
}

/// Returns the path of a recording in the directory that is listed.
fn name(listed: &Listed, place: Option<&Path>) -> String {
    let path = Path::new(&listed.path);
    let below = place.and_then(|place| path.strip_prefix(place).ok()).unwrap_or(path);
    match below.to_str() {
        None | Some("") => listed.path.clone(),
        Some(below) => below.to_owned(),
    }
}

/// Describes how a run ended unless it is complete.
fn state(state: &RunState) -> Option<String> {
    match state {
        RunState::Complete => None,
        RunState::Interrupted(_) => Some("ended early".into()),
        RunState::Running => Some("cut off".into()),
    }
}
