//! Copies a recording without what names its owner: host, command lines, paths, and threads of users.

use crate::injection::{Injected, InjectionTiming};
use crate::machine::Machine;
use crate::parallel::Parallel;
use crate::problem::Problem;
use crate::recorder::Recorder;
use crate::recording::Recording;
use crate::row::Row;
use crate::rows::{Activity, Counter, Detour, KernelEvent, Loss, Name, Sample, Series};
use crate::run::{NotAvailable, Run, RunState};
use crate::who::{CpuLimits, SeenThread};
use crate::{NameKind, sources};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

/// What stands for a text that is removed.
const REMOVED: &str = "(removed)";
/// Paths below these say nothing about the owner.
const OPEN_PATHS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// How the names of threads begin that are the kernel's or our own.
const OPEN_NAMES: [&str; 24] = [
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "irq/",
    "swapper/",
    "jbd2/",
    "watchdog/",
    "idle_inject/",
    "rcu_",
    "rcub/",
    "rcuc/",
    "rcuog/",
    "rcuop/",
    "rcuos/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "khungtaskd",
    "kthreadd",
    "loop ",
    "inject ",
    "anechoic",
    "housekeeper",
];

impl Recording {
    /// Copies the recording to `dir`, a new or empty directory, under the host name `host`.
    ///
    /// Host names, command lines, the kernel's command line, paths outside of /proc, /sys and /dev, names of threads
    /// other than the kernel's, and addresses without a name are replaced. Everything else stays: times, numbers,
    /// process ids, CPU model, kernel, settings, devices, kernel threads and functions.
    ///
    /// # Errors
    /// Fails if the recording is damaged or the copy cannot be written.
    pub fn redact_to(&self, dir: &Path, host: &str) -> Result<(), Problem> {
        let (run, mut threads) = (redacted(self.run(), host), Threads::default());
        let mut copy = Recorder::create(dir, &run)?;
        self.copy_to::<Detour>(&mut copy, |_| {})?;
        self.copy_to::<KernelEvent>(&mut copy, |_| {})?;
        self.copy_to::<Loss>(&mut copy, |_| {})?;
        self.copy_to::<Counter>(&mut copy, |_| {})?;
        self.copy_to::<Sample>(&mut copy, |_| {})?;
        self.copy_to::<Series>(&mut copy, |_| {})?;
        self.copy_to::<Name>(&mut copy, |name| threads.name(name))?;
        copy.finish(&run)?;
        let Some(attribution) = self.attribution()? else { return Ok(()) };
        let copy = Recording::open(dir)?;
        let mut activities = copy.derive::<Activity>()?;
        for rows in self.rows::<Activity>() {
            let mut rows = rows?;
            rows.iter_mut().for_each(|row| threads.activity(row));
            activities.append(&rows)?;
        }
        activities.finish()?;
        Ok(Recording::open(dir)?.write_attribution(&attribution)?)
    }

    fn copy_to<R: Row>(
        &self,
        copy: &mut Recorder,
        mut redact: impl FnMut(&mut R),
    ) -> Result<(), Problem> {
        for rows in self.rows::<R>() {
            let mut rows = rows?;
            rows.iter_mut().for_each(&mut redact);
            copy.append(&rows)?;
        }
        Ok(())
    }
}

/// Returns the description of a run without what names its owner.
fn redacted(run: &Run, host: &str) -> Run {
    let text = |text: &String| scrubbed(text, &run.machine.host, host);
    let cgroups = Cgroups::of(&run.threads, run.limits.as_ref());
    let not_available = |of: &NotAvailable| NotAvailable {
        what: text(&of.what),
        why: text(&of.why),
        remedy: text(&of.remedy),
    };
    Run {
        command: vec![REMOVED.into()],
        state: match &run.state {
            RunState::Interrupted(why) => RunState::Interrupted(text(why)),
            state => state.clone(),
        },
        injections: run.injections.iter().map(without_path).collect(),
        parallel: run.parallel.clone().map(|job| Parallel { host: host.into(), ..job }),
        not_available: run.not_available.iter().map(not_available).collect(),
        notes: run.notes.iter().map(text).collect(),
        threads: run.threads.iter().map(|seen| without_names(seen, &cgroups)).collect(),
        limits: run.limits.clone().map(|limits| CpuLimits {
            cgroup: cgroups.alias(&limits.cgroup),
            limited: limits.limited.map(|_| REMOVED.into()),
            ..limits
        }),
        machine: Machine { host: host.into(), command_line: REMOVED.into(), ..run.machine.clone() },
        ..run.clone()
    }
}

/// Numbers that stand for the paths of cgroups.
struct Cgroups<'a>(BTreeSet<&'a str>);

impl<'a> Cgroups<'a> {
    fn of(threads: &'a [SeenThread], limits: Option<&'a CpuLimits>) -> Self {
        let own = limits.map(|limits| &*limits.cgroup);
        let all = threads.iter().map(|seen| &*seen.cgroup).chain(own);
        Self(all.filter(|path| *path != "/").collect())
    }

