//! Results that are obtained while measuring and are in no recording.

use super::described::Grouping;
use super::row::{Print, Row};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_recording::Recording;
use anechoic_recording::check::Check;

/// The row of what was seen of injected noise.
pub(crate) static VERIFICATION: Row<Verification> = Row {
    verdict: |found, _| found.verdict(),
    facts: |found| Some(&found.run),
    print: Some(Print::with(crate::verification)),
    ..Row::new("verification", "injected noise: requested, delivered and seen", Grouping::Live)
};

/// The row of the self-test.
pub(crate) static SELF_TEST: Row<SelfTestResult> = Row {
    verdict: of_self_test,
    print: Some(Print::with(crate::self_test)),
    ..Row::new("self-test", "detection of known noise on this machine", Grouping::Live)
};

/// The row of what can be measured on this machine.
pub(crate) static CHECK: Row<Check> = Row {
    print: Some(Print::with(crate::check)),
    ..Row::new("check", "what can be measured on this machine", Grouping::Live)
};

/// Returns `Nothing` if no noise was delivered, and `Warning` if some of it deviated or could not be injected, or if
/// the result could not be stored.
fn of_self_test(result: &SelfTestResult, _: &[&Recording]) -> Verdict {
    if result.self_test.is_none() {
        return Verdict::Nothing;
    }
    let good = result.kinds.iter().all(|kind| kind.verdict() == Verdict::Good);
    let all = result.not_available.is_empty() && result.not_stored.is_none();
    if good && all { Verdict::Good } else { Verdict::Warning }
}
