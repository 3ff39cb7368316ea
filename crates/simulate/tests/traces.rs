//! Traces of MPI as liballprof writes them: small ones with answers in closed form, and what is refused.

use crate::{LOGGOPSIM, simulated};
use anechoic_recording::Problem;
use anechoic_simulate::{Model, Noise, Schedule, goal, mpi_trace, simulate};
use tempfile::TempDir;

/// A message in ns, from the start of the send to the end of the receive: o, L, o, and G for each byte after the first.
fn message_ns(bytes: u64) -> u64 {
    1_500 + 2_500 + 1_500 + 6 * (bytes - 1)
}

/// Returns the trace of a rank. In the body, `@` stands for the communicator of all ranks.
fn file(rank: usize, ranks: usize, body: &str) -> String {
    let world = format!("94372624429696,{rank},{ranks}");
    format!(
        "# htor's PMPI Tracer 1 Output File\n# clockdiff: 0.000000 s (relative to rank 0)\n\nMPI_Init:-:140736300202732:140736300202720:1000\n{}",
        body.replace('@', &world)
    )
}

/// Writes the traces of ranks.
fn directory(bodies: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (rank, body) in bodies.iter().enumerate() {
        let path = directory.path().join(format!("pmpi-trace-rank-{rank}.txt"));
        std::fs::write(path, file(rank, bodies.len(), body)).expect("written");
    }
    directory
}

fn read(bodies: &[&str], copies: u32) -> Result<Schedule, Problem> {
    mpi_trace::read(directory(bodies).path(), copies).map(|(schedule, _)| schedule)
}

/// Returns when each rank finishes, in ns.
fn finish(bodies: &[&str]) -> Vec<u64> {
    let schedule = read(bodies, 1).unwrap_or_else(|problem| panic!("{problem}"));
    let found = simulated(&schedule, &LOGGOPSIM, &mut Noise::Quiet);
    found.finish_ps.iter().map(|ps| ps / 1_000).collect()
}

/// A message that is sent after 10 µs.
const SENDS: &str = "MPI_Send:1010:94372750360976:1:10,8,8:1:7:@:1012\nMPI_Finalize:1012:-\n";

#[test]
fn a_message_with_computation_before_and_after() {
    let receives =
        "MPI_Recv:1000:94372750360976:4:10,8,8:0:7:@:140736300202752:1014\nMPI_Finalize:1019:-\n";
    assert_eq!(finish(&[SENDS, receives]), [11_500, 10_000 + message_ns(8) + 5_000]);
}

/// The receive is posted before the computation: the message waits for the CPU, which computes for 20.5 µs.
#[test]
fn a_message_that_comes_during_computation() {
    let receives = "MPI_Irecv:1000:94372750360976:1:10,8,8:0:7:@:140736300202752:1000.25\n\
                    MPI_Wait:1020.75:140736300202752:1:1025\nMPI_Finalize:1025:-\n";
    assert_eq!(finish(&[SENDS, receives])[1], 20_500 + 1_500 + 42);
}

/// Calls that do not communicate belong to the computation around them; the time of those that wait does not.
#[test]
fn computation_is_what_lies_between_calls_that_communicate() {
    let receives = "MPI_Comm_rank:1002:@:140736300202796:1003\nMPI_Wtime:1004:1005\n\
                    MPI_Probe:1006:0:7:@:140736300202796:1050\nMPI_Get_count:1051:1:1,4,4:2:1052\n\
                    MPI_Recv:1053:94372750360976:1:10,8,8:0:7:@:140736300202752:1055\nMPI_Finalize:1055:-\n";
    assert_eq!(finish(&[SENDS, receives])[1], 10_000 + message_ns(8));
    let directory = directory(&[SENDS, receives]);
    let (_, traced) = mpi_trace::read(directory.path(), 1).expect("sound");
    assert_eq!((traced.calls, traced.local_calls), (3 + 7, 3));
    assert_eq!((traced.traced_ns, traced.computation_ns), (55_000, (10_000 + 9_000) / 2));
}

