//! One run on a side, where earlier runs of the host show how much its runs differ.

use super::contrast::LEVEL;
use super::{Change, ComparedRun, Comparison, Values};
use crate::history::{FEWEST, History, Kind, Past, seconds};
use crate::stats::{Interval, mean};
use schemars::JsonSchema;
use serde::Serialize;

/// What earlier runs of the host show about a single run on a side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OnFile {
    /// Number of earlier runs.
    pub runs: u64,
    /// Start of the first of them, RFC 3339 in UTC; absent if there is none.
    pub first_utc: Option<String>,
    /// Start of the last of them.
    pub last_utc: Option<String>,
    /// Their standard deviation, relative to their noise.
    pub between_runs: Option<f64>,
    /// Time between these runs and the nearest earlier one, in ns, if that is more than all earlier ones lie apart: whether
    /// runs still differ as they did then is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart_ns: Option<u64>,
    /// Why they do not make the verdict; absent if they do.
    pub unusable: Option<String>,
}

/// What the history of the host makes of two sides, one of which has a single run.
pub(super) struct Judged {
    on_file: OnFile,
    found: Option<Found>,
}

/// A verdict.
struct Found {
    probability: f64,
    verdict: Change,
    interval: Option<Interval>,
    detectable: Option<f64>,
}

