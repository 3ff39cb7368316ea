//! The fault campaign: what happens to the command if the world around it is hostile. `make test-faults` runs it; it
//! takes some minutes, so it is not part of the other tests.
//!
//! Whatever happens, the command neither panics nor hangs, its exit code is a known one, and the host is afterwards
//! as it was before.

mod held;
mod inputs;
mod places;
mod resources;
mod several;
mod signals;

use crate::tool::{self, Done, command};
use anechoic_lab::process::refuse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All exit codes of the command.
pub const KNOWN: [i32; 10] = [0, 1, 2, 3, 64, 65, 66, 69, 73, 74];
/// Seconds after which a call counts as hung. The longest takes a few seconds on a busy host.
const DEADLINE_S: u32 = 60;

/// A place for one test, whose temporary files are its own.
struct Place {
    dir: tempfile::TempDir,
    before: Host,
    /// System calls that the kernel refuses, and the error.
    refused: (Vec<libc::c_long>, i32),
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("tmp")).expect("a directory");
        Place { dir, before: Host::now(), refused: (vec![], 0) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a shell script in this place; `anechoic` is the command under test. Every call in it must have a code of
    /// the command and must end in time.
    fn run(&self, script: &str) -> Done {
        let dir = tool::arg(self.dir.path());
        let script = format!(
            "cd {dir} && export TMPDIR={dir}/tmp && anechoic() {{ timeout -k 5 {DEADLINE_S} {} \"$@\"; \
             echo \"code $?\" >&2; }}; {script}",
            tool::ANECHOIC
        );
        let mut bash = Command::new("bash");
        let (calls, error) = &self.refused;
        let done = tool::run(refuse(bash.args(["-c", &script]), calls, *error));
        assert!(!done.err.contains("panicked"), "{script}\n{}", done.err);
        for code in codes(&done) {
            assert!(KNOWN.contains(&code), "exit code {code}: {script}\n{}", done.err);
        }
        done
    }

    /// Checks that the host is as it was, once a start has removed what killed processes left.
    fn leave(self) {
        self.run("anechoic run -d 50ms -q -o last --cpus 0 >&-");
        let left: Vec<PathBuf> = entries(&self.at("tmp")).collect();
        assert!(left.is_empty(), "temporary files: {left:?}");
        let after = Host::now();
        assert_eq!(after.mounts, self.before.mounts);
        let differs = |(file, now): &(&PathBuf, &Option<String>)| {
            self.before.settings.get(*file) != Some(now)
        };
        let changed: Vec<_> = after.settings.iter().filter(differs).collect();
        assert!(changed.is_empty(), "settings: {changed:?}");
        assert_eq!(after.settings.len(), self.before.settings.len(), "some are gone");
        assert_eq!(after.tracing, self.before.tracing, "the kernel's own tracing");
        let new: Vec<_> = after.notes.difference(&self.before.notes).collect();
        assert!(new.is_empty(), "notes: {new:?}");
        assert!(after.processes.is_empty(), "still running: {:?}", after.processes);
        let new: Vec<_> = after.instances.difference(&self.before.instances).collect();
        assert!(new.is_empty(), "trace instances: {new:?}");
    }
}

/// The exit codes that a script reported.
fn codes(done: &Done) -> Vec<i32> {
    let codes = done.err.lines().filter_map(|line| line.strip_prefix("code "));
    codes.filter_map(|code| code.trim().parse().ok()).collect()
}

/// The state of the host that no start may change. BPF programs, perf events and threads end with their process.
struct Host {
    instances: BTreeSet<String>,
    processes: BTreeSet<PathBuf>,
    mounts: BTreeSet<String>,
    /// The files of settings and pools, and what is in them.
    settings: BTreeMap<PathBuf, Option<String>>,
    /// The settings of the kernel's tracing outside of instances, a line each.
    tracing: BTreeSet<String>,
    /// What processes note for the next start, without the lock, which stays; and pinned programs of BPF.
    notes: BTreeSet<PathBuf>,
}

