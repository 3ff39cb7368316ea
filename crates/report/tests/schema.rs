//! The committed JSON Schemas are those of the types, and what `--json` prints keeps to them.

use crate::made;
use anechoic_analyze::{Sources, Summary, summarize_many};
use anechoic_report::results::{self, RESULTS};
use anechoic_report::{json, schemas};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema")
}

#[test]
fn committed_schemas_are_those_of_the_types() {
    let schemas = schemas();
    assert!(!schemas.is_empty(), "the feature `schemas` is off");
    for (name, generated) in schemas {
        let file = directory().join(&name);
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&file, &generated).expect("schema/ can be written");
        }
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == generated,
            "schema/{name} is not that of the types; run `UPDATE_SCHEMA=1 cargo test --workspace --test report schema`"
        );
    }
}

#[test]
fn every_result_has_a_name_of_its_own_and_all_that_it_needs() {
    for (at, row) in RESULTS.iter().enumerate() {
        let later = RESULTS[at + 1..].iter().all(|other| other.id() != row.id());
        assert!(later, "{} is there twice", row.id());
        for needed in row.needs() {
            assert!(results::find(needed).is_some(), "{} needs {needed}", row.id());
        }
    }
}

/// Prints a result and validates the text as its schema says.
pub(crate) fn validate(schema: &str, result: &impl Serialize) -> Result<Value, String> {
    let (_, text) = schemas().into_iter().find(|(name, _)| *name == schema).expect("it is listed");
    let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    let mut out = vec![];
    json(result, &mut out).expect("writing to memory");
    let printed: Value = serde_json::from_slice(&out).expect("JSON reads back");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let errors: Vec<String> = validator.iter_errors(&printed).map(|e| e.to_string()).collect();
    if errors.is_empty() { Ok(printed) } else { Err(errors.join("\n")) }
}

#[test]
fn results_keep_to_their_schemas() {
    let summary = made::summary();
    let bare = Summary {
        sources: None,
        longest: vec![],
        suspects: Some(vec![]),
        cpus: vec![],
        ..made::summary()
    };
    let repeat = summarize_many(&[made::summary()]).expect("one run");
    let sources = Sources {
        run: made::facts(),
        noise: 0.02,
        sources: made::breakdown(),
        losses: vec![made::loss("events", 3, 0.1)],
    };
    validate("summary.schema.json", &summary).expect("a usual summary");
    validate("summary.schema.json", &bare).expect("a summary without sources");
    validate("sources.schema.json", &sources).expect("sources");
    for measured in [made::samples::fwq(), made::samples::tick(), made::samples::loops()] {
        validate("measured.schema.json", &measured).expect("a recording of a method");
    }
    for found in [made::injected::kernel(), made::injected::trouble(), made::injected::untraced()] {
        validate("verification.schema.json", &found).expect("injected noise");
    }
    for found in [made::injected::self_tested(), made::injected::nothing_tested()] {
        validate("self-test.schema.json", &found).expect("a self-test");
    }
    validate("repeat.schema.json", &repeat).expect("one run, no deviation");
    assert!(validate("summary.schema.json", &sources).is_err(), "another result is refused");
}

#[test]
fn what_is_not_available_is_null() {
    let mut summary = made::summary();
    summary.total.interval = None;
    let printed = validate("summary.schema.json", &summary).expect("valid without an interval");
    assert_eq!(printed["total"]["interval"], Value::Null);
    assert_eq!(printed["tracer_cost"], Value::Null);
}

#[test]
fn json_reads_back_as_it_was() {
    let summary = made::summary();
    let mut out = vec![];
    json(&summary, &mut out).expect("writing to memory");
    let back: Summary = serde_json::from_slice(&out).expect("JSON reads back");
    assert_eq!(back, summary);
    assert_eq!(out.last(), Some(&b'\n'));
}
