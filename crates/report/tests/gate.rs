//! The screen of a gate, its Markdown and its JUnit XML.

use anechoic_analyze::gate::{
    Doubt, Doubtful, Finding, Gate, Judged, JudgedWakeups, LargestSource, Outcome, Requirements,
    RuleOutcome, Unit,
};
use anechoic_analyze::wakeup::Kind;
use anechoic_report::{View, gate, gate_junit, gate_markdown};

const SECOND: u64 = 1_000_000_000;

fn finding(cpu: u32, outcome: Outcome, value: f64, bounds: (f64, f64), events: u64) -> Finding {
    Finding {
        recording: Some(0),
        cpu: Some(cpu),
        program: None,
        runs: None,
        outcome,
        value,
        at_least: bounds.0,
        at_most: Some(bounds.1),
        events,
        uncertain: 0,
        wall_ns: 10 * SECOND,
        wakeups: None,
        needed_ns: None,
        doubt: None,
        largest_source: None,
    }
}

fn rule(name: &str, given: &str, unit: Unit, limit: f64, findings: Vec<Finding>) -> RuleOutcome {
    RuleOutcome {
        rule: name.into(),
        given: given.into(),
        source: None,
        longer_than_ns: None,
        unit,
        limit,
        outcome: findings.iter().map(|finding| finding.outcome).max().unwrap_or(Outcome::Undecided),
        decisive: findings.len().checked_sub(1).map(|last| last as u64),
        findings,
        doubts: vec![],
    }
}

fn judged(path: &str) -> Judged {
    Judged {
        path: path.into(),
        host: "node17".into(),
        start_utc: "2026-05-09T07:31:17.25Z".into(),
        wall_ns: 10 * SECOND,
        program: None,
        threshold_ns: 70,
        hypervisor: None,
        cpus: vec![0, 1],
        counts_only: false,
        doubts: vec![],
        doubts_of_sources: vec![],
    }
}

/// Every kind of rule with every outcome, and hostile names.
fn every_kind() -> Gate {
    use Outcome::{Fail, Pass, Undecided};
    let needed =
        |finding: Finding, seconds| Finding { needed_ns: Some(seconds * SECOND), ..finding };
    let together = |finding: Finding| Finding { cpu: None, recording: None, ..finding };
    let mostly = |source: &str, name: &str, share, finding: Finding| {
        let largest = LargestSource { source: source.into(), name: name.into(), share };
        Finding { largest_source: Some(largest), ..finding }
    };
    let doubtful = |rule: RuleOutcome, doubts: Vec<Doubt>| {
        let doubts = doubts.into_iter().map(|doubt| Doubtful { recording: Some(0), doubt });
        RuleOutcome { outcome: Undecided, doubts: doubts.collect(), ..rule }
    };
    let share =
        |given: &str, limit, findings| rule("max-noise", given, Unit::Share, limit, findings);
    let rate =
        |given: &str, limit, findings| rule("max-rate", given, Unit::PerSecond, limit, findings);
    let detour =
        |given: &str, findings| rule("max-detour", given, Unit::Nanoseconds, 50_000.0, findings);
    let slow = |given: &str, limit, found: Finding| {
        rule("max-slow", given, Unit::SlowShare, limit, vec![found])
    };
    let increase = |outcome, value, bounds| {
        let findings = vec![together(finding(0, outcome, value, bounds, 5))];
        rule("max-increase", "10%", Unit::Increase, 0.1, findings)
    };
    let rules = vec![
        share(
            "1%",
            0.01,
            vec![
                finding(0, Pass, 0.001, (0.0008, 0.0012), 90),
                finding(1, Pass, 0.005, (0.004, 0.006), 900),
            ],
        ),
        share(
            "0.1%",
            0.001,
            vec![
                finding(0, Fail, 0.004, (0.003, 0.005), 90),
                mostly(
                    "thread",
                    "evil\u{1b}[31m",
                    0.984,
                    finding(1, Fail, 0.005, (0.004, 0.006), 900),
                ),
            ],
        ),
        RuleOutcome {
            source: Some("timer-tick".into()),
            ..share(
                "timer-tick=0.1%",
                0.001,
                vec![mostly("timer-tick", "", 1.0, finding(1, Fail, 0.005, (0.004, 0.006), 900))],
            )
        },
        share(
            "0.2%",
            0.002,
            vec![Finding { at_most: None, ..finding(1, Undecided, 0.0, (0.0, 0.0), 0) }],
        ),
        share("thread:*=0.5%", 0.005, vec![finding(1, Undecided, 0.005, (0.004, 0.006), 900)]),
        detour("50us", vec![finding(1, Pass, 31_400.0, (31_400.0, 31_400.0), 0)]),
        detour(
            "50us",
            vec![
                finding(0, Pass, 3e4, (3e4, 3e4), 0),
                finding(1, Fail, 1_234_567.0, (1_234_567.0, 1_234_567.0), 12),
            ],
        ),
        detour("50us", vec![finding(1, Undecided, 0.0, (0.0, 1e6), 0)]),
        rate("thread:*=1/s", 1.0, vec![finding(0, Pass, 0.2, (0.0355, 0.63), 2)]),
        rate(
            ">50us=1/s",
            1.0,
            vec![mostly("vm-or-hardware", "", 0.61, finding(0, Fail, 14.2, (12.3, 16.3), 142))],
        ),
        rate("nmi=6/min", 0.1, vec![needed(finding(0, Undecided, 0.0, (0.0, 0.3), 0), 30)]),
        rate(
            "nmi=1/h",
            1.0 / 3_600.0,
            vec![Finding { uncertain: 14, ..finding(0, Undecided, 0.0, (0.0, 2.1), 0) }],
        ),
        rate("timer-tick=250hz", 250.0, vec![finding(0, Undecided, 249.9, (240.0, 260.0), 2_499)]),
        rate("evil\u{1b}[31m|`<b>&\"*=1/h", 0.000_28, vec![]),
        increase(Pass, -0.03, (-0.1, 0.06)),
        increase(Fail, 0.52, (0.4, 0.66)),
        doubtful(
            increase(Undecided, 0.52, (-0.4, 1.66)),
            vec![Doubt::FewRuns { planned: Some(40) }],
        ),
        doubtful(
            share("5%", 0.05, vec![finding(1, Pass, 0.005, (0.004, 0.006), 900)]),
            vec![Doubt::Interrupted { why: "SIGTERM".into() }, Doubt::LostDetours { share: 0.02 }],
        ),
        slow("1%", 0.01, finding(1, Pass, 0.0, (0.0, 0.005), 0)),
        slow("2%", 0.02, finding(1, Fail, 0.05, (0.03, 0.08), 0)),
        slow("3%", 0.03, needed(finding(1, Undecided, 0.0, (0.0, 0.05), 0), 600)),
        slow("4%", 0.04, finding(1, Undecided, 0.035, (0.02, 0.05), 0)),
        slow("5%", 0.05, finding(1, Undecided, 0.055, (0.04, 0.07), 0)),
    ];
    Gate {
        outcome: Fail,
        rules,
        requirements: Requirements::default(),
        recordings: vec![judged("data/run-001"), judged("data/run-002")],
        unread: vec![
            "data/run-003: run.json: expected value at line 1; restore it from a copy".into(),
        ],
    }
}

