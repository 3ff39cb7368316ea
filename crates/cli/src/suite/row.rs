//! The row of a suite, its sets, and what was measured of them.

use crate::exit;
use crate::progress::Busy;
use crate::setup::plan;
use anechoic_measure::experiment::{Experiment, Host};
use anechoic_measure::inject::Injection;
use anechoic_measure::methods;
use anechoic_measure::run::Plan;
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Problem, ProblemKind, Recording, Run};
use anechoic_report::results::suite::SUITE;
use anechoic_report::results::{AnyRow, Found, Input};
use anechoic_report::{Study, Style, View};
use anechoic_system::cpus;
use std::path::PathBuf;

/// How much a page and JSON show, whatever the terminal.
pub(super) const WHOLE: View<'_> =
    View { style: Style { color: false }, width: 120, all: true, path: None };

/// The experiments of a paper.
#[derive(Debug)]
pub(super) struct Suite {
    /// The name on the command line.
    pub id: &'static str,
    /// What it asks, in one line.
    pub about: &'static str,
    /// What a user must know in addition; may be empty.
    pub details: &'static str,
    /// Example command lines, one per line, indented by two spaces.
    pub examples: &'static str,
    /// Its own options.
    pub options: &'static [OptionRow],
    /// Whether it measures a single CPU unless the user names several.
    pub one_cpu: bool,
    /// What is computed of its sets, by their method.
    pub results: &'static [Wanted],
    /// Returns its sets in the order in which they are measured.
    pub sets: fn(&Answers, &Host) -> Result<Vec<Set>, Problem>,
    /// Puts what was measured beside what was published.
    pub study: fn(&[Done], &View<'_>) -> Study,
}

impl Suite {
    /// Returns what is computed of recordings of this method, if the suite has such sets.
    pub(super) fn result(&self, method: &str) -> Option<&'static Wanted> {
        self.results.iter().find(|wanted| wanted.method == method)
    }

    /// Puts what was measured beside what was published, with what is lacking and why sets are doubtful.
    pub(super) fn studied(&self, done: &[Done], lacking: Vec<String>, view: &View<'_>) -> Study {
        let sets = done.iter().map(|done| (done.name.as_str(), &done.found));
        (self.study)(done, view).lacking(lacking).with_sets(sets)
    }

    /// Returns that as a result.
    pub(super) fn result_of(&self, done: &[Done], lacking: Vec<String>, view: &View<'_>) -> Found {
        Found::from_value(&SUITE, self.studied(done, lacking, view), &[])
    }

    /// Returns the CPUs that are measured unless the user names others.
    pub(super) fn usual_cpus(&self) -> Vec<u32> {
        let allowed = cpus::allowed();
        if self.one_cpu { allowed.last().copied().into_iter().collect() } else { allowed }
    }
}

/// The result that a suite needs of its sets of one method.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The method.
    pub method: &'static str,
    /// The result.
    pub row: &'static dyn AnyRow,
    /// The options of a prediction; all others have their defaults.
    pub options: &'static [(&'static str, &'static str)],
}

impl Wanted {
    /// A result with the defaults of all its options.
    pub(super) const fn usual(method: &'static str, row: &'static dyn AnyRow) -> Self {
        Self { method, row, options: &[] }
    }

    /// Returns whether the page of a recording has this result of it.
    pub(super) fn is_usual(&self) -> bool {
        self.options.is_empty()
    }

    /// Computes it of a recording.
    ///
    /// # Errors
    /// The recording does not contain what it needs.
    pub(super) fn compute(&self, recording: &Recording) -> Result<Found, Problem> {
        if self.is_usual() {
            return self.row.compute(&Input::from_recordings(&[recording]));
        }
        let known = self.row.model().map_or(&[][..], |model| model.options);
        let answers = Answers::read(known, self.options)?;
        self.row.compute(&Input { answers: Some(&answers), ..Input::from_recordings(&[recording]) })
    }
}

