//! The methods that take samples: presets of one frame, a file and a row each.
//!
//! A method says what is the same in every sample, the work or the time; which kernels, how long
//! and how many. Everything else (calibration, stopping rule, watching for gaps, kernel events,
//! storage) is the frame's: [`crate::run`].

pub mod bsp;
mod ftq;
mod fwq;
mod interference;
mod loops;
pub mod serial;
mod tick;

use crate::inject::Injection;
use anechoic_kernels::work::{self, Family, Kernel};
use anechoic_recording::Fixed;
use std::time::Duration;

/// One method.
#[derive(Debug)]
pub struct Method {
    /// What it is called on the command line and in recordings.
    pub id: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// Who described it.
    pub source: &'static str,
    /// What is the same in every sample.
    pub fixed: Fixed,
    /// Kernels, where none are asked for.
    pub kernels: &'static [&'static str],
    /// Length of a sample or window, where none is asked for.
    pub grain: Duration,
    /// Samples, where no number is asked for.
    pub samples: u64,
}

/// All methods.
pub static METHODS: &[&Method] = &[
    &fwq::METHOD,
    &ftq::METHOD,
    &tick::METHOD,
    &loops::METHOD,
    &interference::METHOD,
    &serial::METHOD,
    &bsp::METHOD,
];

/// The method of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Method> {
    METHODS.iter().copied().find(|method| method.id == id)
}

/// Names and one-line descriptions of all work kernels.
pub fn kernels() -> impl Iterator<Item = (&'static str, &'static str)> {
    work::KERNELS.iter().map(|kernel| (kernel.id, kernel.what))
}

/// The bodies of do-nothing loops, by name (Tsafrir 2007).
pub fn do_nothing() -> impl Iterator<Item = &'static str> {
    let of_family = |kernel: &&Kernel| kernel.family == Family::DoNothing;
    work::KERNELS.iter().filter(of_family).map(|kernel| kernel.id)
}

/// How the loops are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER: as a user's program is.
    Other,
    /// SCHED_FIFO at priority 1.
    Fifo,
}

/// What a method is to do.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The method.
    pub method: &'static Method,
    /// Kernels by name, in this order.
    pub kernels: Vec<String>,
    /// Length of a sample of fixed work, or the window of fixed time.
    pub grain: Duration,
    /// Samples of each series, at most.
    pub samples: u64,
    /// End a series early once its accumulated mean moves by less than this, in millionths.
    pub maiv_ppm: Option<u32>,
    /// Policies, in this order.
    pub policies: Vec<Policy>,
    /// The CPUs one after the other, not together.
    pub one_by_one: bool,
    /// Besides, once wherever the scheduler puts it.
    pub unpinned: bool,
    /// One call of the kernel a sample, without a look at the counter in between.
    pub pure: bool,
    /// What is injected meanwhile, one after the other; on which of the CPUs it is felt.
    pub noise: Vec<Noise>,
}

/// Noise under which series are measured.
#[derive(Debug, Clone)]
pub struct Noise {
    /// What is injected; nothing where absent.
    pub injection: Option<Injection>,
    /// The CPUs that are measured meanwhile; all where absent.
    pub cpus: Option<Vec<u32>>,
}

impl Noise {
    /// Nothing is injected.
    pub const NONE: Noise = Noise { injection: None, cpus: None };

    /// Whether a CPU is measured under it.
    pub(crate) fn is_felt_on(&self, cpu: Option<u32>) -> bool {
        let Some(cpus) = &self.cpus else { return true };
        cpu.is_some_and(|cpu| cpus.contains(&cpu))
    }
}

impl Experiment {
    /// The method as it is without further wishes.
    #[must_use]
    pub fn of(method: &'static Method) -> Self {
        Experiment {
            method,
            kernels: method.kernels.iter().map(|&id| id.to_owned()).collect(),
            grain: method.grain,
            samples: method.samples,
            maiv_ppm: None,
            policies: vec![Policy::Other],
            one_by_one: false,
            unpinned: false,
            pure: false,
            noise: vec![Noise::NONE],
        }
    }

    /// Whether some series run under SCHED_FIFO.
    #[must_use]
    pub fn any_fifo(&self) -> bool {
        self.policies.contains(&Policy::Fifo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_name_kernels_that_there_are() {
        for method in METHODS {
            assert_eq!(find(method.id).map(|found| found.id), Some(method.id));
            assert!(!method.kernels.is_empty() && method.samples > 0, "{}", method.id);
            for kernel in method.kernels {
                assert!(work::find(kernel).is_some(), "{}: {kernel}", method.id);
            }
        }
    }
}
