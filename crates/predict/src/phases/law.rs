//! The delay of the slowest of many independent ranks, from the delays of each.

use super::bins::Binned;

/// The distribution of one phase's delay over all recorded CPUs.
///
/// Ranks are independent and spread evenly over the recorded CPUs; if their number is not a multiple of the number of
/// CPUs, the rest are on CPUs drawn at random.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    cpus: u64,
    mean_ns: f64,
    steps: Vec<Step>,
}

/// A possible delay of a phase, with probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    /// The delay, the mean of its bin.
    delay_ns: f64,
    /// Probability that a phase on a random CPU is delayed by at least this much.
    survival: f64,
    /// Logarithm of the probability that no rank, with one rank on each CPU, is delayed by this much.
    ln_none_of_each: f64,
}

/// Combines the CPUs of a law.
#[derive(Debug, Clone, Default)]
pub(super) struct LawBuilder {
    cpus: u64,
    mean_ns: f64,
    /// For each bin, the share of all phases and of their delays, over the CPUs so far.
    shares: Vec<(f64, f64)>,
    /// For each bin, the future [`Step::ln_none_of_each`].
    ln_none: Vec<f64>,
}

impl LawBuilder {
    /// Adds a CPU.
    pub(super) fn add(&mut self, delays: &Binned) {
        let bins = delays.cells.len().max(self.shares.len());
        self.shares.resize(bins, (0.0, 0.0));
        self.ln_none.resize(bins, 0.0);
        self.cpus += 1;
        self.mean_ns += delays.mean;
        let total = delays.total.max(1) as f64;
        // From the longest down, so that a chance of 1e-15 is as exact as one of a half.
        let mut mass = 0;
        for (bin, cell) in delays.cells.iter().enumerate().rev() {
            mass += cell.mass;
            self.shares[bin].0 += cell.mass as f64 / total;
            self.shares[bin].1 += cell.sum / total;
            if mass > 0 {
                let survival = if mass >= delays.total { 1.0 } else { mass as f64 / total };
                self.ln_none[bin] += f64::ln_1p(-survival);
            }
        }
    }

    /// Returns the law of these CPUs.
    pub(super) fn finish(self) -> Law {
        let cpus = self.cpus.max(1) as f64;
        let mut survival = 0.0;
        let mut steps = Vec::new();
        for (&(share, delay), &ln_none_of_each) in self.shares.iter().zip(&self.ln_none).rev() {
            survival += share / cpus;
            if share > 0.0 {
                let survival = if survival > 1.0 - 1e-12 { 1.0 } else { survival };
                steps.push(Step { delay_ns: delay / share, survival, ln_none_of_each });
            }
        }
        steps.reverse();
        Law { cpus: self.cpus.max(1), mean_ns: self.mean_ns / cpus, steps }
    }
}

impl Law {
    /// Returns the mean delay of the slowest of `ranks` in ns, which noise adds to a phase.
    ///
    /// The mean of a maximum is the sum over its values of the step to each, multiplied by the probability 1 - F^ranks
    /// that the maximum reaches it. This is evaluated as -expm1(ranks ln1p(-S)) with the survival S, because F rounds
    /// to 1 where the largest jobs are decided. It is 0 for no ranks.
    #[must_use]
    pub fn mean_of_slowest_ns(&self, ranks: u64) -> f64 {
        match ranks {
            0 => 0.0,
            _ => self.up_to(ranks, f64::INFINITY),
        }
    }

    /// Returns the mean delay of the slowest with all longer delays counted as `limit_ns`.
    pub(super) fn up_to(&self, ranks: u64, limit_ns: f64) -> f64 {
        let mut before = 0.0;
        let mut mean = 0.0;
        for step in &self.steps {
            let delay = step.delay_ns.min(limit_ns);
            mean += (delay - before) * self.reached(step, ranks);
            if delay >= limit_ns {
                break;
            }
            before = delay;
        }
        mean
    }

    /// Returns the probability that any of `ranks` is delayed by the step or more.
    fn reached(&self, step: &Step, ranks: u64) -> f64 {
        let (each, rest) = (ranks / self.cpus, ranks % self.cpus);
        let mut ln_none = 0.0;
        // A factor of 0 times an infinite logarithm is no number.
        if each > 0 {
            ln_none += each as f64 * step.ln_none_of_each;
        }
        if rest > 0 {
            ln_none += rest as f64 * f64::ln_1p(-step.survival);
        }
        -f64::exp_m1(ln_none)
    }

    /// Returns the classes of delays from some length on, the longest first: that length, the probability of such a delay
    /// for one rank, and the mean of these delays.
    pub(super) fn classes(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let (mut longer, mut sum) = (0.0, 0.0);
        self.steps.iter().rev().filter(|step| step.delay_ns > 0.0).map(move |step| {
            sum += (step.survival - longer) * step.delay_ns;
            longer = step.survival;
            (step.delay_ns, step.survival, sum / step.survival)
        })
    }

