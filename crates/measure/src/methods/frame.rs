//! Options and cells that the methods with plain samples share.

use crate::experiment::{Amount, Cell, Host, Pinning, Policy, Sample, Samples};
use crate::kernel::{Kernel, kernels};
use crate::timed::buffers::BUDGET;
use anechoic_recording::options::{Answers, Choices, OptionRow, Value, cpu_list};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::machine::{Root, free_memory};
use anechoic_system::memory_nodes;
use std::time::Duration;

/// Memory for gaps, samples and kernel events, in bytes.
const BUFFERS: u64 = 2 * BUDGET as u64 + (48 << 20);
/// Any number; 0 is refused later with a better message.
pub(super) const COUNT: Value = Value::Count { least: 0, most: u64::MAX };
/// The work kernels that need no workspace.
pub(super) const KERNELS: Choices = kernels;

/// The names of the policies.
pub(super) fn policies() -> Vec<(&'static str, &'static str)> {
    vec![("other", ""), ("fifo", "")]
}

/// The option for the scheduling policy of a method that measures one.
pub(super) const ONE_POLICY: OptionRow = OptionRow::new(
    "policy",
    Value::Choice(policies),
    "POLICY",
    "Scheduling policy of the measuring thread: an ordinary one, or SCHED_FIFO at priority 1",
)
.default("other");

/// Returns the policy of that name.
pub(super) fn policy(name: &str) -> Policy {
    if name == "fifo" { Policy::FIFO } else { Policy::Other }
}

/// The option that allows loops under SCHED_FIFO to take every CPU.
pub(super) const ALL_CPUS: OptionRow = OptionRow::new(
    "all-cpus",
    Value::Flag,
    "",
    "With --policy fifo: measure every CPU of the machine, leaving none for anything else",
);

/// Defines an option that takes work kernels.
pub(super) const fn kernels_option(name: &'static str, default: &'static str) -> OptionRow {
    let help = "Work kernels (`anechoic measure kernels` lists them), or your own function: ./FILE.so:FUNCTION";
    OptionRow::new(name, Value::Work(KERNELS), "KERNEL", help).many().default(default)
}

/// The option that measures a user's own function, for methods that measure a set of kernels under another name.
pub(super) const OWN_WORK: OptionRow = OptionRow::new(
    "work",
    Value::Work(KERNELS),
    "KERNEL",
    "Measure this instead: your own function, ./FILE.so:FUNCTION, or other work kernels",
)
.many();

