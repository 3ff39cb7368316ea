//! A series of a result, and its rows in a recording.

use super::CPU;
use super::description::no_scheduler;
use super::text::{Fields, Wrong};
use crate::import::Recorded;
use crate::methods;
use crate::parameters::Parameters;
use crate::rows::{Detour, Fixed, Loss, LossKind, Sample, Series};
use crate::run::{Ended, Outcome};

/// The reason why times are refused that no counter shows.
const TOO_LARGE: &str = "a time is too large";

/// A series of the text.
pub(super) struct Measured<'t> {
    pub(super) method: &'t str,
    pub(super) plan: Fields<'t>,
    pub(super) ran: Fields<'t>,
    /// Numbers of the lines of samples, and the word of those lines.
    pub(super) samples: Vec<u64>,
    pub(super) word: &'t str,
    pub(super) gaps: Vec<u64>,
}

impl Measured<'_> {
    /// Adds the rows of this series, which has this number in the recording.
    pub(super) fn add_to(&self, of: &mut Recorded, series: u32) -> Result<(), Wrong> {
        let (plan, ran) = (&self.plan, &self.ran);
        let (start, end) = (ran.number("start")?, ran.number("end")?);
        let mut at = 0_u64;
        for pair in self.gaps.chunks(2) {
            let &[distance, length] = pair else { return Err(ran.wrong("an odd number of gaps")) };
            let start_ticks = at.checked_add(distance);
            let ends = start_ticks.and_then(|start| start.checked_add(length));
            let (Some(start_ticks), Some(end_ticks)) = (start_ticks, ends) else {
                return Err(ran.wrong(TOO_LARGE));
            };
            of.detours.push(Detour { cpu: CPU, start_ticks, end_ticks });
            at = end_ticks;
        }
        let lost_gaps = ran.number("lost-gaps")?;
        let cpu = &mut of.run.cpus[0];
        cpu.detours += self.gaps.len() as u64 / 2;
        cpu.lost_detours = cpu.lost_detours.saturating_add(lost_gaps);
        let disturbed = ran.number("interrupts")? > 0 || ran.number("enabled")? > 0;
        if disturbed {
            of.run
                .notes
                .push(format!("interrupts were delivered in series {series}: please report this"));
        }
        let mut lose = |what, count| {
            if count > 0 {
                of.losses.push(Loss { what, cpu: CPU, start_ticks: start, end_ticks: end, count });
            }
        };
        lose(LossKind::Detours, lost_gaps);
        if self.method == methods::DETOURS {
            let (mean, shortest) = (of.run.clock.read_mean_ticks as u64, ran.number("shortest")?);
            cpu.iterations = ran.number("taken")?;
            cpu.own_shortest_gap_ticks = shortest;
            cpu.shortest_gap_ticks =
                if shortest.saturating_mul(2) < mean { mean } else { shortest };
            of.run.threshold_ticks = plan.number("threshold")?;
            of.run.threshold_source = plan.text("origin")?.to_owned();
            return Ok(());
        }
        let (lost, samples) = (ran.number("lost")?, ran.number("taken")?);
        lose(LossKind::Samples, lost);
        of.samples.extend(self.samples(series, start)?);
        of.series.push(self.series(series)?);
        of.run.outcomes.push(Outcome {
            series,
            first_ticks: start,
            last_ticks: end,
            samples,
            lost,
            wrong: ran.number("wrong")?,
            ended: Ended::Complete,
            step_ticks: ran.find_number("step")?,
        });
        Ok(())
    }

    /// Returns the rows of the samples.
    fn samples(&self, series: u32, start: u64) -> Result<Vec<Sample>, Wrong> {
        let grain = self.plan.number("grain")?;
        // Time before the sample, its length, and its units of work.
        let rows: Vec<[u64; 3]> = match self.word {
            "w" => self.samples.iter().map(|&count| [0, grain, count]).collect(),
            "t" => self.samples.chunks_exact(2).map(|pair| [pair[0], pair[1], 1]).collect(),
            _ => self.samples.iter().map(|&duration| [0, duration, 1]).collect(),
        };
        let mut at = start;
        let sample = |(index, [before, length, count]): (u64, [u64; 3])| {
            let start_ticks = at.checked_add(before)?;
            at = start_ticks.checked_add(length)?;
            Some(Sample { series, index, cpu: CPU, start_ticks, end_ticks: at, count })
        };
        let samples: Option<_> = (0..).zip(rows).map(sample).collect();
        samples.ok_or_else(|| self.ran.wrong(TOO_LARGE))
    }

    fn series(&self, series: u32) -> Result<Series, Wrong> {
        let plan = &self.plan;
        let fixed = if plan.text("fixed")? == "time" { Fixed::Time } else { Fixed::Work };
        Ok(Series {
            series,
            round: series,
            method: self.method.to_owned(),
            variant: plan.text("kernel")?.to_owned(),
            cpu: Some(CPU),
            tid: 0,
            policy: no_scheduler(),
            fixed,
            grain_ticks: plan.number("grain")?,
            asked: plan.number("asked")?,
            parameters: Parameters {
                iterations: plan.number("iterations")?,
                calibrated_ticks: plan.number("calibrated")?,
                instructions: plan.number("instructions")? as u32,
                megaiteration_ticks: plan.number("megaiteration")?,
                megacycle_ticks: plan.number("megacycle")?,
                copies: 1,
                step_iterations: plan.find_number("step-iterations")?,
                step_ticks: plan.find_number("step")?,
                threshold_ticks: plan.find_number("threshold")?,
                within_ticks: plan.find_number("within")?,
                experiment: plan.find("experiment").map(str::to_owned),
                working_set_bytes: plan.find_number("bytes")?,
                page_bytes: plan.find_number("page")?,
                other_bytes: plan.find_number("other")?,
                ..Parameters::default()
            },
        })
    }
}
