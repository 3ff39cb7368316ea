//! The section on the periods of detours, for each CPU: power over the background, with labelled lines.

use super::{Part, Section, VIEW};
use crate::page::state::Page;
use crate::results::measured::periods::add_one;
use crate::screen::Screen;
use crate::units::counted;
use anechoic_analyze::spectrum::CpuPeriods;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "periods",
    title: "What is periodic",
    short: "Periods",
    has: |part| {
        let periods = part.get::<Vec<CpuPeriods>>().into_iter().flatten();
        periods.into_iter().any(|cpu| !cpu.spectrum.figure.is_empty())
    },
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let (Some(run), Some(periods)) = (part.facts(), part.get::<Vec<CpuPeriods>>()) else {
        return html! {};
    };
    let more = run.cpus.len().saturating_sub(periods.len());
    let screen = Screen::from_fn(|screen| {
        for cpu in periods {
            add_one(&format!("CPU {}", cpu.cpu), &cpu.spectrum, &run, &VIEW, screen);
        }
        if more > 0 {
            let (cpus, all) = (counted(periods.len() as u64, "CPU", "CPUs"), run.cpus.len());
            screen.note(&format!("{cpus}: those that lost most of {all}."));
        }
    });
    screen.with_figures(page)
}
