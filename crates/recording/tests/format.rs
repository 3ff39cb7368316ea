//! Recordings of every released format stay readable, row by row.
//!
//! `cargo test --workspace --test recording regenerate -- --ignored` writes the fixture of the present
//! format again. Fixtures of released formats are never regenerated.

use anechoic_lab::sample;
use anechoic_recording::run::{FORMAT_VERSION, RunState};
use anechoic_recording::{
    Activity, EVENTS, EachTable, Parameters, Recording, Row, each_table, find,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The released versions; each has its fixture since its release.
const RELEASED: [u32; 2] = [1, 2];

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/format-{version}"))
}

/// Formats every row of every table, one per line, without what is absent: a parameter that a later version adds changes
/// nothing.
struct Listing<'a>(&'a Recording, String);

impl EachTable for Listing<'_> {
    type Error = Infallible;

    fn table<R: Row>(&mut self) -> Result<(), Infallible> {
        for row in self.0.rows::<R>().flat_map(Result::unwrap) {
            let text = format!("{row:?}");
            let is_absent = |field: &&str| field.ends_with(": None") && !field.contains('{');
            let fields: Vec<&str> = text.split(", ").filter(|field| !is_absent(field)).collect();
            writeln!(self.1, "{}", fields.join(", ")).unwrap();
        }
        Ok(())
    }
}

fn listing(recording: &Recording) -> String {
    let mut listing = Listing(recording, String::new());
    let Ok(()) = each_table(&mut listing);
    listing.1
}

#[test]
fn every_format_stays_readable() {
    for version in RELEASED {
        let recording = Recording::open(&fixture(version)).unwrap();
        recording.verify().unwrap();
        let run = recording.run();
        assert_eq!((run.format_version, run.start_ticks), (version, sample::START));
        assert_eq!((&run.state, run.cpus.len()), (&RunState::Complete, 2));
        assert!(recording.attribution().unwrap().is_some());
        let expected = fs::read_to_string(fixture(version).with_extension("txt")).unwrap();
        assert_eq!(listing(&recording), expected, "format {version}");
    }
    assert_eq!(find(&fixture(1).join("..")).unwrap().len(), RELEASED.len());
}

/// What the documents show of the examples, readers try on them.
#[test]
fn the_activities_of_the_examples_have_the_columns_of_today() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    for example in ["before", "after", "bsp", "ftq"] {
        let part = examples.join(example).join("activities/part-00000.parquet");
        let file = SerializedFileReader::new(fs::File::open(part).unwrap()).unwrap();
        let fields = file.metadata().file_metadata().schema_descr().root_schema().get_fields();
        let written: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        let columns: Vec<&str> = Activity::TABLE.columns().map(|column| column.name).collect();
        assert_eq!(written, columns, "{example}");
    }
}

/// Compares the columns of a table with those that its section of the reference lists.
struct Reference(String);

impl EachTable for Reference {
    type Error = Infallible;

    fn table<R: Row>(&mut self) -> Result<(), Infallible> {
        let table = R::TABLE;
        let heading = format!("{}\n", table.name);
        let section = self.0.split("\n### ").find(|section| section.starts_with(&heading));
        let section = section.unwrap_or_else(|| panic!("docs/format.md lacks {}", table.name));
        let section = section.split("\n## ").next().unwrap();
        let section = section.split("\n| parameter |").next().unwrap();
        let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        let listed =
            cells.flat_map(|cell| cell.split('`').step_by(2)).filter(|name| !name.is_empty());
        let columns = table.columns().map(|column| column.name);
        assert_eq!(listed.collect::<Vec<_>>(), columns.collect::<Vec<_>>(), "{}", table.name);
        let part = format!("DIR/{}/part-00000.parquet", table.name);
        let line = self.0.lines().find(|line| line.starts_with(&part)).expect("the list has it");
        assert_eq!(line.contains(" measured"), table.measured, "{line}");
        Ok(())
    }
}

#[test]
fn the_reference_lists_every_column_and_event() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    let mut reference = Reference(fs::read_to_string(reference).unwrap());
    let Ok(()) = each_table(&mut reference);
    let reference = reference.0;
    for spec in EVENTS {
        let (number, args) = (spec.kind as u16, spec.args.join(", "));
        let row = format!("| {number} | `{}:{}` | {args} |\n", spec.system, spec.name);
        assert!(reference.contains(&row), "docs/format.md lacks: {row}");
    }
}

#[test]
fn the_reference_lists_every_parameter_of_a_series() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    let reference = fs::read_to_string(reference).unwrap();
    let table = reference.split("\n| parameter |").nth(1).unwrap().split("\n\n").next().unwrap();
    let listed: BTreeSet<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" ").replace('`', ""))
        .collect();
    let schema = schemars::schema_for!(Parameters).to_value();
    let required = schema["required"].as_array().unwrap();
    let known = schema["properties"].as_object().unwrap().iter().map(|(name, schema)| {
        let plain = match name.as_str() {
            "ring" | "library" | "sleep" => "object",
            "probes" => "list",
            _ if schema["type"] == "boolean" => "bool",
            _ => "text",
        };
        let kind = schema["format"].as_str().unwrap_or(plain);
        let optional = if required.contains(&name.as_str().into()) { "" } else { "?" };
        format!("{name} {kind}{optional}")
    });
    assert_eq!(listed, known.collect());
}

#[test]
#[ignore = "writes the fixture of the present format"]
fn regenerate() {
    assert!(!RELEASED.contains(&FORMAT_VERSION), "a released fixture stays as it is");
    let dir = fixture(FORMAT_VERSION);
    let _ = fs::remove_dir_all(&dir);
    sample::write(&dir);
    let text = listing(&Recording::open(&dir).unwrap());
    fs::write(dir.with_extension("txt"), text).unwrap();
}
