//! What repeated runs of a program look like.

use crate::made;
use crate::schema::validate;
use anechoic_analyze::program::ProgramFacts;
use anechoic_analyze::{Summary, Variance, variance};
use anechoic_report::View;
use anechoic_report::results::Found;
use anechoic_report::results::variance::VARIANCE;

const MS: f64 = 1e6;

/// Runs of 1,950 ms and some more by themselves, which lost these times, in ms.
fn runs(lost: &[f64], own: &[f64], exit_codes: &[u8]) -> Vec<Summary> {
    let run = |number: usize| {
        let (lost, own) = (lost[number] * MS, own[number % own.len()] * MS);
        let mut summary = made::summary();
        let wall = 1_950.0 * MS + own + lost;
        summary.total.wall_ns = wall as u64;
        summary.total.noise = lost / wall;
        let rows = &mut summary.sources.as_mut().expect("sources").rows;
        // Ticks take 10 ms of each run, and the first other source the rest.
        let ticks = (10.0 * MS / lost).min(1.0);
        rows.truncate(2);
        (rows[0].share, rows[1].share) = (ticks, 1.0 - ticks);
        summary.run.repetition = Some((number as u32 + 1, lost as u32));
        summary.run.program = Some(ProgramFacts {
            name: "my-bench".into(),
            exit_code: Some(*exit_codes.get(number).unwrap_or(&0)),
            threads: 1,
            ran_ns: (wall - lost) as u64,
            lived_ns: Some(wall as u64),
            recording: None,
            account: None,
            marked: None,
        });
        summary
    };
    (0..lost.len()).map(run).collect()
}

const OWN: [f64; 5] = [3.0, -8.0, 12.0, -2.0, -11.0];

fn screen(found: &Variance) -> String {
    let view = View::default();
    Found::from_value(&VARIANCE, found.clone(), &[]).screen(&view).to_text(&view)
}

#[test]
fn runs_that_noise_makes_longer() {
    let lost = [12.0, 180.0, 95.0, 240.0, 30.0, 160.0, 11.0, 310.0, 77.0, 140.0, 25.0, 205.0];
    let found = variance(&runs(&lost, &OWN, &[])).expect("runs");
    insta::assert_snapshot!("variance_explained", screen(&found));
    let printed = validate("variance.schema.json", &found).expect("as its schema says");
    let parts = printed["sources"].as_array().expect("sources");
    let sum: f64 = parts.iter().filter_map(|row| row["share"].as_f64()).sum();
    assert!((sum - printed["explained"]["share"].as_f64().expect("a share")).abs() < 1e-9);
    assert!(screen(&found).lines().count() <= 40);
}

#[test]
fn runs_of_which_noise_explains_little_or_nothing() {
    let like = |lost: f64| vec![lost; 10];
    let varying: Vec<f64> = (0..10).map(|run| 11.0 + f64::from(run * 7 % 10)).collect();
    let cases = [
        ("little", runs(&like(12.0), &OWN, &[]), "noise explains at most"),
        ("undecided", runs(&varying, &OWN, &[]), "is undecided (95 %: 0–"),
        ("alike", runs(&like(12.0), &[0.0], &[]), "there is no variance to explain"),
        ("few", runs(&[12.0, 90.0, 40.0], &OWN, &[]), "undecided: that takes 8 runs or more"),
        ("failed", runs(&[12.0, 90.0, 40.0], &OWN, &[0, 0, 7]), "Run 3 does not count"),
    ];
    for (name, runs, expected) in cases {
        let text = screen(&variance(&runs).expect("runs")).replace('\n', " ");
        assert!(text.contains(expected), "case: {name}: {text}");
    }
    assert!(variance(&runs(&[12.0], &OWN, &[1])).is_none(), "no run succeeded");
}
