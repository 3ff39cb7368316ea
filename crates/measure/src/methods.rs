//! The methods that take samples; each has a file and a row.
//!
//! A method turns the given options into the cells of an [`Experiment`]. Its command line, help and errors
//! follow from its row; everything else (calibration, stopping rule, gaps, kernel events, storage) is done by
//! [`crate::run`].

pub mod bsp;
pub mod detours;
mod frame;
mod ftq;
mod fwq;
pub mod interference;
mod loops;
mod memory;
mod pace;
mod paging;
mod serial;
mod switch;
mod tick;
pub mod wakeup;

use crate::experiment::{Experiment, Host};
use anechoic_recording::Problem;
use anechoic_recording::options::{Answers, OptionRow};

/// A method that takes samples.
#[derive(Debug)]
pub struct Method {
    /// The name on the command line and in recordings.
    pub id: &'static str,
    /// The name in words.
    pub title: &'static str,
    /// The publication that describes it.
    pub source: &'static str,
    /// What the method measures, in one line.
    pub about: &'static str,
    /// What a user must know in addition; may be empty.
    pub details: &'static str,
    /// Example command lines, one per line, indented by two spaces.
    pub examples: &'static str,
    /// The options: its own, and those that it shares with other methods.
    pub options: &'static [&'static [OptionRow]],
    /// Whether it measures a single CPU.
    pub one_cpu: bool,
    /// Why the method needs kernel events, if it does.
    pub needs_events: Option<&'static str>,
    /// How the ranks of a parallel job measure it together.
    pub together: Together,
    /// Builds the experiment from the given options.
    pub experiment: fn(&Answers, &Host) -> Result<Experiment, Problem>,
    /// The result that is shown for its recordings.
    pub result: &'static str,
}

/// How the ranks of a parallel job measure a method together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Together {
    /// They do not.
    Not,
    /// The first rank of each host measures all CPUs that the ranks of that host were given, as in a run of detours.
    ByHost,
    /// Every rank measures a CPU of its own, and the ranks meet between samples.
    ByRank,
}

/// All methods.
pub static METHODS: &[&Method] = &[
    &fwq::METHOD,
    &ftq::METHOD,
    &tick::METHOD,
    &loops::METHOD,
    &interference::METHOD,
    &serial::METHOD,
    &memory::METHOD,
    &pace::METHOD,
    &paging::METHOD,
    &switch::METHOD,
    &wakeup::METHOD,
    &bsp::METHOD,
];

/// Returns the method of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Method> {
    METHODS.iter().copied().find(|method| method.id == id)
}

impl Method {
    /// A method with the usual answers: any number of CPUs, kernel events where they are to be had, no ranks, and the
    /// result of plain samples.
    const fn new(
        id: &'static str,
        experiment: fn(&Answers, &Host) -> Result<Experiment, Problem>,
    ) -> Self {
        Method {
            id,
            title: "",
            source: "",
            about: "",
            details: "",
            examples: "",
            options: &[],
            one_cpu: false,
            needs_events: None,
            together: Together::Not,
            experiment,
            result: "measured",
        }
    }

    /// Returns all options in the order of the help.
    #[must_use]
    pub fn all_options(&self) -> Vec<OptionRow> {
        self.options.iter().flat_map(|rows| rows.iter().copied()).collect()
    }

