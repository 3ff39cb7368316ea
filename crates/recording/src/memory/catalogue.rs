//! The catalogue of the memory experiments: what happens before each pass, over how much memory, and how often.
//!
//! It needs only `core`: the image without an operating system (`bare/`) contains this file, so that its experiments are
//! the command's.

/// One experiment while the other CPUs are idle. It is measured for many sizes of the working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name on the command line, in recordings and in results.
    pub id: &'static str,
    /// The work kernel.
    pub kernel: &'static str,
    /// What happens before each pass over the working set.
    pub before: Before,
    /// Whether it is one of the 46 of the paper.
    pub published: bool,
}

/// What happens before each pass over the working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Another pass, so that the caches hold what they can of the working set.
    Warm,
    /// The caches are filled with modified lines of other memory.
    Dirty,
    /// Another thread runs on the same CPU; without an operating system another context.
    Preempted {
        /// What the other thread does.
        by: Preemptor,
        /// Whether it does it for long, or on much memory.
        long: bool,
    },
    /// The thread migrates to another CPU.
    Migrated(Level),
}

/// What a preempting thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preemptor {
    /// Sleeps.
    Sleeps,
    /// Reads its own memory.
    Reads,
    /// Writes its own memory.
    Writes,
    /// Runs through a large amount of code.
    RunsCode,
}

/// The closest cache that two CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The second-level cache, or also the first.
    L2,
    /// A cache of a higher level.
    L3,
    /// None.
    Neither,
}

/// The sizes of a CPU's data caches in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataCaches {
    /// That of the first level.
    pub first: u64,
    /// That of the second level.
    pub second: u64,
    /// That of the highest level.
    pub last: u64,
}

impl DataCaches {
    /// What is assumed of caches that the machine hides.
    pub const USUAL: Self = DataCaches { first: 32 << 10, second: 1 << 20, last: 32 << 20 };
}

/// What is done once before a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing, for this many nanoseconds.
    Sleep(u64),
    /// One pass of this kernel over other memory of this many bytes.
    Pass(&'static str, u64),
}

/// Code that a preemptor can run through, in bytes.
const MOST_CODE: u64 = 512 << 10;
/// A preemptor that displaces much works on this many times the second-level cache.
const LONG_CACHES: u64 = 4;
/// How long a preemptor sleeps, short and long, in nanoseconds.
const SLEEPS_NS: [u64; 2] = [50_000, 500_000];
/// The largest working set is this many times the last-level cache, in a quick measurement half as many.
pub const LARGEST_CACHES: u64 = 4;
/// Up to this size of the working set there are 8 per octave and 10 passes at least, in bytes; beyond it 1 and 4, so that
/// all experiments take about an hour also where the last-level cache of a whole machine is reported.
pub const DENSE: u64 = 128 << 20;
/// The largest working set of a quick measurement, in bytes.
pub const QUICK_LARGEST: u64 = 64 << 20;
/// The smallest number of passes over a working set.
const USUAL_LEAST: u64 = 10;
/// The same in a quick measurement, and beyond [`DENSE`].
pub const FEWEST: u64 = 4;

impl Before {
    /// Returns what is done before each pass on a CPU with these caches; none if that is another pass or a migration.
    #[must_use]
    pub fn disturbance(self, caches: DataCaches) -> Option<Disturbance> {
        let DataCaches { first, second, last } = caches;
        let (by, long) = match self {
            Before::Warm | Before::Migrated(_) => return None,
            Before::Dirty => return Some(Disturbance::Pass("write-sequential", last)),
            Before::Preempted { by, long } => (by, long),
        };
        let data = if long { LONG_CACHES * second } else { first };
        let code = if long { MOST_CODE } else { first.min(MOST_CODE) };
        Some(match by {
            Preemptor::Sleeps => Disturbance::Sleep(SLEEPS_NS[usize::from(long)]),
            Preemptor::Reads => Disturbance::Pass("read-sequential", data),
            Preemptor::Writes => Disturbance::Pass("write-sequential", data),
            Preemptor::RunsCode => Disturbance::Pass("code", code),
        })
    }