#[test]
fn the_screen_has_a_line_for_each_rule() {
    let text = gate(&every_kind(), &View::default()).to_text(&View::default());
    insta::assert_snapshot!("gate", text);
    let all = View { all: true, ..View::default() };
    let mut one = every_kind();
    one.rules.truncate(2);
    insta::assert_snapshot!("gate_all", gate(&one, &all).to_text(&all));
}

/// Rules on wake-ups with every outcome; those of the first are of two intervals.
#[test]
fn wake_ups_are_judged_by_number() {
    use Outcome::{Fail, Pass, Undecided};
    let of_kind = |interval_ns, samples, finding: Finding| {
        let kind = Some(Kind { interval_ns, shallow: false, call: None });
        Finding { wakeups: Some(JudgedWakeups { samples, kind }), ..finding }
    };
    let usual = |samples, finding| of_kind(1_000_000, samples, finding);
    let longest = |findings| rule("max-wakeup", "50us", Unit::Nanoseconds, 50_000.0, findings);
    let late =
        |limit, findings| rule("max-late", ">50us=1/1e6", Unit::WakeupShare, limit, findings);
    let stress = LargestSource { source: "thread".into(), name: "stress-1".into(), share: 0.713 };
    let slow = Finding {
        largest_source: Some(stress),
        ..usual(5_991, finding(1, Fail, 2_355_412.0, (2.3e6, 2.3e6), 21))
    };
    let lost =
        Finding { uncertain: 3, at_most: None, ..finding(0, Undecided, 31e3, (31e3, 0.0), 0) };
    let needed = Finding {
        needed_ns: Some(3_000 * SECOND),
        ..finding(1, Undecided, 0.0, (0.0, 2.996e-6), 0)
    };
    let rules = vec![
        longest(vec![of_kind(100_000, 60_000, finding(0, Pass, 3e4, (3e4, 3e4), 0)), slow]),
        longest(vec![usual(60_000, finding(1, Pass, 31_400.0, (31_400.0, 31_400.0), 0))]),
        longest(vec![usual(60_000, lost)]),
        late(1e-6, vec![usual(4_000_000, finding(1, Pass, 0.0, (0.0, 7.5e-7), 0))]),
        late(1e-6, vec![usual(1_000_000, needed)]),
        late(1e-6, vec![usual(5_991, finding(1, Fail, 0.003_505, (0.001_44, 0.007), 21))]),
        late(0.5, vec![usual(100, finding(1, Fail, 0.9, (0.77, 1.0), 90))]),
    ];
    let judged = Gate { rules, recordings: vec![judged("wakeup")], unread: vec![], ..every_kind() };
    insta::assert_snapshot!(
        "gate_wakeups",
        gate(&judged, &View::default()).to_text(&View::default())
    );
}

