//! Who took the lost time: a sentence, a small table, and what the kernel counted of limits and waiting.

use crate::screen::Screen;
use crate::style::{View, clip, listed, plain, width};
use crate::table::Table;
use crate::units::{length, noise, share};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::owners::{Owner, OwnerKind};
use anechoic_recording::sources;
use anechoic_recording::who::{CpuLimits, HeldBack, SeenThread};

/// An owner with a smaller share has no row in a shortened table.
const LEAST_SHARE: f64 = 0.005;
/// Waiting for a CPU is mentioned from this share of the time on.
const LEAST_WAITING: f64 = 0.01;
/// Number of owners in a sentence.
const NAMED: usize = 4;
/// Number of quotas in a sentence besides the first.
const QUOTAS: usize = 3;
/// Number of suspected threads in a shortened list.
const SHOWN: usize = 5;
/// Widest column of owners.
const NAME_COLUMNS: usize = 48;
/// Widest command line.
const COMMAND_COLUMNS: usize = 40;

/// Adds who took the lost time.
pub(crate) fn add(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    if let Some(owners) = summary.owners.as_deref().filter(|owners| !owners.is_empty()) {
        let mut table = Table::with_names("taken by", &["share", "of the time"]);
        for owner in owners {
            let name = clip(&title(owner, summary), NAME_COLUMNS);
            table.row(vec![name, share(owner.share), noise(owner.noise)]);
        }
        let large = owners.iter().filter(|owner| owner.share >= LEAST_SHARE).count().max(1);
        let shown = if view.all { owners.len() } else { large };
        let rest = share(owners[shown..].iter().map(|owner| owner.share).sum());
        let more = format!("{} more, {rest}", owners.len() - shown);
        screen.table(table.captioned("Lost time by who took it").folded(shown, more));
    }
    if !summary.suspect_threads.is_empty() {
        suspects(summary, view, screen);
    }
    let sentences = sentences(summary);
    sentences.iter().for_each(|text| screen.sentence(text));
    if summary.owners.is_some() || !summary.suspect_threads.is_empty() || !sentences.is_empty() {
        screen.gap();
    }
}

/// Adds who took the lost time as a sentence, or the threads that ran meanwhile, and what a CPU quota did.
pub(crate) fn add_briefly(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    if !summary.suspect_threads.is_empty() {
        suspects(summary, view, screen);
    }
    let owners = summary.owners.as_deref().unwrap_or_default();
    let limited = owners.first().filter(|owner| owner.kind == OwnerKind::OwnQuota);
    let limited = limited.map(|owner| sentence(owner, summary));
    let quota = summary.run.limits.as_ref().filter(|limits| limits.throttled_ns != Some(0));
    let quota = quota.and_then(quota_sentence);
    for text in [taken_by(owners, summary), limited, quota].into_iter().flatten() {
        screen.sentence(&text);
    }
}

/// Lists the owners of most of the lost time in a sentence.
fn taken_by(owners: &[Owner], summary: &Summary) -> Option<String> {
    let large = owners.iter().take(NAMED).take_while(|owner| owner.share >= LEAST_SHARE);
    let named: Vec<String> = large
        .map(|owner| format!("{} ({})", short_title(owner, summary), share(owner.share)))
        .collect();
    (!named.is_empty()).then(|| format!("The lost time was taken by {}.", listed(&named)))
}

/// Returns the words for an owner inside a sentence.
fn short_title(owner: &Owner, summary: &Summary) -> String {
    match owner.kind {
        OwnerKind::OwnQuota => "the run's own CPU limit".into(),
        OwnerKind::Hardware if summary.run.hypervisor.is_some() => "VM exits or hardware".into(),
        OwnerKind::Hypervisor => "steal by the hypervisor".into(),
        OwnerKind::Unknown => "threads that are not known".into(),
        _ => title(owner, summary),
    }
}

/// Returns what is known besides the table: the limits of the run, who waited, and what steal means on this guest.
fn sentences(summary: &Summary) -> Vec<String> {
    let run = &summary.run;
    let limits = run.limits.as_ref();
    let steals = summary.owners.iter().flatten().any(|owner| owner.kind == OwnerKind::Hypervisor);
    let means = run.confidential.as_ref().filter(|_| run.hypervisor.is_some()).map(|name| {
        let steal = if steals { "the steal above" } else { "that no steal is reported" };
        format!("This is a confidential guest ({name}): {steal} is what the host claims, which the guest cannot check, and each VM exit takes longer than in an ordinary guest.")
    });
    let largest = summary.owners.iter().flatten().next();
    let largest = largest.map(|owner| sentence(owner, summary));
    let quota = limits.and_then(quota_sentence);
    let waited = limits.and_then(|limits| waited(limits, run));
    [largest, quota, waited, means].into_iter().flatten().collect()
}

