//! CPUs and hosts that are far noisier than the others of their class, with p-values.

mod events;

use crate::stats::{median, normal_above, probability_above};
use events::{Events, steady, without_largest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Smallest class that is tested, because the spread of smaller ones is not known well enough.
pub const FEWEST: usize = 8;
/// Largest probability of any false outlier.
pub(crate) const ALPHA: f64 = 0.01;
/// Smallest relative spread of a class, so that among equal members a tiny difference is not an outlier.
pub(crate) const LEAST_SPREAD: f64 = 0.05;
/// Ratio of the standard deviation of a normal distribution to its median absolute deviation.
const OF_NORMAL: f64 = 1.482_602_218_505_602;

/// A tested member: the noise of a CPU, or of a host.
#[derive(Debug, Clone)]
pub(crate) struct Looked<'a> {
    /// Class in which it is compared.
    pub class: &'a str,
    /// Noise of the member.
    pub noise: f64,
    /// The noise that it exceeds with a probability of 97.5 %; 0 if that is not known.
    pub low: f64,
    /// Noise of a single detour, which is the resolution; above 0.
    pub least: f64,
    /// Measured time in ns.
    pub wall_ns: f64,
    /// Time in ns that was lost in each of a number of equal blocks of it, by the start of the detours; empty if that is
    /// not known, as in summaries of older versions.
    pub blocks: Vec<f64>,
}

/// The result of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outliers {
    /// Largest probability of any false outlier.
    pub alpha: f64,
    /// Smallest class that is tested.
    pub fewest: u64,
    /// Number of tested members, for which p is corrected.
    pub judged: u64,
    /// Distribution of noise in each class.
    pub classes: Vec<ClassSpread>,
    /// The outliers, sorted by decreasing noise.
    pub found: Vec<Outlier>,
    /// The assumptions, in words.
    pub assumes: String,
}

/// Distribution of noise in a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassSpread {
    /// The class.
    pub class: String,
    /// Number of members.
    pub count: u64,
    /// Median noise.
    pub median: f64,
    /// Robust standard deviation of the logarithm of noise; absent for too few members.
    pub spread: Option<f64>,
}

/// A CPU or host that is noisier than chance explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// The host.
    pub host: String,
    /// The CPU; absent if the host as a whole is the outlier.
    pub cpu: Option<u32>,
    /// Noise of the CPU or host.
    pub noise: f64,
    /// Ratio to the median of its class; absent if that is 0.
    pub ratio: Option<f64>,
    /// Distance of the logarithm from the median, in robust standard deviations; the normal value of the same
    /// probability where most members have no noise.
    pub z: f64,
    /// Probability of such a value, its largest event left out, among all tested members if there were no outliers.
    pub p: f64,
}

/// The test of one member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) index: usize,
    pub(crate) ratio: Option<f64>,
    pub(crate) z: f64,
    pub(crate) p: f64,
    /// Whether its own interval lies above the median.
    certain: bool,
}

/// Median and spread of a class.
struct Middle {
    ln_median: f64,
    median: f64,
    /// What the members lost more than that.
    events: Events,
    /// Spread of the logarithms; absent for too few members.
    spread: Option<f64>,
    count: usize,
}

