//! The series of loops that probe their CPUs.

use super::Rounds;
use crate::experiment::{Cell, Policy, Probes};
use crate::timed::probing::Probing;
use anechoic_recording::{Fixed, Parameters, Series};
use std::sync::Mutex;

impl Rounds<'_> {
    /// Adds the series of a loop, and returns how it probes.
    pub(super) fn probing(&mut self, cell: &Cell, probes: &Probes, cpu: Option<u32>) -> Probing {
        let number = self.number();
        self.series.push(Series {
            series: number,
            round: self.rounds.len() as u32,
            method: self.experiment.method.to_owned(),
            variant: "probes".to_owned(),
            cpu,
            tid: 0,
            policy: cell.policy.recorded(),
            fixed: Fixed::Work,
            grain_ticks: 0,
            // As many as there is time for.
            asked: 0,
            parameters: Parameters {
                copies: 1,
                probes: Some(probes.probes.to_vec()),
                events_off: cell.events_off,
                ..Parameters::default()
            },
        });
        Probing {
            series: number,
            cpu,
            fifo: cell.policy == Policy::FIFO,
            probes: probes.probes.to_vec(),
            prepared: Mutex::new(None),
        }
    }
}
