//! Configurations ranked by their noise.

use super::sentences;
use crate::results::described::{Grouping, Section};
use crate::results::row::{Print, Row};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::rank::Ranking;
use anechoic_recording::Recording;

/// The row of the result. It is computed from groups of recordings, so its command computes it.
pub static RANK: Row<Ranking> = Row {
    verdict,
    headline: sentences,
    section: Some(Section { anchor: "rank", title: "Whose noise is lowest", short: "Ranking" }),
    print: Some(Print::with(super::rank)),
    ..Row::new("rank", "whose noise is lowest", Grouping::Live)
};

/// Returns `Warning` if a recording is not complete, or has lost or wrong samples.
fn verdict(_: &Ranking, recordings: &[&Recording]) -> Verdict {
    let sound = recordings.iter().all(|recording| recording.run().is_sound());
    if sound { Verdict::Good } else { Verdict::Warning }
}