/// Nobody gets what is sent to `MPI_PROC_NULL`, and its number depends on the MPI library.
#[test]
fn messages_to_nobody() {
    let body = |world: &str, nobody: i32| {
        format!(
            "MPI_Isend:1010:9:4:10,8,8:{nobody}:7:{world},0,1:5000:1010\n\
             MPI_Irecv:1010:9:4:10,8,8:{nobody}:7:{world},0,1:5008:1010\n\
             MPI_Waitall:1010:2:5000:1:1010\n\
             MPI_Sendrecv:1030:9:4:10,8,8:{nobody}:7:9:4:10,8,8:{nobody}:7:{world},0,1:1:1030\nMPI_Finalize:1030:-\n"
        )
    };
    assert_eq!(finish(&[&body("94372624429696", -2)]), [30_000]);
    assert_eq!(finish(&[&body("1140850688", -1)]), [30_000]);
}

/// Requests lie 8 bytes apart in C with Open MPI, else 4.
#[test]
fn requests_are_known_by_their_addresses() {
    for (world, distance) in [("94372624429696", 8), ("1140850688", 4), ("0", 4)] {
        let sends = format!(
            "MPI_Send:1000:9:1:10,8,8:1:1:{world},0,2:1000\nMPI_Send:1200:9:1:10,8,8:1:2:{world},0,2:1200\nMPI_Finalize:1200:-\n"
        );
        let (first, second) = (4_000, 4_000 + distance);
        let receives = format!(
            "MPI_Irecv:1000:9:1:10,8,8:0:1:{world},1,2:{first}:1000\nMPI_Irecv:1000:9:1:10,8,8:0:2:{world},1,2:{second}:1000\n\
             MPI_Waitall:1000:1:{first}:1:1001\nMPI_Waitall:1101:2:{first}:1:1300\nMPI_Finalize:1305:-\n"
        );
        // The second message is sent at 201,500, long after the 100 µs that follow the first one.
        let second_ns = 1_500 + 200_000 + message_ns(8);
        assert_eq!(finish(&[&sends, &receives]), [203_000, second_ns + 5_000], "{world}");
    }
}

/// A trace does not have which request `MPI_Waitany` or `MPI_Test` ended: it is the last call that names it.
#[test]
fn requests_that_are_not_named() {
    let sends = "MPI_Send:1000:9:1:10,8,8:1:1:@:1000\nMPI_Send:1200:9:1:10,8,8:1:2:@:1200\nMPI_Finalize:1200:-\n";
    let second_ns = 1_500 + 200_000 + message_ns(8);
    let begin =
        "MPI_Irecv:1000:9:1:10,8,8:0:1:@:4000:1000\nMPI_Irecv:1000:9:1:10,8,8:0:2:@:4008:1000\n";
    let cases = [
        (
            "waitany",
            "MPI_Waitany:1000:2:4000:1:2:1001\nMPI_Waitany:1011:2:4000:1:2:1300\n",
            second_ns,
        ),
        ("test", "MPI_Test:1000:4000:1:2:1000\nMPI_Wait:1030:4008:1:1300\n", second_ns),
        // Both messages come while the rank computes.
        (
            "testall",
            "MPI_Testall:1000:2:4000:1:2:1000\nMPI_Testall:1300:2:4000:1:2:1300\n",
            300_000 + 2 * 1_542,
        ),
    ];
    for (name, ends, ended_ns) in cases {
        let receives = format!("{begin}{ends}MPI_Finalize:1305:-\n");
        let expected = ended_ns + 5_000;
        assert_eq!(finish(&[sends, &receives])[1], expected, "{name}");
        let directory = directory(&[sends, &receives]);
        let (_, traced) = mpi_trace::read(directory.path(), 1).expect("sound");
        assert_eq!(traced.lost_messages, 0, "{name}");
        assert!(traced.unclear_calls > 0, "{name}");
    }
    let lost = format!("{begin}MPI_Finalize:1005:-\n");
    let directory = directory(&[sends, &lost]);
    assert_eq!(mpi_trace::read(directory.path(), 1).expect("sound").1.lost_messages, 2);
}

/// A prepared message is sent each time that it is started.
#[test]
fn prepared_messages() {
    let prepares = "MPI_Send_init:1000:9:1:10,8,8:1:7:@:4000:1000\nMPI_Start:1000:4000:1001\nMPI_Wait:1001:4000:1:1002\n\
                    MPI_Startall:1002:1:4000:1002\nMPI_Waitall:1002:1:4000:1:1003\nMPI_Request_free:1003:4000:1003\nMPI_Finalize:1003:-\n";
    let receive = "MPI_Recv:1000:9:1:10,8,8:0:7:@:1:1000\n";
    let receives = format!("{receive}{receive}MPI_Finalize:1000:-\n");
    let found = finish(&[prepares, &receives]);
    // The second one comes while the first one is received.
    assert_eq!(found, [3_000, 4_000 + 2 * 1_542]);
}

