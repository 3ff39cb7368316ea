//! The parameters of a series: one column with a JSON object, so that a method can add parameters without
//! adding columns.

use crate::cell::Cell;
use crate::columns::{Decoder, Encoder};
use crate::field::{Field, Kind};
use crate::parallel::Meeting;
use crate::probes::Probe;
use crate::switch::Ring;
use crate::wakeup::Sleep;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of a series, by name. Those that do not apply are absent; readers ignore names that they do
/// not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// Number of kernel iterations in one sample; with fixed time, in one unit of work.
    pub iterations: u64,
    /// Duration of these iterations without noise, as calibrated.
    pub calibrated_ticks: u64,
    /// Instructions of the kernel's kind in one iteration.
    pub instructions: u32,
    /// Calibrated duration of a million iterations without noise and without counter reads; 0 if unknown.
    pub megaiteration_ticks: u64,
    /// Duration of a million chained additions on such a CPU just before the start: one core cycle each.
    pub megacycle_ticks: u64,
    /// Number of copies of the work on its CPU at the same time, including this one.
    pub copies: u32,
    /// Iterations between two counter reads, if gaps inside samples were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_iterations: Option<u64>,
    /// Duration of such a step without noise: subtracted from every gap instead of `shortest_gap_ticks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ticks: Option<u64>,
    /// A step longer than this is a detour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_ticks: Option<u64>,
    /// The series may end early once its accumulated mean changes by less than this, in millionths (FAME's
    /// MAIV); absent if all samples were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maiv_ppm: Option<u32>,
    /// Index of the active injection in `injections` of `run.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<u32>,
    /// The rank of the parallel job that took the samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// How the ranks met between two samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meeting: Option<Meeting>,
    /// Size of the memory that the kernel works on, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
    /// Size of the smallest pages of that memory, as the kernel lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// The NUMA node of that memory, if all of it is on one, as the kernel reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_node: Option<u32>,
    /// The experiment of a method that has several: a name of the memory experiments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Size of the memory that another kernel works on between two samples, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_bytes: Option<u64>,
    /// The series ends after this time, before all requested samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_ticks: Option<u64>,
    /// The ring in which a token goes around once in each sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<Ring>,
    /// The file of the user's own function whose work this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<Library>,
    /// How the thread slept before each sample, if the samples are wake-ups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
    /// The probes of the pace, if the samples are theirs: one after the other, then from the first again. The count of such a
    /// sample is the middle of its steps, in ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Vec<Probe>>,
    /// Whether kernel events were switched off during the series, on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub events_off: bool,
}

/// The file of a user's own function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Library {
    /// Name of the file, without its directory.
    pub file: String,
    /// SHA-256 checksum of the file, in hexadecimal digits.
    pub sha256: String,
}

impl Field for Parameters {
    const KIND: Kind = Kind::Text;

    fn encode<'r>(
        values: impl Iterator<Item = &'r Self> + Clone,
        out: &mut Encoder,
    ) -> Result<(), ParquetError> {
        let texts: Result<Vec<String>, _> = values.map(serde_json::to_string).collect();
        let texts = texts.map_err(|error| ParquetError::External(error.into()))?;
        out.required::<ByteArrayType>(texts.iter().map(|text| ByteArray::from(text.as_str())))
    }

    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        let text = serde_json::to_string(self).unwrap_or_default(); // numbers and texts always have one
        each(Cell::Text(&text));
    }

    fn decode(
        input: &mut Decoder,
        names: &[&str],
    ) -> Result<impl Iterator<Item = Result<Self, String>> + use<>, String> {
        let values = match input.has(names[0]) {
            true => String::decode(input, names)?.map(|text| from_json(&text?)).collect(),
            false => from_columns(input)?,
        };
        Ok(values.into_iter())
    }
}

fn from_json(text: &str) -> Result<Parameters, String> {
    serde_json::from_str(text).map_err(|error| format!("parameters of a series: {error}"))
}

/// Reads the separate columns in which older versions stored the parameters.
fn from_columns(input: &mut Decoder) -> Result<Vec<Result<Parameters, String>>, String> {
    macro_rules! columns {
        ($($field:ident: $type:ty),* $(,)?) => {{
            $(let mut $field = <$type as Field>::decode(input, &[stringify!($field)])?;)*
            let mut row = || Ok(Parameters {
                $($field: $field.next().ok_or("a column is too short")??,)*
                ..Parameters::default()
            });
            (0..input.rows()).map(|_| row()).collect()
        }};
    }
    Ok(columns! {
        iterations: u64,
        calibrated_ticks: u64,
        instructions: u32,
        megaiteration_ticks: u64,
        megacycle_ticks: u64,
        copies: u32,
        step_iterations: Option<u64>,
        step_ticks: Option<u64>,
        threshold_ticks: Option<u64>,
        maiv_ppm: Option<u32>,
        injection: Option<u32>,
        rank: Option<u32>,
        meeting: Option<Meeting>,
    })
}
