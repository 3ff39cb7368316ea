//! The input of every reading command: one recording, several, or directories of recordings.

use crate::exit;
use crate::files::Scratch;
use crate::stop;
use crate::terminal;
use anechoic_analyze::cluster::{Cluster, FindingKind, HOST_DIR, host_name};
use anechoic_attribute::program::{complete, lacks_detours};
use anechoic_recording::{Problem, ProblemKind, Recording, find, read_file};
use anechoic_report::results::{LeftOut, Methods};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs, mem};

/// The file with the merged result, in the directory of a data set.
pub const CLUSTER: &str = "cluster.json";
/// More bytes than that file has.
const MOST_BYTES: u64 = 1 << 30;

#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Recordings, or directories of recordings [default: the newest recording in this directory]
    #[arg(value_name = "RECORDINGS")]
    recordings: Vec<PathBuf>,
}

impl InputArgs {
    /// Opens the recordings that the user named, or else the newest one here.
    ///
    /// # Errors
    /// Fails like [`Inputs::open`] and [`newest`].
    pub fn open(&self) -> Result<Inputs, Problem> {
        match &self.recordings[..] {
            [] => Inputs::open(&[newest(Methods::All)?]),
            named => Inputs::open(named),
        }
    }

    /// Opens the newest of the recordings that the user named, or of those here.
    ///
    /// # Errors
    /// Fails like [`Inputs::open`], or if the newest one cannot be opened.
    pub(crate) fn open_newest(&self) -> Result<Inputs, Problem> {
        let here = [PathBuf::from(".")];
        let named = if self.recordings.is_empty() { &here[..] } else { &self.recordings };
        let mut inputs = Inputs::open(named)?;
        inputs.leave_out_others();
        inputs.keep_newest()?;
        Ok(inputs)
    }
}

/// The recordings that the user named.
#[derive(Debug)]
pub struct Inputs {
    /// The recordings in the order in which they were named; those of one directory sorted by path.
    pub recordings: Vec<Recording>,
    /// What could not be opened, and why: damaged recordings, and host directories without a recording.
    pub unread: Vec<(PathBuf, Problem)>,
    /// Number of directories that may hold recordings or anything else, and cannot be read.
    pub denied: usize,
    /// The one directory or recording that was named, if it was only one.
    place: Option<PathBuf>,
}

