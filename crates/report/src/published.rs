//! Published values, for comparison with measured ones.
//!
//! The numbers are data: a file for each paper in `published/` of this crate ([`Numbers`]). A further number is a row
//! there, a further paper a file and a [`Numbers`] here.

mod numbers;
mod tsafrir;

pub use numbers::{Numbers, Published, Value};
pub(crate) use tsafrir::Figure6;
pub use tsafrir::{Share, published_share, serial_table};

/// A paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// Author and year, as cited in the text.
    pub short: &'static str,
    /// Authors, title, venue and year.
    pub full: &'static str,
}

/// The CMT study: tick kernels on a processor of several strands per core.
pub(crate) const RADOJKOVIC: Paper = Paper {
    short: "Radojković 2008",
    full: "P. Radojković, V. Čakarević, J. Verdú, A. Pajuelo, R. Gioiosa, F. J. Cazorla, \
           M. Nemirovsky, M. Valero: Measuring operating system overhead on CMT processors. \
           SBAC-PAD 2008",
};

/// The do-nothing loops.
pub(crate) const TSAFRIR: Paper = Paper {
    short: "Tsafrir 2007",
    full: "D. Tsafrir: The context-switch overhead inflicted by hardware interrupts (and the \
           enigma of do-nothing loops). ExpCS 2007",
};

/// Page sizes and the TLB: a matrix × vector under three systems.
pub(crate) const RADOJKOVIC_THESIS: Paper = Paper {
    short: "Radojković 2009",
    full: "P. Radojković: master's thesis on the overhead of operating systems on CMT processors. Universitat Politècnica de Catalunya, 2009",
};

/// Detours on a server and on a laptop.
pub(crate) const KARNER: Paper = Paper {
    short: "Kärner 2014",
    full: "Kärner, M.: Understanding noise introduced by operating systems and its effects on high performance computing. University of Tartu, 2014",
};

/// The memory experiments.
pub(crate) const WAECHTLER: Paper = Paper {
    short: "Wächtler & Sojka 2012",
    full: "S. Wächtler, M. Sojka: Operating system noise: Linux vs. microkernel. Real-Time Linux Workshop, 2012",
};

/// Noise of one share and several rates.
pub(crate) const FERREIRA: Paper = Paper {
    short: "Ferreira 2008",
    full: "K. B. Ferreira, P. Bridges, R. Brightwell: Characterizing application sensitivity to OS interference using \
           kernel-level noise injection. SC 2008",
};

/// Footprints in the cache.
pub(crate) const THIEBAUT: Paper = Paper {
    short: "Thiébaut & Stone 1987",
    full: "D. Thiébaut, H. S. Stone: Footprints in the cache. ACM TOCS 5(4), 1987",
};

/// Cache-related preemption and migration delays.
pub(crate) const BASTONI: Paper = Paper {
    short: "Bastoni et al. 2010",
    full: "A. Bastoni, B. B. Brandenburg, J. H. Anderson: Cache-related preemption and migration delays: empirical \
           approximation and impact on schedulability. OSPERT 2010",
};

/// The numbers of the CMT study.
pub static CMT: Numbers =
    Numbers::new(&RADOJKOVIC, include_str!("../published/radojkovic-2008.tsv"));
/// The numbers of the thesis on page sizes; the times saved are approximate.
pub static PAGING: Numbers =
    Numbers::new(&RADOJKOVIC_THESIS, include_str!("../published/radojkovic-2009.tsv"));
/// The numbers on ticks and do-nothing loops.
pub static TICKS: Numbers = Numbers::new(&TSAFRIR, include_str!("../published/tsafrir-2007.tsv"));
/// The numbers on detours of a laptop, a server and two clusters.
pub static DETOURS: Numbers = Numbers::new(&KARNER, include_str!("../published/karner-2014.tsv"));
/// The numbers of the memory experiments.
pub static MEMORY: Numbers =
    Numbers::new(&WAECHTLER, include_str!("../published/waechtler-2012.tsv"));

