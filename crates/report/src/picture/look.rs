//! The look of a source of noise in a picture.

use crate::palette::Color;

/// The look of one source.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub source: String,
    pub name: String,
    /// Readable name of the source.
    pub label: String,
    /// Colour: a shade of that of its kind, for the source with the most time that colour itself.
    pub color: Color,
    /// Shape, from its rank by time among the sources with the same colour.
    pub shape: usize,
    /// Number in the timeline.
    pub number: usize,
}
