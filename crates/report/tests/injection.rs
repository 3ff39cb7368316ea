//! The screens of injected noise, each beside the one that was looked at and found good.

use crate::made::{self, injected};
use anechoic_analyze::{SelfTestResult, Verification};
use anechoic_report::{Screen, View};

fn narrow(screen: &Screen) -> String {
    let text = screen.to_text(&View::default());
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "a line has {widest:?} columns:\n{text}");
    text
}

fn verification(found: &Verification) -> String {
    narrow(&anechoic_report::verification(found, &View::default()))
}

fn self_test(found: &SelfTestResult) -> String {
    narrow(&anechoic_report::self_test(found, &View::default()))
}

#[test]
fn verifications() {
    insta::assert_snapshot!("kernel", verification(&injected::kernel()));
    insta::assert_snapshot!("interrupts", verification(&injected::interrupts()));
    insta::assert_snapshot!("trouble", verification(&injected::trouble()));
    insta::assert_snapshot!("untraced", verification(&injected::untraced()));
}

#[test]
fn self_tests() {
    insta::assert_snapshot!("self_test", self_test(&injected::self_tested()));
    insta::assert_snapshot!("self_test_nothing", self_test(&injected::nothing_tested()));
}

/// One line of a summary says how the tool did when it was tested.
#[test]
fn summaries_tell_of_the_last_self_test() {
    let mut summary = made::summary();
    let screen = |summary: &anechoic_analyze::Summary| {
        let all_rows = View { all: true, ..View::default() };
        let all = narrow(&anechoic_report::summary(summary, &all_rows));
        let lines: Vec<String> =
            all.lines().skip_while(|l| !l.starts_with("self-test")).map(str::to_owned).collect();
        lines.into_iter().take(2).collect::<Vec<_>>()
    };
    assert!(screen(&summary).is_empty(), "there was none");
    summary.run.self_test = Some(injected::self_test());
    let expected = "self-test      2026-11-21: 1,300 of 1,300 found, duration error +0.19 µs (0.11";
    let found = screen(&summary);
    assert_eq!((found[0].as_str(), found[1].as_str()), (expected, "               to 0.27)"));
    summary.run.self_test.as_mut().expect("just set").kinds.truncate(1);
    let found = screen(&summary);
    assert_eq!(found[0], "self-test      2026-11-21: 1,000 of 1,000 found");
}
