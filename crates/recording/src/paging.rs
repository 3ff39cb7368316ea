//! The kinds of pages that `measure paging` compares (Radojković 2009), and the memory of its series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How memory gets its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// The smallest pages; larger ones are refused by advice.
    Base,
    /// Transparent huge pages, which the kernel forms when memory is touched.
    Transparent,
    /// Explicit huge pages, from a reserved pool.
    Explicit,
}

/// A kind of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageKind {
    /// Its name on the command line, in recordings and in results.
    pub id: &'static str,
    /// How memory gets such pages.
    pub backing: Backing,
    /// Size of a page in bytes; 0 for base pages, whose size the kernel defines.
    pub bytes: u64,
}

const fn kind(id: &'static str, backing: Backing, bytes: u64) -> PageKind {
    PageKind { id, backing, bytes }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// All kinds, from the smallest pages on.
pub static PAGE_KINDS: [PageKind; 12] = [
    kind(BASE, Backing::Base, 0),
    kind("thp-8k", Backing::Transparent, 8 * KIB),
    kind("thp-16k", Backing::Transparent, 16 * KIB),
    kind("thp-32k", Backing::Transparent, 32 * KIB),
    kind("thp-64k", Backing::Transparent, 64 * KIB),
    kind("thp-128k", Backing::Transparent, 128 * KIB),
    kind("thp-256k", Backing::Transparent, 256 * KIB),
    kind("thp-512k", Backing::Transparent, 512 * KIB),
    kind("thp-1m", Backing::Transparent, MIB),
    kind("thp-2m", Backing::Transparent, 2 * MIB),
    kind("huge-2m", Backing::Explicit, 2 * MIB),
    kind("huge-1g", Backing::Explicit, 1024 * MIB),
];

/// The name of base pages.
pub const BASE: &str = "base";

/// The kernels that multiply a matrix by a vector: the optimised build of the loop, and the one without optimisation.
pub const BUILDS: [&str; 2] = ["matrix", "matrix-memory"];

/// Names of the counts of a series.
pub mod counts {
    /// Loads whose address was in no level of the data TLB.
    pub const TLB_MISSES: &str = "dtlb_misses";
    /// Cycles in which a page walk was in progress.
    pub const WALK_CYCLES: &str = "page_walk_cycles";
    /// Page faults.
    pub const FAULTS: &str = "page_faults";
    /// Loads that missed the first-level data cache: those of the program and those of the kernel.
    pub const FIRST_LEVEL: [&str; 2] = ["l1d_misses_user", "l1d_misses_kernel"];
    /// Accesses that missed the last-level cache.
    pub const LAST_LEVEL: [&str; 2] = ["llc_misses_user", "llc_misses_kernel"];
    /// Page faults, by where the access was made.
    pub const FAULTS_IN: [&str; 2] = ["page_faults_user", "page_faults_kernel"];
    /// System calls of a user's own function.
    pub const SYSTEM_CALLS: &str = "system_calls";
    /// How often a user's own function gave up its CPU.
    pub const VOLUNTARY_SWITCHES: &str = "voluntary_switches";
}

/// How the sizes of pages were verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    /// The mapping in `/proc/self/smaps`, which has explicit pages and transparent ones of the largest size.
    Smaps,
    /// Each page in `/proc/kpageflags`.
    PageFlags,
    /// The kernel's counters of transparent pages of each size, which also count those of other programs.
    Counters,
    /// The page tables, which the image without an operating system fills itself.
    PageTables,
    /// Not at all: the kernel shows neither.
    Not,
}

/// The memory of a series that had its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allocation {
    /// Number of the series.
    pub series: u32,
    /// Size of the memory in bytes; 0 if the kernel gave none.
    pub bytes: u64,
    /// Bytes on pages of each size (in bytes).
    pub pages: BTreeMap<u64, u64>,
    /// How these were found.
    pub verified: Verified,
    /// The NUMA node of the memory, if all of it is on one, as the kernel reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_node: Option<u32>,
    /// Why there is no such memory, if the kernel gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Number of kernel iterations during which events were counted.
    pub counted_iterations: u64,
    /// Events that were counted during these, by name.
    pub counts: BTreeMap<String, u64>,
}

impl Allocation {
    /// Returns which share of the memory is on pages of this size.
    #[must_use]
    pub fn share_of(&self, page_bytes: u64) -> f64 {
        let found = self.pages.get(&page_bytes).copied().unwrap_or(0);
        found as f64 / self.bytes.max(1) as f64
    }
}

/// Returns the kind of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static PageKind> {
    PAGE_KINDS.iter().find(|kind| kind.id == id)
}
