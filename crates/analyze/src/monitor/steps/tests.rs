//! Tests of steps, against made-up rates whose truth is known.

use super::*;
use crate::testing::Random;

const START_S: i64 = 1_778_000_000;

/// Returns the steps of these medians over spans of five minutes.
fn found(medians: &[f64]) -> Vec<(usize, f64, f64)> {
    let at = |number: usize| {
        jiff::Timestamp::from_second(START_S + 300 * number as i64).expect("a time").to_string()
    };
    let starts: Vec<String> = (0..medians.len()).map(at).collect();
    let spans: Vec<(&str, f64)> =
        starts.iter().map(String::as_str).zip(medians.iter().copied()).collect();
    let place = |step: &LevelStep| starts.iter().position(|start| *start == step.since_utc);
    let steps = steps(&spans, 300.0);
    steps.iter().map(|step| (place(step).expect("a span"), step.before, step.after)).collect()
}

/// A day of a rate without any change: the next span is like the last one by `like`.
fn day(random: &mut Random, like: f64) -> Vec<f64> {
    let mut state = 0.0;
    (0..288)
        .map(|_| {
            state = like * state + (1.0 - like * like).sqrt() * random.normal();
            5_000.0 + 500.0 * state
        })
        .collect()
}

#[test]
fn days_without_a_change_have_hardly_any_steps() {
    for (like, most) in [(0.0, 0), (0.5, 0), (0.8, 1)] {
        let mut random = Random(11);
        let days = (0..100).filter(|_| !found(&day(&mut random, like)).is_empty()).count();
        println!("{like}: {days} of 100 days");
        assert!(days <= most, "{like}: {days} of 100 days");
    }
}

#[test]
fn each_change_of_the_level_is_found_where_it_was() {
    for (changes, tolerance) in [(vec![(100, 2.0)], 1), (vec![(60, 2.0), (180, 0.4)], 2)] {
        let mut random = Random(5);
        let mut medians = day(&mut random, 0.3);
        for &(at, factor) in &changes {
            medians[at..].iter_mut().for_each(|value| *value *= factor);
        }
        let steps = found(&medians);
        assert_eq!(steps.len(), changes.len(), "{steps:?}");
        for ((at, before, after), (truth, factor)) in steps.iter().zip(&changes) {
            assert!(at.abs_diff(*truth) <= tolerance, "{steps:?}");
            assert!((after / before / factor - 1.0).abs() < 0.1, "{steps:?}");
        }
    }
}

#[test]
fn nothing_is_a_step_in_few_spans_or_if_it_is_too_small_to_matter() {
    for number in 0..16 {
        let medians: Vec<f64> =
            (0..number).map(|at| if at < number / 2 { 100.0 } else { 9_000.0 }).collect();
        assert_eq!(found(&medians), [], "{number} spans");
    }
    let small: Vec<f64> = (0..288).map(|at| if at < 144 { 10.0 } else { 200.0 }).collect();
    assert_eq!(found(&small), [], "less than 300 a second more");
}
