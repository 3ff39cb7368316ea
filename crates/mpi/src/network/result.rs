//! The parameters that were found, with how well they fit, on the screen and in the file.

use super::series::{BLOCKS, MESSAGES, REPETITIONS, Series};
use anechoic_recording::Problem;
use anechoic_simulate::{Measured, Parameters, SizeCosts, SizeTimes, estimate};
use std::fmt::Write;
use std::path::Path;

/// The parameters, in the order of the file.
const NAMES: [(&str, &str); 5] = [
    ("L", "latency"),
    ("o", "CPU, each message"),
    ("g", "gap, each message"),
    ("G", "network, each byte"),
    ("O", "CPU, each byte"),
];

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    through: String,
    last: u32,
    hosts: [String; 2],
    measured: Measured,
    /// Quartiles of each parameter over the blocks, in ps.
    quartiles: [[u64; 2]; 5],
    /// The costs at all sizes, as measured.
    costs: Vec<SizeCosts>,
    fitted: usize,
    /// Whether a message was found that waits for its receiver.
    is_found: bool,
}

/// Returns the times of a message, in ps, in the order of the file.
fn times(parameters: &Parameters) -> [u64; 5] {
    [
        parameters.latency_ps,
        parameters.overhead_ps,
        parameters.gap_ps,
        parameters.gap_per_byte_ps,
        parameters.overhead_per_byte_ps,
    ]
}

impl Found {
    /// Estimates the parameters: the shortest time of each block, as noise only lengthens, and which the simulation adds
    /// itself; of these the median over the blocks, as one lucky time says little.
    ///
    /// # Errors
    /// A measured time is not positive.
    pub(super) fn new(
        series: &Series,
        through: &str,
        last: u32,
        hosts: [String; 2],
    ) -> Result<Self, Problem> {
        let (fitted, eager) = (series.fitted, series.search.eager_bytes());
        let of_size = |place| series.blocks.iter().map(|block| block[place]).collect::<Vec<_>>();
        let medians: Vec<SizeTimes> = (0..series.sizes.len())
            .filter_map(|place| SizeTimes::median(&of_size(place)))
            .collect();
        let measured = estimate(&medians[..fitted], MESSAGES, eager)?;
        let mut spread: [Vec<u64>; 5] = Default::default();
        for block in &series.blocks {
            let found = estimate(&block[..fitted], MESSAGES, eager)?.parameters;
            spread.iter_mut().zip(times(&found)).for_each(|(all, ps)| all.push(ps));
        }
        let quartiles = spread.map(|mut all| {
            all.sort_unstable();
            [all[all.len() / 4], all[all.len() - 1 - all.len() / 4]]
        });
        let costs = medians.iter().map(|times| times.costs(MESSAGES)).collect();
        let (through, is_found) = (through.to_owned(), series.search.is_found());
        Ok(Self { through, last, hosts, measured, quartiles, costs, fitted, is_found })
    }

    /// Returns what was measured, in one line.
    fn heading(&self) -> String {
        let [first, other] = &self.hosts;
        let place = match first == other {
            true => format!("both on {first}"),
            false => format!("on {first} and {other}"),
        };
        let asleep = match self.last {
            1 => String::new(),
            _ => ", the ranks between them slept".to_owned(),
        };
        format!("{} · rank 0 and rank {}, {place}{asleep}", self.through, self.last)
    }

    /// Returns what S means.
    fn eager(&self) -> String {
        let bytes = self.measured.parameters.eager_bytes;
        match self.is_found {
            true => format!("S {bytes}: a send of {} bytes waits for its receiver", bytes + 1),
            false => {
                format!("S {bytes}: the longest message measured; no send waited for its receiver")
            }
        }
    }