impl Host {
    fn now() -> Self {
        let within = |script: &str| {
            let script = format!("mount -t tracefs none /mnt && cd /mnt && {script}");
            command("unshare", &["-m", "sh", "-c", &script]).out
        };
        let instances = within("ls instances");
        let tracing = within(&format!("grep -s '' {TRACING}"));
        // Those of living processes are others' or about to be removed.
        let dead = |name: &&str| {
            let pid = name.strip_prefix("anechoic-").and_then(|rest| rest.split('-').next());
            pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
        };
        let described = |line: &str| line.split(' ').skip(3).collect::<Vec<_>>().join(" ");
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let ours = |process: &PathBuf| {
            fs::read_link(process.join("exe")).is_ok_and(|exe| exe == Path::new(tool::ANECHOIC))
        };
        let note = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.trim_start_matches('.').starts_with("anechoic-") && !name.ends_with(".lock")
        };
        Host {
            instances: instances.lines().filter(dead).map(str::to_owned).collect(),
            processes: entries(Path::new("/proc")).filter(ours).collect(),
            mounts: mounts.lines().map(described).collect(),
            settings: settings(),
            tracing: tracing.lines().map(str::to_owned).collect(),
            notes: entries(Path::new("/run"))
                .filter(note)
                .chain(entries(Path::new("/sys/fs/bpf")))
                .collect(),
        }
    }
}

/// Files of the kernel's tracing that instances do not have.
const TRACING: &str = "tracing_on current_tracer trace_clock tracing_cpumask buffer_size_kb set_event set_event_pid \
                       set_ftrace_filter kprobe_events uprobe_events dynamic_events events/enable options/*";

/// Files of `/proc/sys` that are counts, that change something by being read, or that the kernel derives from other settings.
const NO_SETTINGS: [&str; 4] =
    ["ns_last_pid", "hung_task_detect_count", "stat_refresh", "min_free_kbytes"];

/// Returns what is in the files of settings and pools: of the kernel, of its memory, of each CPU and of each interrupt.
fn settings() -> BTreeMap<PathBuf, Option<String>> {
    let sysctl = |name: &str| entries(&Path::new("/proc/sys").join(name));
    let is_setting =
        |file: &PathBuf| file.is_file() && !NO_SETTINGS.iter().any(|name| file.ends_with(name));
    let kernel = sysctl("kernel").chain(sysctl("vm")).filter(is_setting);
    let cpus = entries(Path::new("/sys/devices/system/cpu"))
        .flat_map(|cpu| ["online", "cpufreq/scaling_governor"].map(|name| cpu.join(name)))
        .filter(|file| file.is_file());
    let interrupts = entries(Path::new("/proc/irq"))
        .map(|irq| irq.join("smp_affinity"))
        .filter(|file| file.is_file());
    let sizes = |dir: &str| entries(&Path::new("/sys/kernel/mm").join(dir));
    let pools = sizes("hugepages").map(|size| size.join("nr_hugepages"));
    let transparent = sizes("transparent_hugepage").map(|size| size.join("enabled"));
    let all = Path::new("/sys/kernel/mm/transparent_hugepage/enabled").to_owned();
    let files = kernel.chain(cpus).chain(interrupts).chain(pools).chain(transparent).chain([all]);
    files.map(|file| (file.clone(), fs::read_to_string(file).ok())).collect()
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns whether the campaign can run here: it needs root, to take rights away, and a CPU that stays free.
fn possible() -> bool {
    tool::noisy().is_some()
}

#[test]
fn the_state_of_the_host_has_what_the_command_changes_or_could() {
    if !possible() {
        return;
    }
    let host = Host::now();
    for file in [
        "/proc/sys/kernel/perf_event_paranoid",
        "/proc/sys/kernel/sched_rt_runtime_us",
        "/proc/sys/vm/nr_hugepages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/devices/system/cpu/cpu1/online",
    ] {
        let is_there = Path::new(file).exists();
        assert_eq!(host.settings.contains_key(Path::new(file)), is_there, "{file}");
    }
    assert!(host.settings.keys().any(|file| file.starts_with("/proc/irq")));
    for line in ["tracing_on:", "events/enable:", "tracing_cpumask:"] {
        assert!(
            host.tracing.iter().any(|setting| setting.starts_with(line)),
            "{line} {:?}",
            host.tracing
        );
    }
    assert!(host.mounts.iter().any(|mount| mount.contains(" / ")), "{:?}", host.mounts);
}
