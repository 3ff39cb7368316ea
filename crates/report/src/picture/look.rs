//! What one source of noise looks like in a picture.

use crate::palette::Color;

/// One source.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub source: String,
    pub name: String,
    /// As people call it.
    pub label: String,
    /// A shade of that of its kind: with the most time that itself.
    pub color: Color,
    /// Its number among those of the same colour, by time, gives it.
    pub shape: usize,
    /// Its number in the timeline.
    pub number: usize,
}
