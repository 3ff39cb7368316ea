//! A screen as markup of the page.

use super::{Content, Details, Fact, Screen, Shape, Shown, Text};
use crate::style::{Tone, capital, plain};
use crate::table::{Align, Column, Table};
use crate::units::count;
use maud::{Markup, Render, html};

/// Rows of a table on the page, at most.
pub(crate) const MOST_ROWS: usize = 1024;

impl Screen {
    /// Returns the blocks that the page shows.
    pub(crate) fn shown_on_page(&self) -> impl Iterator<Item = &Content> {
        let shown = self.blocks.iter().filter(|block| block.shown != Shown::InTerminal);
        shown.map(|block| &block.content)
    }

    /// Returns whether a page shows anything of it but empty lines.
    pub(crate) fn is_on_page(&self) -> bool {
        self.shown_on_page().any(|content| match content {
            Content::Gap => false,
            Content::Pair(inner) | Content::Part(_, inner) => inner.is_on_page(),
            Content::Noisiest(series) => series.iter().any(Screen::is_on_page),
            _ => true,
        })
    }
}

impl Render for Screen {
    fn render(&self) -> Markup {
        html! { @for content in self.shown_on_page() { (content) } }
    }
}

impl Render for Content {
    fn render(&self) -> Markup {
        match self {
            Content::Text(text) => text.render(),
            Content::Facts(facts) => html! { dl.limits { @for fact in &facts.rows { (fact) } } },
            Content::Table(table) => table.render(),
            Content::Details(details) => details.around(html! { (details.screen) }),
            // A picture needs a number, which only the page has; the page has margins.
            Content::Picture(..) | Content::Pair(_) | Content::Noisiest(_) | Content::Gap => {
                html! {}
            }
            Content::Part(_, inner) => inner.render(),
        }
    }
}

impl Details {
    /// Returns the summary with this content below it.
    pub(crate) fn around(&self, content: Markup) -> Markup {
        let class = self.on_paper.then_some("for-paper");
        html! { details class=[class] open[self.open] { summary { (self.summary) } (content) } }
    }
}

impl Render for Text {
    fn render(&self) -> Markup {
        let text = with_code(&self.text);
        match (self.mark, self.tone, self.shape) {
            ("! ", ..) | (_, Tone::Warning | Tone::Bad, _) => html! { p.warning { (text) } },
            ("· ", ..) => html! { ul.plain { li { (text) } } },
            (_, Tone::Heading, Shape::Clipped) => html! { h3 { (text) } },
            (_, Tone::Heading, Shape::Section) => {
                html! { h3 { (with_code(&capital(&self.text))) } }
            }
            (_, Tone::Heading, _) => html! { p.lead { (text) } },
            (_, Tone::Quiet, _) => html! { p.note { (text) } },
            _ => html! { p { (text) } },
        }
    }
}

/// Marks the commands in a text, which stand between backticks.
fn with_code(text: &str) -> Markup {
    let parts = || text.split('`');
    if parts().count() % 2 == 0 {
        return html! { (text) };
    }
    html! {
        @for (number, part) in parts().enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

impl Render for Fact {
    fn render(&self) -> Markup {
        let class = match self.tone {
            Tone::Good => "good",
            Tone::Warning => "warn",
            Tone::Bad => "bad",
            _ => "quiet",
        };
        html! { div class=(class) { dt { (plain(&self.name)) } dd { (plain(&self.text)) } } }
    }
}

impl Render for Table {
    fn render(&self) -> Markup {
        let (shown, all) = (self.unfolded(), self.rows().len());
        let most = all.min(MOST_ROWS.max(shown));
        html! {
            (part(self, self.caption(), 0, shown))
            @if most > shown {
                details {
                    summary { "The other " (count((most - shown) as u64)) }
                    (part(self, &format!("{}, the others", self.caption()), shown, most))
                    @if all > most { p.note { "and " (count((all - most) as u64)) " more" } }
                }
            }
        }
    }
}

/// Some rows of a table; with the first ones those of all together.
fn part(table: &Table, caption: &str, from: usize, to: usize) -> Markup {
    let totals = if from == 0 { table.totals() } else { &[] };
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.unseen { (caption) }
                thead {
                    @if !table.groups().is_empty() { tr.groups { @for (group, columns) in table.groups() {
                        @if group.is_empty() { td colspan=(columns) {} }
                        @else { th colspan=(columns) scope="colgroup" { span { (group) } } }
                    } } }
                    tr { @for column in table.columns() { th scope="col" class=(class(column)) title=[column.what] { (column.heading()) } } }
                }
                tbody {
                    @for at in from..to { tr { @for (number, cell) in table.rows()[at].iter().enumerate() {
                        td class=(class(&table.columns()[number])) {
                            (cell.trim())
                            @if let Some(note) = table.note(at).filter(|_| number == 0) { small { (note) } }
                        }
                    } } }
                    @for row in totals { (total(row, table.columns())) }
                }
            }
        }
    }
}

/// Returns a row of totals.
pub(crate) fn total(row: &[String], columns: &[Column]) -> Markup {
    html! { tr { @for (cell, column) in row.iter().zip(columns) {
        td class=(class(column)) { (cell.trim()) }
    } } }
}

/// Returns the class of the cells of a column.
pub(crate) fn class(column: &Column) -> &'static str {
    if column.align == Align::Right { "n" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_escaped_and_folded() {
        let mut table = Table::with_names("name", &["µs"]);
        for name in ["a", "</td><b>", "c"] {
            table.row(vec![name.into(), "1".into()]);
        }
        table.total(vec!["all".into(), "3".into()]);
        let mut screen = Screen::default();
        screen.warning("<i>");
        screen.sentence("Run `a <b`, or not");
        screen.sentence("3` of it");
        screen.table(table.captioned("Costs").folded(2, "1 more"));
        screen.details("More", Screen::from_fn(|inner| inner.note("why")));
        let text = screen.render().into_string();
        assert!(text.starts_with("<p class=\"warning\">&lt;i&gt;</p>"), "{text}");
        assert!(text.contains("<td class=\"\">&lt;/td&gt;&lt;b&gt;</td>"), "{text}");
        assert!(text.contains("<p>Run <code>a &lt;b</code>, or not</p><p>3` of it</p>"), "{text}");
        let (shown, folded) = text.split_once("<summary>The other 1</summary>").expect("a fold");
        assert!(shown.contains(">all</td>") && !shown.contains(">c</td>"), "{shown}");
        assert!(folded.contains(">c</td>") && !folded.contains(">all</td>"), "{folded}");
        let details = "<details><summary>More</summary><p class=\"note\">why</p></details>";
        assert!(text.ends_with(details), "{text}");
    }
}
