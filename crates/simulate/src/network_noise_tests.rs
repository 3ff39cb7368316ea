//! Noise of the network against closed forms, and its parts against the finish.

use crate::engine::{Costs, Outcome, simulate_at, simulate_with_ends, simulate_with_log};
use crate::network_noise::NetworkNoise;
use crate::noise::Noise;
use crate::parameters::{PS, Parameters, network};
use crate::patterns::{Job, PATTERNS};
use crate::schedule::{Action, Builder, Schedule};
use crate::{Model, simulate};
use std::path::Path;

const JOB: Job = Job { ranks: 11, iterations: 3, grain_ns: 30_000, bytes: 3_000 };

/// Reads noise from texts of latencies and of gaps per byte; none of what is empty.
fn read(latencies: &str, gaps: &str, base: &Parameters) -> Result<NetworkNoise, String> {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).expect("written");
        (!text.is_empty()).then_some(file)
    };
    let (latencies, gaps) = (write("latencies", latencies), write("gaps", gaps));
    let read = NetworkNoise::read(latencies.as_deref(), gaps.as_deref(), base);
    read.map(|noise| noise.expect("a file is given")).map_err(|problem| problem.to_string())
}

fn simulated(
    schedule: &Schedule,
    parameters: &Parameters,
    model: Model,
    noise: Option<&NetworkNoise>,
) -> Outcome {
    let costs = Costs { parameters: *parameters, model, network: noise };
    simulate_at(costs, schedule, &mut Noise::Quiet, &mut |_, _| true).expect("all is executed")
}

/// If all messages get the same, it is as if the network had these parameters.
#[test]
fn one_value_in_a_file_is_a_parameter() {
    let parameters = network("loggopsim").expect("a network").parameters;
    let noise = read("+400ns\n", "+1.5ns\n", &parameters).expect("sound");
    let slower = Parameters {
        latency_ps: parameters.latency_ps + 400 * PS,
        gap_per_byte_ps: parameters.gap_per_byte_ps + 1_500,
        ..parameters
    };
    for pattern in PATTERNS {
        let schedule = pattern.schedule(&JOB).expect("sound");
        for model in [Model::Anechoic, Model::LogGopSim] {
            let expected = simulate(&schedule, &slower, model, &mut Noise::Quiet, &mut |_, _| true);
            let found = simulated(&schedule, &parameters, model, Some(&noise));
            assert_eq!(found, expected.expect("all is executed"), "{} {model:?}", pattern.name);
        }
    }
}

/// A message that is passed on from rank to rank is later by the latency of each.
#[test]
fn latency_adds_up_along_a_chain() {
    let parameters = network("alps").expect("a network").parameters;
    let pattern = crate::patterns::find("pipeline").expect("a pattern");
    let schedule = pattern.schedule(&Job { iterations: 1, ..JOB }).expect("sound");
    let quiet = simulated(&schedule, &parameters, Model::Anechoic, None);
    let noise = read("+700ns\n", "", &parameters).expect("sound");
    let late = simulated(&schedule, &parameters, Model::Anechoic, Some(&noise));
    for (hops, (late, quiet)) in late.finish_ps.iter().zip(&quiet.finish_ps).enumerate() {
        assert_eq!(late - quiet, hops as u64 * 700 * PS, "rank {hops}");
    }
}

/// A rank that waits for messages of n others gets the last after the largest of n latencies: of exponential ones of mean
/// 1 µs, 1 + 1/2 + … + 1/n µs on average.
#[test]
fn who_waits_for_many_waits_for_the_largest_of_their_latencies() {
    let parameters = network("none").expect("a network").parameters;
    let quantile = |at: u64| format!("{:.3}ns\n", -1e3 * f64::ln_1p(-(at as f64 + 0.5) / 1e4));
    let exponential: String = (0..10_000).map(quantile).collect();
    let noise = read(&exponential, "", &parameters).expect("sound");
    for others in [1_u32, 2, 10, 100] {
        let mut builder = Builder::new(others + 1);
        for from in 1..=others {
            builder.add(Action::Receive { from, bytes: 8, tag: 0 }).expect("sound");
        }
        builder.end_rank().expect("sound");
        for _ in 0..others {
            builder.add(Action::Send { to: 0, bytes: 8, tag: 0 }).expect("sound");
            builder.end_rank().expect("sound");
        }
        let schedule = builder.finish().expect("sound");
        let seeds = 2_000;
        let mut sum_ps = 0;
        for seed in 0..seeds {
            let noise = noise.with_seed(seed);
            let found = simulated(&schedule, &parameters, Model::Anechoic, Some(&noise));
            // Rank 0 has no CPU time of its own: the job ends when the last message was received.
            sum_ps += found.end_ps();
        }
        let mean_us = sum_ps as f64 / seeds as f64 / 1e6;
        let expected: f64 = (1..=others).map(|number| 1.0 / f64::from(number)).sum();
        // Four standard errors: the variance of a maximum is at most pi²/6.
        let bound = 4.0 * (1.645 / seeds as f64).sqrt();
        assert!((mean_us - expected).abs() < bound, "{others}: {mean_us} {expected}");
    }
}

