//! The screen of a simulated job: beside the one that was looked at and found good.

use anechoic_recording::options::Answers;
use anechoic_report::results::Found;
use anechoic_report::results::simulated::SIMULATED;
use anechoic_report::{View, schemas};
use anechoic_simulate::{Ask, OPTIONS, Simulation, run};
use std::path::PathBuf;

fn simulated(options: &[(&str, &str)], noise: &[PathBuf]) -> Simulation {
    let ask = Ask::read(&Answers::read(OPTIONS, options).expect("options")).expect("a request");
    run(&ask, noise, &|_, _| true).expect("a simulation")
}

/// Looks at the screen of a simulation: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, options: &[(&str, &str)], noise: &[PathBuf]) {
    looks(name, simulated(options, noise));
}

fn looks(name: &str, found: Simulation) {
    let mut json = vec![];
    anechoic_report::json(&found, &mut json).expect("writing to memory");
    let view = View { all: true, ..View::default() };
    let text = Found::from_value(&SIMULATED, found, &[]).screen(&view).to_text(&view);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let mut schemas = schemas().into_iter();
    let (_, schema) = schemas.find(|(name, _)| *name == "simulate.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

#[test]
fn simulated_jobs() {
    golden("simulated_quiet", &[("pattern", "halo2d"), ("ranks", "64")], &[]);
    let law = [("pattern", "barrier"), ("ranks", "64"), ("law", "exponential"), ("replicas", "12")];
    golden("simulated_law", &law, &[]);
    let tolerated = [
        ("pattern", "allreduce-rd"),
        ("ranks", "32"),
        ("grain", "100us"),
        ("law", "exponential"),
        ("tolerate", "1%"),
    ];
    golden("simulated_tolerance", &tolerated, &[]);
    let once = [
        ("pattern", "chain"),
        ("ranks", "32"),
        ("law", "once"),
        ("on-rank", "7"),
        ("delay", "5ms"),
    ];
    golden("simulated_once", &once, &[]);
}

/// Latencies that differ: a delay may gain on its way, and its interval has the sign of the gain; a job may become shorter,
/// and no order of messages is the reason. Neither needs a recording, also by the rules of ATLAHS.
#[test]
fn latencies_that_differ() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).expect("written");
        file.to_str().expect("text").to_owned()
    };
    let (three, none) = (write("three", "1us\n1.9us\n3us\n"), write("none", "0\n"));
    let text = |options: &[(&str, &str)]| {
        let view = View::default();
        let found = Found::from_value(&SIMULATED, simulated(options, &[]), &[]);
        found.screen(&view).to_text(&view).replace('\n', " ")
    };
    let barrier = [("pattern", "barrier"), ("ranks", "16")];
    let delay = [("law", "once"), ("delay", "10ms"), ("network-noise", &*three)];
    let gains = text(&[&barrier[..], &delay].concat());
    let gain = gains.split(" and gains ").nth(1).expect(&gains);
    assert!(!gain.split(')').next().expect("an interval").contains('−'), "{gains}");
    for model in ["anechoic", "atlahs"] {
        let noise = [("network-noise", &*none), ("model", model)];
        let shorter = text(&[&barrier[..], &noise].concat());
        assert!(shorter.contains("shorter.") && !shorter.contains("order"), "{shorter}");
    }
}

/// One delay on top of noise: what it adds, and that its screen is one.
#[test]
fn simulated_wave() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("noise.txt");
    let detours =
        (0..2_000).map(|tick| format!("{} {}\n", 1_000_000 * tick, 20_000 + tick % 7 * 10_000));
    std::fs::write(&file, detours.collect::<String>()).expect("written");
    let options = [
        ("pattern", "chain"),
        ("ranks", "64"),
        ("iterations", "24"),
        ("law", "once"),
        ("on-rank", "32"),
        ("delay", "5ms"),
        ("phase", "independent"),
        ("length", "2s"),
    ];
    let mut found = simulated(&options, &[file]);
    let hosts = &mut found.noise.as_mut().expect("noise").hosts;
    hosts[0].name = "noise.txt".to_owned();
    let view = View::default();
    let brief = Found::from_value(&SIMULATED, found.clone(), &[]).screen(&view).to_text(&view);
    assert!(brief.lines().count() <= 40, "{brief}");
    looks("simulated_wave", found);
}

/// A traced program: what was read, both times, and what to know of them.
#[test]
fn simulated_traces() {
    let dir = tempfile::tempdir().expect("a directory");
    for rank in 0..2 {
        let peer = 1 - rank;
        let world = format!("94372624429696,{rank},2");
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
        let steps: String = (0..50).map(|number| step(1_040 * number)).collect();
        let text = format!("MPI_Init:-:1:2:0\n{steps}MPI_Finalize:52000:-\n");
        let file = dir.path().join(format!("pmpi-trace-rank-{rank}.txt"));
        std::fs::write(file, text).expect("written");
    }
    let path = dir.path().to_str().expect("text");
    let options = [("trace", path), ("extrapolate", "8"), ("law", "periodic"), ("replicas", "2")];
    let mut found = simulated(&options, &[]);
    "traces".clone_into(&mut found.job.name);
    looks("simulated_traces", found);
}

#[test]
fn simulated_with_recorded_detours() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("detours.txt");
    let lines =
        (0..2_000_u64).map(|at| format!("{}\t{}\n", at * 97_003, 500 + at * 7_331 % 20_000));
    let text = "# length_ns: 194100000\n".to_owned() + &lines.collect::<String>();
    std::fs::write(&file, text).expect("written");
    let options = [("pattern", "sweep"), ("ranks", "100"), ("network", "daint"), ("replicas", "3")];
    let ask = Ask::read(&Answers::read(OPTIONS, &options).expect("options")).expect("a request");
    let found = run(&ask, std::slice::from_ref(&file), &|_, _| true).expect("a simulation");
    let whole = found.slowdown.expect("with noise");
    assert!(whole.mean > 1.05 && whole.by_loggopsim.is_some() && whole.interval.is_none());
    assert_eq!(found.noise.expect("recorded").hosts[0].detours, 2_000);
    let many = [("pattern", "bcast"), ("ranks", "4096"), ("iterations", "1"), ("replicas", "1")];
    let ask = Ask::read(&Answers::read(OPTIONS, &many).expect("options")).expect("a request");
    let found = run(&ask, &[file], &|_, _| true).expect("a simulation");
    assert!(
        found.notes[0].contains("21 times as much CPU time as was recorded"),
        "{:?}",
        found.notes
    );
}
