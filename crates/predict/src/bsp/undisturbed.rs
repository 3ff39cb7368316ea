//! The duration of a phase without noise.

use super::outcome::{Basis, Happened};
use super::walk::Step;

/// Smallest number of phases without a detour from which the undisturbed phase is computed.
const FEWEST_UNDISTURBED: usize = 30;
/// A phase without a detour is long if it exceeds the median by this many interquartile ranges.
const LONG: f64 = 10.0;
/// Smallest interquartile range relative to the median, because equal phases give no scale.
const NARROWEST: f64 = 0.001;

/// The undisturbed phase of one job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Base {
    pub basis: Basis,
    pub ns: f64,
    /// Part of it that is synchronisation.
    pub meeting_ns: f64,
    /// Number of phases behind it.
    pub phases: u64,
    /// From this duration on a phase without a detour is long.
    pub long_ns: f64,
}

impl Base {
    /// Computes the undisturbed phase of a job for each block: number and sum of the values that it is the mean of.
    ///
    /// `blocks` are the job's phases in time order; `calibrated_ns` is the duration of the work, used if detours are
    /// unknown. Long phases without a detour are marked [`Happened::Unexplained`].
    pub(super) fn find(
        blocks: &mut [&mut [Step]],
        calibrated_ns: Option<u64>,
    ) -> (Self, Vec<(f64, f64)>) {
        let quiet = |step: &&Step| step.happened == Happened::Nothing;
        let all = || blocks.iter().flat_map(|block| block.iter());
        let mut durations: Vec<f64> = all().filter(quiet).map(|step| step.took_ns).collect();
        if let Some(ns) = calibrated_ns {
            return Self::calibrated(blocks.len(), ns as f64);
        }
        if durations.len() < FEWEST_UNDISTURBED {
            return Self::corrected(blocks);
        }
        let [q25, median, q75] = [0.25, 0.5, 0.75].map(|part| quantile(&mut durations, part));
        let long_ns = median + LONG * (q75 - q25).max(NARROWEST * median);
        let mut found = Vec::with_capacity(blocks.len());
        let (mut phases, mut sum, mut work) = (0u64, 0.0, 0.0);
        for block in blocks {
            let mut block_sum = (0.0, 0.0);
            for step in block.iter_mut().filter(|step| step.happened == Happened::Nothing) {
                if step.took_ns > long_ns {
                    step.happened = Happened::Unexplained;
                } else {
                    block_sum = (block_sum.0 + 1.0, block_sum.1 + step.took_ns);
                    work += step.work_ns;
                }
            }
            phases += block_sum.0 as u64;
            sum += block_sum.1;
            found.push(block_sum);
        }
        let ns = sum / phases as f64;
        let meeting_ns = ns - work / phases as f64;
        (Self { basis: Basis::Undisturbed, ns, meeting_ns, phases, long_ns }, found)
    }

    fn calibrated(blocks: usize, ns: f64) -> (Self, Vec<(f64, f64)>) {
        let long_ns = f64::INFINITY;
        let base = Self { basis: Basis::Calibrated, ns, meeting_ns: 0.0, phases: 0, long_ns };
        (base, vec![(1.0, ns); blocks])
    }

    /// Returns the mean over blocks of the median phase without its last rank's detours.
    fn corrected(blocks: &[&mut [Step]]) -> (Self, Vec<(f64, f64)>) {
        let (mut free, mut meeting) = (vec![], (0.0, 0.0));
        for block in blocks {
            let free_ns = median(block, |step| (step.took_ns - step.away_ns).max(0.0));
            free.push(free_ns.map_or((0.0, 0.0), |ns| (1.0, ns)));
            if let Some(ns) = median(block, |step| step.took_ns - step.work_ns) {
                meeting = (meeting.0 + 1.0, meeting.1 + ns);
            }
        }
        let (count, sum) = free.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let base = Self {
            basis: Basis::Corrected,
            ns: sum / count,
            meeting_ns: meeting.1 / meeting.0,
            phases: blocks.iter().map(|block| block.len() as u64).sum(),
            long_ns: f64::INFINITY,
        };
        (base, free)
    }
}

/// Returns the median length of the phases of a block; absent without any.
fn median(block: &[Step], length: fn(&Step) -> f64) -> Option<f64> {
    let mut values: Vec<f64> = block.iter().map(length).collect();
    (!values.is_empty()).then(|| quantile(&mut values, 0.5))
}

/// Returns a quantile of some values; there is at least one.
pub(super) fn quantile(values: &mut [f64], part: f64) -> f64 {
    let at = ((values.len() - 1) as f64 * part).round() as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(durations: &[f64], happened: Happened, away_ns: f64) -> Vec<Step> {
        let step = |&took_ns: &f64| Step {
            took_ns,
            work_ns: took_ns - 10.0,
            away_ns,
            delay_ns: 0,
            last: 0,
            happened,
        };
        durations.iter().map(step).collect()
    }

    #[test]
    fn mean_of_the_undisturbed_without_the_long_ones() {
        let mut quiet = steps(&[1_000.0, 1_002.0].repeat(20), Happened::Nothing, 0.0);
        quiet[7].took_ns = 5_000.0;
        let mut busy = steps(&[2_000.0; 50], Happened::InWork, 900.0);
        let (base, found) = Base::find(&mut [&mut quiet, &mut busy], None);
        assert_eq!((base.basis, base.phases), (Basis::Undisturbed, 39));
        assert!((base.ns - 1_001.0).abs() < 0.1, "{base:?}");
        assert!((base.meeting_ns - 10.0).abs() < 1e-9, "{base:?}");
        assert_eq!(quiet[7].happened, Happened::Unexplained);
        assert_eq!(found[1], (0.0, 0.0), "nothing undisturbed in that block");
    }

    #[test]
    fn where_too_few_are_undisturbed() {
        let mut busy = steps(&[2_000.0; 50], Happened::InWork, 900.0);
        busy[3].took_ns = 90_000.0;
        let mut quiet = steps(&[1_000.0; 29], Happened::Nothing, 0.0);
        let (base, _) = Base::find(&mut [&mut busy, &mut quiet], None);
        assert_eq!((base.basis, base.ns), (Basis::Corrected, 1_050.0), "mean of 1,100 and 1,000");
        let (base, found) = Base::find(&mut [&mut busy], Some(700));
        assert_eq!((base.basis, base.ns, found), (Basis::Calibrated, 700.0, vec![(1.0, 700.0)]));
    }
}
