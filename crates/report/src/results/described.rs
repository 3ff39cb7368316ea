//! The properties of a result that are known before it is computed.

pub use crate::screen::Section;
use anechoic_recording::methods;
use std::fmt::Debug;

/// The recordings that one result is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// One recording.
    Each,
    /// The recordings of all hosts of a job.
    Job,
    /// The recordings of several hosts.
    Hosts,
    /// The recordings of repeated runs.
    Runs,
    /// Any recordings, which are only listed.
    Listed,
    /// None: the result is computed together with another one.
    Beside,
    /// None: the result is obtained while measuring.
    Live,
}

/// A set of methods of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Methods {
    /// No method.
    None,
    /// These methods.
    Only(&'static [&'static str]),
    /// The recording of a program whose iterations are marked.
    Marked,
    /// The methods that no other result names, except for several hosts together.
    Others,
    /// All methods but these.
    Except(&'static [&'static str]),
    /// All methods.
    All,
}

impl Methods {
    /// Returns whether the set has this method. One that is known only beside other results has every method.
    #[must_use]
    pub fn include(self, method: &str) -> bool {
        match self {
            Methods::Only(methods) => methods.contains(&method),
            Methods::Except(methods) => !methods.contains(&method),
            Methods::Marked => method == methods::PROGRAM,
            Methods::None | Methods::Others | Methods::All => true,
        }
    }
}

/// The properties of a result that are known before it is computed.
pub trait Described: Debug + Sync {
    /// Returns the identifier of the result.
    fn id(&self) -> &'static str;
    /// Returns the title of the result.
    fn title(&self) -> &'static str;
    /// Returns which recordings one result is computed from.
    fn grouping(&self) -> Grouping;
    /// Returns the methods for which `anechoic summary` shows the result.
    fn in_summary(&self) -> Methods;
    /// Returns the methods for which a report computes the result.
    fn in_report(&self) -> Methods;
    /// Returns the section of a page that shows its screen, if it has one.
    fn section(&self) -> Option<Section>;
    /// Returns the identifiers of the results that it is computed from.
    fn needs(&self) -> &'static [&'static str];
    /// Returns whether its screen itself states what makes recordings doubtful.
    fn states_doubts(&self) -> bool;
    /// Returns whether `anechoic summary --json` prints it; not where the documents of the recordings have its numbers.
    fn in_json(&self) -> bool;
}
