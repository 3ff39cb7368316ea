//! Huge pages: which sizes the kernel offers, and changes of its settings that last as long as a [`Change`].
//!
//! A change is undone when it is dropped, and as all changes of settings in other cases ([`crate::changes`]). Only one
//! process at a time changes them: [`hold`].

use crate::changes::{self, Applied, POOLS, Refusal, TRANSPARENT, Undo, value};
use crate::machine::Root;
use anechoic_recording::{Problem, ProblemKind};
use std::fs;
use std::path::Path;

/// Changes of settings that are undone when this is dropped.
#[derive(Debug, Default)]
pub struct Change {
    applied: Vec<Applied>,
}

/// Takes the lock on settings until this process ends.
///
/// # Errors
/// Fails if another process has the lock, and names that.
pub fn hold() -> Result<(), Problem> {
    changes::hold().map_err(|problem| Problem {
        remedy: format!("{}, or measure with --pages base", problem.remedy),
        ..problem
    })
}

/// Returns the sizes of transparent huge pages that the kernel offers for anonymous memory, in bytes, from the smallest.
#[must_use]
pub fn transparent_sizes(root: &Root) -> Vec<u64> {
    let has_setting =
        |bytes: &u64| root.exists(&format!("{}/enabled", size_directory(TRANSPARENT, *bytes)));
    let mut sizes: Vec<u64> = sizes_in(root, TRANSPARENT).filter(has_setting).collect();
    if sizes.is_empty() && root.exists(&format!("{TRANSPARENT}/enabled")) {
        // A kernel before 6.8 has one size.
        sizes.extend(root.number::<u64>(&format!("{TRANSPARENT}/hpage_pmd_size")));
    }
    sizes.sort_unstable();
    sizes
}

/// Returns the sizes of explicit huge pages that the kernel offers, in bytes, from the smallest.
#[must_use]
pub fn explicit_sizes(root: &Root) -> Vec<u64> {
    let mut sizes: Vec<u64> = sizes_in(root, POOLS).collect();
    sizes.sort_unstable();
    sizes
}

/// Returns how many transparent huge pages of this size the kernel has given so far, to all programs; absent where it has no
/// such counter.
#[must_use]
pub fn transparent_count(root: &Root, bytes: u64) -> Option<u64> {
    root.number(&format!("{}/stats/anon_fault_alloc", size_directory(TRANSPARENT, bytes)))
}

/// Makes the kernel give transparent huge pages of this size, and no larger ones, to memory with the advice to use huge
/// pages.
///
/// # Errors
/// Fails if that needs a change of settings which this process may not make.
pub fn only_transparent(root: &Root, bytes: u64) -> Result<Change, Problem> {
    let sizes = transparent_sizes(root);
    if !sizes.contains(&bytes) {
        let why = format!("the kernel offers no transparent pages of {} KiB", bytes >> 10);
        return Err(ProblemKind::Unavailable.problem(why, "use Linux 6.8 or later"));
    }
    let has_sizes = root.exists(&size_directory(TRANSPARENT, bytes));
    let wanted = |size: u64| match size {
        _ if size == bytes && !is_given(root, size) => Some("madvise"),
        _ if size > bytes && is_given(root, size) => Some("never"),
        _ => None,
    };
    let file = |size: u64| match has_sizes {
        true => format!("{}/enabled", size_directory(TRANSPARENT, size)),
        false => format!("{TRANSPARENT}/enabled"),
    };
    if sizes.iter().all(|&size| wanted(size).is_none()) {
        return Ok(Change::default());
    }
    let mut change = Change::default();
    for (size, value) in sizes.iter().filter_map(|&size| Some((size, wanted(size)?))) {
        let file = file(size);
        let applied = Applied::prepare(root, &file).map_err(Refusal::System);
        let set = applied.and_then(|applied| applied.set(value).map(|_| applied));
        change.applied.push(set.map_err(|why| refused(bytes, &file, value, &why))?);
    }
    Ok(change)
}

fn refused(bytes: u64, file: &str, value: &str, error: &Refusal) -> Problem {
    let why = match value {
        "never" => format!("the kernel gives larger pages than {} KiB ({error})", bytes >> 10),
        _ => format!("transparent pages of {} KiB are switched off ({error})", bytes >> 10),
    };
    ProblemKind::Unavailable.problem(why, format!("run as root, or: echo {value} > {file}"))
}

/// Makes sure that the pool of explicit pages of this size has `count` free pages.
///
/// # Errors
/// Fails if the kernel offers no such pages, or if the pool is too small and cannot be made larger.
pub fn reserve(root: &Root, bytes: u64, count: u64) -> Result<Change, Problem> {
    let pool = size_directory(POOLS, bytes);
    let number = |file: &str| root.number::<u64>(&format!("{pool}/{file}"));
    let size = if bytes >> 30 > 0 {
        format!("{} GiB", bytes >> 30)
    } else {
        format!("{} MiB", bytes >> 20)
    };
    let (Some(before), Some(free)) = (number("nr_hugepages"), number("free_hugepages")) else {
        let why = format!("the kernel offers no explicit pages of {size}");
        let remedy = match bytes >> 30 {
            0 => "use a kernel built with CONFIG_HUGETLBFS",
            _ => "use a CPU with the flag pdpe1gb; in a guest, the host must offer it",
        };
        return Err(ProblemKind::Unavailable.problem(why, remedy));
    };
    let unused = free.saturating_sub(number("resv_hugepages").unwrap_or(0));
    let needed = count.saturating_sub(unused);
    if needed == 0 {
        return Ok(Change::default());
    }
    let file = format!("{pool}/nr_hugepages");
    let undo = Undo::Subtract { before, added: needed };
    let write = |path: &Path| fs::write(path, (before + needed).to_string());
    let applied = Applied::make(root, &file, undo, write);
    let mut applied = applied.map_err(|error| {
        let why =
            format!("the pool has {unused} free pages of {size}, {count} are needed ({error})");
        let remedy = format!("run as root, or: echo {} > {file}", before + needed);
        ProblemKind::Unavailable.problem(why, remedy)
    })?;
    let got = number("nr_hugepages").unwrap_or(0).saturating_sub(before);
    applied.got(got);
    let change = Change { applied: vec![applied] };
    if got < needed {
        drop(change);
        let why =
            format!("the kernel found memory in one piece for {got} of {needed} pages of {size}");
        let remedy = match bytes >> 30 {
            0 => "free memory, or: echo 1 > /proc/sys/vm/compact_memory".to_owned(),
            gib => format!("reserve them at boot: hugepagesz={gib}G hugepages={}", before + needed),
        };
        return Err(ProblemKind::Unavailable.problem(why, remedy));
    }
    Ok(change)
}

/// Returns whether memory with the advice to use huge pages gets pages of this size.
fn is_given(root: &Root, bytes: u64) -> bool {
    let read = |path: &str| value(&root.path(path)).ok();
    let of_size = read(&format!("{}/enabled", size_directory(TRANSPARENT, bytes)));
    let of_all = || read(&format!("{TRANSPARENT}/enabled"));
    let given = of_size.filter(|value| value != "inherit").or_else(of_all);
    given.is_some_and(|value| value == "always" || value == "madvise")
}

fn size_directory(directory: &str, bytes: u64) -> String {
    format!("{directory}/hugepages-{}kB", bytes >> 10)
}

fn sizes_in(root: &Root, directory: &str) -> impl Iterator<Item = u64> {
    let kib =
        |name: String| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok();
    root.names(directory).into_iter().filter_map(kib).map(|kib| kib << 10)
}

#[cfg(test)]
mod tests;