    /// Builds the experiment from options as a user would type them; all others have their defaults.
    ///
    /// # Errors
    /// Fails if an option cannot be read or the method refuses it.
    pub fn with(&self, given: &[(&str, &str)], host: &Host) -> Result<Experiment, Problem> {
        (self.experiment)(&Answers::read(&self.all_options(), given)?, host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Order, Pinning, Policy};
    use std::collections::HashSet;

    /// A host with these CPUs and nothing else known about it.
    fn host(cpus: &[u32]) -> Host {
        Host { cpus: cpus.to_vec(), machine: anechoic_system::machine::describe() }
    }

    fn usual(id: &str, given: &[(&str, &str)], cpus: &[u32]) -> Result<Experiment, String> {
        let method = find(id).expect("a method");
        method.with(given, &host(cpus)).map_err(|error| error.to_string())
    }

    #[test]
    fn every_row_makes_its_own_experiment_from_its_defaults() {
        let ids: HashSet<&str> = METHODS.iter().map(|method| method.id).collect();
        assert_eq!(ids.len(), METHODS.len(), "two methods have one name");
        let online = anechoic_system::cpus::system("online");
        for method in METHODS {
            let experiment = match method.with(&[], &host(&online[..1])) {
                Err(error) if online.len() == 1 => {
                    println!("{}: {error}", method.id); // noise needs a second CPU besides the disturbed one
                    continue;
                }
                made => made.expect(method.id),
            };
            assert_eq!(experiment.method, method.id);
            assert!(!experiment.cells.is_empty() && experiment.blocks > 0, "{}", method.id);
            assert_eq!(experiment.cpus(), &online[..1], "{}", method.id);
            let names: HashSet<_> = method.all_options().iter().map(|row| row.name).collect();
            assert_eq!(names.len(), method.all_options().len(), "{}: an option twice", method.id);
        }
    }

    #[test]
    fn cells_are_cpus_then_policies_then_kernels() {
        let given = [
            ("work", "intadd,l1load"),
            ("policy", "other,fifo"),
            ("one-by-one", ""),
            ("unpinned", ""),
        ];
        let made = usual("fwq", &given, &[500, 501]).expect("cells");
        let cell = |cell: &crate::experiment::Cell| {
            let kernel = cell.sample().expect("samples").kernel.id();
            (cell.on.cpus().to_vec(), cell.policy, kernel)
        };
        let all: Vec<_> = made.cells.iter().map(cell).collect();
        assert_eq!(all.len(), 3 * 2 * 2);
        assert_eq!(all[0], (vec![500], Policy::Other, "intadd"));
        assert_eq!(all[1], (vec![500], Policy::Other, "l1load"));
        assert_eq!(all[2], (vec![500], Policy::FIFO, "intadd"));
        assert_eq!(all[4], (vec![501], Policy::Other, "intadd"));
        assert!(made.cells[8..].iter().all(|cell| cell.on == Pinning::Anywhere));
    }

    #[test]
    fn what_makes_no_experiment_is_refused() {
        let online = anechoic_system::cpus::system("online");
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [u32], &'a str);
        let cases: &[Case<'_>] = &[
            ("ftq", &[("window", "2s"), ("duration", "1s")], &[0], "shorter than one window"),
            ("bsp", &[("duration", "9us")], &[0], "shorter than one grain"),
            ("serial", &[], &[0, 1], "this method measures only one CPU"),
            ("serial", &[("rates", "1khz,1000hz")], &[0], "cannot be computed from one rate"),
            (
                "fwq",
                &[("policy", "fifo")],
                &online,
                "--policy fifo without --one-by-one would take",
            ),
            ("bsp", &[("fifo", "")], &online, "--fifo would take every CPU"),
            ("fwq", &[("work", "none")], &[0], "is none of"),
        ];
        for (id, given, cpus, expected) in cases {
            let error = usual(id, given, cpus).expect_err(id);
            assert!(error.contains(expected), "{id} {given:?}: {error}");
        }
        let all_cpus = [("policy", "fifo"), ("all-cpus", "")];
        assert!(usual("fwq", &all_cpus, &online).is_ok());
    }

    #[test]
    fn blocks_of_the_serial_model_go_through_every_rate_for_each_number_of_copies() {
        let online = anechoic_system::cpus::system("online");
        let given = [("rates", "1khz,none,1000hz,2khz"), ("copies", "2,1,2"), ("blocks", "3")];
        let made = match usual("serial", &given, &online[..1]) {
            Err(error) if online.len() == 1 => return anechoic_lab::note::skipped(error),
            made => made.expect("an experiment"),
        };
        assert!(made.needs_events && made.blocks == 3 && made.order != Order::Listed);
        let sorts: Vec<_> = made
            .cells
            .iter()
            .filter(|cell| cell.sample().is_some_and(|sample| sample.kernel.id() == "sort"))
            .map(|cell| (cell.copies, cell.noise.as_ref().map(|noise| noise.period().as_micros())))
            .collect();
        let rates = [None, Some(1_000), Some(500)];
        let expected: Vec<_> =
            [1, 2].into_iter().flat_map(|copies| rates.map(|rate| (copies, rate))).collect();
        assert_eq!(sorts, expected);
        assert_eq!(made.injections().len(), 2);
        assert_eq!(made.cells.iter().map(|cell| cell.group).collect::<HashSet<_>>().len(), 4);
    }
}