/// The numbers of injected noise.
pub static INJECTED: Numbers =
    Numbers::new(&FERREIRA, include_str!("../published/ferreira-2008.tsv"));

/// Experiment: by what factor injected noise lengthens an application.
pub(crate) const SLOWDOWN: &str = "slowdown by noise of 2.5 %";

/// Experiment: cycles per instruction of a tick kernel.
pub(crate) const CYCLES: &str = "cycles per instruction";
/// Experiment: mean time by which a timer tick lengthens a repetition.
pub(crate) const TICK_OVERHEAD: &str = "average overhead of one tick";
/// Column: the kernel runs on the strand that takes the tick.
pub(crate) const SAME_STRAND: &str = "same strand";
/// Column: the kernel runs on another strand of that core.
pub(crate) const SIBLING_STRAND: &str = "sibling strand";
/// Column: the kernel runs on another core.
pub(crate) const OTHER_CORE: &str = "other core";

/// Experiment: how much less time large pages take than those of the default size.
pub(crate) const SPEEDUP: &str = "speed-up";
/// Experiment: the time that this is.
pub(crate) const SAVED: &str = "time saved";
/// Experiment: misses of the data TLB.
pub(crate) const TLB_MISSES: &str = "TLB misses";
/// Row: pages of the default size in Solaris.
pub(crate) const SMALL_PAGES: &str = "64 KB";
/// Row: larger pages.
pub(crate) const LARGE_PAGES: &str = "4 MB";
/// Row: the largest pages.
pub(crate) const HUGE_PAGES: &str = "256 MB";
/// Column: compiled without optimisation.
pub(crate) const UNOPTIMISED: &str = "-O0";
/// Column: compiled with optimisation.
pub(crate) const OPTIMISED: &str = "-O3";

/// Experiment: noise of detours over [`NOISE_OVER_NS`].
pub(crate) const NOISE: &str = "noise of detours over 1 µs";
/// The threshold of it.
pub const NOISE_OVER_NS: u64 = 1_000;
/// Column: machines in use, without services that are not needed.
pub(crate) const ALL_CPUS: &str = "all CPUs";

/// Experiment: time of one call that reads a clock.
pub(crate) const CLOCK_COST: &str = "cost of a clock";
/// Experiment: what part of the noise a class of sources takes.
pub(crate) const PART_OF_NOISE: &str = "part of the noise";
/// Experiment: noise by the size of the job.
pub(crate) const JOB_NOISE: &str = "noise of jobs";

/// Experiment: the distribution of loops of 1 ms.
pub(crate) const LOOP: &str = "loop of 1 ms";

/// Experiment: how often interrupts came, and what they took.
pub(crate) const INTERRUPTS_OF_A_RUN: &str = "interrupts of a run";

/// Experiment: what the slowdown of a job approaches with many nodes.
pub(crate) const JOB_LIMIT: &str = "slowdown of a job of many nodes with a delay of 1 ms";
/// Experiment: samples of which every second one contains a tick.
pub(crate) const HALF_OF_A_TICK: &str = "samples of half a tick's period";

/// Experiment: the time between two reads of the counter.
pub(crate) const READS: &str = "counter deltas";
/// Experiment: what a machine consists of.
pub(crate) const MACHINE: &str = "machine";

/// Experiment: how often three systems had the lowest, middle and highest noise.
const RANKING_COUNTS: &str = "noise among three systems";
/// Number of values that the memory experiments compare: 46 experiments in four regions.
pub(crate) const RANKING: u32 = 184;

/// Returns how often three systems had the lowest, middle and highest noise in the 184 experiments of Table 1 of
/// Wächtler & Sojka.
pub(crate) fn ranking() -> String {
    let counts: Vec<&Published> =
        MEMORY.iter().filter(|cell| cell.experiment == RANKING_COUNTS).collect();
    let systems = counts.chunk_by(|a, b| a.row == b.row).map(|cells| {
        let counts: Vec<String> = cells.iter().map(|cell| cell.value.text()).collect();
        format!("{} {}", cells[0].row, counts.join("/"))
    });
    let systems = systems.collect::<Vec<_>>().join(", ");
    format!("{} (lowest/middle/highest of {RANKING} on one machine): {systems}", WAECHTLER.short)
}

