//! Computed results, each with its row.

use super::described::Described;
use crate::screen::Screen;
use crate::style::View;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::Recording;
use std::any::Any;
use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::Arc;

/// The first sentence of what was computed from recordings of an emulated processor.
const EMULATED: &str = "The processor was emulated in software: times, and all that is computed from them, mean nothing.";

/// A computed result and its row.
#[derive(Debug, Clone)]
pub struct Found {
    value: Arc<dyn Finding>,
    verdict: Verdict,
    /// Whether a processor that it was measured on was emulated in software.
    emulated: bool,
}

impl Found {
    /// Returns a result of these recordings with its verdict.
    pub(super) fn new(
        value: Arc<dyn Finding>,
        verdict: Verdict,
        recordings: &[&Recording],
    ) -> Self {
        let emulated = recordings.iter().any(|recording| recording.run().machine.is_emulated());
        Self { value, verdict, emulated }
    }

    /// Returns its row.
    #[must_use]
    pub fn row(&self) -> &'static dyn Described {
        self.value.row()
    }

    /// Returns its verdict, which decides the exit code.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns the result itself, if it has this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.value.value().downcast_ref()
    }

    /// Returns what was found in sentences, of which the first is the headline.
    #[must_use]
    pub fn headline(&self) -> Vec<String> {
        let mut sentences = self.value.headline();
        if self.emulated {
            sentences.insert(0, EMULATED.to_owned());
        }
        sentences
    }

    /// Returns the facts of the run, if the result has them.
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        self.value.facts()
    }

    /// Returns its screen.
    #[must_use]
    pub fn screen(&self, view: &View<'_>) -> Screen {
        let mut screen = self.value.screen(view);
        if self.emulated && !self.row().states_doubts() {
            screen.open_with(EMULATED);
        }
        screen
    }

    /// Writes the result as JSON.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.value.json(out)
    }
}

/// Results of the same recordings, in the order in which they were computed.
#[derive(Debug, Clone, Default)]
pub struct Findings(Vec<Found>);

impl Findings {
    /// Adds a result.
    pub fn add(&mut self, found: Found) {
        self.0.push(found);
    }

    /// Returns the result of this type, if there is one.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(Found::get)
    }

    /// Returns whether there is a result with this identifier.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.iter().any(|found| found.row().id() == id)
    }

    /// Returns an iterator over all results.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Found> {
        self.0.iter()
    }
}

/// A result with its row, independent of its type.
pub(super) trait Finding: Debug + Send + Sync {
    fn row(&self) -> &'static dyn Described;
    fn value(&self) -> &dyn Any;
    fn headline(&self) -> Vec<String>;
    fn facts(&self) -> Option<&Facts>;
    fn screen(&self, view: &View<'_>) -> Screen;
    fn json(&self, out: &mut dyn Write) -> io::Result<()>;
}