impl Inputs {
    /// Opens the recordings at these paths.
    ///
    /// # Errors
    /// Fails if one of the paths has nothing, or if nothing at all could be opened.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Problem> {
        let mut inputs = Self { recordings: vec![], unread: vec![], denied: 0, place: None };
        for path in paths {
            let before = inputs.recordings.len() + inputs.unread.len();
            for place in places(path)? {
                match find(&place) {
                    Ok(recordings) => inputs.add(recordings),
                    Err(problem) if problem.kind == ProblemKind::NoInput && !is_host(&place) => {}
                    Err(problem) => inputs.unread.push((place, problem)),
                }
            }
            if inputs.recordings.len() + inputs.unread.len() == before {
                return Err(Problem::no_recording_below(path));
            }
        }
        if inputs.recordings.is_empty() && !inputs.unread.is_empty() {
            return Err(inputs.unread.remove(0).1);
        }
        inputs.place = Some(paths).filter(|paths| paths.len() == 1).map(|paths| paths[0].clone());
        Ok(inputs)
    }

    /// Adds recordings. One of a program that was killed gets the result up to its last save first, and one that still goes on is
    /// refused.
    fn add(&mut self, recordings: Vec<Recording>) {
        for recording in recordings {
            if !lacks_detours(&recording) {
                self.recordings.push(recording);
                continue;
            }
            let completed = complete(&recording).and_then(|recording| {
                let derived = recording.cut_off() && recording.run().program.is_some();
                if derived && matches!(recording.attribution(), Ok(None)) {
                    anechoic_attribute::attribute(&recording)?;
                }
                Recording::open(recording.dir())
            });
            match completed {
                Ok(recording) => self.recordings.push(recording),
                Err(problem) => self.unread.push((recording.dir().to_owned(), problem)),
            }
        }
    }

    /// Opens the recordings in a directory, without directories in it that may hold anything else.
    ///
    /// # Errors
    /// Fails if there is no recording.
    pub fn below(dir: &Path) -> Result<Self, Problem> {
        let mut inputs = Self::open(&[dir.to_owned()])?;
        inputs.leave_out_others();
        Ok(inputs)
    }

    /// Leaves out directories that may hold anything else than recordings.
    fn leave_out_others(&mut self) {
        let found = self.unread.len();
        self.unread.retain(|(place, _)| place.join("run.json").exists() || is_host(place));
        self.denied = found - self.unread.len();
    }

    /// Keeps the recording that was started last, with the other repetitions or hosts of its run.
    ///
    /// # Errors
    /// Fails if one that cannot be opened may be newer, because its directory was changed after that start.
    fn keep_newest(&mut self) -> Result<(), Problem> {
        let newest = self.recordings.iter().max_by_key(|recording| &recording.run().start_utc);
        let Some(newest) = newest else { return Ok(()) };
        let start = newest.run().start_utc.parse::<jiff::Timestamp>().map(SystemTime::from);
        let (dir, whole) = (newest.dir().to_owned(), whole_run(newest).map(Path::to_owned));
        let (hosts, beside) = (is_host(&dir), |place: &Path| place.parent() == whole.as_deref());
        self.recordings.retain(|recording| {
            let is_part = match hosts {
                true => is_host(recording.dir()),
                false => whole.is_some() && recording.run().repetition.is_some(),
            };
            recording.dir() == dir || is_part && beside(recording.dir())
        });
        let is_part = |place: &Path| hosts && is_host(place) && beside(place);
        let (parts, others): (Vec<_>, Vec<_>) =
            mem::take(&mut self.unread).into_iter().partition(|(place, _)| is_part(place));
        self.unread = parts;
        let newer = others.into_iter().find(|(place, _)| may_be_later(place, start.as_ref().ok()));
        newer.map_or(Ok(()), |(_, problem)| Err(problem))
    }

    /// Copies all recordings to a directory that is removed later, without what names their owner.
    ///
    /// # Errors
    /// Fails if a recording is damaged or a copy cannot be written.
    pub(crate) fn redacted(&self) -> Result<(Scratch, Self), Problem> {
        stop::end_at_once()?;
        let scratch = Scratch::for_recording()?;
        // The report may show this path, and that of the current directory has names of its own.
        let here = env::current_dir()?;
        let below = scratch.path().strip_prefix(here).unwrap_or(scratch.path()).to_owned();
        let hosts = self.host_aliases();
        for (number, recording) in (1..).zip(&self.recordings) {
            let host = &hosts[&host_name(recording)];
            let dir = format!("{HOST_DIR}{host}/recording-{number:03}");
            recording.redact_to(&below.join(dir), host, &hosts)?;
        }
        let mut copies = Self::open(&[below])?;
        let unread = (self.recordings.len() + 1..).zip(&self.unread);
        let unread = unread.map(|(number, (place, problem))| {
            let alias = named_host(place).map(|name| format!("{HOST_DIR}{}", hosts[&name]));
            let place = alias.unwrap_or_else(|| format!("recording-{number:03}"));
            let why = match problem.kind {
                ProblemKind::NoInput => "there is no recording",
                _ => "the recording is damaged or cannot be read",
            };
            (place.into(), problem.kind.problem(why, ""))
        });
        copies.unread = unread.collect();
        Ok((scratch, copies))
    }

    /// Returns for each of these copies the index of the recording that it was made of: its directory has the number.
    pub(crate) fn originals(&self) -> Vec<usize> {
        let indices = self.recordings.iter().map(index_in_name);
        indices.map(|index| index.unwrap_or(usize::MAX)).collect()
    }

    /// Returns what stands for the names of all hosts: of those with a recording, then of the others. The order as texts
    /// is that of the numbers.
    fn host_aliases(&self) -> BTreeMap<String, String> {
        let unread = self.unread.iter().filter_map(|(place, _)| named_host(place));
        let mut names: Vec<String> = vec![];
        for name in self.recordings.iter().map(host_name).chain(unread) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let width = names.len().to_string().len();
        let alias = |(number, name)| (name, format!("host-{number:0width$}"));
        let mut aliases: BTreeMap<String, String> = (1_u32..).zip(names).map(alias).collect();
        for recording in &self.recordings {
            let (alias, run) = (aliases[&host_name(recording)].clone(), recording.run());
            let job = run.parallel.iter().map(|job| &job.host);
            for name in job.chain([&run.machine.host]) {
                aliases.entry(name.clone()).or_insert_with(|| alias.clone());
            }
        }
        aliases
    }

    /// Returns whether there are, or should be, recordings of more than one host.
    pub(crate) fn has_many_hosts(&self) -> bool {
        let hosts: BTreeSet<String> = self.recordings.iter().map(host_name).collect();
        let unread = self.unread.iter().any(|(place, _)| is_host(place));
        hosts.len() > 1 || unread && !hosts.is_empty()
    }

    /// Returns the directory that holds all of them, if the user named one directory.
    pub fn place(&self) -> Option<&Path> {
        self.place.as_deref()
    }

    /// Returns what could not be opened, for a result of many hosts.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let why = |(place, problem): &(PathBuf, Problem)| (place.clone(), problem.to_string());
        self.unread.iter().map(why).map(|(place, why)| LeftOut { place, why }).collect()
    }

    /// Reports what could not be opened and returns the exit code of that.
    pub(crate) fn report_unread(&self) -> u8 {
        self.unread.iter().map(|(_, problem)| exit::print_error(problem)).max().unwrap_or(0)
    }

    /// Returns the result that `anechoic merge` wrote, if it belongs to the recordings that are here now.
    pub fn merged(&self) -> Option<Cluster> {
        let file = read_file(&self.place.as_ref()?.join(CLUSTER), MOST_BYTES).ok()?;
        let merged: Cluster = serde_json::from_slice(&file).ok()?;
        let mut here = BTreeMap::<String, u64>::new();
        self.recordings
            .iter()
            .for_each(|recording| *here.entry(host_name(recording)).or_default() += 1);
        let there = merged.hosts.iter().map(|host| (host.host.clone(), host.recordings)).collect();
        let runs = || self.recordings.iter().map(Recording::run);
        let start = runs().map(|run| &run.start_utc).min();
        let ends: Option<Vec<&String>> = runs().map(|run| run.end_utc.as_ref()).collect();
        let end = ends.and_then(|ends| ends.into_iter().max());
        let left_out =
            merged.findings.iter().filter(|finding| finding.kind == FindingKind::LeftOut).count();
        let same = here == there
            && start == Some(&merged.start_utc)
            && end == merged.end_utc.as_ref()
            && left_out == self.unread.len();
        same.then_some(merged)
    }
}

