//! What can be computed without a simulator: the recursion of a job whose ranks all meet, and sums of messages.

use crate::{FREE, LOGGOPSIM, schedule, simulated, timeline, trace};
use anechoic_simulate::{
    ANY_RANK, Action, Builder, Law, Model, Noise, Outcome, Parameters, Phase, simulate,
};

/// Where messages cost nothing, a barrier ends when its last rank does: the recursion that `predict phases` follows.
#[test]
fn a_free_barrier_ends_with_its_slowest_rank() {
    let (ranks, iterations, grain_ns) = (13, 40, 700_000);
    let timeline = timeline();
    let job = schedule("barrier", ranks, iterations, grain_ns, 8);
    for (seed, phase) in [(3, Phase::Independent), (4, Phase::Host), (5, Phase::Common)] {
        let traces = vec![trace()];
        let noise = Noise::recorded(traces, &[1], ranks as usize, phase, seed);
        let Noise::Recorded { places, .. } = &noise else { panic!("recorded") };
        let places = places.clone();
        let found = simulated(&job, &FREE, &mut noise.clone());
        let mut meeting_ps = 0;
        for _ in 0..iterations {
            let ends = places.iter().map(|&(_, phase_ps)| {
                end_by_walking(&timeline, meeting_ps + phase_ps, grain_ns * 1_000) - phase_ps
            });
            meeting_ps = ends.max().expect("ranks");
        }
        assert!(found.finish_ps.iter().all(|&ps| ps == meeting_ps), "{phase:?}");
    }
}

/// Walks over all detours of a recording that repeats, one after the other.
fn end_by_walking(
    timeline: &anechoic_predict::phases::Timeline,
    start_ps: u64,
    work_ps: u64,
) -> u64 {
    let length_ps = timeline.length_ns() * 1_000;
    let (mut at, mut left, mut round) = (start_ps, work_ps, 0);
    loop {
        for detour in timeline.detours() {
            let start = round * length_ps + detour.start_ns * 1_000;
            let end = round * length_ps + detour.end_ns * 1_000;
            if end <= at {
                continue;
            }
            if start > at && start - at >= left {
                return at + left;
            }
            left -= start.saturating_sub(at);
            at = end;
        }
        let next = (round + 1) * length_ps;
        if at < next && next - at >= left {
            return at + left;
        }
        left -= next.saturating_sub(at);
        at = at.max(next);
        round += 1;
    }
}

/// Each message costs o at both ends, L between them, and G for each byte after the first.
#[test]
fn a_pipeline_takes_the_sum_of_its_messages() {
    let (ranks, bytes, grain_ns) = (9, 1_000, 5_000);
    let job = schedule("pipeline", ranks, 1, grain_ns, bytes);
    let found = simulated(&job, &LOGGOPSIM, &mut Noise::Quiet).end_ps();
    let message = 2 * 1_500 + 2_500 + 6 * (bytes - 1);
    assert_eq!(found, (u64::from(ranks - 1) * message + u64::from(ranks) * grain_ns) * 1_000);
}

/// A rank of two CPUs. The message is received on CPU 1, as its sender says, until 3 µs; what needs it waits for that.
#[test]
fn what_another_cpu_receives_is_there_when_that_has_received_it() {
    let parameters = Parameters { latency_ps: 1_000_000, overhead_ps: 1_000_000, ..FREE };
    let mut builder = Builder::new(2);
    builder.add_on(Action::Send { to: 1, bytes: 8, tag: 0 }, 1, 0).expect("sound");
    builder.end_rank().expect("sound");
    let first = builder.add(Action::Compute { ns: 2_500 }).expect("sound");
    let receive = builder.add(Action::Receive { from: 0, bytes: 8, tag: 0 }).expect("sound");
    let then = builder.add(Action::Compute { ns: 1_000 }).expect("sound");
    let last = builder.add_on(Action::Compute { ns: 1 }, 1, 0).expect("sound");
    builder.after(receive, first);
    builder.after(then, receive);
    builder.after(last, then);
    builder.end_rank().expect("sound");
    let job = builder.finish().expect("two ranks");
    assert_eq!(simulated(&job, &parameters, &mut Noise::Quiet).finish_ps[1], 4_001_000);
}

