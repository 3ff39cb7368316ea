//! Results that were found, each with its row.

use super::described::Described;
use crate::screen::Screen;
use crate::style::View;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::injection::Verdict;
use std::any::Any;
use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::Arc;

/// A result and its row.
#[derive(Debug, Clone)]
pub struct Found {
    value: Arc<dyn Finding>,
    verdict: Verdict,
}

impl Found {
    /// A result with its row, and what it comes to.
    pub(super) fn new(value: Arc<dyn Finding>, verdict: Verdict) -> Self {
        Self { value, verdict }
    }

    /// Its row.
    #[must_use]
    pub fn row(&self) -> &'static dyn Described {
        self.value.row()
    }

    /// What it comes to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The result itself, if it is of this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.value.value().downcast_ref()
    }

    /// What was found, in sentences; the first is a headline.
    #[must_use]
    pub fn headline(&self) -> Vec<String> {
        self.value.headline()
    }

    /// What ran where, if the result knows.
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        self.value.facts()
    }

    /// Its screen.
    #[must_use]
    pub fn screen(&self, view: &View<'_>) -> Screen {
        self.value.screen(view)
    }

    /// Writes it as JSON.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.value.json(out)
    }
}

/// Results of the same recordings, in the order in which they were found.
#[derive(Debug, Clone, Default)]
pub struct Findings(Vec<Found>);

impl Findings {
    /// Adds a result.
    pub fn add(&mut self, found: Found) {
        self.0.push(found);
    }

    /// The result of this type, if there is one.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(Found::get)
    }

    /// Whether there is a result with this identifier.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.iter().any(|found| found.row().id() == id)
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Found> {
        self.0.iter()
    }
}

/// A result with its row, whatever its type is.
pub(super) trait Finding: Debug + Send + Sync {
    fn row(&self) -> &'static dyn Described;
    fn value(&self) -> &dyn Any;
    fn headline(&self) -> Vec<String>;
    fn facts(&self) -> Option<&Facts>;
    fn screen(&self, view: &View<'_>) -> Screen;
    fn json(&self, out: &mut dyn Write) -> io::Result<()>;
}
