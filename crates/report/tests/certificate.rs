//! A certificate's screen, Markdown and schema.

use crate::made;
use crate::schema::validate;
use anechoic_analyze::certificate::{
    Certificate, CertifiedRun, Check, Checked, Effect, Fitness, Limits, SlowFirst, Source,
};
use anechoic_report::results::Found;
use anechoic_report::results::certificate::CERTIFICATE;
use anechoic_report::{View, certificate_markdown};

fn unfit() -> Certificate {
    let run = |wall_ns| CertifiedRun {
        wall_ns,
        cpu_ns: Some(1_940_000_000),
        wanted_ns: 2_000_000_000,
        lost_ns: 50_000_000,
        at_most_ns: Some(54_000_000),
        longest_ns: Some(4_100_000),
    };
    let source = |source: &str, name: &str, share| Source {
        source: source.into(),
        name: name.into(),
        share,
    };
    Certificate {
        run: made::facts(),
        command: ["./bench", "--size", "`rm`|<b>"].map(String::from).to_vec(),
        limits: Limits { max_noise: 0.01, min_effect: Some(0.02) },
        verdict: Fitness::Unfit,
        checks: vec![
            Check { what: Checked::Noise, outcome: Fitness::Unfit },
            Check { what: Checked::Effect, outcome: Fitness::Undecided },
            Check { what: Checked::Drift, outcome: Fitness::Fit },
            Check { what: Checked::Runs, outcome: Fitness::Undecided },
        ],
        runs: vec![run(2_010_000_000), run(2_030_000_000), run(2_020_000_000)],
        asked_runs: 4,
        lost: 0.025,
        lost_at_most: Some(0.027),
        sources: vec![source("thread", "telemetryd", 0.021), source("", "", 0.004)],
        held_back_ns: Some(30_000_000),
        effect: Some(Effect { runs: 3, smallest: 0.031, at_best: 0.004 }),
        slow_first: Some(SlowFirst { longer: 0.352, effect_without: Some(0.0121) }),
        drift: Some(-0.0123),
        frequency: vec![("cpufreq governor".into(), "performance".into())],
        not_visible: vec!["what the hypervisor took".into()],
    }
}

#[test]
fn an_unfit_machine() {
    let found = unfit();
    validate("certificate.schema.json", &found).expect("it keeps to its schema");
    insta::assert_snapshot!("markdown", certificate_markdown(&found));
    let view = View::default();
    let screen = Found::from_value(&CERTIFICATE, found, &[]).screen(&view).to_text(&view);
    assert!(screen.lines().count() <= 40, "{screen}");
    insta::assert_snapshot!("screen", screen);
}

#[test]
fn what_is_undecided_says_what_would_decide() {
    let cases = [
        (0.0, Some(0.002), None, "too short to judge 1.0 %: measure a longer command"),
        (
            0.004,
            Some(0.012),
            None,
            "0.4 % of the time in which it wanted a CPU, 1.2 % with what is not visible, and 1.0 % is allowed",
        ),
        (0.004, None, None, "it lost 0.4 % or more of the time"),
        (0.0, Some(0.0), Some(0.02), "effects of 2.0 % need five runs or more: --repeat"),
    ];
    for (lost, lost_at_most, min_effect, expected) in cases {
        let what = if min_effect.is_some() { Checked::Effect } else { Checked::Noise };
        let found = Certificate {
            limits: Limits { max_noise: 0.01, min_effect },
            verdict: Fitness::Undecided,
            checks: vec![Check { what, outcome: Fitness::Undecided }],
            lost,
            lost_at_most,
            effect: None,
            ..unfit()
        };
        let text = certificate_markdown(&found);
        assert!(text.contains("undecided") && text.contains(expected), "{expected}\n{text}");
    }
}
