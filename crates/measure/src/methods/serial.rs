//! The serial tick model: what interrupts cost one program, or several copies of it (Tsafrir 2007).

use super::Method;
use crate::inject::{Injection, Timing};
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::{Fixed, methods};
use std::time::Duration;

/// The frame of what is measured beside the sorts: system calls, and a loop whose gaps are watched.
pub(crate) static METHOD: Method = Method {
    id: methods::SERIAL,
    title: "serial tick model",
    source: "Tsafrir 2007",
    fixed: Fixed::Work,
    kernels: &[TRAP, WATCHED],
    grain: Duration::from_micros(100),
    samples: 5_000,
};

/// Kernel of the null system call.
pub(crate) const TRAP: &str = "trap";
/// Kernel of the loop that sees the interrupts and the gaps around them.
pub(crate) const WATCHED: &str = "intadd-chain";

/// What is measured for the serial tick model, on one CPU.
///
/// All of it is gone through in several blocks, each in another order, so that a host that changes
/// meanwhile is not taken for an effect of the interrupts.
#[derive(Debug, Clone)]
pub struct Serial {
    /// The interrupts that are added, one after the other; nothing is added where absent.
    pub rates: Vec<Option<Injection>>,
    /// How many copies of the sort run at the same time, one after the other.
    pub copies: Vec<u32>,
    /// How often all of it is gone through.
    pub blocks: u32,
    /// How long the sorts of one rate and number of copies last in one block, about.
    pub sort_time: Duration,
}

impl Serial {
    /// How many copies, where nothing else is asked for (the paper's).
    pub const COPIES: &[u32] = &[1, 2, 4, 8];
    /// Blocks, where nothing else is asked for.
    pub const BLOCKS: u32 = 5;
    /// Time of the sorts, where nothing else is asked for.
    pub const SORT_TIME: Duration = Duration::from_millis(300);

    /// As usual, on `cpu`, under timer interrupts of these periods; nothing is added where absent.
    #[must_use]
    pub fn of(cpu: u32, periods: &[Option<Duration>]) -> Self {
        let injection = |period| Injection {
            kind: InjectionKind::Interrupt,
            timing: Timing::Periodic { period },
            duration: Duration::ZERO,
            cpus: vec![cpu],
        };
        Serial {
            rates: periods.iter().map(|period| period.map(injection)).collect(),
            copies: Self::COPIES.to_vec(),
            blocks: Self::BLOCKS,
            sort_time: Self::SORT_TIME,
        }
    }
}
