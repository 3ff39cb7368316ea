//! The samples of many hosts together.

use super::words::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods};
use crate::results::row::{Print, Row};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::sampled::{HostSamples, SampledHosts, join};
use anechoic_recording::{Problem, Recording, methods};

/// The row of what one host contributes.
pub(crate) static HOST_SAMPLES: Row<HostSamples> =
    Row { compute: Some(host), ..Row::new("host_samples", "samples of the host", Grouping::Each) };

/// The row of all hosts together.
pub static HOSTS: Row<SampledHosts> = Row {
    in_summary: Methods::Only(methods::SAMPLED),
    in_report: Methods::Only(methods::SAMPLED),
    needs: &["host_samples"],
    compute: Some(hosts),
    verdict,
    headline: sentences,
    print: Some(Print::with(super::sampled)),
    ..Row::new("hosts", "samples of the hosts together", Grouping::Hosts)
};

fn host(input: &Input<'_>) -> Result<HostSamples, Problem> {
    HostSamples::from_recording(input.one()?)
}

fn hosts(input: &Input<'_>) -> Result<SampledHosts, Problem> {
    let left_out = input.left_out.iter();
    let left_out: Vec<(String, String)> = left_out
        .map(|missing| (missing.place.display().to_string(), missing.why.clone()))
        .collect();
    join(input.found::<HostSamples>().cloned().collect(), &left_out)
}

/// Returns `Nothing` if there are no samples, `Warning` if the data set has defects, else `Good`.
fn verdict(hosts: &SampledHosts, _: &[&Recording]) -> Verdict {
    match hosts {
        _ if hosts.experiments.is_empty() => Verdict::Nothing,
        _ if hosts.findings.is_empty() => Verdict::Good,
        _ => Verdict::Warning,
    }
}
