//! The look of each source of a recording: a shade of the colour of its kind, and a shape.

use crate::names::source_name;
use crate::page::Part;
use crate::palette::{self, Color};
use crate::picture::svg::key;
use crate::picture::{Draw, Look};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::timeline::Timeline;
use maud::Markup;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Returns the looks of the sources of a timeline, sorted by decreasing time.
pub(super) fn from_timeline(timeline: &Timeline, run: &Facts) -> Vec<Look> {
    let mut order: Vec<usize> =
        (0..timeline.sources.len()).filter(|&at| timeline.charged[at].count > 0).collect();
    order.sort_by_key(|&at| (Reverse(timeline.charged[at].sum_ns), at));
    let mut alike: HashMap<&str, usize> = HashMap::new();
    let mut looks = vec![];
    for number in order {
        let source = &timeline.sources[number];
        let color = palette::source_color(&source.source);
        let used = alike.entry(color.name).or_insert(0);
        let place = *used;
        *used += 1;
        looks.push(Look {
            source: source.source.to_string(),
            name: source.name.to_string(),
            label: label(&source.source, &source.name, run),
            color: palette::shade(color, place),
            shape: palette::pattern(place),
            number,
        });
    }
    looks
}

/// Returns the looks of the sources of a recording; none without a timeline.
pub(super) fn from_part(part: &Part) -> Vec<Look> {
    let known = part.get::<Timeline>().zip(part.facts());
    known.map_or(vec![], |(timeline, facts)| from_timeline(timeline, &facts))
}

/// Returns colour and shape of a source, as in the timeline.
pub(super) fn find(looks: &[Look], source: &str, name: &str) -> (Color, usize) {
    let look = looks.iter().find(|look| look.source == source && look.name == name);
    look.map_or((palette::source_color(source), 0), |look| (look.color, look.shape))
}

/// Returns the symbol of a source.
pub(super) fn swatch(color: Color, number: usize) -> Markup {
    key(color, number, Draw::Points)
}

fn label(source: &str, name: &str, run: &Facts) -> String {
    if source.is_empty() { "unknown cause".into() } else { source_name(source, name, run) }
}
