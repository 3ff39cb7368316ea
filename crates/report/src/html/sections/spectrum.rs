//! The section on periods: power over the background, with labelled lines.

use super::samples::noisiest_of;
use super::{Part, Section};
use crate::html::page::Page;
use crate::measured::names::{Named, noise as noise_of, shown};
use crate::measured::periods::{add_lines, name, named};
use crate::picture::{Axis, Chart, Curve, Draw, Mark, Quantity};
use crate::screen::Screen;
use crate::style::{Style, View};
use crate::units::{counted, frequency, noise};
use anechoic_analyze::Measured;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::spectrum::{CpuPeriods, Spectrum};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "periods",
    title: "What is periodic",
    short: "Periods",
    of: &[],
    has: |part| {
        let series = part.get::<Measured>().into_iter().flat_map(|measured| &measured.series);
        let spectra = series.filter_map(|series| series.spectrum.as_ref());
        let of_detours =
            part.get::<Vec<CpuPeriods>>().into_iter().flatten().map(|periods| &periods.spectrum);
        spectra.chain(of_detours).any(|found| !found.figure.is_empty())
    },
    render,
};

/// The view of the tables, wide enough for long names.
const VIEW: View<'_> = View { style: Style { color: false }, width: 200, all: false, path: None };

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(measured) = part.get::<Measured>() else { return detours(part, page) };
    let mut with: Vec<Named<'_>> = shown(measured, true);
    with.retain(|named| named.result.spectrum.as_ref().is_some_and(|s| !s.figure.is_empty()));
    with.sort_by(|a, b| noise_of(b.result).total_cmp(&noise_of(a.result)));
    let most = page.most_series();
    let more = with.len().saturating_sub(most);
    with.truncate(most);
    html! {
        @for named in &with {
            @if let Some(spectrum) = &named.result.spectrum {
                h3 { (named.title()) }
                (one(spectrum, &named.title(), &measured.run, page))
            }
        }
        @if more > 0 { p.note { (noisiest_of(most)) " series; " (counted(more as u64, "more is", "more are")) " in the text below." (page.more_alone()) } }
    }
}

/// Returns the periods of detours for each CPU.
fn detours(part: &Part, page: &mut Page) -> Markup {
    let (Some(run), Some(periods)) = (part.facts(), part.get::<Vec<CpuPeriods>>()) else {
        return html! {};
    };
    let more = run.cpus.len().saturating_sub(periods.len());
    html! {
        @for of in periods {
            @let title = format!("CPU {}", of.cpu);
            h3 { (title) }
            (one(&of.spectrum, &title, &run, page))
        }
        @if more > 0 { p.note { (counted(periods.len() as u64, "CPU", "CPUs")) ": those that lost most of " (run.cpus.len()) "." } }
    }
}

fn one(spectrum: &Spectrum, title: &str, run: &Facts, page: &mut Page) -> Markup {
    let points: Vec<(f64, f64)> =
        spectrum.figure.iter().map(|point| (point.hz, point.over_background.max(1.0))).collect();
    let mut chart = Chart::of(
        Axis::linear("frequency", Quantity::Frequency),
        Axis::log("power over the background", Quantity::Number),
        vec![Curve::numbered(0, "power".into(), Draw::Spikes, &points)],
    )
    .named(title);
    chart.marks = named(spectrum)
        .into_iter()
        .map(|line| {
            let carrier = line.carriers.first().map(|carrier| format!(" {}", name(carrier, run)));
            Mark {
                x: line.hz,
                y: line.over_background,
                label: format!("{}{}", frequency(line.hz), carrier.unwrap_or_default()),
            }
        })
        .collect();
    chart.level = spectrum.threshold;
    let chance = noise(spectrum.false_alarm);
    let caption = format!(
        "Power relative to the local background, {title}. Power above the dashed line indicates a period; by chance this happens in {chance} of all spectra."
    );
    // A spectrum without power has nothing to draw.
    let drawn = spectrum.figure.iter().any(|point| point.over_background > 1.0);
    html! {
        @if drawn { (chart.figure(&caption, page)) }
        (Screen::of(|screen| add_lines(spectrum, run, &VIEW, screen)))
    }
}
