//! Colours and shapes: one look for each kind of source, and for curves by number.
//!
//! Hues are those of Okabe & Ito (2008) and of Tol's "muted" scheme, which differ for nearly all eyes; of each there
//! is one for light and one for dark paper. Shape and text always stand beside colour.

use anechoic_recording::sources;
use serde::{Serialize, Serializer};

/// A colour on light and on dark paper, as `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Color {
    /// What it is called in style sheets.
    pub name: &'static str,
    /// On light paper.
    pub light: &'static str,
    /// On dark paper.
    pub dark: &'static str,
}

impl Serialize for Color {
    /// Writes its name, which the style sheet knows.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

const fn color(name: &'static str, light: &'static str, dark: &'static str) -> Color {
    Color { name, light, dark }
}

/// The colours of sources, by the names that the catalogue of sources uses. States of the scheduler share one: they are
/// rare.
const SOURCES: [Color; 15] = [
    color("tick", "#d55e00", "#ff8b3d"),
    color("timer", "#b57a00", "#f0c04a"),
    color("softirq", "#009e73", "#33cf9f"),
    color("device", "#b8478a", "#ee8fc4"),
    color("platform", "#882255", "#d4699c"),
    color("ipi", "#3a9bd9", "#7cc8ff"),
    color("thread", "#0062a8", "#4aa3f0"),
    color("fault", "#7b3fa0", "#c08bea"),
    color("nmi", "#332288", "#a79bff"),
    color("own", "#2f8f83", "#74d6c8"),
    color("anechoic", "#6b4423", "#d3a279"),
    color("host", "#1a1d22", "#f7f9fb"),
    color("slower", "#56616f", "#c3ccd6"),
    color("unknown", "#a3a5aa", "#666972"),
    color("scheduler", "#84841f", "#cfcf5a"),
];

/// Detours without a known activity, and sources of a newer version.
const OTHER: Color = color("other", "#667085", "#a3adbb");

/// What shares one entry of a legend.
pub(crate) const MORE: Color = color("more", "#5f9c1c", "#a6d854");

/// Further shades of colours that several sources have: darker, then lighter where that can be seen.
const SHADES: [(&str, [Color; 2]); 9] = [
    ("timer", [color("timer-2", "#644300", "#7a6226"), color("timer-3", "#362500", "#f9e6b7")]),
    (
        "softirq",
        [color("softirq-2", "#00573f", "#1d7459"), color("softirq-3", "#002f23", "#adecd9")],
    ),
    ("device", [color("device-2", "#65274c", "#8c5474"), color("device-3", "#cb79aa", "#f8d2e7")]),
    (
        "platform",
        [color("platform-2", "#4b132f", "#994c70"), color("platform-3", "#bb819e", "#eec3d7")],
    ),
    ("ipi", [color("ipi-2", "#0e7c86", "#3fa9b5"), color("ipi-3", "#0b4f56", "#c5e9f7")]),
    ("thread", [color("thread-2", "#00365c", "#306a9c"), color("thread-3", "#6f7fd6", "#b7daf9")]),
    ("fault", [color("fault-2", "#442358", "#795893"), color("fault-3", "#ab84c2", "#e6d1f7")]),
    ("own", [color("own-2", "#1a4f48", "#3c6f68"), color("own-3", "#0e2b27", "#c7efe9")]),
    (
        "scheduler",
        [color("scheduler-2", "#494911", "#68682d"), color("scheduler-3", "#282809", "#ececbd")],
    ),
];

/// Curves by number.
const CURVES: [Color; 6] = [
    color("curve-1", "#0062a8", "#4aa3f0"),
    color("curve-2", "#d55e00", "#ff8b3d"),
    color("curve-3", "#009e73", "#33cf9f"),
    color("curve-4", "#b8478a", "#ee8fc4"),
    color("curve-5", "#b57a00", "#f0c04a"),
    color("curve-6", "#222222", "#f2f2f2"),
];

/// Curves that stand behind others.
pub(crate) const REST: Color = color("rest", "#8d93a0", "#8d93a0");

/// What tables are shaded with.
pub(crate) const HEAT: Color = color("heat", "#d55e00", "#ff8b3d");

/// Shapes of points; the same numbers give the patterns of lines.
pub(crate) const SHAPES: usize = 6;
/// The shape of what shares one entry of a legend: rings.
pub(crate) const SHARED: usize = SHAPES - 1;

/// The colour of a kind of source.
pub(crate) fn source_color(source: &str) -> Color {
    let name = sources::find(source).map(|known| known.color);
    SOURCES.iter().find(|color| Some(color.name) == name).map_or(OTHER, |color| *color)
}

/// The colour of a curve.
pub(crate) fn curve_color(number: usize) -> Color {
    CURVES[number % CURVES.len()]
}

/// The pattern or shape of a curve: no two of 36 have both this and the colour of another.
pub(crate) fn pattern(number: usize) -> usize {
    (number + number / CURVES.len()) % SHAPES
}

/// A colour for each of several sources of one kind, by number; the first has that of the kind.
pub(crate) fn shade(color: Color, number: usize) -> Color {
    let shades = SHADES.iter().find(|(name, _)| *name == color.name);
    let shades = shades.map_or(&[][..], |(_, shades)| &shades[..]);
    match number % (shades.len() + 1) {
        0 => color,
        shade => shades[shade - 1],
    }
}

/// The number of a curve of this colour.
pub(crate) fn curve_number(color: Color) -> Option<u8> {
    (0..).zip(CURVES).find(|(_, curve)| *curve == color).map(|(number, _)| number)
}

/// All colours, each once.
pub(crate) fn all() -> Vec<Color> {
    let mut all: Vec<Color> = SOURCES.to_vec();
    all.extend(SHADES.iter().flat_map(|(_, shades)| shades));
    all.extend(CURVES);
    all.extend([OTHER, MORE, REST]);
    all.sort_by_key(|color| color.name);
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_source_has_a_colour() {
        for source in sources::SOURCES {
            assert_ne!(source_color(source.id), OTHER, "{}", source.id);
        }
        assert_eq!(source_color("of a newer version"), OTHER);
    }

    #[test]
    fn looks_repeat_late() {
        let curves = (0..36).map(|number| (curve_color(number).name, pattern(number)));
        assert_eq!(curves.collect::<BTreeSet<_>>().len(), 36);
        let thread = source_color("thread");
        let shades: Vec<&str> = (0..4).map(|number| shade(thread, number).name).collect();
        assert_eq!(shades, ["thread", "thread-2", "thread-3", "thread"]);
        for (name, _) in SHADES {
            assert!(all().iter().any(|color| color.name == name), "{name}");
        }
        let (nmi, names) = (source_color("nmi"), all().into_iter().map(|color| color.name));
        assert_eq!(shade(nmi, 5), nmi, "a colour without shades");
        assert_eq!(names.collect::<BTreeSet<_>>().len(), all().len(), "each name once");
    }

    #[test]
    fn tables_are_shaded_alike_everywhere() {
        let style = include_str!("../assets/report.css");
        for color in [HEAT.light, HEAT.dark] {
            assert!(style.contains(&format!("--heat: {color};")), "{color}");
        }
    }

    #[test]
    fn colours_have_contrast_on_their_paper() {
        let luminance = |hex: &str| {
            let part = |start: usize| {
                let value =
                    f64::from(u8::from_str_radix(&hex[start..start + 2], 16).expect("hex")) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
        for color in all() {
            // Graphics need 3:1 (WCAG 2.2); what is not known may be fainter.
            let least = if color.name == "unknown" { 2.2 } else { 3.0 };
            let (light, dark) = (luminance(color.light), luminance(color.dark));
            assert!(contrast(light, luminance("#ffffff")) >= least, "{} on white", color.name);
            assert!(contrast(dark, luminance("#15181d")) >= least, "{} on black", color.name);
        }
    }
}