/// Any message is one of the program's own, not one of a collective operation that comes first.
#[test]
fn any_message_is_none_of_a_collective_operation() {
    let sends =
        "MPI_Barrier:1000:@:1000\nMPI_Send:1100:9:1:10,8,8:1:7:@:1100\nMPI_Finalize:1100:-\n";
    let receives = "MPI_Irecv:1000:9:1:10,8,8:-1:-1:@:4000:1000\nMPI_Barrier:1000:@:1000\nMPI_Wait:1000:4000:1:1100\n\
                    MPI_Finalize:1100:-\n";
    let barrier_ns = message_ns(1);
    let expected = barrier_ns + 100_000 + message_ns(8);
    assert_eq!(finish(&[sends, receives]), [barrier_ns + 101_500, expected]);
    // With one tag only, a receive that names it can stand beside one that does not; with two, nobody knows.
    let named = format!("MPI_Recv:1000:9:1:10,8,8:0:7:@:1:1000\n{receives}");
    let first = format!("MPI_Send:1000:9:1:10,8,8:1:7:@:1000\n{sends}");
    assert_eq!(finish(&[&first, &named]).len(), 2);
    let first = first.replacen(":1:7:", ":1:8:", 1);
    let error = read(&[&first, &named], 1).expect_err("two tags").to_string();
    assert!(error.contains("rank-1.txt: line 6: the rank receives any tag here"), "{error}");
}

/// The message that was sent first is received last: it belongs to another communicator.
#[test]
fn messages_of_another_communicator_do_not_match() {
    let make = "MPI_Comm_dup:1000:@:5000:1000\n";
    let sends = format!(
        "{make}MPI_Send:1000:9:1000:10,8,8:1:7:@:1000\nMPI_Send:1000:9:1:10,8,8:1:7:55555555555,0,2:1000\nMPI_Finalize:1000:-\n"
    );
    let receives = format!(
        "{make}MPI_Recv:1000:9:1:10,8,8:0:7:66666666666,1,2:1:1000\nMPI_Recv:1100:9:1000:10,8,8:0:7:@:1:1100\nMPI_Finalize:1100:-\n"
    );
    // Both messages have come before the computation, which the small one ends.
    let (made_ns, both_ns) = (message_ns(1), 4_000 + 1_500 + 6 * 7_999 + 1_500 + 6 * 7);
    assert_eq!(finish(&[&sends, &receives])[1], made_ns + both_ns + 100_000);
}

/// Four ranks in two rows and columns: a message within each row, one within each column, and one within each diagonal,
/// whose communicator has the handle that the column's had before.
#[test]
fn communicators_that_are_split() {
    let body = |rank: usize| {
        let (row, column) = (rank / 2, rank % 2);
        let message = |handle: u64, own: usize, bytes: u32| match own {
            0 => format!("MPI_Send:1000:9:{bytes}:13,1,1:1:7:{handle},0,2:1000\n"),
            _ => format!("MPI_Recv:1000:9:{bytes}:13,1,1:0:7:{handle},1,2:1:1000\n"),
        };
        let split = |color: usize, key: usize, address: u32| {
            format!("MPI_Comm_split:1000:@:{color}:{key}:{address}:1000\n")
        };
        let (rows, columns) = (77_777_777_777 + rank as u64, 88_888_888_888);
        let name = |handle: u64, own: usize| {
            format!("MPI_Comm_rank:1000:{handle},{own},2:140736300202796:1000\n")
        };
        [
            split(row, column, 5_000),
            name(rows, column),
            split(column, row, 5_008),
            message(rows, column, 11),
            message(columns, row, 22),
            "MPI_Comm_free:1000:5008:1000\n".to_owned(),
            split((row + column) % 2, row, 5_008),
            message(columns, row, 33),
            message(rows, column, 11),
            "MPI_Finalize:1000:-\n".to_owned(),
        ]
        .concat()
    };
    let bodies: Vec<String> = (0..4).map(body).collect();
    let bodies: Vec<&str> = bodies.iter().map(|body| &**body).collect();
    let unnamed: Vec<String> =
        bodies.iter().map(|body| body.replace("MPI_Comm_rank", "#")).collect();
    let unnamed: Vec<&str> = unnamed.iter().map(|body| &**body).collect();
    let error = read(&unnamed, 1).expect_err("it may be a row or a column").to_string();
    assert!(error.contains("line 8: the trace does not have whether line 5 or 7"), "{error}");
    let schedule = read(&bodies, 1).unwrap_or_else(|problem| panic!("{problem}"));
    simulated(&schedule, &LOGGOPSIM, &mut Noise::Quiet);
    let mut text = vec![];
    goal::write_text(&schedule, &mut text).expect("written");
    let text = String::from_utf8(text).expect("text");
    let ranks: Vec<&str> = text.split("\nrank ").skip(1).collect();
    let sent = [(0, 1, 11), (2, 3, 11), (0, 2, 22), (1, 3, 22), (0, 3, 33), (1, 2, 33)];
    for (from, to, bytes) in sent {
        assert!(ranks[from].contains(&format!("send {bytes}b to {to} ")), "{from} {to}: {text}");
        assert!(ranks[to].contains(&format!("recv {bytes}b from {from} ")), "{from} {to}");
    }
}

