//! Configurations ranked by their noise.

use super::described::Grouping;
use super::row::{Print, Row};
use crate::rank::sentences;
use anechoic_analyze::rank::Ranking;

/// The row of the result. It is computed from groups of recordings, so its command computes it.
pub static RANK: Row<Ranking> = Row {
    headline: sentences,
    print: Some(Print::with(crate::rank)),
    ..Row::new("rank", "whose noise is lowest", Grouping::Live)
};
