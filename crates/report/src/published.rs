//! Published values, for comparison with measured ones.
//!
//! It contains only numbers that could be read in the paper, in its abstract, or in quotations. Missing for this
//! reason: for the CMT study the time of Linux and Solaris on each strand, the histograms, and more about the machine
//! than its title contains; for the do-nothing loops the averages, deviations, extremes and counts of fasties and
//! slowies of each body, and the machines of each figure.

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
    full: "Kärner: thesis on operating-system noise. University of Tartu, 2014",
};

/// The memory experiments.
pub(crate) const WAECHTLER: Paper = Paper {
    short: "Wächtler & Sojka 2012",
    full: "S. Wächtler, M. Sojka: Operating system noise: Linux vs. microkernel. Real-Time Linux Workshop, 2012",
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

/// Number of values that the memory experiments compare: 46 experiments in four regions.
pub(crate) const RANKING: u32 = 184;

/// Returns how often three systems had the lowest, middle and highest noise in the 184 experiments of Table 1 of
/// Wächtler & Sojka.
pub(crate) fn ranking() -> String {
    let systems =
        [("NOVA", [108, 35, 41]), ("minimal Linux", [37, 70, 77]), ("Debian", [39, 79, 66])];
    let system =
        |(name, [low, middle, high]): (&str, [u32; 3])| format!("{name} {low}/{middle}/{high}");
    let systems = systems.map(system).join(", ");
    format!("{} (lowest/middle/highest of {RANKING} on one machine): {systems}", WAECHTLER.short)
}

/// A published number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A single value.
    Is(f64),
    /// A range of values.
    Between(f64, f64),
    /// An upper limit.
    UpTo(f64),
    /// The paper found none.
    NoneSeen,
}

/// A cell of a published table, or a number in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Measured quantity.
    pub experiment: &'static str,
    /// Row: a work kernel by its name here, or a description.
    pub row: &'static str,
    /// Column: place or condition.
    pub column: &'static str,
    /// The value.
    pub value: Value,
    /// Unit of the value: `µs`, `%`, `cycles`.
    pub unit: &'static str,
    /// Machine on which it was measured, as far as known.
    pub machine: &'static str,
    /// The paper.
    pub paper: Paper,
    /// Place in the paper.
    pub place: &'static str,
}

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

const CMT_MACHINE: &str = "a processor of several strands on each core";

const fn cycles(row: &'static str, value: f64) -> Published {
    let (machine, paper) = (CMT_MACHINE, RADOJKOVIC);
    let (experiment, column) = (CYCLES, "CPI");
    let (value, unit, place) = (Value::Is(value), "cycles", "Table 1");
    Published { experiment, row, column, value, unit, machine, paper, place }
}

const fn tick(row: &'static str, column: &'static str, value: Value) -> Published {
    let (machine, paper) = (CMT_MACHINE, RADOJKOVIC);
    let (experiment, unit, place) = (TICK_OVERHEAD, "µs", "Table 1");
    Published { experiment, row, column, value, unit, machine, paper, place }
}

/// The table of the CMT study.
pub(crate) static CMT: [Published; 12] = [
    cycles("intadd", 1.0),
    cycles("intmul", 11.0),
    cycles("intdiv", 72.0),
    tick("intadd", SAME_STRAND, Value::Is(26.4)),
    tick("intmul", SAME_STRAND, Value::Is(26.7)),
    tick("intdiv", SAME_STRAND, Value::Is(26.2)),
    tick("intadd", SIBLING_STRAND, Value::Is(6.5)),
    tick("intmul", SIBLING_STRAND, Value::Is(1.2)),
    tick("intdiv", SIBLING_STRAND, Value::Is(0.8)),
    tick("intadd", OTHER_CORE, Value::NoneSeen),
    tick("intmul", OTHER_CORE, Value::NoneSeen),
    tick("intdiv", OTHER_CORE, Value::NoneSeen),
];

/// Experiment: how much less time large pages take than those of the default size.
pub(crate) const SPEEDUP: &str = "speed-up";
/// Experiment: the time that this is.
pub(crate) const SAVED: &str = "time saved";
/// Experiment: how much longer the program takes than without an operating system.
pub(crate) const OVERHEAD: &str = "over no OS";
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

/// Returns a number of the thesis on page sizes for both levels of optimisation.
const fn pages(
    (experiment, row): (&'static str, &'static str),
    [unoptimised, optimised]: [f64; 2],
    (unit, place): (&'static str, &'static str),
) -> [Published; 2] {
    let (machine, paper) = ("UltraSPARC T1, 1 GHz", RADOJKOVIC_THESIS);
    let value = Value::Is(unoptimised);
    let first =
        Published { experiment, row, column: UNOPTIMISED, value, unit, machine, paper, place };
    [first, Published { column: OPTIMISED, value: Value::Is(optimised), ..first }]
}

