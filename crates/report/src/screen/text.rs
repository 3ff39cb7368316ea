//! A screen as lines of text.

use super::{Block, Content, Fact, Facts, Screen, Shape, Shown, Text};
use crate::style::{Style, Tone, View, clip, pad, plain, width, wrap, wrap_parts};
use std::io::{self, Write};

/// A screen with more lines repeats its headline at the end.
const LONG: usize = 40;

fn write_blocks(screen: &Screen, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    for block in screen.blocks.iter().filter(|block| block.shown != Shown::OnPage) {
        match &block.content {
            Content::Text(text) => write_text(text, view, out)?,
            Content::Facts(facts) => write_facts(facts, view, out)?,
            Content::Table(table) => table.laid_out(view.columns()).print(view, out)?,
            Content::Picture(picture, _) => picture.print(view, out)?,
            Content::Pair(inner) | Content::Part(_, inner) => write_blocks(inner, view, out)?,
            Content::Noisiest(series) => {
                series.iter().try_for_each(|screen| write_blocks(screen, view, out))?;
            }
            Content::Details(details) => write_blocks(&details.screen, view, out)?,
            Content::Gap => writeln!(out)?,
        }
    }
    Ok(())
}

/// Whether a block is a headline.
fn is_headline(block: &&Block) -> bool {
    let Content::Text(text) = &block.content else { return false };
    text.tone == Tone::Heading && text.shape == Shape::Wrapped && block.shown != Shown::OnPage
}

/// Returns all blocks as one text, with the headline again at the end of a long one.
pub(super) fn to_text(screen: &Screen, view: &View<'_>) -> String {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write_blocks(screen, view, &mut text);
    let headlines: Vec<Block> = screen.blocks.iter().filter(is_headline).cloned().collect();
    if !headlines.is_empty() && text.iter().filter(|byte| **byte == b'\n').count() > LONG {
        text.push(b'\n');
        let _ = write_blocks(&Screen { blocks: headlines }, view, &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn write_text(text: &Text, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let room = view.columns() - width(text.mark);
    let lines = match text.shape {
        Shape::Wrapped => wrap(&text.text, room),
        Shape::InParts => wrap_parts(&text.text, room),
        Shape::Clipped | Shape::Section => vec![clip(&text.text, room)],
        Shape::Whole => vec![text.text.clone()],
    };
    for (number, line) in lines.iter().enumerate() {
        let mark = if number == 0 { text.mark } else { &"        "[..width(text.mark)] };
        writeln!(out, "{}", view.style.paint(text.tone, &format!("{mark}{line}")))?;
    }
    Ok(())
}

fn write_facts(facts: &Facts, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let indent = " ".repeat(facts.columns);
    let room = view.columns().saturating_sub(facts.columns);
    for fact in &facts.rows {
        for (number, line) in wrap(&plain(&fact.text), room).iter().enumerate() {
            let name =
                if number == 0 { name(fact, facts.columns, view.style) } else { indent.clone() };
            writeln!(out, "{name}{line}")?;
        }
        let remedy = fact.remedy.as_deref().map_or(vec![], |text| wrap(&plain(text), room - 2));
        for (number, line) in remedy.iter().enumerate() {
            let arrow = if number == 0 { "→" } else { " " };
            writeln!(out, "{indent}{}", view.style.paint(Tone::Quiet, &format!("{arrow} {line}")))?;
        }
    }
    Ok(())
}

/// Returns the name padded to its column; if it has a sign, only the sign is coloured.
fn name(fact: &Fact, columns: usize, style: Style) -> String {
    if fact.mark.is_empty() {
        return style.paint(fact.tone, &pad(&plain(&fact.name), columns));
    }
    let rest = columns.saturating_sub(width(fact.mark));
    format!("{}{}", style.paint(fact.tone, fact.mark), pad(&plain(&fact.name), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    const NARROW: View<'_> =
        View { style: Style { color: false }, width: 60, all: false, path: None };

    #[test]
    fn marks_hang_and_nothing_moves_the_cursor() {
        let mut screen = Screen::default();
        screen.heading(
            "a title\x1b[2J that goes on and on, further than the sixty columns there are",
        );
        screen.warning("what makes the result less than it seems goes on in the next line");
        screen.facts(vec![Fact::new("losses", Tone::Good, "none")]);
        screen.gap();
        let expected = "\
a title?[2J that goes on and on, further than the sixty col…
! what makes the result less than it seems goes on in the
  next line
losses         none

";
        assert_eq!(to_text(&screen, &NARROW), expected);
    }

    #[test]
    fn tables_fold_rows_and_leave_out_columns() {
        let rows = [("a", "1"), ("測定", "12"), ("a long name that is folded", "3")];
        let mut table = Table::with_rows(&rows)
            .name("name", |row| row.0.into())
            .number("µs", |row| row.1.into())
            .some_numbers("wide", 1, |_| Some("x".repeat(60)))
            .captioned("Times");
        table.asides(["beside", "", ""].into_iter());
        table.total(vec!["all".into()]);
        let mut screen = Screen::default();
        screen.table(table.folded(2, "1 more"));
        let expected = "\
name  µs
a      1  beside
測定  12
all
1 more
";
        assert_eq!(to_text(&screen, &NARROW), expected);
    }
}