/// Returns what [`OWN_WORK`] names, or else the kernels of this option.
pub(super) fn work_or(name: &'static str, answers: &Answers) -> Vec<&'static str> {
    let own = answers.all("work");
    if own.is_empty() { answers.all(name) } else { own }
}

/// Options for taking samples of fixed work.
pub(super) static WORK: &[OptionRow] = &[
    OptionRow::new(
        "maiv",
        Value::Percent,
        "PERCENT",
        "End a series once its accumulated mean changes by less than this over half of it, for example 1%",
    ),
    OptionRow::new(
        "pure",
        Value::Flag,
        "",
        "One kernel call per sample, as in the papers; gaps inside samples are then not recorded",
    ),
];

/// Options for where the loops run and how they are scheduled.
pub(super) static LOOPS: &[OptionRow] = &[
    OptionRow::new(
        "one-by-one",
        Value::Flag,
        "",
        "Measure the CPUs one after the other instead of together",
    ),
    OptionRow::new(
        "unpinned",
        Value::Flag,
        "",
        "Also measure once without pinning; the scheduler's placement is then part of the result",
    ),
    OptionRow::new(
        "policy",
        Value::Choice(policies),
        "POLICY",
        "Scheduling policies to measure, one after the other",
    )
    .many()
    .default("other"),
    ALL_CPUS,
];

/// The option for the NUMA node of the working sets.
pub(super) const MEMORY_NODE: OptionRow = OptionRow::new(
    "memory-node",
    Value::Count { least: 0, most: 1023 },
    "N",
    "NUMA node of all memory, also one far from the CPU [default: the CPU's own]",
);

/// The node of all memory, and a note if it is far from the CPU.
pub(super) struct MemoryNode {
    pub(super) node: Option<u32>,
    pub(super) note: Option<String>,
}

/// Returns what [`MEMORY_NODE`] asks for.
///
/// # Errors
/// Fails if this machine has no such node.
pub(super) fn memory_node(answers: &Answers, host: &Host) -> Result<MemoryNode, Problem> {
    let Some(node) = answers.given::<u64>("memory-node") else {
        return Ok(MemoryNode { node: None, note: None });
    };
    let node = u32::try_from(node).unwrap_or(u32::MAX);
    drop(memory_nodes::bind(node)?);
    let far = host.machine.cpus.iter().filter(|cpu| host.cpus.contains(&cpu.cpu));
    let far = far.filter_map(|cpu| Some((cpu.cpu, cpu.node?))).find(|(_, own)| *own != node);
    let note = far.map(|(cpu, own)| {
        format!("the memory is on node {node}, and CPU {cpu} on node {own}: each access that misses the caches goes there")
    });
    Ok(MemoryNode { node: Some(node), note })
}

/// Returns samples of fixed work for each of these kernels, with the [`WORK`] options.
pub(super) fn samples(
    names: &[&'static str],
    grain: Duration,
    count: u64,
    answers: &Answers,
) -> Result<Vec<Sample>, Problem> {
    let maiv_ppm = answers.given::<u32>("maiv");
    let sample = |name: &&'static str| {
        let sample = Sample::filling(Kernel::find(name)?, grain, count);
        Ok(Sample { maiv_ppm, watched: !answers.flag("pure"), ..sample })
    };
    names.iter().map(sample).collect()
}

/// Returns windows of fixed time for each of these kernels.
pub(super) fn windows(
    names: &[&'static str],
    window: Duration,
    count: u64,
) -> Result<Vec<Sample>, Problem> {
    let sample = |name: &&'static str| {
        let (amount, samples) = (Amount::Window(window), Samples::Count(count));
        let kernel = Kernel::find(name)?;
        Ok(Sample { kernel, amount, samples, maiv_ppm: None, watched: true })
    };
    names.iter().map(sample).collect()
}

/// Returns a cell for each of these samples in each place and under each policy, with the [`LOOPS`] options.
pub(super) fn cells(
    samples: &[Sample],
    answers: &Answers,
    host: &Host,
) -> Result<Vec<Cell>, Problem> {
    let pinned: Vec<Pinning> = match answers.flag("one-by-one") {
        true => host.cpus.iter().map(|&cpu| Pinning::Cpus(vec![cpu])).collect(),
        false => vec![Pinning::Cpus(host.cpus.clone())],
    };
    let anywhere = answers.flag("unpinned").then_some(Pinning::Anywhere);
    let mut cells = Vec::new();
    for on in pinned.into_iter().chain(anywhere) {
        for policy in answers.all::<&str>("policy").into_iter().map(policy) {
            for &sample in samples {
                cells.push(Cell { policy, ..Cell::sampling(sample, on.clone()) });
            }
        }
    }
    leave_a_cpu(&cells, answers, host, "--policy fifo without --one-by-one")?;
    Ok(cells)
}

/// Refuses to run under SCHED_FIFO on every CPU of the machine at the same time, unless `--all-cpus` is
/// given.
pub(super) fn leave_a_cpu(
    cells: &[Cell],
    answers: &Answers,
    host: &Host,
    option: &'static str,
) -> Result<(), Problem> {
    let online = cpu_list(&host.machine.online).unwrap_or_default();
    let takes_all = |cell: &Cell| {
        let cpus = cell.on.cpus();
        cell.policy == Policy::FIFO
            && !cpus.is_empty()
            && online.iter().all(|cpu| cpus.contains(cpu))
    };
    match !answers.flag("all-cpus") && cells.iter().any(takes_all) {
        true => {
            let why =
                format!("{option} would take every CPU of this machine and nothing else could run");
            let remedy = "leave one out with --cpus, or use --all-cpus";
            Err(ProblemKind::Usage.problem(why, remedy))
        }
        false => Ok(()),
    }
}

/// Leaves out working sets that do not fit into the free memory beside `other` bytes, and states which.
pub(super) fn fitting(
    sizes: Vec<u64>,
    other: u64,
    node: Option<u32>,
) -> Result<(Vec<u64>, Option<NotAvailable>), Problem> {
    let root = Root::live();
    let of_node = node.and_then(|node| memory_nodes::free(&root, node));
    let anywhere = free_memory(&root);
    let by_node = of_node.is_some_and(|node| anywhere.is_none_or(|all| node.bytes < all.bytes));
    let free = if by_node { of_node } else { anywhere };
    let Some(free) = free else { return Ok((sizes, None)) };
    // The rest is for others.
    let most = (free.bytes.saturating_sub(BUFFERS) / 4 * 3).saturating_sub(other);
    let (fit, large): (Vec<u64>, Vec<u64>) = sizes.into_iter().partition(|&bytes| bytes <= most);
    let place = match node.filter(|_| by_node) {
        Some(node) => format!("on memory node {node}"),
        None if free.by_cgroup => "in the control group of this process".to_owned(),
        None => "in this machine".to_owned(),
    };
    let why = format!(
        "only {} MiB of memory are free {place}, of which buffers and other kernels need {} MiB",
        free.bytes >> 20,
        (BUFFERS + other) >> 20
    );
    let remedy = "free memory, or raise the limit (memory.max; memory.limit_in_bytes in version 1 of control groups)";
    match fit.last() {
        None => Err(ProblemKind::Unavailable.problem(why, remedy)),
        Some(&largest) if !large.is_empty() => {
            let what = format!("working sets over {} KiB", largest >> 10);
            Ok((fit, Some(NotAvailable { what, why, remedy: remedy.into() })))
        }
        Some(_) => Ok((fit, None)),
    }
}
