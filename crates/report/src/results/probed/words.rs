//! What was short, in sentences.

use crate::units::{counted, cpu_list, rough_share, share};
use anechoic_analyze::Probed;
use anechoic_analyze::probed::{ProbedCpu, Short, Shortage};
use anechoic_recording::probes::{
    ADDITIONS, CHAIN, CODE, FIRST_LEVEL, LAST_LEVEL, MEMORY, SECOND_LEVEL, STREAM,
};

/// Most shortages that are named in sentences.
const NAMED: usize = 2;
/// What was short for a smaller share of the time, or in fewer windows, is only in the table: some may seem so by chance.
const LEAST: f64 = 0.01;
const FEWEST_WINDOWS: f64 = 3.0;
/// A shortage was mostly on all CPUs at once if it was in this part of its windows.
const MOSTLY: f64 = 0.5;
/// Turns of a probe in a window that are too few.
const FEW_TURNS: f64 = 3.0;

/// Returns what is short in a table.
pub(super) fn name(what: Shortage) -> &'static str {
    match what {
        Shortage::Clock => "clock rate",
        Shortage::Core => "the core itself",
        Shortage::Cache => "shared cache",
        Shortage::Bandwidth => "memory bandwidth",
        Shortage::Unclear => "cannot tell",
    }
}

/// Writes how much longer work took: `12 % longer than`, `4.0 times as long as`.
fn longer(slower: f64) -> String {
    match slower {
        ..1.0 => format!("{} longer than", rough_share(slower)),
        _ => format!("{:.1} times as long as", 1.0 + slower),
    }
}

/// Returns what happened while it was short; with several CPUs the probes of one take from the others.
fn happened(what: Shortage, several: bool) -> &'static str {
    match what {
        Shortage::Cache if several => {
            "others, or the probes of the other CPUs, used the shared cache"
        }
        Shortage::Bandwidth if several => {
            "others, or the probes of the other CPUs, used the bandwidth of the memory"
        }
        Shortage::Clock => "all work in the core was slower alike, as at a lower clock rate,",
        Shortage::Core => "something else used the core or its caches, probably its other thread",
        Shortage::Cache => "others used the shared cache",
        Shortage::Bandwidth => "others used the bandwidth of the memory",
        Shortage::Unclear => "memory was slow, and the probes cannot tell why",
    }
}

/// Returns the work of a probe.
fn work(probe: &str) -> &str {
    match probe {
        CHAIN => "additions that wait for each other",
        ADDITIONS => "additions that do not wait for each other",
        CODE => "running through much code",
        FIRST_LEVEL => "loads from the first-level cache",
        SECOND_LEVEL => "loads from the second-level cache",
        LAST_LEVEL => "loads of lines that the cache had held",
        MEMORY => "loads from memory",
        STREAM => "reading memory in sequence",
        other => other,
    }
}

/// Returns what was short for the longest time, or that nothing was, and for which CPUs that is unknown.
pub(super) fn sentences(found: &Probed) -> Vec<String> {
    let (judged, unknown): (Vec<&ProbedCpu>, Vec<&ProbedCpu>) =
        found.cpus.iter().partition(|cpu| cpu.windows > 0);
    let mut all: Vec<(&ProbedCpu, &Short)> = vec![];
    for &cpu in &judged {
        let is_long = |short: &&Short| {
            short.share >= LEAST && (short.share * cpu.windows as f64).round() >= FEWEST_WINDOWS
        };
        let long = cpu.short.iter().filter(is_long);
        all.extend(long.map(|short| (cpu, short)));
    }
    all.sort_by(|one, other| other.1.share.total_cmp(&one.1.share));
    let (mut named, mut sentences): (Vec<Shortage>, Vec<String>) = (vec![], vec![]);
    for &(cpu, short) in &all {
        if !named.contains(&short.what) && named.len() < NAMED {
            let is_alone = all.iter().filter(|(_, other)| other.what == short.what).count() == 1;
            sentences.push(sentence(cpu, short, (judged.len(), is_alone)));
            named.push(short.what);
        }
    }
    if sentences.is_empty() && !judged.is_empty() {
        sentences.push(nothing(&judged));
    }
    sentences.extend((!unknown.is_empty()).then(|| not_known(&unknown, found.window_s)));
    sentences
}

/// States what was short on a CPU; of several CPUs it may be the only one.
fn sentence(cpu: &ProbedCpu, short: &Short, (cpus, is_alone): (usize, bool)) -> String {
    let most = if cpus > 1 && !is_alone { ", more than on any other," } else { "" };
    let on_all = match short.on_all {
        Some(share) if share >= MOSTLY => {
            " For most of that time it was so on all measured CPUs at once."
        }
        _ => "",
    };
    format!(
        "On CPU {}{most} {} for {} of the time: {} took {} at best.{on_all}",
        cpu.cpu,
        happened(short.what, cpus > 1),
        rough_share(short.share),
        work(&short.probe),
        longer(short.slower),
    )
}

/// Returns that nothing was short, and by how much work in the core varied.
fn nothing(judged: &[&ProbedCpu]) -> String {
    let probes = judged.iter().flat_map(|cpu| &cpu.probes);
    let in_core = probes.filter(|probe| ![LAST_LEVEL, MEMORY, STREAM].contains(&&*probe.name));
    let is_calm = judged.iter().all(|cpu| cpu.short.is_empty());
    format!(
        "Nothing was short{} on {}: in 99 % of the time work in the core took at most {} longer than at best.",
        if is_calm { "" } else { " for long" },
        counted(judged.len() as u64, "CPU", "CPUs"),
        share(in_core.map(|probe| probe.p99_slower).fold(0.0, f64::max))
    )
}

/// Returns for which CPUs nothing is known, and why.
fn not_known(unknown: &[&ProbedCpu], window_s: f64) -> String {
    let cpus: Vec<u32> = unknown.iter().map(|cpu| cpu.cpu).collect();
    let is_busy =
        unknown.iter().any(|cpu| cpu.samples > 0 && cpu.turn_ns * FEW_TURNS > window_s * 1e9);
    format!(
        "What was short on CPU {} is unknown: {}.",
        cpu_list(&cpus),
        match is_busy {
            true =>
                "other work had the CPU, so that the probes had too few turns; use --policy fifo, or other CPUs",
            false => "there are too few samples",
        }
    )
}
