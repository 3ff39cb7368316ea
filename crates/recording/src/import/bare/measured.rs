//! A series of a result, and its rows in a recording.

use super::FIRST_CPU;
use super::description::{Common, no_scheduler};
use super::text::{Fields, Wrong};
use crate::import::Recorded;
use crate::machine::MOST_CPUS;
use crate::methods;
use crate::paging::{Allocation, Verified};
use crate::parameters::Parameters;
use crate::rows::{Counter, Detour, Fixed, Loss, LossKind, Sample, Series};
use crate::run::{CpuRun, Ended, Outcome};
use std::collections::BTreeMap;

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
    /// Returns the CPU that measured.
    fn cpu(&self) -> Result<u32, Wrong> {
        let cpu = self.plan.find_number("cpu")?.unwrap_or(FIRST_CPU.into());
        u32::try_from(cpu)
            .ok()
            .filter(|cpu| *cpu < MOST_CPUS)
            .ok_or_else(|| self.plan.wrong("there is no such CPU"))
    }

    /// Returns what is known of its CPU, which this series extends.
    fn cpu_run<'r>(
        &self,
        recorded: &'r mut Recorded,
        common: &Common,
        [start, end]: [u64; 2],
    ) -> Result<&'r mut CpuRun, Wrong> {
        let (number, cpus) = (self.cpu()?, &mut recorded.run.cpus);
        let at = cpus.iter().position(|cpu| cpu.cpu == number).unwrap_or_else(|| {
            cpus.push(cpu_run(number, common.class(number), start));
            cpus.len() - 1
        });
        cpus[at].first_ticks = cpus[at].first_ticks.min(start);
        cpus[at].last_ticks = cpus[at].last_ticks.max(end);
        Ok(&mut cpus[at])
    }

    /// Adds the rows of this series, which has this number in the recording.
    pub(super) fn add_to(
        &self,
        recorded: &mut Recorded,
        series: u32,
        common: &Common,
    ) -> Result<(), Wrong> {
        let (plan, ran) = (&self.plan, &self.ran);
        let (start, end) = (ran.number("start")?, ran.number("end")?);
        let number = self.cpu()?;
        let mut at = 0_u64;
        for pair in self.gaps.chunks(2) {
            let &[distance, length] = pair else { return Err(ran.wrong("an odd number of gaps")) };
            let start_ticks = at.checked_add(distance);
            let ends = start_ticks.and_then(|start| start.checked_add(length));
            let (Some(start_ticks), Some(end_ticks)) = (start_ticks, ends) else {
                return Err(ran.wrong(TOO_LARGE));
            };
            recorded.detours.push(Detour { cpu: number, start_ticks, end_ticks });
            at = end_ticks;
        }
        let lost_gaps = ran.number("lost-gaps")?;
        let cpu = self.cpu_run(recorded, common, [start, end])?;
        cpu.detours += self.gaps.len() as u64 / 2;
        cpu.lost_detours = cpu.lost_detours.saturating_add(lost_gaps);
        if self.method == methods::DETOURS {
            cpu.iterations = ran.number("taken")?;
            cpu.own_shortest_gap_ticks = ran.number("shortest")?;
        }
        let disturbed = ran.number("interrupts")? > 0 || ran.number("enabled")? > 0;
        if disturbed {
            recorded
                .run
                .notes
                .push(format!("interrupts were delivered in series {series}: please report this"));
        }
        let mut lose = |what, count| {
            if count > 0 {
                let (start_ticks, end_ticks) = (start, end);
                recorded.losses.push(Loss { what, cpu: number, start_ticks, end_ticks, count });
            }
        };
        lose(LossKind::Detours, lost_gaps);
        if self.method == methods::DETOURS {
            recorded.run.threshold_ticks = plan.number("threshold")?;
            recorded.run.threshold_source = plan.text("origin")?.to_owned();
            return Ok(());
        }
        let (lost, samples) = (ran.number("lost")?, ran.number("taken")?);
        lose(LossKind::Samples, lost);
        recorded.samples.extend(self.samples(series, start)?);
        recorded.series.push(self.series(series)?);
        recorded.run.allocations.extend(self.allocation(series)?);
        recorded.run.outcomes.push(Outcome {
            series,
            first_ticks: start,
            last_ticks: end,
            samples,
            lost,
            wrong: ran.number("wrong")?,
            ended: Ended::Complete,
            step_ticks: ran.find_number("step")?,
            ..Outcome::default()
        });
        Ok(())
    }

    /// Returns the memory of this series, if its pages were counted.
    fn allocation(&self, series: u32) -> Result<Option<Allocation>, Wrong> {
        let plan = &self.plan;
        let Some(on_pages) = plan.find_number("on-pages")? else { return Ok(None) };
        Ok(Some(Allocation {
            series,
            bytes: plan.number("bytes")?,
            pages: BTreeMap::from([(plan.number("page")?, on_pages)]),
            verified: Verified::PageTables,
            memory_node: None,
            refused: None,
            counted_iterations: 0,
            counts: BTreeMap::new(),
        }))
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
        let cpu = self.cpu()?;
        let mut at = start;
        let sample = |(index, [before, length, count]): (u64, [u64; 3])| {
            let start_ticks = at.checked_add(before)?;
            at = start_ticks.checked_add(length)?;
            Some(Sample { series, index, cpu, start_ticks, end_ticks: at, count })
        };
        let samples: Option<_> = (0..).zip(rows).map(sample).collect();
        samples.ok_or_else(|| self.ran.wrong(TOO_LARGE))
    }

    fn series(&self, series: u32) -> Result<Series, Wrong> {
        let plan = &self.plan;
        let fixed = if plan.text("fixed")? == "time" { Fixed::Time } else { Fixed::Work };
        Ok(Series {
            series,
            round: plan.find_number("round")?.map_or(series, |round| round as u32),
            method: self.method.to_owned(),
            variant: plan.text("kernel")?.to_owned(),
            cpu: Some(self.cpu()?),
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

/// Describes a CPU that measured, of which only the first series is known.
fn cpu_run(cpu: u32, class: String, first_ticks: u64) -> CpuRun {
    CpuRun {
        cpu,
        tid: 0,
        class,
        first_ticks,
        last_ticks: first_ticks,
        iterations: 0,
        own_shortest_gap_ticks: 0,
        shortest_gap_ticks: 0,
        detours: 0,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}

/// Returns the numbers of NMIs and of system-management interrupts of each CPU, at the start of its first series and at the end
/// of its last.
pub(super) fn counters<'m>(
    all: impl Iterator<Item = &'m Measured<'m>>,
) -> Result<Vec<Counter>, Wrong> {
    let mut sums: BTreeMap<(&str, u32), (u64, u64, u64)> = BTreeMap::new();
    for measured in all {
        let ran = &measured.ran;
        let (start, end) = (ran.number("start")?, ran.number("end")?);
        for (name, field) in [("interrupts/NMI", "nmis"), ("interrupts/SMI", "smis")] {
            let Some(more) = ran.find_number(field)? else { continue };
            let sum = sums.entry((name, measured.cpu()?)).or_insert((start, end, 0));
            *sum = (sum.0.min(start), sum.1.max(end), sum.2.saturating_add(more));
        }
    }
    let readings = sums.into_iter().flat_map(|((name, cpu), (start, end, sum))| {
        let reading = |ticks, value| Counter { name: name.to_owned(), cpu, ticks, value };
        [reading(start, 0), reading(end, sum)]
    });
    Ok(readings.collect())
}