/// A communicator whose ranks the trace does not have may be asked for its rank, but not communicate.
#[test]
fn communicators_that_only_have_a_name() {
    let name = "MPI_Cart_sub:1000:@:7:5000:1000\nMPI_Comm_size:1000:55555555555,0,2:1:1000\n";
    let again = "MPI_Comm_free:1000:7777:1000\nMPI_Comm_rank:1000:55555555555,0,2:1:1000\n";
    let barrier = "MPI_Barrier:1000:55555555555,0,2:1000\n";
    let others = "MPI_Cart_sub:1000:@:7:5000:1000\nMPI_Finalize:1000:-\n";
    let first = |calls: &[&str]| calls.concat() + "MPI_Finalize:1000:-\n";
    read(&[&first(&[name, again]), others, others], 1).expect("it is never used");
    for calls in [&[name, barrier][..], &[name, again, barrier], &[name, again, again, barrier]] {
        let error = read(&[&first(calls), others, others], 1).expect_err("unknown").to_string();
        assert!(
            error.contains("the trace does not have the ranks of this communicator"),
            "{error}"
        );
    }
}

/// Lines of all collective operations of a rank, from one root.
fn collectives(rank: usize, ranks: usize, root: usize) -> String {
    let counts: Vec<String> = (0..ranks).map(|rank| (rank % 3).to_string()).collect();
    let (counts, own, block) = (counts.join(","), rank % 3, "9:100:10,8,8:9:100:10,8,8");
    // What rank i sends to j, and j receives from i: i + j elements.
    let pairs: Vec<String> = (0..ranks).map(|other| (rank + other).to_string()).collect();
    let pairs = pairs.join(",");
    let calls = [
        "MPI_Barrier:1000:@".to_owned(),
        format!("MPI_Bcast:1000:9:100:10,8,8:{root}:@"),
        format!("MPI_Reduce:1000:8:9:100:10,8,8:3:{root}:@"),
        "MPI_Allreduce:1000:8:9:100:10,8,8:3:@".to_owned(),
        "MPI_Allreduce:1000:8:9:10000:10,8,8:3:@".to_owned(),
        format!("MPI_Gather:1000:{block}:{root}:@"),
        format!("MPI_Gatherv:1000:8:{own}:10,8,8:9:5:{counts}:6:{counts}:10,8,8:{root}:@"),
        format!("MPI_Scatter:1000:{block}:{root}:@"),
        format!("MPI_Scatterv:1000:9:5:{counts}:6:{counts}:10,8,8:8:{own}:10,8,8:{root}:@"),
        format!("MPI_Allgather:1000:{block}:@"),
        "MPI_Allgather:1000:9:90000:10,8,8:9:90000:10,8,8:@".to_owned(),
        format!("MPI_Allgatherv:1000:8:{own}:10,8,8:9:5:{counts}:6:{counts}:10,8,8:@"),
        format!("MPI_Alltoall:1000:{block}:@"),
        "MPI_Alltoall:1000:9:2:10,8,8:9:2:10,8,8:@".to_owned(),
        format!("MPI_Alltoallv:1000:8:5:{pairs}:6:{pairs}:10,8,8:9:5:{pairs}:6:{pairs}:10,8,8:@"),
        format!("MPI_Reduce_scatter:1000:8:9:5:{counts}:10,8,8:3:@"),
        "MPI_Scan:1000:8:9:100:10,8,8:3:@".to_owned(),
        "MPI_Exscan:1000:8:9:100:10,8,8:3:@".to_owned(),
    ];
    calls.map(|call| call + ":1000\n").concat() + "MPI_Finalize:1000:-\n"
}