/// Returns what the owner comes to.
fn sentence(owner: &Owner, summary: &Summary) -> String {
    let run = &summary.run;
    let part = share(owner.share);
    match owner.kind {
        OwnerKind::OwnQuota => {
            let most = if owner.at_most { "Up to " } else { "" };
            let quota = run.limits.as_ref().is_some_and(|limits| limits.quota_us.is_some());
            let remedy = match (quota, run.policy.is_fifo()) {
                (true, true) => "raise the quota, or measure without --fifo",
                (false, true) => "measure without --fifo",
                (_, false) => "raise the quota",
            };
            format!(
                "{most}{part} of the lost time is the run's own CPU limit, not its neighbours: {remedy}."
            )
        }
        OwnerKind::OwnThreads => format!("{part} of the lost time is the run's own."),
        OwnerKind::Neighbour => {
            let them = if owner.name.is_empty() { "them" } else { "it" };
            format!(
                "{part} of the lost time was taken by {}: keep {them} off these CPUs.",
                title(owner, summary)
            )
        }
        OwnerKind::Kernel => format!("{part} of the lost time is the kernel's own work."),
        OwnerKind::Hypervisor => {
            format!(
                "{part} of the lost time was stolen by the hypervisor: only the host can change that."
            )
        }
        OwnerKind::Hardware if run.hypervisor.is_some() => format!(
            "In {part} of the lost time nothing ran in this guest and no steal was reported: VM exits, or the hardware."
        ),
        OwnerKind::Hardware => {
            format!(
                "In {part} of the lost time nothing ran in the kernel: the hardware, or its firmware."
            )
        }
        OwnerKind::Unknown if names_no_thread(summary) => format!(
            "The owner of {part} of the lost time is unknown: this recording does not list which threads ran."
        ),
        OwnerKind::Unknown if run.alternate_ns.is_some() => format!(
            "The owner of {part} of the lost time is unknown: kernel events were switched off half of the time on purpose."
        ),
        OwnerKind::Unknown => {
            format!(
                "The owner of {part} of the lost time is unknown: its threads had ended, or run in a container whose /proc is separate, or events were lost."
            )
        }
    }
}

/// Returns whether threads took time and no activity has the number of one, as in recordings of older versions.
fn names_no_thread(summary: &Summary) -> bool {
    let mut rows = summary.sources.iter().flat_map(|sources| &sources.rows);
    rows.clone().any(|row| sources::THREAD.is(&row.source))
        && rows.all(|row| row.threads.is_empty())
}

/// Returns the words for an owner.
fn title(owner: &Owner, summary: &Summary) -> String {
    match owner.kind {
        OwnerKind::OwnQuota => "own CPU limit".into(),
        OwnerKind::OwnThreads => "the run itself, and threads of its cgroup".into(),
        OwnerKind::Neighbour if owner.name.is_empty() => "processes outside any unit".into(),
        OwnerKind::Neighbour => plain(&owner.name),
        OwnerKind::Kernel => "the kernel".into(),
        OwnerKind::Hypervisor => "the hypervisor (steal)".into(),
        OwnerKind::Hardware if summary.run.hypervisor.is_some() => {
            "VM exit or hardware, without steal".into()
        }
        OwnerKind::Hardware => "hardware or firmware".into(),
        OwnerKind::Unknown if names_no_thread(summary) => {
            "not known (events lost, or threads not recorded)".into()
        }
        OwnerKind::Unknown => "not known (events lost, or threads not in /proc)".into(),
    }
}

/// Returns what the CPU quota did, if there is one.
fn quota_sentence(limits: &CpuLimits) -> Option<String> {
    let quota = group_with_quota(limits.limited.as_deref()?, limits.quota_us?);
    let held = match limits.throttled_ns? {
        0 => return Some(format!("The CPU quota of {quota} never held its threads back.")),
        ns => length(ns),
    };
    let others = &limits.also_limited;
    let mut also: Vec<String> = others.iter().take(QUOTAS).map(held_back).collect();
    let rest = others.len() - also.len();
    if rest > 0 {
        also.push(format!("those of {rest} more groups for a shorter time each"));
    }
    let also = if also.is_empty() { String::new() } else { format!(", {}", listed(&also)) };
    Some(format!("The CPU quota of {quota} held its threads back for {held} in all{also}."))
}

