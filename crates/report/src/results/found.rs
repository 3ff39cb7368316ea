//! Results that were found, each with its row.

use super::row::{AnyRow, Row};
use crate::screen::Screen;
use crate::style::View;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::Recording;
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
    /// A result of this row, made from these recordings.
    pub fn of<T: Debug + Any + Send + Sync>(
        row: &'static Row<T>,
        value: T,
        recordings: &[&Recording],
    ) -> Self {
        let verdict = (row.verdict)(&value, recordings);
        Self { value: Arc::new(Valued { row, value }), verdict }
    }

    /// Its row.
    #[must_use]
    pub fn row(&self) -> &'static dyn AnyRow {
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
trait Finding: Debug + Send + Sync {
    fn row(&self) -> &'static dyn AnyRow;
    fn value(&self) -> &dyn Any;
    fn headline(&self) -> Vec<String>;
    fn facts(&self) -> Option<&Facts>;
    fn screen(&self, view: &View<'_>) -> Screen;
    fn json(&self, out: &mut dyn Write) -> io::Result<()>;
}

#[derive(Debug)]
struct Valued<T: 'static> {
    row: &'static Row<T>,
    value: T,
}

impl<T: Debug + Any + Send + Sync> Finding for Valued<T> {
    fn row(&self) -> &'static dyn AnyRow {
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
        self.row.screen(&self.value, view)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.row.json(&self.value, out)
    }
}
