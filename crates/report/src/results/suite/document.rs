//! The result of a suite as JSON: the paper, its published numbers, and what was measured beside them.

use super::{Set, Study};
use crate::published::{self, Published};
use crate::screen::document::Part;
use anechoic_analyze::injection::Verdict;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The experiments of a paper as they were measured.
#[derive(Serialize, JsonSchema)]
struct Document {
    /// What is measured.
    title: String,
    /// The paper.
    paper: Paper,
    /// What was found, beside what the paper found, in sentences.
    changed: Vec<String>,
    /// What is missing, damaged, not complete or left out, in sentences.
    lacking: Vec<String>,
    /// Why results of sets are doubtful, in sentences.
    doubts: Vec<String>,
    /// The sets that were measured, each a recording.
    sets: Vec<MeasuredSet>,
    /// The numbers that the paper published.
    published: Vec<Number>,
    /// Published beside measured values, in parts. The full numbers of a set are in the document of its recording.
    parts: Vec<Part>,
}

#[derive(Serialize, JsonSchema)]
struct Paper {
    /// Author and year.
    short: String,
    /// Authors, title, venue and year.
    full: String,
}

#[derive(Serialize, JsonSchema)]
struct MeasuredSet {
    /// The name of its directory.
    name: String,
    /// The identifier of its result, which is that of its schema.
    result: String,
    /// Whether the result is sound: `good`, `warning`, `failed`, or `nothing` if nothing usable was measured.
    verdict: String,
}

/// A published number.
#[derive(Serialize, JsonSchema)]
struct Number {
    /// Table, figure or section of the paper.
    place: String,
    /// Page of the paper, from 1.
    page: u32,
    /// The machine; may be empty.
    machine: String,
    /// The measured quantity.
    experiment: String,
    /// Row: a work kernel, or a description.
    row: String,
    /// Column: place or condition; may be empty.
    column: String,
    /// The value: `26.4`, `153 ± 24`, `0.5–1.5`, `up to 85`, `none`, or a name.
    value: String,
    /// Its unit; empty for counts and names.
    unit: String,
}

impl From<&Study> for Document {
    fn from(study: &Study) -> Self {
        let (short, full) = (study.paper.short.to_owned(), study.paper.full.to_owned());
        Self {
            title: study.title.to_owned(),
            paper: Paper { short, full },
            changed: study.changed.clone(),
            lacking: study.lacking.clone(),
            doubts: study.doubts.clone(),
            sets: study.sets.iter().map(MeasuredSet::from).collect(),
            published: published::from_paper(study.paper).iter().map(Number::from).collect(),
            parts: study.shown.document(),
        }
    }
}

impl From<&Set> for MeasuredSet {
    fn from(set: &Set) -> Self {
        let verdict = match set.verdict {
            Verdict::Good => "good",
            Verdict::Warning => "warning",
            Verdict::Failed => "failed",
            Verdict::Nothing => "nothing",
        };
        let (name, result) = (set.name.clone(), set.result.to_owned());
        Self { name, result, verdict: verdict.to_owned() }
    }
}

impl From<&Published> for Number {
    fn from(number: &Published) -> Self {
        Self {
            place: number.place.to_owned(),
            page: number.page,
            machine: number.machine.to_owned(),
            experiment: number.experiment.to_owned(),
            row: number.row.to_owned(),
            column: number.column.to_owned(),
            value: number.value.text(),
            unit: number.unit.to_owned(),
        }
    }
}

impl Serialize for Study {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::from(self).serialize(serializer)
    }
}

impl JsonSchema for Study {
    fn schema_name() -> Cow<'static, str> {
        "Study".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Document::json_schema(generator)
    }
}