    /// Returns how far the one-way times are from the predicted ones: at most, at sizes that were fitted, at others up to S,
    /// and beyond.
    fn fit(&self) -> String {
        let parameters = &self.measured.parameters;
        let mut most = [0.0_f64; 3];
        for (place, costs) in self.costs.iter().enumerate() {
            let is_longer = costs.bytes > self.costs[self.fitted - 1].bytes;
            let group = usize::from(place >= self.fitted) + usize::from(is_longer);
            let off = costs.one_way_ns / parameters.costs(costs.bytes).one_way_ns - 1.0;
            most[group] = most[group].max(off.abs());
        }
        let [fitted, others, longer] = most.map(|off| format!("{:.1} %", 100.0 * off));
        let beyond =
            match self.costs.iter().any(|costs| costs.bytes > self.costs[self.fitted - 1].bytes) {
                true => format!(", {longer} at longer ones"),
                false => String::new(),
            };
        format!(
            "one-way times differ by up to {fitted} at fitted sizes, {others} at others in between{beyond}"
        )
    }

    /// Returns the file that `anechoic simulate --params` reads.
    pub(super) fn file(&self) -> String {
        let mut text = String::from("# LogGOPS parameters, measured by anechoic-mpi network\n");
        let _ = writeln!(text, "# {}", self.heading());
        let _ = writeln!(text, "# {}", method());
        let _ = writeln!(text, "# Fit: {}", self.fit());
        self.measured.notes.iter().for_each(|note| {
            let _ = writeln!(text, "# {note}");
        });
        let lines = self.measured.parameters.lines();
        for (line, [low, high]) in lines.lines().zip(self.quartiles) {
            let _ =
                writeln!(text, "{line} # middle half of the blocks: {} to {}", ns(low), ns(high));
        }
        let _ = writeln!(text, "S {} # {}", self.measured.parameters.eager_bytes, self.eager());
        text
    }

    /// Returns the screen.
    pub(super) fn screen(&self, output: Option<&Path>) -> String {
        let mut text = format!("{}\n{}\n\n", self.heading(), method());
        let _ = writeln!(text, "                             ns   middle half of the blocks");
        let found = times(&self.measured.parameters);
        for (((name, what), ps), [low, high]) in NAMES.iter().zip(found).zip(self.quartiles) {
            let _ = writeln!(text, " {name}  {what:18} {:>9}   {} … {}", ns(ps), ns(low), ns(high));
        }
        let _ = writeln!(text, " {}\n", self.eager());
        let _ = writeln!(text, "          gap, ns             overhead, ns        one way, ns");
        let _ =
            writeln!(text, "   bytes  measured predicted  measured predicted  measured predicted");
        let mut rows: Vec<(usize, &SizeCosts)> = self.costs.iter().enumerate().collect();
        rows.sort_by_key(|(_, costs)| costs.bytes);
        for (place, costs) in rows {
            let expected = self.measured.parameters.costs(costs.bytes);
            let mark = if place < self.fitted { ' ' } else { '*' };
            let _ = writeln!(
                text,
                "{mark}{:>7}  {:>8.0} {:>9.0}  {:>8.0} {:>9.0}  {:>8.0} {:>9.0}",
                costs.bytes,
                costs.gap_ns,
                expected.gap_ns,
                costs.overhead_ns,
                expected.overhead_ns,
                costs.one_way_ns,
                expected.one_way_ns
            );
        }
        let _ = writeln!(text, "* not used for the fit\n\nFit: {}.", self.fit());
        self.measured.notes.iter().for_each(|note| {
            let _ = writeln!(text, "Note: {note}");
        });
        let _ = match output {
            Some(path) => {
                writeln!(text, "Written to {0}: anechoic simulate --params {0}", path.display())
            }
            None => writeln!(
                text,
                "Nothing was written: name a file with -o, for anechoic simulate --params FILE"
            ),
        };
        text
    }
}

/// Returns how the times were measured.
fn method() -> String {
    format!(
        "{BLOCKS} blocks of {REPETITIONS} round trips and of trains of {MESSAGES} messages: the shortest time of a block, the median of blocks"
    )
}

/// Writes ps as ns.
fn ns(ps: u64) -> String {
    match ps {
        0 => "0".to_owned(),
        1..10_000 => format!("{:.3}", ps as f64 / 1e3),
        _ => format!("{:.0}", ps as f64 / 1e3),
    }
}
