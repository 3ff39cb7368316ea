//! `anechoic merge`

use crate::progress::Busy;
use crate::{exit, terminal};
use anechoic_analyze::cluster::{
    Cluster, ClusterOf, FindingKind, HOST_DIR, HostSummary, host_name,
};
use anechoic_recording::{Problem, ProblemKind, Recording, find, replace_file};
use anechoic_report::View;
use std::collections::{BTreeMap, BTreeSet};
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
    let set = DataSet::at(&args.dir)?;
    for recording in set.recordings {
        let recording = hosts.attributed(recording)?;
        hosts.add(&recording)?;
    }
    set.unread.iter().for_each(|(place, error)| hosts.leave_out(place, error));
    drop(busy);
    let (cluster, worst) = hosts.finish()?;
    save(&cluster, &args.dir)?;
    show(&cluster, worst, &args.dir, args.json, args.all)
}

/// What a directory holds.
pub struct DataSet {
    /// The recordings in it, by place.
    pub recordings: Vec<Recording>,
    /// What could not be opened, and why: damaged recordings, and directories of hosts without any.
    pub unread: Vec<(PathBuf, anyhow::Error)>,
}

impl DataSet {
    /// The recording at `dir`, or all in it.
    ///
    /// # Errors
    /// Where there is no such directory, or nothing in it.
    pub fn at(dir: &Path) -> anyhow::Result<Self> {
        let mut set = Self { recordings: vec![], unread: vec![] };
        for place in places(dir)? {
            match find(&place) {
                Ok(recordings) => set.recordings.extend(recordings),
                Err(error) if error.kind == ProblemKind::NoInput && !is_host(&place) => {}
                Err(error) => set.unread.push((place, error.into())),
            }
        }
        Ok(set)
    }

    /// Whether it has, or should have, recordings of more than one host.
    pub fn of_many_hosts(&self) -> bool {
        let hosts: BTreeSet<String> = self.recordings.iter().map(host_name).collect();
        let unread = self.unread.iter().any(|(place, _)| is_host(place));
        hosts.len() > 1 || unread && !hosts.is_empty()
    }

    /// What its hosts say together, and the exit code of what is wrong with them: the merged result where that is there
    /// and of these recordings, else added up anew. Writes nothing.
    ///
    /// # Errors
    /// Where one host was measured twice at a time, or nothing could be added up.
    pub fn cluster(&self, dir: &Path) -> anyhow::Result<(Cluster, u8)> {
        if let Some(merged) = self.merged(dir) {
            let worst = self.unread.iter().map(|(_, error)| exit::tell(error)).max();
            return Ok((merged, worst.unwrap_or(0)));
        }
        let mut hosts = Hosts::default();
        self.recordings.iter().try_for_each(|recording| hosts.add(recording))?;
        self.unread.iter().for_each(|(place, error)| hosts.leave_out(place, error));
        hosts.finish()
    }

    /// The merged result, if it is of the recordings that are here now.
    fn merged(&self, dir: &Path) -> Option<Cluster> {
        let merged: Cluster = serde_json::from_slice(&fs::read(dir.join(CLUSTER)).ok()?).ok()?;
        let mut here = BTreeMap::<String, u64>::new();
        self.recordings.iter().for_each(|of| *here.entry(host_name(of)).or_default() += 1);
        let there = merged.hosts.iter().map(|of| (of.host.clone(), of.recordings)).collect();
        let runs = || self.recordings.iter().map(Recording::run);
        let start = runs().map(|run| &run.start_utc).min();
        let ends: Option<Vec<&String>> = runs().map(|run| run.end_utc.as_ref()).collect();
        let end = ends.and_then(|ends| ends.into_iter().max());
        let left_out = merged.findings.iter().filter(|of| of.kind == FindingKind::LeftOut).count();
        let same = here == there
            && start == Some(&merged.start_utc)
            && end == merged.end_utc.as_ref()
            && left_out == self.unread.len();
        same.then_some(merged)
    }
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
        let view = View { all, ..terminal::view(Some(dir)) };
        anechoic_report::cluster(cluster, &view).write(&view, &mut out)?;
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
fn places(dir: &Path) -> Result<Vec<PathBuf>, Problem> {
    if dir.join("run.json").exists() {
        return Ok(vec![dir.to_owned()]);
    }
    let none = || Problem::no_recording_below(dir);
    let mut places = vec![];
    for entry in fs::read_dir(dir).map_err(|_| none())? {
        let entry = entry.map_err(|source| Problem::unreadable(dir, &source))?;
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
