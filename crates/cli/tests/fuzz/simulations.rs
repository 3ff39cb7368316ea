//! Readers of what is simulated: schedules, traces of MPI programs, parameters and noise of networks.

use super::Reader;
use anechoic_recording::options::Answers;
use anechoic_simulate::{Ask, Model, Noise, OPTIONS, Parameters, goal, run, simulate};
use std::fs;
use std::io::Cursor;
use std::path::Path;

/// Events after which a simulation is ended.
const MOST_EVENTS: u64 = 4 << 20;
const PARAMETERS: Parameters = Parameters {
    latency_ps: 1_000_000,
    overhead_ps: 200_000,
    gap_ps: 100_000,
    gap_per_byte_ps: 1_000,
    overhead_per_byte_ps: 0,
    eager_bytes: 64,
};

/// A schedule with all that one can have, as text and binary.
pub fn schedules() -> Vec<Vec<u8>> {
    let text = "// a schedule\nnum_ranks 3\n\nrank 0 {\r\na: calc 5000 cpu 1\nb_2: send 4296b to 1 tag 7 cpu 1 nic 2\n\
                b_2 requires a\n}\nrank 1 {\nl1: recv 4296b from 0 tag 7 cpu 1 nic 2\nl2: calc 12\nl2 irequires l1\n\
                l3: send 8b to 2\nl3 requires l2\n}\nrank 2 { /* last */\nrecv 8b from 1\n}\n";
    let schedule = goal::read_from(Cursor::new(text), text.len() as u64).expect("a schedule");
    let mut binary = vec![];
    goal::write_binary(&schedule, &mut binary).expect("memory");
    vec![text.as_bytes().to_vec(), binary]
}

pub fn read_schedule(_: &Path) -> Reader {
    Box::new(|input| {
        let Ok(schedule) = goal::read_from(Cursor::new(input), input.len() as u64) else { return };
        for model in [Model::Anechoic, Model::LogGopSim, Model::Atlahs] {
            let goes_on = &mut |done: u64, _| done < MOST_EVENTS;
            let _ = simulate(&schedule, &PARAMETERS, model, &mut Noise::Quiet, goes_on);
        }
        let mut again = vec![];
        goal::write_binary(&schedule, &mut again).expect("memory");
        let back =
            goal::read_from(Cursor::new(&again), again.len() as u64).expect("it was written");
        assert_eq!(back.len(), schedule.len());
    })
}

/// The trace of rank 0 or 1 of two, as liballprof writes it.
fn trace(rank: u32) -> String {
    let (peer, world) = (1 - rank, format!("94372624429696,{rank},2"));
    let step = |from: u64| {
        format!(
            "MPI_Irecv:{}:9:512:10,8,8:{peer}:1:{world}:4000:{0}\nMPI_Send:{0}:9:512:10,8,8:{peer}:1:{world}:{0}\n\
             MPI_Test:{0}:4000:1:2:{0}\nMPI_Wait:{}:4000:2:{}\nMPI_Allreduce:{2}:8:9:1:10,8,8:3:{world}:{}\n",
            from + 1_000,
            from + 1_010,
            from + 1_020,
            from + 1_040
        )
    };
    let steps: String = (0..5).map(|number| step(1_040 * number)).collect();
    format!("MPI_Init:-:1:2:0\n{steps}MPI_Finalize:5200:-\n")
}

pub fn traces() -> Vec<Vec<u8>> {
    vec![trace(0).into_bytes()]
}

pub fn read_trace(dir: &Path) -> Reader {
    let file = |rank: u32| dir.join(format!("pmpi-trace-rank-{rank}.txt"));
    fs::write(file(1), trace(1)).expect("a file");
    let (first, dir) = (file(0), dir.to_str().expect("text").to_owned());
    Box::new(move |input| {
        fs::write(&first, input).expect("there is space");
        simulated(&[("trace", &dir), ("extrapolate", "2"), ("law", "once"), ("delay", "1ms")]);
    })
}

pub fn parameters() -> Vec<Vec<u8>> {
    vec![b"# measured\nL 1.9us\no 230ns\ng 0ns\nG 0.079ns\nO 0ns\nS 4096\n".to_vec()]
}

pub fn read_parameters(dir: &Path) -> Reader {
    reads(dir, &["params"])
}

pub fn network_noise() -> Vec<Vec<u8>> {
    let texts = ["2.3us\n+400ns\n# a comment\n+0\n2300000\n", "0.09ns\n+0.01ns\n79\n"];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

pub fn read_network_noise(dir: &Path) -> Reader {
    reads(dir, &["network-noise", "network-noise-per-byte"])
}

/// Simulates a small job with the input as the file of each of these options in turn.
fn reads(dir: &Path, names: &'static [&str]) -> Reader {
    let file = dir.join("input");
    let path = file.to_str().expect("text").to_owned();
    Box::new(move |input| {
        fs::write(&file, input).expect("there is space");
        for name in names {
            simulated(&[
                ("pattern", "allreduce-rd"),
                ("ranks", "5"),
                ("iterations", "2"),
                ("bytes", "5000"),
                ("replicas", "2"),
                (name, &path),
            ]);
        }
    })
}

/// Simulates what these options ask for, if that is possible.
fn simulated(given: &[(&str, &str)]) {
    let answers = Answers::read(OPTIONS, given).expect("options");
    let Ok(ask) = Ask::read(&answers) else { return };
    let goes_on = |done: u64, _| done < MOST_EVENTS;
    if let Ok(found) = run(&ask, &[], &goes_on) {
        anechoic_report::json(&found, &mut std::io::sink()).expect("numbers");
    }
}