/// Messages of a pair of ranks keep their order, as in MPI: of ten with exponential latencies of mean 1 µs, the first one
/// is received after 1 µs on average, where one of those that overtake it would be after 0.1 µs.
#[test]
fn messages_do_not_overtake_each_other() {
    let parameters = network("none").expect("a network").parameters;
    let quantile = |at: u64| format!("{:.3}ns\n", -1e3 * f64::ln_1p(-(at as f64 + 0.5) / 1e4));
    let exponential: String = (0..10_000).map(quantile).collect();
    let noise = read(&exponential, "", &parameters).expect("sound");
    let mut builder = Builder::new(2);
    (0..10).for_each(|_| {
        builder.add(Action::Send { to: 1, bytes: 8, tag: 0 }).expect("sound");
    });
    builder.end_rank().expect("sound");
    (0..10).for_each(|_| {
        builder.add(Action::Receive { from: 0, bytes: 8, tag: 0 }).expect("sound");
    });
    builder.end_rank().expect("sound");
    let schedule = builder.finish().expect("sound");
    let seeds = 2_000;
    let (mut first_ps, mut last_ps) = (0, 0);
    for seed in 0..seeds {
        let noise = noise.with_seed(seed);
        let costs = Costs { parameters, model: Model::Anechoic, network: Some(&noise) };
        let found = simulate_with_ends(costs, &schedule, &mut Noise::Quiet, &mut |_, _| true);
        let (_, ends_ps) = found.expect("executed");
        let received_ps = &ends_ps[10..];
        assert!(received_ps.is_sorted(), "{received_ps:?}");
        first_ps += received_ps[0];
        last_ps += received_ps[9];
    }
    let mean_us = |sum_ps: u64| sum_ps as f64 / seeds as f64 / 1e6;
    // Four standard errors.
    assert!((mean_us(first_ps) - 1.0).abs() < 0.09, "{}", mean_us(first_ps));
    let largest: f64 = (1..=10).map(|number| 1.0 / f64::from(number)).sum();
    assert!((mean_us(last_ps) - largest).abs() < 0.12, "{}", mean_us(last_ps));
}

/// Each value comes equally often, over messages, over seeds, and with each value of the other file.
#[test]
fn all_values_come_equally_often_and_independently() {
    let base = network("none").expect("a network").parameters;
    let values = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let noise = read(values, values, &base).expect("sound");
    let chi_square = |of_message: &dyn Fn(u32) -> Parameters| {
        let mut counts = [0_u32; 100];
        for number in 0..50_000 {
            let drawn = of_message(number);
            counts[(drawn.latency_ps * 10 + drawn.gap_per_byte_ps) as usize] += 1;
        }
        counts.iter().map(|&count| (f64::from(count) - 500.0).powi(2) / 500.0).sum::<f64>()
    };
    let cases: [(&str, &dyn Fn(u32) -> Parameters); 4] = [
        ("operations", &|number| noise.message(&base, (3, 4), number)),
        ("senders", &|number| noise.message(&base, (number, 4), 7)),
        ("receivers", &|number| noise.message(&base, (3, number), 7)),
        ("seeds", &|number| noise.with_seed(u64::from(number)).message(&base, (3, 4), 7)),
    ];
    for (name, of_message) in cases {
        // The chance to exceed this with 99 degrees of freedom is 1 in 10,000.
        let found = chi_square(of_message);
        assert!(found < 161.0, "{name}: {found}");
    }
}

#[test]
fn the_parts_of_the_path_with_noise_of_the_network_are_the_time_of_the_job() {
    let base = network("loggopsim").expect("a network").parameters;
    let copying = Parameters { overhead_per_byte_ps: 6_000, ..base };
    let waiting = Parameters { eager_bytes: 0, ..base };
    // Also shorter than L and G.
    let noise = read("1us\n2.5us\n+9us\n+40us\n", "1ns\n+0\n+7ns\n", &base).expect("sound");
    for pattern in PATTERNS {
        let schedule = pattern.schedule(&JOB).expect("sound");
        for parameters in [base, copying, waiting] {
            for seed in 0..4 {
                let noise = noise.with_seed(seed);
                let costs = Costs { parameters, model: Model::Anechoic, network: Some(&noise) };
                let time = crate::critical::path_time(costs, &schedule);
                let found = simulated(&schedule, &parameters, Model::Anechoic, Some(&noise));
                assert_eq!(time.sum_ps(&parameters), found.end_ps(), "{} {time:?}", pattern.name);
                assert_ne!(time.network_noise_ps, 0, "{}", pattern.name);
                let logged =
                    simulate_with_log(costs, &schedule, &mut Noise::Quiet, &mut |_, _| true);
                assert_eq!(logged.expect("executed").0, found, "{}", pattern.name);
            }
        }
    }
}

#[test]
fn files_have_a_time_on_each_line() {
    let base = network("alps").expect("a network").parameters;
    let latency = |text: &str| {
        let noise = read(text, "", &base)?;
        let [latencies, _] = noise.facts();
        let facts = latencies.expect("a file is given");
        Ok::<_, String>((facts.values, facts.least_ps, facts.median_ps, facts.most_ps))
    };
    let cases = [
        ("as De Sensi's fork writes", "1900000\n23000000\n500\n", (3, 500, 1_900_000, 23_000_000)),
        ("added", "+0\n+400ns\n", (2, 1_900_000, 1_900_000, 2_300_000)),
        ("units", "# ours\n2.3us\n\n2ns # short\n0.5ns\n", (3, 500, 2_000, 2_300_000)),
    ];
    for (name, text, expected) in cases {
        assert_eq!(latency(text), Ok(expected), "{name}");
    }
    let wrong = [
        ("# nothing\n", "it has no time"),
        ("1us\nfast\n", "line 2: 'fast'"),
        ("-5ns\n", "line 1: '-5ns'"),
        ("2h\n", "line 1: '2h' is too long"),
        ("+\n", "line 1: "),
        ("8 1900\n", "line 1: "),
    ];
    for (text, expected) in wrong {
        let error = latency(text).expect_err(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(read("", "2us\n", &base).expect_err("too long").contains("1us for a byte"));
    let missing = NetworkNoise::read(Some(Path::new("/nowhere")), None, &base);
    assert!(missing.expect_err("no file").to_string().contains("cannot read /nowhere"));
}
