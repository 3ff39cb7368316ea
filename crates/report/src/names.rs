//! Names of sources and senders.

use crate::style::{clip, plain, width};
use crate::units::{count, cpu_list};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::samples::outliers::Outliers;
use anechoic_analyze::waits::{Calls, Holder, HolderKind, OVERRUN, SLACK};
use anechoic_recording::ActivityKind;
use anechoic_recording::sources;

/// Returns the readable name of a source: `timer tick`, `thread kworker/1:1`.
pub(crate) fn source_name(source: &str, name: &str, run: &Facts) -> String {
    title_of(source, name, run.hypervisor.is_some())
}

/// Most sources of outliers that are named.
const CAUSES: usize = 3;

/// Names the sources that lengthened most outliers, each with their number; nothing if none is known.
pub(crate) fn causes(outliers: &Outliers, run: &Facts) -> Option<String> {
    let named = outliers.causes.iter().take(CAUSES).map(|cause| {
        format!("{} ({})", source_name(&cause.source, &cause.name, run), count(cause.outliers))
    });
    let more = if outliers.causes.len() > CAUSES { ", …" } else { "" };
    (!outliers.causes.is_empty()).then(|| named.collect::<Vec<_>>().join(", ") + more)
}

/// Returns the readable name of a source, or of what made a release late, on a guest of a hypervisor, or on a machine without one.
pub(crate) fn title_of(source: &str, name: &str, guest: bool) -> String {
    let title = match source {
        OVERRUN => "itself",
        SLACK => "timer slack",
        _ => sources::find(source).map_or(source, |known| known.title_on(guest)),
    };
    if name.is_empty() { plain(title) } else { plain(&format!("{title} {name}")) }
}

/// Returns the name of a thread with its number, or of a pool with the number of its threads. The name is cut so that both have
/// `columns`.
pub(crate) fn thread(name: &str, tid: Option<i32>, threads: u64, columns: usize) -> String {
    let number = match tid {
        Some(tid) => format!(" {tid}"),
        None => format!(" × {}", count(threads)),
    };
    clip(&plain(name), columns.saturating_sub(width(&number))) + &number
}

/// Names the innermost calls of a thread, at most `most` of its program: `futex_do_wait (kernel) ← wait ← main`.
pub(crate) fn calls(calls: &Calls, most: usize) -> String {
    let kernel = calls.kernel.first().map(|call| format!("{} (kernel)", plain(call)));
    // Functions without a name say nothing around those that have one.
    let is_named = |call: &String| !call.starts_with('[');
    let known = calls.program.iter().rposition(is_named).map_or(calls.program.len(), |at| at + 1);
    let program = calls.program[..known].iter().take(most).map(|call| plain(call));
    let more = (known > most).then(|| "…".to_owned());
    let named: Vec<String> = kernel.into_iter().chain(program).chain(more).collect();
    if named.is_empty() { "code that is not known".to_owned() } else { named.join(" ← ") }
}

/// Returns which CPUs were touched: `all`, their numbers, or how many.
pub(crate) fn cpus(touched: &[u32], measured: usize) -> String {
    if touched.len() == measured && measured > 1 {
        return "all".into();
    }
    let list = cpu_list(touched);
    if width(&list) <= 5 { list } else { format!("{}/{measured}", touched.len()) }
}

/// Returns who sent something: `CPU 0 bash`; nothing if that is unknown.
pub(crate) fn sender(cpu: Option<u32>, task: Option<&str>) -> Option<String> {
    match (cpu, task.map(plain)) {
        (Some(cpu), Some(task)) => Some(format!("CPU {cpu} {task}")),
        (Some(cpu), None) => Some(format!("CPU {cpu}")),
        (None, task) => task,
    }
}

/// Names the time between the edge of a detour and the kernel's first or last event in it.
pub(crate) fn gap(run: &Facts) -> &'static str {
    if run.hypervisor.is_some() { "the VM exit" } else { "entry and exit" }
}

/// Names the role of an activity in a detour; empty for one of the kernel's own, whose source is enough.
pub(crate) fn role(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::EntryGap => "entry gap",
        ActivityKind::InnerGap => "gap between",
        ActivityKind::ExitGap => "exit gap",
        ActivityKind::Activity => "",
        ActivityKind::OffCpu => "off the CPU",
        ActivityKind::Unexplained => "no kernel event",
        ActivityKind::NotAttributable => "not attributable",
    }
}

/// Names what had the CPU for which a thread of a program waited.
pub(crate) fn holder(holder: &Holder) -> String {
    match holder.kind {
        HolderKind::OwnThread => format!("{} (own)", plain(&holder.name)),
        HolderKind::OtherThread => plain(&holder.name),
        HolderKind::Interrupts => "interrupts".into(),
        HolderKind::Quota => "CPU quota".into(),
        HolderKind::Idle => "idle CPU".into(),
        HolderKind::WakeUp => "wake-up".into(),
        HolderKind::Unknown => "not known".into(),
    }
}