/// Returns for how long another group's quota held its threads back.
fn held_back(group: &HeldBack) -> String {
    let held = length(group.throttled_ns);
    format!("that of {} for {held}", group_with_quota(&group.cgroup, group.quota_us))
}

/// Returns a group and its quota.
fn group_with_quota(cgroup: &str, (quota, period): (u64, u64)) -> String {
    let cpus = share(quota as f64 / period.max(1) as f64);
    format!("{} ({cpus} of one CPU)", plain(cgroup))
}

/// Returns for how long runnable threads waited, if that was long.
fn waited(limits: &CpuLimits, run: &Facts) -> Option<String> {
    let all = waiting_share(limits.machine_waited_ns, run)?;
    // The cgroup `/` is the whole machine, which is named already.
    let own = waiting_share(limits.waited_ns, run).filter(|_| limits.cgroup != "/");
    let own = own.map_or(String::new(), |own| format!(", and one of the run's cgroup in {own}"));
    let busy =
        if run.program.is_some() { "" } else { "; the loops themselves keep their CPUs busy" };
    Some(format!(
        "In {all} of the time a runnable thread waited for a CPU somewhere on this machine{own} (pressure{busy})."
    ))
}

/// Returns the share of the run that this is, if it is known and large enough to be mentioned.
fn waiting_share(waited_ns: Option<u64>, run: &Facts) -> Option<String> {
    let part = waited_ns? as f64 / run.wall_ns.max(1) as f64;
    (part >= LEAST_WAITING).then(|| share(part.min(1.0)))
}

/// Adds the threads that ran while no events were recorded.
fn suspects(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let seen = &summary.suspect_threads;
    let mut table = Table::with_names("threads that ran meanwhile", &["ran for", "ran per s"]);
    for thread in seen {
        let ran_ns = thread.ran_ns.unwrap_or(0);
        let per_s = length((ran_ns as f64 / (summary.run.wall_ns.max(1) as f64 / 1e9)) as u64);
        table.row(vec![clip(&plain(&thread.name), NAME_COLUMNS), length(ran_ns), per_s]);
        table.aside(&who(thread));
    }
    let table = table.captioned("Threads that ran meanwhile");
    screen.table(table.first(SHOWN, view.all, |more| format!("{more} more")));
    screen.note("by their schedstat; last seen on a measured CPU, which does not prove that they took its time");
}

/// Returns process, command line and unit of a thread.
fn who(seen: &SeenThread) -> String {
    described(seen.tid, Some(seen.pid), Some(&seen.command), seen.unit.as_deref())
}

/// Returns process, command line and unit of a thread, as far as they are known.
pub(crate) fn described(
    tid: i32,
    pid: Option<i32>,
    command: Option<&str>,
    unit: Option<&str>,
) -> String {
    let number = match pid {
        Some(pid) if pid != tid => format!("PID {pid}, thread {tid}"),
        Some(pid) => format!("PID {pid}"),
        None => return format!("thread {tid}, process not known"),
    };
    let command = match command {
        Some("") | None => "a thread of the kernel".to_owned(),
        Some(command) => clip(without_directory(&plain(command)), COMMAND_COLUMNS),
    };
    [Some(number), unit.map(plain), Some(command)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Removes the program's directory from a command line that is too wide with it.
fn without_directory(command: &str) -> &str {
    let program = command.split(' ').next().unwrap_or(command);
    let name = program.rfind('/').map_or(0, |slash| slash + 1);
    if width(command) > COMMAND_COLUMNS && name < program.len() {
        &command[name..]
    } else {
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_command_line_keeps_the_program_and_its_first_arguments() {
        let shown = |command: &str| described(7, Some(7), Some(command), None);
        assert_eq!(shown("/usr/bin/agent -d"), "PID 7 · /usr/bin/agent -d");
        let wide = shown("/opt/vendor/monitoring/lib/current/bin/agent --interval 10s");
        assert_eq!(wide, "PID 7 · agent --interval 10s");
        let directory = "/opt/vendor/monitoring/lib/current/binaries/";
        assert!(shown(directory).starts_with("PID 7 · /opt/vendor"), "{}", shown(directory));
    }
}
