//! Control groups that a test makes, and what it does with them.

use anechoic_lab::note;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// The files that give a group a fifth of one CPU, for both versions of control groups, below where these are mounted.
const QUOTA: [(&str, &[(&str, &str)]); 2] = [
    ("/sys/fs/cgroup", &[("cpu.max", "20000 100000")]),
    ("/sys/fs/cgroup/cpu", &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000")]),
];

/// A control group that is removed at the end, with what is left in it.
pub struct Group(PathBuf);

impl Group {
    /// Makes one of version 2; `None`, with a note, where that is not possible.
    pub fn make(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("a list");
        let unified = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"));
        let Some(mount) = unified.and_then(|line| line.split(' ').nth(1)) else {
            note::skipped("control groups of version 2 are not mounted");
            return None;
        };
        let group = Self::below(mount, name);
        match fs::create_dir(&group.0) {
            Ok(()) => Some(group),
            Err(error) => {
                note::skipped(format!("no control group can be made: {error}"));
                None
            }
        }
    }

    /// Makes one that may use a fifth of one CPU; `None`, with a note, where that is not possible.
    pub fn with_quota() -> Option<Self> {
        let found = QUOTA.iter().find_map(|(mount, _)| Self::below(mount, "quota").limited());
        if found.is_none() {
            note::skipped("may not make a control group with a quota");
        }
        found
    }

    /// Makes another one inside this one, which may use a fifth of one CPU, too; `None` where groups inside have no quota of
    /// their own.
    pub fn inside(&self) -> Option<Self> {
        Self(self.0.join("inside")).limited()
    }

    /// Makes its directory and sets its quota.
    fn limited(self) -> Option<Self> {
        fs::create_dir(&self.0).ok()?;
        // Where groups are mounted below, this is an ordinary directory, without files.
        let set = |(file, value): &(&str, &str)| {
            self.0.join(file).exists() && fs::write(self.0.join(file), value).is_ok()
        };
        let limited = QUOTA.iter().any(|(_, files)| files.iter().all(set));
        limited.then_some(self)
    }

    /// Returns for how long its quota held threads back, in ns.
    pub fn throttled_ns(&self) -> f64 {
        let stat = fs::read_to_string(self.0.join("cpu.stat")).expect("an account");
        let value = |key: &str| stat.lines().find_map(|line| line.strip_prefix(key)?.parse().ok());
        let from_us = |us: f64| us * 1e3;
        value("throttled_usec ")
            .map(from_us)
            .or_else(|| value("throttled_time "))
            .expect("its time")
    }

    fn below(mount: &str, name: &str) -> Self {
        Self(Path::new(mount).join(format!("anechoic-{name}-{}", std::process::id())))
    }

    /// Returns its directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the file that moves processes into it.
    pub fn processes(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    pub fn take(&self, process: &Child) {
        fs::write(self.processes(), process.id().to_string()).expect("it goes on");
    }

    pub fn give_away(&self, process: &Child) {
        let above = self.0.parent().expect("a directory").join("cgroup.procs");
        fs::write(above, process.id().to_string()).expect("it goes on");
    }

    /// Returns the CPU time of all that was in it, in ms.
    pub fn cpu_ms(&self) -> f64 {
        let stat = fs::read_to_string(self.0.join("cpu.stat")).expect("an account");
        let usage = stat.lines().find_map(|line| line.strip_prefix("usage_usec "));
        usage.expect("its time").parse::<f64>().expect("a number") / 1e3
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..50 {
            // In an ordinary directory there is no such file, and it must not be made.
            let kill = fs::File::options().write(true).open(self.0.join("cgroup.kill"));
            let _ = kill.and_then(|mut kill| kill.write_all(b"1"));
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