/// Returns the index from 0 that the number at the end of the name of a recording's directory stands for.
fn index_in_name(recording: &Recording) -> Option<usize> {
    let number = recording.dir().file_name()?.to_str()?.rsplit('-').next()?;
    number.parse::<usize>().ok()?.checked_sub(1)
}

/// Finds the recording of these methods in the working directory that was started last, and names it on stderr. Of
/// repeated runs and of the hosts of a job it is the directory that holds all.
///
/// # Errors
/// Fails if there is none, or none that can be read.
pub(crate) fn newest(methods: Methods) -> Result<PathBuf, Problem> {
    newest_or(methods, "measure one: `anechoic run --help`")
}

/// Returns the same; if there is none, the error advises to name one or to do this instead.
///
/// # Errors
/// Likewise.
pub(crate) fn newest_or(methods: Methods, instead: &str) -> Result<PathBuf, Problem> {
    let here = match Inputs::below(Path::new(".")) {
        Ok(inputs) => {
            // A damaged one may be the newest; it is named, so that nobody takes another one for it.
            inputs.report_unread();
            inputs.recordings
        }
        Err(problem) if problem.kind == ProblemKind::NoInput => vec![],
        Err(problem) => return Err(problem),
    };
    let fitting = here.iter().filter(|recording| methods.include(&recording.run().method));
    let newest = fitting.max_by_key(|recording| &recording.run().start_utc).ok_or_else(|| {
        let which = match methods {
            Methods::Only(methods) => format!(" of `{}`", methods.join("` or `")),
            _ => String::new(),
        };
        let why = format!("no recording is named, and there is none{which} in this directory");
        ProblemKind::NoInput.problem(why, format!("name one, or {instead}"))
    })?;
    let dir = whole_run(newest).unwrap_or(newest.dir());
    let dir = dir.strip_prefix(".").ok().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(dir);
    terminal::print_note(format_args!(
        "anechoic: reading {}, the newest recording here",
        anechoic_report::shown(dir)
    ));
    Ok(dir.to_owned())
}

/// Returns whether a directory was changed after this time, or if that is not known.
fn may_be_later(place: &Path, time: Option<&SystemTime>) -> bool {
    let changed = fs::metadata(place).and_then(|place| place.modified());
    changed.map_or(true, |changed| time.is_none_or(|time| changed > *time))
}

/// Returns the directory of all repetitions of its run, or of all hosts; absent if it is the whole run.
fn whole_run(recording: &Recording) -> Option<&Path> {
    let is_part = recording.run().repetition.is_some() || is_host(recording.dir());
    recording.dir().parent().filter(|whole| is_part && !whole.as_os_str().is_empty())
}

/// Returns the directory itself if it is a recording, or else the recordings in it, by name.
fn places(dir: &Path) -> Result<Vec<PathBuf>, Problem> {
    if dir.join("run.json").exists() {
        return Ok(vec![dir.to_owned()]);
    }
    let none = || Problem::no_recording_below(dir);
    let mut places = vec![];
    let entries = fs::read_dir(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => none(),
        _ => Problem::unreadable(dir, &error),
    });
    for entry in entries? {
        let entry = entry.map_err(|source| Problem::unreadable(dir, &source))?;
        if entry.path().is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            places.push(entry.path());
        }
    }
    places.sort();
    if places.is_empty() { Err(none()) } else { Ok(places) }
}

/// Returns whether the directory's name is that of a host.
fn is_host(place: &Path) -> bool {
    named_host(place).is_some()
}

/// Returns the host after which a directory is named.
fn named_host(place: &Path) -> Option<String> {
    Some(place.file_name()?.to_string_lossy().strip_prefix(HOST_DIR)?.to_owned())
}