    /// Returns what stands for a path; the root stays the root.
    fn alias(&self, path: &str) -> String {
        let number = self.0.iter().position(|known| *known == path);
        number.map_or_else(|| "/".to_owned(), |number| format!("/cgroup-{}", number + 1))
    }
}

/// Returns a thread of the kernel as it is, and of any other its numbers, and which have one cgroup.
fn without_names(seen: &SeenThread, cgroups: &Cgroups<'_>) -> SeenThread {
    if seen.is_of_kernel() {
        return seen.clone();
    }
    let cgroup = cgroups.alias(&seen.cgroup);
    SeenThread {
        name: REMOVED.into(),
        command: REMOVED.into(),
        unit: seen.unit.as_ref().map(|_| cgroup.clone()),
        cgroup,
        ..seen.clone()
    }
}

fn without_path(injected: &Injected) -> Injected {
    let timing = match &injected.timing {
        InjectionTiming::Replay { .. } => InjectionTiming::Replay { recording: REMOVED.into() },
        timing => timing.clone(),
    };
    Injected { timing, ..injected.clone() }
}

/// Replaces the host's name and paths in a text.
fn scrubbed(text: &str, host: &str, alias: &str) -> String {
    let is_private = |word: &str| {
        let path = word.trim_start_matches(|c: char| c.is_ascii_punctuation() && c != '/');
        path.starts_with('/')
            && path.len() > 1
            && !OPEN_PATHS.iter().any(|open| path.starts_with(open))
    };
    let name = |word: &str| {
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        if !host.is_empty() && bare == host { word.replace(host, alias) } else { word.to_owned() }
    };
    let words =
        text.split(' ').map(|word| if is_private(word) { REMOVED.into() } else { name(word) });
    words.collect::<Vec<_>>().join(" ")
}

/// Names that stand for those of threads, in the order in which they appear.
#[derive(Debug, Default)]
struct Threads(HashMap<Arc<str>, Arc<str>>);

impl Threads {
    /// Returns the name that stands for this one.
    fn alias(&mut self, name: &str) -> Arc<str> {
        if name.is_empty() || OPEN_NAMES.iter().any(|open| name.starts_with(open)) {
            return name.into();
        }
        let next = self.0.len() + 1;
        self.0.entry(name.into()).or_insert_with(|| format!("user-{next}").into()).clone()
    }

    fn name(&mut self, name: &mut Name) {
        if name.kind == NameKind::Task {
            name.name = self.alias(&name.name).as_ref().into();
        }
    }

    fn activity(&mut self, row: &mut Activity) {
        if sources::THREAD.is(&row.source) || sources::FAIR_SERVER.is(&row.source) {
            row.name = self.alias(&row.name);
        }
        row.sent_by_task = row.sent_by_task.take().map(|task| self.alias(&task));
        row.function = row.function.take().filter(|function| !function.starts_with("0x"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_hosts_and_private_paths() {
        for (text, expected) in [
            ("vm: cannot read /home/eve/x", "host-1: cannot read (removed)"),
            ("see (/home/eve/x) and /proc/cmdline", "see (removed) and /proc/cmdline"),
            ("vm.swappiness of `vm` is 60", "vm.swappiness of `host-1` is 60"),
            ("1/s, 3 / 4", "1/s, 3 / 4"),
        ] {
            assert_eq!(scrubbed(text, "vm", "host-1"), expected);
        }
    }

    #[test]
    fn threads_of_users_have_numbers_and_those_of_the_kernel_their_names() {
        let mut threads = Threads::default();
        let names = ["secretd", "kworker/1:1", "bash", "secretd", "", "loop 1"];
        let aliases = names.map(|name| threads.alias(name).to_string());
        assert_eq!(aliases, ["user-1", "kworker/1:1", "user-2", "user-1", "", "loop 1"]);
    }

    #[test]
    fn threads_keep_their_numbers_and_who_shares_a_cgroup() {
        let thread = |tid, command: &str, cgroup: &str| SeenThread {
            tid,
            name: "secret".into(),
            command: command.into(),
            cgroup: cgroup.into(),
            unit: (cgroup != "/").then(|| "secret.service".into()),
            ..SeenThread::default()
        };
        let limits = CpuLimits { cgroup: "/own".into(), ..CpuLimits::default() };
        let threads =
            vec![thread(1, "secret", "/own"), thread(2, "secret", "/a"), thread(3, "secret", "/")];
        let cgroups = Cgroups::of(&threads, Some(&limits));
        let hidden: Vec<_> = threads.iter().map(|seen| without_names(seen, &cgroups)).collect();
        let found: Vec<&str> = hidden.iter().map(|seen| &*seen.cgroup).collect();
        assert_eq!(found, ["/cgroup-2", "/cgroup-1", "/"]);
        assert_eq!(cgroups.alias(&limits.cgroup), "/cgroup-2");
        assert!(!serde_json::to_string(&hidden).expect("plain data").contains("secret"));
    }
}