/// Whatever a rank sends is received, and whatever it waits for comes, from each root; also when it is extrapolated.
#[test]
fn all_collective_operations_end() {
    for ranks in 1..=9 {
        for root in 0..ranks {
            let bodies: Vec<String> =
                (0..ranks).map(|rank| collectives(rank, ranks, root)).collect();
            let bodies: Vec<&str> = bodies.iter().map(|body| &**body).collect();
            for copies in [1, 3] {
                // The sizes of an all-to-all of copies are those of the traced ranks again: they still match.
                let schedule = read(&bodies, copies).unwrap_or_else(|problem| panic!("{problem}"));
                assert_eq!(schedule.ranks(), ranks as u32 * copies);
                simulated(&schedule, &LOGGOPSIM, &mut Noise::Quiet);
            }
        }
    }
}

/// Closed forms of some collective operations.
#[test]
fn collective_operations_take_the_time_of_their_messages() {
    let cases = [
        ("barrier of 4", 4, "MPI_Barrier:1000:@:1000\n", 2 * message_ns(1)),
        ("allreduce of 2", 2, "MPI_Allreduce:1000:8:9:1:10,8,8:3:@:1000\n", message_ns(8)),
        ("allreduce of 8", 8, "MPI_Allreduce:1000:8:9:100:10,8,8:3:@:1000\n", 3 * message_ns(800)),
        ("broadcast from 1 of 2", 2, "MPI_Bcast:1000:9:100:10,8,8:1:@:1000\n", message_ns(800)),
        ("scan of 2", 2, "MPI_Scan:1000:8:9:1:10,8,8:3:@:1000\n", message_ns(8)),
        ("gather of 2", 2, "MPI_Gather:1000:8:5:10,8,8:9:5:10,8,8:0:@:1000\n", message_ns(40)),
        (
            "all-to-all of 2",
            2,
            "MPI_Alltoall:1000:8:50:10,8,8:9:50:10,8,8:@:1000\n",
            message_ns(400),
        ),
    ];
    for (name, ranks, call, expected) in cases {
        let body = format!("{call}MPI_Finalize:1000:-\n");
        assert_eq!(finish(&vec![&*body; ranks]).into_iter().max(), Some(expected), "{name}");
    }
}

/// Copies exchange messages among themselves, and meet in collective operations.
#[test]
fn extrapolation() {
    let (sends, receives) = (
        SENDS.replace("MPI_Fin", "MPI_Barrier:1012:@:1012\nMPI_Fin"),
        "MPI_Recv:1000:9:1:10,8,8:0:7:@:1:1014\nMPI_Barrier:1014:@:1014\nMPI_Finalize:1014:-\n",
    );
    let schedule = read(&[&sends, receives], 8).expect("sound");
    assert_eq!((schedule.ranks(), schedule.messages()), (16, 8 + 16 * 4));
    let found = simulated(&schedule, &LOGGOPSIM, &mut Noise::Quiet);
    assert_eq!(found.end_ps() / 1_000, 10_000 + message_ns(8) + 4 * message_ns(1));
}

