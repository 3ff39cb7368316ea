//! A matrix × vector down the columns, on pages of every size that the machine has (Radojković 2009).

use super::frame::fitting;
use super::{Method, frame};
use crate::experiment::{
    Amount, Cell, Experiment, Host, OwnMemory, Pages, Pinning, Sample, Samples,
};
use crate::kernel::Kernel;
use anechoic_kernels::memory::Params;
use anechoic_recording::machine::{DataTlb, Machine};
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::paging::{BUILDS, Backing, PAGE_KINDS, PageKind};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Problem, ProblemKind, methods};
use anechoic_system::huge_pages;
use anechoic_system::machine::Root;
use std::collections::BTreeSet;
use std::time::Duration;

/// The smallest matrix is this part of the reach of the TLB.
const SMALLEST_PART: u64 = 4;
/// The largest matrix is this many times the reach.
const LARGEST_REACHES: u64 = 64;
/// The same with --quick.
const QUICK_REACHES: u64 = 16;
/// No matrix is larger by default, in bytes: with base pages of 64 KiB a pass would take many seconds.
const LARGEST: u64 = 4 << 30;
/// Largest number of passes in a series.
const MOST_PASSES: u64 = 1024;
/// Entries of the data TLB that are assumed where the CPU does not describe them.
const USUAL_ENTRIES: u32 = 1536;
/// The number of blocks without --quick.
const USUAL_BLOCKS: u64 = 5;
/// The number of blocks with --quick.
const QUICK_BLOCKS: u64 = 3;

pub(super) static METHOD: Method = Method {
    title: "page sizes and the TLB",
    source: "Radojković 2009",
    about: "Page sizes and the TLB: a matrix × vector walked down its columns, on pages of every size that the machine has",
    details: "On one CPU, a matrix is multiplied by a vector, down the columns of a matrix that is stored row by row, so that each access is to \
              another page once a row is longer than a page. Two builds of the loop (optimised, and with every variable in memory as \
              without optimisation) run on base pages, transparent huge pages of each size that the kernel offers, and explicit huge pages \
              of 2 MiB and 1 GiB. The matrix is from a quarter of the reach of the data TLB to 64 times that. The order of page sizes \
              alternates between blocks, and each block has newly allocated memory, whose pages are verified. As root, settings of huge pages \
              are changed for this and put back on every exit; others get what is already set.",
    examples: "  anechoic measure paging --quick                              a first look in about a minute
  anechoic measure paging --pages base,thp-2m,huge-2m          only these pages
  anechoic measure paging --cpus 3 --blocks 10 -o paging       more blocks for narrower intervals",
    options: &[OPTIONS],
    one_cpu: true,
    result: methods::PAGING,
    ..Method::new(methods::PAGING, experiment)
};

fn names() -> Vec<(&'static str, &'static str)> {
    PAGE_KINDS.iter().map(|kind| (kind.id, "")).collect()
}

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "pages",
        Value::Matching(names),
        "PATTERN",
        "Pages by name: base, thp-64k, thp-2m, huge-2m, huge-1g, or patterns such as 'thp-*'",
    )
    .many()
    .default("*"),
    OptionRow::new(
        "quick",
        Value::Flag,
        "",
        "Four sizes of the matrix up to 16 times the reach of the TLB instead of nine up to 64 times, and 3 blocks",
    ),
    OptionRow::new(
        "point-time",
        Value::Duration,
        "TIME",
        "Time for the passes over one matrix in one block; a large matrix has at least one pass",
    )
    .default("50ms"),
    OptionRow::new(
        "blocks",
        Value::Count { least: 2, most: 1000 },
        "N",
        "Number of times that everything is measured, each time on newly allocated memory [default: 5, or 3 with --quick]",
    ),
    frame::MEMORY_NODE,
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let [cpu] = host.cpus[..] else {
        return Err(ProblemKind::Usage
            .problem("this method measures only one CPU", "name one, for example --cpus 1"));
    };
    let named: BTreeSet<&str> =
        answers.all::<Vec<&'static str>>("pages").into_iter().flatten().collect();
    let quick = answers.flag("quick");
    let usual = if quick { QUICK_BLOCKS } else { USUAL_BLOCKS };
    let blocks = answers.given::<u64>("blocks").unwrap_or(usual);
    let time = answers.one::<Duration>("point-time")?;
    let (reach, note) = reach(&host.machine);
    let memory_node = frame::memory_node(answers, host)?;
    let (sizes, too_large) = fitting(sizes(reach, quick), 0, memory_node.node)?;
    let Offered { mut kinds, mut absent } = Offered::new(&named, &Root::live());
    if let Some(node) = memory_node.node {
        absent.extend(kinds.iter().filter(|kind| kind.backing == Backing::Explicit).map(|kind| {
            NotAvailable {
                what: NotAvailable::pages(kind.id),
                why: format!("the pool of explicit pages is not that of memory node {node}"),
                remedy: "measure explicit pages without --memory-node".to_owned(),
            }
        }));
        kinds.retain(|kind| kind.backing != Backing::Explicit);
    }
    if kinds.is_empty() {
        let why = absent.first().map_or_else(String::new, |absent| absent.why.clone());
        return Err(ProblemKind::Unavailable.problem(why, "choose other pages"));
    }
    let mut cells = Vec::new();
    for block in 0..blocks as usize {
        for &bytes in &sizes {
            for kind in in_order(&kinds, block) {
                // Both builds run on the same memory, each as often first as the other.
                for at in [block % 2, (block + 1) % 2] {
                    let kernel = Kernel::on_memory(BUILDS[at], Params { bytes })?;
                    let memory = Some(OwnMemory { pages: pages(kind), fresh: at == block % 2 });
                    let sample = Sample {
                        kernel,
                        amount: Amount::Pass,
                        samples: Samples::Within { time, least: 1, most: MOST_PASSES },
                        maiv_ppm: None,
                        watched: false,
                    };
                    let cell = Cell::sampling(sample, Pinning::Cpus(vec![cpu]));
                    cells.push(Cell { name: Some(kind.id), memory, ..cell });
                }
            }
        }
    }
    Ok(Experiment {
        memory_node: memory_node.node,
        notes: note.into_iter().chain(memory_node.note).collect(),
        absent: absent.into_iter().chain(too_large).collect(),
        ..Experiment::listed(METHOD.id, cells)
    })
}

