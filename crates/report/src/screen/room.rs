//! As much of a long screen as a terminal has room for.

use super::{Block, Content, Screen, Shape};
use crate::style::View;

/// What stands between two empty lines.
#[derive(Debug, Default)]
struct Paragraph {
    screen: Screen,
    /// Its heading, if it begins a section.
    section: Option<String>,
}

impl Screen {
    /// Returns the paragraphs that this many lines have room for. Those of the `foremost` section, if there is one, named by how its
    /// heading begins, are chosen before the others. A section without its heading is left out.
    pub(crate) fn in_lines(self, mut room: usize, foremost: Option<&str>, view: &View<'_>) -> Self {
        let mut paragraphs: Vec<(Paragraph, bool)> =
            self.into_paragraphs().into_iter().map(|paragraph| (paragraph, false)).collect();
        for wanted in [true, false] {
            let (mut is_foremost, mut has_heading) = (false, true);
            for (paragraph, is_kept) in &mut paragraphs {
                if let Some(heading) = &paragraph.section {
                    is_foremost = foremost.is_some_and(|begin| heading.starts_with(begin));
                    has_heading = true;
                }
                let lines = paragraph.screen.to_text(view).lines().count();
                if is_foremost != wanted {
                    continue;
                }
                *is_kept = has_heading && lines <= room;
                room -= if *is_kept { lines } else { 0 };
                has_heading = *is_kept || (has_heading && paragraph.section.is_none());
            }
        }
        let is_empty = |paragraph: &Paragraph| {
            paragraph.screen.blocks.iter().all(|block| matches!(block.content, Content::Gap))
        };
        let kept = paragraphs.into_iter().filter(|(one, is_kept)| *is_kept && !is_empty(one));
        Self { blocks: kept.flat_map(|(paragraph, _)| paragraph.screen.blocks).collect() }
    }

    fn into_paragraphs(self) -> Vec<Paragraph> {
        let mut paragraphs = vec![Paragraph::default()];
        for block in self.blocks {
            if matches!(block.content, Content::Gap | Content::Details(_)) {
                paragraphs.push(Paragraph::default());
            }
            let Some(last) = paragraphs.last_mut() else { continue };
            last.section = last.section.take().or(block.section());
            last.screen.blocks.push(block);
        }
        paragraphs
    }
}

impl Block {
    /// Returns the heading of a section, if it is one.
    fn section(&self) -> Option<String> {
        match &self.content {
            Content::Text(text) if text.shape == Shape::Section => Some(text.text.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foremost_section_has_room_first_and_others_in_order() {
        let screen = Screen::from_fn(|screen| {
            screen.sentence("machine");
            for (heading, lines) in [("first", 1), ("second", 4), ("third", 1), ("published", 2)] {
                screen.section(heading);
                (0..lines).for_each(|line| screen.sentence(&format!("{heading} {line}")));
                screen.gap();
                screen.sentence(&format!("more of {heading}"));
            }
        });
        let view = View::default();
        let shown = |room: usize, foremost: &str| {
            let text = screen.clone().in_lines(room, Some(foremost), &view).to_text(&view);
            assert!(text.lines().count() <= room, "{room} lines: {text}");
            text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
        };
        let all = screen.to_text(&view);
        assert_eq!(screen.clone().in_lines(100, Some("published"), &view).to_text(&view), all);
        assert_eq!(shown(0, "published"), "");
        assert_eq!(shown(4, "published"), "published, published 0, published 1");
        assert_eq!(
            shown(7, "published"),
            "machine, published, published 0, published 1, more of published"
        );
        assert_eq!(
            shown(12, "published"),
            "machine, first, first 0, more of first, published, published 0, published 1, more of published"
        );
        // A section whose heading has no room leaves what follows to the next.
        assert_eq!(shown(9, "none"), "machine, first, first 0, more of first, third, third 0");
    }
}
