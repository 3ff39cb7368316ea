//! CPUs and hosts that are far noisier than the others of their class, with p-values.

use crate::stats::{NORMAL, median, normal_above, probability_above, probability_of_more};
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looked<'a> {
    /// Class in which it is compared.
    pub class: &'a str,
    /// Noise of the member.
    pub noise: f64,
    /// The noise that it exceeds with a probability of 97.5 %; 0 if that is not known.
    pub low: f64,
    /// Noise of a single detour, which is the resolution; above 0.
    pub least: f64,
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
    /// Probability of such a value among all tested members if there were no outliers.
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
    /// Number of events of all members.
    events: f64,
    /// Spread of the logarithms; absent for too few members.
    spread: Option<f64>,
    count: usize,
}

/// Tests each member against the others of its class; all tests form one family (Holm 1979).
///
/// The logarithm of noise is compared with the median of the class, in units of 1.4826 times the median absolute
/// deviation; neither changes if up to half of the class are outliers. If the others are log-normal, that ratio has
/// tails like Student's t with (n − 1)/2 degrees of freedom once it is divided by n/(n − 0.8) · √(1 + π/2n), the error
/// of both in small samples. With this choice p is never too small in simulations of 8 to 256 equal CPUs (the test
/// below).
///
/// Only noisier members are outliers, and only if their own lower bound lies above the median, because one long detour
/// does not make a noisy CPU.
///
/// Where most members of a class have no noise, median and spread say nothing. Then events are counted: as many of equal
/// length as would make the lower bound of a member as uncertain as it is. If all members had the same rate, the share
/// of one in the events of all would be binomial. Returns those with p below [`ALPHA`], and each class.
pub(crate) fn judge(looked: &[Looked<'_>]) -> (Vec<Verdict>, Vec<ClassSpread>) {
    let mut by_class: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, one) in looked.iter().enumerate() {
        by_class.entry(one.class).or_default().push(index);
    }
    let (mut verdicts, mut classes) = (vec![], vec![]);
    for (class, members) in by_class {
        let middle = Middle::of(members.iter().map(|&member| looked[member]));
        classes.push(ClassSpread {
            class: class.to_owned(),
            count: members.len() as u64,
            median: middle.median,
            spread: middle.spread,
        });
        verdicts.extend(members.iter().filter_map(|&index| middle.verdict(index, looked[index])));
    }
    holm(&mut verdicts);
    verdicts.retain(|verdict| verdict.p < ALPHA && verdict.certain);
    verdicts.sort_by_key(|verdict| verdict.index);
    (verdicts, classes)
}

impl Middle {
    fn of<'a>(members: impl Iterator<Item = Looked<'a>> + Clone) -> Self {
        let events = members.clone().map(events).sum();
        let (mut noise, mut logs): (Vec<f64>, Vec<f64>) =
            members.map(|member| (member.noise, ln(member))).unzip();
        let (count, ln_median) = (logs.len(), median(&mut logs));
        let mut deviations: Vec<f64> = logs.iter().map(|ln| (ln - ln_median).abs()).collect();
        let n = count as f64;
        let robust = OF_NORMAL * median(&mut deviations) * n / (n - 0.8);
        let spread = robust.max(LEAST_SPREAD.ln_1p());
        let spread = (count >= FEWEST).then_some(spread);
        Self { ln_median, median: median(&mut noise), events, spread, count }
    }

    /// Returns the p-value of this member alone; absent if the class is too small.
    fn verdict(&self, index: usize, of: Looked<'_>) -> Option<Verdict> {
        let n = self.count as f64;
        if self.median <= 0.0 {
            let p = probability_of_more(events(of), self.events, 1.0 / n).max(f64::MIN_POSITIVE);
            return self.spread.map(|_| Verdict {
                index,
                ratio: None,
                z: normal_above(p),
                p,
                certain: of.low > 0.0,
            });
        }
        let z = (ln(of) - self.ln_median) / self.spread?;
        let t = z / (1.0 + std::f64::consts::FRAC_PI_2 / n).sqrt();
        Some(Verdict {
            index,
            ratio: Some(of.noise / self.median),
            z,
            p: probability_above(t, (n - 1.0) / 2.0),
            certain: of.low > self.median,
        })
    }
}

/// Returns the number of equal events whose sum would be as uncertain as the noise of this member is by its lower bound.
fn events(of: Looked<'_>) -> f64 {
    if of.low <= 0.0 || of.noise <= 0.0 {
        return 0.0;
    }
    let relative_error = ((of.noise / of.low).ln() / NORMAL).max(1e-3);
    relative_error.powi(-2).round()
}

