//! Figures of the page with captions and legends.

use super::data;
use super::looks::swatch;
use super::state::Page;
use super::tables::sortable;
use crate::picture::svg::{keys, level_key, on_screen};
use crate::picture::{Cell, Chart, Heat, Picture};
use crate::screen::{Content, Screen};
use crate::units::count;
use maud::{Markup, Render, html};

impl Screen {
    /// Returns the markup with its pictures as figures of the page.
    pub(crate) fn with_figures(&self, page: &mut Page) -> Markup {
        self.figures_as(false, page)
    }

    fn figures_as(&self, half: bool, page: &mut Page) -> Markup {
        html! { @for shown in self.shown_on_page() { (content(shown, half, page)) } }
    }
}

/// Returns the markup of a block; `half` is whether a figure has half of the width only.
fn content(content: &Content, half: bool, page: &mut Page) -> Markup {
    match content {
        Content::Picture(picture, caption) => match &**picture {
            Picture::Chart(chart) => chart.figure_as(caption, half, page),
            Picture::Heat(heat) => heat.figure(caption, caption, page),
            Picture::Timeline(_) => html! {},
        },
        Content::Part(_, part) => part.with_figures(page),
        Content::Table(table) => match table.sorted() {
            Some(sorted) => sortable(table, sorted, page),
            None => table.render(),
        },
        Content::Noisiest(series) => noisiest(series, page),
        Content::Pair(pictures) => html! { div.pair { (pictures.figures_as(true, page)) } },
        Content::Details(details) => details.around(details.screen.with_figures(page)),
        other => other.render(),
    }
}

/// Returns as many series as the page has room for, and states how many there are.
fn noisiest(series: &[Screen], page: &mut Page) -> Markup {
    let all: Vec<&Screen> = series.iter().filter(|screen| screen.is_on_page()).collect();
    let most = page.most_series();
    let these = if most == 1 {
        "This is the noisiest".into()
    } else {
        format!("These are the {most} noisiest")
    };
    html! {
        @for screen in all.iter().take(most) { (screen.with_figures(page)) }
        @if all.len() > most { p.note {
            (these) " of " (count(all.len() as u64)) " series; the others are in the text below." (page.more_alone())
        } }
    }
}

impl Chart {
    /// Returns the figure with its caption; nothing if there is nothing to draw. A script shows the values under the
    /// pointer, which it reads from the data beside the figure.
    pub(crate) fn figure(&self, caption: &str, page: &mut Page) -> Markup {
        self.figure_as(caption, false, page)
    }

    fn figure_as(&self, caption: &str, half: bool, page: &mut Page) -> Markup {
        if self.is_empty() {
            return html! {};
        }
        let id = page.id("chart");
        let number = page.figure();
        page.keep(number, &self.name, caption, || Picture::Chart(self.clone()));
        html! {
            figure.chart {
                div.plot.half[half] data-chart=(id) tabindex="0" role="img" aria-label=(format!("Chart: {caption}")) { (on_screen(self, half)) }
                @if self.explained() > 1 {
                    ul.legend aria-label="curves; click to hide" {
                        @for (number, (curve, key)) in self.curves.iter().zip(keys(self)).enumerate() {
                            @if !curve.x.is_empty() { li { button type="button" aria-pressed="true" data-curve=(number) { (key) (curve.name) } } }
                        }
                        @if let Some(name) = self.level_name() { li { span { (level_key()) (name) } } }
                    }
                }
                figcaption { b { "Figure " (number) ". " } (caption) }
                (data::element(&id, self))
            }
        }
    }
}

/// From this shade on the text of a cell is bold.
const STRONG: f64 = 0.6;

/// Returns a name that may be wrapped after `_` and `/`.
fn breaking(name: &str) -> Markup {
    html! { @for part in name.split_inclusive(['_', '/']) { (part) wbr; } }
}

impl Heat {
    /// Returns the figure with its caption. On the page it is a table, so that its numbers can be read aloud and
    /// copied.
    pub(crate) fn figure(&self, label: &str, caption: &str, page: &mut Page) -> Markup {
        let number = page.figure();
        page.keep(number, &self.name, caption, || Picture::Heat(self.clone()));
        let dense = self.is_dense();
        // Of small fields, each eighth has room for its head.
        let (class, each) = if dense { ("heat dense", 8) } else { ("heat", 1) };
        html! {
            figure {
                div.wide tabindex="0" role="region" aria-label=(label) { table class=(class) {
                    thead { tr {
                        th scope="col" { (self.corner) }
                        @for columns in self.columns.chunks(each) { @let column = &columns[0]; th scope="col" colspan=[dense.then_some(columns.len())] {
                            @if let Some((color, shape)) = column.look { (swatch(color, shape)) }
                            span { (breaking(&column.label)) }
                        } }
                    } }
                    tbody { @for row in &self.rows { tr {
                        th scope="row" { (row.label) }
                        @for cell in &row.cells { (self.cell(cell, dense)) }
                    } } }
                } }
                figcaption { b { "Figure " (number) ". " } (caption) }
            }
        }
    }

    fn cell(&self, cell: &Cell, dense: bool) -> Markup {
        let Some(value) = cell.value else {
            return html! { td.none title=[&cell.hint] { @if !dense { (cell.text) } } };
        };
        let shade = self.shade(value);
        html! { td class=(if shade > STRONG { "strong" } else { "" }) style=(format!("--v:{shade:.2}")) title=[&cell.hint] { (cell.text) } }
    }
}
