//! Parameters come back from times that the engine itself made with them.

use crate::{FREE, simulated};
use anechoic_simulate::{
    Action, Builder, EagerSearch, Noise, Parameters, Schedule, SizeTimes, delay_ns, estimate,
};

/// Messages of a train.
const MESSAGES: u32 = 16;

/// PRTT(n, d, s): `messages` of `bytes` with `delay_ns` before each but the first, then one answer.
fn ping_pong(messages: u32, delay_ns: u64, bytes: u64) -> Schedule {
    let mut builder = Builder::new(2);
    let mut last = None;
    for number in 0..messages {
        if number > 0 && delay_ns > 0 {
            let wait = builder.add(Action::Compute { ns: delay_ns }).expect("sound");
            last.iter().for_each(|&last| builder.after(wait, last));
            last = Some(wait);
        }
        let send = builder.add(Action::Send { to: 1, bytes, tag: 0 }).expect("sound");
        last.iter().for_each(|&last| builder.after(send, last));
        last = Some(send);
    }
    let answer = builder.add(Action::Receive { from: 1, bytes, tag: 1 }).expect("sound");
    last.iter().for_each(|&last| builder.after(answer, last));
    builder.end_rank().expect("sound");
    let mut last = None;
    for _ in 0..messages {
        let receive = builder.add(Action::Receive { from: 0, bytes, tag: 0 }).expect("sound");
        last.iter().for_each(|&last| builder.after(receive, last));
        last = Some(receive);
    }
    let answer = builder.add(Action::Send { to: 0, bytes, tag: 1 }).expect("sound");
    last.iter().for_each(|&last| builder.after(answer, last));
    builder.end_rank().expect("sound");
    builder.finish().expect("two ranks")
}

/// Simulates it and returns the time of rank 0, in ns.
fn prtt(parameters: &Parameters, messages: u32, delay_ns: u64, bytes: u64) -> f64 {
    let schedule = ping_pong(messages, delay_ns, bytes);
    simulated(&schedule, parameters, &mut Noise::Quiet).finish_ps[0] as f64 / 1e3
}

fn times(parameters: &Parameters, bytes: u64) -> SizeTimes {
    let one_ns = prtt(parameters, 1, 0, bytes);
    let train_ns = prtt(parameters, MESSAGES, 0, bytes);
    let delay = delay_ns(one_ns, train_ns, MESSAGES).ceil() as u64;
    let delayed_ns = prtt(parameters, MESSAGES, delay, bytes);
    let delays_ns = (u64::from(MESSAGES - 1) * delay) as f64;
    SizeTimes { bytes, one_ns, train_ns, delayed_ns, delays_ns }
}

/// Times in ns, and ps for each byte.
fn set([latency, overhead, gap, per_byte, copy]: [u64; 5]) -> Parameters {
    Parameters {
        latency_ps: latency * 1_000,
        overhead_ps: overhead * 1_000,
        gap_ps: gap * 1_000,
        gap_per_byte_ps: per_byte,
        overhead_per_byte_ps: copy,
        eager_bytes: 4_096,
    }
}

fn estimated(parameters: &Parameters) -> Parameters {
    let sizes = (0..=10).map(|step| 1 + step * 409);
    let times: Vec<SizeTimes> = sizes.map(|bytes| times(parameters, bytes)).collect();
    estimate(&times, MESSAGES, parameters.eager_bytes).expect("enough sizes").parameters
}

/// The simulation gives each time of a message that the formulas do, and the parameters come back within 1 % or 1 ps.
#[test]
fn parameters_come_back_from_simulated_times() {
    let sets = [
        ("daint", [500, 0, 6_000, 110, 0]),
        ("deep-est", [1_600, 350, 5_500, 89, 0]),
        ("azure", [1_300, 150, 1_500, 86, 0]),
        ("aws, with a gap", [28_000, 0, 500, 170, 0]),
        ("loggopsim, with a gap", [2_500, 1_500, 2_000, 6_000, 0]),
        ("hardly more than a gap", [1, 0, 1_000, 0, 0]),
        ("the CPU copies", [1_000, 200, 400, 100, 60]),
        ("the CPU copies as fast", [1_000, 200, 400, 100, 100]),
        ("g is o", [1_000, 300, 300, 50, 10]),
    ];
    for (name, values) in sets {
        let known = set(values);
        let found = estimated(&known);
        let pairs = [
            (known.latency_ps, found.latency_ps),
            (known.overhead_ps, found.overhead_ps),
            (known.gap_ps, found.gap_ps),
            (known.gap_per_byte_ps, found.gap_per_byte_ps),
            (known.overhead_per_byte_ps, found.overhead_per_byte_ps),
        ];
        for (known_ps, found_ps) in pairs {
            let within = (known_ps / 100).max(1);
            assert!(known_ps.abs_diff(found_ps) <= within, "{name}: {known:?} {found:?}");
        }
    }
}