fn ln(of: Looked<'_>) -> f64 {
    of.noise.max(of.least).max(f64::MIN_POSITIVE).ln()
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
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    fn looked(noise: &[f64]) -> Vec<Looked<'static>> {
        let one = |&noise: &f64| Looked { class: "a", noise, low: noise * 0.9, least: 1e-8 };
        noise.iter().map(one).collect()
    }

    /// Of about 1 %, spread by a tenth.
    const TWELVE: [f64; 12] = [
        0.0090, 0.0110, 0.0100, 0.0095, 0.0105, 0.0092, 0.0108, 0.0098, 0.0102, 0.0097, 0.0103,
        0.0112,
    ];

    #[test]
    fn who_is_an_outlier() {
        let with = |more: &[f64]| [&TWELVE[..], more].concat();
        let cases: [(&str, Vec<f64>, &[usize]); 10] = [
            ("none", with(&[]), &[]),
            ("one nine times as noisy", with(&[0.09]), &[12]),
            ("two would hide each other from a mean", with(&[0.09, 0.08]), &[12, 13]),
            ("a quieter one is none", with(&[0.0001]), &[]),
            ("without any detour", with(&[0.0]), &[]),
            ("two are too few", vec![0.01, 0.9], &[]),
            ("seven are too few", [vec![0.01; 6], vec![0.9]].concat(), &[]),
            ("all equal but one", [vec![0.01; 11], vec![0.05]].concat(), &[11]),
            ("by a hair", [vec![0.01; 11], vec![0.0101]].concat(), &[]),
            ("all quiet but one", [vec![0.0; 11], vec![0.01]].concat(), &[11]),
        ];
        for (name, noise, expected) in cases {
            let (verdicts, _) = judge(&looked(&noise));
            let found: Vec<usize> = verdicts.iter().map(|verdict| verdict.index).collect();
            assert_eq!(found, expected, "case: {name}: {verdicts:?}");
        }
        assert_eq!(judge(&[]), (vec![], vec![]));
    }

    #[test]
    fn few_long_detours_make_no_noisy_cpu() {
        let mut values = looked(&[&[0.0; 11][..], &[0.005]].concat());
        for (events, expected) in [(0.0_f64, 0), (1.0, 0), (2.0, 0), (9.0, 1)] {
            let error = if events > 0.0 { NORMAL / events.sqrt() } else { f64::INFINITY };
            values[11].low = 0.005 / error.exp();
            assert_eq!(judge(&values).0.len(), expected, "{events} events");
        }
    }

    /// Isolated CPUs of which most see no event at all in a run, and all have the same rate.
    #[test]
    fn chance_alone_makes_no_outliers_of_silent_cpus() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let mut exponential = || -random.random_range(f64::EPSILON..1.0).ln();
        for (n, rate) in [(8, 0.3), (64, 0.02), (64, 0.3), (64, 0.65), (256, 0.1)] {
            let runs = 100_000 / n;
            let mut member = || {
                let (mut at, mut sum, mut squares) = (exponential(), 0.0, 0.0);
                while at < rate {
                    let length = exponential();
                    (at, sum, squares) =
                        (at + exponential(), sum + length, squares + length * length);
                }
                let noise = sum * 1e-4;
                let low =
                    if sum > 0.0 { noise * (-NORMAL * squares.sqrt() / sum).exp() } else { 0.0 };
                Looked { class: "a", noise, low, least: 1e-9 }
            };
            let mut alarm = || {
                let members: Vec<Looked<'static>> = (0..n).map(|_| member()).collect();
                !judge(&members).0.is_empty()
            };
            let found = (0..runs).filter(|_| alarm()).count() as f64 / runs as f64;
            let error = (ALPHA / runs as f64).sqrt();
            assert!(
                found < ALPHA + 3.0 * error,
                "{n} CPUs, {rate} events each: {found} of the time"
            );
        }
    }

    #[test]
    fn classes_are_judged_apart_and_p_is_for_all_of_them() {
        // A slow class of 3 % beside a fast one of 1 %: neither is an outlier of the other.
        let slow = TWELVE.map(|noise| 3.0 * noise);
        let mut values = looked(&[&TWELVE[..], &slow, &[0.05]].concat());
        values[12..24].iter_mut().for_each(|value| value.class = "slow");
        let (verdicts, classes) = judge(&values);
        let counts: Vec<_> = classes.iter().map(|of| (of.class.as_str(), of.count)).collect();
        assert_eq!(counts, [("a", 13), ("slow", 12)]);
        let [one] = &verdicts[..] else { panic!("{verdicts:?}") };
        assert_eq!((one.index, one.ratio), (24, Some(0.05 / 0.0102)));
        let alone = judge(&[&values[..12], &values[24..]].concat()).0[0].p;
        assert!((one.p / alone - 25.0 / 13.0).abs() < 1e-9, "{} of 13, {} of 25", alone, one.p);
    }

    #[test]
    fn chance_alone_makes_no_more_outliers_than_stated() {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let mut normal = || {
            let (u, v): (f64, f64) = (random.random_range(f64::EPSILON..1.0), random.random());
            (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
        };
        for n in [FEWEST, 9, 16, 64] {
            let runs = 200_000 / n;
            let mut alarm = || {
                let noise: Vec<f64> = (0..n).map(|_| (normal() - 5.0).exp()).collect();
                let values = looked(&noise);
                let certain = |v: &Looked<'static>| Looked { low: v.noise, ..*v };
                !judge(&values.iter().map(certain).collect::<Vec<_>>()).0.is_empty()
            };
            let rate = (0..runs).filter(|_| alarm()).count() as f64 / runs as f64;
            let error = (ALPHA / runs as f64).sqrt();
            assert!(rate < ALPHA + 3.0 * error, "{n} equal ones: {rate} of the time");
        }
    }
}
