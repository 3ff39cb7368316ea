//! What each source of a recording looks like: the colour of its kind, and a shape of its own.

use crate::html::Part;
use crate::names::source_name;
use crate::palette::{self, Color};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::timeline::Timeline;
use std::cmp::Reverse;
use std::collections::HashMap;

/// One source.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub source: String,
    pub name: String,
    /// As people call it.
    pub label: String,
    /// That of its kind.
    pub color: Color,
    /// Which of its kind it is, by time.
    pub shape: usize,
    /// Its number in the timeline.
    pub number: usize,
}

/// The sources of a timeline, the most time first.
pub(super) fn of_timeline(timeline: &Timeline, run: &Facts) -> Vec<Look> {
    let mut order: Vec<usize> =
        (0..timeline.sources.len()).filter(|&at| timeline.charged[at].count > 0).collect();
    order.sort_by_key(|&at| (Reverse(timeline.charged[at].sum_ns), at));
    let mut kinds: HashMap<&str, usize> = HashMap::new();
    let look = |number: usize| {
        let source = &timeline.sources[number];
        let of_kind = kinds.entry(&source.source).or_insert(0);
        let shape = *of_kind;
        *of_kind += 1;
        Look {
            source: source.source.to_string(),
            name: source.name.to_string(),
            label: label(&source.source, &source.name, run),
            color: palette::of_source(&source.source),
            shape,
            number,
        }
    };
    order.into_iter().map(look).collect()
}

/// The sources of a recording; none without a timeline.
pub(super) fn of(part: &Part) -> Vec<Look> {
    let facts = part.facts();
    part.timeline.as_ref().map_or(vec![], |timeline| of_timeline(timeline, &facts))
}

/// Colour and shape of a source, as in the timeline.
pub(super) fn find(looks: &[Look], source: &str, name: &str) -> (Color, usize) {
    let look = looks.iter().find(|look| look.source == source && look.name == name);
    look.map_or((palette::of_source(source), 0), |look| (look.color, look.shape))
}

fn label(source: &str, name: &str, run: &Facts) -> String {
    if source.is_empty() { "cause not known".into() } else { source_name(source, name, run) }
}
