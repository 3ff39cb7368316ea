//! Checks kernel events through tracefs, and whether anybody else is tracing.

use super::{RowResult, Scene};
use crate::tracefs::{self, DEFAULT_CLOCK, TraceError, Tracefs};
use anechoic_recording::{EVENTS, EventSpec, Problem};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(super) fn events(_: &Scene) -> RowResult {
    let tracefs = match Tracefs::open() {
        Ok(tracefs) => tracefs,
        Err(error) => return RowResult::refused(error.into()),
    };
    let root = tracefs.root();
    let Some(clocks) = read(root, "trace_clock") else {
        return unreadable(root);
    };
    let has_clock = clocks.split_whitespace().any(|c| c.trim_matches(['[', ']']) == DEFAULT_CLOCK);
    if !has_clock {
        return RowResult::missing(
            format!("no trace clock '{DEFAULT_CLOCK}', only {clocks}"),
            "use a kernel that has it (Linux 4.2 or later)",
        );
    }
    let expected: Vec<&EventSpec> = EVENTS.iter().filter(|spec| is_expected(spec, root)).collect();
    let missing: Vec<String> = expected
        .iter()
        .filter(|spec| !directory(spec, root))
        .map(|spec| format!("{}:{}", spec.system, spec.name))
        .collect();
    let place = if tracefs.is_detached() { "private mount" } else { "mounted" };
    let present = expected.len() - missing.len();
    let found = format!("{place}, clock {DEFAULT_CLOCK}, {present} of {} events", expected.len());
    if missing.is_empty() {
        return RowResult::good(found);
    }
    RowResult::limited(
        format!("{found}, not {}", missing.join(" ")),
        "use a newer kernel, or one built with the options of these events",
    )
}

/// The finding if tracefs has no files, or is a private mount, accessed through /proc/self/fd, that is not readable:
/// there is no /proc, or file capabilities hide it from a process that lacks CAP_DAC_OVERRIDE.
pub(super) fn unreadable(root: &Path) -> RowResult {
    let denied = fs::read(root.join("trace_clock")).err();
    let denied = denied.filter(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let problem = match denied {
        _ if tracefs::is_empty(root) => Problem::from(TraceError::locked_down()),
        Some(error) => TraceError::not_permitted(&error).into(),
        None => {
            let remedy = "mount -t proc proc /proc";
            return RowResult::missing("tracefs exists but cannot be read", remedy);
        }
    };
    RowResult::missing(problem.why, problem.remedy)
}

/// Returns whether a fully featured kernel would have the event here.
///
/// `irq_vectors`, the handlers of NMIs and page faults exist on x86 only: a kernel that has the timer's vector but lacks
/// another one has no such interrupt. IPI handlers have their own events only on other architectures.
fn is_expected(spec: &EventSpec, root: &Path) -> bool {
    let x86 = cfg!(target_arch = "x86_64");
    match (spec.system, spec.name) {
        ("irq_vectors", "local_timer_entry" | "local_timer_exit") | ("nmi" | "exceptions", _) => {
            x86
        }
        ("irq_vectors", _) => directory(spec, root),
        ("ipi", "ipi_entry" | "ipi_exit") => !x86,
        _ => true,
    }
}

fn directory(spec: &EventSpec, root: &Path) -> bool {
    root.join("events").join(spec.system).join(spec.name).is_dir()
}

/// Reports other tracing, which makes shared events more expensive; anechoic does not change it.
pub(super) fn others(_: &Scene) -> RowResult {
    let Ok(tracefs) = Tracefs::open() else {
        return RowResult::fact("not visible without tracefs");
    };
    if read(tracefs.root(), "current_tracer").is_none() {
        return RowResult::fact("not visible: tracefs cannot be read");
    }
    let left = tracefs::leftovers(&tracefs);
    if !left.is_empty() {
        let name =
            |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = left.iter().filter_map(name).collect();
        return RowResult::limited(
            format!("left by an anechoic process that was killed: {}", names.join(", ")),
            "any measurement removes this: anechoic run -d 1s",
        );
    }
    let active = active(tracefs.root());
    if active.is_empty() {
        return RowResult::good("none");
    }
    RowResult::limited(
        format!("active: {}", active.join(", ")),
        "stop it during runs: it makes events more expensive, and anechoic does not stop it",
    )
}

/// Lists what others trace, from the files of the top-level buffer and of all instances.
pub(super) fn active(root: &Path) -> Vec<String> {
    let mut active = buffer("", root);
    let instances = fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    for instance in instances {
        let name = instance.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix("anechoic-").and_then(|rest| rest.split('-').next());
        let name = match process {
            Some(process) => format!("another anechoic (process {process}) measures: "),
            None => format!("instance {name}: "),
        };
        active.extend(buffer(&name, &instance.path()));
    }
    active.sort();
    active
}

fn buffer(name: &str, root: &Path) -> Vec<String> {
    let mut active = Vec::new();
    if let Some(tracer) = read(root, "current_tracer").filter(|tracer| tracer != "nop") {
        active.push(format!("{name}tracer {tracer}"));
    }
    // One character for all events: none (0), all (1) or some (X) are enabled.
    if read(root, "events/enable").is_some_and(|state| state != "0") {
        let events = read(root, "set_event").unwrap_or_default();
        let first = events.lines().next().unwrap_or("all");
        active.push(format!("{name}{} events ({first} ...)", events.lines().count()));
    }
    active
}

fn read(root: &Path, file: &str) -> Option<String> {
    fs::read_to_string(root.join(file)).ok().map(|text| text.trim().to_owned())
}
