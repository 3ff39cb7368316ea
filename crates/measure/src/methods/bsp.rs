//! A bulk-synchronous job: what noise really costs ranks that meet (Seelam 2010, P-SNAP).

use super::Method;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::{Fixed, methods};
use std::time::Duration;

/// The frame of one rank's phases.
pub(crate) static METHOD: Method = Method {
    id: methods::BSP,
    title: "bulk-synchronous job",
    source: "Seelam 2010",
    fixed: Fixed::Work,
    kernels: &["intadd-chain"],
    grain: Duration::from_millis(1),
    samples: 10_000,
};

/// What the ranks of a bulk-synchronous job do: each computes for a grain, then all meet, again and again.
///
/// There is a round for each grain and kind of meeting. The ranks are those of [`crate::run::Plan::team`], this
/// process being one of them; where there is no team, each measured CPU has one, a thread of this process.
#[derive(Debug, Clone)]
pub struct Phases {
    /// The kernel of the work, by name.
    pub kernel: String,
    /// Work of a phase, without noise.
    pub grains: Vec<Duration>,
    /// How phases end.
    pub meetings: Vec<Meeting>,
    /// How long the phases of a round take together, without noise.
    pub duration: Duration,
    /// SCHED_FIFO instead of SCHED_OTHER.
    pub fifo: bool,
}

impl Phases {
    /// Grains, where nothing else is asked for.
    pub const GRAINS: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(1)];
    /// Length of a round, where nothing else is asked for.
    pub const DURATION: Duration = Duration::from_secs(5);
}

impl Default for Phases {
    fn default() -> Self {
        Phases {
            kernel: METHOD.kernels[0].to_owned(),
            grains: Self::GRAINS.to_vec(),
            meetings: vec![Meeting::Barrier],
            duration: Self::DURATION,
            fifo: false,
        }
    }
}