#[test]
fn every_doubt_has_words() {
    let doubts = [
        Doubt::CutOff,
        Doubt::NotMeasured { cpu: Some(3) },
        Doubt::NotMeasured { cpu: None },
        Doubt::Kept { longer_than_ns: Some(1_000_000) },
        Doubt::Kept { longer_than_ns: None },
        Doubt::TooShort { wall_ns: 2 * SECOND },
        Doubt::WrongRate { ppm: -2_000.0 },
        Doubt::LostDetours { share: 0.02 },
        Doubt::LostEvents { share: 0.002 },
        Doubt::Misaligned { share: 0.03 },
        Doubt::Audit { counters: 1 },
        Doubt::Audit { counters: 7 },
        Doubt::NotAttributed,
        Doubt::Threshold { threshold_ns: 1_000_000 },
        Doubt::FewRunsOfProgram { runs: 1 },
        Doubt::CpuTime { missing_ns: 81_000_000 },
        Doubt::NoProgram,
        Doubt::NoReleases,
        Doubt::NoWakeups,
        Doubt::NoPace,
        Doubt::Latencies,
        Doubt::Unread,
        Doubt::OneRun,
        Doubt::Successive,
        Doubt::NoNoise,
        Doubt::OtherCpus,
        Doubt::OtherThresholds,
        Doubt::OtherPrograms,
        Doubt::HostMoved,
        Doubt::OneSession,
        Doubt::NotWhole { why: "run 1 of the baseline ended early".into() },
        Doubt::FewRuns { planned: None },
    ];
    let mut judged = every_kind();
    let mut rules = vec![];
    for doubt in doubts {
        let mut rule = judged.rules[0].clone();
        rule.outcome = Outcome::Undecided;
        rule.doubts = vec![Doubtful { recording: None, doubt }];
        rules.push(rule);
    }
    judged.rules = rules;
    (judged.outcome, judged.unread) = (Outcome::Undecided, vec![]);
    judged.recordings.truncate(1);
    insta::assert_snapshot!(
        "gate_doubts",
        gate(&judged, &View::default()).to_text(&View::default())
    );
}

/// Returns the line of a single rule, beside `max-detour`.
fn line_of(findings: Vec<Finding>) -> String {
    let noise = rule("max-noise", "1%", Unit::Share, 0.01, findings);
    let longest = finding(1, Outcome::Pass, 5e3, (5e3, 5e3), 0);
    let detour = rule("max-detour", "10ms", Unit::Nanoseconds, 1e7, vec![longest]);
    let mut judged = Gate { outcome: Outcome::Pass, rules: vec![noise, detour], ..every_kind() };
    judged.unread.clear();
    let text = gate(&judged, &View::default()).to_text(&View::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_pass_names_the_assumption_of_any_cpu() {
    use Outcome::{Fail, Pass};
    let silent = || finding(0, Pass, 0.0, (0.0, 0.003), 0);
    let noisy = |outcome| finding(1, outcome, 0.005, (0.004, 0.006), 900);
    let assumed = "if --max-detour";
    assert!(line_of(vec![noisy(Pass), silent()]).contains(assumed), "the deciding CPU");
    assert!(line_of(vec![silent(), noisy(Pass)]).contains(assumed), "another CPU");
    assert!(!line_of(vec![noisy(Pass)]).contains(assumed), "no CPU");
    assert!(!line_of(vec![silent(), noisy(Fail)]).contains(assumed), "a failure");
}

#[test]
fn longer_detours_are_as_rare_as_the_judged_time_shows() {
    let mut judged = every_kind();
    let week = 7 * 24 * 3_600 * SECOND;
    let longest = Finding { wall_ns: week, ..finding(1, Outcome::Pass, 1.5e6, (1.5e6, 1.5e6), 0) };
    judged.outcome = Outcome::Pass;
    judged.rules = vec![rule("max-detour", "2ms", Unit::Nanoseconds, 2e6, vec![longest])];
    judged.unread.clear();
    let text = gate(&judged, &View::default()).to_text(&View::default());
    // The rule of three: 3 in a week, although the recording that is kept lasts 10 s.
    assert!(text.contains("at most 0.02/h"), "{text}");
}

#[test]
fn markdown_and_junit_keep_to_their_rules() {
    let judged = every_kind();
    let markdown = gate_markdown(&judged);
    let rows = markdown.lines().filter(|line| line.starts_with('|'));
    let columns = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.clone().all(|row| columns(row) == 4), "{markdown}");
    assert_eq!(rows.count(), 2 + judged.rules.len(), "heads and rules");
    assert!(!markdown.contains("<b>") && !markdown.contains('\u{1b}'), "{markdown}");
    insta::assert_snapshot!("gate_markdown", markdown);
    let xml = gate_junit(&judged);
    assert!(!xml.contains("<b>") && !xml.contains('\u{1b}'), "{xml}");
    insta::assert_snapshot!("gate_junit", xml);
}
