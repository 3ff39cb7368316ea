//! Copies a recording without what names its owner: host, command lines, paths, and threads of users.

use crate::aliases::{Aliases, is_open};
use crate::injection::{Injected, InjectionTiming};
use crate::machine::{Machine, Setting};
use crate::parallel::Parallel;
use crate::problem::Problem;
use crate::program::Marked;
use crate::recorder::Recorder;
use crate::recording::Recording;
use crate::row::{DerivedRow, EachTable, Row};
use crate::rows::each_table;
use crate::run::{NotAvailable, Program, ProgramCgroup, Run, RunState};
use crate::scrub::Scrubber;
use crate::who::{CpuLimits, HeldBack, REMOVED, SeenThread};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
        let run = redacted(self.run(), host, hosts);
        let aliases = Aliases::default();
        let mut measured = Measured { from: self, to: Recorder::create(dir, &run)?, aliases };
        each_table(&mut measured)?;
        measured.to.finish(&run)?;
        let Some(attribution) = self.attribution()? else { return Ok(()) };
        let (to, aliases) = (Recording::open(dir)?, measured.aliases);
        each_table(&mut Derived { from: self, to, aliases })?;
        Ok(Recording::open(dir)?.write_attribution(&attribution)?)
    }
}

/// Copies the measured tables.
struct Measured<'a> {
    from: &'a Recording,
    to: Recorder,
    aliases: Aliases,
}

impl EachTable for Measured<'_> {
    type Error = Problem;

    fn table<R: Row>(&mut self) -> Result<(), Problem> {
        for rows in self.from.rows::<R>() {
            let mut rows = rows?;
            rows.iter_mut().for_each(|row| row.redact(&mut self.aliases));
            self.to.append(&rows)?;
        }
        Ok(())
    }

    fn derived<R: DerivedRow>(&mut self) -> Result<(), Problem> {
        Ok(())
    }
}

/// Copies the derived tables.
struct Derived<'a> {
    from: &'a Recording,
    to: Recording,
    aliases: Aliases,
}

impl EachTable for Derived<'_> {
    type Error = Problem;

    fn table<R: Row>(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    fn derived<R: DerivedRow>(&mut self) -> Result<(), Problem> {
        // An idle program has tables of its threads without rows, and one whose threads are not known has none.
        if !self.from.dir().join(R::TABLE.name).is_dir() {
            return Ok(());
        }
        let mut table = self.to.derive::<R>()?;
        for rows in self.from.rows::<R>() {
            let mut rows = rows?;
            rows.iter_mut().for_each(|row| row.redact(&mut self.aliases));
            table.append(&rows)?;
        }
        Ok(table.finish()?)
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
            also_limited: limits.also_limited.into_iter().map(without_group).collect(),
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

fn without_group(group: HeldBack) -> HeldBack {
    HeldBack { cgroup: REMOVED.into(), ..group }
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

#[cfg(test)]
mod tests {
    use super::*;

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
