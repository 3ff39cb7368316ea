//! The ranks of a job find each other, under the launcher of the library that the command was built with.

use crate::launched::{BINARY, run};
use std::process::Command;

#[test]
fn ranks_exchange_bytes_and_meet() {
    for ranks in [1, 2, 3, 5, 8] {
        let ended = run(ranks, &["ranks"]);
        assert_eq!(ended.code, Some(0), "{ranks} ranks: {ended:?}");
        let heading = format!(" · ranks {ranks} · hosts 1\n");
        assert!(ended.out.contains(&heading), "{ranks} ranks: {}", ended.out);
        let rows = ended.out.lines().filter(|line| line.starts_with("    "));
        let told: Vec<String> =
            rows.filter_map(|row| row.split_whitespace().next().map(str::to_owned)).collect();
        let expected: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
        assert_eq!(told, expected, "each rank once, in their order: {}", ended.out);
        assert!(
            ended.out.contains("barrier ") && ended.out.contains("allreduce "),
            "{}",
            ended.out
        );
    }
}

#[test]
fn without_a_launcher_it_is_a_job_of_one() {
    let alone = Command::new(BINARY).arg("ranks").output().expect("it starts");
    let shown = String::from_utf8_lossy(&alone.stdout).into_owned();
    assert!(alone.status.success() && shown.contains("ranks 1 · hosts 1"), "{alone:?}");
}

/// Such as MPICH under a plain `srun`.
#[test]
fn a_launcher_that_the_library_does_not_know_is_told() {
    let mut one = Command::new(BINARY);
    one.arg("ranks").env("MV2_COMM_WORLD_RANK", "1").env("MV2_COMM_WORLD_SIZE", "2");
    let one = one.output().expect("it starts");
    let told = String::from_utf8_lossy(&one.stderr).into_owned();
    assert!(!one.status.success() && one.stdout.is_empty(), "{one:?}");
    assert!(told.contains("MVAPICH2 started 2 processes, but "), "{told}");
    assert!(told.contains("srun --mpi=pmix"), "{told}");
}

#[test]
fn help_and_version_need_no_job() {
    for (asked, expected) in [("--help", "mpirun -n"), ("--version", "MPI")] {
        let shown = Command::new(BINARY).arg(asked).output().expect("it starts");
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.status.success() && text.contains(expected), "{asked}: {shown:?}");
    }
}

#[test]
fn a_wrong_command_line_is_told_once() {
    let ended = run(3, &["rnaks"]);
    assert_eq!(ended.code, Some(64), "{ended:?}");
    assert_eq!(ended.err.matches("there is no `anechoic-mpi").count(), 1, "{}", ended.err);
}
