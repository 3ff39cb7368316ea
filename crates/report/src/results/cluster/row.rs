//! The results of many hosts together.

use super::words::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row};
use crate::results::summary::METHOD;
use anechoic_analyze::cluster::{Cluster, ClusterBuilder, HostSummary};
use anechoic_analyze::injection::Verdict;
use anechoic_recording::{Problem, Recording, methods};

/// The row of what one host contributes.
pub static HOST: Row<HostSummary> =
    Row { compute: Some(host), ..Row::new("host", "noise of the host", Grouping::Each) };

/// The row of all hosts together.
pub static CLUSTER: Row<Cluster> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Except(&[methods::WAKEUP]), // their threads sleep
    section: Some(Section { anchor: "hosts", title: "Hosts and CPUs", short: "Hosts" }),
    needs: &["host"],
    compute: Some(cluster),
    verdict,
    headline: sentences,
    states_doubts: true,
    print: Some(Print::with(super::cluster)),
    ..Row::new("cluster", "noise of the hosts together", Grouping::Hosts)
};

fn host(input: &Input<'_>) -> Result<HostSummary, Problem> {
    HostSummary::from_recording(input.one()?)
}

fn cluster(input: &Input<'_>) -> Result<Cluster, Problem> {
    let mut cluster = ClusterBuilder::default();
    input.found::<HostSummary>().try_for_each(|host| cluster.add(host.clone()))?;
    for left_out in input.left_out {
        cluster.leave_out(&left_out.place.display().to_string(), &left_out.why);
    }
    cluster.finish()
}

/// Returns `Nothing` if nothing was measured, `Warning` if the data set has defects, else `Good`.
fn verdict(cluster: &Cluster, _: &[&Recording]) -> Verdict {
    match cluster {
        _ if cluster.total.wall_ns == 0 => Verdict::Nothing,
        _ if cluster.findings.is_empty() => Verdict::Good,
        _ => Verdict::Warning,
    }
}
