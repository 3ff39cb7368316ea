//! `anechoic merge`

use crate::progress::Busy;
use crate::{exit, terminal};
use anechoic_analyze::cluster::{Cluster, ClusterOf, HOST_DIR, HostSummary, host_name};
use anechoic_recording::{OpenError, ReadError, Recording, find, replace_file};
use anechoic_report::View;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file of the merged result in the directory of a data set.
pub const CLUSTER: &str = "cluster.json";

/// Add up the recordings of many hosts: ranks hosts and CPUs, names outliers, writes cluster.json
///
/// Takes every recording in DIR, usually one in each DIR/host=NAME, names what took the time where that was not done,
/// and writes DIR/cluster.json. A data set with a host missing, damaged or unlike the others is told; the exit code is 1
/// or more then. `anechoic summary DIR` shows the same without writing anything.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  anechoic run -o data/host=a   # on each host\n  anechoic merge data"
)]
pub struct MergeArgs {
    /// A directory with a recording of each host
    dir: PathBuf,
    /// Print JSON (schema/cluster.schema.json)
    #[arg(long)]
    json: bool,
    /// Show every host, CPU and source, not only the first
    #[arg(long)]
    all: bool,
}

pub fn run(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    let mut hosts = Hosts::default();
    let busy = Busy::with("adding up", false);
    for place in places(&args.dir)? {
        match find(&place) {
            Ok(recordings) => {
                for recording in recordings {
                    let recording = hosts.attributed(recording)?;
                    hosts.add(&recording)?;
                }
            }
            Err(OpenError::NoneFound { .. }) if !is_host(&place) => {}
            Err(error) => hosts.leave_out(&place, &error.into()),
        }
    }
    drop(busy);
    let (cluster, worst) = hosts.finish()?;
    save(&cluster, &args.dir)?;
    show(&cluster, worst, &args.dir, args.json, args.all)
}

/// Whether these are recordings of detours from more than one host.
pub fn of_many_hosts(recordings: &[Recording]) -> bool {
    let hosts: BTreeSet<String> = recordings.iter().map(host_name).collect();
    hosts.len() > 1 && recordings.iter().all(|recording| recording.run().method == "detours")
}

/// Shows recordings of several hosts together, and writes nothing.
pub fn together(
    recordings: &[Recording],
    dir: &Path,
    json: bool,
    all: bool,
) -> anyhow::Result<ExitCode> {
    let mut hosts = Hosts::default();
    let busy = Busy::with("adding up", false);
    recordings.iter().try_for_each(|recording| hosts.add(recording))?;
    drop(busy);
    let (cluster, worst) = hosts.finish()?;
    show(&cluster, worst, dir, json, all)
}

/// Writes the merged result into the directory of its data set, as a whole or not at all.
///
/// # Errors
/// Those of writing.
pub fn save(cluster: &Cluster, dir: &Path) -> anyhow::Result<()> {
    let mut json = vec![];
    anechoic_report::json(cluster, &mut json)?;
    Ok(replace_file(&dir.join(CLUSTER), &json)?)
}

/// Prints the merged result, and gives the exit code: `worst`, or what the result itself calls for.
pub fn show(
    cluster: &Cluster,
    worst: u8,
    dir: &Path,
    json: bool,
    all: bool,
) -> anyhow::Result<ExitCode> {
    let mut out = terminal::stdout();
    if json {
        anechoic_report::json(cluster, &mut out)?;
    } else {
        anechoic_report::cluster(cluster, &View { all, ..terminal::view(Some(dir)) }, &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::from(worst.max(verdict(cluster))))
}

/// 3 where nothing was measured, 1 where something is wrong with the data set, else 0.
pub fn verdict(cluster: &Cluster) -> u8 {
    match cluster {
        _ if cluster.total.wall_ns == 0 => exit::NO_VERDICT,
        _ if cluster.findings.is_empty() => 0,
        _ => exit::WARNING,
    }
}

/// Hosts that are added up; what is wrong with one does not hide the others.
#[derive(Default)]
struct Hosts {
    cluster: ClusterOf,
    worst: u8,
}

impl Hosts {
    fn add(&mut self, recording: &Recording) -> anyhow::Result<()> {
        match HostSummary::of(recording) {
            Ok(host) => self.cluster.add(host)?,
            Err(error) => self.leave_out(recording.dir(), &error.into()),
        }
        Ok(())
    }

    /// The recording, with what took the time. Where that cannot be told, the rest is still worth having.
    fn attributed(&mut self, recording: Recording) -> anyhow::Result<Recording> {
        if recording.run().trace.is_none() || !matches!(recording.attribution(), Ok(None)) {
            return Ok(recording);
        }
        if let Err(error) = anechoic_attribute::attribute(&recording) {
            self.worst = self.worst.max(exit::tell(&error.into()));
        }
        Ok(Recording::open(recording.dir())?)
    }

    fn leave_out(&mut self, place: &Path, error: &anyhow::Error) {
        self.worst = self.worst.max(exit::tell(error));
        self.cluster.leave_out(&place.display().to_string(), &error.to_string());
    }

    fn finish(self) -> anyhow::Result<(Cluster, u8)> {
        Ok((self.cluster.finish()?, self.worst))
    }
}

/// The directory itself where it is a recording, else those in it, by name.
fn places(dir: &Path) -> Result<Vec<PathBuf>, OpenError> {
    if dir.join("run.json").exists() {
        return Ok(vec![dir.to_owned()]);
    }
    let none = || OpenError::NoneFound { path: dir.to_owned() };
    let mut places = vec![];
    for entry in fs::read_dir(dir).map_err(|_| none())? {
        let entry = entry.map_err(|source| ReadError::Io { file: dir.to_owned(), source })?;
        if entry.path().is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            places.push(entry.path());
        }
    }
    places.sort();
    if places.is_empty() { Err(none()) } else { Ok(places) }
}

/// Whether a directory is called as that of a host.
fn is_host(place: &Path) -> bool {
    let name = place.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with(HOST_DIR))
}
