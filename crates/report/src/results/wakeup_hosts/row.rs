//! The wake-ups of many hosts together.

use super::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::wakeup::HostWakeups;
use anechoic_analyze::wakeup::hosts::{WakeupHosts, join};
use anechoic_recording::{Problem, Recording, methods};

/// The methods whose recordings of several hosts are joined.
const METHOD: &[&str] = &[methods::WAKEUP];

/// The row of what one host contributes.
pub(crate) static HOST_WAKEUPS: Row<HostWakeups> =
    Row { compute: Some(host), ..Row::new("host_wakeups", "wake-ups of the host", Grouping::Each) };

/// The row of all hosts together.
pub static WAKEUP_HOSTS: Row<WakeupHosts> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: "wakeup-hosts",
        title: "Wake-ups of the hosts",
        short: "Hosts",
    }),
    needs: &["host_wakeups"],
    compute: Some(hosts),
    verdict,
    headline: sentences,
    states_doubts: true,
    print: Some(Print::with(super::wakeup_hosts)),
    ..Row::new("wakeup-hosts", "wake-ups of the hosts together", Grouping::Hosts)
};

fn host(input: &Input<'_>) -> Result<HostWakeups, Problem> {
    HostWakeups::from_recording(input.one()?)
}

fn hosts(input: &Input<'_>) -> Result<WakeupHosts, Problem> {
    let left_out = input.left_out.iter();
    let left_out: Vec<(String, String)> = left_out
        .map(|missing| (missing.place.display().to_string(), missing.why.clone()))
        .collect();
    join(input.found::<HostWakeups>().cloned().collect(), &left_out)
}

/// Returns `Nothing` if there are no wake-ups, `Warning` if the data set has defects, else `Good`.
fn verdict(found: &WakeupHosts, _: &[&Recording]) -> Verdict {
    match found {
        _ if found.kinds.iter().all(|kind| kind.total.samples == 0) => Verdict::Nothing,
        _ if found.findings.is_empty() => Verdict::Good,
        _ => Verdict::Warning,
    }
}
