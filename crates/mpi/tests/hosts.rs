//! A job on two hosts: namespaces of this machine, each with a network, a name and a CPU, which end with
//! their processes.

use crate::launched::{BINARY, Job, LONG_S, Library, library, signal, wait_for};
use anechoic_lab::note;
use anechoic_recording::Recording;
use anechoic_recording::run::RunState;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Creates the hosts, in namespaces that are already new, and starts a job. `$1` is the directory of the
/// test's files.
const HOSTS: &str = r#"
set -eu
files=$1
shift
setpriv --pdeathsig KILL unshare --net --uts sleep 300 &
beta=$!
until [ "$(readlink /proc/$beta/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
echo $beta > $files/beta
in_beta="nsenter --target $beta --net --uts"
hostname alpha
$in_beta hostname beta
ip link add to-beta type veth peer name to-alpha netns $beta
ip address add 10.99.0.1/24 dev to-beta
ip link set lo up
ip link set to-beta up
$in_beta ip address add 10.99.0.2/24 dev to-alpha
$in_beta ip link set lo up
$in_beta ip link set to-alpha up
until [ "$(ip -o link show to-beta up | grep -c LOWER_UP)" = 1 ]; do sleep 0.02; done
exec taskset -c 0 "$@"
"#;

/// The command that a launcher calls instead of ssh: options, the host, the command.
const AGENT: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
if [ "$host" = 10.99.0.1 ]; then exec taskset -c 0 sh -c "$*"; fi
exec nsenter --target "$(cat "${0%/*}/beta")" --net --uts taskset -c 1 sh -c "$*"
"#;

/// Returns why two hosts are not available here.
fn lacking() -> Option<String> {
    let needed = "ip link add to-beta type veth peer name to-alpha && nsenter --target $$ --net true \
                  && setpriv --pdeathsig KILL taskset -c 1 true";
    match Command::new("unshare").args(["--net", "--uts", "sh", "-c", needed]).output() {
        Ok(tried) if tried.status.success() => None,
        Ok(tried) => Some(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Starts a job of two ranks on each of two hosts.
fn start(dir: &Path, args: &[&str]) -> Job {
    fs::write(dir.join("hosts"), HOSTS).expect("room");
    let agent = dir.join("agent");
    fs::write(&agent, AGENT).expect("room");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--net", "--uts", "sh"]);
    command.arg(dir.join("hosts")).arg(dir).args(library().launcher(LONG_S));
    let hosts = "10.99.0.1:2,10.99.0.2:2";
    match library() {
        Library::OpenMpi => {
            let network = "10.99.0.0/24";
            command
                .args(["--host", hosts, "--bind-to", "none", "--mca", "plm_rsh_agent"])
                .arg(agent);
            command.args(["--mca", "oob_tcp_if_include", network]);
            command.args([
                "--mca",
                "btl_tcp_if_include",
                network,
                "--mca",
                "btl",
                "self,vader,tcp",
            ]);
        }
        // The ranks communicate through memory, because MPICH 4.0 may not end over TCP (see `Job::end`).
        Library::Mpich => {
            command.args(["-launcher", "ssh", "-launcher-exec"]).arg(agent);
            command.args(["-localhost", "10.99.0.1", "-hosts", hosts]);
        }
    }
    command.args(["-n", "4", BINARY]).args(args).current_dir(dir);
    Job::start(command)
}

fn open(dir: &Path, host: &str) -> Recording {
    Recording::open(&dir.join(format!("host={host}"))).expect("it is readable")
}

#[test]
fn each_host_records_its_own_part() {
    if let Some(why) = lacking() {
        return note::skipped(format_args!("for two hosts cannot be made here: {why}"));
    }
    let files = TempDir::new().expect("room");
    let ended = start(files.path(), &["ranks"]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("ranks 4 · hosts 2"), "{ended:?}");

    let dir = files.path().join("set");
    let ended = start(files.path(), &["run", "-d", "500ms", "-o", "set"]).end();
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    for (host, ranks, cpu) in [("alpha", [0, 1], 0), ("beta", [2, 3], 1)] {
        let recording = open(&dir, host);
        let run = recording.run();
        let parallel = run.parallel.as_ref().expect("it was a job");
        assert_eq!((parallel.ranks, parallel.hosts, &*parallel.host), (4, 2, host));
        let here: Vec<u32> = parallel.here.iter().map(|rank| rank.rank).collect();
        assert_eq!(here, ranks, "on {host}");
        let measured: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
        assert_eq!(measured, [cpu], "on {host}: what the launcher gave");
        assert_eq!(run.state, RunState::Complete, "on {host}");
    }
    let cluster = fs::read_to_string(dir.join("cluster.json")).expect("rank 0 adds up");
    assert!(cluster.contains("alpha") && cluster.contains("beta"), "{cluster}");
}

#[test]
fn the_samples_of_both_hosts_are_joined() {
    if let Some(why) = lacking() {
        return note::skipped(format_args!("for two hosts cannot be made here: {why}"));
    }
    let files = TempDir::new().expect("room");
    let dir = files.path().join("set");
    let what = ["measure", "loops", "--variants", "counter,sum", "--grain", "150us"];
    let ended =
        start(files.path(), &[&what[..], &["--samples", "2000", "-o", "set"]].concat()).end();
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    let mut starts = Vec::new();
    for (host, cpu) in [("alpha", 0), ("beta", 1)] {
        let recording = open(&dir, host);
        let run = recording.run();
        assert_eq!(run.state, RunState::Complete, "on {host}");
        let measured: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
        assert_eq!(measured, [cpu], "on {host}: what the launcher gave");
        assert!(run.outcomes.iter().all(|outcome| outcome.samples == 2000), "{:?}", run.outcomes);
        let mut first: Vec<u64> = run.outcomes.iter().map(|outcome| outcome.first_ticks).collect();
        first.sort_unstable();
        starts.push(first);
    }
    // One counter for both, so that the rounds of the hosts can be compared. Later rounds follow a message.
    for (round, (alpha, beta)) in starts[0].iter().zip(&starts[1]).enumerate() {
        let apart = open(&dir, "alpha").run().clock.ns(alpha.abs_diff(*beta));
        assert!(apart < 400_000_000, "round {round} began {apart} ns apart");
    }
    let joined = fs::read(dir.join("hosts.json")).expect("rank 0 joins");
    let joined: serde_json::Value = serde_json::from_slice(&joined).expect("JSON");
    let experiments = joined["experiments"].as_array().expect("experiments");
    assert_eq!(experiments.len(), 2, "{joined}");
    for experiment in experiments {
        assert_eq!(
            (&experiment["hosts"], &experiment["samples"]),
            (&2.into(), &4000.into()),
            "{experiment}"
        );
    }
    assert!(ended.out.contains("alpha") && ended.out.contains("beta"), "{ended:?}");
}

#[test]
fn when_a_rank_dies_both_hosts_keep_what_they_measured() {
    if let Some(why) = lacking() {
        return note::skipped(format_args!("for two hosts cannot be made here: {why}"));
    }
    let files = TempDir::new().expect("room");
    let dir = files.path().join("set");
    let mut job = start(files.path(), &["run", "-d", "60s", "-o", "set"]);
    for host in ["alpha", "beta"] {
        wait_for(&dir.join(format!("host={host}")).join("run.json"));
    }
    std::thread::sleep(Duration::from_millis(1500));
    let [_, itself] = job.rank(3);
    signal(itself, "KILL");
    let ended = job.end();
    job.wait_for_ranks();
    assert_ne!(ended.code, Some(0), "{ended:?}");
    for host in ["alpha", "beta"] {
        let state = open(&dir, host).run().state.clone();
        assert!(matches!(state, RunState::Interrupted(_)), "{host}: {state:?}: {ended:?}");
    }
}