/// A long message is sent first and comes second: the CPU, busy meanwhile, takes the short one first.
#[test]
fn messages_are_taken_in_the_order_in_which_they_come() {
    let parameters = Parameters { latency_ps: 1_000_000, overhead_per_byte_ps: 1_000, ..FREE };
    let mut builder = Builder::new(3);
    builder.add(Action::Send { to: 2, bytes: 1_001, tag: 0 }).expect("sound");
    builder.end_rank().expect("sound");
    let first = builder.add(Action::Compute { ns: 10 }).expect("sound");
    let send = builder.add(Action::Send { to: 2, bytes: 1, tag: 0 }).expect("sound");
    builder.after(send, first);
    builder.end_rank().expect("sound");
    let busy = builder.add(Action::Compute { ns: 50_000 }).expect("sound");
    let receive =
        builder.add(Action::Receive { from: ANY_RANK, bytes: 1_001, tag: 0 }).expect("sound");
    let then = builder.add_on(Action::Compute { ns: 5_000 }, 1, 0).expect("sound");
    builder.after(then, receive);
    builder.after(receive, busy);
    let other =
        builder.add(Action::Receive { from: ANY_RANK, bytes: 1_001, tag: 0 }).expect("sound");
    builder.after(other, receive);
    builder.end_rank().expect("sound");
    let job = builder.finish().expect("three ranks");
    // The short message costs nothing: at 50 µs the other CPU begins its 5 µs. The long one would have taken 1 µs before.
    assert_eq!(simulated(&job, &parameters, &mut Noise::Quiet).finish_ps[2], 55_000_000);
}

/// The recursion for a periodic law without messages: each detour delays once, whatever the phase.
#[test]
fn one_rank_loses_the_share_of_its_noise() {
    let job = schedule("barrier", 1, 1_000, 1_000_000, 8);
    let laws = [
        (Law::Periodic { every_ns: 1_000_000, delay_ns: 50_000 }, 1.0 / 0.95, 1e-4),
        (Law::Exponential { every_ns: 950_000, delay_ns: 50_000 }, 1.0 + 50.0 / 950.0, 0.006),
        (
            Law::Pareto { every_ns: 950_000, delay_ns: 50_000, power: 3.0 },
            1.0 + 50.0 / 950.0,
            0.006,
        ),
    ];
    for (law, expected, within) in laws {
        let found = simulated(&job, &FREE, &mut Noise::from_law(law, 1, 8));
        let slowdown = found.end_ps() as f64 / 1e12;
        assert!((slowdown - expected).abs() < within, "{law:?}: {slowdown}");
        assert_eq!(
            found.lost_ps[0],
            found.end_ps() - 1_000_000_000_000,
            "what is lost is what is late"
        );
    }
}

/// A law may begin inside a detour: as often as its share of time says, and with the mean rest that renewal theory has,
/// E[L²] / 2E[L]: the whole mean of an exponential length, and 8/15 of it for a Pareto length of power 5.
#[test]
fn a_law_begins_as_it_goes_on() {
    let (ranks, every_ns, delay_ns) = (40_000, 3_000_000, 1_000_000);
    let mut builder = Builder::new(ranks);
    for _ in 0..ranks {
        builder.add(Action::Compute { ns: 1 }).expect("sound");
        builder.end_rank().expect("sound");
    }
    let job = builder.finish().expect("all ranks");
    let laws = [
        (Law::Periodic { every_ns: every_ns + delay_ns, delay_ns }, 0.5),
        (Law::Exponential { every_ns, delay_ns }, 1.0),
        (Law::Pareto { every_ns, delay_ns, power: 5.0 }, 8.0 / 15.0),
    ];
    for (law, rest) in laws {
        let found = simulated(&job, &FREE, &mut Noise::from_law(law, ranks as usize, 5)).lost_ps;
        let late = found.iter().filter(|&&lost| lost > 0).count() as f64 / f64::from(ranks);
        assert!((late - 0.25).abs() < 0.01, "{law:?}: {late}");
        let mean = found.iter().sum::<u64>() as f64 / f64::from(ranks);
        let expected = 0.25 * rest * 1e9;
        assert!((mean / expected - 1.0).abs() < 0.04, "{law:?}: {mean} of {expected}");
    }
}

/// A noise that all ranks have at the same time costs a barrier no more than it costs one rank.
#[test]
fn common_noise_is_passed_on_and_independent_noise_amplified() {
    let job = schedule("barrier", 64, 200, 300_000, 8);
    let slowdown = |phase: Phase| {
        let traces = vec![trace()];
        let mut noise = Noise::recorded(traces, &[1], 64, phase, 11);
        simulated(&job, &FREE, &mut noise).end_ps() as f64 / (200.0 * 3e8)
    };
    let share = timeline().lost_ns() as f64 / timeline().length_ns() as f64;
    let common = slowdown(Phase::Common);
    assert!((common - 1.0 / (1.0 - share)).abs() < 0.01, "{common} beside {share}");
    assert!(slowdown(Phase::Independent) > common + 0.05);
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let job = schedule("halo3d", 100, 20, 100_000, 512);
    let run = |seed: u64, model: Model| -> Outcome {
        let traces = vec![trace()];
        let mut noise = Noise::recorded(traces, &[1], 100, Phase::Independent, seed);
        simulate(&job, &LOGGOPSIM, model, &mut noise, &mut |_, _| true).expect("all is executed")
    };
    for model in [Model::Anechoic, Model::LogGopSim] {
        assert_eq!(run(1, model), run(1, model));
        assert_ne!(run(1, model), run(2, model));
    }
    assert_ne!(run(1, Model::Anechoic), run(1, Model::LogGopSim));
}
