//! What is known of a result before it is computed.

use std::fmt::Debug;

/// Which recordings one result is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// One.
    Each,
    /// Those of all hosts of a job.
    Job,
    /// Those of several hosts.
    Hosts,
    /// Those of a run that was repeated.
    Runs,
    /// None: it is found beside another result.
    Beside,
    /// None: it is found while measuring.
    Live,
}

/// Methods of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Methods {
    /// None.
    None,
    /// These.
    Only(&'static [&'static str]),
    /// Those that no other result of its kind names.
    Others,
    /// All of them.
    All,
}

/// What is known of a result before it is computed: what it is, what it is made from, and who shows it.
pub trait Described: Debug + Sync {
    /// Its identifier.
    fn id(&self) -> &'static str;
    /// What it is, in a few words.
    fn title(&self) -> &'static str;
    /// Which recordings one result is made from.
    fn grouping(&self) -> Grouping;
    /// The methods whose recordings `anechoic summary` shows by it.
    fn in_summary(&self) -> Methods;
    /// The methods for whose recordings a report computes it.
    fn in_report(&self) -> Methods;
    /// Identifiers of the results that it is made from.
    fn needs(&self) -> &'static [&'static str];
    /// Whether a report has sections of its own for it; else one shows its screen.
    fn has_sections(&self) -> bool;
}
