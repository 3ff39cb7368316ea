//! What is particular to a series: one column that holds a JSON object, so that a method brings
//! parameters of its own without a column of its own.

use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::field::{Field, Kind};
use crate::parallel::Meeting;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of one series, by name. One that does not apply is absent; readers ignore names that they do not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// Iterations of the kernel in one sample; with fixed time, in one unit of work.
    pub iterations: u64,
    /// What that many iterations took undisturbed when they were calibrated.
    pub calibrated_ticks: u64,
    /// Instructions of the kernel's kind in one iteration.
    pub instructions: u32,
    /// What a million iterations took undisturbed at the calibration, without looks at the counter; 0: not known.
    pub megaiteration_ticks: u64,
    /// What a million additions took on such a CPU just before the start, each waiting for the one before:
    /// one core cycle each.
    pub megacycle_ticks: u64,
    /// Copies of the work that ran on its CPU at the same time, this one included.
    pub copies: u32,
    /// Iterations between two looks at the counter, where gaps inside samples were watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_iterations: Option<u64>,
    /// What such a step takes undisturbed: taken off every gap in place of `shortest_gap_ticks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ticks: Option<u64>,
    /// A step longer than this is a detour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_ticks: Option<u64>,
    /// Largest relative movement of the accumulated mean, in millionths, at which the series may end early
    /// (FAME's MAIV); absent where all samples were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maiv_ppm: Option<u32>,
    /// Which of `injections` of `run.json` was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<u32>,
    /// The rank of the parallel job that took its samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// How ranks met between two samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meeting: Option<Meeting>,
    /// Bytes of memory that the kernel works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
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

/// Reads the columns that the parameters of a series had before they were one.
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