/// A g below o makes no difference to these times: o comes back as g. The same holds for G below O.
#[test]
fn what_makes_no_difference_comes_back_as_what_hides_it() {
    let alps = estimated(&set([1_900, 230, 0, 79, 0]));
    assert_eq!(alps, set([1_900, 230, 230, 79, 0]));
    let copies = estimated(&set([1_000, 200, 0, 40, 100]));
    assert_eq!(copies, set([1_000, 200, 200, 100, 100]));
    for (known, found) in
        [(set([1_900, 230, 0, 79, 0]), alps), (set([1_000, 200, 0, 40, 100]), copies)]
    {
        assert_eq!(times(&known, 3_000), times(&found, 3_000));
    }
}

/// The formulas of `Parameters::costs` are the engine's times, at sizes that no line was fitted to, and also beyond S for
/// single messages.
#[test]
fn predicted_costs_are_those_of_the_engine() {
    for values in [
        [1_900, 230, 0, 79, 0],
        [500, 0, 6_000, 110, 0],
        [1_000, 200, 400, 100, 60],
        [9, 90, 0, 4, 40],
    ] {
        let parameters = set(values);
        for bytes in [1, 2, 777, 4_096] {
            let (found, expected) =
                (times(&parameters, bytes).costs(MESSAGES), parameters.costs(bytes));
            let pairs = [
                (found.gap_ns, expected.gap_ns),
                (found.overhead_ns, expected.overhead_ns),
                (found.one_way_ns, expected.one_way_ns),
            ];
            for (found, expected) in pairs {
                assert!((found - expected).abs() < 1e-3, "{values:?}, {bytes}: {found} {expected}");
            }
        }
        let long = prtt(&parameters, 1, 0, 100_000) / 2.0;
        assert!((long - parameters.costs(100_000).one_way_ns).abs() < 1e-3, "{values:?}");
    }
}

/// One size of eleven that takes twice the time, as where a library changes how it copies, moves no parameter by 1 %.
#[test]
fn a_disturbed_size_moves_no_line() {
    let known = set([1_300, 150, 1_500, 86, 0]);
    let sizes = (0..=10).map(|step| 1 + step * 409);
    let mut all: Vec<SizeTimes> = sizes.map(|bytes| times(&known, bytes)).collect();
    all[4].train_ns *= 2.0;
    all[7].delayed_ns *= 2.0;
    let found = estimate(&all, MESSAGES, 4_096).expect("enough sizes").parameters;
    assert_eq!(found, known);
}

#[test]
fn lines_are_read_back() {
    for parameters in [set([1_900, 230, 0, 79, 3]), Parameters { latency_ps: 1_234_567, ..FREE }] {
        assert_eq!(Parameters::read(&parameters.lines(), set([1; 5])), Ok(parameters));
    }
}

#[test]
fn too_few_sizes_and_senseless_times_are_refused() {
    let sound = times(&set([1_900, 230, 0, 79, 0]), 1);
    let cases = [
        ("no sizes", vec![]),
        ("one size", vec![sound; 5]),
        ("no time", vec![SizeTimes { one_ns: 0.0, ..sound }]),
        ("not a number", vec![SizeTimes { delays_ns: f64::NAN, ..sound }]),
    ];
    for (name, times) in cases {
        assert!(estimate(&times, MESSAGES, 8).is_err(), "case: {name}");
    }
}

/// The search finds S to the byte, or ends at the largest size.
#[test]
fn the_longest_eager_message_is_found() {
    let cases = [
        (4_096, 1 << 20, 4_096, true),
        (4_040, 1 << 20, 4_040, true),
        (0, 64, 0, true),
        (1, 64, 1, true),
        (63, 64, 63, true),
        (64, 64, 64, false),
        (u64::MAX, 1_000, 1_000, false),
    ];
    for (known, largest, expected, is_found) in cases {
        let mut search = EagerSearch::new(largest);
        let mut steps = 0;
        while let Some(bytes) = search.next() {
            assert!((1..=largest).contains(&bytes));
            search.take(bytes, bytes > known);
            steps += 1;
        }
        assert_eq!((search.eager_bytes(), search.is_found()), (expected, is_found), "{known}");
        assert!(steps < 50, "{steps}");
    }
}