/// A set of a suite: one recording.
#[derive(Debug, Clone)]
pub(super) struct Set {
    /// The name of its directory.
    pub name: String,
    /// What is measured.
    pub plan: Plan,
}

impl Set {
    /// Returns a set that measures this experiment with kernel events.
    pub(super) fn new(name: impl Into<String>, experiment: Experiment) -> Self {
        Self { name: name.into(), plan: plan(experiment) }
    }

    /// Returns a set of a method with these options, as a user would type them.
    ///
    /// # Errors
    /// The method refuses them.
    pub(super) fn from_method(
        name: impl Into<String>,
        method: &str,
        options: &[(&'static str, String)],
        host: &Host,
    ) -> Result<Self, Problem> {
        let method = methods::find(method).ok_or_else(|| {
            let why = format!("there is no method '{method}'");
            ProblemKind::Usage.problem(why, "`anechoic measure --help` lists the methods")
        })?;
        let options: Vec<_> = options.iter().map(|(name, text)| (*name, &text[..])).collect();
        Ok(Self::new(name, method.with(&options, host)?))
    }

    /// Returns the same with this noise in each cell. It may be on every CPU: disturbing them is what such a set is for.
    ///
    /// # Errors
    /// The noise cannot be injected here.
    pub(super) fn disturbed(mut self, noise: &Injection) -> Result<Self, Problem> {
        noise.check(true)?;
        for cell in &mut self.plan.experiment.cells {
            cell.noise = Some(noise.clone());
        }
        Ok(self)
    }
}

/// A set that was measured.
#[derive(Debug)]
pub(super) struct Done {
    /// The name of the set: that of its directory.
    pub name: String,
    /// Its result.
    pub found: Found,
    /// The run of its recording.
    pub run: Run,
    /// The directory of its recording.
    pub dir: PathBuf,
}

impl Done {
    /// Returns the result of a recording.
    pub(super) fn new(recording: &Recording, found: Found) -> Self {
        let (run, dir) = (recording.run().clone(), recording.dir().to_owned());
        Self { name: set_name(recording), found, run, dir }
    }
}

/// The sets that exist, what is wrong with the others, and the exit code of that.
#[derive(Default)]
pub(super) struct Results {
    /// The sets with their results.
    pub done: Vec<Done>,
    /// What is missing, damaged, not complete or left out, in whole sentences.
    pub lacking: Vec<String>,
    /// The exit code of it; 0 if nothing is lacking.
    pub worst: u8,
}

impl Results {
    /// Leaves out a set of which there is no result, and prints why.
    pub(super) fn left_out(&mut self, name: &str, why: &Problem) {
        self.worst = self.worst.max(exit::print_error(why));
        self.lacking.push(left_out(name, &why.to_string()));
    }
}

/// States that a set is left out and why.
pub(super) fn left_out(name: &str, why: &str) -> String {
    format!("{name} is left out: {}.", why.trim_end_matches('.'))
}

/// Computes the result of a set.
pub(super) fn add_up(suite: &Suite, recording: &Recording, quiet: bool) -> Result<Done, Problem> {
    let _busy = Busy::with("adding up", quiet);
    let wanted = suite.result(&recording.run().method).ok_or_else(|| {
        let why = format!("it is a recording of {}", recording.run().method);
        ProblemKind::Usage
            .problem(why, "name the directory of that suite")
            .about(recording.dir().display())
    })?;
    Ok(Done::new(recording, wanted.compute(recording)?))
}

/// Returns the results of this type.
pub(super) fn results_of_type<T: Clone + 'static>(done: &[Done]) -> Vec<T> {
    done.iter().filter_map(|done| done.found.get()).cloned().collect()
}

/// Returns the name of a set: that of its directory.
pub(super) fn set_name(recording: &Recording) -> String {
    recording.dir().file_name().unwrap_or_default().to_string_lossy().into_owned()
}
