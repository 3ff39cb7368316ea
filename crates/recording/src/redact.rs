//! Copies a recording without what names its owner: host, command lines, paths, and threads of users.

use crate::injection::{Injected, InjectionTiming};
use crate::machine::{Machine, Setting};
use crate::parallel::Parallel;
use crate::problem::Problem;
use crate::program::Marked;
use crate::recorder::Recorder;
use crate::recording::Recording;
use crate::row::{DerivedRow, Row};
use crate::rows::{
    Activity, Counter, Delay, Detour, KernelEvent, LengthCount, Loss, Mark, Name, ProgramThread,
    Sample, Series,
};
use crate::run::{NotAvailable, Program, ProgramCgroup, Run, RunState};
use crate::scrub::{REMOVED, Scrubber};
use crate::sources::Source;
use crate::who::{ALIAS, CpuLimits, SeenThread};
use crate::{NameKind, sources};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

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
    /// Copies the recording to `dir`, a new or empty directory, under the host name `host`; `hosts` has what stands
    /// for the names of all known hosts, which other texts may contain.
    ///
    /// Host names, command lines and their words, the kernel's command line, paths outside of /proc and /sys, names of
    /// cgroups and of threads other than the kernel's, and addresses without a name are replaced. Everything else
    /// stays: times, numbers, process ids, CPU model, kernel, settings, devices, kernel threads and functions.
    ///
    /// # Errors
    /// Fails if the recording is damaged or the copy cannot be written.
    pub fn redact_to(
        &self,
        dir: &Path,
        host: &str,
        hosts: &BTreeMap<String, String>,
    ) -> Result<(), Problem> {
        let (run, mut threads) = (redacted(self.run(), host, hosts), Threads::default());
        let mut copy = Recorder::create(dir, &run)?;
        self.copy_to::<Detour>(&mut copy, |_| {})?;
        self.copy_to::<KernelEvent>(&mut copy, |_| {})?;
        self.copy_to::<Loss>(&mut copy, |_| {})?;
        self.copy_to::<Counter>(&mut copy, |_| {})?;
        self.copy_to::<LengthCount>(&mut copy, |_| {})?;
        self.copy_to::<Sample>(&mut copy, |_| {})?;
        self.copy_to::<Series>(&mut copy, without_directory)?;
        self.copy_to::<Mark>(&mut copy, |mark| mark.label = Arc::from(""))?;
        self.copy_to::<Name>(&mut copy, |name| threads.name(name))?;
        copy.finish(&run)?;
        let Some(attribution) = self.attribution()? else { return Ok(()) };
        let copy = Recording::open(dir)?;
        self.derived_to::<Activity>(&copy, |row| threads.activity(row))?;
        self.derived_to::<ProgramThread>(&copy, |row| row.name = threads.alias(&row.name))?;
        self.derived_to::<Delay>(&copy, |row| {
            if row.holder.is_some_and(|tid| tid > 0) {
                row.holder_name = threads.alias(&row.holder_name);
            }
        })?;
        Ok(Recording::open(dir)?.write_attribution(&attribution)?)
    }

    fn derived_to<R: DerivedRow>(
        &self,
        copy: &Recording,
        mut redact: impl FnMut(&mut R),
    ) -> Result<(), Problem> {
        let mut rows = self.rows::<R>().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut table = copy.derive::<R>()?;
        for rows in rows {
            let mut rows = rows?;
            rows.iter_mut().for_each(&mut redact);
            table.append(&rows)?;
        }
        Ok(table.finish()?)
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

/// Removes the directory from the name of a user's own function.
fn without_directory(series: &mut Series) {
    if series.parameters.library.is_some()
        && let Some((_, file)) = series.variant.rsplit_once('/')
    {
        series.variant = file.to_owned();
    }
}

/// Returns the description of a run without what names its owner.
fn redacted(run: &Run, host: &str, hosts: &BTreeMap<String, String>) -> Run {
    let scrubber = Scrubber::new(run, host, hosts);
    let text = |text: &String| scrubber.text(text);
    let program = run.program.as_ref().and_then(|program| program.cgroup.as_ref());
    let cgroups = Cgroups::new(&run.threads, run.limits.as_ref(), program);
    let not_available = |missing: &NotAvailable| NotAvailable {
        what: text(&missing.what),
        why: text(&missing.why),
        remedy: text(&missing.remedy),
    };
    let setting = |setting: &Setting| Setting {
        effective: setting.effective.as_ref().map(text),
        requested: setting.requested.as_ref().map(text),
        ..setting.clone()
    };
    let settings = run.machine.settings.iter().map(setting).collect();
    Run {
        command: vec![REMOVED.into()],
        state: match &run.state {
            // The reason names any host of the job, also one that is not among the recordings.
            RunState::Interrupted(_) if run.parallel.is_some() => {
                RunState::Interrupted(REMOVED.into())
            }
            RunState::Interrupted(why) => RunState::Interrupted(text(why)),
            state => state.clone(),
        },
        injections: run.injections.iter().map(without_path).collect(),
        program: run.program.as_ref().map(|program| without_name(program, &cgroups)),
        parallel: run.parallel.clone().map(|job| Parallel { host: host.into(), ..job }),
        not_available: run.not_available.iter().map(not_available).collect(),
        notes: run.notes.iter().map(text).collect(),
        threads: run.threads.iter().map(|seen| without_names(seen, &cgroups)).collect(),
        limits: run.limits.clone().map(|limits| CpuLimits {
            cgroup: cgroups.alias(&limits.cgroup),
            limited: limits.limited.map(|_| REMOVED.into()),
            ..limits
        }),
        machine: Machine {
            host: host.into(),
            command_line: REMOVED.into(),
            settings,
            ..run.machine.clone()
        },
        ..run.clone()
    }
}

/// Numbers that stand for the paths of cgroups.
struct Cgroups<'a> {
    paths: BTreeSet<&'a str>,
    /// The cgroup that is the recorded program.
    program: Option<&'a ProgramCgroup>,
}

