//! What the hosts of a job measure at the same time: detours, or the samples of a method.

use crate::method_args::MethodArgs;
use crate::run_args::RunArgs;
use crate::setup::SetupArgs;
use anechoic_analyze::cluster::{ClusterBuilder, HostSummary};
use anechoic_analyze::sampled::{HostSamples, join};
use anechoic_measure::run::Plan;
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::results::Found;
use anechoic_report::results::cluster::CLUSTER;
use anechoic_report::results::hosts::HOSTS;
use anechoic_system::cpus;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A round may take this many times its time without noise before its ranks are given up.
const SLOWEST: u32 = 4;

/// What the hosts of a job measure at the same time, and how it becomes one result.
pub(super) trait Joint {
    /// What one host contributes.
    type OfHost: Clone + Serialize + DeserializeOwned;
    /// The file with the merged result, in the directory of the data set.
    const FILE: &'static str;
    /// The command that merges what was saved, if rank 0 cannot.
    const MERGES: &'static str;

    /// Returns the options that all measuring commands share.
    fn setup(&self) -> &SetupArgs;

    /// Returns whether JSON is printed.
    fn json(&self) -> bool;

    /// Returns the plan for these CPUs of a host.
    ///
    /// # Errors
    /// Fails if an option is for a single process only, or refused for another reason.
    fn plan_of_host(&self, cpus: Vec<u32>) -> Result<Plan, Problem>;

    /// Returns the longest time between two steps that the ranks take together.
    fn longest_work(&self) -> Duration;

    /// Summarises the recording of a host.
    ///
    /// # Errors
    /// Fails if it is damaged.
    fn sum_up(recording: &Recording) -> Result<Self::OfHost, Problem>;

    /// Merges the hosts. `left_out` are hosts without a summary, and why.
    ///
    /// # Errors
    /// Fails if no host has one.
    fn merge(hosts: Vec<Self::OfHost>, left_out: &[(String, String)]) -> Result<Found, Problem>;
}

impl Joint for RunArgs {
    type OfHost = HostSummary;
    const FILE: &'static str = crate::inputs::CLUSTER;
    const MERGES: &'static str = "merge";

    fn setup(&self) -> &SetupArgs {
        &self.setup
    }

    fn json(&self) -> bool {
        self.json
    }

    fn plan_of_host(&self, cpus: Vec<u32>) -> Result<Plan, Problem> {
        if self.repeat > 1 {
            let why = "--repeat works for a single process only";
            return Err(ProblemKind::Usage.problem(why, "start the whole job several times"));
        }
        if self.stop_on.is_some() {
            let why = "--stop-on works for a single process only: the hosts of a job end together";
            let remedy = "leave it out, or measure each host by itself";
            return Err(ProblemKind::Usage.problem(why, remedy));
        }
        if self.hist.asked() {
            let why = "--hist works for a single process only";
            let remedy = "leave it out, then run `anechoic summary --hist` on the data set";
            return Err(ProblemKind::Usage.problem(why, remedy));
        }
        self.plan(cpus)
    }

    fn longest_work(&self) -> Duration {
        self.watch.duration
    }

    fn sum_up(recording: &Recording) -> Result<HostSummary, Problem> {
        HostSummary::from_recording(recording)
    }

    fn merge(hosts: Vec<HostSummary>, left_out: &[(String, String)]) -> Result<Found, Problem> {
        let mut cluster = ClusterBuilder::new();
        hosts.into_iter().try_for_each(|host| cluster.add(host))?;
        left_out.iter().for_each(|(host, why)| cluster.leave_out(host, why));
        Ok(Found::from_value(&CLUSTER, cluster.finish()?, &[]))
    }
}

impl Joint for MethodArgs {
    type OfHost = HostSamples;
    const FILE: &'static str = "hosts.json";
    const MERGES: &'static str = "summary";

    fn setup(&self) -> &SetupArgs {
        &self.setup
    }

    fn json(&self) -> bool {
        self.json
    }

    fn plan_of_host(&self, cpus: Vec<u32>) -> Result<Plan, Problem> {
        self.plan(cpus, None)
    }

    fn longest_work(&self) -> Duration {
        // Rounds are as long on any CPUs. A refused experiment is reported when it is planned.
        let rounds = self.plan(cpus::allowed(), None).map(|plan| plan.experiment.rounds());
        let rounds = rounds.unwrap_or_default();
        let longest = rounds.iter().max().copied().unwrap_or_default().saturating_mul(SLOWEST);
        longest.max(rounds.iter().sum()) // after the last round each host adds up all of them
    }

    fn sum_up(recording: &Recording) -> Result<HostSamples, Problem> {
        HostSamples::from_recording(recording)
    }

    fn merge(hosts: Vec<HostSamples>, left_out: &[(String, String)]) -> Result<Found, Problem> {
        Ok(Found::from_value(&HOSTS, join(hosts, left_out)?, &[]))
    }
}
