//! Recordings, file by file, and what all results make of them.

use super::{Reader, tables};
use anechoic_analyze::cluster::{ClusterBuilder, HostSummary};
use anechoic_recording::{
    Activity, Counter, Detour, KernelEvent, Loss, Name, Recording, Row, Sample, Series, methods,
};
use anechoic_report::results::{Beside, Findings, Input, for_report, for_summary, needed};
use anechoic_report::{HtmlPart, HtmlReport, View, html, html_budget};
use std::collections::BTreeMap;
use std::fs;
use std::io::sink;
use std::path::{Path, PathBuf};

/// A table of a recording: its name, and whether all of it can be read.
type TableCheck = (&'static str, fn(&Recording) -> bool);

/// The tables of a recording; the first byte of an input for [`read_part`] is the number of one.
const TABLES: [TableCheck; 8] = [
    ("detours", is_whole::<Detour>),
    ("events", is_whole::<KernelEvent>),
    ("losses", is_whole::<Loss>),
    ("counters", is_whole::<Counter>),
    ("names", is_whole::<Name>),
    ("samples", is_whole::<Sample>),
    ("series", is_whole::<Series>),
    ("activities", is_whole::<Activity>),
];

fn is_whole<R: Row>(recording: &Recording) -> bool {
    recording.rows::<R>().all(|rows| rows.is_ok())
}

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/format-{version}"))
}