impl<'a> Cgroups<'a> {
    fn new(
        threads: &'a [SeenThread],
        limits: Option<&'a CpuLimits>,
        program: Option<&'a ProgramCgroup>,
    ) -> Self {
        let own = limits.map(|limits| &*limits.cgroup);
        let all = threads.iter().map(|seen| &*seen.cgroup).chain(own);
        let all = all.chain(program.map(|group| &*group.path));
        Self { paths: all.filter(|path| *path != "/").collect(), program }
    }

    /// Returns what stands for a path; the root stays the root, and what lies below the recorded cgroup stays below it.
    fn alias(&self, path: &str) -> String {
        let Some(number) = self.paths.iter().position(|known| *known == path) else {
            return "/".to_owned();
        };
        let above = self.program.filter(|group| group.path != path && group.contains(path));
        let above = above.map(|group| self.alias(&group.path)).unwrap_or_default();
        format!("{}/cgroup-{}", above.trim_end_matches('/'), number + 1)
    }
}

/// Returns a thread of the kernel as it is, and of any other its numbers, and which have one cgroup. Recordings of older
/// versions have processes without a command line that had ended, so a cgroup shows the name of known threads only.
fn without_names(seen: &SeenThread, cgroups: &Cgroups<'_>) -> SeenThread {
    let is_of_kernel = seen.is_of_kernel();
    let named = is_of_kernel && (seen.cgroup == "/" || is_open(&seen.name));
    let cgroup = cgroups.alias(&seen.cgroup);
    SeenThread {
        name: if named { seen.name.clone() } else { REMOVED.into() },
        other_names: vec![],
        command: if is_of_kernel { String::new() } else { REMOVED.into() },
        unit: seen.unit.as_ref().map(|_| cgroup.clone()),
        cgroup,
        ..seen.clone()
    }
}

fn without_name(program: &Program, cgroups: &Cgroups<'_>) -> Program {
    let cgroup = program.cgroup.clone();
    let cgroup = cgroup.map(|group| ProgramCgroup { path: cgroups.alias(&group.path), ..group });
    let marked = program.marked.clone().map(|marked| Marked {
        what: REMOVED.into(),
        file: marked.file.map(|_| REMOVED.into()),
        ..marked
    });
    Program { name: REMOVED.into(), cgroup, marked, ..program.clone() }
}

fn without_path(injected: &Injected) -> Injected {
    let timing = match &injected.timing {
        InjectionTiming::Replay { .. } => InjectionTiming::Replay { recording: REMOVED.into() },
        timing => timing.clone(),
    };
    Injected { timing, ..injected.clone() }
}

/// Names that stand for those of threads, in the order in which they appear.
#[derive(Debug, Default)]
struct Threads(HashMap<Arc<str>, Arc<str>>);

impl Threads {
    /// Returns the name that stands for this one.
    fn alias(&mut self, name: &str) -> Arc<str> {
        if name.is_empty() || is_open(name) {
            return name.into();
        }
        let next = self.0.len() + 1;
        self.0.entry(name.into()).or_insert_with(|| format!("{ALIAS}{next}").into()).clone()
    }

