//! What an interrupt costs other CPUs: Figures 5 and 6 of the study, and the second column of its Table 1.

use crate::results::interference::over_time::{self, CAPTION};
use crate::results::interference::rows::add_classes;
use crate::results::interference::words::sentences;
use crate::screen::Screen;
use crate::style::plain;
use crate::units::loss;
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{ClassCost, Proximity};

/// Stands where no other CPU was measured.
const NONE: &str = "the cost on other CPUs was not measured: it needs two CPUs or more, and permission to inject interrupts (run as root)";

/// Rows of a chart in the terminal.
const ROWS: usize = 8;

/// Adds the repetitions of a kernel by the distance of the interrupts, and those of all kernels beside the interrupted CPU.
pub(super) fn figures_5_and_6(found: Option<&Interference>, screen: &mut Screen) {
    screen.section("interrupts on one CPU, kernels on another (Figures 5 and 6, Table 1)");
    let Some(found) = found else {
        screen.note(NONE);
        return;
    };
    screen.sentence(&sentences(found));
    let first = found.kernels.first().map(|kernel| &*kernel.kernel);
    if let Some((kernel, chart)) =
        first.and_then(|kernel| Some((kernel, over_time::by_distance(found, kernel)?)))
    {
        let kernel = plain(kernel);
        let title = format!("Figure 5 · repetitions of {kernel} by the place of the interrupts");
        let caption = format!(
            "As Figure 5 of the paper: repetitions of {kernel} by the place of the interrupts. {CAPTION}"
        );
        screen.pictured(chart.titled(title, ROWS).named("figure 5"), caption);
    }
    if let Some((distance, chart)) = over_time::nearest(found) {
        let title = format!("Figure 6 · repetitions of all kernels, interrupts on the {distance}");
        let caption = format!(
            "As Figure 6 of the paper: repetitions of all kernels with interrupts on the nearest other CPU ({distance}). {CAPTION}"
        );
        screen.pictured(chart.titled(title, ROWS).named("figure 6"), caption);
    }
    add_classes(found, screen);
}

/// Which of the study's strands a distance is.
pub(super) fn is_sibling(place: Proximity) -> bool {
    place == Proximity::SmtSibling
}

/// Which of the study's strands a distance is.
pub(super) fn is_other_core(place: Proximity) -> bool {
    // The study had one processor, and an unknown distance may be a sibling's.
    matches!(place, Proximity::SharedL2 | Proximity::SharedL3 | Proximity::SameSocket)
}

/// Returns the cost of an interrupt at these distances, from the least to the greatest of the kernels, as a share of a
/// repetition; absent if none was measured.
pub(super) fn here(found: &Interference, is_at: fn(Proximity) -> bool) -> Option<String> {
    let grain_ns = found.grain_ns? as f64;
    let classes: Vec<&ClassCost> =
        found.classes.iter().filter(|class| is_at(class.place)).collect();
    let felt = || classes.iter().filter(|class| class.differs() && class.mean_ns > 0.0);
    let text = |ns: f64| loss(ns / grain_ns);
    let ends = felt().map(|class| class.mean_ns);
    match (ends.clone().reduce(f64::min), ends.reduce(f64::max)) {
        (Some(least), Some(most)) if felt().count() < classes.len() || least == most => {
            Some(format!("up to {}", text(most)))
        }
        (Some(least), Some(most)) => Some(format!("{} to {}", text(least), text(most))),
        _ => {
            let limit = classes.iter().map(|class| class.interval.map(|interval| interval.high));
            let limit = limit.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)?;
            Some(format!("none, under {}", text(limit)))
        }
    }
}
