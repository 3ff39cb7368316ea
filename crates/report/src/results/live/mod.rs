//! Results that are obtained while measuring and are in no recording.

pub(crate) mod check;
pub(crate) mod injection;
pub(crate) mod self_test;
pub(crate) mod settings;

use super::described::Grouping;
use super::row::{Print, Row};
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_recording::check::Check;
use anechoic_recording::tunable::TunableStates;

/// The row of what was seen of injected noise.
pub static VERIFICATION: Row<Verification> = Row {
    verdict: |found, _| found.verdict(),
    facts: |found| Some(&found.run),
    print: Some(Print::with(injection::verification)),
    ..Row::new("verification", "injected noise: requested, delivered and seen", Grouping::Live)
};

/// The row of the self-test.
pub static SELF_TEST: Row<SelfTestResult> = Row {
    verdict: |result, _| result.verdict(),
    print: Some(Print::with(self_test::self_test)),
    ..Row::new("self-test", "detection of known noise on this machine", Grouping::Live)
};

/// The row of what can be measured on this machine.
pub static CHECK: Row<Check> = Row {
    print: Some(Print::with(check::check)),
    ..Row::new("check", "what can be measured on this machine", Grouping::Live)
};

/// The row of the settings of this machine that can be tried.
pub static SETTINGS: Row<TunableStates> = Row {
    print: Some(Print::with(settings::settings)),
    ..Row::new("settings", "settings that can be tried on this machine", Grouping::Live)
};
