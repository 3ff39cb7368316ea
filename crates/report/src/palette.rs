//! Colours and shapes: one look for each kind of source, and for curves by number.
//!
//! Hues are those of Okabe & Ito (2008) and of Tol's "muted" scheme, which differ for nearly all eyes; of each there
//! is one for light and one for dark paper. Shape and text always stand beside colour.

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

const fn color(name: &'static str, light: &'static str, dark: &'static str) -> Color {
    Color { name, light, dark }
}

/// The colour of each kind of source, by its identifier. States of the scheduler share one: they are rare.
const SOURCES: [(&str, Color); 18] = [
    ("timer-tick", color("tick", "#d55e00", "#ff8b3d")),
    ("timer", color("timer", "#b57a00", "#f0c04a")),
    ("softirq", color("softirq", "#009e73", "#33cf9f")),
    ("device-irq", color("device", "#b8478a", "#ee8fc4")),
    ("platform-irq", color("platform", "#882255", "#d4699c")),
    ("ipi", color("ipi", "#3a9bd9", "#7cc8ff")),
    ("thread", color("thread", "#0062a8", "#4aa3f0")),
    ("page-fault", color("fault", "#7b3fa0", "#c08bea")),
    ("nmi", color("nmi", "#332288", "#a79bff")),
    ("victim-kernel", color("own", "#2f8f83", "#74d6c8")),
    ("stopped", SCHEDULER),
    ("blocked", SCHEDULER),
    ("cpu-quota", SCHEDULER),
    ("rt-throttling", SCHEDULER),
    ("fair-server", SCHEDULER),
    ("anechoic", color("anechoic", "#6b4423", "#d3a279")),
    ("vm-or-hardware", color("host", "#76787d", "#a9acb3")),
    ("not-attributable", color("unknown", "#a3a5aa", "#6f727a")),
];

const SCHEDULER: Color = color("scheduler", "#84841f", "#cfcf5a");
/// Detours of which no activity tells, and sources of a newer version.
const OTHER: Color = color("other", "#4a5568", "#b8c0cc");

/// Curves by number.
const CURVES: [Color; 6] = [
    color("curve-1", "#0062a8", "#4aa3f0"),
    color("curve-2", "#d55e00", "#ff8b3d"),
    color("curve-3", "#009e73", "#33cf9f"),
    color("curve-4", "#b8478a", "#ee8fc4"),
    color("curve-5", "#b57a00", "#f0c04a"),
    color("curve-6", "#332288", "#a79bff"),
];

/// What tables are shaded with.
pub(crate) const HEAT: Color = color("heat", "#d55e00", "#ff8b3d");

/// Shapes of points; the same numbers give the patterns of lines.
pub(crate) const SHAPES: usize = 6;

/// The colour of a kind of source.
pub(crate) fn of_source(source: &str) -> Color {
    SOURCES.iter().find(|(id, _)| *id == source).map_or(OTHER, |(_, color)| *color)
}

/// The colour of a curve.
pub(crate) fn of_curve(number: usize) -> Color {
    CURVES[number % CURVES.len()]
}

/// The colour by this name.
pub(crate) fn named(name: &str) -> Color {
    all().into_iter().find(|color| color.name == name).unwrap_or(OTHER)
}

/// All colours, each once.
pub(crate) fn all() -> Vec<Color> {
    let mut all: Vec<Color> = SOURCES.iter().map(|(_, color)| *color).collect();
    all.extend(CURVES);
    all.push(OTHER);
    all.sort_by_key(|color| color.name);
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_attribute::SOURCES as ALL;

    #[test]
    fn every_source_has_a_colour() {
        for source in ALL {
            assert_ne!(of_source(source.id), OTHER, "{}", source.id);
        }
        assert_eq!(of_source("of a newer version"), OTHER);
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
            let part = |at: usize| {
                let value =
                    f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")) / 255.0;
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
