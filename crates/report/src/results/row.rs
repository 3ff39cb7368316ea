//! The row of a result, and what rows have in common regardless of the type of their result.

use super::described::{Described, Grouping, Methods, Section};
use super::found::{Finding, Found};
use super::input::Input;
use super::model::Model;
use crate::screen::Screen;
use crate::style::View;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use std::any::Any;
use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::Arc;

/// A function that computes a result of type `T`.
pub type Compute<T> = fn(&Input<'_>) -> Result<T, Problem>;

/// Returns the verdict of a result of samples: whether there are any, and whether all recordings are sound.
pub(super) fn samples_verdict(measured: bool, recordings: &[&Recording]) -> Verdict {
    let sound = recordings.iter().all(|recording| recording.run().is_sound());
    match (measured, sound) {
        (false, _) => Verdict::Nothing,
        (true, true) => Verdict::Good,
        (true, false) => Verdict::Warning,
    }
}

/// Returns whether a run has ended as planned without losing detours.
pub(super) fn is_whole(recording: &&Recording) -> bool {
    let run = recording.run();
    run.state == RunState::Complete && run.cpus.iter().all(|cpu| cpu.lost_detours == 0)
}

/// The row of a result of type `T`.
pub struct Row<T: 'static> {
    /// Its identifier; its schema is `schema/IDENTIFIER.schema.json`.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Which recordings one result is computed from.
    pub grouping: Grouping,
    /// The methods for which `anechoic summary` shows it.
    pub in_summary: Methods,
    /// The methods for which a report computes it.
    pub in_report: Methods,
    /// The section of a page that shows its screen, if it has one.
    pub section: Option<Section>,
    /// Identifiers of the results that it is computed from; without them it is skipped.
    pub needs: &'static [&'static str],
    /// Computes it; absent if it is only obtained while measuring.
    pub compute: Option<Compute<T>>,
    /// Returns its verdict, given the recordings that it was computed from.
    pub verdict: fn(&T, &[&Recording]) -> Verdict,
    /// Returns what was found in sentences, of which the first is the headline.
    pub headline: fn(&T) -> Vec<String>,
    /// Returns the facts of the run, if the result has them.
    pub facts: fn(&T) -> Option<&Facts>,
    /// Whether its screen itself states what makes recordings doubtful.
    pub states_doubts: bool,
    /// Whether `anechoic summary --json` prints it; not where the documents of the recordings have its numbers.
    pub in_json: bool,
    /// Its screen and its JSON; absent if only a report shows it.
    pub print: Option<Print<T>>,
    /// Its subcommand of `anechoic predict`, if it has one.
    pub model: Option<Model>,
}

/// How a result of type `T` is printed.
pub struct Print<T: 'static> {
    screen: fn(&T, &View<'_>) -> Screen,
    json: fn(&T, &mut dyn Write) -> io::Result<()>,
    schema: fn() -> Option<String>,
}

impl<T: Serialize + JsonSchema> Print<T> {
    /// Prints a result by this screen, and as JSON of its type.
    pub const fn with(screen: fn(&T, &View<'_>) -> Screen) -> Self {
        Self { screen, json: |value, out| crate::json(value, out), schema: schema::<T> }
    }
}

/// Returns the schema of a type. Only the tests of this crate ask for it, and a command without it is 1 MB smaller, so the
/// feature is off where the crate is built for another one.
fn schema<T: JsonSchema>() -> Option<String> {
    if !cfg!(feature = "schemas") {
        return None;
    }
    let schema = serde_json::to_string_pretty(&schema_for!(T)).expect("a schema is plain JSON");
    Some(schema + "\n")
}

/// A row, independent of the type of its result.
pub trait AnyRow: Described {
    /// Returns its subcommand of `anechoic predict`, if it has one.
    fn model(&self) -> Option<&Model>;
    /// Returns the JSON Schema of the output of `--json`, if it can be printed and the feature `schemas` is on.
    fn schema(&self) -> Option<String>;
    /// Computes the result.
    ///
    /// # Errors
    /// The recordings do not contain what it needs.
    fn compute(&'static self, input: &Input<'_>) -> Result<Found, Problem>;
}

impl<T> Debug for Row<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Row").field(&self.id).finish()
    }
}

impl<T: Debug + Any + Send + Sync> Described for Row<T> {
    fn id(&self) -> &'static str {
        self.id
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn grouping(&self) -> Grouping {
        self.grouping
    }

    fn in_summary(&self) -> Methods {
        self.in_summary
    }

    fn in_report(&self) -> Methods {
        self.in_report
    }

    fn section(&self) -> Option<Section> {
        self.section
    }

    fn needs(&self) -> &'static [&'static str] {
        self.needs
    }

    fn states_doubts(&self) -> bool {
        self.states_doubts
    }

    fn in_json(&self) -> bool {
        self.in_json
    }
}

impl<T: Debug + Any + Send + Sync> AnyRow for Row<T> {
    fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    fn schema(&self) -> Option<String> {
        self.print.as_ref().and_then(|print| (print.schema)())
    }

    fn compute(&'static self, input: &Input<'_>) -> Result<Found, Problem> {
        let compute = self.compute.ok_or_else(|| {
            ProblemKind::Usage
                .problem(
                    "this result is not computed from recordings",
                    "`anechoic --help` lists its command",
                )
                .about(self.title)
        })?;
        Ok(Found::from_value(self, compute(input)?, input.recordings))
    }
}

impl<T> Row<T> {
    /// Returns a row without a computation, whose verdict is always `Good`.
    pub(super) const fn new(id: &'static str, title: &'static str, grouping: Grouping) -> Self {
        Self {
            id,
            title,
            grouping,
            in_summary: Methods::None,
            in_report: Methods::None,
            section: None,
            needs: &[],
            compute: None,
            verdict: |_, _| Verdict::Good,
            headline: |_| vec![],
            facts: |_| None,
            states_doubts: false,
            in_json: true,
            print: None,
            model: None,
        }
    }
}

impl Found {
    /// Returns a result of this row that was computed from these recordings.
    pub fn from_value<T: Debug + Any + Send + Sync>(
        row: &'static Row<T>,
        value: T,
        recordings: &[&Recording],
    ) -> Self {
        let wrong_rate = recordings.iter().any(|recording| recording.run().clock.rate_is_wrong());
        let least = if wrong_rate { Verdict::Warning } else { Verdict::Good };
        let verdict = (row.verdict)(&value, recordings).max(least);
        Self::new(Arc::new(Valued { row, value }), verdict, recordings)
    }
}

/// A result with its row.
#[derive(Debug)]
struct Valued<T: 'static> {
    row: &'static Row<T>,
    value: T,
}

impl<T: Debug + Any + Send + Sync> Finding for Valued<T> {
    fn row(&self) -> &'static dyn Described {
        self.row
    }

    fn value(&self) -> &dyn Any {
        &self.value
    }

    fn headline(&self) -> Vec<String> {
        (self.row.headline)(&self.value)
    }

    fn facts(&self) -> Option<&Facts> {
        (self.row.facts)(&self.value)
    }

    fn screen(&self, view: &View<'_>) -> Screen {
        self.row
            .print
            .as_ref()
            .map_or_else(Screen::default, |print| (print.screen)(&self.value, view))
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.row.print.as_ref().map_or(Ok(()), |print| (print.json)(&self.value, out))
    }
}
