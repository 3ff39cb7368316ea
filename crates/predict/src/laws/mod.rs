//! The laws of Tsafrir 2007 for noise of one delay: how likely a phase of a parallel job is delayed, what that costs, and
//! up to how many ranks the linear forms hold.

mod observed;

pub use observed::Observed;

use crate::phases::{ClosedForm, RANKS};
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, ProblemKind, Recording};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// The options.
pub static OPTIONS: &[OptionRow] = &[
    OptionRow::new("delay", Value::Duration, "TIME", "Delay D that a noise event adds to a phase")
        .default("1ms"),
    OptionRow::new(
        "every",
        Value::Duration,
        "TIME",
        "Time from the end of one event on a rank to the next; about 1ms for ticks at 1,000 Hz",
    )
    .default("10s"),
    OptionRow::new(
        "grain",
        Value::Duration,
        "TIME",
        "Work G between two synchronisations, without noise; a list",
    )
    .many()
    .default("1ms,2ms,5ms,10ms"),
    OptionRow::new(
        "ranks",
        RANKS,
        "LIST",
        "Numbers of ranks: a list like 1,64,1e5, or decades like 1..1e7",
    )
    .default("1..1e6"),
];

/// Largest relative error of the linear forms where they hold (Tsafrir 2007): p·n/2 with p·n up to a tenth.
pub const LINEAR_ERROR: f64 = 0.05;
/// Up to this product of p and the number of ranks the linear forms hold.
const LINEAR_UP_TO: f64 = 0.1;

/// The laws for some grains and numbers of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Laws {
    /// Delay D that an event adds to a phase, in ns.
    pub delay_ns: u64,
    /// Time from the end of one event on a rank to the next, in ns: free time, in which the rank computes.
    pub every_ns: u64,
    /// The delays that D and the time between two are from; absent if these were given.
    pub observed: Option<Observed>,
    /// Grains that were left out, because several of the observed delays fall into one of them.
    pub too_long_ns: Vec<u64>,
    /// The laws of each grain.
    pub grains: Vec<GrainLaws>,
}

/// The laws for one grain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GrainLaws {
    /// Work G between two synchronisations, in ns.
    pub grain_ns: u64,
    /// Probability p that a phase of one rank is delayed: the rate of the events times the grain, at most 1.
    pub p: f64,
    /// Largest number of ranks up to which the linear forms hold: p ≤ 1/(10·ranks). 0 if they hold for none.
    pub linear_up_to: u64,
    /// Limit of the slowdown for many ranks: 1 + D/G.
    pub limit: f64,
    /// The laws for each number of ranks.
    pub ranks: Vec<RankLaws>,
}

/// The laws for one number of ranks n.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RankLaws {
    /// Number of ranks n.
    pub ranks: u64,
    /// Probability that a phase of the job is delayed: 1 − (1 − p)^n.
    pub probability: f64,
    /// Its linear form p·n, which exceeds 1 where it does not hold.
    pub linear: f64,
    /// Its exponential form 1 − e^(−p·n).
    pub exponential: f64,
    /// Slowdown 1 + probability · D/G.
    pub slowdown: f64,
    /// Its linear form 1 + n · D / time between two events.
    pub linear_slowdown: f64,
    /// Whether the linear forms hold: p ≤ 1/(10·n), so their relative error is at most 5.1 %.
    pub linear_holds: bool,
}

/// Returns the laws for the values of [`OPTIONS`]. With a recording, D and the time between two events are those of the
/// samples or detours in it.
///
/// # Errors
///
/// A duration is 0, several delays fall into one phase, or no sample of the recording is delayed.
pub fn laws(answers: &Answers, recording: Option<&Recording>) -> Result<Laws, Problem> {
    let observed = recording.map(Observed::from_recording).transpose()?;
    let (delay_ns, every_ns) = match &observed {
        Some(observed) => (observed.delay_ns(), observed.every_ns()),
        None => {
            (duration("delay", answers.one("delay")?)?, duration("every", answers.one("every")?)?)
        }
    };
    let grains: Vec<u64> = answers
        .all::<Duration>("grain")
        .into_iter()
        .map(|grain| duration("grain", grain))
        .collect::<Result<_, _>>()?;
    let (grains, too_long_ns): (Vec<u64>, Vec<u64>) =
        grains.into_iter().partition(|&grain_ns| grain_ns <= every_ns);
    let is_observed = observed.is_some();
    if grains.is_empty() || !(is_observed || too_long_ns.is_empty()) {
        return Err(several(is_observed, every_ns));
    }
    let ranks: Vec<u64> = answers.one("ranks")?;
    let grain = |grain_ns| grain_laws(grain_ns, (delay_ns, every_ns), &ranks);
    let grains = grains.into_iter().map(grain).collect();
    Ok(Laws { delay_ns, every_ns, observed, too_long_ns, grains })
}

/// Returns an error: the laws are those of at most one delay in a phase.
fn several(is_observed: bool, every_ns: u64) -> Problem {
    if is_observed {
        let why = format!(
            "delays come every {:?}, so several fall into one phase",
            Duration::from_nanos(every_ns)
        );
        let remedy = "give shorter grains with --grain, or use `anechoic predict phases`";
        return ProblemKind::Usage.problem(why, remedy);
    }
    let why = "--every is shorter than a grain: several delays would fall into one phase";
    ProblemKind::Usage.problem(why, "give a longer --every, or shorter grains with --grain")
}