/// The numbers of the thesis on page sizes; the times saved are approximate.
const PAGES: [[Published; 2]; 11] = [
    pages((SPEEDUP, LARGE_PAGES), [27.63, 44.40], ("%", "§6.2.3")),
    pages((SPEEDUP, HUGE_PAGES), [28.25, 45.82], ("%", "§6.2.3")),
    pages((SAVED, LARGE_PAGES), [11.0, 11.0], ("s", "§6.2.3")),
    pages((TLB_MISSES, SMALL_PAGES), [61_091_463.0, 61_092_618.0], ("", "Table 6.2")),
    pages((TLB_MISSES, LARGE_PAGES), [947_825.0, 947_206.0], ("", "Table 6.2")),
    pages((TLB_MISSES, HUGE_PAGES), [12_650.0, 12_626.0], ("", "Table 6.2")),
    pages((OVERHEAD, "Linux, 8 KB"), [69.86, 155.16], ("%", "Fig. 6.7")),
    pages((OVERHEAD, "Solaris, 64 KB"), [44.64, 98.07], ("%", "Fig. 6.7")),
    pages((OVERHEAD, HUGE_PAGES), [3.78, 7.31], ("%", "Fig. 6.8")),
    pages(("extra time", "Linux, 8 KB"), [19.0, 19.0], ("s", "§6.2.1")),
    pages(("extra time", "Solaris, 64 KB"), [13.0, 13.0], ("s", "§6.2.1")),
];
/// The same, one after the other.
pub(crate) static PAGING: [Published; 22] = {
    let mut all = [PAGES[0][0]; 22];
    let mut at = 0;
    while at < all.len() {
        all[at] = PAGES[at / 2][at % 2];
        at += 1;
    }
    all
};

const fn sort(experiment: &'static str, value: Value, machine: &'static str) -> Published {
    let (row, column, unit, place) = ("a program that sorts", "alone", "%", "abstract");
    Published { experiment, row, column, value, unit, machine, paper: TSAFRIR, place }
}

const fn worked(
    experiment: &'static str,
    row: &'static str,
    value: f64,
    unit: &'static str,
) -> Published {
    let (column, value, place) = ("alone", Value::Is(value), "worked example");
    let machine = "that of the example";
    Published { experiment, row, column, value, unit, machine, paper: TSAFRIR, place }
}

/// The numbers in the paper on do-nothing loops that could be read, all from its other experiment, a program that
/// sorts.
pub static LOOPS: [Published; 5] = [
    sort("time that ticks at 1,000 Hz cost", Value::Between(0.5, 1.5), "slow to fast processors"),
    sort(
        "indirect part of it, where ticks read no external clock",
        Value::UpTo(85.0),
        "the fastest of them",
    ),
    worked("direct cost of one tick", "trap", 0.52, "µs"),
    worked("direct cost of one tick", "handler", 0.49, "µs"),
    worked("indirect part of what ticks cost", "a program that sorts", 81.0, "%"),
];

const fn noise(row: &'static str, value: f64) -> Published {
    let (experiment, column, unit) = ("noise of detours over 1 µs", "all CPUs", "%");
    let (machine, paper, place) = (row, KARNER, "results");
    Published { experiment, row, column, value: Value::Is(value), unit, machine, paper, place }
}

/// Noise of detours over [`NOISE_OVER_NS`] on machines in use, from the quietest.
pub(crate) static NOISE: [Published; 2] =
    [noise("a server without unneeded services", 1.8), noise("a laptop in use", 9.1)];
/// The threshold of these.
pub(crate) const NOISE_OVER_NS: u64 = 1_000;

/// The result for the loops of 1 ms in words, because no number could be read.
pub(crate) const LOOPS_VERDICT: &str = "some loops of 1 ms agreed with that, others showed an overhead \
                                 an order of magnitude larger, or worse, on IA32, IA64 and Power";

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

/// The grain of the do-nothing loops.
pub const LOOPS_GRAIN_NS: u64 = 1_000_000;
/// Further grains as fractions of the tick's period (Tsafrir 2007, Figure 15).
pub const LOOPS_TICK_PARTS: [u64; 2] = [2, 3];

/// Returns the cell of `table` for this experiment, row and column.
#[must_use]
pub(crate) fn find(
    table: &'static [Published],
    experiment: &str,
    row: &str,
    column: &str,
) -> Option<&'static Published> {
    table
        .iter()
        .find(|cell| cell.experiment == experiment && cell.row == row && cell.column == column)
}

impl Value {
    /// Writes the value without its unit: `26.4`, `0.5–1.5`, `up to 85`, `none`.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Is(value) => value.to_string(),
            Self::Between(low, high) => format!("{low}–{high}"),
            Self::UpTo(most) => format!("up to {most}"),
            Self::NoneSeen => "none".into(),
        }
    }
}

impl Published {
    /// Writes the value with its unit: `26.4 µs`, `none`.
    #[must_use]
    pub fn text(&self) -> String {
        match self.value {
            Value::NoneSeen => self.value.text(),
            value => format!("{} {}", value.text(), self.unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_cell_stands_twice() {
        for table in [CMT.as_slice(), LOOPS.as_slice(), PAGING.as_slice()] {
            let keys: BTreeSet<_> =
                table.iter().map(|cell| (cell.experiment, cell.row, cell.column)).collect();
            assert_eq!(keys.len(), table.len());
        }
    }

    #[test]
    fn every_kernel_of_the_study_has_its_row() {
        for kernel in CMT_KERNELS {
            for column in [SAME_STRAND, SIBLING_STRAND, OTHER_CORE] {
                assert!(find(&CMT, TICK_OVERHEAD, kernel, column).is_some(), "{kernel}, {column}");
            }
        }
        assert_eq!(find(&CMT, TICK_OVERHEAD, "sum", SAME_STRAND), None);
    }

    #[test]
    fn texts() {
        let cell = find(&CMT, TICK_OVERHEAD, "intmul", SAME_STRAND).unwrap();
        assert_eq!(cell.text(), "26.7 µs");
        let none = find(&CMT, TICK_OVERHEAD, "intadd", OTHER_CORE).unwrap();
        assert_eq!(none.text(), "none");
        assert_eq!(LOOPS[0].text(), "0.5–1.5 %");
        assert_eq!(LOOPS[1].text(), "up to 85 %");
    }
}