    fn name(&mut self, name: &mut Name) {
        if name.kind == NameKind::Task {
            name.name = self.alias(&name.name).as_ref().into();
        }
    }

    fn activity(&mut self, row: &mut Activity) {
        if sources::find(&row.source).is_some_and(names_thread) {
            row.name = self.alias(&row.name);
        } else if row.name.starts_with("0x") {
            row.name = REMOVED.into();
        }
        row.sent_by_task = row.sent_by_task.take().map(|task| self.sender(&task));
        row.function = row.function.take().filter(|function| !function.starts_with("0x"));
    }

    /// Returns what stands for a sender: a thread, or the source and name of an interrupt in parentheses.
    fn sender(&mut self, sender: &str) -> Arc<str> {
        let inner = sender.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let source = inner.and_then(|inner| sources::find(inner.split(' ').next()?));
        match source {
            None => self.alias(sender),
            Some(source) if sender.contains("0x") || names_thread(source) => {
                format!("({})", source.id).into()
            }
            Some(_) => sender.into(),
        }
    }
}

/// Returns whether the name of a thread begins like those of the kernel and our own.
fn is_open(name: &str) -> bool {
    OPEN_NAMES.iter().any(|open| name.starts_with(open))
}

/// Returns whether the rows of a source have the names of threads.
fn names_thread(source: &Source) -> bool {
    *source == sources::THREAD || *source == sources::FAIR_SERVER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_users_have_numbers_and_those_of_the_kernel_their_names() {
        let mut threads = Threads::default();
        let names = ["secretd", "kworker/1:1", "bash", "secretd", "", "loop 1"];
        let aliases = names.map(|name| threads.alias(name).to_string());
        assert_eq!(aliases, ["user-1", "kworker/1:1", "user-2", "user-1", "", "loop 1"]);
    }

    #[test]
    fn a_thread_of_the_kernel_remains_one_in_any_cgroup() {
        let thread = |name: &str, cgroup: &str, unit: Option<&str>| SeenThread {
            name: name.into(),
            cgroup: cgroup.into(),
            unit: unit.map(str::to_owned),
            ..SeenThread::default()
        };
        let threads = [
            thread("kvm-nx-lpage-re", "/", None),
            thread("kworker/1:1", "/machine.slice", Some("machine.slice")),
            thread("vhost-4711", "/machine.slice", Some("machine.slice")),
        ];
        let cgroups = Cgroups::new(&threads, None, None);
        let hidden = threads.each_ref().map(|seen| without_names(seen, &cgroups));
        assert_eq!(hidden[0], threads[0]);
        assert!(hidden.iter().all(SeenThread::is_of_kernel), "{hidden:?}");
        let names = hidden.each_ref().map(|seen| (&*seen.name, &*seen.cgroup));
        assert_eq!(names[1..], [("kworker/1:1", "/cgroup-1"), (REMOVED, "/cgroup-1")]);
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
        let cgroups = Cgroups::new(&threads, Some(&limits), None);
        let hidden: Vec<_> = threads.iter().map(|seen| without_names(seen, &cgroups)).collect();
        let found: Vec<&str> = hidden.iter().map(|seen| &*seen.cgroup).collect();
        assert_eq!(found, ["/cgroup-2", "/cgroup-1", "/"]);
        assert_eq!(cgroups.alias(&limits.cgroup), "/cgroup-2");
        assert!(!serde_json::to_string(&hidden).expect("plain data").contains("secret"));
    }

    #[test]
    fn the_threads_of_a_recorded_cgroup_remain_in_it() {
        let thread = |cgroup: &str| SeenThread { cgroup: cgroup.into(), ..SeenThread::default() };
        let paths = ["/secret", "/secret/a", "/secrets", "/", "/b"];
        let threads = paths.map(thread);
        for path in ["/secret", "/secret/a", "/none", "/"] {
            let cgroup = ProgramCgroup { path: path.into(), ..ProgramCgroup::default() };
            let cgroups = Cgroups::new(&threads, None, Some(&cgroup));
            let program = Program { cgroup: Some(cgroup.clone()), ..Program::default() };
            let hidden = without_name(&program, &cgroups).cgroup.expect("it is one");
            assert!(!hidden.path.contains("secret"), "{}", hidden.path);
            for other in paths {
                let alias = cgroups.alias(other);
                assert!(!alias.contains("secret"), "{alias}");
                assert_eq!(hidden.contains(&alias), cgroup.contains(other), "{other} in {path}");
            }
        }
    }
}
