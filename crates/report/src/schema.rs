//! JSON Schemas of what `--json` prints.

use anechoic_analyze::cluster::Cluster;
use anechoic_analyze::{
    Interference, Measured, Repeat, SelfTestResult, Sources, Summary, Verification,
};
use anechoic_predict::bsp::Bsp;
use anechoic_predict::phases::PhaseModel;
use anechoic_predict::ticks::Model;
use anechoic_recording::check::Check;
use schemars::{JsonSchema, schema_for};

/// File name under `schema/` and text of each schema.
#[must_use]
pub fn schemas() -> Vec<(&'static str, String)> {
    vec![
        ("bsp.schema.json", schema::<Bsp>()),
        ("check.schema.json", schema::<Check>()),
        ("cluster.schema.json", schema::<Cluster>()),
        ("interference.schema.json", schema::<Interference>()),
        ("measured.schema.json", schema::<Measured>()),
        ("phases.schema.json", schema::<PhaseModel>()),
        ("repeat.schema.json", schema::<Repeat>()),
        ("self-test.schema.json", schema::<SelfTestResult>()),
        ("sources.schema.json", schema::<Sources>()),
        ("summary.schema.json", schema::<Summary>()),
        ("ticks.schema.json", schema::<Model>()),
        ("verification.schema.json", schema::<Verification>()),
    ]
}

fn schema<T: JsonSchema>() -> String {
    let text = serde_json::to_string_pretty(&schema_for!(T)).expect("a schema is plain JSON");
    text + "\n"
}
