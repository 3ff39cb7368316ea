//! The screen of the serial tick model as a suite: this machine as one more processor in the tables of the paper.

use super::{NOTHING, Study};
use crate::published::{TSAFRIR, serial_table};
use crate::results::ticks::screen as ticks_screen;
use crate::results::ticks::several::{add_tables, charts};
use crate::style::View;
use crate::units::{between, fine, percent, share};
use anechoic_predict::ticks::{Model, ProcessorModel, Sample, model};

/// Shows what ticks cost here, and then beside the six processors of Tsafrir 2007.
#[must_use]
pub fn suite_ticks(sets: &[Model], view: &View<'_>) -> Study {
    let mut study = Study::new("ticks and a program that sorts", &TSAFRIR);
    study.foremost = "the published processors";
    let screen = &mut study.shown;
    if sets.is_empty() {
        screen.sentence(NOTHING);
        return study;
    }
    for set in sets {
        screen.append(ticks_screen(set, view));
        set.processors.iter().filter_map(enigma).for_each(|text| screen.note(&text));
    }
    let there = model(&serial_table());
    let here = || sets.iter().flat_map(|set| &set.processors);
    study.changed.extend(here().map(|processor| changed(&there.processors, processor)));
    screen.section("the published processors, and this machine below them");
    let processors = there.processors.iter().chain(here()).cloned().collect();
    let all = Model { processors, ..there.clone() };
    add_tables(&all, screen);
    let place =
        place(here().filter(|processor| processor.per_1000.is_some()).count(), here().count());
    let mut drawn: Vec<_> = FIGURES.into_iter().zip(charts(&all)).collect();
    drawn.sort_by_key(|((place, _), _)| *place);
    for ((_, figure), (chart, caption)) in drawn {
        screen.pictured(chart, format!("As {figure} of the paper, {place}. {caption}"));
    }
    study
}

/// Ticks of usual kernels are at most this far apart.
const LONGEST_PERIOD_MS: f64 = 10.0;

/// States why the sort does not show whether a tick changes the speed of a body (Section 4 of the paper); absent if its
/// time is unknown.
fn enigma(processor: &ProcessorModel) -> Option<String> {
    let sort_ms = processor.tickless.iter().find(|tickless| tickless.copies == 1)?.ms?;
    let why = match sort_ms > LONGEST_PERIOD_MS {
        true => "every sort has ticks",
        false => "too few sorts have one tick or none",
    };
    Some(format!(
        "Whether a tick also changes the speed of what it interrupts (Section 4) cannot be seen in sorts of {}, because {why}; \
         `anechoic suite loops` tests each loop.",
        fine(sort_ms * 1e6)
    ))
}

/// States where the figure has this machine: `drawn` of `all` measurements have a cost that differs significantly from 0.
fn place(drawn: usize, all: usize) -> &'static str {
    match drawn {
        0 => {
            "without this machine, on which the sort times are too uncertain for the cost of an interrupt"
        }
        _ if drawn < all => {
            "with this machine last; measurements whose cost does not differ significantly from 0 are not drawn"
        }
        _ => "with this machine last",
    }
}

/// Percentage of the CPU that 1,000 interrupts per second of 1 µs take.
const PER_1000: f64 = 0.1;

/// What the figures of several processors are in the paper, and their order there.
const FIGURES: [(u8, &str); 3] = [(2, "Table 2"), (1, "Figure 4"), (3, "Figure 6")];

/// States in one sentence what 1,000 ticks per second cost here and in the paper.
fn changed(there: &[ProcessorModel], here: &ProcessorModel) -> String {
    let range = |part: fn(&ProcessorModel) -> Option<f64>, text: fn(f64) -> String| {
        ends(&there.iter().filter_map(part).collect::<Vec<f64>>(), text)
    };
    let total = |processor: &ProcessorModel| Some(processor.per_1000.as_ref()?.total);
    let indirect = |processor: &ProcessorModel| processor.cost.indirect_share;
    let published = format!(
        "On the six processors of the paper 1,000 interrupts per second take {} of the CPU, {} of that indirectly (by the fit)",
        range(total, percent),
        range(indirect, share)
    );
    let measurable = !matches!(here.verdict.sample, Sample::OnlyTotal);
    // Below 0 the sort became faster while interrupts were added: that is no cost.
    match (total(here), indirect(here).filter(|share| measurable && *share >= 0.0)) {
        (Some(total), Some(indirect)) => {
            format!("{published}; here {}, {} of that indirectly.", percent(total), share(indirect))
        }
        (Some(total), None) => {
            format!("{published}; here {}, without a measurable indirect part.", percent(total))
        }
        (None, _) => format!(
            "{published}; here at least {} directly; the sort times are too uncertain for the rest.",
            percent(PER_1000 * here.costs.direct_us())
        ),
    }
}

/// Writes the least and the greatest of these values.
fn ends(values: &[f64], text: fn(f64) -> String) -> String {
    let low = values.iter().copied().min_by(f64::total_cmp).unwrap_or_default();
    let high = values.iter().copied().max_by(f64::total_cmp).unwrap_or_default();
    between(&text(low), &text(high))
}
