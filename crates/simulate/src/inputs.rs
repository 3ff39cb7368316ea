//! What is read before anything is simulated.

use crate::ask::Ask;
use crate::given::Given;
use crate::mpi_trace::TracedFacts;
use crate::work::Work;
use anechoic_predict::phases::SourceFacts;
use anechoic_recording::Problem;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// What is read before anything is simulated.
pub(crate) struct Inputs {
    pub(crate) work: Work,
    pub(crate) traced: Option<TracedFacts>,
    pub(crate) given: Option<Given>,
    pub(crate) notes: Vec<String>,
}

impl Inputs {
    /// Reads the job and the noise.
    ///
    /// # Errors
    /// The schedule or the noise cannot be read or does not fit.
    pub(crate) fn read(ask: &Ask, noise: &[PathBuf]) -> Result<Self, Problem> {
        let (work, traced) = Work::read(ask)?;
        let mut notes = traced.as_ref().map_or(vec![], TracedFacts::notes);
        let (given, more) = Given::read(ask, noise)?;
        notes.extend(more);
        if let Some(given) = &given {
            given.check(ask, &work.size())?;
        }
        Ok(Self { work, traced, given, notes })
    }

    /// Returns digests of all that decides about results, by which ranks find out whether they have the same.
    pub(crate) fn digests(&self, ask: &Ask) -> [(&'static str, u64); 4] {
        let sources = self.given.as_ref().map_or(vec![], |given| given.sources(ask));
        let sources: Vec<SourceFacts> = sources.into_iter().map(|(_, facts)| facts).collect();
        [
            ("options, or files of parameters or latencies,", digest(&format!("{ask:?}"))),
            ("a schedule", digest(&self.work.schedule())),
            ("noise", digest(&self.given.as_ref().and_then(Given::recorded))),
            ("sources of noise", digest(&format!("{sources:?}"))),
        ]
    }
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