/// Tests each member against the others of its class; all tests form one family (Holm 1979).
///
/// An outlier is both far from the others and stands on events. What is judged is each time what a member lost without
/// its largest event, because one long stall makes no noisy CPU. What fills half of the run is judged alone as well,
/// without any stall, because rare long ones would hide it: the smaller p counts. That is no second chance by
/// accident: the steady noise is never further from the others than all of it.
///
/// Far: the logarithm of noise is compared with the median of the class, in units of 1.4826 times the median absolute
/// deviation; neither changes if up to half of the class are outliers. If the others are log-normal, that ratio has
/// tails like Student's t with (n − 1)/2 degrees of freedom once it is divided by n/(n − 0.8) · √(1 + π/2n), the error
/// of both in small samples. With this choice p is never too small in simulations of 8 to 256 equal CPUs (the tests
/// below). Where most members of a class have no noise, median and spread show nothing, and events alone decide.
///
/// Events: see [`events`]. The larger p of both counts. Only noisier members are outliers, and only if their own lower
/// bound lies above the median. Returns those with p below [`ALPHA`], and each class.
pub(crate) fn judge(looked: &[Looked<'_>]) -> (Vec<Verdict>, Vec<ClassSpread>) {
    let mut by_class: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, one) in looked.iter().enumerate() {
        by_class.entry(one.class).or_default().push(index);
    }
    let (mut verdicts, mut classes) = (vec![], vec![]);
    for (class, members) in by_class {
        let class_members: Vec<&Looked<'_>> =
            members.iter().map(|&member| &looked[member]).collect();
        let middle = Middle::new(&class_members);
        classes.push(ClassSpread {
            class: class.to_owned(),
            count: members.len() as u64,
            median: middle.median,
            spread: middle.spread,
        });
        verdicts.extend(members.iter().filter_map(|&index| middle.verdict(index, &looked[index])));
    }
    holm(&mut verdicts);
    verdicts.retain(|verdict| verdict.p < ALPHA && verdict.certain);
    verdicts.sort_by_key(|verdict| verdict.index);
    (verdicts, classes)
}

impl Middle {
    fn new(members: &[&Looked<'_>]) -> Self {
        let (mut noise, mut logs): (Vec<f64>, Vec<f64>) =
            members.iter().map(|member| (member.noise, ln(member.noise, member.least))).unzip();
        let (count, ln_median, usual) = (logs.len(), median(&mut logs), median(&mut noise));
        let mut deviations: Vec<f64> = logs.iter().map(|ln| (ln - ln_median).abs()).collect();
        let n = count as f64;
        let robust = OF_NORMAL * median(&mut deviations) * n / (n - 0.8);
        let spread = robust.max(LEAST_SPREAD.ln_1p());
        let spread = (count >= FEWEST).then_some(spread);
        Self { ln_median, median: usual, events: Events::count(members, usual), spread, count }
    }

    /// Returns the p-value of this member alone; absent if the class is too small.
    fn verdict(&self, index: usize, member: &Looked<'_>) -> Option<Verdict> {
        let (n, spread) = (self.count as f64, self.spread?);
        let p_of_events = self.events.probability(member, self.median);
        let p_of_steady = self.events.probability_of_steady(member, self.median);
        let certain = member.low > self.median;
        if self.median <= 0.0 {
            let p = p_of_events.min(p_of_steady).max(f64::MIN_POSITIVE);
            return Some(Verdict { index, ratio: None, z: normal_above(p), p, certain });
        }
        let distance = |noise: f64| (ln(noise, member.least) - self.ln_median) / spread;
        let error = (1.0 + std::f64::consts::FRAC_PI_2 / n).sqrt();
        let far = |noise: f64| probability_above(distance(noise) / error, (n - 1.0) / 2.0);
        let all = far(without_largest(member, self.median)).max(p_of_events);
        let alone = far(steady(member, self.median)).max(p_of_steady);
        Some(Verdict {
            index,
            ratio: Some(member.noise / self.median),
            z: distance(member.noise),
            p: all.min(alone),
            certain,
        })
    }
}

fn ln(noise: f64, least: f64) -> f64 {
    noise.max(least).max(f64::MIN_POSITIVE).ln()
}

/// Applies Holm's step-down correction: the probability that any member of the family reaches this value by chance.
fn holm(verdicts: &mut [Verdict]) {
    verdicts.sort_by(|a, b| a.p.total_cmp(&b.p).then(a.index.cmp(&b.index)));
    let family = verdicts.len();
    let mut largest = 0.0_f64;
    for (place, verdict) in verdicts.iter_mut().enumerate() {
        largest = largest.max(verdict.p * (family - place) as f64).min(1.0);
        verdict.p = largest;
    }
}

#[cfg(test)]
mod tests;