    /// Returns the mean delay of one rank, in ns.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.mean_ns
    }

    /// Returns the longest delay of the law in ns (the mean of its bin), which is the limit for many ranks.
    #[must_use]
    pub fn longest_ns(&self) -> f64 {
        self.steps.last().map_or(0.0, |step| step.delay_ns)
    }

    /// Returns the probability that one rank's phase is delayed by more than `delay_ns`.
    #[must_use]
    pub fn survival(&self, delay_ns: f64) -> f64 {
        let next = self.steps.partition_point(|step| step.delay_ns <= delay_ns);
        self.steps.get(next).map_or(0.0, |step| step.survival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::bins::DelayBin;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// Delays of one CPU in ns, each of which as many starts have; a bin has one delay here.
    fn binned(starts: &[(u64, u64)]) -> Binned {
        let mut cells = vec![DelayBin::default(); 64];
        for &(delay, mass) in starts {
            cells[delay as usize] += DelayBin { mass, sum: (delay * mass) as f64 };
        }
        let total = starts.iter().map(|(_, mass)| mass).sum();
        let sum: f64 = cells.iter().map(|cell| cell.sum).sum();
        Binned { cells, total, mean: sum / total as f64 }
    }

    /// Returns the share of a CPU's starts that are delayed by less than this.
    fn below(starts: &[(u64, u64)], delay: u64) -> f64 {
        let mass = |starts: &mut dyn Iterator<Item = &(u64, u64)>| {
            starts.map(|(_, mass)| mass).sum::<u64>()
        };
        mass(&mut starts.iter().filter(|(at, _)| *at < delay)) as f64
            / mass(&mut starts.iter()) as f64
    }

    /// The mean of a maximum is the sum over its values of the probability that it is at least as large.
    #[test]
    fn the_slowest_rank_is_that_of_multiplied_distributions() {
        let mut random = Pcg64Mcg::seed_from_u64(24);
        for trial in 0..300 {
            let cpus: Vec<Vec<(u64, u64)>> = (0..1 + trial % 4)
                .map(|_| {
                    let mut start = |_| (random.random_range(0..40), random.random_range(1..50));
                    (0..5).map(&mut start).collect()
                })
                .collect();
            let mut builder = LawBuilder::default();
            cpus.iter().for_each(|starts| builder.add(&binned(starts)));
            let law = builder.finish();
            let count = cpus.len() as u64;
            let mean =
                |delay: u64| cpus.iter().map(|cpu| below(cpu, delay)).sum::<f64>() / count as f64;
            for ranks in [1, 2, 3, 4, 9, 100] {
                let none = |delay: u64| {
                    let each =
                        cpus.iter().map(|cpu| below(cpu, delay).powi((ranks / count) as i32));
                    each.product::<f64>() * mean(delay).powi((ranks % count) as i32)
                };
                let up_to = |limit: u64| (1..=limit).map(|delay| 1.0 - none(delay)).sum::<f64>();
                let found = law.mean_of_slowest_ns(ranks);
                assert!((found - up_to(64)).abs() < 1e-9, "{trial}, {ranks} ranks: {found}");
                for limit in [0, 1, 20, 39] {
                    let found = law.up_to(ranks, limit as f64);
                    assert!((found - up_to(limit)).abs() < 1e-9, "{trial}, {ranks} ranks: {found}");
                }
            }
            assert_eq!(law.mean_of_slowest_ns(0), 0.0);
            let all: Vec<u64> = cpus.iter().flatten().map(|(delay, _)| *delay).collect();
            let longest = all.iter().copied().max().unwrap_or(0);
            assert!((law.longest_ns() - longest as f64).abs() < 1e-9, "{trial}");
            for delay in 0..45 {
                let longer = 1.0 - mean(delay + 1);
                let found = law.survival(delay as f64 + 0.5);
                assert!((found - longer).abs() < 1e-9, "{trial}: {found} of {delay}");
            }
            let sum = |from: u64| (1..64).map(|at| 1.0 - mean(at.max(from))).sum::<f64>();
            let mut delays: Vec<u64> = all.into_iter().filter(|delay| *delay > 0).collect();
            delays.sort_unstable_by(|a, b| b.cmp(a));
            delays.dedup();
            assert_eq!(law.classes().count(), delays.len(), "{trial}");
            for ((from, p, usual), delay) in law.classes().zip(delays) {
                let expected = 1.0 - mean(delay);
                assert!((from - delay as f64).abs() < 1e-9, "{trial}: {from}");
                assert!((p - expected).abs() < 1e-9, "{trial}: {p}");
                assert!((usual - sum(delay) / expected).abs() < 1e-6, "{trial}: {usual}");
            }
        }
    }

    #[test]
    fn nothing_is_delayed_without_cpus_or_delays() {
        let none = LawBuilder::default().finish();
        assert_eq!((none.mean_ns(), none.longest_ns(), none.survival(0.0)), (0.0, 0.0, 0.0));
        assert_eq!((none.mean_of_slowest_ns(5), none.classes().count()), (0.0, 0));
        let mut builder = LawBuilder::default();
        builder.add(&binned(&[(0, 10)]));
        let quiet = builder.finish();
        assert_eq!((quiet.mean_of_slowest_ns(1_000), quiet.survival(0.0)), (0.0, 0.0));
        assert_eq!(quiet.survival(-1.0), 1.0, "every start has a delay of at least nothing");
    }
}
