//! Namespaces, missing file systems, and rights: capabilities one by one, system calls that are refused.

use super::{Place, possible};
use crate::tool;

/// Commands that need as much as possible.
const COMMANDS: [&str; 5] = [
    "check",
    "run -q -d 300ms -o r",
    "measure fwq -q --cpus 1 --repetitions 200 -o f",
    "inject --kind kernel --rate 100hz -q --for 200ms --cpus 1",
    "inject --kind thread --rate 100hz -q --for 200ms --cpus 1",
];

/// Longer ones, of which some places get one.
const LONGER: [&str; 3] = [
    "measure interference -q --cpus 1 -o i",
    "measure memory -q --quick --cpus 1 --experiments bandwidth-read-random-warm --point-time 1ms -o m",
    "measure paging -q --quick --cpus 1 --pages 'huge-2m' --point-time 1ms --blocks 2 -o p",
];

/// Runs the commands in a place, where COMMAND stands for one; its number chooses a longer one.
fn all(place: &Place, number: usize, around: &str) {
    short(place, around);
    one(place, LONGER[number % LONGER.len()], around);
}

fn short(place: &Place, around: &str) {
    COMMANDS.iter().for_each(|command| one(place, command, around));
}

fn one(place: &Place, command: &str, around: &str) {
    let around = around.replace("COMMAND", &format!("{} {command}", tool::ANECHOIC));
    place.run(&format!("rm -rf r f i m p; timeout -k 5 60 {around} >out; echo \"code $?\" >&2"));
    if command.starts_with("run") && place.at("r/run.json").exists() {
        let done = place.run("anechoic sources --json r >sources; cat sources");
        // Without attribution there is a message instead.
        let sources: serde_json::Value = serde_json::from_str(&done.out).unwrap_or_default();
        let rows = sources["sources"]["rows"].as_array();
        for row in rows.into_iter().flatten() {
            let is_loop = row["name"].as_str().is_some_and(|name| name.starts_with("loop "));
            assert!(!is_loop, "our own thread is a source: {around}: {row}");
        }
    }
}

#[test]
fn namespaces_and_missing_file_systems() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    let dir = tool::arg(place.dir.path()).to_owned();
    let places = [
        "unshare --pid --fork --mount-proc COMMAND",
        "unshare --pid --fork COMMAND",
        "unshare -U -r COMMAND",
        "unshare -U -r --pid --fork --mount-proc COMMAND",
        "unshare -C -n -i -u COMMAND",
        "unshare -m sh -c 'mount -t tmpfs none /sys; COMMAND'",
        "unshare -m sh -c 'mount -t tmpfs none /proc; COMMAND'",
        "unshare -m sh -c 'mount -t tmpfs none /proc; mount -t tmpfs none /sys; COMMAND'",
        "unshare -m sh -c 'mount -o remount,ro,bind /sys; COMMAND'",
        "setpriv --no-new-privs --reuid=65534 --regid=65534 --clear-groups COMMAND",
    ];
    for (number, around) in places.into_iter().enumerate() {
        all(&place, number, around);
    }
    let root = format!(
        "unshare -m sh -c 'mkdir -p {dir}/root; mount --bind / {dir}/root; chroot {dir}/root sh -c \"cd {dir}; COMMAND\"'"
    );
    all(&place, places.len(), &root);
    place.leave();
}

#[test]
fn capabilities_one_by_one() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    let names = [
        "sys_admin",
        "sys_nice",
        "ipc_lock",
        "bpf",
        "perfmon",
        "dac_override",
        "dac_read_search",
        "syslog",
        "sys_resource",
        "sys_ptrace",
    ];
    for (number, name) in names.into_iter().enumerate() {
        for command in &COMMANDS[..3] {
            one(&place, command, &format!("setpriv --bounding-set=-{name} COMMAND"));
        }
        let around = format!("setpriv --bounding-set=-all,+{name} COMMAND");
        match number % 3 {
            0 => all(&place, number / 3, &around),
            _ => short(&place, &around),
        }
    }
    all(&place, 0, "setpriv --bounding-set=-all COMMAND");
    place.leave();
}

/// As under the profiles of container runtimes, which refuse calls that a capability alone would permit.
#[test]
fn system_calls_that_are_refused() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let mut place = Place::new();
    let (perf, bpf, mounts) = (libc::SYS_perf_event_open, libc::SYS_bpf, libc::SYS_mount);
    let policy = [libc::SYS_sched_setscheduler, libc::SYS_sched_setattr];
    let locks = [libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_mlockall];
    let runtime = [perf, bpf, mounts, libc::SYS_unshare, libc::SYS_setns, libc::SYS_ptrace];
    let cases: [(&[libc::c_long], i32); 9] = [
        (&[perf], libc::EPERM),
        (&[bpf], libc::EPERM),
        (&[mounts], libc::EPERM),
        (&policy, libc::EPERM),
        (&locks, libc::EPERM),
        (&[libc::SYS_sched_setaffinity], libc::EPERM),
        (&[libc::SYS_splice, libc::SYS_prlimit64, libc::SYS_madvise], libc::EPERM),
        (&runtime, libc::EPERM),
        (&[&runtime[..], &policy, &locks].concat(), libc::ENOSYS),
    ];
    for (number, (calls, error)) in cases.into_iter().enumerate() {
        place.refused = (calls.to_vec(), error);
        match number % 2 {
            0 => all(&place, number / 2, "COMMAND"),
            _ => short(&place, "COMMAND"),
        }
    }
    place.refused.0.clear();
    place.leave();
}
