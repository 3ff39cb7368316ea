//! `max-late`: the share of the wake-ups that are later than a length.

use super::rate::needed_times;
use super::{Judge, Rule, RuleRow, Scope, Unit, hides};
use crate::gate::counts::Counts;
use crate::gate::doubts::percentage;
use crate::gate::woken::Woken;
use crate::gate::{Doubt, Finding, JudgedWakeups, Outcome};
use crate::stats::{dispersion, fewest_events, most_events};

/// The rule.
pub(super) static LATE: RuleRow = RuleRow {
    id: "max-late",
    value_name: ">LENGTH=SHARE",
    help: "Recordings of `measure wakeup` and of cyclictest: largest share of the wake-ups that take longer than a length: '>50us=1/1e6', '>50us=0.01%'",
    scope: Scope::Length,
    unit: Unit::WakeupShare,
    limit: share,
    judge: Judge::Wakeups { wakeups: judge, counts: judge_counts },
};

/// What is known about the number of late wake-ups.
struct Late {
    /// Number that certainly were, and number that may have been.
    events: [f64; 2],
    dispersion: f64,
    samples: u64,
    wall_ns: u64,
}

impl Late {
    /// Judges their share by the bounds of a Poisson mean (Garwood 1936).
    fn judge(&self, rule: &Rule, found: Finding) -> Finding {
        let samples = self.samples.max(1) as f64;
        let [seen, possible] = self.events;
        let at_least = fewest_events(seen, self.dispersion) / samples;
        let at_most = (most_events(possible, self.dispersion) / samples).min(1.0);
        let outcome = Outcome::from_bounds(rule.limit, at_least, Some(at_most));
        let times = (outcome == Outcome::Undecided)
            .then(|| needed_times(rule.limit * samples, (possible, self.dispersion)));
        Finding {
            outcome,
            value: seen / samples,
            at_least,
            at_most: Some(at_most),
            needed_ns: times.flatten().map(|times| (times * self.wall_ns as f64) as u64),
            ..found
        }
    }
}

fn judge(rule: &Rule, woken: &Woken) -> Finding {
    let seen = woken.number() as f64;
    // Each expiry that passed while the thread was late, or whose wake-up was lost, may have been late.
    let uncertain = woken.lost.saturating_add(woken.overruns);
    let late = Late {
        events: [seen, seen + uncertain as f64],
        dispersion: dispersion(&woken.late),
        samples: woken.samples.saturating_add(uncertain),
        wall_ns: woken.wall_ns,
    };
    late.judge(rule, Finding { uncertain, ..woken.finding() })
}

/// They are taken to be independent, because their times are not known.
fn judge_counts(rule: &Rule, counts: &Counts<'_>) -> Result<Finding, Doubt> {
    let length_ns = rule.longer_than_ns.unwrap_or(0);
    let number = counts.longer_than(length_ns);
    let samples = counts.all();
    if samples == 0 {
        return Err(Doubt::NotMeasured { cpu: Some(counts.cpu) });
    }
    let late = Late {
        events: [number.at_least as f64, number.at_most.saturating_add(counts.lost) as f64],
        dispersion: 1.0,
        samples: samples.saturating_add(counts.lost),
        wall_ns: counts.wall_ns,
    };
    let found = Finding {
        wakeups: Some(JudgedWakeups { samples, kind: None }),
        doubt: hides(counts.threshold_ns, length_ns),
        ..counts.finding(number)
    };
    Ok(late.judge(rule, found))
}

/// Reads a share over 0: `1/1e6` or `0.01%`.
fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.split_once('/') {
        Some((part, whole)) => number(part).zip(number(whole)).map(|(part, whole)| part / whole),
        None => percentage(text).ok(),
    };
    share.filter(|share| *share > 0.0 && *share <= 1.0).ok_or_else(|| {
        format!("'{text}' is not a share over 0; write one, for example 1/1e6 or 0.01%")
    })
}
