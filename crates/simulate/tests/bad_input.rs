//! What is no schedule, or cannot be executed, is refused with what is wrong.

use crate::{LOGGOPSIM, schedule};
use anechoic_predict::phases::{Span, Timeline};
use anechoic_recording::Problem;
use anechoic_simulate::{Law, Model, Noise, Parameters, Phase, Schedule, Trace, goal, simulate};
use proptest::prelude::*;
use std::io::Cursor;

fn read(bytes: &[u8]) -> Result<Schedule, Problem> {
    goal::read_from(Cursor::new(bytes), bytes.len() as u64)
}

fn run(schedule: &Schedule) -> Result<u64, Problem> {
    let found =
        simulate(schedule, &LOGGOPSIM, Model::Anechoic, &mut Noise::Quiet, &mut |_, _| true);
    found.map(|found| found.end_ps())
}

#[test]
fn text_that_is_no_schedule() {
    let cases = [
        ("", "ends before num_ranks"),
        ("rank 0 {\n}", "line 1: 'rank' stands where 'num_ranks' is expected"),
        ("num_ranks 2\nrank 0 {\n}\n", "there are 1 ranks, and 2 were announced"),
        ("num_ranks 1\nrank 1 {\n}\n", "line 2: rank 1 stands where rank 0 of 1"),
        ("num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n", "line 4: rank 1 stands where rank 1 of 1"),
        ("num_ranks 1\nrank 0 {\ncalc 5\n", "ends inside a rank"),
        ("num_ranks 1\nrank 0 {\n/* calc 5\n}\n", "ends inside a comment"),
        ("num_ranks 1\nrank 0 {\ncalc\n}\n", "line 3: the end of the line is not a number"),
        ("num_ranks 1\nrank 0 {\ncalc -5\n}\n", "'-5' is not a number"),
        ("num_ranks 1\nrank 0 {\ncalc 99999999999999999999\n}\n", "is not a number"),
        ("num_ranks 1\nrank 0 {\ncalc 9999999999999999999\n}\n", "from 0 to 1125899906842624"),
        ("num_ranks 2\nrank 0 {\nsend 8 to 1\n}\n", "line 3: '8' is not a size like 8b"),
        ("num_ranks 2\nrank 0 {\nsend 8b to 2\n}\n", "line 3: rank 0: send to rank 2, of 2 ranks"),
        ("num_ranks 2\nrank 0 {\nrecv 8b from 9\n}\n", "receive from rank 9"),
        ("num_ranks 2\nrank 0 {\nsend 8b to -1\n}\n", "'-1' is not a number"),
        (
            "num_ranks 2\nrank 0 {\nsend 99999999999b to 1\n}\n",
            "99999999999 bytes of a message are too long",
        ),
        ("num_ranks 1\nrank 0 {\na: calc 5 cpu 255\n}\n", "'255' is not a number from 0 to 254"),
        ("num_ranks 1\nrank 0 {\na: calc 5\na: calc 5\n}\n", "line 4: label 'a' exists"),
        ("num_ranks 1\nrank 0 {\na: calc 5\na requires b\n}\n", "line 4: there is no label 'b'"),
        ("num_ranks 1\nrank 0 {\na: wait 5\n}\n", "'wait' stands where 'send' is expected"),
        ("num_ranks 1\nrank 0 {\na: calc 5\na a\n}\n", "'a' stands where 'requires' is expected"),
        (
            "num_ranks 1\nrank 0 {\na: calc 5\nb: calc 5\na requires b\nb requires a\n}\n",
            "line 7: rank 0: operations wait for each other: #1 → #2 → #1",
        ),
        ("num_ranks 1\nrank 0 {\na: calc 5\na requires a\n}\n", "#1 → #1"),
    ];
    for (text, expected) in cases {
        let error = read(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn what_cannot_be_executed_names_who_waits_for_whom() {
    let cases = [
        (
            "num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 3\n}\nrank 1 {\ncalc 5\n}\n",
            "only 1 of 2 operations were executed: rank 0 for rank 1 (tag 3)",
        ),
        (
            "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\ncalc 5\n}\n",
            "messages are never received: from rank 0 to rank 1",
        ),
        (
            "num_ranks 2\nrank 0 {\nsend 100000b to 1\n}\nrank 1 {\ncalc 5\n}\n",
            "only 1 of 2 operations were executed: rank 0 for rank 1 to receive",
        ),
        (
            "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\nrank 1 {\na: recv 8b from 0\n\
             b: send 8b to 0\nb requires a\n}\n",
            "only 0 of 4 operations were executed: rank 0 for rank 1, rank 1 for rank 0",
        ),
        ("num_ranks 1\nrank 0 {\nrecv 8b from -1\n}\n", "rank 0 for any rank"),
        (
            "num_ranks 3\nrank 0 {\nsend 8b to 2\n}\nrank 1 {\nsend 8b to 2\n}\nrank 2 {\n}\n",
            "messages are never received: from rank 0 to rank 2, from rank 1 to rank 2",
        ),
        // A receive may be for more bytes than come, and one that nobody sends is found nevertheless.
        (
            "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\na: calc 5000\nr: recv 70000b from 0\nr requires a\n\
             recv 8b from 0 tag 9\n}\n",
            "only 3 of 4 operations were executed: rank 1 for rank 0 (tag 9)",
        ),
    ];
    for (text, expected) in cases {
        let error = run(&read(text.as_bytes()).expect(text)).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// Many equal receives: the order in which they were given must hold, or messages get the wrong ones.
#[test]
fn many_equal_receives_do_not_dead_lock() {
    for ranks in [64, 256, 1_024] {
        run(&schedule("allreduce-rd", ranks, 3, 0, 8)).expect("all is executed");
    }
}

#[test]
fn a_time_beyond_all_is_refused() {
    let calc = "calc 999999999999999\n";
    let text = |count: usize| {
        let chain: String = (0..count).map(|at| format!("l{at}: {calc}")).collect();
        let waits: String = (1..count).map(|at| format!("l{at} requires l{}\n", at - 1)).collect();
        format!("num_ranks 1\nrank 0 {{\n{chain}{waits}}}\n")
    };
    assert!(run(&read(text(4).as_bytes()).expect("sound")).is_ok());
    let error =
        run(&read(text(9).as_bytes()).expect("sound")).expect_err("three months").to_string();
    assert!(error.contains("exceeds 53 days"), "{error}");
}

/// Noise that leaves a CPU almost no time: an error after 53 days, not a wrong time.
#[test]
fn noise_beyond_all_is_refused() {
    let day_ns = 86_400 * 1_000_000_000;
    let long = schedule("barrier", 1, 1, 12 * day_ns, 8);
    let busy = Timeline::new(1_000_000_000, vec![Span { start_ns: 0, end_ns: 999_000_000 }]);
    let traces = vec![Trace::from_timeline(&busy).expect("a thousandth is free")];
    let laws = [
        Law::Exponential { every_ns: 1, delay_ns: 1_000_000_000 },
        Law::Pareto { every_ns: 1, delay_ns: 1_000_000_000, power: 1.2 },
        Law::Periodic { every_ns: 1_000_000_000, delay_ns: 999_000_000 },
    ];
    let drawn = laws.map(|law| Noise::from_law(law, 1, 1));
    let recorded = Noise::recorded(traces, &[1], 1, Phase::Independent, 1);
    for mut noise in drawn.into_iter().chain([recorded]) {
        let found = simulate(&long, &LOGGOPSIM, Model::Anechoic, &mut noise, &mut |_, _| true);
        let error = found.expect_err("beyond all times").to_string();
        assert!(error.contains("exceeds 53 days"), "{error}");
    }
    let never = Timeline::new(1_000, vec![Span { start_ns: 0, end_ns: 1_000 }]);
    let error = Trace::from_timeline(&never).expect_err("no free time").to_string();
    assert!(error.contains("never free"), "{error}");
}

/// LogGOPSim wraps around for messages without bytes.
#[test]
fn messages_without_bytes() {
    for (gap_ps, is_sound) in [(6_000, true), (0, false)] {
        let parameters = Parameters { gap_ps, ..LOGGOPSIM };
        let job = schedule("barrier", 4, 1, 0, 0);
        let found =
            simulate(&job, &parameters, Model::LogGopSim, &mut Noise::Quiet, &mut |_, _| true);
        assert_eq!(found.is_ok(), is_sound);
        let ours =
            simulate(&job, &parameters, Model::Anechoic, &mut Noise::Quiet, &mut |_, _| true);
        assert_eq!(ours.expect("all is executed").end_ps(), 2 * 5_500_000);
    }
}

/// Changes of a sound binary file: read without panic, and never as a schedule with other ranks.
#[test]
fn binary_that_is_damaged() {
    let mut sound = vec![];
    goal::write_binary(&schedule("halo2d", 6, 2, 1_000, 64), &mut sound).expect("written");
    for length in 0..sound.len() {
        assert!(read(&sound[..length]).is_err(), "cut off at {length}");
    }
    for at in 0..sound.len() {
        for change in [1, 0x80, 0xff] {
            let mut damaged = sound.clone();
            damaged[at] ^= change;
            if let Ok(schedule) = read(&damaged) {
                let _ = run(&schedule);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_makes_it_panic(words in prop::collection::vec(
        prop::sample::select(vec![
            "num_ranks 2", "rank 0 {", "rank 1 {", "}", "\n", "a:", "b:", "send 8b to 1", "send 0b to 0", "recv 8b from -1",
            "recv 1b from 0", "calc 5", "a requires b", "b irequires a", "tag 3", "cpu 1", "nic 1", "//", "/*", "*/", "-1", "x",
        ]),
        0..40,
    )) {
        let text = "num_ranks 2\nrank 0 {\n".to_owned() + &words.join(" ").replace("\n ", "\n");
        if let Ok(schedule) = read(text.as_bytes()) {
            let _ = run(&schedule);
        }
    }
}
