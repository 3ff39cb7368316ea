//! Results that are found while measuring, and in no recording.

use super::described::Grouping;
use super::row::{Print, Row};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_recording::Recording;
use anechoic_recording::check::Check;

/// What of injected noise was seen.
pub(crate) static VERIFICATION: Row<Verification> = Row {
    verdict: |found, _| found.verdict(),
    facts: |found| Some(&found.run),
    print: Some(Print::with(crate::verification)),
    ..Row::new("verification", "injected noise, asked for, delivered and seen", Grouping::Live)
};

/// What of known noise this machine sees.
pub(crate) static SELF_TEST: Row<SelfTestResult> = Row {
    verdict: of_self_test,
    print: Some(Print::with(crate::self_test)),
    ..Row::new("self-test", "known noise, and what is seen of it here", Grouping::Live)
};

/// What can be measured on this machine.
pub(crate) static CHECK: Row<Check> = Row {
    print: Some(Print::with(crate::check)),
    ..Row::new("check", "what can be measured here", Grouping::Live)
};

/// Nothing where no noise came, a warning where some of it was not as it should be, could not be made, or the result
/// was not kept.
fn of_self_test(result: &SelfTestResult, _: &[&Recording]) -> Verdict {
    if result.self_test.is_none() {
        return Verdict::Nothing;
    }
    let good = result.kinds.iter().all(|kind| kind.verdict() == Verdict::Good);
    let all = result.not_available.is_empty() && result.not_stored.is_none();
    if good && all { Verdict::Good } else { Verdict::Warning }
}