/// Returns the page kinds in the order of a block: each block begins with another one, and every second block is backwards.
fn in_order<'k>(kinds: &[&'k PageKind], block: usize) -> Vec<&'k PageKind> {
    let mut order = kinds.to_vec();
    order.rotate_left(block / 2 % kinds.len());
    if block % 2 == 1 {
        order.reverse();
    }
    order
}

/// Returns the memory that the data TLB covers with base pages, in bytes, and a note if that is assumed.
fn reach(machine: &Machine) -> (u64, Option<String>) {
    let page = rustix::param::page_size() as u64;
    match machine.data_tlb {
        Some(DataTlb { entries, .. }) => (u64::from(entries) * page, None),
        None => {
            let note = format!(
                "the CPU does not describe its data TLB: {USUAL_ENTRIES} entries are assumed"
            );
            (u64::from(USUAL_ENTRIES) * page, Some(note))
        }
    }
}

/// Returns the sizes of the matrix with its vectors in bytes: factors of two, or of four with --quick.
fn sizes(reach: u64, quick: bool) -> Vec<u64> {
    let (most, factor) = if quick { (QUICK_REACHES, 4) } else { (LARGEST_REACHES, 2) };
    let first = reach / SMALLEST_PART;
    let steps = std::iter::successors(Some(first), |bytes| bytes.checked_mul(factor));
    steps.take_while(|&bytes| bytes <= reach.saturating_mul(most).min(LARGEST)).collect()
}

/// Returns the pages of a kind.
fn pages(kind: &PageKind) -> Pages {
    match kind.backing {
        Backing::Base => Pages::Base,
        Backing::Transparent => Pages::Only(kind.bytes),
        Backing::Explicit => Pages::Explicit(kind.bytes),
    }
}

/// The page kinds of a machine.
struct Offered {
    kinds: Vec<&'static PageKind>,
    absent: Vec<NotAvailable>,
}

impl Offered {
    /// Returns the named kinds, as far as the kernel offers them. If all are named, sizes that only other kernels have are left
    /// out without a word.
    fn new(named: &BTreeSet<&str>, root: &Root) -> Self {
        let (transparent, explicit) =
            (huge_pages::transparent_sizes(root), huge_pages::explicit_sizes(root));
        let mut found = Offered { kinds: Vec::new(), absent: Vec::new() };
        for kind in PAGE_KINDS.iter().filter(|kind| named.contains(kind.id)) {
            let (sizes, what, remedy) = match kind.backing {
                Backing::Base => (&vec![0], "", ""),
                Backing::Transparent => (
                    &transparent,
                    "transparent",
                    "use pages that this kernel has (ls /sys/kernel/mm/transparent_hugepage); sizes other than 2 MiB need Linux 6.8",
                ),
                Backing::Explicit => (
                    &explicit,
                    "explicit",
                    "use a CPU (in a guest, also a host) that has such pages, and CONFIG_HUGETLBFS",
                ),
            };
            let usual = kind.backing == Backing::Explicit || kind.bytes == 2 << 20;
            if sizes.contains(&kind.bytes) {
                found.kinds.push(kind);
            } else if usual || named.len() < PAGE_KINDS.len() {
                found.absent.push(NotAvailable {
                    what: NotAvailable::pages(kind.id),
                    why: format!("the kernel offers no {what} pages of {} KiB", kind.bytes >> 10),
                    remedy: remedy.to_owned(),
                });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_from_inside_the_reach_to_64_times() {
        let mib: Vec<u64> = sizes(12 << 20, false).iter().map(|bytes| bytes >> 20).collect();
        assert_eq!(mib, [3, 6, 12, 24, 48, 96, 192, 384, 768]);
        let mib: Vec<u64> = sizes(12 << 20, true).iter().map(|bytes| bytes >> 20).collect();
        assert_eq!(mib, [3, 12, 48, 192]);
        assert!(sizes(1 << 30, false).iter().all(|&bytes| bytes <= LARGEST));
    }

    #[test]
    fn the_order_of_page_sizes_alternates() {
        let kinds: Vec<&PageKind> = PAGE_KINDS.iter().take(4).collect();
        let ids = |block| in_order(&kinds, block).iter().map(|kind| kind.id).collect::<Vec<_>>();
        assert_eq!(ids(0), ["base", "thp-8k", "thp-16k", "thp-32k"]);
        assert_eq!(ids(1), ["thp-32k", "thp-16k", "thp-8k", "base"]);
        assert_eq!(ids(2), ["thp-8k", "thp-16k", "thp-32k", "base"]);
    }
}
