//! Samples of many hosts together: the same loops on every CPU of a job, as P-SNAP measures them.
//!
//! Each host is summarised where its recording is ([`HostSamples::from_recording`]), and sends only that; [`join`] adds the hosts up.
//! Hosts calibrate their work for themselves. So every sample is compared with the best one of its own CPU, and what is
//! added up over CPUs and hosts is the time that samples lost.

mod host;
mod joined;

pub use host::{CpuSeries, ExperimentCounts, HostSamples, SampledExperiment};
pub use joined::{JoinedCpu, JoinedExperiment, JoinedHost, LostShare, SampledHosts, join};