/// A recording without checksums in a directory of its own, of which one file is replaced.
pub(super) struct Changed {
    dir: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Changed {
    pub(super) fn new(dir: &Path) -> Self {
        let (from, dir) = (fixture(2), dir.join("recording"));
        let names = TABLES.iter().map(|(table, _)| part(table).into());
        let names: Vec<PathBuf> =
            names.chain(["run.json".into(), "attribution.json".into()]).collect();
        let read = |name: PathBuf| (dir.join(&name), fs::read(from.join(name)).expect("a file"));
        Changed { files: names.into_iter().map(read).collect(), dir }
    }

    /// Writes the recording with another content of a file.
    pub(super) fn with(&self, name: &str, content: &[u8]) -> &Path {
        let _ = fs::remove_dir_all(&self.dir);
        let changed = self.dir.join(name);
        let changed = [(changed, content.to_vec())];
        for (file, content) in self.files.iter().chain(&changed) {
            fs::create_dir_all(file.parent().expect("a directory")).expect("directories");
            fs::write(file, content).expect("there is space");
        }
        &self.dir
    }
}

fn part(table: &str) -> String {
    format!("{table}/part-00000.parquet")
}

/// The part of the table with this number.
pub(super) fn part_of(number: u8) -> String {
    part(TABLES[usize::from(number) % TABLES.len()].0)
}

/// Attributes a recording and computes and writes every result of it, those of several hosts and a redacted copy too.
fn read_all(dir: &Path) {
    let Ok(recording) = Recording::open(dir) else { return };
    let _ = anechoic_attribute::attribute(&recording);
    let Ok(recording) = Recording::open(dir) else { return };
    let (all, page) = ([&recording], Beside::with_room(html_budget(1)));
    let mut found = Findings::default();
    for row in for_report(&recording, false) {
        found_of(
            row.compute(&Input { page: Some(&page), ..Input::from_recordings(&all) }),
            &mut found,
        );
    }
    page.take().into_iter().for_each(|beside| found.add(beside));
    for job in for_summary(&all, true) {
        let mut before = Findings::default();
        for row in needed(job.row) {
            found_of(row.compute(&Input::from_recordings(&all)), &mut before);
        }
        found_of(
            job.row.compute(&Input { before: &[&before], ..Input::from_recordings(&all) }),
            &mut Findings::default(),
        );
    }
    let run = Some(recording.run().clone());
    let part = HtmlPart { name: "changed".into(), run, found, not_available: vec![] };
    let report = HtmlReport { recordings: vec![part], ..HtmlReport::default() };
    html(&report, &mut sink()).expect("it can be written");
    let copy = dir.with_extension("redacted");
    let _ = fs::remove_dir_all(&copy);
    let _ = recording.redact_to(&copy, "host-1", &BTreeMap::new());
}

/// Writes a result as text and JSON, and keeps it.
fn found_of(
    result: Result<anechoic_report::results::Found, anechoic_recording::Problem>,
    all: &mut Findings,
) {
    let Ok(result) = result else { return };
    result.json(&mut sink()).expect("it can be written");
    let view = View { all: true, ..View::default() };
    result.screen(&view).write(&view, &mut sink()).expect("it can be written");
    all.add(result);
}

/// Descriptions of runs of all methods.
pub fn runs() -> Vec<Vec<u8>> {
    let text = |version| fs::read_to_string(fixture(version).join("run.json")).expect("a file");
    let (old, new) = (text(1), text(2));
    let names = ["fwq", "ftq", "tick", "loops", "bsp", "serial", "interference", "memory"];
    let method =
        |name: &&str| new.replace(&format!("\"{}\"", methods::DETOURS), &format!("\"{name}\""));
    names.iter().map(method).chain([old, new.clone()]).map(String::into_bytes).collect()
}

pub fn read_run(dir: &Path) -> Reader {
    let changed = Changed::new(dir);
    Box::new(move |input| read_all(changed.with("run.json", input)))
}

pub fn attributions() -> Vec<Vec<u8>> {
    vec![fs::read(fixture(2).join("attribution.json")).expect("a file")]
}

pub fn read_attribution(dir: &Path) -> Reader {
    let changed = Changed::new(dir);
    Box::new(move |input| read_all(changed.with("attribution.json", input)))
}

pub fn checksums() -> Vec<Vec<u8>> {
    vec![fs::read(fixture(2).join("SHA256SUMS")).expect("a file")]
}

pub fn read_checksums(dir: &Path) -> Reader {
    let changed = Changed::new(dir);
    Box::new(move |input| {
        let Ok(recording) = Recording::open(changed.with("SHA256SUMS", input)) else { return };
        let _ = recording.verify();
        for (_, whole) in TABLES {
            let _ = whole(&recording);
        }
    })
}

/// All parts, each also without compression, where every change reaches a value.
pub fn parts() -> Vec<Vec<u8>> {
    let mut all = vec![];
    for (number, (table, _)) in TABLES.iter().enumerate() {
        let bytes = fs::read(fixture(2).join(part(table))).expect("a part");
        for content in [tables::uncompressed(&bytes), bytes] {
            all.push([vec![number as u8], content].concat());
        }
    }
    all
}

pub fn read_part(dir: &Path) -> Reader {
    let changed = Changed::new(dir);
    Box::new(move |input| {
        let Some((&number, content)) = input.split_first() else { return };
        let (_, whole) = TABLES[usize::from(number) % TABLES.len()];
        let dir = changed.with(&part_of(number), content);
        let recording = Recording::open(dir).expect("its description is unchanged");
        if whole(&recording) {
            read_all(dir);
        }
    })
}

/// Tables with hostile values and row groups.
pub fn recipes() -> Vec<Vec<u8>> {
    (0..TABLES.len() as u8).map(|number| vec![number, number % tables::LAYOUTS, 1]).collect()
}

/// Returns the path and the content of the part that a recipe makes of that of the recording.
pub(super) fn cooked(recipe: &[u8]) -> (String, Vec<u8>) {
    let part = part_of(recipe.first().copied().unwrap_or(0));
    let bytes = fs::read(fixture(2).join(&part)).expect("a part");
    (part, tables::cooked(&bytes, recipe.get(1..).unwrap_or_default()))
}

pub fn read_recipe(dir: &Path) -> Reader {
    let changed = Changed::new(dir);
    Box::new(move |recipe| {
        let (part, content) = cooked(recipe);
        let dir = changed.with(&part, &content);
        let recording = Recording::open(dir).expect("its description is unchanged");
        if TABLES.iter().all(|(_, whole)| whole(&recording)) {
            read_all(dir);
        }
    })
}

pub fn host_summaries() -> Vec<Vec<u8>> {
    let summary = |version| {
        let recording = Recording::open(&fixture(version)).expect("a recording");
        serde_json::to_vec(&HostSummary::from_recording(&recording).expect("its summary"))
            .expect("plain data")
    };
    vec![summary(1), summary(2)]
}

pub fn read_host_summary(_: &Path) -> Reader {
    let known = host_summaries().swap_remove(0);
    Box::new(move |input| {
        let mut all = ClusterBuilder::new();
        for summary in [input, &known] {
            if let Ok(summary) = serde_json::from_slice(summary) {
                let _ = all.add(summary);
            }
        }
        let Ok(cluster) = all.finish() else { return };
        anechoic_report::json(&cluster, &mut sink()).expect("numbers");
        let _ = anechoic_report::cluster(&cluster, &View::default()).to_text(&View::default());
    })
}