#[test]
fn traces_that_are_refused() {
    let ends = "MPI_Finalize:2000:-\n";
    let cases: &[(&[&str], &str)] = &[
        (&["MPI_Barrier:1000:@:1001\n"], "rank-0.txt: it ends without MPI_Finalize"),
        (&["MPI_Finalize:2000:2001\n"], "line 5: MPI_Finalize ends with `-`"),
        (&["MPI_Finalize:900:-\n"], "line 5: it begins 100 µs before the call before it ended"),
        (&["MPI_Barrier:999:@:1001\n"], "line 5: it begins 1 µs before the call before it ended"),
        (&["MPI_Barrier:1001:@:1000\n"], "line 5: it ends before it begins"),
        (&["MPI_Barrier:-:@:1000\n"], "line 5: it has no time"),
        (&["MPI_Barrier:1O01:@:1002\n"], "line 5: '1O01' is no time in µs"),
        (&["MPI_Barrier:1001:1,0:1002\n"], "'1,0' is no communicator"),
        (&["MPI_Barrier:1001:9,1,1:1002\n"], "'9,1,1' is no communicator"),
        (&["MPI_Barrier:1001:@:7:1002\n"], "MPI_Barrier has more arguments than it can have"),
        (&["MPI_Barrier:1001\n"], "line 5: it has no end"),
        (&["MPI_Barrier:1001:1002\n"], "line 5: an argument is missing"),
        (&["barrier\n"], "line 5: it does not begin with the name of an MPI call"),
        (&["MPI_Bcast:1001:9:-1:10,8,8:0:@:1002\n"], "'-1' is no number of elements"),
        (&["MPI_Bcast:1001:9:1:10,8:0:@:1002\n"], "'10,8' is no datatype with its size"),
        (&["MPI_Bcast:1001:9:1:10,8,8:1:@:1002\n"], "its root 1 is none of the 1 ranks"),
        (&["MPI_Send:1001:9:1:10,8,8:1:0:@:1002\n"], "1 is none of 1 ranks"),
        (&["MPI_Send:1001:9:1:10,8,8:0:-1:@:1002\n"], "-1 is no tag"),
        (&["MPI_Send:1001:9:1:10,8,8:-1:0:@:1002\n"], "-1 is none of 1 ranks"),
        (
            &["MPI_Send:1001:9:18446744073709551615:10,8,8:0:0:@:1002\n"],
            "18446744073709551615 elements of 8 bytes are too many",
        ),
        (
            &["MPI_Send:1001:9:99999999999:10,8,8:0:0:@:1002\nMPI_Finalize:2000:-\n"],
            "line 5: rank 0: 799999999992 bytes of a message are too long",
        ),
        (&["MPI_Start:1001:4000:1002\n"], "it starts a request that no call prepared"),
        (&["MPI_Put:1001:9:1:10,8,8:0:0:1:10,8,8:77:1002\n"], "MPI_Put may communicate"),
        (&["MPI_Iallreduce:1001:9:1:1002\n"], "MPI_Iallreduce may communicate"),
        (&["MPI_Alltoallw:1001:9:1:1002\n"], "MPI_Alltoallw may communicate"),
        (&["MPI_Abort:1001:@:1:1002\n"], "the program ended with MPI_Abort"),
        (
            &["MPI_Finalize:2000:-\nMPI_Barrier:2001:@:2002\n"],
            "line 6: it stands after MPI_Finalize",
        ),
        (
            &["MPI_Barrier:1001:9999999999,0,4:1002\nMPI_Finalize:2000:-\n"],
            "line 5: a communicator has 4 ranks, and there are 1 traces",
        ),
        (
            &["MPI_Barrier:1001:9999999999,1,2:1002\nMPI_Finalize:2000:-\n", ends],
            "line 5: this is the trace of rank 1, and its name is that of 0",
        ),
        (
            &[
                "MPI_Barrier:1001:@:1002\nMPI_Cart_sub:1002:@:7:5000:1002\nMPI_Barrier:1003:9999999998,0,2:1004\nMPI_Finalize:2000:-\n",
                "MPI_Finalize:2000:-\n",
                "MPI_Finalize:2000:-\n",
            ],
            "line 7: the trace does not have the ranks of this communicator of 2 ranks",
        ),
        (
            &[
                "MPI_Barrier:1001:@:1002\nMPI_Finalize:2000:-\n",
                "MPI_Bcast:1001:9:1:10,8,8:0:@:1002\nMPI_Finalize:2000:-\n",
            ],
            "rank-1.txt: line 5: MPI_Bcast (root 0, 8 bytes) stands where pmpi-trace-rank-0.txt has MPI_Barrier",
        ),
        (
            &[
                "MPI_Barrier:1001:@:1002\nMPI_Barrier:1003:@:1004\nMPI_Finalize:2000:-\n",
                "MPI_Barrier:1001:@:1002\nMPI_Finalize:2000:-\n",
            ],
            "rank-0.txt: line 6: pmpi-trace-rank-1.txt does not do this MPI_Barrier",
        ),
    ];
    for (bodies, expected) in cases {
        let error = read(bodies, 1).expect_err(expected).to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn directories_that_are_refused() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "there is no trace of a rank"),
        (&["notes.txt"], "there is no trace of a rank"),
        (&["pmpi-trace-rank-1.txt"], "the trace of rank 0 is missing"),
        (&["pmpi-trace-rank-0.txt", "pmpi-trace-rank-2.txt"], "the trace of rank 1 is missing"),
        (&["pmpi-trace-rank-0.txt", "pmpi-trace-rank-00.txt"], "rank 0 has a second trace"),
        (&["a-0.txt", "b-0.txt"], "there are traces of several programs: a-N.txt and b-N.txt"),
        (&["lap2-trace-rank-0-of-2.txt", "lap2-trace-rank-1-of-2.txt"], "from liballprof2"),
        (&["pmpi-trace-rank-0.txt.gz"], "pmpi-trace-rank-0.txt.gz is compressed"),
    ];
    for (names, expected) in cases {
        let directory = tempfile::tempdir().expect("a directory");
        for name in *names {
            std::fs::write(directory.path().join(name), "").expect("written");
        }
        let error = mpi_trace::read(directory.path(), 1).expect_err(expected).to_string();
        assert!(error.contains(expected), "{names:?}: {error}");
    }
    let nowhere = mpi_trace::read("/nowhere".as_ref(), 1).expect_err("no directory").to_string();
    assert!(nowhere.contains("/nowhere: cannot read it"), "{nowhere}");
}

