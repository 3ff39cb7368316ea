//! The slowdown of a bulk-synchronous job, measured and predicted.

use super::described::{Grouping, Methods};
use super::row::{Print, Row};
use super::{Input, Model};
use crate::bsp::words;
use anechoic_analyze::injection::Verdict;
use anechoic_predict::bsp::{Bsp, bsp};
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::BSP];

/// The row of the result.
pub static BSP: Row<Bsp> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    compute: Some(|input: &Input<'_>| -> Result<Bsp, Problem> { bsp(input.recordings) }),
    verdict,
    headline: |found| vec![words::headline(found)],
    model: Some(Model {
        about: "Slowdown of a measured job, beside the slowdown that its detours predict",
        details: DETAILS,
        examples: EXAMPLES,
        ..Model::NEW
    }),
    print: Some(Print::with(crate::bsp)),
    ..Row::new(methods::BSP, "what noise cost the job", Grouping::Job)
};

const DETAILS: &str = "Reads recordings of `anechoic measure bsp`, one for each host of the job. For each grain and kind \
of synchronisation it prints the measured and the predicted slowdown, their ratio, and what explains the difference.";

const EXAMPLES: &str = "Examples:
  anechoic measure bsp -o job && anechoic predict bsp job
  anechoic predict bsp job --json | jq '.cells[] | {grain_ns, meeting, ratio}'

Exits with 3 if nothing could be compared.";

fn verdict(found: &Bsp, _: &[&Recording]) -> Verdict {
    let predicted = found.cells.iter().any(|cell| cell.predicted.is_some());
    let left_out = found.cells.iter().any(|cell| cell.left_out > 0);
    match (predicted, left_out || !found.notes.is_empty()) {
        (false, _) => Verdict::Nothing,
        (true, true) => Verdict::Warning,
        (true, false) => Verdict::Good,
    }
}
