//! What is written is read again, as text and binary.

use crate::{LOGGOPSIM, schedule, simulated};
use anechoic_simulate::patterns::PATTERNS;
use anechoic_simulate::{ANY_RANK, ANY_TAG, Action, Builder, Noise, Schedule, goal};
use std::io::Cursor;

fn read(bytes: &[u8]) -> Schedule {
    goal::read_from(Cursor::new(bytes), bytes.len() as u64).expect("a schedule")
}

fn text(schedule: &Schedule) -> Vec<u8> {
    let mut written = vec![];
    goal::write_text(schedule, &mut written).expect("written");
    written
}

fn binary(schedule: &Schedule) -> Vec<u8> {
    let mut written = vec![];
    goal::write_binary(schedule, &mut written).expect("written");
    written
}

#[test]
fn all_patterns_are_read_as_they_were_written() {
    for pattern in PATTERNS {
        for ranks in [1, 2, 5, 12] {
            let job = schedule(pattern.name, ranks, 2, 1_000, 64);
            let (text, binary) = (text(&job), binary(&job));
            for again in [read(&text), read(&binary)] {
                assert_eq!(crate::formats::text(&again), text, "{}", pattern.name);
                assert_eq!(crate::formats::binary(&again), binary, "{}", pattern.name);
                let found = simulated(&again, &LOGGOPSIM, &mut Noise::Quiet);
                assert_eq!(found, simulated(&job, &LOGGOPSIM, &mut Noise::Quiet));
            }
        }
    }
}

/// Everything that a statement can have, also what no pattern uses.
#[test]
fn all_statements_are_read() {
    let source = "// a schedule\nnum_ranks 3\n\nrank 0 {\r\na: calc 5000000000 cpu 1\nb_2: send 4294967296b to 1 tag 7 cpu 1 nic 2\n\
                  calc 7\n b_2 requires a /* not\n calc 9 */\nc:recv 3b from -1 tag -1\nc irequires b_2\n}\nrank 1 {\n\
                  r: recv 4294967296b from 0 tag 7\ns: send 3b to 0 tag 2\ns requires r\n}\nrank 2 {\n}\n";
    let mut builder = Builder::new(3);
    let add =
        |builder: &mut Builder, action, cpu, nic| builder.add_on(action, cpu, nic).expect("sound");
    let a = add(&mut builder, Action::Compute { ns: 5_000_000_000 }, 1, 0);
    let b = add(&mut builder, Action::Send { to: 1, bytes: 1 << 32, tag: 7 }, 1, 2);
    add(&mut builder, Action::Compute { ns: 7 }, 0, 0);
    builder.after(b, a);
    let c = add(&mut builder, Action::Receive { from: ANY_RANK, bytes: 3, tag: ANY_TAG }, 0, 0);
    builder.after_start(c, b);
    builder.end_rank().expect("sound");
    let r = add(&mut builder, Action::Receive { from: 0, bytes: 1 << 32, tag: 7 }, 0, 0);
    let s = add(&mut builder, Action::Send { to: 0, bytes: 3, tag: 2 }, 0, 0);
    builder.after(s, r);
    builder.end_rank().expect("sound");
    builder.end_rank().expect("sound");
    let expected = builder.finish().expect("three ranks");
    let found = read(source.as_bytes());
    assert_eq!(text(&found), text(&expected));
    assert_eq!(binary(&read(&binary(&found))), binary(&expected));
    assert_eq!((found.cpus(), found.nics(), found.messages()), (2, 3, 2));
}

/// An operation that waits for more than 255 others, as a wait for all messages does.
#[test]
fn many_receives_are_waited_for() {
    let mut builder = Builder::new(2);
    let end = builder.add(Action::Compute { ns: 1_000 }).expect("sound");
    for tag in 0..1_000 {
        let receive =
            builder.add(Action::Receive { from: 1, bytes: 8, tag: tag % 3 }).expect("sound");
        builder.after(end, receive);
    }
    builder.end_rank().expect("sound");
    for tag in 0..1_000 {
        builder.add(Action::Send { to: 0, bytes: 8, tag: tag % 3 }).expect("sound");
    }
    builder.end_rank().expect("sound");
    let job = builder.finish().expect("two ranks");
    let found = simulated(&job, &LOGGOPSIM, &mut Noise::Quiet);
    // A message each o, which is longer than g; receiving takes o and the bytes: the receiver falls behind.
    let receive = 1_500 + 7 * 6;
    assert_eq!(found.finish_ps[0], (1_500 + 2_500 + 1_000 * receive + 1_000) * 1_000);
}