    /// Returns the smallest and the largest number of passes over a working set of this size.
    #[must_use]
    pub fn passes(self, bytes: u64, quick: bool) -> (u64, u64) {
        let least = if quick || bytes > DENSE { FEWEST } else { USUAL_LEAST };
        let most = match self {
            Before::Dirty => 256,
            Before::Migrated(_) => 512,
            Before::Warm | Before::Preempted { .. } => 1024,
        };
        (least, if quick { most / 8 } else { most })
    }
}

/// Returns the size of the largest working set in bytes, for a last-level cache of `last` bytes.
#[must_use]
pub fn largest(last: u64, quick: bool) -> u64 {
    let caches = LARGEST_CACHES.saturating_mul(last);
    if quick { (caches / 2).min(QUICK_LARGEST) } else { caches }
}

/// Returns whether a size of those with 8 per octave is that of a working set.
#[must_use]
pub fn is_listed(bytes: u64) -> bool {
    bytes <= DENSE || bytes.is_power_of_two()
}

/// Builds an entry. Its name is made of the group, the kernel and the condition.
macro_rules! entry {
    ($group:literal, $kernel:literal, $condition:literal, $before:expr, $published:literal) => {
        Entry {
            id: concat!($group, "-", $kernel, "-", $condition),
            kernel: $kernel,
            before: $before,
            published: $published,
        }
    };
}

macro_rules! bandwidth {
    ($kernel:literal) => {
        [
            entry!("bandwidth", $kernel, "warm", Before::Warm, true),
            entry!("bandwidth", $kernel, "dirty", Before::Dirty, true),
        ]
    };
}

macro_rules! preemption {
    ($kernel:literal) => {
        [
            entry!("preemption", $kernel, "sleep-short", preempted(Preemptor::Sleeps, false), true),
            entry!("preemption", $kernel, "sleep-long", preempted(Preemptor::Sleeps, true), true),
            entry!("preemption", $kernel, "read-short", preempted(Preemptor::Reads, false), true),
            entry!("preemption", $kernel, "read-long", preempted(Preemptor::Reads, true), true),
            entry!("preemption", $kernel, "write-short", preempted(Preemptor::Writes, false), true),
            entry!("preemption", $kernel, "write-long", preempted(Preemptor::Writes, true), true),
            entry!(
                "preemption",
                $kernel,
                "code-short",
                preempted(Preemptor::RunsCode, false),
                true
            ),
            entry!("preemption", $kernel, "code-long", preempted(Preemptor::RunsCode, true), true),
        ]
    };
}

macro_rules! migration {
    ($kernel:literal) => {
        [
            entry!("migration", $kernel, "l2", Before::Migrated(Level::L2), true),
            entry!("migration", $kernel, "l3", Before::Migrated(Level::L3), true),
            entry!("migration", $kernel, "far", Before::Migrated(Level::Neither), true),
        ]
    };
}

const fn preempted(by: Preemptor, long: bool) -> Before {
    Before::Preempted { by, long }
}

static BANDWIDTH: [[Entry; 2]; 4] = [
    bandwidth!("read-sequential"),
    bandwidth!("write-sequential"),
    bandwidth!("read-random"),
    bandwidth!("write-random"),
];

static PREEMPTION: [[Entry; 8]; 4] = [
    preemption!("read-sequential"),
    preemption!("write-sequential"),
    preemption!("read-random"),
    preemption!("write-random"),
];

static MIGRATION: [[Entry; 3]; 2] = [migration!("read-random"), migration!("write-random")];

/// Ours: random accesses that miss no entry of the TLB.
static LOCAL: [Entry; 2] = [
    entry!("bandwidth", "read-random-local", "warm", Before::Warm, false),
    entry!("bandwidth", "write-random-local", "warm", Before::Warm, false),
];

/// Returns all experiments with idle CPUs: the 46 of the paper, then ours. The paper states how many there are of each
/// group; the split of the preemptions is ours.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    let published = BANDWIDTH.as_flattened().iter().chain(PREEMPTION.as_flattened());
    published.chain(MIGRATION.as_flattened()).chain(&LOCAL)
}
