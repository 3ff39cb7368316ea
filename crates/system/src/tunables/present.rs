//! The present values of settings, and why some of them cannot be tried here.

use super::value;
use crate::cpus;
use crate::machine::Root;
use anechoic_recording::tunable::{
    Assignment, Recommended, TUNABLES, Tunable, TunableState, TunableStates,
};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Returns all settings of the table, as they are on this system.
#[must_use]
pub fn states() -> TunableStates {
    let (root, online) = (Root::live(), cpus::online());
    let all = TUNABLES.iter().map(|row| state(&root, row, row.name, &[], &online));
    all_of(&root, all.collect(), false)
}

/// Returns one setting, as it is on this system.
#[must_use]
pub fn described(asked: &Assignment) -> TunableStates {
    let (root, online) = (Root::live(), cpus::online());
    let state = state(&root, asked.tunable, &asked.name, &asked.parts, &online);
    all_of(&root, vec![state], true)
}

fn all_of(root: &Root, settings: Vec<TunableState>, explained: bool) -> TunableStates {
    let text = |file: &str| root.read(&format!("/proc/sys/kernel/{file}")).unwrap_or_default();
    TunableStates { host: text("hostname"), kernel: text("osrelease"), explained, settings }
}

/// Returns a setting on a system with these CPUs online.
pub(super) fn state(
    root: &Root,
    row: &Tunable,
    name: &str,
    parts: &[String],
    online: &[u32],
) -> TunableState {
    let files = |pattern: &str| row.files(pattern, parts, online);
    let shown = row.files(&row.file.replace("{cpu}", "*"), parts, &[0]).swap_remove(0);
    let is_part = row.has_parts() && parts.is_empty();
    let asked = row.asked.map(files).filter(|files| files.iter().all(|file| root.exists(file)));
    let found = match is_part {
        true => Err(None),
        false => values(root, row, &asked.unwrap_or_else(|| files(row.file))).map_err(Some),
    };
    let effect =
        row.effect.filter(|_| !is_part).and_then(|effect| values(root, row, &files(effect)).ok());
    let text = found.as_ref().ok().map(|values| joined(values, online));
    let in_effect = effect.map(|values| joined(&values, online));
    let absent = match &found {
        Ok(_) => row.untried.map(str::to_owned),
        Err(None) => missing_parts(root, row),
        Err(Some(error)) => Some(why(root, row, &shown, error)),
    };
    let recommended = match row.recommended {
        Recommended::Value(value) => Some(value.to_owned()),
        Recommended::OtherCpus => Some("other CPUs".to_owned()),
        Recommended::Depends => None,
    };
    let keep_value = recommended.as_deref().filter(|value| !value.contains(' ')).unwrap_or("VALUE");
    TunableState {
        name: name.to_owned(),
        in_effect: in_effect.filter(|effect| Some(effect) != text.as_ref() && !effect.is_empty()),
        value: text,
        absent,
        what: row.what.to_owned(),
        keep: row.to_keep(name, &shown, keep_value),
        recommended,
        goal: row.goal.to_owned(),
        risk: row.risk.to_owned(),
        needs: row.needs.to_owned(),
        acts_on: row.acts_on.to_owned(),
        reference: row.reference.to_owned(),
        file: shown,
    }
}

fn values(root: &Root, row: &Tunable, files: &[String]) -> io::Result<Vec<String>> {
    files.iter().map(|file| value(root, row, file)).collect()
}

/// Returns the value of all CPUs, with the CPUs where they differ: `performance (0-1), powersave (2)`.
fn joined(values: &[String], online: &[u32]) -> String {
    let mut distinct: Vec<&String> = vec![];
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    if let [one] = distinct[..] {
        return one.clone();
    }
    let parts = distinct.into_iter().map(|value| {
        let have = values.iter().zip(online).filter(|(one, _)| *one == value);
        format!("{value} ({})", cpus::list(&have.map(|(_, cpu)| *cpu).collect::<Vec<u32>>()))
    });
    parts.collect::<Vec<String>>().join(", ")
}

/// Returns why none of a setting's files is there: nothing if there are some, of which the user names one.
fn missing_parts(root: &Root, row: &Tunable) -> Option<String> {
    let file = row.file.replace("{cpu}", "0");
    let (before, after) = file.split_once('*')?;
    let (directory, prefix) = before.rsplit_once('/')?;
    let there = root.names(directory).into_iter().any(|name| {
        let rest = match after.split_once('*') {
            Some((middle, _)) => middle.rsplit_once('/').map_or("", |(above, _)| above),
            None => after,
        };
        name.starts_with(prefix) && root.exists(&format!("{directory}/{name}{rest}"))
    });
    (!there).then(|| format!("no such file ({})", row.needs))
}

/// Returns why a setting cannot be read, with what it needs.
fn why(root: &Root, row: &Tunable, file: &str, error: &io::Error) -> String {
    let debugfs = "/sys/kernel/debug";
    if Path::new(file).starts_with(debugfs) && root.names(debugfs).is_empty() {
        return "debugfs is not mounted, or only root may see it".to_owned();
    }
    match error.kind() {
        ErrorKind::NotFound => format!("no such file (needs {})", row.needs),
        ErrorKind::PermissionDenied if error.raw_os_error() == Some(libc::EPERM) => {
            "the kernel does not allow it, also to root (lockdown)".to_owned()
        }
        ErrorKind::PermissionDenied => "only root may read it".to_owned(),
        _ => error.to_string(),
    }
}
