//! What operations cost: the rules of LogGOPS, and how noise lengthens them.

use crate::network_noise::NetworkNoise;
use crate::noise::Noise;
use crate::parameters::{PS, Parameters};
use schemars::JsonSchema;
use serde::Serialize;

/// Rules by which noise lengthens operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Noise delays the message that it hits, counts also in the time that it adds, and per byte.
    Anechoic,
    /// The rules of LogGOPSim: the same times in whole ns, its faults included.
    LogGopSim,
    /// The rules of ATLAHS's fork of LogGOPSim: the same times in whole ns, its faults included.
    Atlahs,
    /// As [`Model::Anechoic`], for patterns only: each rank takes messages when it waits for them, round after round. Much
    /// faster. A schedule is simulated as by [`Model::Anechoic`].
    Rounds,
}

impl Model {
    /// Returns whose rules they are.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anechoic | Self::Rounds => "anechoic",
            Self::LogGopSim => "LogGOPSim",
            Self::Atlahs => "ATLAHS",
        }
    }

    /// Returns whether noise lengthens operations as in LogGOPSim: it replays recordings.
    #[must_use]
    pub fn replays(self) -> bool {
        matches!(self, Self::LogGopSim | Self::Atlahs)
    }
}

/// The time of an operation on a CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Busy {
    /// When the CPU is free again.
    pub(super) end_ps: u64,
    /// How much of its time noise took.
    pub(super) lost_ps: u64,
}

/// The costs of all operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs<'a> {
    pub(crate) parameters: Parameters,
    pub(crate) model: Model,
    /// Absent if all messages cost the same.
    pub(crate) network: Option<&'a NetworkNoise>,
}

impl Costs<'_> {
    /// Returns what a message between two ranks costs: that of this operation of the sender.
    #[inline]
    pub(crate) fn message(&self, ranks: (u32, u32), send: u32) -> Parameters {
        match self.network {
            None => self.parameters,
            Some(network) => network.message(&self.parameters, ranks, send),
        }
    }

    /// Returns the time of a computation of `work_ns`.
    #[inline]
    pub(super) fn compute(&self, noise: &mut Noise, cpu: usize, at: u64, work_ns: u64) -> Busy {
        let work_ps = work_ns * PS;
        match self.model {
            Model::Anechoic | Model::Rounds => stretched(noise, cpu, at, work_ps),
            Model::LogGopSim | Model::Atlahs => self.added(noise, cpu, at, work_ps, work_ps),
        }
    }

    /// Returns the time that sending this many bytes takes the CPU.
    #[inline]
    pub(super) fn send(&self, noise: &mut Noise, cpu: usize, at: u64, bytes: u64) -> Busy {
        let overhead_ps = self.parameters.overhead_ps;
        let copy_ps = self.per_byte(self.parameters.overhead_per_byte_ps, bytes);
        match self.model {
            Model::Anechoic | Model::Rounds => stretched(noise, cpu, at, overhead_ps + copy_ps),
            Model::LogGopSim | Model::Atlahs => {
                self.added(noise, cpu, at, overhead_ps, overhead_ps.wrapping_add(copy_ps))
            }
        }
    }

    /// Returns the time that receiving this many bytes takes the CPU, from the arrival of the first byte on.
    ///
    /// By our rules, the CPU takes O for each byte while they arrive, and o when all of them have.
    #[inline]
    pub(super) fn receive(
        &self,
        message: &Parameters,
        noise: &mut Noise,
        (cpu, at): (usize, u64),
        bytes: u64,
    ) -> Busy {
        let overhead_ps = message.overhead_ps;
        let copy_ps = self.per_byte(message.overhead_per_byte_ps, bytes);
        let wire_ps = self.per_byte(message.gap_per_byte_ps, bytes);
        match self.model {
            Model::Anechoic | Model::Rounds => {
                let copied = noise.end(cpu, at, copy_ps);
                let end_ps = noise.end(cpu, copied.max(at + wire_ps), overhead_ps);
                Busy {
                    end_ps,
                    lost_ps: end_ps.saturating_sub(at + overhead_ps + copy_ps.max(wire_ps)),
                }
            }
            Model::LogGopSim | Model::Atlahs => {
                let all_ps = overhead_ps.wrapping_add(copy_ps.max(wire_ps));
                self.added(noise, cpu, at, overhead_ps, all_ps)
            }
        }
    }

    /// Returns when a message arrives whose send began at `at`.
    #[inline]
    pub(super) fn arrival(&self, message: &Parameters, at: u64, busy: &Busy) -> u64 {
        let &Parameters { latency_ps, overhead_ps, .. } = message;
        match self.model {
            Model::Anechoic | Model::Rounds => busy.end_ps + latency_ps,
            Model::LogGopSim | Model::Atlahs => {
                at.wrapping_add(overhead_ps).wrapping_add(latency_ps)
            }
        }
    }

    /// Returns when a network interface is free that began with a message at `at`.
    #[inline]
    pub(super) fn interface_free(&self, message: &Parameters, at: u64, bytes: u64) -> u64 {
        let wire_ps = self.per_byte(message.gap_per_byte_ps, bytes);
        at.wrapping_add(message.gap_ps).wrapping_add(wire_ps)
    }

    /// Returns the time of all bytes after the first. LogGOPSim wraps around for none.
    #[inline]
    fn per_byte(&self, ps: u64, bytes: u64) -> u64 {
        match self.model {
            Model::Anechoic | Model::Rounds => bytes.saturating_sub(1) * ps,
            Model::LogGopSim | Model::Atlahs => bytes.wrapping_sub(1).wrapping_mul(ps),
        }
    }

    /// Returns an operation of `all_ps` with what LogGOPSim adds to one of `length_ps`.
    #[inline]
    fn added(&self, noise: &Noise, cpu: usize, at: u64, length_ps: u64, all_ps: u64) -> Busy {
        let lost_ps = noise.added_as_loggopsim(cpu, at, at.wrapping_add(length_ps));
        Busy { end_ps: at.wrapping_add(all_ps).wrapping_add(lost_ps), lost_ps }
    }
}

/// Returns the time of work that noise interrupts.
#[inline]
fn stretched(noise: &mut Noise, cpu: usize, at: u64, work_ps: u64) -> Busy {
    let end_ps = noise.end(cpu, at, work_ps);
    // The end of work that never ends is less: the simulation refuses that time.
    Busy { end_ps, lost_ps: end_ps.saturating_sub(at + work_ps) }
}