/// Names that liballprof writes: with leading zeros, and with another beginning beside other files.
#[test]
fn names_of_traces() {
    for (begin, ending, width) in [("pmpi-trace-rank-", ".txt", 2), ("trace_bcast-", ".dat", 1)] {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("README.md"), "no trace").expect("written");
        for rank in 0..3 {
            let name = format!("{begin}{rank:0width$}{ending}");
            let text = file(rank, 3, "MPI_Barrier:1001:@:1002\nMPI_Finalize:2000:-\n");
            std::fs::write(directory.path().join(name), text).expect("written");
        }
        let (schedule, _) = mpi_trace::read(directory.path(), 1).expect("sound");
        assert_eq!(schedule.ranks(), 3);
    }
}

/// A trace that is cut off or has one other byte is read without panic, and simulated if it is still one.
#[test]
fn damaged_traces() {
    let sound = [
        collectives(0, 2, 1).replace("MPI_Fin", "MPI_Comm_split:1000:@:0:0:5000:1000\nMPI_Barrier:1000:55555555555,0,2:1000\nMPI_Comm_free:1000:5000:1000\nMPI_Isend:1001:9:1:10,8,8:1:7:@:4000:1002\nMPI_Waitall:1002:1:4000:1:1002\nMPI_Fin").replace(":1000:-", ":1002:-"),
        collectives(1, 2, 1).replace("MPI_Fin", "MPI_Comm_split:1000:@:0:0:5000:1000\nMPI_Barrier:1000:55555555555,1,2:1000\nMPI_Comm_free:1000:5000:1000\nMPI_Irecv:1001:9:1:10,8,8:0:7:@:4000:1002\nMPI_Test:1002:4000:1:1:1002\nMPI_Fin").replace(":1000:-", ":1002:-"),
    ];
    let bodies: Vec<&str> = sound.iter().map(|body| &**body).collect();
    let directory = directory(&bodies);
    mpi_trace::read(directory.path(), 1).unwrap_or_else(|problem| panic!("{problem}"));
    for rank in 0..2 {
        let path = directory.path().join(format!("pmpi-trace-rank-{rank}.txt"));
        let whole = std::fs::read(&path).expect("readable");
        let try_it = |damaged: &[u8]| {
            std::fs::write(&path, damaged).expect("written");
            let Ok((schedule, _)) = mpi_trace::read(directory.path(), 2) else { return false };
            let _ =
                simulate(&schedule, &LOGGOPSIM, Model::Anechoic, &mut Noise::Quiet, &mut |_, _| {
                    true
                });
            true
        };
        for length in (0..whole.len() - 1).step_by(3) {
            assert!(!try_it(&whole[..length]), "cut off at {length}");
        }
        // A few of all damages; the fuzz tests have others.
        for at in 0..whole.len() {
            let others = [b'9', b':', b',', b'-', b'\n', whole[at] ^ 0x80];
            for new in others.into_iter().skip(at % 6).take(usize::from(at % 4 == 0)) {
                let mut damaged = whole.clone();
                damaged[at] = new;
                try_it(&damaged);
            }
        }
        std::fs::write(&path, &whole).expect("written");
    }
}