fn duration(name: &str, time: Duration) -> Result<u64, Problem> {
    let ns = u64::try_from(time.as_nanos()).ok().filter(|&ns| ns > 0);
    let wrong =
        || ProblemKind::Usage.problem(format!("--{name} is 0 or too long"), "give a time like 1ms");
    ns.ok_or_else(wrong)
}

fn grain_laws(grain_ns: u64, (delay_ns, every_ns): (u64, u64), ranks: &[u64]) -> GrainLaws {
    let (grain, delay, every) = (grain_ns as f64, delay_ns as f64, every_ns as f64);
    let p = (grain / every).min(1.0);
    let form = ClosedForm { from_ns: None, p, delay_ns: delay, limit: 1.0 + delay / grain };
    // A product of exactly a tenth holds, however it is rounded.
    let most = LINEAR_UP_TO * (1.0 + 1e-12);
    let laws = ranks.iter().map(|&ranks| {
        let linear = p * ranks as f64;
        RankLaws {
            ranks,
            probability: form.probability(ranks),
            linear,
            exponential: -f64::exp_m1(-linear),
            slowdown: form.slowdown(ranks),
            linear_slowdown: 1.0 + ranks as f64 * delay / every,
            linear_holds: linear <= most,
        }
    });
    let (linear_up_to, ranks) = ((most / p) as u64, laws.collect());
    GrainLaws { grain_ns, p, linear_up_to, limit: form.limit, ranks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws_with(options: &[(&'static str, &str)]) -> Laws {
        laws(&Answers::read(OPTIONS, options).expect("sound"), None).expect("laws")
    }

    /// Figure 9: a delay of 1 ms every ten seconds comes to a slowdown of 2 at 1 ms and of 1.1 at 10 ms.
    #[test]
    fn figure_9() {
        let found = laws_with(&[]);
        let limits: Vec<f64> = found.grains.iter().map(|grain| grain.limit).collect();
        assert_eq!(limits, [2.0, 1.5, 1.2, 1.1]);
        let first = &found.grains[0];
        assert_eq!((first.p, first.linear_up_to), (1e-4, 1_000));
        let last = first.ranks.last().expect("a million");
        assert!((last.slowdown - 2.0).abs() < 1e-9 && !last.linear_holds, "{last:?}");
    }

    /// Section 3.1: within 5 % while p is at most 1/(10n), where the probability is about a tenth.
    #[test]
    fn the_linear_law_and_its_limit() {
        for grain in laws_with(&[("ranks", "1,3,1..1e6"), ("every", "7s")]).grains {
            for law in &grain.ranks {
                let off = law.linear / law.probability - 1.0;
                assert!((-1e-9..=LINEAR_ERROR).contains(&off) || !law.linear_holds, "{law:?}");
                assert_eq!(law.linear_holds, law.ranks <= grain.linear_up_to, "{law:?}");
                // Nothing is lost to rounding at small p.
                assert!((law.exponential / law.probability - 1.0).abs() < grain.p, "{law:?}");
                let slowdown = 1.0 + law.linear * 1e6 / grain.grain_ns as f64;
                assert!((law.linear_slowdown - slowdown).abs() < 1e-9, "{law:?}");
            }
            let (n, p) = (grain.linear_up_to as f64, grain.p);
            assert!((1.0 - (1.0 - p).powf(n) - 0.095).abs() < 0.005);
        }
    }

    /// The time from the end of one event to the next is free of delays, so it may be shorter than they are: a rank then
    /// takes 1/(1 − noise) of its work.
    #[test]
    fn a_delay_may_be_longer_than_the_time_to_the_next() {
        let long =
            laws_with(&[("delay", "2ms"), ("every", "1500us"), ("grain", "1ms"), ("ranks", "1")]);
        let law = long.grains[0].ranks[0];
        let noise = 2.0 / (2.0 + 1.5);
        assert!((law.slowdown - 1.0 / (1.0 - noise)).abs() < 1e-12, "{law:?}");
        assert!((law.linear_slowdown - law.slowdown).abs() < 1e-12, "{law:?}");
    }

    /// Ticks of 20 us at a rate of HZ leave 1/HZ − D free. One rank loses D in each of these: 1 + D/(1/HZ − D).
    #[test]
    fn ticks_of_one_rank() {
        let ticks = laws_with(&[
            ("delay", "20us"),
            ("every", "980us"),
            ("grain", "98us,980us"),
            ("ranks", "1"),
        ]);
        let one = [0, 1].map(|at: usize| {
            let grain = &ticks.grains[at];
            (grain.p, grain.ranks[0].linear_slowdown)
        });
        let slowdown = 1.0 / (1.0 - 1_000.0 * 20e-6);
        assert_eq!(one.map(|(p, _)| p), [0.1, 1.0]);
        assert!(one.iter().all(|(_, linear)| (linear - slowdown).abs() < 1e-12), "{one:?}");
        assert!((ticks.grains[0].ranks[0].slowdown - slowdown).abs() < 1e-12);
        assert_eq!(ticks.grains[1].linear_up_to, 0);
        assert!(Answers::read(OPTIONS, &[("every", "0s")]).is_err());
        let several = Answers::read(OPTIONS, &[("every", "1ms"), ("grain", "5ms")]).expect("sound");
        assert!(laws(&several, None).is_err(), "five delays in a phase");
    }
}