/// Judges two sides by the earlier runs.
pub(super) fn judge(
    history: &History,
    runs: [&[ComparedRun<'_>]; 2],
    sides: &[Vec<Values>; 2],
) -> Judged {
    let starts = sides.iter().flatten().filter_map(|run| seconds(&run.start_utc));
    let apart_s = history.apart_s(starts);
    let (found, unusable) = match usable(history, runs, sides) {
        Ok(past) => (Some(found(&past, history, sides)), None),
        Err(why) => (None, Some(why)),
    };
    Judged { on_file: on_file(history, apart_s, unusable), found }
}

/// Returns the earlier runs, which lie so far from the sides, and why they show nothing about these, if so.
fn on_file(history: &History, apart_s: f64, unusable: Option<String>) -> OnFile {
    OnFile {
        runs: history.runs.len() as u64,
        first_utc: history.runs.first().map(|run| run.start_utc.clone()),
        last_utc: history.runs.last().map(|run| run.start_utc.clone()),
        between_runs: history.between_runs,
        apart_ns: Some((apart_s * 1e9) as u64)
            .filter(|_| !history.runs.is_empty() && apart_s > history.span_s()),
        unusable,
    }
}

impl Judged {
    /// Makes this the verdict of a comparison.
    pub(super) fn add_to(self, comparison: &mut Comparison) {
        comparison.history = Some(self.on_file);
        if let Some(found) = self.found {
            comparison.verdict = found.verdict;
            comparison.probability = Some(found.probability);
            comparison.interval = found.interval;
            comparison.detectable = found.detectable;
        }
    }
}

/// Returns the logarithms of the noise of earlier runs, or why they show nothing about these.
fn usable(
    history: &History,
    runs: [&[ComparedRun<'_>]; 2],
    sides: &[Vec<Values>; 2],
) -> Result<Past, String> {
    if history.runs.len() < FEWEST {
        return Err(format!("{FEWEST} earlier runs of this kind are needed"));
    }
    let kinds =
        runs.iter().flat_map(|side| side.iter()).map(|compared| Kind::from_run(compared.run));
    if !kinds.into_iter().all(|kind| kind.is_like(&history.kind)) {
        return Err("the sides differ in CPUs, length, threshold, policy or tracing".into());
    }
    let starts = || sides.iter().flatten().filter_map(|run| seconds(&run.start_utc));
    let apart = starts().fold(f64::MIN, f64::max) - starts().fold(f64::MAX, f64::min);
    if apart > history.span_s() {
        return Err("both sides lie farther apart in time than the earlier runs".into());
    }
    let all = sides.iter().flatten().all(|run| run.noise > 0.0);
    history
        .past(|run| (run.noise > 0.0).then(|| run.noise.ln()))
        .filter(|_| all)
        .ok_or_else(|| "a run has no noise".to_owned())
}

fn found(past: &Past, history: &History, sides: &[Vec<Values>; 2]) -> Found {
    let [before, after] = side_means(sides, |run| Some(run.noise.ln())).unwrap_or_default();
    let probability = past.probability(before, after);
    let moved = || {
        let [before, after] = side_means(sides, |run| run.beneath)?;
        Some(history.past(|run| run.beneath)?.probability(before, after) < LEVEL)
    };
    let verdict = match (probability < LEVEL, moved()) {
        (false, _) => Change::NotShown,
        (true, Some(true)) => Change::Unproven,
        (true, _) if after < before => Change::Quieter,
        (true, _) => Change::Noisier,
    };
    let (fall, rise) = (past.shown(before, -1.0), past.shown(before, 1.0));
    let difference = after - before;
    let both = fall.zip(rise);
    Found {
        probability,
        verdict,
        interval: both.map(|(fall, rise)| Interval {
            low: (difference - rise).exp(),
            high: (difference + fall).exp(),
        }),
        detectable: past.detectable().map(f64::exp),
    }
}

/// Returns the means of a value over the runs of each side; absent if a run has none.
fn side_means(sides: &[Vec<Values>; 2], value: fn(&Values) -> Option<f64>) -> Option<[f64; 2]> {
    let side = |side: &Vec<Values>| mean(&side.iter().map(value).collect::<Option<Vec<f64>>>()?);
    Some([side(&sides[0])?, side(&sides[1])?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::LeftOut;
    use crate::history::tests::runs;
    use anechoic_recording::Policy;

    const DAY_S: i64 = 86_400;

    /// Returns the start of a run so many seconds after the first of the history.
    fn start(seconds: i64) -> String {
        let first: jiff::Timestamp = "2026-01-01T03:00:00Z".parse().expect("a time");
        (first + jiff::SignedDuration::from_secs(seconds)).to_string()
    }

    /// One earlier run a day, so that first and last start 19 days apart.
    fn history(noise: f64) -> History {
        let kind = Kind {
            host: "host".into(),
            method: "detours".into(),
            program: None,
            cpus: vec![0],
            wall_ns: 1,
            threshold_ns: 100,
            policy: Policy::from("other"),
            traced: true,
            alternate_ns: None,
            injected: false,
            ended: false,
        };
        History::new(kind, runs(&[noise; 20]), LeftOut::default())
    }

    fn sides(starts: [i64; 2]) -> [Vec<Values>; 2] {
        starts.map(|at| vec![Values { start_utc: start(at), noise: 0.01, ..Values::default() }])
    }

    #[test]
    fn runs_farther_from_the_earlier_ones_than_these_lie_apart_are_marked() {
        let (last, span) = (19 * DAY_S, 19 * DAY_S);
        let cases = [
            ("among them", [0, last], None),
            ("soon after", [last + 3_600, last + 7_200], None),
            ("as long after", [last + span, last + span], None),
            ("a second longer", [last + span + 1, last + span + 9], Some(span + 1)),
            ("before", [-span - 5, -span - 2], Some(span + 2)),
        ];
        for (name, starts, apart_s) in cases {
            let found = judge(&history(0.01), [&[], &[]], &sides(starts)).on_file;
            let apart_ns = apart_s.map(|seconds| seconds as u64 * 1_000_000_000);
            assert_eq!(found.apart_ns, apart_ns, "case: {name}");
            assert_eq!((found.runs, found.unusable), (20, None), "case: {name}");
        }
    }

    #[test]
    fn what_earlier_runs_cannot_judge_is_refused() {
        let span = 19 * DAY_S;
        let far = Some("both sides lie farther apart in time than the earlier runs");
        let cases = [
            ("as far apart", 0.01, [0, span], None),
            ("farther apart", 0.01, [0, span + 1], far),
            ("without noise", 0.0, [0, 1], Some("a run has no noise")),
        ];
        for (name, noise, starts, expected) in cases {
            let found = judge(&history(noise), [&[], &[]], &sides(starts));
            assert_eq!(found.on_file.unusable.as_deref(), expected, "case: {name}");
            assert_eq!(found.found.is_none(), expected.is_some(), "case: {name}");
        }
    }

    /// 20 earlier runs, of which the noise below the kernel is a hundredth; the sides have one run each.
    #[test]
    fn a_change_is_shown_if_hardly_any_two_earlier_runs_differ_as_much() {
        let noise: Vec<f64> =
            (0..20).map(|at| 0.01 * (0.01 * f64::from(at * 7 % 20)).exp()).collect();
        let mut past_runs = runs(&noise);
        past_runs.iter_mut().for_each(|run| run.beneath = Some(run.noise / 100.0));
        let history = History { runs: past_runs, ..history(0.01) };
        let past = history.past(|run| Some(run.noise.ln())).expect("noise");
        let cases = [
            ("the same", 0.011, Some(1.1e-4), Change::NotShown),
            ("a tenth", 0.0121, Some(1.1e-4), Change::NotShown),
            ("twice", 0.022, Some(1.1e-4), Change::Noisier),
            ("half", 0.0055, Some(1.1e-4), Change::Quieter),
            ("twice, below it is not known", 0.022, None, Change::Noisier),
            ("twice, below it too", 0.022, Some(2.2e-4), Change::Unproven),
            ("half, below it too", 0.0055, Some(0.5e-4), Change::Unproven),
        ];
        for (name, after, beneath, expected) in cases {
            let mut sides = sides([0, 60]);
            (sides[0][0].noise, sides[0][0].beneath) = (0.011, Some(1.1e-4));
            (sides[1][0].noise, sides[1][0].beneath) = (after, beneath);
            let judged = judge(&history, [&[], &[]], &sides).found.expect("it can be judged");
            assert_eq!(judged.verdict, expected, "case: {name}");
            let (before, after) = (0.011_f64.ln(), after.ln());
            let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
            assert!(close(judged.probability, past.probability(before, after)), "case: {name}");
            let [fall, rise] = [-1.0, 1.0].map(|to| past.shown(before, to).expect("a change"));
            let interval = judged.interval.expect("both ways show a change");
            assert!(close(interval.low, (after - before - rise).exp()), "case: {name}");
            assert!(close(interval.high, (after - before + fall).exp()), "case: {name}");
            assert_eq!(judged.detectable, past.detectable().map(f64::exp), "case: {name}");
            let names = ["before".to_owned(), "after".to_owned()];
            let mut comparison = super::super::compare_values(names, sides.clone());
            judge(&history, [&[], &[]], &sides).add_to(&mut comparison);
            let verdict = (comparison.verdict, comparison.probability, comparison.interval);
            assert_eq!(verdict, (expected, Some(judged.probability), Some(interval)), "{name}");
            assert_eq!(comparison.detectable, judged.detectable, "case: {name}");
            assert_eq!(comparison.history.map(|history| history.runs), Some(20), "case: {name}");
        }
    }
}