/// Parameters of the paper: one set of repetitions of the CMT study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CmtSet {
    /// Intended duration of a repetition.
    pub repetition_ns: u64,
    /// Number of repetitions; absent if only the stopping rule decided.
    pub repetitions: Option<u64>,
    /// Purpose of the set.
    pub view: &'static str,
}

/// The kernels of the CMT study, by their names here.
pub const CMT_KERNELS: [&str; 3] = ["intadd", "intmul", "intdiv"];
/// The sets of the CMT study.
pub const CMT_SETS: [CmtSet; 3] = [
    CmtSet { repetition_ns: 100_000, repetitions: Some(1_000), view: "peaks" },
    CmtSet { repetition_ns: 100_000, repetitions: Some(50_000), view: "peaks" },
    CmtSet { repetition_ns: 1_000_000_000, repetitions: None, view: "sums" },
];
/// Largest movement of the accumulated mean at which a series may end (MAIV), in millionths.
pub const CMT_MAIV_PPM: u32 = 10_000;
/// Smallest number of repetitions of the stopping rule.
pub const CMT_LEAST_REPETITIONS: u64 = 5;

/// Parameters of the paper: noise of one length and rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// Name of the set.
    pub id: &'static str,
    /// Mean time between two detours of a CPU.
    pub period_ns: u64,
    /// Length of a detour.
    pub length_ns: u64,
    /// Whether all CPUs have them at the same times; otherwise each has random times of its own.
    pub coordinated: bool,
}

impl Signature {
    const fn new(id: &'static str, period_ns: u64, length_ns: u64, coordinated: bool) -> Self {
        Self { id, period_ns, length_ns, coordinated }
    }
}

/// The signatures of Ferreira 2008 that take 2.5 % of a CPU.
pub const SIGNATURES: [Signature; 6] = [
    Signature::new("10hz-together", 100_000_000, 2_500_000, true),
    Signature::new("100hz-together", 10_000_000, 250_000, true),
    Signature::new("1000hz-together", 1_000_000, 25_000, true),
    Signature::new("10hz-random", 100_000_000, 2_500_000, false),
    Signature::new("100hz-random", 10_000_000, 250_000, false),
    Signature::new("1000hz-random", 1_000_000, 25_000, false),
];

/// The grain of the do-nothing loops.
pub const LOOPS_GRAIN_NS: u64 = 1_000_000;
/// Compute phases of the job of Figure 8 of Tsafrir 2007.
pub const JOB_GRAINS_NS: [u64; 3] = [0, 1_000_000, 5_000_000];
/// Further grains as fractions of the tick's period (Tsafrir 2007, Figure 15).
pub const LOOPS_TICK_PARTS: [u64; 2] = [2, 3];

/// Returns all numbers of a paper.
pub(crate) fn from_paper(paper: &Paper) -> &'static [Published] {
    const ALL: [&Numbers; 6] = [&CMT, &PAGING, &TICKS, &DETOURS, &MEMORY, &INJECTED];
    let numbers = ALL.into_iter().find(|numbers| numbers.paper() == paper);
    numbers.map_or(&[], |numbers| numbers)
}

/// Returns the cell of `table` for this experiment, row and column.
#[must_use]
pub fn find(
    table: &'static [Published],
    experiment: &str,
    row: &str,
    column: &str,
) -> Option<&'static Published> {
    table
        .iter()
        .find(|cell| cell.experiment == experiment && cell.row == row && cell.column == column)
}

/// Returns the cell of `table` for this machine, and this experiment, row and column.
#[must_use]
pub fn find_on(
    table: &'static [Published],
    machine: &str,
    (experiment, row, column): (&str, &str, &str),
) -> Option<&'static Published> {
    table.iter().find(|cell| {
        cell.machine == machine
            && (cell.experiment, cell.row, cell.column) == (experiment, row, column)
    })
}
